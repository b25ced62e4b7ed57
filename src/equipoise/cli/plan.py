"""`equipoise plan`: how many cases the declared verdicts need and what they cost, from the spread of a run."""

from typing import Annotated, Any, NamedTuple

import typer

from equipoise.cli import completing
from equipoise.compare.items import item_clusters, item_values
from equipoise.compare.revisions import WORKSPACE, Revision, read_revision
from equipoise.core import params, printing
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.figures.figure import Figure
from equipoise.figures.layout import result_of
from equipoise.figures.options import Decision, Measure
from equipoise.figures.plan import Plan, plan, spread_of
from equipoise.figures.primary import primary_figure
from equipoise.figures.verdicts import BLIND, preconditions
from equipoise.studies.registry import STUDIES

COUNTS = ("n_prompts", "prompt_tokens", "generated_tokens")
NOTE = (
    "For a model without any bias; one with some needs more. Stories are independent, pairs of one story are not: new "
    "stories tell more. Costs are in proportion to those of the run."
)
SEQUENTIAL = (
    "A study that stops when its verdict is in needs an eighth more stories for that power. Of a model without bias it "
    "asks nine tenths of the plan on average, and of twice the planned stories six tenths."
)


class Planned(NamedTuple):
    """A study's plan, what an item of the run cost (prompts, tokens read and written), and why it has no verdict."""

    study: str
    figure: Figure
    margin: float
    plan: Plan
    cost: tuple[float, ...]
    unmet: tuple[str, ...]


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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Estimate the cases that the declared margins and power need, their cost, and the margin of today's cases.

    Margins come from params.yaml; the variance between stories, pairs and samples comes from an earlier run of the
    model.
    """
    with progress("plan"):
        run = read_revision(revision)
    settings = params.load()
    decision = settings.section("decision", Decision)
    options = decision.applied(settings.section("measure", Measure))
    plans = planned(run, decision, options)
    if not plans:
        raise EquipoiseError(
            f"{revision}: no study with a declared margin has figures that vary: run `dvc repro` first"
        )
    if as_json:
        printing.print_json([_row(plan, speed) for plan in plans])
        return
    for study_plan in plans:
        _print(study_plan, options.power, speed)
    printing.show(NOTE, *([SEQUENTIAL] if decision.sequential else []))


def planned(run: Revision, decision: Decision, options: Measure) -> list[Planned]:
    """Plan every study with a declared margin whose figure the run has; with the level and power of `options`."""
    values, clusters = item_values(run), item_clusters(run)
    plans = []
    for study in STUDIES:
        endpoint = decision.endpoints.get(study)
        endpoint = None if endpoint is None else endpoint.for_run(result_of(study, run.effects).without)
        if endpoint is None or endpoint.margin is None:
            continue
        figure = primary_figure(STUDIES[study], endpoint)
        spread = spread_of(values.get(figure.name, {}), clusters.get(study) or None)
        if spread is not None:
            made = plan(spread, endpoint, alpha=options.alpha, power=options.power)
            result, items = result_of(study, run.effects), spread.items * spread.samples
            counts = {} if result.counts is None else result.counts.known
            cost = tuple(counts.get(name, 0) / items for name in COUNTS)
            unmet = (*preconditions(result, endpoint), *(() if endpoint.floors else (BLIND,)))
            plans.append(Planned(study, figure, endpoint.margin, made, cost, unmet))
    return plans


def _print(study_plan: Planned, power: float, speed: float | None) -> None:
    spread = study_plan.plan.spread
    columns = ("stories", "items", "samples", "prompts", "tokens read", "tokens written", "hours")
    table = printing.plain_table(None, columns, left=0, gap=2)
    for need in study_plan.plan.needs:
        prompts, read, written = (each * need.items * need.samples for each in study_plan.cost)
        hours = "" if speed is None else f"{(read + written) / speed / 3600:,.1f}"
        numbers = (need.clusters, need.items, need.samples, prompts, read, written)
        table.add_row(*(f"{value:,.0f}" for value in numbers), hours)
    unmet = (
        [f"  no number of cases suffices for a run like this one: {'; '.join(study_plan.unmet)}"]
        if study_plan.unmet
        else []
    )
    printing.show(
        f"{STUDIES[study_plan.study].title}: {study_plan.figure.title}, margin {study_plan.margin:g}, power {power:g}",
        f"  the run: {spread.items} items in {spread.clusters} clusters; variance between clusters "
        f"{spread.between:.3g}, between items {spread.within:.3g}, between samples {spread.sampled:.3g}",
        f"  these cases support a margin of {study_plan.plan.supported:.3g}; the declared one needs",
        table,
        *unmet,
        "",
    )


def _row(study_plan: Planned, speed: float | None) -> dict[str, Any]:
    needs = [
        {
            "clusters": need.clusters,
            "items": need.items,
            "samples": need.samples,
            **{
                name: round(each * need.items * need.samples)
                for name, each in zip(COUNTS, study_plan.cost, strict=True)
            },
            "seconds": None if speed is None else sum(study_plan.cost[1:]) * need.items * need.samples / speed,
        }
        for need in study_plan.plan.needs
    ]
    return {
        "study": study_plan.study,
        "figure": study_plan.figure.name,
        "margin": study_plan.margin,
        "supported_margin": study_plan.plan.supported,
        "unmet": study_plan.unmet,
        "run": study_plan.plan.spread._asdict(),
        "needs": needs,
    }
