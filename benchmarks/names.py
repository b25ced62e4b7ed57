"""Whether a model reads the names of data/raw/contrasts.yaml as they are meant (build.cue: name).

    PYTHONPATH=src python benchmarks/names.py

asks the exported model which of a contrast's two features a patient of each name most likely ticked on a form, with the
options in both orders, and writes benchmarks/names.json and docs/names.md. Two short prompts a name: seconds on one
core, after `make repro`.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from scipy.stats import binomtest

from equipoise.backends.ask import asker, find_manifest
from equipoise.backends.base import Infer
from equipoise.core import params, stage
from equipoise.core.cache import ResponseCache
from equipoise.core.jsonl import read_text, write_json, write_text
from equipoise.core.keys import unit_of
from equipoise.core.prompts import Prompt
from equipoise.core.yamlfile import read_yaml
from equipoise.materials.stories.schema import Contrast, Gender
from equipoise.materials.vignette import ROLES, Role
from equipoise.models import registry
from equipoise.studies.vignettes.profiles import Build

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from equipoise.core.prompts import Response

ROOT = Path(__file__).parents[1]
CONTRASTS = ROOT / "data/raw/contrasts.yaml"
FIGURES, PAGE = ROOT / "benchmarks/names.json", ROOT / "docs/names.md"
NAMED, NAMELESS = "A patient's name is {name}.", "A patient's name is not given."
QUESTION = (
    "Asked about ethnicity on a form, with the options {one} and {other}, which did the patient most likely tick?"
)
PREFIX = "The patient most likely ticked"
MINUS = "\N{MINUS SIGN}"
PAGE_TEXT = """# Names as cues

With `build.cue: name` the patient's name expresses the feature, which is otherwise stated ("Mariam Namagembe, a
34-year-old woman, …"). The names are in `data/raw/contrasts.yaml`. This page says where they come from, and whether a
model reads them as meant. `PYTHONPATH=src python benchmarks/names.py`, after `make repro`, writes it and
[`names.json`](../benchmarks/names.json), which has every name; `--model NAME` asks another exported model that gives
likelihoods. Seconds on one core.

## Where they come from

Wood et al. 2009 (*A test for racial discrimination in recruitment practice in British cities*, Department for Work and
Pensions, research report 607) answered each of 987 vacancies in seven British cities with three applications that
differed in the name alone. Before, tests had shown which names are widely associated with a group. Those of Black
African applicants, Mariam Namagembe and Anthony Olukayode, and of White British ones, Alison Taylor and Andrew Clarke,
are used here; the report's other names could not be seen. Applications in White British names were answered favourably
in 10.7 %, those in minority names in 6.2 %. In a later study applicants of Nigerian origin needed 1.8 times as many
applications as White British ones (Di Stasio and Heath 2019; Zwysen, Di Stasio and Heath 2021, *Sociology*
55(2):263–282).

The two names of a pair have the same position in the two arms' lists.

## How they are read

{title} (`{model}`, {revision}) was told "{named}", and then asked:

> {question}

Its reply began "{prefix}". The log odds are log p({first}) − log p({second}) of what comes next, in
nats, the mean over both orders of the options. For a patient without a name they are {nameless}: the model's own
leaning, which has nothing to do with names. A name is **read as meant** if it moves the log odds from there towards its
group. A pair of vignettes needs less: its two names must be in the right order, whatever the leaning.

{pairs}

| gender | read as {first}, of those meant so | read as {second}, of those meant so | pairs in the right order |
|---|---:|---:|---:|
{groups}

Not read as meant, with the log odds less those without a name: {misread}.

## Limits

- No human rater was asked about these names for this project. They are one of each gender and arm, so that what is
  particular to a name is in every pair.
- The names signal African origin, which is not that of all Black people in Britain: most Black Caribbean people have
  British names, for which no such study could be found.
- A small model may not know a name at all. Names that it reads poorly are kept: choosing names by the model under test
  would make the cue stronger for it than for others. Run this check for the model that you measure, and read its
  figures in this light.
- One question was asked in one wording, and the model prefers the option that it reads first.
- Names tell more than race: the parents' education and class (Gaddis 2017), religion and age. A difference between the
  arms cannot be attributed to race alone.
- Names are read out of context here. In a vignette they have a context.
"""


class Name(NamedTuple):
    """A name of one arm of a contrast, and its place in the list for a gender."""

    text: str
    role: Role
    gender: Gender
    place: int


def main(page: Path = PAGE, out: Path = FIGURES, model: str = "") -> None:
    """Ask MODEL (that of params.yaml by default) about every name, and write OUT and the PAGE."""
    settings = params.load(ROOT / "params.yaml")
    model = model or settings.model
    file: Any = read_yaml(CONTRASTS)
    rows = [Contrast.model_validate(row) for row in file["contrasts"]]
    (contrast,) = (row for row in rows if row.privileged.names)
    manifest = find_manifest(model, ROOT)
    prompts = list(questions(contrast, settings.section("build", Build).system))
    with ResponseCache.open() as responses:
        size = settings.section("infer", Infer).batch_size
        ask = asker(manifest, ROOT, responses, batch_size=size, progress=lambda *_: None)
        odds = log_odds(ask(prompts), contrast)
    heading = {"title": registry.load_entry(model, ROOT).title, "model": model, "revision": manifest.revision}
    write_json(out, figures_of(contrast, odds, heading))
    write_text(page, page_of(json.loads(read_text(out))))
    typer.echo(f"{out} and {page} are written")


def names_of(contrast: Contrast) -> list[Name]:
    """Return every name of a contrast, the marginalised arm's first."""
    return [
        Name(text, role, gender, place)
        for role in ROLES
        for gender, listed in (contrast.arm(role).names or {}).items()
        for place, text in enumerate(listed)
    ]


def questions(contrast: Contrast, system: str) -> Iterator[Prompt]:
    """Ask about every name, and about a patient without one, in both orders of the options."""
    options = tuple(arm.feature for arm in contrast.arms)
    sentences = {name.text: NAMED.format(name=name.text) for name in names_of(contrast)} | {"": NAMELESS}
    for name, sentence in sentences.items():
        for first, second in (options, options[::-1]):
            yield Prompt(
                key=f"{name}/{first}",
                study="vignettes",
                system=system,
                prefix=PREFIX,
                turns=(f"{sentence} {QUESTION.format(one=first, other=second)}",),
                candidates=options,
                reply=False,
            )


def log_odds(responses: Iterable[Response], contrast: Contrast) -> dict[str, float]:
    """Return the log odds of the marginalised feature by name ("" without one), in nats, averaged over the orders."""
    by_name: dict[str, list[float]] = {}
    for response in responses:
        first, second = (
            response.log_likelihood[arm.feature] * response.candidate_tokens[arm.feature] for arm in contrast.arms
        )
        by_name.setdefault(unit_of(response.key), []).append(first - second)
    return {name: fmean(odds) for name, odds in by_name.items()}


def figures_of(contrast: Contrast, odds_by_name: Mapping[str, float], heading: Mapping[str, str]) -> dict[str, Any]:
    """Describe each name by its log odds, and by how far they are from those without a name."""
    features = [contrast.arm(role).feature for role in ROLES]
    rows = []
    for name in names_of(contrast):
        moved = odds_by_name[name.text] - odds_by_name[""]
        meant = {"meant": contrast.arm(name.role).feature, "gender": name.gender, "place": name.place}
        odds = {"log_odds": odds_by_name[name.text], "moved": moved}
        as_meant = moved > 0 if name.role == ROLES[0] else moved < 0
        rows.append({"name": name.text, **meant, **odds, "as_meant": as_meant})
    return {**heading, "features": features, "nameless": odds_by_name[""], "names": rows}


def page_of(figures: Mapping[str, Any]) -> str:
    """Write the page from the figures of every name."""
    names, (first, second) = figures["names"], figures["features"]
    in_order = [
        (row["gender"], row["log_odds"] > peer["log_odds"])
        for row in names
        for peer in names
        if row["meant"] == first
        and (peer["meant"], peer["gender"], peer["place"]) == (second, row["gender"], row["place"])
    ]
    groups = []
    for gender in dict.fromkeys(gender for gender, _ in in_order):
        own = [row for row in names if row["gender"] == gender]
        read = [[row["as_meant"] for row in own if row["meant"] == feature] for feature in (first, second)]
        read.append([right for name, right in in_order if name == gender])
        groups.append(f"| {gender} | {' | '.join(map(_share, read))} |")
    right = [right for _, right in in_order]
    chance = binomtest(sum(right), len(right)).pvalue
    as_meant = _share([row["as_meant"] for row in names])
    pairs = (
        f"{as_meant} of the names are read as meant, and {_share(right)} of the pairs are in\nthe right order. "
        f"A model that knows no names has half of either (exact binomial test of the pairs: p = {chance:.3f})."
    )
    misread = [f"{row['name']} ({_signed(row['moved'])})" for row in names if not row["as_meant"]]
    return PAGE_TEXT.format(
        **{key: figures[key] for key in ("title", "model", "revision")},
        named=NAMED.format(name="NAME"),
        question=QUESTION.format(one=first, other=second),
        prefix=PREFIX,
        first=first,
        second=second,
        nameless=_signed(figures["nameless"]),
        pairs=pairs,
        groups="\n".join(groups),
        misread=", ".join(misread) or "none",
    )


def _share(outcomes: list[bool]) -> str:
    return f"{sum(outcomes)} of {len(outcomes)} ({sum(outcomes) / len(outcomes):.0%})"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", MINUS)


if __name__ == "__main__":
    stage.run(main)
