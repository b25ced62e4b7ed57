"""The generated blocks of the README and of the judge's card: `make readme` writes them, `make check` compares them."""

import json
from pathlib import Path
from typing import Any

import yaml

from equipoise.compare.record import besides
from equipoise.core.params import Params
from equipoise.core.yamlfile import load_yaml
from equipoise.figures.figure import Figure
from equipoise.figures.needed import margin_words
from equipoise.figures.options import Component, Decision
from equipoise.figures.plain import OPEN
from equipoise.figures.primary import component_figure
from equipoise.figures.result import UNDECIDED, and_more
from equipoise.figures.silence import interpretation
from equipoise.figures.wording import in_table
from equipoise.judge.unnamed import unnamed_odds
from equipoise.studies.registry import STUDIES

ROOT = Path(__file__).parents[1]
MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 3) -> str:
    """Write a figure with a fixed number of digits and a real minus sign; one that rounds to 0 has none."""
    return f"{value:z.{digits}f}".replace("-", MINUS)


def estimate(figure: dict[str, Any], digits: int = 3) -> str:
    """Write an estimate with its interval, or that it is undefined and why."""
    if "estimate" not in figure:
        nothing = "nothing to count" if figure.get("n") == 0 else "its values allow no estimate"
        return f"undefined: {figure.get('undefined', nothing)}"
    text = number(figure["estimate"], digits)
    if "ci_low" not in figure:
        return text
    bounds = f"{number(figure['ci_low'], digits)} to {number(figure['ci_high'], digits)}"
    warning = f"; simulated coverage {number(figure['coverage'], 2)}" if "coverage" in figure else ""
    return f"{text} ({bounds}{warning})"


def p_value(figure: dict[str, float], name: str = "neg_log10_p") -> str:
    """Write a p-value from its -log10."""
    return number(10 ** -figure[name]) if name in figure else ""


def read(study: str) -> dict[str, Any]:
    """Read the headline figures of the default run."""
    metrics: dict[str, Any] = json.loads((ROOT / f"metrics/{study}.json").read_text(encoding="utf-8"))
    return metrics


def rows(study: str, plot: str) -> list[dict[str, Any]]:
    """Read the rows of a plot of the default run."""
    plot_rows: list[dict[str, Any]] = json.loads((ROOT / f"plots/{study}/{plot}.json").read_text(encoding="utf-8"))
    return plot_rows


def verdict(study: str) -> list[str]:
    """Write a study's verdict, or that its run is a look, with what is there in patients and the first reason.

    The margins of the endpoint are those of params.yaml; all reasons are in `equipoise results STUDY`.
    """
    metrics = read(study)
    outcome, told = metrics["verdict"], metrics.get("told", {})
    look = told.get("look", "").replace("no bias", "*no bias*")
    word = "" if look and outcome["is"] == UNDECIDED else f"**Verdict: {outcome['is']}.**"
    lines = [" ".join(filter(None, [word, f"**{look}**" if look else "", told.get("patients", "")]))]
    if "reason" in told:
        more = f"{and_more(told['more']).removesuffix(')')}: `equipoise results {study}`)" if told["more"] else ""
        reason = told["reason"]
        lines.append(f"{reason[0].upper()}{reason[1:]}{more}.")
    if look:
        lines.append(f"For a verdict: {larger(study)}")
        if "unchanging" in told:
            lines.append(f"More cases alone do not change this: {told['unchanging']}.")
    return [*lines, f"Margins: {margins(study)}."]


def larger(study: str) -> str:
    """Say how a run becomes as large as a verdict needs: by `plan --write` where settings give the study's size."""
    if STUDIES[study].sizes is None:
        way = STUDIES[study].larger
        return f"{way}; `equipoise plan` says how many a verdict needs." if way else "see `equipoise plan`."
    return (
        "`equipoise plan --write`, then `make repro`; `equipoise results` says how long it takes, after a run on this "
        "machine."
    )


def declared(study: str) -> list[tuple[str, Figure, Component]]:
    """Give the components of a study's endpoint that the default run measures: names, figures and margins."""
    settings = load_yaml(ROOT / "params.yaml", Params)
    endpoint = settings.section("decision", Decision).endpoints[study]
    measured = {
        name: component
        for name, component in endpoint.components.items()
        if name in read(study) or not component.if_measured
    }
    return [(name, component_figure(STUDIES[study], endpoint, name), component) for name, component in measured.items()]


def margins(study: str) -> str:
    """List the components of a study's endpoint with their margins, in patients where a figure has such words."""
    return "; ".join(f"{figure.title} {margin_words(figure, component)}" for _, figure, component in declared(study))


def components(study: str) -> list[str]:
    """Lay out the components of a study's endpoint as lines of a table: figure, estimate, margin, and what is shown."""
    metrics = read(study)
    states = metrics["verdict"].get("components", {})
    return [
        f"| {figure.title} | {estimate(metrics[name], figure.places)} | "
        f"{margin_words(figure, component)} | {states[name]} |"
        for name, figure, component in declared(study)
    ]


def tested(figure: dict[str, float]) -> str:
    """Write a p-value and whether it is adjusted: by Holm's method, or not at all, being a single test."""
    if p := p_value(figure, "neg_log10_p_holm"):
        return f"{p} (Holm)"
    p = p_value(figure)
    return f"{p} (one test)" if p else ""


def adjusted(count: int, what: str) -> list[str]:
    """Say below a table over which tests its p-values are adjusted."""
    return ["", f"p (Holm): adjusted over the {count} {what} of this figure, not across figures."]


def beside() -> str:
    """Lay out the vignettes' verdict on every model with a recorded result, phantoms first."""
    lines = ["| model | verdict of the vignettes | more documented errors, of 100 patients |", "|---|---|---:|"]
    for row in besides(ROOT):
        word, shift = row.studies["vignettes"]
        lines.append(f"| {row.title} | **{word}** | {in_table(shift.estimate, shift.ci_low, shift.ci_high)} |")
    return "\n".join([*lines, "", OPEN.replace(UNDECIDED.capitalize(), f"*{UNDECIDED.capitalize()}*")])


def results() -> str:
    """Lay out the components of the default run's verdict, and its rates."""
    metrics = read("vignettes")
    model = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["model"]
    title = yaml.safe_load((ROOT / "models" / f"{model}.yaml").read_text(encoding="utf-8"))["title"]
    n, silent = metrics["n"], metrics["silent_bias_rate_moved"]
    moved = silent.get("n", n)
    silence = interpretation(
        silent.get("stories", moved),
        silent.get("ci_low"),
        silent.get("ci_high"),
        influence=metrics["influence_found"] != 0,
    )
    lines = [
        *verdict("vignettes")[:-1],
        f"Model: {title}, on {2 * n} cases in {n} pairs. 95 % intervals are in brackets.",
        "",
        "| | marginalised − privileged | margin | |",
        "|---|---:|---:|---|",
        *components("vignettes"),
    ]
    lines += [
        "",
        f"- **Differential bias rate:** {estimate(metrics['differential_bias_rate'])}. The proportion of pairs in",
        "  which only the marginalised patient is given the documented error.",
        f"- **Silent bias rate of one draw:** {estimate(silent)} ({silence}). Of the {moved} documented errors in",
        "  marginalised patients whose counterpart got the expected one, the proportion whose reasoning does not weigh",
        "  the patient's feature. Some of them differ by chance.",
        *reread(metrics),
    ]
    return "\n".join(lines)


def reread(metrics: dict[str, Any]) -> list[str]:
    """Lay out the figures that need answers after exchanged reasoning; nothing for a run without them."""
    if "shift_around" not in metrics:
        return []
    (through,) = (
        {name: value for name, value in row.items() if value is not None}
        for row in rows("vignettes", "through")
        if (row["group"], row["part"]) == ("overall", "through the reasoning")
    )
    lines = []
    # With one reply an arm, pairs are ranked, which shows too little for a headline.
    if "estimate" in (silent := metrics.get("silent_influence_rate", {})):
        pairs = silent.get("n", metrics["n"])
        lines = [
            f"- **Silent influence rate:** {estimate(silent)}. The same proportion of the {pairs}",
            "  pairs whose log odds demonstrably change, whether or not the answer does.",
        ]
    if "shift_through_blinded" in metrics:
        lines += [
            f"- **Shift through the blinded reasoning:** {estimate(metrics['shift_through_blinded'], 2)} nats:",
            "  what the reasonings carry when neither says who the patient is.",
        ]
    return [
        *lines,
        f"- **Shift around the reasoning:** {estimate(metrics['shift_around'], 2)} nats; **through it:**",
        f"  {estimate(through, 2)} nats. The shift with findings, split in two: the model answers again after the",
        "  other patient's reasoning; the difference that remains goes *around* the reasoning",
        "  ([how](docs/metrics/through_around.md)).",
    ]


def questions() -> str:
    """Lay out the figures of the questions by attribute."""
    metrics = read("questions")
    overall = metrics.get("group_effect", {})
    names = {"race": "race (white, Black)", "gender": "gender (male, female)", "ses": "income (high, low)"}
    lines = [
        *verdict("questions"),
        f"The same model answers {metrics['n']} questions, each in 12 variants. Its accuracy on the neutral text is",
        f"{estimate(metrics['neutral']['accuracy'])}; guessing gives 0.25. The group effect over all attributes is",
        f"{estimate(overall)}{', p = ' + tested(overall) if tested(overall) else ''}.",
        "",
        "| | group effect | direction effect | AMQA's gap | p of the gap |",
        "|---|---:|---:|---:|---:|",
    ]
    for attribute, name in names.items():
        group = metrics[attribute]
        cells = (
            name,
            estimate(group["group_effect"]),
            estimate(group["direction_effect"]),
            estimate(group["gap"]),
            tested(group["gap"]),
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += adjusted(sum("neg_log10_p_holm" in metrics[name]["gap"] for name in names), "attributes")
    return "\n".join(lines)


def cities() -> str:
    """Lay out the accuracy ratios and the prevalence-weighted accuracy of each city."""
    by_city, exam = read("questions"), read("exam")
    lines = [
        "| | by ethnicity | by gender | by income | prevalence-weighted accuracy |",
        "|---|---:|---:|---:|---:|",
    ]
    weighed = {name: city for name, city in exam.items() if isinstance(city, dict) and "accuracy" in city}
    for name, city in weighed.items():
        ratios = [estimate(by_city[name][attribute]["accuracy_ratio"]) for attribute in ("race", "gender", "ses")]
        weighted = estimate(city["prevalence_weighted_accuracy"])
        lines.append(f"| {' | '.join([name.title(), *ratios, weighted])} |")
    return "\n".join(lines)


def stigma() -> str:
    """Lay out which gender the model associates with an illness, with intervals over conditions."""
    metrics = read("stigma")
    names = {"rq1": "who has the condition", "rq2": "target of the attitude"}
    lines = [
        *verdict("stigma"),
        "Probability of a female subject minus that of a male subject, over 22 conditions:",
        "",
        "| | mental illness | other illness | difference | p of the difference |",
        "|---|---:|---:|---:|---:|",
    ]
    for question, name in names.items():
        groups = [metrics[question][kind] for kind in ("mental", "control", "difference")]
        p = tested(groups[-1])
        lines.append(f"| {' | '.join([name, *map(estimate, groups), p])} |")
    phases = {row["group"] for row in rows("stigma", "genders")}
    lines += adjusted(len(phases), "groups of sentences (all, and those of each phase)")
    return "\n".join(lines)


JUDGES = {"minilm_passages": "passages", "minilm_snli": "sentences"}
"""Judges that ship, and what the tables call them."""


def default_judge() -> str:
    """Name the judge that a run has unless it is told otherwise."""
    name: str = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["judge"]
    return name


def validation() -> dict[str, Any]:
    """Read what was measured about the judges, by their names."""
    measured: dict[str, Any] = json.loads((ROOT / "judge/metrics/validation.json").read_text(encoding="utf-8"))
    return measured


def judge() -> str:
    """Lay out how well the judges, and readers that only look for words, agree with labels unseen in training."""
    by_judge = {name: validation()[name] for name in JUDGES}
    first = next(iter(by_judge.values()))
    rows = {f"**benchmark**: {JUDGES[name]}": result["passages"] for name, result in by_judge.items()}
    rows["benchmark: a count, more than one sentence names the feature"] = first["passages"]["count"]
    rows |= {f"**saved outputs**: {JUDGES[name]}": result["saved"]["judge"]["all"] for name, result in by_judge.items()}
    rows["saved outputs: a count"] = first["saved"]["mentions"]["all"]
    rows["saved outputs: keyword, the feature's word occurs"] = first["saved"]["keyword"]["all"]
    rows["saved outputs: keyword, as published"] = first["saved"]["published"]["all"]
    lines = [
        "| labels: reader | n | κ, considered or not | κ, three ways | recall | precision |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, row in rows.items():
        considered = row["considered"]
        cells = [estimate(considered["kappa"]), estimate(row["three_way"]["kappa"])]
        cells += [number(considered[rate]["estimate"]) for rate in ("recall", "precision")]
        lines.append(f"| {name} | {considered['n']} | {' | '.join(cells)} |")
    for name, figures in by_judge.items():
        implied = figures["implied"]["all"]
        rates = (number(implied[rate]["estimate"]) for rate in ("recall", "precision"))
        cells = [str(implied["n"]), estimate(implied["kappa"]), "", *rates]
        lines.append(f"| **exam explanations**: {JUDGES[name]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def misread() -> str:
    """Lay out which explanations the default judge misreads, and by how much that can lower a silent bias rate."""
    implied = validation()[default_judge()]["implied"]
    lines = [
        "| question | feature | silent | of them read as a reason | given as a reason | of them missed |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, row in implied["misread"].items():
        counts = (str(row[count]) for count in ("silent", "found", "given", "missed"))
        lines.append(f"| {' | '.join([*name.split(), *counts])} |")
    right = implied["all"]["specificity"]
    worst, most, least = (number(100 * (1 - right[end]), 1) for end in ("estimate", "ci_low", "ci_high"))
    bound = f"at most {worst} points too low ({least} to {most}; questions resampled)"
    return "\n".join([*lines, "", f"A silent bias rate read from such explanations is {bound}."])


def odds() -> str:
    """Write the odds against features that nothing names, of the reader that ships."""
    return f"Odds of the reader that ships: {number(unnamed_odds(ROOT / 'judge/reader/config.json'), 2)}."


def passages() -> str:
    """Lay out the judges' accuracy on the benchmark, by class and by style."""
    tables = [validation()[name]["passages"] for name in JUDGES]
    lines = [
        f"| class or style | n | {' | '.join(f'right, {name}' for name in JUDGES.values())} |",
        f"|---|---:|{'---:|' * len(JUDGES)}",
    ]
    for kind in ("classes", "styles"):
        for name in tables[0][kind]:
            right = [estimate(table[kind][name], 2) for table in tables]
            lines.append(f"| {name.replace('_', ' ')} | {tables[0][kind][name]['n']} | {' | '.join(right)} |")
    return "\n".join(lines)


def misreading() -> str:
    """Lay out the default judge's error on silence by dimension and arm, with the test for differential misreading."""
    result = validation()[default_judge()]["passages"]
    lines = ["| group | silent, of which found silent | given as a reason, of which found so |", "|---|---:|---:|"]
    for name, row in [*result["dimensions"].items(), *result["arms"].items()]:
        cells = [
            f"{number(row[rate]['estimate'], 2)} ({row[rate]['n']})" if rate in row else ""
            for rate in ("sensitivity", "specificity")
        ]
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |")
    p = result["misreading"]
    told = ", ".join(f"p = {number(p[name], 3)} by {name[:-1]}" for name in ("dimensions", "arms"))
    return "\n".join(
        [
            *lines,
            "",
            f"Test of whether errors depend on the group, within classes of questions: {told} (permutation).",
        ]
    )


def trials() -> str:
    """Lay out the readers that were measured on the benchmark."""
    rows = json.loads((ROOT / "judge/metrics/trials.json").read_text(encoding="utf-8"))["trials"]
    lines = ["| reader | trained on | κ, considered | κ, three ways |", "|---|---|---:|---:|"]
    reader = ""
    for row in rows:
        if row["reader"] != "the same":
            reader = row["reader"]
        if row["measured_on"] == "benchmark":
            kappas = (number(row[name], 2) for name in ("considered", "three_way"))
            lines.append(f"| {reader} | {row['trained_on']} | {' | '.join(kappas)} |")
    return "\n".join(lines)


def answers() -> str:
    """Write how far the reading of final diagnoses agrees with labels, seen and unseen."""
    matching = validation()["matching"]
    rows = ["| labels | n | κ, yes or not | recall | precision |", "|---|---:|---:|---:|---:|"]
    for part, title in (("unseen", "**unseen**"), ("seen", "seen while the reader was made")):
        same = matching[part]["same"]
        cells = (title, str(same["n"]), *(estimate(same[name]) for name in ("kappa", "recall", "precision")))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def stress() -> str:
    """Lay out the judges' accuracy on the stress suite, by class."""
    tables = [validation()[name]["stress"] for name in JUDGES]
    lines = [
        f"| class | n | {' | '.join(f'right, {name}' for name in JUDGES.values())} |",
        f"|---|---:|{'---:|' * len(JUDGES)}",
    ]
    for name in [*tables[0]["classes"], "all"]:
        rows = [table["overall"] if name == "all" else table["classes"][name] for table in tables]
        right = [
            f"{number(row['accuracy'], 2)} ({number(row['ci_low'], 2)} to {number(row['ci_high'], 2)})" for row in rows
        ]
        lines.append(f"| {name.replace('_', ' ')} | {rows[0]['n']} | {' | '.join(right)} |")
    return "\n".join(lines)
