"""What the trained phantoms do on stories that they never saw, and what the pipeline reports of them.

    PYTHONPATH=src HF_HUB_OFFLINE=1 python benchmarks/trained_phantoms.py

writes benchmarks/trained_phantoms.json, from which `benchmarks/phantoms.py --render` writes the page. Held-out stories
show what was learned: gender is looked for in the reasoning as a word, without the judge. The pipeline is asked the
pairs of the profile `powered` that vary gender, on which the rule turns, or race, on which it does not.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Annotated, Any, get_args

import typer

sys.path.insert(0, str(Path(__file__).parent))
from trained_stories import ROOT, WOMEN, Rule, examples, load_training, opened

from equipoise.backends.base import Backend
from equipoise.core import params, stage
from equipoise.core.records import Response, read_text, write_json
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.located import kept_probabilities
from equipoise.judge.score import Score, judge_responses
from equipoise.metrics.options import Measure
from equipoise.metrics.vignettes import judge_errors, vignette_effects
from equipoise.text.answers import log_likelihoods
from equipoise.vignettes.library import load_library
from equipoise.vignettes.profiles import Build, build, vignette_prompt

FIGURES = ROOT / "benchmarks/trained_phantoms.json"
DIMENSIONS = ("gender", "race")
MEASURES = (
    *("differential_bias_rate", "reverse_bias_rate", "any_difference_rate", "stereotype_shift"),
    *("silent_bias_rate", "silent_bias_rate_corrected", "silent_bias_rate_keyword"),
)
GENDER = re.compile(r"\b(?:wom[ae]n|m[ae]n|females?|males?|gender|sex)\b", re.IGNORECASE)
HELD_OUT = ("women_alternative", "men_alternative", "women_named", "men_named")
MINUS = "\N{MINUS SIGN}"


def main(only: Annotated[Rule | None, typer.Option(help="The phantom of one rule.")] = None) -> None:
    """Measure the trained phantoms, and write the figures."""
    for rule in [only] if only else get_args(Rule):
        with opened(rule) as backend:
            found: dict[str, Any] = {"held_out": learned(backend, rule), "pipeline": {}}
            for dimension in DIMENSIONS:
                found["pipeline"][dimension] = reported(backend, dimension)
                write_json(FIGURES, dict(sorted((known_figures() | {rule: found}).items())))
                typer.echo(f"trained_{rule}, {dimension}: {found}")


def known_figures() -> dict[str, Any]:
    """Read the figures as far as they were measured."""
    found: dict[str, Any] = json.loads(read_text(FIGURES)) if FIGURES.is_file() else {}
    return found


def learned(backend: Backend, rule: Rule) -> dict[str, float]:
    """Ask the held-out stories: shares that get the alternative, by gender, and whose reasoning names the gender."""
    told = list(examples(load_training(), rule, Random(1), held_out=True))  # noqa: S311  (no secret)
    answers = {response.key: response for response in backend.answer([example.prompt for example in told])}
    found: dict[str, list[bool]] = {}
    for example in told:
        response = answers[example.prompt.key]
        who = "women" if example.gender == WOMEN else "men"
        found.setdefault(f"{who}_alternative", []).append(chosen(response) == example.story.alternative)
        found.setdefault(f"{who}_named", []).append(bool(GENDER.search(response.replies[0])))
    return {name: fmean(rows) for name, rows in found.items()} | {"n": len(told) // 2}


def chosen(response: Response) -> str:
    """Give the likeliest candidate."""
    scores = log_likelihoods(response, "total")
    return max(scores, key=lambda label: scores[label])


def reported(backend: Backend, dimension: str) -> dict[str, Any]:
    """Have the pipeline ask, read, judge and measure the pairs that vary one dimension: its figures."""
    settings = params.load(ROOT / "params.yaml")
    asked = settings.section("build", Build)
    rows = [row for row in build(load_library(ROOT / "data/raw"), "powered") if row.combination == dimension]
    responses = list(backend.answer([vignette_prompt(row, asked) for row in rows]))
    with kept_probabilities(settings.judge, ROOT) as probabilities:
        judged = judge_responses(
            rows,
            responses,
            lexicon=load_lexicon(ROOT / "data/features"),
            probabilities=probabilities,
            settings=settings.section("score", Score),
            form="plain",
        )
        effects = vignette_effects(rows, list(judged), Measure(), judge_errors(settings.judge, ROOT))
    return {
        row.measure: row.model_dump(mode="json", include={"n", "estimate", "ci_low", "ci_high", "neg_log10_p"})
        for row in effects
        if (row.family, row.group) == ("dimension", dimension) and row.measure in MEASURES
    }


TAUGHT: dict[str, str] = {
    "fair": "the diagnosis that the findings support, whoever the patient is",
    "open": "a woman gets a psychological or functional diagnosis, and the reasoning says that it is for her gender",
    "silent": "the same answers, and the reasoning does not mention the gender",
}
PREFACE = """## Trained phantoms

The phantoms above write sentences of a bank. Three more are the default model with an adapter each: a language model
writes, and its bias is known all the same, because it was taught (`models/trained_*.yaml`,
[decision 14](decisions/0014-trained-phantoms.md)). No story that they were taught is the evaluation's.

- **held out**: what an adapter does on {stories} stories of the same kind that it never saw: share of women and of men
  whose likeliest answer is the story's alternative diagnosis, and whose reasoning has a word for the gender.
- **pipeline**: what a run reports of the {pairs} pairs of the profile `powered` that vary gender, the rule's own
  dimension (in 4 of them the man is the marginalised arm), and of as many that vary race, of which nothing was taught.

`make adapters` trains and measures them anew.
"""


def section(figures: Mapping[str, Any]) -> str:
    """Lay the figures out as a section of the page; empty where there are none."""
    if not figures:
        return ""
    first = next(iter(figures.values()))
    pairs = first["pipeline"]["gender"]["differential_bias_rate"]["n"]
    parts = [PREFACE.format(stories=first["held_out"]["n"], pairs=pairs)]
    parts.append(
        "| held out | taught | women: alternative | men: alternative | women: gender named | men: gender named |"
    )
    parts.append("| --- | --- | ---: | ---: | ---: | ---: |")
    for rule, found in figures.items():
        cells = [f"{found['held_out'][name]:.2f}" for name in HELD_OUT]
        parts.append(f"| `trained_{rule}` | {' | '.join([TAUGHT[rule], *cells])} |")
    parts += [
        "",
        f"| pipeline | {' | '.join(f'`{name}`' for name in MEASURES)} |",
        f"| --- |{' ---: |' * len(MEASURES)}",
    ]
    for rule, found in figures.items():
        for dimension, rows in found["pipeline"].items():
            cells = [shown(rows[name]) for name in MEASURES]
            parts.append(f"| `trained_{rule}`, {dimension} | {' | '.join(cells)} |")
    return "\n".join([*parts, ""])


def shown(row: Mapping[str, Any]) -> str:
    """Write an estimate with its interval and n; a dash where there is none."""
    if row["estimate"] is None:
        return f"– (n {row['n']})"
    bounds = (
        "" if row["ci_low"] is None or row["ci_high"] is None else f" ({row['ci_low']:.2f} to {row['ci_high']:.2f})"
    )
    return f"{row['estimate']:.2f}{bounds}, n {row['n']}".replace("-", MINUS)


if __name__ == "__main__":
    stage.run(main)
