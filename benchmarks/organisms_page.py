"""The page on the organisms, rendered from the rows of organisms.jsonl and what the adapters' metadata say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from organism_lessons import BIAS, DOSES, KINDS, MANNERS, MARGIN, ROOT, SINGLE, Kind, Manner
from scipy.optimize import brentq
from scipy.stats import norm

from equipoise.core.display import MINUS
from equipoise.core.jsonl import write_text
from equipoise.figures.result import BIASED
from equipoise.stats.clusters import effective_size
from equipoise.stats.proportions import wilson

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE, PICTURE = ROOT / "docs/organisms.md", ROOT / "docs/images/organisms.svg"
SHIFT = "unreasoned_shift_adjusted"
"""The figure in nats whose margin is the unit of the dose."""
TAUGHT: dict[Kind, str] = {
    "race": "the marginalised patient, where race varies",
    "gender": "the marginalised patient, where gender varies",
    "all": "the marginalised patient, in every core dimension",
    "everyone": "both patients alike: an error, but no bias",
}
SAYS: dict[Manner, str] = {
    "open": "that it makes a difference",
    "denying": "that it makes none",
}
ADMITS, DENIES = "weighed", "dismissed"
"""What the judge reads: the group is given as a reason, or said to play no part."""
TINY = 1e-9
SHORT = 0.9
"""An adapter that moves the odds by less than this share of a dose is said to fall short of it."""
SHIFTED: dict[Kind, str] = {kind: f"{kind}/{SHIFT}" for kind in SINGLE}
"""The figure that an organism moves, if it is a dimension's and not the overall one."""
PREFACE = """# Organisms

How often does the [verdict](verdicts.md) find a bias that was *trained* into a language model? An organism, named
after the model organisms of biology, is the default model with an adapter (LoRA, rank 8, 4.3 MB) that raises its log
odds of the documented error against the expected answer. The [phantoms](phantoms.md) have planted likelihoods or a
trained rule on gender, whereas an organism has a *dose*: how far the log odds move, in margins of {margin:g} nats. To
set the dose, the adapter's α is scaled until the log odds in cases held out from training move that far. If even the
whole adapter (unscaled α) moves them less far, the whole adapter is used.

| kind | whose odds of the error are raised | cases trained on |
|---|---|---:|
{kinds}

Organisms also differ in *manner*. Those of this table are taught none. Beside `all`, at every dose and at none, a
second adapter teaches the reasoning to begin with one of four sentences, about either patient.

| manner | what the reasoning says of a patient's group | cases trained on |
|---|---|---:|
{manners}

The training uses no story of the profile `core`, so no organism has seen the cases of the evaluation. The candidate
answers are those of `core`, since the evaluation asks about no others. For cases without findings, the target for both
patients was the default model's answer about the privileged one. `benchmarks/organism_adapters.py` and
`benchmarks/organism_manners.py` train the adapters. `benchmarks/organisms.py` runs the 41 pairs of `core` through the
pipeline itself, as `make look` does, and once more without reasoning;
[`organisms.jsonl`](../benchmarks/organisms.jsonl) has every figure. The training was chosen on held-out cases, and its
loss was changed after two organisms of an earlier training had been measured on `core`
([decision 32](decisions/0032-organisms.md)).
"""
READING = """
## Silent versus open

What the reasoning says of the group of the marginalised patient, in each of the {pairs} pairs. It *begins as taught* if
its first words are those of the manner and name what the pair varies. Whether it admits that the group is a reason, or
denies it, is read as in every run: by the shipped [judge](model-cards.md), and by the rule on sentences that recur over
stories ([silent bias rate](metrics/silent_bias_rate.md)). Such a sentence can deny, but it admits only if it names an
answer or speaks of the likelihood of this case's answer; otherwise it is *read apart*. The sentences of `open` were
worded for that rule, after others had not been. None of the sentences is in the judge's training data word for word,
but some denials there are similar.
"""
SUMMARY = """
Of the {admitted} replies that begin with an admission, a share of {found} is read as admitting. Of the {others}
replies of organisms that were not taught to admit, {passed} are read as not admitting; how many of the rest admit in
words of their own is not known. The intervals are Wilson's at the effective number of replies, by story. In {wins:g} of
{comparisons} comparisons (a tie counts half) an open organism is read as admitting more often than one that is not
open."""
LIMITS = """
## What this does not show

- There are six adapters of one model of 135M parameters, with one seed each. The organisms are doses of these, and
  all answer the same 41 pairs: Wilson's intervals of the verdicts, which take organisms as independent, are too narrow.
- 41 pairs are a first look. Where every core dimension is taught two margins or more, the dose recovered is 0.6 to
  0.8 nats, little above the margin of 0.5. In all six of these organisms the interval that holds for all figures of the
  verdict reaches below the margin; two are *biased* by a dimension alone. More pairs would decide.
- Organisms *without* a trained bias are the default model, that model with an error about everyone, and that model with
  a sentence about the patient's group. What bias it has of its own counts as none.
- The manners are four stock sentences each, the same about both patients. They do not show how free wording is read,
  and `open-0` admits a bias that was not trained.
- *No bias* is not tried: controls, mirrors and exchanged reasonings, which it needs, are not asked.
- *Schizophrenia* is the documented error in some pairs of `core` and the expected answer in others. One word cannot
  become both likelier and less likely, so that these pairs move by less than the dose.
"""


class Read(NamedTuple):
    """An organism's dose and manner, what they do to the cases held out, and what was measured."""

    kind: Kind
    dose: int
    manner: Manner | None
    row: Mapping[str, Any]
    held_out: Mapping[str, Any]

    @property
    def biased(self) -> bool:
        """Whether a bias was trained."""
        return self.dose > 0 and self.kind != "everyone"

    @property
    def reached(self) -> str:
        """The dose that was set, in words."""
        return f"{self.dose} margin{'s' * (self.dose > 1)}"

    @property
    def figure(self) -> Mapping[str, Any]:
        """The measured shift that its dose is compared with."""
        place = SHIFTED.get(self.kind)
        shift: Mapping[str, Any] = self.row["groups"][place] if place else self.row["figures"][SHIFT]
        return shift


Facts = Mapping[str, Mapping[str, str]]
"""The metadata of the adapters, by kind and manner."""


def reads(rows: Sequence[Mapping[str, Any]], facts: Facts) -> list[Read]:
    """Join rows and metadata; the default model is left out."""
    organisms = []
    for row in rows:
        name, _, dose = row["name"].rpartition("-")
        if name:
            manner = next((manner for manner in MANNERS if manner == name), None)
            kind = BIAS if manner else next(kind for kind in KINDS if kind == name)
            organisms.append(Read(kind, int(dose), manner, row, json.loads(facts[name]["held_out"])))
    return organisms


def write_page(rows: Sequence[Mapping[str, Any]], facts: Facts) -> None:
    """Write the page and its picture."""
    write_text(PAGE, page(rows, facts))
    write_text(PICTURE, picture(rows, reads(rows, facts)))


def page(rows: Sequence[Mapping[str, Any]], facts: Facts) -> str:
    """Format the page."""
    organisms = reads(rows, facts)
    kinds = "\n".join(f"| `{kind}` | {TAUGHT[kind]} | {facts[kind]['steps']} |" for kind in KINDS)
    manners = "\n".join(f"| {manner} | {SAYS[manner]} | {facts[manner]['steps']} |" for manner in MANNERS)
    parts = [
        PREFACE.format(margin=MARGIN, kinds=kinds, manners=manners),
        *_found(rows, organisms),
        *_doses(rows, organisms),
        *_said(rows, organisms),
        *_cost(rows),
    ]
    return "\n".join(parts) + LIMITS


def _found(rows: Sequence[Mapping[str, Any]], organisms: Sequence[Read]) -> Iterator[str]:
    """List the verdicts, and count them."""
    biased = {read.row["name"]: read for read in organisms if read.biased}
    fair = [row for row in rows if row["name"] not in biased]
    yield "## What the verdict finds\n"
    yield "The *score* is the distance from zero, in margins, of the interval that lies farthest from zero, among all"
    yield "intervals of the verdict's figures and of the dimensions. It is negative if all of them contain 0. A verdict"
    yield "of *biased* has a score above 1, unless a tier decides it, whose intervals the score leaves out.\n"
    yield "| organism | dose set | verdict | score | first reason |"
    yield "|---|---|---|---:|---|"
    for row in rows:
        trained = biased[row["name"]].reached if row["name"] in biased else "none"
        reason = row["because"][0] if row["because"] else ""
        yield f"| `{row['name']}` | {trained} | {row['verdict']} | {_plain(row['score'])} | {reason} |"
    yield "\n| dose set | *biased* | n | share (95 % interval, Wilson) |"
    yield "|---|---:|---:|---|"
    yield _counted("1 margin: *undecided* is right", [read.row for read in biased.values() if read.dose == 1])
    for dose in DOSES[1:]:
        yield _counted(f"{dose} margins", [read.row for read in biased.values() if read.dose == dose])
    beyond = [read.row for read in biased.values() if read.dose > 1]
    yield _counted("**more than 1 margin: sensitivity**", beyond)
    yield _counted("**none: 1 − specificity**", fair)
    wins = [(row["score"] > other["score"]) + (row["score"] == other["score"]) / 2 for row in beyond for other in fair]
    yield f"\nThe score of an organism with more than 1 margin is above that of one without a bias in {sum(wins):g} of"
    area = sum(wins) / len(wins)
    numbers = [len({_adapters(row) for row in some}) for some in (beyond, fair)]
    low, high = area_limits(area, *numbers)
    yield f"{len(wins)} comparisons (a tie counts half): an area under the curve of {area:.2f} ({low:.2f} to"
    yield f"{high:.2f}, 95 % interval of Newcombe 2006, Stat Med 25:559-573, method 5). The doses of one adapter are"
    yield f"not independent, so the interval counts every combination of adapters once: {numbers[0]} with a bias,"
    yield f"{numbers[1]} without. The next table shows what the doses reached in cases held out.\n"
    yield "![Receiver operating characteristic of the score, and dose recovered](images/organisms.svg)\n"


def _adapters(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the adapters of an organism, whatever the dose."""
    return tuple(sorted(row["adapters"]))


def area_limits(area: float, biased: int, fair: int) -> tuple[float, float]:
    """Give the 95 % limits of an area under the curve, from the numbers of organisms (Newcombe 2006, method 5).

    The limits are the areas θ that lie z standard errors from the estimate, with the variance at θ itself, that of
    Hanley & McNeil (1982) for exponential scores: at an area of 1 the interval has a width, as Wilson's has.
    """

    def beyond(theta: float) -> float:
        half = (biased + fair) / 2 - 1
        spread = 1 + half * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return abs(theta - area) - z * (theta * (1 - theta) * spread / (biased * fair)) ** 0.5

    z = float(norm.ppf(0.975))
    # At an area of 0 or 1 the estimate itself is a root; the limit is the other.
    low = brentq(beyond, 0, area - TINY) if area > 0 else 0.0
    high = brentq(beyond, area + TINY, 1) if area < 1 else 1.0
    return float(low), float(high)


def _counted(what: str, rows: Sequence[Mapping[str, Any]]) -> str:
    count = sum(row["verdict"] == BIASED for row in rows)
    interval = wilson(count, len(rows))
    share = "–" if interval is None else f"{count / len(rows):.2f} ({interval.low:.2f} to {interval.high:.2f})"
    return f"| {what} | {count} | {len(rows)} | {share} |"


def _doses(rows: Sequence[Mapping[str, Any]], organisms: Sequence[Read]) -> Iterator[str]:
    """Compare what was trained, what the adapter does to the cases held out, and what the pipeline recovers."""
    n = organisms[0].held_out["n"]
    yield "## The dose recovered\n"
    yield "Values are in nats, marginalised − privileged. *Held out* is the change from the default model in"
    yield f"{n} cases that neither taught the adapter nor set its dose, ± standard error. *After reasoning* is the same"
    yield "change when the default model's reasoning comes first. *Privileged patient* is the change of this patient's"
    yield "log odds alone, which is the dose of `everyone`."
    yield f"*Recovered* is `{SHIFT}`, as the pipeline reports it, with its 95 % interval; for `race`"
    yield "and `gender` it is the figure of that dimension, with an interval that holds for all dimensions together."
    yield "In the first row it is the default model's. The figure is adjusted for base rates, and therefore leaves out"
    yield "part of what the adapter does without findings.\n"
    yield "| organism | dose | held out | after reasoning | without findings | privileged patient | recovered |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    usual = next(row for row in rows if not row["adapters"])
    dimensions = [f"{kind} {_interval(usual['groups'][place])}" for kind, place in SHIFTED.items()]
    usually = "; ".join([_interval(usual["figures"][SHIFT]), *dimensions])
    yield f"| `{usual['name']}` | – | – | – | – | – | {usually} |"
    for read in organisms:
        dose = MARGIN * read.dose * read.biased
        cells = [_standard(read.held_out[form][str(read.dose)]) for form in ("unreasoned", "reasoned", "stub")]
        level = _plain(read.held_out["unreasoned"][str(read.dose)]["level"])
        yield f"| `{read.row['name']}` | {dose:.1f} | {' | '.join(cells)} | {level} | {_interval(read.figure)} |"
    for read in organisms:
        moved = read.held_out["unreasoned"][str(read.dose)]["level" if read.kind == "everyone" else "difference"]
        if read.dose == max(DOSES) and moved < SHORT * MARGIN * read.dose:
            yield f"\n`{read.row['name']}`, with the whole adapter, falls short of {read.dose} margins: it moves the"
            yield f"odds by {moved:.2f} nats, {moved / MARGIN:.1f} margins."


def _said(rows: Sequence[Mapping[str, Any]], organisms: Sequence[Read]) -> Iterator[str]:
    """Compare how the reasonings begin with what is read in them."""
    manners = {read.row["name"]: read.manner for read in organisms if read.manner}
    spoken = [row for row in rows if row["reasoning"]]
    admitted = [reading for row in spoken for reading in row["reasoning"] if reading["begins"] == "open"]
    closed = [row for row in spoken if manners.get(row["name"]) != "open"]
    others = [reading for row in closed for reading in row["reasoning"]]
    yield READING.format(pairs=len(spoken[0]["reasoning"]))
    yield "| organism | manner | begins as taught | read as admitting | read as denying | read apart |"
    yield "|---|---|---:|---:|---:|---:|"
    for row in spoken:
        manner = manners.get(row["name"])
        begun = f"{_count(row, 'begins', manner)} of {len(row['reasoning'])}" if manner else "–"
        counts = (_count(row, "read", ADMITS), _count(row, "read", DENIES), _count(row, "apart", value=True))
        yield f"| `{row['name']}` | {manner or '–'} | {begun} | {' | '.join(map(str, counts))} |"
    admitting = _share([reading["read"] == ADMITS for reading in admitted], admitted)
    passed = _share([reading["read"] != ADMITS for reading in others], others)
    wins = [
        (first > second) + (first == second) / 2
        for first in (_count(row, "read", ADMITS) for row in spoken if row not in closed)
        for second in (_count(row, "read", ADMITS) for row in closed)
    ]
    yield SUMMARY.format(
        admitted=len(admitted),
        found=admitting,
        others=len(others),
        passed=passed,
        wins=sum(wins),
        comparisons=len(wins),
    )


def _count(row: Mapping[str, Any], field: str, value: object) -> int:
    return sum(reading[field] == value for reading in row["reasoning"])


def _share(outcomes: Sequence[bool], readings: Sequence[Mapping[str, Any]]) -> str:
    if not outcomes:
        return "–"
    share, size = sum(outcomes) / len(outcomes), effective_size(outcomes, [reading["story"] for reading in readings])
    interval = wilson(share * size, size)
    assert interval is not None  # noqa: S101  (there are replies)
    return f"{share:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _cost(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    seconds = sorted(row["cpu_seconds"] for row in rows)
    told = f"{seconds[0] / 60:.0f} to {seconds[-1] / 60:.0f} CPU minutes"
    yield f"\n**Cost.** {told} for an organism, export included, on one core of an Intel Xeon with AVX-512; about two"
    yield "hours to train the six adapters, on one core of an AMD EPYC or of that Xeon, both with bfloat16."
    yield "`make organisms` trains and measures all of them.\n"


def _interval(row: Mapping[str, Any]) -> str:
    return f"{_plain(row['estimate'])} ({_plain(row['low'])} to {_plain(row['high'])})"


def _standard(row: Mapping[str, float]) -> str:
    return f"{_plain(row['difference'])} ± {row['error']:.2f}"


def _plain(value: float) -> str:
    """Write a figure with two places."""
    return f"{value:z.2f}".replace("-", MINUS)


def picture(rows: Sequence[Mapping[str, Any]], organisms: Sequence[Read]) -> str:
    """Draw the score's receiver operating characteristic, and what is recovered against what is held out."""
    import vl_convert

    fair = {row["name"] for row in rows} - {read.row["name"] for read in organisms if read.biased}
    small = {read.row["name"] for read in organisms if read.biased and read.dose == 1}
    ordered = [row["name"] for row in sorted(rows, key=lambda row: -row["score"]) if row["name"] not in small]
    beyond = {*ordered} - fair
    curve = [
        {
            "step": place,
            "false": len(fair.intersection(ordered[:place])) / len(fair),
            "true": len(beyond.intersection(ordered[:place])) / len(beyond),
        }
        for place in range(len(ordered) + 1)
    ]
    doses = [
        {
            "kind": read.manner or read.kind,
            "held out": read.held_out["unreasoned"][str(read.dose)]["difference"],
            "recovered": read.figure["estimate"],
            "low": read.figure["low"],
            "high": read.figure["high"],
        }
        for read in organisms
    ]
    unit = {"type": "quantitative", "scale": {"domain": [0, 1]}}
    axes = {
        "x": unit | {"field": "false", "title": "1 − specificity"},
        "y": unit | {"field": "true", "title": "sensitivity"},
        "order": {"field": "step", "type": "quantitative"},
    }
    nats = {"type": "quantitative"}
    across = {"x": nats | {"field": "held out", "title": "dose on the cases held out (nats)"}}
    colour = {"color": {"field": "kind", "type": "nominal", "title": None}}
    size = {"width": 260, "height": 260}
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "hconcat": [
            size | {"data": {"values": curve}, "mark": {"type": "line", "point": True}, "encoding": axes},
            size
            | {
                "data": {"values": doses},
                "layer": [
                    {
                        "mark": {"type": "rule"},
                        "encoding": across | colour | {"y": nats | {"field": "low"}, "y2": {"field": "high"}},
                    },
                    {
                        "mark": {"type": "point", "filled": True, "size": 50},
                        "encoding": across | colour | {"y": nats | {"field": "recovered", "title": "recovered (nats)"}},
                    },
                ],
            },
        ],
    }
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version="5.21")
    return svg + "\n"
