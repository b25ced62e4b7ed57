"""The rows that `equipoise compare` reads of the study: sentences, clustered by condition."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic import RootModel

from equipoise.core import jsonl
from equipoise.figures.comparison import Files, RunRows
from equipoise.studies.stigma.rows import Fill

WORDS = {"causal": "subjects", "masked": "words"}
"""The file of the words in whose probabilities a scorer reads the subject's gender."""


class _File(RootModel[dict[str, Any]]):
    """A file of `data/sentences`, of this version or another."""


@dataclass(frozen=True, kw_only=True)
class FillRows(RunRows[Fill]):
    """The sentences of a run with the probabilities of their subjects' gender, and the files that they are made from.

    `files` has the templates, the conditions, the subjects and the words.
    """

    texts_name = "templates, conditions and lists of words"
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, files: Files) -> Self:
        """Read the rows of a run."""
        names = ("templates", "conditions", *WORDS.values())
        read = {name: files.shared(f"sentences/{name}.yaml", _File) for name in names}
        return cls(
            answers=files.rows("judgements", Fill),
            files={name: file.root for name, file in read.items() if file is not None},
        )

    @property
    def texts(self) -> Mapping[str, str]:
        """The templates by name, the set of each condition, and the words that the run's scorer looks for."""
        used = {WORDS[fill.scorer] for fill in self.answers}
        texts = {name: jsonl.dumps(file) for name, file in self.files.items() if name in used}
        sets = {name: kind for kind, names in self.files.get("conditions", {}).items() for name in names}
        return texts | sets | dict(_templates(self.files.get("templates", {})))

    @property
    def items(self) -> Mapping[str, Fill]:
        """The sentences."""
        return {fill.key: fill for fill in self.answers}

    def unlike(self, head: Self) -> str:
        """The probabilities of a masked and of a causal model are not on the same scale."""
        scorers = sorted({fill.scorer for fill in (*self.answers, *head.answers)})
        return f"scorers {' and '.join(scorers)} are not on one scale" if len(scorers) > 1 else ""


def _templates(file: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each template by question and key, with the group that it is counted in."""
    for question, groups in file.items():
        for group, templates in groups.items():
            for key, template in templates.items():
                yield f"{question}/{key}", jsonl.dumps([group, template])
