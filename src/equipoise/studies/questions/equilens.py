"""EquiLens: its runs on a sample of AMQA's questions, their figures for the population of cities, and its scores.

A file of results has one row per question and group. `adv_group` is `baseline` or the group of AMQA's variant; its
baseline is the original question. Every question of a file needs all seven rows, because the figures of a city compare
each question with itself. The figures are those of `equipoise.studies.questions.city_effects`, not rounded; Holm's
adjustment runs over the cities and attributes of one file.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import Source, identifier, parquet_rows, require_new, required, rows_of, valid
from equipoise.figures.effects import Effect
from equipoise.figures.options import Measure
from equipoise.materials.cities import City, load_cities
from equipoise.materials.questions import ATTRIBUTES
from equipoise.published.catalogue import leaves, renamed_path
from equipoise.published.equilens import CITIES, RESAMPLES, SCORES, letter_given, read_scores, response_text
from equipoise.studies.questions import NAME, amqa
from equipoise.studies.questions.city_effects import assigned_questions as assigned
from equipoise.studies.questions.city_effects import city_effects
from equipoise.studies.questions.effects import NEUTRAL, Answered, arms_of

ARMS: dict[str, str] = {"baseline": NEUTRAL, **{group: arm for arm, group in amqa.RELEASED.items()}}
"""The arm of each value of `adv_group`; the baseline replaces the neutral question."""
GROUP_NAMES = {name: group for group, name in ARMS.items()}
SUCCEEDED = "succeeded"
OPTION = "option_"
RESULTS = "equilens/amqa_results/claude-sonnet-4-6__temp0.1_seed10__20260222_003647.parquet"
"""The run of ten questions behind the released scores."""
SEED = 42
"""The seed of the partition in the release."""
MEASURES = ("city_accuracy", "accuracy_ratio", "consistency_ratio")
CITY = {
    "n_M": "n_reference",
    "n_m": "n_other",
    "E_city_acc": "city_accuracy",
    "sd_city_acc": "city_accuracy_sd",
    "E_ratio": "accuracy_ratio",
    "pop_cM": "consistency_reference",
    "pop_cm": "consistency_other",
    "pop_consistency_ratio": "consistency_ratio",
}
"""Our name of a city's figure for the published one."""
CLOSED_FORM = {"openai": "AMQA_D2_Benchmark_Answer_openai_no_cot", "qwen": "AMQA_D2_Benchmark_Answer_qwen_no_cot"}
"""The runs with figures for cities."""


def read_results(path: Source) -> list[Answered]:
    """Read a parquet file or a table of results, sorted by question; an EquipoiseError names the row and the fix.

    Failed requests and responses without a letter are unparsed answers.
    """
    gold: dict[str, str] = {}
    letters: dict[str, dict[str, str | None]] = {}
    rows: dict[str, dict[str, str]] = {}
    for where, row in rows_of(path, "a file with one row a question and group", parquet_rows):
        question, group = identifier(row, "question_id", where), required(row, "adv_group", where)
        if group not in ARMS:
            raise EquipoiseError(
                f"{where}: field adv_group: {group!r} is none of {', '.join(ARMS)}: correct or delete the row"
            )
        require_new(rows.setdefault(group, {}), question, where, f"{group} row of question")
        right = amqa.gold_letter(row, where)
        if gold.setdefault(question, right) != right:
            message = f"{where}: field answer_idx: {right} here, {gold[question]} in an earlier row of question "
            message += f"{question}: correct one of them"
            raise EquipoiseError(message)
        letters.setdefault(question, {})[ARMS[group]] = _letter(row, where)
    _require_every_group(path, letters)
    return [Answered(question, gold[question], letters[question]) for question in sorted(letters)]


def _require_every_group(path: Source, letters: Mapping[str, Mapping[str, str | None]]) -> None:
    for group, name in ARMS.items():
        if missing := [question for question, given in letters.items() if name not in given]:
            message = f"{path}: no row with adv_group {group} for the questions {amqa.named_ids(missing)}: "
            message += "add the rows, or delete those questions"
            raise EquipoiseError(message)


def _letter(row: Mapping[str, Any], where: str) -> str | None:
    """Read the letter of one response; None if there is none."""
    response = response_text(row, where)
    if response is None or row.get("result_status", SUCCEEDED) != SUCCEEDED:
        return None
    options = {
        name.removeprefix(OPTION): str(words)
        for name, words in row.items()
        if name.startswith(OPTION) and words is not None
    }
    return letter_given(response, options)


def score_equity_released(
    name: str, table: Sequence[Answered], cities: Mapping[str, City], options: Measure, name_of: Callable[[str], str]
) -> dict[str, Any]:
    """Score one file: `n`, `unparsed` by arm (named by `name_of`), baseline accuracy, and `cities` by attribute.

    Undefined values are None, as are the standard deviations over partitions if one partition was drawn.
    """
    effects = {row.key.removeprefix(f"{NAME}/"): row for row in city_effects(table, cities, options)}
    baseline = effects["baseline/all/baseline_accuracy"]
    return {
        "file": name,
        "n": len(table),
        "partition": options.partition,
        "unparsed": {name_of(arm): sum(not row.parsed(arm) for row in table) for arm in arms_of(table)},
        "baseline_accuracy": baseline.estimate,
        "baseline_accuracy_ci_low": baseline.ci_low,
        "baseline_accuracy_ci_high": baseline.ci_high,
        "cities": {
            place: {
                attribute: {
                    "reference": city.composition[attribute].reference,
                    "other": city.composition[attribute].other,
                }
                | _figures_of_city(effects, f"city/{place}/{attribute}")
                | (
                    {"assigned_questions": assigned(table, city, attribute, options.partition_seed)}
                    if options.partition == "seeded"
                    else {}
                )
                for attribute in ATTRIBUTES
                if attribute in city.composition
            }
            for place, city in cities.items()
        },
    }


def _figures_of_city(effects: Mapping[str, Effect], place: str) -> dict[str, Any]:
    def value(measure: str) -> float | None:
        row = effects.get(f"{place}/{measure}")
        return None if row is None else row.estimate

    figures: dict[str, Any] = {measure: round(value(measure) or 0) for measure in ("n_reference", "n_other")}
    for measure in MEASURES:
        row = effects.get(f"{place}/{measure}")
        figures[measure] = value(measure)
        figures[f"{measure}_ci_low"] = None if row is None else row.ci_low
        figures[f"{measure}_ci_high"] = None if row is None else row.ci_high
        figures[f"{measure}_sd"] = value(f"{measure}_partition_sd")
    ratio = effects[f"{place}/accuracy_ratio"]
    return figures | {
        "consistency_reference": value("consistency_reference"),
        "consistency_other": value("consistency_other"),
        "consistency_ratio_mean": value("consistency_ratio_partition_mean"),
        "consistency_ratio_undefined": value("consistency_ratio_partition_undefined"),
        "p": None if ratio.neg_log10_p is None else 10**-ratio.neg_log10_p,
        "p_holm": None if ratio.neg_log10_p_holm is None else 10**-ratio.neg_log10_p_holm,
    }


def city_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compute the mean over all partitions for each city and attribute, as `cities/<model>/<city>/<attribute>/…`."""
    places = {name: city for name, city in load_cities(data / "cities.yaml").items() if city.composition}
    figures: dict[str, float] = {}
    for model, run in CLOSED_FORM.items():
        table = amqa.read_answers(folder / amqa.ANSWERS / f"{run}.jsonl")
        options = Measure(n_bootstrap=RESAMPLES)
        scored = score_equity_released(run, table, places, options, amqa.released_name)
        figures[f"cities/{model}/baseline"] = scored["baseline_accuracy"]
        for city, attributes in scored["cities"].items():
            for attribute, values in attributes.items():
                place = f"cities/{model}/{city}/{attribute}"
                figures |= {f"{place}/{name}": values[ours] for name, ours in CITY.items() if values[ours] is not None}
    return figures


def equilens_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compute AMQA's scores of each city for the partition that EquiLens drew, as `equilens/<city>/<attribute>/…`."""
    cities = {name: city for name, city in load_cities(data / "cities.yaml").items() if city.composition}
    options = Measure(n_bootstrap=RESAMPLES, partition="seeded", partition_seed=SEED)
    table = read_results(folder / RESULTS)
    scored = score_equity_released(RESULTS, table, cities, options, GROUP_NAMES.__getitem__)
    baseline = {"baseline_accuracy": scored["baseline_accuracy"]}
    figures: dict[str, float] = {"equilens/agnostic/n_samples": scored["n"]}
    for city in CITIES:
        figures[f"equilens/{city}/n_samples"] = scored["n"]
        released = assigned_questions(folder, city)
        for attribute, values in scored["cities"][city].items():
            drawn = values["assigned_questions"]
            same = sum(question in drawn[group] for group, ids in released[attribute].items() for question in ids)
            shown = baseline | {name: values[name] for name in MEASURES} | {"questions_in_their_group": same}
            figures |= dict(leaves(shown, f"equilens/{city}/{attribute}"))
            figures |= dict(leaves(baseline, f"equilens/agnostic/{attribute}"))
    return figures


class _Assigned(BaseModel):
    """The questions assigned to each group of one attribute."""

    assigned_questions: dict[str, list[str]]


def assigned_questions(folder: Path, city: str) -> dict[str, dict[str, list[str]]]:
    """Read the questions that the release assigned to each group of a city, by attribute."""
    path = folder / SCORES.format(study="amqa", city=city)
    assigned = {
        attribute: valid(_Assigned, metrics, f"{path}, {attribute}", "give the file as it was released")
        for attribute, metrics in read_scores(path).metrics.items()
    }
    return {renamed_path(attribute): row.assigned_questions for attribute, row in assigned.items()}
