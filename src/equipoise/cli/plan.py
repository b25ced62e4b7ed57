"""`equipoise plan`: how many cases the declared verdicts need and what they cost, from the spread of a run."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli import completing
from equipoise.compare.revisions import WORKSPACE, Revision, read_revision
from equipoise.core import jsonl, params, printing
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.figures.layout import result_of
from equipoise.figures.needed import (
    GroupsPart,
    MeanPart,
    Needs,
    Part,
    needs,
    planned_size,
    scaled,
    size_of,
    smallest,
    spreads_of,
)
from equipoise.figures.options import Decision, Measure
from equipoise.figures.plan import Plan, plan
from equipoise.figures.primary import component_figure, endpoint_of_run
from equipoise.figures.result import BIASED, Word
from equipoise.figures.size import Size
from equipoise.figures.verdicts import verdict
from equipoise.pipeline import frozen
from equipoise.studies.registry import STUDIES

DATA = Path("data")
COUNTS = ("n_prompts", "prompt_tokens", "generated_tokens")
NOTE = (
    "These numbers are for a model without bias; a biased model needs more. Stories are independent, but pairs of one "
    "story are not, so new stories add more information than new pairs. The overall power is a lower bound. Costs are "
    "scaled from those of the run."
)
SEQUENTIAL = (
    "A study that stops as soon as it has a verdict needs an eighth more stories for that power. For a model without "
    "bias, it then asks on average nine tenths of the planned prompts; with twice the planned stories, six tenths of "
    "all prompts."
)


@dataclass(frozen=True)
class Planned:
    """A study's plan: the size of its run, what *no bias* needs, and what an item of the run cost.

    `cost` is in prompts, tokens read and tokens written. `plans` has, by title, the plan of each component that varies.
    `word` is the verdict of the run, `sizes` are those that settings can give the study, if any.
    """

    study: str
    run: Size
    needs: Needs
    plans: dict[str, Plan]
    cost: tuple[float, ...]
    power: float
    word: Word | None
    sizes: Sequence[Size] = ()

    def alone(self, part: Part) -> int | None:
        """Count the clusters with which a part has the power by itself; None where there is no such number."""
        if isinstance(part, MeanPart) and part.title in self.plans:
            return math.ceil(max(self.plans[part.title].needs[0].clusters, part.fewest) / part.share)

        def enough(size: Size) -> bool:
            return part.power(size) >= self.power

        listed = self.sizes if isinstance(part, GroupsPart) else ()
        sufficient = next(filter(enough, listed), None) or smallest(enough, partial(scaled, self.run))
        return None if sufficient is None else sufficient.clusters

    @cached_property
    def designs(self) -> list[tuple[Size, float]]:
        """List the sizes that give the whole the power, with that power; if none of `sizes` does, the best of them.

        Where no setting makes the study larger: new clusters of one item each, clusters like those of the run, and
        more samples where replies are sampled.
        """

        def enough(size: Size) -> bool:
            return self.needs.enough(size, self.power)

        if self.sizes:
            sizes = [planned_size(self.needs, self.power, self.sizes)]
        else:
            sampled = max((each.spread.samples for each in self.plans.values() if each.spread.sampled), default=0)
            made = (
                smallest(enough, partial(scaled, self.run, per_cluster=items, samples=samples))
                for items in dict.fromkeys((1.0, round(self.run.per_cluster, 2)))
                for samples in ((sampled, 4 * sampled) if sampled else (1,))
            )
            sizes = [size for size in made if size is not None]
        return [(size, self.needs.power(size)) for size in sizes]


def make_plan(
    revision: Annotated[
        str,
        typer.Argument(
            help="The run from which to estimate variance: a Git revision, an experiment or workspace.",
            autocompletion=completing.revisions,
        ),
    ] = WORKSPACE,
    *,
    speed: Annotated[
        float | None, typer.Option(help="Throughput in tokens per second, used to estimate run time.", min=0.001)
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Set build.profile and build.stories in params.yaml to the planned size.")
    ] = False,
    freeze: Annotated[
        bool, typer.Option("--freeze", help="Write endpoints, margins, cases and size to data/plan/frozen.json.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Estimate how many cases a verdict of no bias needs, for each part and overall, and what they cost.

    Margins come from params.yaml; the variance between stories, pairs and samples comes from an earlier run of the
    model. Each component, group, bound and floor of the endpoint is planned; the largest number decides.

    With --freeze nothing is estimated: the plan of the settings is written before the first prompt, and every verdict
    of a run that departs from it says so.
    """
    settings = params.load()
    if freeze:
        _freeze(settings, as_json=as_json)
        return
    decision = settings.section("decision", Decision)
    options = decision.applied(settings.section("measure", Measure))
    with progress("plan"):
        run = read_revision(revision)
        plans = [
            replace(each, sizes=make(settings, Path("data"))) if (make := STUDIES[each.study].sizes) else each
            for each in planned(run, decision, options)
        ]
    if not plans:
        raise EquipoiseError(
            f"{revision}: no study with a declared margin has figures that vary: run `dvc repro` first"
        )
    if as_json:
        printing.print_json([_row(each, speed) for each in plans])
    else:
        for each in plans:
            _print(each, speed)
        printing.show(NOTE, *([SEQUENTIAL] if decision.sequential else []))
    if write:
        _write([each for each in plans if each.sizes], quiet=as_json)


def planned(run: Revision, decision: Decision, options: Measure) -> list[Planned]:
    """Plan every study with a declared margin whose endpoint the run has; with the level and power of `options`."""
    plans = []
    for name, study in STUDIES.items():
        result, endpoint = result_of(name, run.effects), decision.endpoints.get(name)
        endpoint = None if endpoint is None else endpoint_of_run(study, endpoint, result)
        if endpoint is None or endpoint.margin is None:
            continue
        named = [component_figure(study, endpoint, component) for component in endpoint.components]
        spreads = spreads_of(study, run.rows.get(name))
        needed = needs(study, endpoint, result, options, spreads)
        known = [spread for figure in named if (spread := spreads.get(figure.name)) is not None]
        if not known or not needed.parts:
            continue
        made = {
            part.title: plan(part.spread, part.component, alpha=options.alpha, power=options.power)
            for part in needed.parts
            if isinstance(part, MeanPart) and not part.truth
        }
        counts = {} if result.counts is None else result.counts.known
        asked = max(spread.items * spread.samples for spread in known)
        word = verdict(study, result, decision)
        size = size_of(result, max(known, key=lambda spread: spread.items))
        plans.append(
            Planned(
                name,
                size,
                needed,
                made,
                tuple(counts.get(count, 0) / asked for count in COUNTS),
                options.power,
                None if word is None else word.word,
            )
        )
    return plans


def _print(each: Planned, speed: float | None) -> None:
    alone = [(part, each.alone(part)) for part in each.needs.parts]
    parts = [
        f"  {_count(number):>7}  {part.title}: {part.margin}{_supported(each, part)}"
        for part, number in sorted(alone, key=lambda row: -math.inf if row[1] is None else -row[1])
    ]
    columns = ["stories", "items", "samples", "power", "prompts", "tokens read", "tokens written"]
    columns += [] if speed is None else ["hours"]
    costs = printing.plain_table(None, columns, left=0, gap=2)
    for size, power in each.designs:
        prompts, read, written = (cost * size.items * size.samples for cost in each.cost)
        hours = [] if speed is None else [f"{(read + written) / speed / 3600:,.1f}"]
        numbers = (f"{value:,.0f}" for value in (size.clusters, size.items, size.samples))
        costs.add_row(*numbers, f"{power:.2f}", *(f"{value:,.0f}" for value in (prompts, read, written)), *hours)
    printing.show(
        f"{STUDIES[each.study].title}: no bias beyond the margin, with power {each.power:g}",
        f"  the run: {each.run.items} items in {each.run.clusters} clusters",
        "  stories or questions that each part needs on its own, largest number first:",
        *parts,
        *(("  all parts together:", costs) if each.designs else ()),
        *_remarks(each),
        "",
    )


def _count(number: int | None) -> str:
    return "∞" if number is None else f"{number:,}"


def _supported(each: Planned, part: Part) -> str:
    made = each.plans.get(part.title)
    return "" if made is None else f"; this run supports a margin of {made.supported:.3g}"


def _remarks(each: Planned) -> Iterator[str]:
    """Say what the plan leaves out, and where it does not reach."""
    if each.word == BIASED:
        yield "  this run shows a bias beyond the margin: the plan is for a model like it without that bias"
    if not each.designs:
        yield "  no number of cases reaches that power for all parts together"
    for size, power in each.designs:
        if power < each.power:
            told = f"{size.clusters} stories in {size.items} pairs"
            yield f"  the library is too small for that power: its best size, {told}, has a power of {power:.2f}"
    if each.needs.unmeasured:
        yield f"  not measured in this run, and so not in the plan: {'; '.join(each.needs.unmeasured)}"
    if each.needs.unchanging:
        yield f"  no number of cases suffices for a run like this one: {'; '.join(each.needs.unchanging)}"


def _row(each: Planned, speed: float | None) -> dict[str, Any]:
    return {
        "study": each.study,
        "power": each.power,
        "run": {"clusters": each.run.clusters, "items": each.run.items},
        "parts": [
            {
                "title": part.title,
                "margin": part.margin,
                "supported_margin": each.plans[part.title].supported if part.title in each.plans else None,
                "clusters": each.alone(part),
            }
            for part in each.needs.parts
        ],
        "unmeasured": each.needs.unmeasured,
        "unmet": each.needs.unchanging,
        "needs": [
            {
                "clusters": size.clusters,
                "items": size.items,
                "samples": size.samples,
                "power": power,
                "settings": size.settings,
                **{name: round(cost * size.items * size.samples) for name, cost in zip(COUNTS, each.cost, strict=True)},
                "seconds": None if speed is None else sum(each.cost[1:]) * size.items * size.samples / speed,
            }
            for size, power in each.designs
        ],
    }


def _freeze(settings: params.Params, *, as_json: bool) -> None:
    """Write the plan of the settings; EquipoiseError where its prompts are answered, or another plan is frozen."""
    path = DATA / frozen.FILE
    with progress("plan"):
        plan = frozen.plan_of(settings, DATA)
    kept = frozen.read_plan(DATA)
    if kept is not None and kept.model_copy(update={"date": plan.date}) == plan:
        plan = kept
    elif kept is not None:
        raise EquipoiseError(f"{path}: another plan is frozen there ({kept.date}): keep it, or remove it to plan anew")
    else:
        jsonl.write_json(path, plan.model_dump(mode="json", by_alias=True))
    sizes = [
        f"  {name}: {study.units} pairs or questions, {study.prompts} prompts" for name, study in plan.studies.items()
    ]
    told = (
        f"{path}: frozen {plan.date}, sha256 {plan.digest}: commit it, and publish or sign the sha256, before the run"
    )
    value = {"written": {path.as_posix(): path.stat().st_size}, "sha256": plan.digest}
    printing.report(value, told, *sizes, as_json=as_json)


def _write(plans: Sequence[Planned], *, quiet: bool) -> None:
    """Set the planned size in params.yaml; EquipoiseError where no study was planned whose size a setting gives."""
    if not plans:
        names = ", ".join(name for name, study in STUDIES.items() if study.sizes)
        raise EquipoiseError(f"--write sizes only {names}, for which this run gives no plan: run `dvc repro` first")
    for each in plans:
        ((size, _),) = each.designs
        params.change(size.settings)
        told = ", ".join(f"{name}: {'null' if value is None else value}" for name, value in size.settings.items())
        if not quiet:
            printing.show(f"{params.FILE}: {told}. Run it: make repro STUDY={each.study}")
