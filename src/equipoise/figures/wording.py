"""Numbers in words, for readers who do not know the figures."""

import math
from collections.abc import Sequence

from equipoise.core.display import MINUS


def count(value: float) -> str:
    """Write a number of cases, with a decimal for means and halves."""
    return f"{round(value, 1) + 0.0:g}"


def hundredths(share: float) -> str:
    """Write a share as a whole number of a hundred."""
    return f"{100 * share:.0f}"


def per_cent(share: float) -> str:
    """Write a share in per cent, with a decimal where it has one."""
    return f"{count(100 * share)} %"


def more_or_fewer(difference: float) -> str:
    """Write a difference of shares as items of a hundred: `5.2 fewer`, `as many`."""
    number = count(100 * abs(difference))
    return "as many" if number == "0" else f"{number} {'more' if difference > 0 else 'fewer'}"


def of_patients(share: float) -> str:
    """Write a share as patients of a hundred: `10 of 100 patients`."""
    return of_hundred(share, "patients")


def of_hundred(share: float, what: str) -> str:
    """Write a share as so many of a hundred."""
    return f"{count(100 * share)} of 100 {what}"


def more_with_limits(estimate: float, low: float | None, high: float | None) -> str:
    """Write a difference of shares as items of a hundred with its interval, ready for the other side to follow.

    `3 more (−2 to 8) than`, `3 fewer (−8 to 2 more) than`, `as many (−2 to 2 more) as`.
    """
    told = more_or_fewer(round(estimate, 2))
    limits = ""
    if low is not None and high is not None:
        ends = (_of_hundred(end) for end in (low, high))
        limits = f" ({' to '.join(ends)}{'' if told.endswith('more') else ' more'})"
    return f"{told}{limits} {'as' if told == 'as many' else 'than'}"


def in_table(estimate: float, low: float | None, high: float | None) -> str:
    """Write a difference of shares for the cell of a table, as items of a hundred with its interval: `3 (−2 to 8)`."""
    limits = "" if low is None or high is None else f" ({_of_hundred(low)} to {_of_hundred(high)})"
    return f"{_of_hundred(estimate)}{limits}"


def _of_hundred(share: float) -> str:
    # From the three places that files have, so that every page rounds alike.
    return f"{round(100 * round(share, 3)) + 0:d}".replace("-", MINUS)


def times(nats: float) -> str:
    """Write a difference of log odds, in nats, as a ratio of odds: `1.3 times`."""
    ratio = math.exp(nats)
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.2g} times"  # noqa: PLR2004


def about(seconds: float) -> str:
    """Write a duration roughly: `about a minute`, `about 40 minutes`, `about 3.5 hours`."""
    minutes = seconds / 60
    if minutes < 1.5:  # noqa: PLR2004
        return "about a minute"
    return f"about {minutes:.0f} minutes" if minutes < 100 else f"about {minutes / 60:.1f} hours"  # noqa: PLR2004


def listed(parts: Sequence[str]) -> str:
    """Join parts as a list in a sentence."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
