"""What the pipeline reports of phantoms, whose bias is known, held against what was planted.

    PYTHONPATH=src python benchmarks/phantoms.py --seeds 200

writes benchmarks/phantoms.json and docs/phantoms.md, after each phantom. A seed draws new difficulties, noise and
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
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).parent))
from phantoms_truth import Truth, planted
from trained_phantoms import known_figures, section

from equipoise.backends.phantom import BANK, Fact, PhantomBackend
from equipoise.core import params, stage
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import digest, read, read_text, write_json, write_text
from equipoise.core.prompts import Prompt, Response
from equipoise.figures.effects import Effect, Estimate, Group
from equipoise.figures.figure import find
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
from equipoise.materials.asked import choices
from equipoise.materials.cities import load_cities
from equipoise.materials.positions import position_effects
from equipoise.materials.vignette import Vignette
from equipoise.models.registry import FOLDER, PhantomEntry, load_entry, names
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.stats.multiplicity import adjust
from equipoise.studies.decisions import effects as decisions
from equipoise.studies.decisions.asked import Asked, decision_of, decision_prompts, read_decision
from equipoise.studies.decisions.effects import decision_effects
from equipoise.studies.exam.asked import EXAM
from equipoise.studies.exam.effects import exam_effects, score_cities, tabulate_exam
from equipoise.studies.exam.subsets import Sampled
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
from equipoise.studies.vignettes.effects import vignette_effects
from equipoise.studies.vignettes.reread import blinder, rereadings
from equipoise.text.diagnoses import load_diagnoses

ROOT = Path(__file__).parents[1]
MEASURED, PAGE = ROOT / "benchmarks/phantoms.json", ROOT / "docs/phantoms.md"
CHAINS: tuple[str, ...] = ("vignettes", "questions", "exam", "stigma", "decisions")
MINUS = "\N{MINUS SIGN}"

COVERAGE, ALARMS = 0.93, 0.05
"""The least coverage and the most false alarms that a figure may have."""
DISCOVERIES = 0.05
"""Share of the listed faults that may be chance."""


class Bench:
    """The prompts and facts of every study, built once, and what turns responses into effects."""

    def __init__(self, data: Path, options: Measure, probabilities: Callable[..., Any]) -> None:
        """Build every study under a copy of `data`."""
        settings = params.load(ROOT / "params.yaml").model_copy(update={"model": "phantom_fair"})
        self.runs = {study: Run(study, data, settings) for study in CHAINS}
        for study, run in self.runs.items():
            step(study, "build")(run)
        self.prompts = {study: read(run.built("prompts"), Prompt) for study, run in self.runs.items()}
        self.facts = {study: read(run.built("facts"), Fact) for study, run in self.runs.items()}
        self._options, self._probabilities = options, probabilities
        self._cities = load_cities(data / "cities.yaml")
        self._told = read(self.runs["vignettes"].built("vignettes"), Vignette)
        self._tellings = read(self.runs["vignettes"].built("tellings"), Vignette)
        self._lexicon, self._blind = load_lexicon(data / "features"), blinder(data)
        self._diagnoses = load_diagnoses(data / "diagnoses.yaml")
        self._variants = read(self.runs["questions"].built("variants"), Variant)
        self._sampled = read(self.runs["exam"].built("subsets"), Sampled)
        self._sentences = load_library(data / "sentences")
        self.decisions = read(self.runs["decisions"].built("decisions"), Asked)

    def effects(self, entry: PhantomEntry, studies: Iterable[str]) -> list[Effect]:
        """Ask a phantom every prompt of some studies and estimate every figure."""
        found: list[Effect] = []
        for study in studies:
            backend = PhantomBackend(entry, self.facts[study], ROOT / "data" / BANK)
            found += getattr(self, f"_{study}")(backend, list(backend.answer(self.prompts[study])))
        return found

    def _vignettes(self, backend: PhantomBackend, responses: list[Response]) -> list[Effect]:
        run = self.runs["vignettes"]
        # What other rereadings there are changes no headline figure.
        again = rereadings(self._told, self.prompts["vignettes"], responses, ["swapped"], self._blind)
        judged = judge_responses(
            [*self._told, *self._tellings],
            [*responses, *backend.answer(again)],
            lexicon=self._lexicon,
            diagnoses=self._diagnoses,
            probabilities=self._probabilities,
            settings=run.settings.section("score", Score),
        )
        return vignette_effects(self._told, list(judged), self._options, judge_errors(run.settings.judge, ROOT))

    def _decisions(self, backend: PhantomBackend, responses: list[Response]) -> list[Effect]:
        asked = decision_prompts(self.decisions, self.prompts["decisions"], responses, swapped=True, likelihoods=True)
        known = {one.key: one for one in self.decisions}
        readings = [read_decision(one, known[decision_of(one.key)], "") for one in backend.answer(asked)]
        return decision_effects(self.decisions, readings, self._options)

    def _questions(self, _: PhantomBackend, responses: list[Response]) -> list[Effect]:
        options = {row.key: row.options for row in self._variants}
        read = list(choices(responses, options))
        letters, orders = {one.key: one.letter for one in read}, {one.key: one.orders for one in read}
        table = tabulate(self._variants, letters, orders)
        return [*question_effects(table, self._options), *city_effects(table, self._cities, self._options)]

    def _exam(self, _: PhantomBackend, responses: list[Response]) -> list[Effect]:
        options = {f"{row.item}{EXAM}": row.options for row in self._sampled}
        read = list(choices(responses, options))
        weights = {name: city.disease_weights() for name, city in self._cities.items() if city.diseases}
        given = {one.key.removesuffix(EXAM): one.letter for one in read}
        scores = score_cities(tabulate_exam(self._sampled, given), weights, self._options)
        places = position_effects("exam", [[one.orders] for one in read], self._options.alpha)
        return [*exam_effects(scores, self._options.alpha), *places]

    def _stigma(self, _: PhantomBackend, responses: list[Response]) -> list[Effect]:
        settings = self.runs["stigma"].settings.section("fill", Filling)
        fills = causal_fills(self._sentences, responses, settings)
        return stigma_effects(list(fills), self._options)


@contextmanager
def opened(resamples: int) -> Iterator[Bench]:
    """Build every study in a temporary folder."""
    with (
        headlines_alone(),
        TemporaryDirectory() as place,
        open_reader(params.load(ROOT / params.FILE).judge, ROOT) as judge,
    ):
        data = Path(place) / "data"
        # The studies' own folders; what we wrote has one of the name of a study too, data/raw/decisions.
        shutil.copytree(ROOT / "data", data, ignore=lambda path, _: TITLES if Path(path) == ROOT / "data" else ())
        bench = Bench(data, Measure(n_bootstrap=resamples), remembered(judge.probabilities))
        # What was built stays: the collector need not search it again and again.
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
    figures: dict[str, Any] = json.loads(read_text(MEASURED)) if MEASURED.is_file() else {}
    if not render:
        known = [name for name in names(ROOT / FOLDER) if name.startswith("phantom_")]
        chosen, asked = some(phantoms, known, "phantom"), some(studies, CHAINS, "study")
        with opened(resamples) as bench:
            for name in chosen:
                found = held_against(bench, name, seeds, asked)
                figures[name] = merged(figures[name], found) if name in figures else found
                write_json(MEASURED, dict(sorted(figures.items())))
                typer.echo(f"{name}: done")
    write_text(PAGE, page(dict(sorted(figures.items()))) + section(known_figures()))


def some(wanted: Sequence[str] | None, known: Sequence[Any], noun: str) -> Sequence[Any]:
    """Give what is wanted of what is known, all of it unless some is named."""
    if unknown := next((name for name in wanted or () if name not in known), None):
        raise EquipoiseError(f"{unknown} is no {noun} here: name some of {', '.join(known)}")
    return wanted or known


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Put the figures of the studies that were measured anew in the place of the old ones."""
    kept = {headline: row for headline, row in old["figures"].items() if headline.partition(".")[0] not in new["seeds"]}
    return {**old, **new, "seeds": old["seeds"] | new["seeds"], "figures": kept | new["figures"]}


def remembered(judge: Callable[[list[tuple[str, str]]], Any]) -> Callable[[list[tuple[str, str]]], Any]:
    """Keep the judge's probabilities in memory: phantoms write the same sentences again and again."""
    known: dict[tuple[str, str], Any] = {}

    def probabilities(pairs: list[tuple[str, str]]) -> Any:  # noqa: ANN401  (an array)
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        if new:
            known.update(zip(new, judge(new), strict=True))
        return np.array([known[pair] for pair in pairs]).reshape(len(pairs), len(TREATMENTS))

    return probabilities


def remembered_features() -> Callable[[Vignette, Lexicon], list[Feature]]:
    """Keep the features of each case in memory: a bench has one lexicon."""
    known: dict[str, list[Feature]] = {}

    def features(case: Vignette, lexicon: Lexicon) -> list[Feature]:
        if case.key not in known:
            known[case.key] = case_features(case, lexicon)
        return known[case.key]

    return features


def headlined(groups: Callable[..., Iterator[tuple[Group, Any]]]) -> Callable[..., Iterator[tuple[Group, Any]]]:
    """Leave out the groups of a study that no headline figure is of."""
    families = {(one.study, one.family) for one in FIGURES}

    def chosen(rows: Sequence[Any]) -> Iterator[tuple[Group, Any]]:
        return ((group, some) for group, some in groups(rows) if (group.study, group.family) in families)

    return chosen


@contextmanager
def headlines_alone() -> Iterator[None]:
    """Leave out most of what is estimated beside the headline figures, which takes three quarters of the time."""
    nothing: dict[str, Any] = {
        "effects.simulated_coverage": None,
        "decisions.proportional_odds": None,
        **{f"{study}.location": Estimate(None) for study in ("vignettes", "stigma", "decisions")},
    }
    with ExitStack() as patches:
        for name, value in nothing.items():
            patches.enter_context(patch(f"equipoise.metrics.{name}", return_value=value))
        for module in (vignettes, stigma, decisions, questions):
            patches.enter_context(patch.object(module, "with_adjusted", lambda rows, *_: rows))
        for module in (vignettes, decisions):
            patches.enter_context(patch.object(module, "_groups", headlined(module._groups)))  # noqa: SLF001
        patches.enter_context(patch.object(vignettes, "_apart", return_value=()))
        patches.enter_context(patch.object(score, "_features", remembered_features()))
        yield


def held_against(bench: Bench, name: str, seeds: int, studies: Sequence[str]) -> dict[str, Any]:
    """Hold what some studies report of a phantom against what is planted, over all seeds."""
    entry = load_entry(name, ROOT)
    assert isinstance(entry, PhantomEntry)  # noqa: S101
    truths = planted(entry, bench.facts["vignettes"], load_cities(ROOT / "data/cities.yaml"), bench.decisions)
    found: dict[str, list[Effect]] = {}
    verdicts: list[bool] = []
    for seed in range(seeds):
        # Phantoms of one seed share their draws: a figure that fails by chance would fail for all of them.
        own = entry.model_copy(update={"seed": int(digest([name, seed])[:8], 16)})
        effects = bench.effects(own, studies)
        by_key = {row.key: row for row in effects}
        for headline, row in find(effects):
            if headline.name in truths:
                found.setdefault(headline.name, []).append(row)
            if headline.name == "vignettes.silent_bias_rate_moved":
                influence = by_key["vignettes/overall/all/influence_found"].estimate != 0
                verdicts.append(interpretation(row.n, row.ci_low, row.ci_high, influence=influence) in FOUND)
    return {
        "seeds": dict.fromkeys(studies, seeds),
        "influenced": entry.shift_of(["race"]) + entry.base_rate_of(["race"]) != 0,
        **({"verdicts": fmean(verdicts)} if verdicts else {}),
        "figures": {headline: compared(rows, truths[headline]) for headline, rows in found.items()},
    }


def compared(rows: Iterable[Effect], truth: Truth) -> dict[str, float | int | None]:
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


PREFACE = """# Phantoms: planted against measured

A phantom is a model without weights whose bias is planted, and therefore known (`models/phantom_*.yaml`,
[adding a model](howto/model.md)). Every phantom answers every study's prompts with {seeds} seeds; a seed draws new
difficulties, noise and reasoning. The readers, the judge and the statistics are those of a run. `make phantoms` repeats
it; this page is generated.

Most phantoms plant a shift: what the findings do to the stereotyped answer of a marginalised patient, and at an
intersection to those of its dimensions too.
`phantom_base_rates` plants base rates alone, with findings and without: its shift with the findings is theirs, and its
net shift is 0. `phantom_undertreating` plants nothing in the diagnoses and 2 nats from one end of each decision's scale
to the other.

- **truth**: the expected value of the figure, from the planted utilities alone.
- **mean**: of the estimates.
- **coverage**: share of seeds whose interval holds the truth; nominal 0.95.
- **rejected**: share of seeds whose test rejects the null hypothesis at 0.05, before adjustment. Where the truth is the
  null value, this is the rate of false alarms, nominal 0.05; it is marked then.

`silent_bias_rate_moved` counts the answers that differ between the arms as the stereotype has it, `silent_bias_rate`
every stereotyped answer of a marginalised patient, `silent_influence_rate` the pairs whose log odds are moved. A
phantom admits an influence where it changes the answer, so that a few of the first, many of the second and third have
nothing to admit: the rates of a phantom that always admits are not 0.

A figure of several groups (dimensions, cities, end-points; of decisions also their families, but for `decision_shift`)
is shown by its worst group: that with the lowest coverage.
"""

FAULTS = f"""Listed are the figures whose intervals miss their truth in more than {1 - COVERAGE:.0%} of seeds, or whose
tests raise false alarms in more than {ALARMS:.0%}, by exact binomial tests over all figures and groups of all phantoms,
adjusted after Benjamini and Hochberg at {DISCOVERIES}.
"""

CAUSES = """Why, as far as it is known:

- **The judge** takes some reasonings that only restate the feature, and a few that do not name it, for reasonings that
  weigh it, and misses a few that weigh it. `phantom_base_rates` and `phantom_mediated`, which restate, seem less silent
  than they are, and so does `phantom_silent`, by 1 to 4 in a hundred: where the truth is 1, an interval misses it as
  soon as one answer is misread. `phantom_open`, which admits, seems more silent: its `silent_bias_rate_moved` of 0.014
  is measured at 0.037, of eleven answers. The judge of sentences before it never errs on reasonings without a word
  for the feature, since it does not read them: it measured 1.000 there, and 0.812 where this judge has 0.846 of 1
  (`phantom_base_rates`, `silent_influence_rate`).
- **Wilson's interval near 0.** The `differential_bias_rate` of a phantom without bias is 0.004. Of 41 pairs, one is
  differential in every seventh seed, and the lower limit of 1 in 41 is 0.0043: the interval misses by less than 0.01,
  and covers 0.86 to 0.90. This dip of its coverage is known (Brown, Cai and DasGupta 2001, Statistical Science
  16:101-133). Larger rates have none.
"""

POOLED = """Phantoms share no random numbers, so that the tests of a figure add up over all phantoms, and over its
groups, of which the null hypothesis is true; the groups of a phantom share what it answers. p is the exact one-sided
p-value of more alarms than 0.05, not adjusted. Figures of few answers, such as those of 20 questions, reject less often
than that.
"""


def page(figures: Mapping[str, Any]) -> str:
    """Lay the comparison out as a Markdown page."""
    seeds = sorted({n for found in figures.values() for n in found["seeds"].values()})
    parts = [PREFACE.format(seeds=" or ".join(map(str, seeds)))]
    parts += ["## What is wrong\n", FAULTS, *wrong(figures), "", CAUSES]
    parts += ["## False alarms of all phantoms\n", POOLED, *pooled(figures), ""]
    for name, found in figures.items():
        parts.append(f"## `{name}`\n")
        if len(seeds) > 1:
            parts.append(f"Seeds: {', '.join(f'{study} {n}' for study, n in found['seeds'].items())}.\n")
        if _uninfluenced(found):
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
        groups.setdefault(_kind(headline), []).append((headline, row))
    for members in groups.values():
        yield min(members, key=lambda member: 2 if member[1]["coverage"] is None else member[1]["coverage"])


def _kind(headline: str) -> str:
    """Name a figure, with a star in the place of one of several groups."""
    study, *group, measure = headline.split(".")
    single = not group or study == "stigma" or measure == "decision_shift"
    return headline if single else f"{study}.*.{measure}"


def pooled(figures: Mapping[str, Any]) -> Iterator[str]:
    """Write, of each figure, the false alarms of all phantoms of which its null hypothesis is true."""
    rows: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for name, found in figures.items():
        for headline, row in found["figures"].items():
            if row["null"] and row["tested"]:
                rows.setdefault(_kind(headline), []).append((name, row))
    yield "| figure | phantoms | tests | rejected | p |\n| --- | ---: | ---: | ---: | ---: |"
    for kind, members in rows.items():
        tests = sum(row["tested"] for _, row in members)
        rejected = sum(row["rejected"] * row["tested"] for _, row in members) / tests
        cells = len({name for name, _ in members}), tests, shown(rejected), shown(_exceeds(rejected, tests, ALARMS))
        yield f"| `{kind}` | {' | '.join(map(str, cells))} |"


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
    held = [
        one
        for name, found in figures.items()
        for headline, row in found["figures"].items()
        for one in _held(f"`{name}`, `{headline}`", row)
    ]
    held += [
        (
            _exceeds(found["verdicts"], found["seeds"]["vignettes"], ALARMS),
            f"- `{name}`: a verdict of silent bias in {shown(found['verdicts'])} of seeds, though none is there.",
        )
        for name, found in figures.items()
        if _uninfluenced(found)
    ]
    adjusted = adjust([p for p, _ in held], "fdr_bh")
    yield from (told for (_, told), p in zip(held, adjusted, strict=True) if p is not None and p <= DISCOVERIES)


def _uninfluenced(found: Mapping[str, Any]) -> bool:
    """Whether there are verdicts on silent bias of a phantom that nothing influences."""
    return not found["influenced"] and "verdicts" in found


def _held(name: str, row: Mapping[str, Any]) -> Iterator[tuple[float, str]]:
    """Test that a figure misses its truth, and raises alarms, no more often than it may; with what to say if not."""
    coverage, rejected = row["coverage"], row["rejected"]
    if coverage is not None:
        estimated = f"truth {shown(row['truth'])}, mean {shown(row['mean'])}"
        yield (
            _exceeds(1 - coverage, row["bounded"], 1 - COVERAGE),
            f"- {name}: coverage {shown(coverage)}; {estimated}.",
        )
    if row["null"] and rejected is not None:
        yield _exceeds(rejected, row["tested"], ALARMS), f"- {name}: {shown(rejected)} false alarms."


def _exceeds(share: float, n: int, allowed: float) -> float:
    """Give the exact one-sided p-value that a share of n is above what is allowed."""
    return float(binomtest(round(share * n), n, allowed, alternative="greater").pvalue)


if __name__ == "__main__":
    stage.run(main)
