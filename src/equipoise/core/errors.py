"""The one error that a user is meant to read."""


class EquipoiseError(Exception):
    """A fault in the input or the machine, told in one line: where it is, what it is, and the mend."""
