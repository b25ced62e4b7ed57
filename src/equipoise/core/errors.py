"""The one exception whose message is written for the user."""


class EquipoiseError(Exception):
    """An error in the input or the environment; its message is one line: location, problem, fix."""
