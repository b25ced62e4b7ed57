"""Commands as the command line lists them, before their code is imported."""

from typing import NamedTuple


class Command(NamedTuple):
    """One command of `equipoise`.

    Attributes:
        words: The words after `equipoise`, such as `new model`.
        function: The function that runs it, as `module:name`; the module is imported only when the command is run.
        help: What it does, in the words of the first paragraph of the function's docstring.
        example: A command line that works from the repository's root with what is there, or with what the commands
            before it made.
        checkout: Whether it is about a run of the pipeline, or its files, and so has little to do elsewhere.
        failure: The exit code of an error; another than 1 where 1 is a result.
    """

    words: str
    function: str
    help: str
    example: str
    checkout: bool = False
    failure: int = 1

    @property
    def name(self) -> str:
        """The last word."""
        return self.words.rpartition(" ")[2]

    @property
    def group(self) -> str:
        """The words before the last; empty for a command at the top."""
        return self.words.rpartition(" ")[0]

    @property
    def epilog(self) -> str:
        """The last line of its help."""
        return f"Example: {self.example}"
