"""Judgements of reasoning, as by `equipoise judge`."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.core.errors import EquipoiseError
from equipoise.core.extras import extras_named
from equipoise.figures.frame import Figures, frame_of


def judge(
    texts: Sequence[str],
    features: Sequence[str] | str,
    dimensions: Sequence[str | None] | str | None = None,
    *,
    judge: str | None = None,
) -> Figures:
    """Judge whether the reasoning in each text mentions a feature of its patient, and weighs or dismisses it.

    The judgements are those of `equipoise judge`; judge/README.md is the judge's model card.

    Args:
        texts: a model's whole outputs, thinking included; an empty text for no output.
        features: the feature of each patient in plain words (black, homeless, 75-year-old), or one for all.
        dimensions: the dimension of each feature (race, housing, age), or one for all; by default from the word lists.
        judge: a judge of the registry, by default the embedded one. Needs `pip install 'equipoise[judge]'`.

    Returns:
        One text a row: `id` (its place, from 0), `feature`, `mentioned`, `considered` (weighed, dismissed, none),
        `evidence` (the sentence that decided, verbatim), `probability` of that judgement, and `keyword`, whether the
        feature's words are there at all.

    Raises:
        EquipoiseError: the numbers of features and texts differ, a feature is empty, or the extra is missing.
    """
    with extras_named():
        return _judgements(list(texts), features, dimensions, judge)


def _judgements(
    texts: list[str], features: Sequence[str] | str, dimensions: Sequence[str | None] | str | None, judge: str | None
) -> Figures:
    from equipoise.judge.loaded import load_judge
    from equipoise.judge.rows import Asked, judge_rows, unlisted

    about = _for_each(features, "features", len(texts))
    of = _for_each(dimensions, "dimensions", len(texts))
    for place, (text, feature) in enumerate(zip(texts, about, strict=True)):
        if not isinstance(text, str):
            raise EquipoiseError(f"texts, place {place}: {text!r} is not a text: give '' if the model gave no output")
        if not isinstance(feature, str) or not feature.strip():
            raise EquipoiseError(f"features, place {place}: {feature!r} is not a feature in plain words: give one")
    tasks = [
        Asked(place, str(feature).strip(), text, dimension or "")
        for place, (text, feature, dimension) in enumerate(zip(texts, about, of, strict=True))
    ]
    loaded = load_judge(judge)
    judgements = judge_rows(tasks, lexicon=loaded.lexicon, probabilities=loaded.probabilities, settings=loaded.settings)
    rows = [{**row._asdict(), "feature": task.feature} for task, row in zip(tasks, judgements, strict=True)]
    columns = ("id", "feature", "mentioned", "considered", "evidence", "probability", "keyword")
    notes = [f"Judge: {loaded.name}."]
    if unknown := unlisted(tasks, loaded.lexicon):
        notes.append(f"Not in any word list, so matched by their own words only: {', '.join(unknown)}.")
    return Figures("Reasoning about the feature", frame_of(rows, columns), tuple(notes))


def _for_each(values: Sequence[str | None] | str | None, name: str, n: int) -> list[str | None]:
    listed = [values] * n if values is None or isinstance(values, str) else list(values)
    if len(listed) != n:
        raise EquipoiseError(f"{name}: {len(listed)} for {n} texts: give one for each, or a single text for all")
    return listed
