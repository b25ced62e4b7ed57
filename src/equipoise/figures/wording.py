"""Numbers in words, for readers who do not know the figures."""

from collections.abc import Sequence


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


def listed(parts: Sequence[str]) -> str:
    """Join parts as a list in a sentence."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
