"""One row a model: the headline figures of DVC's experiments side by side.

Rows stand in the order of the models' names, and none is called best: the models answered the same questions, so that
their intervals are no test of the difference between two of them. `dvc metrics diff` and the pairs' own rows compare
two models. Of runs of one model with the same parameters only the newest has a row; parameters other than the model are
compared with those of the reference run, and what differs is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

State = Literal["defined", "undefined", "not measured"]

NOT_MEASURED: State = "not measured"
UNDEFINED: State = "undefined"
SPEED_ONLY = ("infer.batch_size", "fill.batch_size")
"""Parameters that change no byte of a result."""
ABSENT = "absent"
"""What is shown of a parameter that the reference has and a run has not."""


class Run(NamedTuple):
    """One run of the pipeline as DVC knows it.

    `name` is that of the experiment, the branch or `workspace`; `revision` its Git commit. `created` is None for the
    workspace, which is newer than everything that is recorded. `params` is params.yaml as it was, `title` the model's
    in the registry, `metrics` what each metrics file held, by its stem.
    """

    name: str
    revision: str
    created: datetime | None
    params: Mapping[str, Any]
    title: str
    metrics: Mapping[str, Mapping[str, Any]]


class Figure(NamedTuple):
    """One headline figure of a run.

    `undefined`: the study ran and has no such figure, and `n` says why (0 biased answers have no silent share);
    `not measured`: the run has no figures of the study. `where` says which group an extreme belongs to.
    """

    state: State
    n: int | None = None
    estimate: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    where: str = ""


class Headline(NamedTuple):
    """A column: its name in files, its title, the study it belongs to, and where the metrics files have it.

    `path` leads to a measure; where `extreme` is given, to a table of cities and attributes, of which the lowest or
    highest `measure` is taken.
    """

    name: str
    title: str
    study: str
    file: str
    path: tuple[str, ...]
    extreme: Literal["lowest", "highest"] | None = None
    measure: str = ""


HEADLINES = (
    Headline(
        "stereotype_shift",
        "stereotype shift (nats)",
        "vignettes",
        "silent_bias",
        ("overall", "stereotype_shift"),
    ),
    Headline(
        "differential_bias_rate",
        "differential bias rate",
        "vignettes",
        "silent_bias",
        ("overall", "differential_bias_rate"),
    ),
    Headline("silent_bias_rate", "silent bias rate", "vignettes", "silent_bias", ("overall", "silent_bias_rate")),
    *(
        Headline(f"gap_{name}", f"gap, {title}", "questions", "questions", ("attribute", name, "gap"))
        for name, title in (("race", "race"), ("gender", "gender"), ("ses", "income"))
    ),
    Headline("neutral_accuracy", "neutral accuracy", "questions", "questions", ("arm", "neutral", "accuracy")),
    *(
        Headline(
            f"accuracy_ratio_{extreme}",
            f"city accuracy ratio, {extreme}",
            "equity",
            "equity",
            ("city",),
            extreme,
            "accuracy_ratio",
        )
        for extreme in ("lowest", "highest")
    ),
    Headline(
        "stigma_difference",
        "gender disparity, mental illness less control",
        "stigma",
        "stigma",
        ("rq1_difference", "all", "disparity_clustered"),
    ),
    Headline("openr1_gap", "agreement gap", "openr1", "openr1", ("overall", "agreement_gap")),
    Headline("cases_silent_bias_rate", "silent bias rate", "cases", "cases", ("nli",)),
)
"""The columns, in order."""
STUDIES = {
    "vignettes": "Vignettes",
    "questions": "Adversarial",
    "equity": "Equity",
    "stigma": "Stigma",
    "openr1": "OpenR1-Psy",
    "cases": "Saved outputs",
}
"""Titles of the studies that the columns belong to."""


class Standing(NamedTuple):
    """One row: a run, the parameters in which it differs from the reference (model apart), and its figures by name.

    `changed` maps dotted names to the run's values. `prompts` and `unparsed` count what was asked and what could not be
    read, over all studies; None where the run has no such count.
    """

    model: str
    run: Run
    changed: dict[str, Any]
    figures: dict[str, Figure]
    prompts: int | None
    unparsed: int | None


def standings(runs: Sequence[Run], reference: Mapping[str, Any]) -> list[Standing]:
    """Give each model with each set of parameters one row, that of its newest run.

    Rows are sorted by the model's name, then those with the reference's parameters before the others, then by what
    differs. `reference` is params.yaml of the reference run. A recorded run stands for a workspace that holds its
    figures.
    """
    newest: dict[tuple[str, str], Run] = {}
    for run in sorted(runs, key=_age):
        key = (run.params["model"], repr(sorted(settings(run.params).items())))
        known = newest.get(key)
        if run.created is None and known is not None and known.metrics == run.metrics:
            continue
        newest[key] = run
    rows = [_standing(run, settings(reference)) for run in newest.values()]
    return sorted(rows, key=lambda row: (row.model, bool(row.changed), described(row.changed)))


def settings(params: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parameters that decide a result, the model apart, by dotted name."""
    flat = flattened(params)
    return {name: value for name, value in flat.items() if name not in ("model", *SPEED_ONLY)}


def flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested mappings to dotted names; lists stay values."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def described(changed: Mapping[str, Any]) -> str:
    """Name parameters with their values: `measure.alpha=0.1, score.top_k=2`."""
    return ", ".join(f"{name}={value}" for name, value in sorted(changed.items()))


def figure(headline: Headline, metrics: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Find a headline figure in a run's metrics files."""
    file = metrics.get(headline.file, {})
    # The file of a study that was not run holds no more than a count of 0.
    if headline.path[0] not in file:
        return Figure(NOT_MEASURED)
    found = _inner(file, headline.path)
    if headline.extreme is None:
        return _figure(found)
    members = [
        (rows[headline.measure], f"{city}/{attribute}")
        for city, attributes in found.items()
        for attribute, rows in attributes.items()
        if "estimate" in rows.get(headline.measure, {})
    ]
    if not members:
        return Figure(UNDEFINED, 0)
    choose = min if headline.extreme == "lowest" else max
    # Ties go to the first by name.
    measured, where = choose(sorted(members, key=lambda member: member[1]), key=lambda member: member[0]["estimate"])
    return _figure(measured)._replace(where=where)


def measured(rows: Sequence[Standing]) -> list[Headline]:
    """Give the columns in which at least one row has more to show than that it was not measured."""
    return [one for one in HEADLINES if any(row.figures[one.name].state != NOT_MEASURED for row in rows)]


def _age(run: Run) -> tuple[bool, datetime, str]:
    return run.created is None, run.created or datetime.min, run.name  # noqa: DTZ901  (never compared with a real one)


def _standing(run: Run, reference: Mapping[str, Any]) -> Standing:
    own = settings(run.params)
    changed = {name: value for name, value in own.items() if name not in reference or reference[name] != value}
    changed |= dict.fromkeys(reference.keys() - own.keys(), ABSENT)
    asked = run.metrics.get("run", {})
    return Standing(
        model=run.params["model"],
        run=run,
        changed=dict(sorted(changed.items())),
        figures={headline.name: figure(headline, run.metrics) for headline in HEADLINES},
        prompts=_total(asked, "n_prompts"),
        unparsed=_total(asked, "unparsed"),
    )


def _inner(table: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    for name in path:
        table = table.get(name, {})
    return table


def _figure(found: Mapping[str, Any]) -> Figure:
    """Read a measure; figures of saved outputs call the estimate `rate`, and its n `biased`."""
    estimate, n = found.get("estimate", found.get("rate")), found.get("n", found.get("biased", 0))
    if estimate is None:
        return Figure(UNDEFINED, n)
    return Figure("defined", n, estimate, found.get("ci_low"), found.get("ci_high"))


def _total(asked: Mapping[str, Any], name: str) -> int | None:
    counts = [study[name] for study in asked.values() if isinstance(study, Mapping) and name in study]
    return sum(counts) if counts else None
