"""What a shell offers for the value of an option or argument: names that the project's files know."""

from collections.abc import Callable, Iterable


def completer(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Offer those names that begin as what was typed does; a file that is missing or malformed offers nothing."""

    def complete(incomplete: str) -> list[str]:
        try:
            return [name for name in dict.fromkeys(names()) if name.startswith(incomplete)]
        except Exception:  # noqa: BLE001  (a traceback would be written into the line that is being typed)
            return []

    complete.__doc__ = names.__doc__
    return complete
