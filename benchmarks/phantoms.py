"""What the pipeline reports of phantoms, whose bias is known, held against what was planted.

    PYTHONPATH=src python benchmarks/phantoms.py --seeds 200

writes benchmarks/phantoms.json and docs/phantoms.md. A seed draws new difficulties, noise and reasoning for every
question; the cases, readers, judge and statistics are those of a run with the settings of params.yaml, but for the
number of resamples.
"""

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer

sys.path.insert(0, str(Path(__file__).parent))
from phantoms_truth import Truth, planted
from trained_phantoms import known_figures, section

from equipoise.backends.phantom import BANK, Fact, PhantomBackend
from equipoise.core import params, stage
from equipoise.core.records import Effect, Prompt, Response, Study, Vignette, read, read_text, write_json, write_text
from equipoise.exam.subsets import Sampled
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.located import kept_probabilities
from equipoise.judge.score import Score, judge_responses
from equipoise.metrics.cities import city_effects
from equipoise.metrics.exam import exam_effects, score_cities, tabulate_exam
from equipoise.metrics.headlines import STUDIES, find
from equipoise.metrics.options import Measure
from equipoise.metrics.questions import question_effects, tabulate
from equipoise.metrics.silence import FOUND, interpretation
from equipoise.metrics.stigma import stigma_effects
from equipoise.metrics.vignettes import judge_errors, vignette_effects
from equipoise.models.registry import FOLDER, PhantomEntry, load_entry, names
from equipoise.questions.asked import EXAM, choices
from equipoise.questions.cities import load_cities
from equipoise.questions.rows import Variant
from equipoise.stigma.causal import causal_fills
from equipoise.stigma.library import load_library
from equipoise.stigma.rows import Filling
from equipoise.studies import build
from equipoise.studies.run import Run
from equipoise.vignettes.profiles import Build
from equipoise.vignettes.reread import Blind, blinder, rereadings

ROOT = Path(__file__).parents[1]
FIGURES, PAGE = ROOT / "benchmarks/phantoms.json", ROOT / "docs/phantoms.md"
CHAINS: tuple[Study, ...] = ("vignettes", "questions", "exam", "stigma")
MINUS = "\N{MINUS SIGN}"

COVERAGE, ALARMS = 0.93, 0.05
"""The least coverage and the most false alarms that a figure may have."""


class Bench:
    """The prompts and facts of every study, built once, and what turns responses into effects."""

    def __init__(self, data: Path, options: Measure, probabilities: Callable[..., Any]) -> None:
        """Build every study under a copy of `data`."""
        settings = params.load(ROOT / "params.yaml").model_copy(update={"model": "phantom_fair"})
        self.runs = {study: Run(study, data, settings) for study in CHAINS}
        for study, run in self.runs.items():
            getattr(build, study)(run)
        self.prompts = {study: read(run.built("prompts"), Prompt) for study, run in self.runs.items()}
        self.facts = {study: read(run.built("facts"), Fact) for study, run in self.runs.items()}
        self._options, self._probabilities = options, probabilities
        self._cities = load_cities(data / "cities.yaml")
        self._told = read(self.runs["vignettes"].built("vignettes"), Vignette)
        self._tellings = read(self.runs["vignettes"].built("tellings"), Vignette)
        self._lexicon, self._blind = load_lexicon(data / "features"), remembered_blind(blinder(data))
        self._variants = read(self.runs["questions"].built("variants"), Variant)
        self._sampled = read(self.runs["exam"].built("subsets"), Sampled)
        self._sentences = load_library(data / "sentences")

    def effects(self, entry: PhantomEntry) -> list[Effect]:
        """Ask a phantom every prompt and estimate every figure."""
        return [row for study in CHAINS for row in getattr(self, f"_{study}")(self._responses(entry, study))]

    def _responses(self, entry: PhantomEntry, study: Study) -> list[Response]:
        backend = PhantomBackend(entry, self.facts[study], ROOT / "data" / BANK)
        responses = list(backend.answer(self.prompts[study]))
        if study == "vignettes":
            kinds = self.runs[study].settings.section("build", Build).rereadings
            again = rereadings(self._told, self.prompts[study], responses, kinds, self._blind)
            responses += backend.answer(again)
        return responses

    def _vignettes(self, responses: list[Response]) -> list[Effect]:
        run = self.runs["vignettes"]
        judged = judge_responses(
            [*self._told, *self._tellings],
            responses,
            lexicon=self._lexicon,
            probabilities=self._probabilities,
            settings=run.settings.section("score", Score),
        )
        return vignette_effects(self._told, list(judged), self._options, judge_errors(run.settings.judge, ROOT))

    def _questions(self, responses: list[Response]) -> list[Effect]:
        options = {row.key: row.options for row in self._variants}
        read = list(choices(responses, options))
        letters, orders = {one.key: one.letter for one in read}, {one.key: one.orders for one in read}
        table = tabulate(self._variants, letters, orders)
        return [*question_effects(table, self._options), *city_effects(table, self._cities, self._options)]

    def _exam(self, responses: list[Response]) -> list[Effect]:
        options = {f"{row.item}{EXAM}": row.options for row in self._sampled}
        given = {one.key.removesuffix(EXAM): one.letter for one in choices(responses, options)}
        weights = {name: city.disease_weights() for name, city in self._cities.items() if city.diseases}
        return exam_effects(
            score_cities(tabulate_exam(self._sampled, given), weights, self._options), self._options.alpha
        )

    def _stigma(self, responses: list[Response]) -> list[Effect]:
        settings = self.runs["stigma"].settings.section("fill", Filling)
        fills = causal_fills(self._sentences, responses, settings)
        return stigma_effects(list(fills), self._options)


def main(
    seeds: Annotated[int, typer.Option(min=2, help="Seeds of every phantom.")] = 200,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 200,
    only: Annotated[str, typer.Option(help="The phantoms whose names begin with this.")] = "phantom_",
    *,
    render: Annotated[bool, typer.Option("--render", help="Write the page from the figures alone.")] = False,
) -> None:
    """Measure the phantoms, and write figures and page."""
    figures: dict[str, Any] = json.loads(read_text(FIGURES)) if FIGURES.is_file() else {}
    chosen = [name for name in names(ROOT / FOLDER) if name.startswith(only) and name.startswith("phantom_")]
    if not render:
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
            running = {processes.submit(measured, name, seeds, resamples): name for name in chosen}
            for done in as_completed(running):
                figures[running[done]] = done.result()
                write_json(FIGURES, dict(sorted(figures.items())))
                typer.echo(f"{running[done]}: done")
    write_text(PAGE, page(dict(sorted(figures.items()))) + section(known_figures()))


def remembered(judge: Callable[[list[tuple[str, str]]], Any]) -> Callable[[list[tuple[str, str]]], Any]:
    """Keep the judge's probabilities in memory: phantoms write the same sentences again and again."""
    known: dict[tuple[str, str], Any] = {}

    def probabilities(pairs: list[tuple[str, str]]) -> Any:  # noqa: ANN401  (an array)
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        if new:
            known.update(zip(new, judge(new), strict=True))
        return np.array([known[pair] for pair in pairs]).reshape(len(pairs), 3)

    return probabilities


def remembered_blind(blind: Blind) -> Blind:
    """Keep blinded texts in memory, for the same reason."""
    known: dict[tuple[str, ...], str] = {}

    def blinded(text: str, arms: Sequence[Vignette]) -> str:
        key = (text, *(f"{name}: {words}" for arm in arms for name, words in arm.features.items()))
        if key not in known:
            known[key] = blind(text, arms)
        return known[key]

    return blinded


def measured(name: str, seeds: int, resamples: int) -> dict[str, Any]:
    """Run a phantom with every seed, and compare each headline figure with its truth."""
    with TemporaryDirectory() as place, kept_probabilities("minilm_nli", ROOT) as judge:
        data = Path(place) / "data"
        # The studies' own folders; what we wrote has one of the name of a study too, data/raw/decisions.
        shutil.copytree(ROOT / "data", data, ignore=lambda path, _: STUDIES if Path(path) == ROOT / "data" else ())
        return held_against(Bench(data, Measure(n_bootstrap=resamples), remembered(judge)), name, seeds)


def held_against(bench: Bench, name: str, seeds: int) -> dict[str, Any]:
    """Hold what is reported of a phantom against what is planted, over all seeds."""
    entry = load_entry(name, ROOT)
    assert isinstance(entry, PhantomEntry)  # noqa: S101
    truths = planted(entry, bench.facts, load_cities(ROOT / "data/cities.yaml"))
    found: dict[str, list[Effect]] = {}
    verdicts: list[bool] = []
    for seed in range(seeds):
        effects = bench.effects(entry.model_copy(update={"seed": seed}))
        by_key = {row.key: row for row in effects}
        for headline, row in find(effects):
            if headline.name in truths:
                found.setdefault(headline.name, []).append(row)
            if headline.name == "vignettes.silent_bias_rate_moved":
                influence = by_key["vignettes/overall/all/influence_found"].estimate != 0
                verdicts.append(interpretation(row.n, row.ci_low, row.ci_high, influence=influence) in FOUND)
    return {
        "seeds": seeds,
        "influenced": entry.shift_of(["race"]) + entry.base_rate_of(["race"]) != 0,
        "verdicts": fmean(verdicts),
        "figures": {headline: compared(rows, truths[headline]) for headline, rows in found.items()},
    }


def compared(rows: Iterable[Effect], truth: Truth) -> dict[str, float | int | None]:
    """Compare the estimates of one figure with its truth: bias, coverage, and tests that reject at 0.05."""
    defined = [row for row in rows if row.estimate is not None]
    bounded = [row for row in defined if row.ci_low is not None and row.ci_high is not None]
    tested = [row for row in defined if row.neg_log10_p is not None]
    real = truth.value if math.isfinite(truth.value) else None
    hit = [row.ci_low - 1e-9 <= truth.value <= row.ci_high + 1e-9 for row in bounded]  # type: ignore[operator]
    return {
        "truth": real,
        "null": truth.null,
        "mean": fmean(row.estimate for row in defined) if defined else None,  # type: ignore[misc]
        "coverage": fmean(hit) if hit and real is not None else None,
        "rejected": fmean(10**-row.neg_log10_p < ALARMS for row in tested) if tested else None,  # type: ignore[operator]
        "n": len(defined),
        "without_interval": len(defined) - len(bounded),
    }


PREFACE = """# Phantoms: planted against measured

A phantom is a model without weights whose bias is planted, and therefore known (`models/phantom_*.yaml`,
[adding a model](howto/model.md)). Every phantom answers every study's prompts with {seeds} seeds; a seed draws new
difficulties, noise and reasoning. The readers, the judge and the statistics are those of a run. `make phantoms` repeats
it; this page is generated.

Most phantoms plant a shift: what the findings do to the stereotyped answer of a marginalised patient, and at an
intersection to those of its dimensions too.
`phantom_base_rates` plants base rates alone, with findings and without: its shift with the findings is theirs, and its
net shift is 0.

- **truth**: the expected value of the figure, from the planted utilities alone.
- **mean**: of the estimates.
- **coverage**: share of seeds whose interval holds the truth; nominal 0.95.
- **rejected**: share of seeds whose test rejects the null hypothesis at 0.05, before adjustment. Where the truth is the
  null value, this is the rate of false alarms, nominal 0.05; it is marked then.

The silent influence rate counts pairs whose log odds are moved. A phantom admits an influence where it changes the
answer, so the rate of one that always admits is not 0.

A figure of several groups (dimensions, cities) is shown by its worst group: that with the lowest coverage.
"""


def page(figures: Mapping[str, Any]) -> str:
    """Lay the comparison out as a Markdown page."""
    seeds = sorted({found["seeds"] for found in figures.values()})
    parts = [PREFACE.format(seeds=" or ".join(map(str, seeds)))]
    parts += ["## What is wrong\n", *wrong(figures), ""]
    for name, found in figures.items():
        parts.append(f"## `{name}`\n")
        if not found["influenced"]:
            parts.append(
                f"Verdict of silent bias where nothing influenced an answer: {found['verdicts']:.3f} of seeds.\n"
            )
        parts.append("| figure | truth | mean | coverage | rejected | n |\n| --- | ---: | ---: | ---: | ---: | ---: |")
        parts += [line(headline, row) for headline, row in worst(found["figures"])]
        parts.append("")
    return "\n".join(parts)


def worst(figures: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give one row for each figure: of several groups the one with the lowest coverage."""
    groups: dict[str, list[tuple[str, Any]]] = {}
    for headline, row in figures.items():
        study, *group, measure = headline.split(".")
        kind = f"{study}.*.{measure}" if group and study != "stigma" else headline
        groups.setdefault(kind, []).append((headline, row))
    for members in groups.values():
        yield min(members, key=lambda member: 2 if member[1]["coverage"] is None else member[1]["coverage"])


def line(headline: str, row: Mapping[str, Any]) -> str:
    """Write one row; a rate of false alarms is set in bold."""
    rejected = shown(row["rejected"])
    cells = (shown(row["truth"]), shown(row["mean"]), shown(row["coverage"]), rejected, str(row["n"]))
    alarm = f"**{rejected}** (alarms)" if row["null"] and row["rejected"] is not None else rejected
    return f"| `{headline}` | {cells[0]} | {cells[1]} | {cells[2]} | {alarm} | {cells[4]} |"


def shown(value: float | None) -> str:
    """Write a number with three decimals; a dash where there is none."""
    return "–" if value is None else f"{value:.3f}".replace("-", MINUS)


def wrong(figures: Mapping[str, Any]) -> Iterator[str]:
    """List the figures whose coverage is too low or whose alarms are too many, beyond the error of the simulation."""
    for name, found in figures.items():
        error = 2 * math.sqrt(ALARMS * (1 - ALARMS) / found["seeds"])
        for headline, row in found["figures"].items():
            coverage, rejected = row["coverage"], row["rejected"]
            if coverage is not None and coverage < COVERAGE - error:
                estimated = f"truth {shown(row['truth'])}, mean {shown(row['mean'])}"
                yield f"- `{name}`, `{headline}`: coverage {shown(coverage)}; {estimated}."
            if row["null"] and rejected is not None and rejected > ALARMS + error:
                yield f"- `{name}`, `{headline}`: {shown(rejected)} false alarms."
        if not found["influenced"] and found["verdicts"] > ALARMS:
            yield f"- `{name}`: a verdict of silent bias in {shown(found['verdicts'])} of seeds, though none is there."


if __name__ == "__main__":
    stage.run(main)
