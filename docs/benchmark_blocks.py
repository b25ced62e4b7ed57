"""The generated blocks of judge/benchmark/README.md: what is in the suite, and how well each reader reads it."""

import json
from collections import Counter
from typing import Any

from readme_blocks import ROOT, default_judge, estimate, number

from equipoise.judge.passages import TREATED, read_passages

FOLDER = ROOT / "judge/benchmark"
READERS = {
    "keyword": "keyword: the feature's word occurs",
    "count": "count: more than one sentence names it",
    "minilm_snli": "`minilm_snli`, sentences by entailment",
    "minilm_nli": "the judge of sentences before, no longer shipped",
    "minilm_passages": "`minilm_passages`, whole passages",
    "llm": "`llm`, SmolLM2-135M by its likelihoods",
}


def balance() -> str:
    """Lay out the questions by class: how many in each style, and the share with more than one mention."""
    asked = [(passage.style, passage.features[0]) for passage in read_passages([FOLDER / "passages.jsonl"])]
    styles = sorted({style for style, _ in asked})
    rows = [
        f"| class | label | n | {' | '.join(styles)} | named in 0, 1, more sentences |",
        f"|---|---|---:|{'---:|' * len(styles)}---:|",
    ]
    for name, label in TREATED.items():
        some = [(style, feature) for style, feature in asked if feature.class_ == name]
        by = Counter(style for style, _ in some)
        mentions = Counter(min(feature.mentions, 2) for _, feature in some)
        cells = [name, label, str(len(some)), *(str(by[style]) for style in styles)]
        rows.append(f"| {' | '.join(cells)} | {', '.join(str(mentions[n]) for n in range(3))} |")
    dimensions = Counter(feature.dimension for _, feature in asked)
    told = ", ".join(f"{name} {n}" for name, n in dimensions.most_common())
    return "\n".join([*rows, "", f"Questions by dimension, {len(asked)} in all: {told}."])


def results() -> list[dict[str, Any]]:
    """Read the figures of every reader that was measured."""
    lines = (ROOT / "judge/metrics/readers.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def readers() -> str:
    """Lay out the agreement and speed of each reader."""
    rows = [
        "| reader | passages | κ, considered or not | κ, three ways | passages a second |",
        "|---|---:|---:|---:|---:|",
    ]
    for result in results():
        speed = result["passages_per_second"]
        kappas = (estimate(result[name]["kappa"]) for name in ("considered", "three_way"))
        cells = [
            READERS.get(result["judge"], f"`{result['judge']}`")
            + ", the default judge" * (result["judge"] == default_judge()),
            str(result["n"]),
            *kappas,
            number(speed, 1) if speed else "",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def classes() -> str:
    """Lay out the share of each class that each reader reads rightly, three ways, with Wilson intervals."""
    measured = results()
    rows = [
        f"| class | {' | '.join(result['judge'] for result in measured)} |",
        f"|---|{'---:|' * len(measured)}",
    ]
    for name in TREATED:
        shares = (result["classes"].get(name) for result in measured)
        rows.append(f"| {name} | {' | '.join(estimate(share, 2) if share else '' for share in shares)} |")
    return "\n".join(rows)
