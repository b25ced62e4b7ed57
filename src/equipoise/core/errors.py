"""The one exception whose message is written for the user."""


class EquipoiseError(Exception):
    """An error in the input or the environment; its message is one line: location, problem, fix."""


def one_line(error: BaseException) -> str:
    """Give an exception of others, its type and its message, as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
