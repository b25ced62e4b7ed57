"""The judge of the reasoning with its settings, as params.yaml has them, in a checkout and elsewhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from equipoise.core import params, shipped
from equipoise.judge.lexicon import FOLDER, Lexicon, load_lexicon
from equipoise.judge.score import Score
from equipoise.stats.misclassification import ErrorCounts


class Reader(NamedTuple):
    """What reads reasoning: the judge's name and probabilities, its settings, the words, and its measured errors."""

    judge: str
    probabilities: Callable[[list[tuple[str, str]]], NDArray[Any]]
    settings: Score
    lexicon: Lexicon
    errors: ErrorCounts | None


def load_reader(judge: str | None = None, *, features: Path | str = FOLDER) -> Reader:
    """Load a judge of the registry, by default that of params.yaml; `features` is the folder of the words.

    Raises:
        EquipoiseError: unknown judge, weights or words missing or altered; raised before any work.
        ModuleNotFoundError: the packages of the extra `judge` are missing.
    """
    from equipoise.judge.errors import judge_errors
    from equipoise.judge.readers import load_probabilities

    root = shipped.root()
    chosen = params.load(root / params.FILE)
    name = judge or chosen.judge
    return Reader(
        name,
        load_probabilities(name, root),
        chosen.section("score", Score),
        load_lexicon(shipped.shipped(features)),
        judge_errors(name, root),
    )
