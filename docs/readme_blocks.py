"""The generated blocks of the README: `make readme` writes them, `make check` fails when they are stale."""

import json
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 3) -> str:
    """Write a figure with a fixed number of digits and a real minus sign."""
    return f"{value:.{digits}f}".replace("-", MINUS)


def estimate(figure: dict[str, float]) -> str:
    """Write an estimate with its interval, or that it is undefined."""
    if "estimate" not in figure:
        return "undefined"
    text = number(figure["estimate"])
    if "ci_low" not in figure:
        return text
    return f"{text} ({number(figure['ci_low'])} to {number(figure['ci_high'])})"


def p_value(figure: dict[str, float], name: str = "neg_log10_p") -> str:
    """Write a p-value from its -log10."""
    return number(10 ** -figure[name]) if name in figure else ""


def results() -> str:
    """Lay out the default run's headline figures, overall and by dimension."""
    metrics = json.loads((ROOT / "metrics/silent_bias.json").read_text(encoding="utf-8"))
    model = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["model"]
    title = yaml.safe_load((ROOT / "models" / f"{model}.yaml").read_text(encoding="utf-8"))["title"]
    overall = metrics["overall"]
    lines = [
        f"{title}, {overall['n_cases']} cases in {overall['n_pairs']} pairs; 95 % intervals in brackets:",
        "",
        "| | pairs | stereotype shift (nats) | p (Holm) | differential bias rate | silent bias rate |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    groups = [("**overall**", overall), *sorted(metrics["dimension"].items())]
    for name, group in groups:
        shift, silent = group["stereotype_shift"], group["silent_bias_rate"]
        p = p_value(shift, "neg_log10_p_holm") or p_value(shift)
        cells = (
            name.replace("_", " "),
            str(group["n_pairs"]),
            estimate(shift),
            p,
            estimate(group["differential_bias_rate"]),
            f"{estimate(silent)}, n = {silent['n']}" if silent["n"] else "no biased answer",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def adversarial() -> str:
    """Lay out the adversarial study's figures by attribute."""
    metrics = json.loads((ROOT / "metrics/adversarial.json").read_text(encoding="utf-8"))
    names = {"race": "race (white, Black)", "gender": "gender (male, female)", "ses": "income (high, low)"}
    n, accuracy = metrics["n_questions"], estimate(metrics["arm"]["neutral"]["accuracy"])
    lines = [
        f"The same model on {n} multiple-choice questions, each told in 12 ways; its accuracy on the neutral text is",
        f"{accuracy}, where guessing gives 0.25:",
        "",
        "| | group effect | direction effect | gap, as in AMQA | p (exact, Holm) |",
        "|---|---:|---:|---:|---:|",
    ]
    for attribute, name in names.items():
        group = metrics["attribute"][attribute]
        cells = (
            name,
            estimate(group["group_effect"]),
            estimate(group["direction_effect"]),
            estimate(group["gap"]),
            p_value(group["gap"], "neg_log10_p_holm"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def equity() -> str:
    """Lay out what the gap means for each city."""
    cities = json.loads((ROOT / "metrics/equity.json").read_text(encoding="utf-8"))["city"]
    exam = json.loads((ROOT / "metrics/medmcqa.json").read_text(encoding="utf-8"))["city"]
    lines = [
        "Accuracy ratio by city: right answers when each question is asked about a patient of the city, over right",
        "answers on the neutral text; and accuracy on the diseases that weigh on the city:",
        "",
        "| | by ethnicity | by gender | by income | prevalence-weighted accuracy |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, city in cities.items():
        ratios = [estimate(city[attribute]["accuracy_ratio"]) for attribute in ("race", "gender", "ses")]
        weighted = estimate(exam[name]["aggregate"]["prevalence_weighted_accuracy"])
        lines.append(f"| {' | '.join([name.title(), *ratios, weighted])} |")
    return "\n".join(lines)


def stigma() -> str:
    """Lay out whom the model puts beside an illness, and how sure that is over conditions."""
    metrics = json.loads((ROOT / "metrics/stigma.json").read_text(encoding="utf-8"))
    names = {"rq1": "who has the condition", "rq2": "towards whom is the attitude"}
    lines = [
        "Probability of a female subject less that of a male one, over 22 conditions:",
        "",
        "| | mental illness | other illness | difference | p (by condition) |",
        "|---|---:|---:|---:|---:|",
    ]
    for question, name in names.items():
        groups = [metrics[f"{question}_{kind}"]["all"] for kind in ("mental", "control", "difference")]
        cells = [estimate(group["disparity_clustered"]) for group in groups]
        lines.append(f"| {' | '.join([name, *cells, p_value(groups[-1]['disparity_clustered'])])} |")
    return "\n".join(lines)


def judge() -> str:
    """Lay out how well each reader of the reasoning agrees with the labels."""
    found = json.loads((ROOT / "judge/metrics/validation.json").read_text(encoding="utf-8"))
    held_out = json.loads((ROOT / "judge/metrics/calibration.json").read_text(encoding="utf-8"))["held_out"]
    rows = {
        "**the judge, on labels that the choice of its settings has not seen**": held_out,
        "the judge, as set (it has seen them)": found["judge"]["all"],
        "a count: more than one sentence names the feature": found["mentions"]["all"],
        "keyword: the feature's word occurs": found["keyword"]["all"],
        "keyword, as published": found["published"]["all"],
    }
    lines = [
        "| reader | κ, considered or not | κ, three ways | AUC | recall | precision |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, row in rows.items():
        considered = row["considered"]
        figures = (considered["kappa"], row["three_way"]["kappa"], considered.get("auc"))
        cells = ["" if one is None else estimate(one) for one in figures]
        cells += [number(considered[name]["estimate"]) for name in ("recall", "precision")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def answers() -> str:
    """Write how far the reading of final diagnoses agrees with labels, seen and unseen."""
    found = json.loads((ROOT / "judge/metrics/validation.json").read_text(encoding="utf-8"))["matching"]
    rows = ["| labels | n | κ, yes or not | recall | precision |", "|---|---:|---:|---:|---:|"]
    for part, title in (("unseen", "**unseen**"), ("seen", "seen while the reader was made")):
        same = found[part]["same"]
        cells = (title, str(same["n"]), *(estimate(same[name]) for name in ("kappa", "recall", "precision")))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def stress() -> str:
    """Lay out the judge's accuracy on the stress suite, by class."""
    found = json.loads((ROOT / "judge/metrics/validation.json").read_text(encoding="utf-8"))["stress"]
    lines = ["| class | n | right | mentioned right | considered right |", "|---|---:|---:|---:|---:|"]
    for name, row in [*found["classes"].items(), ("**all**", found["overall"])]:
        right = f"{number(row['accuracy'], 2)} ({number(row['ci_low'], 2)} to {number(row['ci_high'], 2)})"
        parts = [number(row[f"accuracy_{part}"], 2) for part in ("mentioned", "considered")]
        lines.append(f"| {name.replace('_', ' ')} | {row['n']} | {right} | {' | '.join(parts)} |")
    return "\n".join(lines)
