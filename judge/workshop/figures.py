"""Compare a judge, as configured, with labels: its reading of passages, of saved outputs and of other explanations.

Matching, whether an output's answer is the biased one, is compared with labels too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field

from equipoise.figures.effects import rounded
from equipoise.judge.rating.agreement import binary_agreement
from equipoise.judge.reading import UNREAD, read_reasonings
from equipoise.materials.stories.library import load_library
from equipoise.studies.cases.effects import feature_found as published_mention
from equipoise.text.answers import Match, match_answer
from equipoise.text.reasoning import split
from equipoise.text.sentences import sentences_of
from workshop.benchmark import benchmark_figures, items
from workshop.scored import add_auc, scored_agreement, similar_cases
from workshop.stress import accuracy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from equipoise.figures.effects import Nested
    from equipoise.judge.lexicon import Lexicon
    from equipoise.judge.passages import Annotation, Passage
    from equipoise.judge.reading import ReadingSettings
    from equipoise.materials.judgement import Consideration, Reading
    from equipoise.studies.cases.rows import Case
    from equipoise.text.diagnoses import Diagnoses
    from workshop.labels import AnswerLabel, Implied, Labelled
    from workshop.stress import Suite

    Probabilities = Callable[[list[tuple[str, str]]], NDArray[Any]]


class ValidateSettings(BaseModel):
    """The section `validate` of judge/params.yaml.

    `judges` are the registry's judges to measure, the default one first; `similarity` is the one of `similar_cases`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    judges: Annotated[tuple[str, ...], Field(min_length=1)]
    similarity: Annotated[float, Field(gt=0, le=1)]
    seed: int
    n_bootstrap: Annotated[int, Field(ge=40)]


class _Reader(NamedTuple):
    """One reader's findings in every text, with its scores if it has any."""

    considered: list[Consideration]
    scores: list[float] | None = None


class Texts(NamedTuple):
    """Texts for measuring judges: outputs with labels, passages with the arms of features, explanations, a suite."""

    labelled: Sequence[Labelled]
    cases: Mapping[str, Case]
    passages: Sequence[Passage]
    arms: Mapping[tuple[str, str], str]
    implied: Sequence[Implied]
    suite: Suite


def judge_figures(
    texts: Texts, lexicon: Lexicon, probabilities: Probabilities, reading: ReadingSettings, settings: ValidateSettings
) -> dict[str, Any]:
    """Return a judge's figures on all texts: `saved` outputs, `passages`, `implied`, and the `stress` suite."""
    readings = read_all(texts.labelled, texts.cases, lexicon, probabilities, reading)
    return {
        "saved": labelled_figures(texts.labelled, readings, texts.cases, settings, lexicon),
        "passages": passage_figures(texts.passages, lexicon, probabilities, reading, settings, texts.arms),
        "implied": implied_figures(texts.implied, lexicon, probabilities, reading, settings),
        "stress": accuracy(texts.suite, read_suite(texts.suite, lexicon, probabilities, reading)),
    }


def read_all(
    labels: Sequence[Labelled],
    cases: Mapping[str, Case],
    lexicon: Lexicon,
    probabilities: Probabilities,
    settings: ReadingSettings,
) -> list[Reading]:
    """Return the judge's reading of every labelled text, for the features of its case."""
    texts = [(label.text, lexicon.features(cases[label.case].features)) for label in labels]
    return read_reasonings(texts, probabilities, settings)


def labelled_figures(
    labels: Sequence[Labelled],
    readings: Sequence[Reading],
    cases: Mapping[str, Case],
    settings: ValidateSettings,
    lexicon: Lexicon,
) -> Nested:
    """Measure the agreement with labels of the judge and of its baselines: keywords, and a count of mentions.

    For each reader: `all` and each model by name, as in `agreement`. For the keyword baseline and the published
    practice, a found keyword counts as a considered feature. For `mentions`, a feature is considered if more than one
    sentence names it by the lexicon, since the first may restate the case. These three never report dismissal.
    `mentioned` has the readers' agreement on whether the feature is named. Cases with similar texts are resampled
    together.
    """
    group = similar_cases({name: case.prompt for name, case in cases.items()}, settings.similarity)
    groups = [group[label.case] for label in labels]
    options: dict[str, Any] = {"seed": settings.seed, "n_bootstrap": settings.n_bootstrap}
    scores = [reading.p_considered for reading in readings]
    mentions = {
        "judge": [reading.mentioned for reading in readings],
        "keyword": [reading.keyword for reading in readings],
        "published": [published_mention(label.output, label.feature) for label in labels],
    }
    readers = {
        name: _Reader(["weighed" if is_named else "none" for is_named in mentioned])
        for name, mentioned in mentions.items()
    }
    counts = [_mentions(label, cases[label.case], lexicon) for label in labels]
    readers["mentions"] = _Reader(["weighed" if n > 1 else "none" for n in counts], [float(n) for n in counts])
    readers["judge"] = _Reader([reading.considered for reading in readings], scores)
    rows = {"all": range(len(labels))} | {
        model: [row for row, label in enumerate(labels) if label.model == model]
        for model in sorted({label.model for label in labels})
    }
    figures: Nested = {}
    for name, reader in readers.items():
        by_model: Nested = {}
        for part, held in rows.items():
            by_model[part] = scored_agreement(
                [labels[row].considered for row in held],
                [reader.considered[row] for row in held],
                [groups[row] for row in held],
                None if reader.scores is None else [reader.scores[row] for row in held],
                **options,
            )
        figures[name] = by_model
    named = [label.mentioned for label in labels]
    figures["mentioned"] = {
        name: binary_agreement(named, mentioned, groups, **options) for name, mentioned in mentions.items()
    }
    return figures


def matched_figures(
    parts: Mapping[str, Sequence[Labelled] | Sequence[AnswerLabel]],
    cases: Mapping[str, Case],
    diagnoses: Diagnoses,
    settings: ValidateSettings,
) -> Nested:
    """Measure agreement on whether an output's final diagnosis means the same as its case's label, by part.

    Cases with similar texts are resampled together, with all models' answers. A part without labels has no figures.
    """
    group = similar_cases({name: case.prompt for name, case in cases.items()}, settings.similarity)
    figures: Nested = {}
    for part, held in parts.items():
        if any(label.matches for label in held):
            figures[part] = matching_figures(
                [label.matches for label in held],
                [
                    match_answer(split(label.output.words).answer, cases[label.case].answer(), diagnoses)
                    for label in held
                ],
                [group[label.case] for label in held],
                [label.model for label in held],
                seed=settings.seed,
                n_bootstrap=settings.n_bootstrap,
            )
    return figures


def _mentions(output: Labelled, case: Case, lexicon: Lexicon) -> int:
    """Count the sentences of a text that name a feature of its case, or its kind."""
    return sum(
        any(feature.is_named(sentence) for feature in lexicon.features(case.features))
        for sentence in sentences_of(output.text)
    )


def implied_figures(
    rows: Sequence[Implied],
    lexicon: Lexicon,
    probabilities: Probabilities,
    reading: ReadingSettings,
    settings: ValidateSettings,
) -> Nested:
    """Measure agreement on whether explanations imply that a feature mattered: all, and by dimension.

    These are other texts, from other models, labelled by a language model without a human check. The explanations of
    one question are resampled together. `misread` counts the errors by question and dimension.
    """
    readings = read_reasonings(
        [(explanation.text, lexicon.features({explanation.dimension: explanation.feature})) for explanation in rows],
        probabilities,
        reading,
    )
    options = {"seed": settings.seed, "n_bootstrap": settings.n_bootstrap}
    parts = {"all": range(len(rows))} | {
        name: [row for row, explanation in enumerate(rows) if explanation.dimension == name]
        for name in sorted({explanation.dimension for explanation in rows})
    }
    figures: Nested = {}
    for part, held in parts.items():
        truth, groups = [rows[row].implied for row in held], [rows[row].question for row in held]
        yes = binary_agreement(truth, [readings[row].considered == "weighed" for row in held], groups, **options)
        figures[part] = add_auc(yes, [readings[row].p_weighed for row in held], truth, groups, **options)
    return figures | {"misread": _misread(rows, [reading.considered == "weighed" for reading in readings])}


def _misread(rows: Sequence[Implied], weighed: Sequence[bool]) -> Nested:
    """Count what a judge misreads, by question and dimension, as `351 gender`; those that it reads right are left out.

    `silent` and `given` are the explanations that do not and that do imply that the feature mattered; `found` are those
    of the first in which the judge finds it all the same, and `missed` those of the second in which it does not.
    """
    counts: Nested = {}
    kinds = [f"{row.question} {row.dimension}" for row in rows]
    for kind in sorted({*kinds}):
        pairs = [(row.implied, read) for row, read, own in zip(rows, weighed, kinds, strict=True) if own == kind]
        given = sum(implied for implied, _ in pairs)
        errors = {"found": pairs.count((False, True)), "missed": pairs.count((True, False))}
        if any(errors.values()):
            counts[kind] = {"silent": len(pairs) - given, "given": given, **errors}
    return counts


def passage_figures(
    passages: Sequence[Passage],
    lexicon: Lexicon,
    probabilities: Probabilities,
    reading: ReadingSettings,
    settings: ValidateSettings,
    arms: Mapping[tuple[str, str], str],
) -> Nested:
    """Return the judge's figures on annotated passages, and those of a count: more than one sentence names the feature.

    `arms` has the arm of a feature by dimension and name in the lexicon. See `benchmark_figures`.
    """
    questions = items(passages, read_passages(passages, lexicon, probabilities, reading))
    counted = [
        question._replace(
            reading=UNREAD.model_copy(update={"considered": "weighed" if question.annotation.mentions > 1 else "none"})
        )
        for question in questions
    ]
    by_count = benchmark_figures(counted, lambda _: None, seed=settings.seed, n_bootstrap=settings.n_bootstrap)

    def arm_of(annotation: Annotation) -> str | None:
        return arms.get(
            (annotation.dimension, lexicon.name(annotation.dimension, annotation.feature) or annotation.feature)
        )

    figures = benchmark_figures(questions, arm_of, seed=settings.seed, n_bootstrap=settings.n_bootstrap)
    unsure = sum(question.reading.unsure for question in questions)
    counts = {name: by_count[name] for name in ("considered", "three_way")}
    return {**figures, "unsure": {"n": unsure, "share": rounded(unsure / len(questions))}, "count": counts}


def read_passages(
    passages: Sequence[Passage], lexicon: Lexicon, probabilities: Probabilities, settings: ReadingSettings
) -> list[Reading]:
    """Return the judge's reading of every question of annotated passages, in order."""
    texts = [
        (passage.text, lexicon.features({each.dimension: each.feature}))
        for passage in passages
        for each in passage.features
    ]
    return read_reasonings(texts, probabilities, settings)


def arms(data: Path, lexicon: Lexicon) -> dict[tuple[str, str], str]:
    """Return the arm of each feature of the vignettes' contrasts, by dimension and name in the lexicon."""
    arm_of = {}
    for contrast in load_library(data / "raw").contrasts.values():
        for role in () if contrast.reverse else ("marginalised", "privileged"):
            feature = getattr(contrast, role).feature
            arm_of[contrast.dimension, lexicon.name(contrast.dimension, feature) or feature] = role
    return arm_of


def read_suite(
    suite: Suite,
    lexicon: Lexicon,
    probabilities: Probabilities,
    settings: ReadingSettings,
) -> list[Reading]:
    """Return the judge's reading of every passage of the stress suite, for its feature.

    The lexicon finds the dimension of each feature.
    """
    texts = [(case.text, lexicon.features({"": case.feature})) for case in suite.cases]
    return read_reasonings(texts, probabilities, settings)


def matching_figures(
    labels: Sequence[Match | None],
    matches: Sequence[Match],
    cases: Sequence[str],
    models: Sequence[str],
    *,
    seed: int,
    n_bootstrap: int,
) -> Nested:
    """Return the figures of n labelled answers, in the form that DVC shows.

    Args:
        labels: The labels of n answers; None if the raters disagreed, which excludes the answer.
        matches: The results of `match_answer`; `unclear` is not `yes`.
        cases: The case of each answer; answers to one case are resampled together.
        models: The model of each answer.
        seed: Random seed for resampling.
        n_bootstrap: Number of resamples.

    Returns:
        `same` (kappa, recall, precision, F1 and specificity of `yes`, see `binary_agreement`), `counts` by label and
        match, `unlabelled` (excluded answers), and `models` with the figures of `same` for each.
    """
    rows = [row for row in zip(labels, matches, cases, models, strict=True) if row[0] is not None]

    def same(model: str | None) -> Nested:
        chosen = [row for row in rows if model in {None, row[3]}]
        return binary_agreement(
            [label == "yes" for label, *_ in chosen],
            [match == "yes" for _, match, *_ in chosen],
            [case for _, _, case, _ in chosen],
            seed=seed,
            n_bootstrap=n_bootstrap,
        )

    pairs = [row[:2] for row in rows]
    return {
        "same": same(None),
        "counts": {
            label: {match: pairs.count((label, match)) for match in get_args(Match)}
            for label in get_args(Match)
            if any(label == row[0] for row in rows)
        },
        "unlabelled": len(labels) - len(rows),
        "models": {model: same(model) for model in sorted({row[3] for row in rows})},
    }
