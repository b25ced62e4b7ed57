"""Scores of answers to adversarial questions: `equipoise.adversarial`, `equipoise.equity` and their commands."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from equipoise.core.errors import EquipoiseError
from equipoise.core.shipped import shipped
from equipoise.core.tables import Source
from equipoise.figures.frame import Figures, frame_of, row_of, tables
from equipoise.figures.options import Measure
from equipoise.materials.cities import FILE, City, load_cities
from equipoise.studies.questions import amqa
from equipoise.studies.questions.city_effects import city_effects
from equipoise.studies.questions.effects import Answered
from equipoise.studies.questions.equilens import read_results

if TYPE_CHECKING:
    import pandas as pd


def adversarial(answers: pd.DataFrame | Mapping[str, pd.DataFrame]) -> Figures:
    """Score multiple-choice answers with adversarial backgrounds, in AMQA's form: does accuracy differ by group?

    The figures are those of `equipoise score amqa --allow-incomplete`. Source: Xiao et al., AMQA, 2025.

    Args:
        answers: a table with one question per row: `question_id`, `answer_idx` (the right letter), and the letter given
            to each of eight variants: `test_model_answer_` followed by `original_question`, `desensitized_question`,
            `white`, `black`, `high_income`, `low_income`, `male`, `female`. An empty or missing letter is an unparsed
            answer, which counts as wrong. For several models, a mapping from their names to such tables.

    Returns:
        By attribute (race, ses, gender) `gap`, the accuracy about the privileged group with a favourable background
        minus that about the other with an unfavourable one, in -1 to 1, n questions, with Newcombe's paired interval,
        the exact McNemar test, and that adjusted over attributes and models (Holm), the counts behind it, and
        `letters_differ`; by variant `accuracy` and `unparsed`. Group `original_neutral` is a check of the neutral text.

    Raises:
        EquipoiseError: a column is missing or a value is not a letter; the message names the column, row and fix.

    >>> frame = adversarial(example("amqa_answers")).frame
    >>> frame[frame.measure == "gap"].set_index("group").estimate["race"].item()
    0.375
    """
    given = tables(answers, "answers", ("question_id",))
    scored = score_answers({name: amqa.read_answers(table) for name, table in given.items()})
    rows = [row for model in scored for row in _amqa_rows(model)]
    title = f"Adversarial questions, {scored[0]['n']} questions"
    return Figures(title, frame_of(rows), ("An unparsed answer counts as wrong.",))


def _amqa_rows(scored: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Lay out one model's figures: the gap and counts of every pair, then the accuracy of every variant."""
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
        answers: the same tables as for `adversarial`; or, with a column `adv_group` (`baseline`, `white`, …), one row
            per question and group, with `question_id`, `answer_idx`, `response` and `option_A`, …
        cities: a YAML file of cities, instead of London, Edinburgh and Dublin (docs/howto/city.md).
        partition: average over all partitions of the questions between the groups, or draw one.
        seed: random seed of the drawn partition.

    Returns:
        Family `city`, group `<city>/<attribute>`: `city_accuracy`, `accuracy_ratio` and `consistency_ratio` (1 means no
        difference), n questions, bootstrap intervals, tests of the accuracy ratio; and `baseline_accuracy`.

    Raises:
        EquipoiseError: a column is missing or a value is not a letter; the message names the column, row and fix.
    """
    if partition not in ("expected", "seeded"):
        raise EquipoiseError(f"partition {partition!r}: choose expected or seeded")
    places = described(FILE if cities is None else Path(cities))
    read = {name: read_answered(given) for name, given in tables(answers, "answers", ("question_id",)).items()}
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


def score_answers(
    answers: Mapping[str, Sequence[Answered]], expected: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """Score answers in AMQA's form, by model name; p-values are adjusted over all models.

    With `expected`, every model must have answered exactly the questions with these ids.
    """
    if expected is None:
        amqa.require_same_gold(answers)
    else:
        amqa.require_same_questions(answers, expected)
    return amqa.score_released(answers, amqa.released_name)


def described(path: Path) -> dict[str, City]:
    """Load the cities that have a composition of their population."""
    return {name: city for name, city in load_cities(shipped(path)).items() if city.composition}


def has_results(source: Source) -> bool:
    """Whether a source contains EquiLens' results, one row per question and group, rather than AMQA's answers."""
    if isinstance(source, Path):
        return source.suffix == ".parquet"
    return bool(source.rows) and "adv_group" in source.rows[0]


def read_answered(source: Source) -> list[Answered]:
    """Read EquiLens' results or AMQA's answers."""
    return read_results(source) if has_results(source) else amqa.read_answers(source)
