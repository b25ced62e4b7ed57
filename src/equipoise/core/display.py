"""How numbers and long lists are written for readers."""

from collections.abc import Callable, Sequence

MINUS = "\N{MINUS SIGN}"


def number(value: float) -> str:
    """Write a figure with three decimals and a real minus sign; one that rounds to 0 has none."""
    return f"{value:z.3f}".replace("-", MINUS)


def signed(value: float) -> str:
    """Write a change with its sign; one that rounds to 0 has none."""
    text = number(value)
    if not text.strip(f"{MINUS}0."):
        return number(0.0)
    return text if value < 0 else f"+{text}"


def with_limits(text: str, low: float | None, high: float | None, write: Callable[[float], str] = signed) -> str:
    """Add the limits of an interval to a figure, if there are any."""
    return text if low is None or high is None else f"{text} ({write(low)} to {write(high)})"


def first_of(names: Sequence[str], shown: int = 3) -> str:
    """List the first names, and count the rest."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


def few(names: Sequence[str], shown: int = 3) -> str:
    """List the first names, and an ellipsis for the rest."""
    return ", ".join(names[:shown]) + (" …" if names[shown:] else "")
