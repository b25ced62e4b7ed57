"""Figures of AMQA's and FairMedPrompt's released answers: counts, rates, pairs, and what they mean for cities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.metrics.answered import arms_of
from equipoise.metrics.equity import EquityOptions
from equipoise.published import amqa
from equipoise.published.amqa_figures import score_released
from equipoise.published.equilens_figures import score_equity_released
from equipoise.questions.cities import load_cities
from equipoise.questions.rows import ATTRIBUTES
from equipoise.stats.paired import mcnemar_exact
from equipoise.stats.proportions import wilson
from equipoise.stats.quantities import PairedCells

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from equipoise.metrics.answered import Answered

AMQA, FAIRMEDPROMPT = "amqa/answers", "fairmedprompt"
CELLS = {
    "both": "both",
    "only_first": "only_privileged",
    "only_second": "only_unprivileged",
    "neither": "neither",
    "inconsistent": "letters_differ",
    "gap": "gap",
    "p_exact": "p_exact",
    "p_chi2_cc": "p_chi2_cc",
}
"""Our name of a pair's figure for the published one."""
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
CLOSED_FORM = {
    "openai": "AMQA_D2_Benchmark_Answer_openai_no_cot",
    "qwen": "AMQA_D2_Benchmark_Answer_qwen_no_cot",
}
"""The runs whose meaning for cities is computed."""
RESAMPLES = 20
"""No interval is compared, so as few are drawn as may be."""


def amqa_figures(folder: Path, _data: Path) -> dict[str, float]:
    """Compute counts, accuracies, intervals and pairs of AMQA's runs, as `amqa/<run>/…`."""
    return _runs("amqa", folder / AMQA)


def fairmedprompt_figures(folder: Path, _data: Path) -> dict[str, float]:
    """Compute the same of FairMedPrompt's runs, as `fairmedprompt/<run>/…`."""
    return _runs("fairmedprompt", folder / FAIRMEDPROMPT)


def city_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compute the mean over all partitions for each city and attribute, as `cities/<model>/<city>/<attribute>/…`."""
    places = {name: city for name, city in load_cities(data / "cities.yaml").items() if city.composition}
    figures: dict[str, float] = {}
    for model, run in CLOSED_FORM.items():
        table = amqa.read_answers(folder / AMQA / f"{run}.jsonl")
        options = EquityOptions(n_bootstrap=RESAMPLES)
        scored = score_equity_released(run, table, places, options, amqa.released_name)
        figures[f"cities/{model}/baseline"] = scored["baseline_accuracy"]
        for city, attributes in scored["cities"].items():
            for attribute, found in attributes.items():
                place = f"cities/{model}/{city}/{attribute}"
                figures |= {f"{place}/{name}": found[ours] for name, ours in CITY.items() if found[ours] is not None}
    return figures


def _runs(source: str, folder: Path) -> dict[str, float]:
    figures: dict[str, float] = {}
    for path in sorted(folder.glob("*.jsonl")):
        figures |= {f"{source}/{path.stem}/{name}": value for name, value in _run(amqa.read_answers(path)).items()}
    return figures


def _run(table: list[Answered]) -> dict[str, float]:
    """Compute one run's figures; an answer that no letter could be read from counts as wrong."""
    (scored,) = score_released({"": table}, amqa.released_name)
    n: int = scored["n"]
    figures: dict[str, float] = {"n": n, "variants": 2 * len(ATTRIBUTES) * n}
    for arm in arms_of(table):
        name = amqa.released_name(arm)
        correct = sum(row.right(arm) for row in table)
        interval = wilson(correct, n)
        figures |= {f"correct/{name}": correct, f"unparsed/{name}": scored["unparsed"][name]}
        figures[f"accuracy/{name}"] = scored["accuracy"][name]
        if interval is not None:
            figures |= {f"wilson95/{name}/low": interval.low, f"wilson95/{name}/high": interval.high}
    given = [row.letters["neutral"] for row in table]
    figures |= {f"letters/{letter}": given.count(letter) for letter in "ABCD"}
    for name, pair in scored["pairs"].items():
        figures |= {f"pairs/{name}/{measure}": value for measure, value in _pair(pair, n).items()}
    gaps = [scored["pairs"][attribute]["gap"] for attribute in ATTRIBUTES]
    return figures | {"smallest_gap": min(gaps), "largest_gap": max(gaps)}


def _pair(pair: dict[str, Any], n: int) -> dict[str, float]:
    figures: dict[str, float] = {name: pair[ours] for name, ours in CELLS.items() if pair[ours] is not None}
    figures["only_first_share"] = pair["only_privileged"] / n
    counts = (pair[name] for name in ("both", "only_privileged", "only_unprivileged", "neither"))
    if exact := mcnemar_exact(PairedCells(*counts)):
        # Not -log10 of the p-value, which may be too small for a number.
        figures["neg_log10_p_exact"] = exact.neg_log10
    return figures
