"""A judge, as it is set, against labels: its reading of saved outputs, beside keywords, and of other explanations.

So is what it is asked about: whether an output's answer is the biased one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from equipoise.core.errors import EquipoiseError
from equipoise.judge.reading import ENTAILMENT, read_reasonings
from equipoise.metrics.cases import feature_found as published_mention
from equipoise.rating.agreement import binary_agreement
from equipoise.text.answers import MATCHES, match_answer
from equipoise.text.reasoning import split
from equipoise.text.sentences import windows
from workshop.grid import margins, scored_agreement, told_alike, with_auc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from equipoise.cases.rows import Case
    from equipoise.core.records import Consideration, Reading
    from equipoise.judge.lexicon import Lexicon
    from equipoise.judge.reading import ReadingSettings
    from equipoise.metrics.effects import Nested
    from equipoise.text.answers import Match
    from equipoise.text.diagnoses import Diagnoses
    from workshop.labels import AnswerLabel, Labelled, Verbalised
    from workshop.stress import Suite

    Probabilities = Callable[[list[tuple[str, str]]], NDArray[Any]]

FEWEST = 5
"""Explanations of either kind below which a kind of prompt has no figures of its own."""

Statement = Annotated[str, Field(min_length=1)]


class BiasStatements(BaseModel):
    """For each kind of biased prompt (`formatter`), statements that its bias had a part in the answer.

    The most entailed of them counts; `threshold` is the probability from which an explanation verbalises its bias.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    threshold: Annotated[float, Field(ge=0, le=1)]
    statements: dict[str, Annotated[tuple[Statement, ...], Field(min_length=1)]]


class ValidateSettings(BaseModel):
    """The section `validate` of judge/params.yaml; `similarity` is that of `folds.told_alike`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    similarity: Annotated[float, Field(gt=0, le=1)]
    seed: int
    n_bootstrap: Annotated[int, Field(ge=40)]
    bct: BiasStatements


class _Reader(NamedTuple):
    """What one reader finds in every text, with its scores where it has any."""

    considered: list[Consideration]
    scores: list[float] | None = None


def read_all(
    labels: Sequence[Labelled],
    cases: Mapping[str, Case],
    lexicon: Lexicon,
    probabilities: Probabilities,
    settings: ReadingSettings,
) -> list[Reading]:
    """The judge's reading of every labelled text, for the features of its case."""
    texts = [(one.text, lexicon.features(cases[one.case].features)) for one in labels]
    return read_reasonings(texts, probabilities, settings)


def labelled_figures(
    labels: Sequence[Labelled],
    readings: Sequence[Reading],
    cases: Mapping[str, Case],
    reading: ReadingSettings,
    settings: ValidateSettings,
    lexicon: Lexicon,
) -> Nested:
    """Agreement with labels of the judge, and of what must be bettered: keywords, and a count of mentions.

    For each reader: `all` and each model by name, as `validation.agreement` gives them. Of the keyword baseline and the
    published practice, a keyword that is found counts as a feature that is considered. To `mentions` a feature is
    considered that more than one sentence names by the lexicon, since the first may restate the case. These three know
    no dismissal. `mentioned` has the readers' agreement on whether the feature is named. Cases told alike are resampled
    together.
    """
    group = told_alike({name: case.prompt for name, case in cases.items()}, settings.similarity)
    groups = [group[one.case] for one in labels]
    options: dict[str, Any] = {"seed": settings.seed, "n_bootstrap": settings.n_bootstrap}
    p = np.array([(one.p_weighed, one.p_dismissed) for one in readings])
    scores = margins(p, reading.thresholds.weighed, reading.thresholds.dismissed).tolist()
    mentions = {
        "judge": [one.mentioned for one in readings],
        "keyword": [one.keyword for one in readings],
        "published": [published_mention(one.output, one.feature) for one in labels],
    }
    readers = {name: _Reader(["weighed" if one else "none" for one in found]) for name, found in mentions.items()}
    counts = [_mentions(one, cases[one.case], lexicon) for one in labels]
    readers["mentions"] = _Reader(["weighed" if n > 1 else "none" for n in counts], [float(n) for n in counts])
    readers["judge"] = _Reader([one.considered for one in readings], scores)
    rows = {"all": range(len(labels))} | {
        model: [row for row, one in enumerate(labels) if one.model == model]
        for model in sorted({one.model for one in labels})
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
    named = [one.mentioned for one in labels]
    figures["mentioned"] = {name: binary_agreement(named, found, groups, **options) for name, found in mentions.items()}
    return figures


def matched_figures(
    parts: Mapping[str, Sequence[Labelled] | Sequence[AnswerLabel]],
    cases: Mapping[str, Case],
    diagnoses: Diagnoses,
    settings: ValidateSettings,
) -> Nested:
    """Agreement on whether an output's final diagnosis means the same as its case's label, for each part by name.

    Cases told alike are resampled together, with all models' answers to them. A part without labels has no figures.
    """
    group = told_alike({name: case.prompt for name, case in cases.items()}, settings.similarity)
    figures: Nested = {}
    for part, held in parts.items():
        if any(one.matches for one in held):
            figures[part] = matching_figures(
                [one.matches for one in held],
                [match_answer(split(one.output.said).answer, cases[one.case].answer(), diagnoses) for one in held],
                [group[one.case] for one in held],
                [one.model for one in held],
                seed=settings.seed,
                n_bootstrap=settings.n_bootstrap,
            )
    return figures


def _mentions(one: Labelled, case: Case, lexicon: Lexicon) -> int:
    """How many sentences of a text name any of the features of its case, or its kind."""
    return sum(
        any(feature.is_named(sentence) for feature in lexicon.features(case.features))
        for sentence in windows(one.text, sentences=1, stride=1)
    )


def verbalised_figures(
    rows: Sequence[Verbalised], probabilities: Probabilities, reading: ReadingSettings, settings: ValidateSettings
) -> Nested:
    """Agreement on whether explanations say that a bias had a part in the answer: all, and by kind of prompt.

    These are other texts and another question than the judge was made for: how far it carries over.

    Raises:
        EquipoiseError: a kind of prompt has no statements.
    """
    statements = settings.bct.statements
    if unknown := sorted({one.formatter for one in rows} - set(statements)):
        message = f"validate.bct.statements: none for {unknown[0]!r}: add them to judge/params.yaml"
        raise EquipoiseError(message)
    scores = np.zeros(len(rows))
    for formatter, asked in statements.items():
        held = [row for row, one in enumerate(rows) if one.formatter == formatter]
        cut = [windows(rows[row].text, sentences=reading.sentences, stride=reading.stride) for row in held]
        pairs = [(premise, statement) for premises in cut for premise in premises for statement in asked]
        entailed = probabilities(pairs)[:, ENTAILMENT] if pairs else np.empty(0)
        ends = np.cumsum([len(premises) * len(asked) for premises in cut])
        for row, found in zip(held, np.split(entailed, ends[:-1]), strict=True):
            scores[row] = found.max(initial=0.0)
    parts = {"all": list(range(len(rows)))}
    for formatter in sorted(statements):
        held = [row for row, one in enumerate(rows) if one.formatter == formatter]
        said = sum(rows[row].verbalised for row in held)
        if FEWEST <= said <= len(held) - FEWEST:
            parts[formatter] = held
    options = {"seed": settings.seed, "n_bootstrap": settings.n_bootstrap}
    figures: Nested = {}
    for part, held in parts.items():
        truth, groups = [rows[row].verbalised for row in held], [str(rows[row].row) for row in held]
        yes = binary_agreement(truth, [bool(scores[row] >= settings.bct.threshold) for row in held], groups, **options)
        figures[part] = with_auc(yes, [float(scores[row]) for row in held], truth, groups, **options)
    return figures


def read_suite(
    suite: Suite,
    lexicon: Lexicon,
    probabilities: Probabilities,
    settings: ReadingSettings,
) -> list[Reading]:
    """The judge's reading of every passage of the stress suite, for its feature.

    The lexicon finds the dimension of each feature.
    """
    texts = [(case.text, lexicon.features({"": case.feature})) for case in suite.cases]
    return read_reasonings(texts, probabilities, settings)


def matching_figures(
    labels: Sequence[Match | None],
    found: Sequence[Match],
    cases: Sequence[str],
    models: Sequence[str],
    *,
    seed: int,
    n_bootstrap: int,
) -> Nested:
    """Figures of n labelled answers, as DVC shows them.

    Args:
        labels: n labels; None where the raters were at odds, which leaves the answer out.
        found: what `match_answer` gives; `unclear` is not `yes`.
        cases: the case of each answer; answers to one case are resampled together.
        models: the model of each answer.
        seed: of the resampling.
        n_bootstrap: number of resamples.

    Returns:
        `same` (kappa, recall, precision, F1 and specificity of `yes`, see `binary_agreement`), `counts` by label and
        finding, `unlabelled` (answers left out), and `models` with the figures of `same` for each.
    """
    rows = [row for row in zip(labels, found, cases, models, strict=True) if row[0] is not None]

    def same(model: str | None) -> Nested:
        chosen = [row for row in rows if model in {None, row[3]}]
        return binary_agreement(
            [label == "yes" for label, *_ in chosen],
            [one == "yes" for _, one, *_ in chosen],
            [case for _, _, case, _ in chosen],
            seed=seed,
            n_bootstrap=n_bootstrap,
        )

    pairs = [row[:2] for row in rows]
    return {
        "same": same(None),
        "counts": {
            label: {one: pairs.count((label, one)) for one in MATCHES}
            for label in MATCHES
            if any(label == row[0] for row in rows)
        },
        "unlabelled": len(labels) - len(rows),
        "models": {model: same(model) for model in sorted({row[3] for row in rows})},
    }
