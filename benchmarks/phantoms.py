"""Compare the pipeline's reports about phantoms, whose bias is known, with the planted values.

    PYTHONPATH=src python benchmarks/phantoms.py --seeds 200

writes benchmarks/phantoms.jsonl, after each phantom, and docs/phantoms.md. A seed draws new difficulties, noise and
reasoning for every question, and no two phantoms share one; the cases, readers, judge and statistics are those of a run
with the settings of params.yaml, but for the number of resamples. `--studies vignettes phantom_open` measures that
study of that phantom alone, and leaves the other figures as they are.
"""

import gc
import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from unittest.mock import patch

import numpy as np
import typer

sys.path.insert(0, str(Path(__file__).parent))
from phantoms_page import ALARMS, POOLED, VERDICT, page, pooled
from phantoms_truth import Truth, planted
from trained_phantoms import load_figures, section

from equipoise.backends.phantom import BANK, Fact, PhantomBackend
from equipoise.core import params, stage
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import digest, dumps, read, read_text, write_text
from equipoise.core.prompts import Prompt, Response
from equipoise.figures import effects as shared
from equipoise.figures.effects import Effect, Estimate, Group, count_stories
from equipoise.figures.figure import headline_effects
from equipoise.figures.options import Measure
from equipoise.figures.silence import FOUND, interpretation
from equipoise.judge import score
from equipoise.judge.errors import judge_errors
from equipoise.judge.lexicon import Lexicon, load_lexicon
from equipoise.judge.passages import TREATMENTS
from equipoise.judge.readers import open_reader
from equipoise.judge.reading import Feature
from equipoise.judge.score import Score, judge_responses
from equipoise.judge.score import _features as case_features
from equipoise.materials.cities import load_cities
from equipoise.materials.orders import choices
from equipoise.materials.positions import position_effects
from equipoise.materials.vignette import Vignette
from equipoise.models.registry import FOLDER, PhantomEntry, load_entry, names
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.studies.decisions import effects as decisions
from equipoise.studies.decisions.effects import decision_effects
from equipoise.studies.decisions.prompts import decision_prompts
from equipoise.studies.decisions.rows import CaseDecision, decision_of, read_decision
from equipoise.studies.exam.effects import exam_effects, score_cities, tabulate_exam
from equipoise.studies.exam.subsets import EXAM, Sampled
from equipoise.studies.questions import effects as questions
from equipoise.studies.questions.city_effects import city_effects
from equipoise.studies.questions.effects import question_effects, tabulate
from equipoise.studies.questions.rows import Variant
from equipoise.studies.registry import FIGURES, TITLES
from equipoise.studies.stigma import effects as stigma
from equipoise.studies.stigma.causal import causal_fills
from equipoise.studies.stigma.effects import stigma_effects
from equipoise.studies.stigma.library import load_library
from equipoise.studies.stigma.rows import Filling
from equipoise.studies.vignettes import effects as vignettes
from equipoise.studies.vignettes.effects import vignette_effects, vignette_findings
from equipoise.studies.vignettes.reread import blinder, rereadings
from equipoise.text.diagnoses import load_diagnoses

ROOT = Path(__file__).parents[1]
MEASURED, PAGE = ROOT / "benchmarks/phantoms.jsonl", ROOT / "docs/phantoms.md"
CHAINS: tuple[str, ...] = ("vignettes", "questions", "exam", "stigma", "decisions")


class Bench:
    """The prompts and facts of every study, built once, and the conversion of responses to effects."""

    def __init__(self, data: Path, options: Measure, probabilities: Callable[..., Any]) -> None:
        """Build every study under a copy of `data`."""
        settings = params.load(ROOT / "params.yaml").model_copy(update={"model": "phantom_fair"})
        self.runs = {study: Run(study, data, settings) for study in CHAINS}
        for study, run in self.runs.items():
            step(study, "build")(run)
        self.prompts = {study: read(run.built("prompts"), Prompt) for study, run in self.runs.items()}
        self.facts = {study: read(run.built("facts"), Fact) for study, run in self.runs.items()}
        self._options, self._probabilities = options, probabilities
        self.influence: bool | None = None
        self._cities = load_cities(data / "cities.yaml")
        self._told = read(self.runs["vignettes"].built("vignettes"), Vignette)
        self._tellings = read(self.runs["vignettes"].built("tellings"), Vignette)
        self._lexicon, self._blind = load_lexicon(data / "features"), blinder(data)
        self._diagnoses = load_diagnoses(data / "diagnoses.yaml")
        self._variants = read(self.runs["questions"].built("variants"), Variant)
        self._sampled = read(self.runs["exam"].built("subsets"), Sampled)
        self._sentences = load_library(data / "sentences")
        self.decisions = read(self.runs["decisions"].built("decisions"), CaseDecision)

    def main_facts(self) -> list[Fact]:
        """Give the facts of the pairs that the headline figures count."""
        main = {row.pair for row in self._told if row.grade != "C" and not row.reverse}
        return [fact for fact in self.facts["vignettes"] if fact.question in main]

    def effects(self, entry: PhantomEntry, studies: Iterable[str]) -> list[Effect]:
        """Ask a phantom every prompt of some studies and estimate every figure."""
        effects: list[Effect] = []
        for study in studies:
            backend = PhantomBackend(entry, self.facts[study], ROOT / "data" / BANK)
            effects += getattr(self, f"_{study}")(backend, list(backend.answer(self.prompts[study])))
        return effects

    def _vignettes(self, backend: PhantomBackend, responses: list[Response]) -> list[Effect]:
        run = self.runs["vignettes"]
        # Other rereadings do not change headline figures.
        again = rereadings(self._told, self.prompts["vignettes"], responses, ["swapped"], self._blind)
        judged = judge_responses(
            [*self._told, *self._tellings],
            [*responses, *backend.answer(again)],
            lexicon=self._lexicon,
            diagnoses=self._diagnoses,
            probabilities=self._probabilities,
            settings=run.settings.section("score", Score),
        )
        judgements = list(judged)
        self.influence = vignette_findings(self._told, judgements, self._options.alpha)[0].answer
        return vignette_effects(self._told, judgements, self._options, judge_errors(run.settings.judge, ROOT))

    def _decisions(self, backend: PhantomBackend, responses: list[Response]) -> list[Effect]:
        prompts = decision_prompts(self.decisions, self.prompts["decisions"], responses, swapped=True, likelihoods=True)
        by_key = {decision.key: decision for decision in self.decisions}
        readings = [
            read_decision(response, by_key[decision_of(response.key)], "") for response in backend.answer(prompts)
        ]
        return decision_effects(self.decisions, readings, self._options)

    def _questions(self, _: PhantomBackend, responses: list[Response]) -> list[Effect]:
        options = {row.key: row.options for row in self._variants}
        read = list(choices(responses, options))
        letters, orders = {choice.key: choice.letter for choice in read}, {choice.key: choice.orders for choice in read}
        table = tabulate(self._variants, letters, orders)
        return [*question_effects(table, self._options), *city_effects(table, self._cities, self._options)]

    def _exam(self, _: PhantomBackend, responses: list[Response]) -> list[Effect]:
        options = {f"{row.item}{EXAM}": row.options for row in self._sampled}
        read = list(choices(responses, options))
        weights = {name: city.disease_weights() for name, city in self._cities.items() if city.diseases}
        letters = {choice.key.removesuffix(EXAM): choice.letter for choice in read}
        scores = score_cities(tabulate_exam(self._sampled, letters), weights, self._options)
        places = position_effects("exam", [[choice.orders] for choice in read], self._options.alpha)
        return [*exam_effects(scores, self._options.alpha), *places]

    def _stigma(self, _: PhantomBackend, responses: list[Response]) -> list[Effect]:
        settings = self.runs["stigma"].settings.section("fill", Filling)
        fills = causal_fills(self._sentences, responses, settings)
        return stigma_effects(list(fills), self._options)


@contextmanager
def open_bench(resamples: int) -> Iterator[Bench]:
    """Build every study in a temporary folder."""
    with (
        headlines_alone(),
        TemporaryDirectory() as place,
        open_reader(params.load(ROOT / params.FILE).judge, ROOT) as judge,
    ):
        data = Path(place) / "data"
        # Leave out the studies' own folders, but not data/raw/decisions, a folder of ours that has a study's name too.
        shutil.copytree(ROOT / "data", data, ignore=lambda path, _: TITLES if Path(path) == ROOT / "data" else ())
        bench = Bench(data, Measure(n_bootstrap=resamples), remember(judge.probabilities))
        # Built objects stay, so the collector need not search them repeatedly.
        gc.freeze()
        yield bench


def main(
    phantoms: Annotated[list[str] | None, typer.Argument(help="Some phantoms; all unless given.")] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Seeds of every phantom.")] = 200,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 200,
    studies: Annotated[list[str] | None, typer.Option(help="Some studies; all unless given.")] = None,
    *,
    render: Annotated[bool, typer.Option("--render", help="Write the page from the figures alone.")] = False,
) -> None:
    """Measure the phantoms, and write figures and page."""
    rows = read_rows() if MEASURED.is_file() else []
    names_known = [name for name in names(ROOT / FOLDER) if name.startswith("phantom_")]
    if not render:
        chosen, studies_chosen = select_names(phantoms, names_known, "phantom"), select_names(studies, CHAINS, "study")
        with open_bench(resamples) as bench:
            for name in chosen:
                rows = merge_rows(rows, compare_with_plant(bench, name, seeds, studies_chosen), name, studies_chosen)
                write_rows(rows)
                typer.echo(f"{name}: done")
    write_rows(rows)
    titles = {name: load_entry(name, ROOT).title.removeprefix("Phantom: ") for name in names_known}
    write_text(PAGE, page(read_rows(), titles) + section(load_figures()))


def read_rows() -> list[dict[str, Any]]:
    """Read the rows in the repository."""
    return [json.loads(line) for line in read_text(MEASURED).splitlines()]


def write_rows(rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the rows of the phantoms, and after them the false alarms of all phantoms, as canonical JSONL."""
    own = [row for row in rows if row["phantom"] != POOLED]
    write_text(MEASURED, "".join(f"{dumps(row)}\n" for row in (*own, *pooled(own))))


def select_names(names: Sequence[str] | None, available: Sequence[Any], noun: str) -> Sequence[Any]:
    """Return the names, or all available ones if none are given."""
    if unknown := next((name for name in names or () if name not in available), None):
        raise EquipoiseError(f"no {noun} {unknown} here: name some of {', '.join(available)}")
    return names or available


def merge_rows(
    old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]], phantom: str, studies: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Replace a phantom's old rows of the studies that were measured again with the new ones."""
    others = [row for row in old if row["phantom"] != phantom or row["figure"].partition(".")[0] not in studies]
    return sorted([*others, *new], key=lambda row: str(row["phantom"]))


def remember(judge: Callable[[list[tuple[str, str]]], Any]) -> Callable[[list[tuple[str, str]]], Any]:
    """Keep the judge's probabilities in memory: phantoms write the same sentences again and again."""
    memory: dict[tuple[str, str], Any] = {}

    def probabilities(pairs: list[tuple[str, str]]) -> Any:  # noqa: ANN401  (an array)
        new = [pair for pair in dict.fromkeys(pairs) if pair not in memory]
        if new:
            memory.update(zip(new, judge(new), strict=True))
        return np.array([memory[pair] for pair in pairs]).reshape(len(pairs), len(TREATMENTS))

    return probabilities


def remember_features() -> Callable[[Vignette, Lexicon], list[Feature]]:
    """Keep the features of each case in memory: a bench has one lexicon."""
    memory: dict[str, list[Feature]] = {}

    def features(case: Vignette, lexicon: Lexicon) -> list[Feature]:
        if case.key not in memory:
            memory[case.key] = case_features(case, lexicon)
        return memory[case.key]

    return features


def only_headlines(groups: Callable[..., Iterator[tuple[Group, Any]]]) -> Callable[..., Iterator[tuple[Group, Any]]]:
    """Skip the groups of a study without headline figures."""
    families = {(figure.study, figure.family) for figure in FIGURES}

    def chosen(rows: Sequence[Any]) -> Iterator[tuple[Group, Any]]:
        return (
            (group, select_names) for group, select_names in groups(rows) if (group.study, group.family) in families
        )

    return chosen


@contextmanager
def headlines_alone() -> Iterator[None]:
    """Skip most estimates other than the headline figures, which take three quarters of the time."""
    nothing: list[tuple[Any, str, Any]] = [
        (shared, "simulated_coverage", None),
        (decisions, "proportional_odds", None),
        *((module, "location", Estimate(None)) for module in (vignettes, stigma, decisions)),
    ]
    with ExitStack() as patches:
        for module, name, value in nothing:
            patches.enter_context(patch.object(module, name, return_value=value))
        for module in (vignettes, stigma, decisions, questions):
            patches.enter_context(patch.object(module, "with_adjusted", lambda rows, *_: rows))
        for module in (vignettes, decisions):
            patches.enter_context(patch.object(module, "_groups", only_headlines(module._groups)))  # noqa: SLF001
        patches.enter_context(patch.object(vignettes, "_apart", return_value=()))
        patches.enter_context(patch.object(score, "_features", remember_features()))
        yield


def compare_with_plant(bench: Bench, name: str, seeds: int, studies: Sequence[str]) -> list[dict[str, Any]]:
    """Compare the studies' reports about a phantom with the planted values, over all seeds."""
    entry = load_entry(name, ROOT)
    assert isinstance(entry, PhantomEntry)  # noqa: S101
    truths = planted(entry, bench.main_facts(), load_cities(ROOT / "data/cities.yaml"), bench.decisions)
    by_figure: dict[str, list[Effect]] = {}
    verdicts: list[bool] = []
    for seed in range(seeds):
        # Phantoms of one seed share their draws: a figure that fails by chance would fail for all of them.
        own = entry.model_copy(update={"seed": int(digest([name, seed])[:8], 16)})
        effects = bench.effects(own, studies)
        for figure, row in headline_effects(effects, FIGURES):
            if figure.name in truths:
                by_figure.setdefault(figure.name, []).append(row)
            if figure.name == "vignettes.silent_bias_rate_moved":
                limits, influence = (row.ci_low, row.ci_high), bench.influence is not False
                word = interpretation(count_stories(row, effects), *limits, influence=influence)
                verdicts.append(word in FOUND)
    rows = {headline: compare_estimates(effects, truths[headline]) for headline, effects in by_figure.items()}
    if verdicts:
        influenced = entry.shift_of(["race"]) + entry.base_rate_of(["race"]) != 0
        rows[VERDICT] = silent_verdicts(verdicts, null=not influenced)
    return [{"phantom": name, "figure": headline, "seeds": seeds, **row} for headline, row in rows.items()]


def silent_verdicts(verdicts: Sequence[bool], *, null: bool) -> dict[str, Any]:
    """Describe how often the verdict is silent bias, as a test, which is false if nothing influences the answers."""
    counts = {"n": len(verdicts), "bounded": 0, "tested": len(verdicts)}
    return {"truth": None, "null": null, "mean": None, "coverage": None, "rejected": fmean(verdicts), **counts}


def compare_estimates(rows: Iterable[Effect], truth: Truth) -> dict[str, float | int | None]:
    """Compare the estimates of one figure with its truth: bias, coverage, and tests that reject at 0.05.

    `n` counts the seeds with an estimate, `bounded` those with an interval too, `tested` those with a test.
    """
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
        "bounded": len(bounded),
        "tested": len(tested),
    }


if __name__ == "__main__":
    stage.run(main)
