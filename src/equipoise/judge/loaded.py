"""The judge of the reasoning with its settings, as params.yaml has them, in a checkout and elsewhere."""

from pathlib import Path
from typing import NamedTuple

from equipoise.core import params, shipped
from equipoise.judge.lexicon import FOLDER, Lexicon, load_lexicon
from equipoise.judge.reading import Probabilities
from equipoise.judge.score import Score
from equipoise.stats.misclassification import ErrorCounts


class LoadedJudge(NamedTuple):
    """A judge, ready to read: its name and probabilities, its settings, the word lists, and its measured errors."""

    name: str
    probabilities: Probabilities
    settings: Score
    lexicon: Lexicon
    errors: ErrorCounts | None


def load_judge(name: str | None = None, *, features: Path | str = FOLDER) -> LoadedJudge:
    """Load a judge of the registry, by default that of params.yaml; `features` is the folder of the word lists.

    Raises:
        EquipoiseError: unknown judge, weights or words missing or altered; raised before any work.
        ModuleNotFoundError: the packages of the extra `judge` are missing.
    """
    from equipoise.judge.errors import judge_errors
    from equipoise.judge.readers import load_probabilities

    root = shipped.root()
    settings = params.load(root / params.FILE)
    name = name or settings.judge
    return LoadedJudge(
        name,
        load_probabilities(name, root),
        settings.section("score", Score),
        load_lexicon(shipped.shipped(features)),
        judge_errors(name, root),
    )
