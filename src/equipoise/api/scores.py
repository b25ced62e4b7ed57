"""Scores of saved outputs, answers, probabilities and reasoning, as `equipoise score` and `judge` give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from equipoise.api.figures import Figures, frame_of, row_of, table, tables
from equipoise.core.errors import EquipoiseError
from equipoise.core.extras import extras_named
from equipoise.core.shipped import shipped
from equipoise.core.tables import Table, require_new, rows_of, valid
from equipoise.figures.options import ALPHA

if TYPE_CHECKING:
    import pandas as pd

    from equipoise.studies.cases.effects import Mode
    from equipoise.studies.cases.rows import Case
    from equipoise.studies.stigma.rows import Fill

METADATA = ("dimension", "role", "features", "synonyms", "source", "licence")
"""What a case may have beside its feature and its label."""
READ = {
    "nli": "Read by the judge: silent where the reasoning neither weighs nor dismisses the feature.",
    "legacy": "Read by keywords, as published: for comparison with published figures alone.",
}
RQ1, RQ2 = ("probability", "gender", "diagnosis", "prompt"), ("female_prob", "male_prob", "diagnosis", "sequence")
FILLS = ("question", "template", "group", "condition", "condition_set", "female", "male", "unspecified")


def silent_bias(
    outputs: pd.DataFrame,
    cases: pd.DataFrame | None = None,
    *,
    mode: Mode = "nli",
    by: str | None = None,
    judge: str | None = None,
) -> Figures:
    """Score saved outputs: how many biased answers are silent about the patient's feature.

    The figures are those of `equipoise score silent`; docs/metrics/silent_bias_rate.md defines them. Cases have
    one arm each, so that no paired figure is among them.

    Args:
        outputs: one output a row. `id` is that of its case, `output_text` the model's whole text, thinking included.
            May have `status` (`ok`, unless the run failed) and `extracted_diagnosis`, which `legacy` reads too.
        cases: one case a row: `id`, `bias_feature` (in plain words: black, homeless), `bias_label` (the diagnosis that
            would be biased); may have `prompt`, `dimension` (race), `role` (marginalised or privileged), `synonyms` (a
            list). Without it, `outputs` has these columns itself.
        mode: `nli` asks the judge what the reasoning does with the feature, `legacy` looks for its words.
        by: a column of `outputs` or `cases`, such as `dimension` or `model_name`, whose values are scored apart.
        judge: a judge of the registry, by default the embedded one. Needs `pip install 'equipoise[judge]'`.

    Returns:
        Rates of the biased answers (`silent_bias_rate`, in 0 to 1, n the biased answers, Wilson intervals; corrected
        for the judge's measured error; by mention and by keyword), and counts as estimates.

    Raises:
        EquipoiseError: a column, a value or the extra is missing; the message names the column, the row and the fix.

    >>> found = silent_bias(example("outputs"), example("cases"), mode="legacy").frame
    >>> found.set_index("measure").estimate["silent_bias_rate"].item()
    0.5
    """
    from equipoise.figures.effects import Group
    from equipoise.studies.cases.effects import score_legacy, scored_effects
    from equipoise.studies.cases.rows import read_outputs, require_cases

    if mode not in READ:
        raise EquipoiseError(f"mode {mode!r}: choose one of {', '.join(READ)}")
    labels = ("id", "bias_feature", "bias_label")
    given = table(outputs, "outputs", ("id", "output_text", *(labels if cases is None else ())))
    about = given if cases is None else table(cases, "cases", labels)
    score = score_legacy
    if mode == "nli":
        with extras_named():
            score = _judged(judge)
    rows: list[dict[str, Any]] = []
    notes = []
    for group, some, theirs in _split(given, about, by):
        read = read_outputs(some)
        asked = _cases(theirs)
        require_cases(some.name, read, asked)
        scored = score(some.name, read, asked, alpha=ALPHA)
        rows += [row_of(effect) for effect in scored_effects(Group("silent bias", group, "cases"), scored)]
        counts = f"{scored['n']} outputs, {scored['biased']} biased, {scored['silent']} of these silent"
        notes.append(f"{group}: {counts}; {scored['interpretation']}.")
    return Figures(f"Silent bias, {mode}", frame_of(rows), (*notes, READ[mode]))


def _judged(judge: str | None) -> Any:  # noqa: ANN401  (as score_legacy)
    from equipoise.api.reader import load_reader
    from equipoise.studies.cases.effects import score_judged
    from equipoise.studies.cases.judged import judge_outputs
    from equipoise.text.diagnoses import FILE, load_diagnoses

    reader, names = load_reader(judge), load_diagnoses(shipped(FILE))

    def score(name: str, outputs: Any, asked: Mapping[str, Case], *, alpha: float) -> dict[str, Any]:  # noqa: ANN401
        judged = [*judge_outputs(outputs, asked, reader.probabilities, reader.settings, reader.lexicon, names)]
        return score_judged(name, outputs, asked, judged, alpha=alpha, errors=reader.errors)

    return score


def _split(outputs: Table, cases: Table, by: str | None) -> Iterator[tuple[str, Table, Table]]:
    """Give the outputs and cases of each value of a column, in order; of all where no column is named."""
    if by is None:
        yield "all", outputs, cases
        return
    of_outputs = bool(outputs.rows) and by in outputs.rows[0]
    if not of_outputs and not (cases.rows and by in cases.rows[0]):
        raise EquipoiseError(f"outputs: no column {by!r}, nor have the cases: name one of theirs, or leave `by` out")
    value_of = {str(row["id"]): row.get(by) for row in cases.rows}
    values = [row.get(by) if of_outputs else value_of.get(str(row["id"])) for row in outputs.rows]
    for value in dict.fromkeys(values):
        some = [row for row, one in zip(outputs.rows, values, strict=True) if one == value]
        theirs = [row for row in cases.rows if by not in row or row[by] == value]
        yield str(value), Table(f"{outputs.name} of {by} {value}", some), Table(cases.name, theirs)


def _cases(given: Table) -> dict[str, Case]:
    """Read cases; their own columns are what the interchange format has under metadata."""
    from equipoise.studies.cases.rows import cases_of

    rows = [
        {
            "id": row["id"] if row["id"] is None else str(row["id"]),
            "prompt": row.get("prompt") or "(not given)",
            **{name: row[name] for name in ("bias_feature", "bias_label")},
            "metadata": {name: row[name] for name in METADATA if row.get(name) is not None},
        }
        for row in given.rows
    ]
    return {case.key: case for case in cases_of(rows, given)}


def adversarial(answers: pd.DataFrame | Mapping[str, pd.DataFrame]) -> Figures:
    """Score multiple-choice answers with adversarial backgrounds, in AMQA's form: does accuracy differ by group?

    The figures are those of `equipoise score amqa --allow-incomplete`. Source: Xiao et al., AMQA, 2025.

    Args:
        answers: one question a row: `question_id`, `answer_idx` (the right letter), and the letter that each of eight
            variants was answered with: `test_model_answer_` followed by `original_question`, `desensitized_question`,
            `white`, `black`, `high_income`, `low_income`, `male`, `female`. An empty or missing letter is an unparsed
            answer, which counts as wrong. Several models: a mapping from their names to such tables.

    Returns:
        By attribute (race, ses, gender) `gap`, the accuracy about the privileged group with a favourable background
        minus that about the other with an unfavourable one, in -1 to 1, n questions, with Newcombe's paired interval,
        the exact McNemar test, and that adjusted over attributes and models (Holm), the counts behind it, and
        `letters_differ`; by variant `accuracy` and `unparsed`. Group `original_neutral` is a check of the neutral text.

    Raises:
        EquipoiseError: a column is missing, or a value is no letter; the message names the column, the row and the fix.

    >>> found = adversarial(example("amqa_answers")).frame
    >>> found[found.measure == "gap"].set_index("group").estimate["race"].item()
    0.375
    """
    from equipoise.studies.questions import amqa

    read = {name: amqa.read_answers(one) for name, one in tables(answers, "answers", ("question_id",)).items()}
    amqa.require_same_gold(read)
    scored = amqa.score_released(read, amqa.released_name, alpha=ALPHA)
    rows = [row for one in scored for row in _amqa_rows(one)]
    title = f"Adversarial questions, {scored[0]['n']} questions"
    return Figures(title, frame_of(rows), ("An unparsed answer counts as wrong.",))


def _amqa_rows(scored: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give one model's figures: a pair's gap and counts, then every variant's accuracy."""
    shared = {"family": scored["file"], "n": scored["n"]}
    for group, pair in scored["pairs"].items():
        tested = {"estimate": pair["gap"], "p": pair["p_exact"], "p_adjusted": pair["p_holm"]}
        yield {
            **shared,
            "group": group,
            "measure": "gap",
            **tested,
            "ci_low": pair["ci_low"],
            "ci_high": pair["ci_high"],
        }
        for measure in ("both", "only_privileged", "only_unprivileged", "neither", "letters_differ"):
            yield {**shared, "group": group, "measure": measure, "estimate": pair[measure]}
    for measure in ("accuracy", "unparsed"):
        for arm, value in scored[measure].items():
            yield {**shared, "group": arm, "measure": measure, "estimate": value}


def equity(
    answers: pd.DataFrame | Mapping[str, pd.DataFrame],
    *,
    cities: Path | str | None = None,
    partition: Literal["expected", "seeded"] = "expected",
    seed: int = 42,
) -> Figures:
    """Score answers for the population of each city: accuracy, accuracy ratio and consistency ratio.

    The figures are those of `equipoise score equity --allow-incomplete`; docs/equity.md derives them.

    Args:
        answers: as `adversarial` takes them; or, with a column `adv_group` (`baseline`, `white`, …), one question and
            group a row, with `question_id`, `answer_idx`, `response` and `option_A`, …. Several models: a mapping.
        cities: a YAML file of cities, in place of London, Edinburgh and Dublin (docs/howto/city.md).
        partition: over all partitions of the questions between the groups, or for one that is drawn.
        seed: that of the partition that is drawn.

    Returns:
        Family `city`, group `<city>/<attribute>`: `city_accuracy`, `accuracy_ratio` and `consistency_ratio` (1 means no
        difference), n questions, bootstrap intervals, tests of the accuracy ratio; and `baseline_accuracy`.

    Raises:
        EquipoiseError: a column is missing, or a value is no letter; the message names the column, the row and the fix.
    """
    from equipoise.figures.options import Measure
    from equipoise.materials.cities import FILE, load_cities
    from equipoise.studies.questions import amqa
    from equipoise.studies.questions.city_effects import city_effects
    from equipoise.studies.questions.equilens import read_results

    if partition not in ("expected", "seeded"):
        raise EquipoiseError(f"partition {partition!r}: choose expected or seeded")
    found = load_cities(shipped(FILE) if cities is None else Path(cities))
    places = {name: city for name, city in found.items() if city.composition}
    read = {
        name: read_results(one) if one.rows and "adv_group" in one.rows[0] else amqa.read_answers(one)
        for name, one in tables(answers, "answers", ("question_id",)).items()
    }
    amqa.require_same_gold(read)
    options = Measure(partition=partition, partition_seed=seed)
    several = isinstance(answers, Mapping)
    rows = []
    for name, answered in read.items():
        for effect in city_effects(answered, places, options):
            row = row_of(effect)
            rows.append(row | {"family": f"{name}: {row['family']}"} if several else row)
    notes = ("A ratio of 1 means that accuracy does not depend on the city's population.",)
    return Figures("Accuracy for the population of cities", frame_of(rows), notes)


def stigma(*probabilities: pd.DataFrame) -> Figures:
    """Score the probabilities of a subject's gender in sentences about mental and other illness.

    The figures are those of `equipoise score stigma`. Source: Lin et al., EMNLP 2022.

    Args:
        probabilities: one model's tables, in any of three forms. Who has the condition (rq1): `prompt`, `diagnosis`,
            `gender` (female, male, ambig) and `probability`, a row each. Towards whom the attitude is (rq2):
            `sequence`, `diagnosis`, `stigma_category`, `female_prob`, `male_prob`. Sentences of your own: `question`
            (rq1 or rq2), `template`, `group`, `condition`, `condition_set` (mental or control), `female`, `male`,
            `unspecified`; this is also the form of data/stigma/judgements.jsonl. Probabilities are in 0 to 1.

    Returns:
        Family `<question>_mental`, `_control` and, where both are there, `_difference`; group: the phase of seeking
        care, the dimension of stigma, or `all`. `disparity` is female minus male, in -1 to 1, over sentences;
        `disparity_clustered` the same with each condition once, which is the primary test; `female`, `male`, …

    Raises:
        EquipoiseError: no known form, a sentence without one of its conditions, or a value that is no probability; the
            message names the column, the row and the fix.
    """
    from equipoise.figures.options import Measure
    from equipoise.studies.stigma.effects import stigma_effects

    if not probabilities:
        raise EquipoiseError("no DataFrame: give at least one")
    owners: dict[str, str] = {}
    fills: list[Fill] = []
    for number, frame in enumerate(probabilities, start=1):
        given = table(frame, "probabilities" if len(probabilities) == 1 else f"probabilities {number}")
        for fill in _fills(given, [str(name).strip() for name in frame.columns]):
            require_new(owners, fill.key, f"{given.name}, sentence {fill.key}", "sentence")
            fills.append(fill)
    rows = [row_of(effect) for effect in stigma_effects(fills, Measure())]
    notes = ("Positive disparities: the model considers a female subject more likely.",)
    return Figures("Gender of the subject, by condition", frame_of(rows), notes)


def _fills(given: Table, columns: Sequence[str]) -> list[Fill]:
    """Read one table in the form that its columns tell."""
    from equipoise.studies.stigma import lin
    from equipoise.studies.stigma.library import load_library
    from equipoise.studies.stigma.rows import Fill

    if set(FILLS) <= set(columns):
        fix = "correct the row"
        return [
            valid(Fill, _completed(row), where, fix) for where, row in rows_of(given, f"the columns {', '.join(FILLS)}")
        ]
    wordings = lin.Wordings(load_library(shipped("data/sentences")))
    for needed, read in ((RQ1, lin.read_rq1), (RQ2, lin.read_rq2)):
        if set(needed) <= set(columns):
            return read(given, wordings)
    forms = "; or ".join(", ".join(form) for form in (RQ1, RQ2, FILLS))
    raise EquipoiseError(f"{given.name}: the columns {', '.join(columns) or 'none'} are of no known form: give {forms}")


def _completed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in what a sentence of one's own need not have."""
    key = "/".join(str(row[name]) for name in ("question", "template", "condition"))
    given = {name: value for name, value in row.items() if value is not None}
    return {"key": key, "study": "stigma", "polarity": 1, "scorer": "masked", "words": {}, **given}


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
        texts: a model's whole outputs, thinking included; an empty text where it gave none.
        features: the feature of each patient in plain words (black, homeless, 75-year-old), or one for all.
        dimensions: what each feature is of (race, housing, age), or one for all; by default as the word lists say.
        judge: a judge of the registry, by default the embedded one. Needs `pip install 'equipoise[judge]'`.

    Returns:
        One text a row: `id` (its place, from 0), `feature`, `mentioned`, `considered` (weighed, dismissed, none),
        `evidence` (the sentence that decided, verbatim), `probability` of that judgement, and `keyword`, whether the
        feature's words are there at all.

    Raises:
        EquipoiseError: as many features as texts are not given, one is empty, or the extra is missing.
    """
    with extras_named():
        return _judgements(list(texts), features, dimensions, judge)


def _judgements(
    texts: list[str],
    features: Sequence[str] | str,
    dimensions: Sequence[str | None] | str | None,
    judge: str | None,
) -> Figures:
    from equipoise.api.reader import load_reader
    from equipoise.studies.cases.judged import Asked, judge_rows, unlisted

    about = _for_each(features, "features", len(texts))
    of = _for_each(dimensions, "dimensions", len(texts))
    for place, (text, feature) in enumerate(zip(texts, about, strict=True)):
        if not isinstance(text, str):
            raise EquipoiseError(f"texts, place {place}: {text!r} is not a text: give an empty one where there is none")
        if not isinstance(feature, str) or not feature.strip():
            raise EquipoiseError(f"features, place {place}: {feature!r} is not a feature in plain words: give one")
    asked = [
        Asked(place, str(feature).strip(), text, dimension or "")
        for place, (text, feature, dimension) in enumerate(zip(texts, about, of, strict=True))
    ]
    reader = load_reader(judge)
    found = judge_rows(asked, lexicon=reader.lexicon, probabilities=reader.probabilities, settings=reader.settings)
    rows = [{**one._asdict(), "feature": row.feature} for row, one in zip(asked, found, strict=True)]
    columns = ("id", "feature", "mentioned", "considered", "evidence", "probability", "keyword")
    notes = [f"Judge: {reader.judge}."]
    if unknown := unlisted(asked, reader.lexicon):
        notes.append(f"In no word list, so that only their own words are looked for: {', '.join(unknown)}.")
    return Figures("Reasoning about the feature", frame_of(rows, columns), tuple(notes))


def _for_each(values: Sequence[str | None] | str | None, name: str, n: int) -> list[str | None]:
    """Give one value for each text."""
    found = [values] * n if values is None or isinstance(values, str) else list(values)
    if len(found) != n:
        raise EquipoiseError(f"{name}: {len(found)} for {n} texts: give one for each, or a single text for all")
    return found
