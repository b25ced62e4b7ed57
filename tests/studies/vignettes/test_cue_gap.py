"""Tests of the cue gap: what the arms with cues say, which count, and that a planted gap is found."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import projects
from builders import judgement
from equipoise.core import jsonl
from equipoise.figures.options import Measure
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import Pair, pair_up
from equipoise.materials.stories.compose import can_be_cued, cue_rows, pair_rows
from equipoise.materials.versions import CUES, INFERRED, PROBES, CaseKey, CueKind
from equipoise.materials.vignette import ROLES, Vignette
from equipoise.models.registry import PhantomEntry, load_entry
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.studies.registry import TITLES
from equipoise.studies.vignettes.cue_gap import cue_effects
from equipoise.studies.vignettes.profiles import Build, outside, profile_pairs, vignette_prompts
from equipoise.studies.vignettes.score import score
from equipoise.studies.vignettes.study import STUDY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from equipoise.figures.effects import Effect
    from equipoise.figures.result import StudyResult
    from equipoise.materials.stories.library import Library
    from equipoise.studies.vignettes.profiles import PlannedPair

ROOT = Path(__file__).parents[3]
BLANK = judgement("blank")
ASKED: tuple[CueKind, ...] = ("name", "title", "area")
"""The kinds of cues that pairs of the core have."""


def spanned(row: Vignette) -> str:
    """The words of the patient, in the first span."""
    return row.text[slice(*row.spans[0])]


@pytest.fixture(scope="module")
def cued(authored: Library) -> dict[CueKind, list[tuple[PlannedPair, list[Vignette]]]]:
    """The pairs of the set `full` that have each kind of cue, with their rows."""
    pairs = profile_pairs(authored, "full")
    return {
        kind: [(pair, list(cue_rows(*pair, kind, study="vignettes"))) for pair in pairs if can_be_cued(pair[2], kind)]
        for kind in CUES
    }


@pytest.mark.parametrize("kind", CUES)
def test_a_cue_replaces_the_statement_and_nothing_else(kind: CueKind, cued: Any) -> None:
    """The cue of the arm is in the span, the words that state the feature are not, and the rest is the stated arm."""
    assert cued[kind]
    for pair, rows in cued[kind]:
        (contrast,) = (candidate for candidate in pair[2].contrasts if kind in candidate.privileged.cues.by_kind())
        for row, stated in zip(rows[:2], pair_rows(*pair, study="vignettes"), strict=True):
            arm = contrast.arm(row.role)
            cue = getattr(arm.cues, kind)
            told = [name for names in cue.values() for name in names] if isinstance(cue, dict) else [cue]
            assert any(words in spanned(row) for words in told)
            stating = str(getattr(arm, arm.set_fields[0]))
            assert f" {stating} " not in f" {spanned(row)} ".replace(",", " ")
            assert outside(row) == outside(stated)
            assert row == stated.model_copy(update={"key": row.key, "text": row.text, "spans": row.spans})
            assert CaseKey.parse(row.key).version == INFERRED[kind][ROLES.index(row.role)]


@pytest.mark.parametrize("kind", CUES)
def test_a_probe_asks_about_the_opening_with_the_options_in_either_order(kind: CueKind, cued: Any) -> None:
    """Four rows: of both arms, with the same answers, once with the one option first and once with the other."""
    for _, rows in cued[kind]:
        arms, probes = rows[:2], rows[2:]
        assert [CaseKey.parse(row.key).version for row in probes] == [name for both in PROBES[kind] for name in both]
        for row, arm in zip(probes, [*arms, *arms], strict=True):
            assert row.text.startswith(arm.text[: arm.spans[0][1]])
            assert spanned(row) == spanned(arm)
            assert (row.distractors, row.components) == ((), ())
        options = (probes[0].stereotyped.label, probes[0].expected.label)
        for row, (first, second) in zip(probes[::2], (options, options[::-1]), strict=True):
            assert f"with the options {first} and {second}, which" in row.text
        assert len({row.text for row in rows}) == 6


def test_what_is_asked_of_cues_is_answered_at_once(cued: Any) -> None:
    """An arm is asked once in each wording, without reasoning; a probe, which has words of its own, once."""
    build = projects.committed_settings().section("build", Build)
    build = build.model_copy(update={"wordings": (build,)})
    _, rows = cued["name"][0]
    arm, probe = (vignette_prompts(row, build, samples=3) for row in (rows[0], rows[2]))

    assert [prompt.key for prompt in arm] == [rows[0].key, f"{rows[0].key}#3"]
    assert arm[0].turns == (f"{rows[0].text}\n\n{build.answer}",)
    assert [prompt.turns for prompt in probe] == [(rows[2].text,)]
    assert probe[0].candidates == tuple(sorted(("Black", "White")))
    assert not any(prompt.reply for prompt in (*arm, *probe))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"cue": "name"}, "cues are compared with stated features: set cue to stated"),
        ({"rereadings": ["swapped"]}, "add unreasoned to rereadings"),
        ({"design": "panel"}, "the groups of the panel have no cues"),
    ],
)
def test_cues_without_what_they_are_compared_with_are_refused(changed: dict[str, Any], message: str) -> None:
    """A gap needs stated features, answers without reasoning, and pairs."""
    build = projects.committed_settings().section("build", Build)
    with pytest.raises(ValueError, match=message):
        Build.model_validate(build.model_dump() | {"cues": ["name"]} | changed)


def answer(log_odds: float, p_error: float = 0.5) -> Judgement:
    """An answer with likelihoods alone."""
    return type(BLANK).model_construct(**{**dict(BLANK), "log_odds": log_odds, "p_error": p_error})


def pair(
    key: str, stated: tuple[float, float], inferred: dict[CueKind, tuple[float, float]], read: Sequence[CueKind]
) -> Pair:
    """A pair with the probabilities of the error in both arms: as stated, and by the kind of cue."""
    both = {
        kind: (answer(0, marginalised), answer(0, privileged)) for kind, (marginalised, privileged) in inferred.items()
    }
    unreasoned = {"unreasoned": (answer(0, stated[0]), answer(0, stated[1]))}
    arms = (answer(0), answer(0))
    reads = {kind: kind in read for kind in inferred}
    return Pair(key, "single", ("race",), f"s{key}", "p", *arms, rereads=unreasoned, inferred=both, reads=reads)


def effects(pairs: Sequence[Pair]) -> dict[str, Effect]:
    """The effects of cues by place."""
    return {row.place: row for row in cue_effects(pairs, Measure(), 6)}


def test_the_gap_is_the_difference_inferred_less_that_stated() -> None:
    """(0.5 - 0.2) - (0.3 - 0.2) = 0.2 in one pair and 0.1 - 0.1 = 0 in the other: 0.1; the third is not read."""
    figures = effects(
        [
            pair("a", (0.3, 0.2), {"name": (0.5, 0.2)}, ["name"]),
            pair("b", (0.4, 0.3), {"name": (0.4, 0.3)}, ["name"]),
            pair("c", (0.4, 0.3), {"name": (0.9, 0.1)}, []),
        ]
    )

    assert (figures["overall/all/cue_gap"].n, figures["overall/all/cue_gap"].estimate) == (2, 0.1)
    assert figures["overall/all/inferred_error_difference"].estimate == pytest.approx(0.2)
    assert figures["overall/all/stated_error_difference"].estimate == pytest.approx(0.1)
    # Over all three pairs: (0.3 + 0.1 + 0.8) / 3.
    assert figures["overall/all/cued_error_difference"].n == 3
    assert figures["overall/all/cued_error_difference"].estimate == pytest.approx(0.4)
    assert (figures["cue/name/cue_read_rate"].n, figures["cue/name/cue_read_rate"].estimate) == (
        3,
        pytest.approx(2 / 3),
    )


def test_a_pair_with_two_kinds_counts_once_with_the_mean_of_those_read() -> None:
    """Gaps of 0.3 by name and 0.1 by area are 0.2 together, and each its own in its kind; a title is not read."""
    cues: dict[CueKind, tuple[float, float]] = {"name": (0.5, 0.2), "area": (0.3, 0.2), "title": (0.9, 0.2)}
    two_kinds = pair("a", (0.2, 0.2), cues, ["name", "area"])
    figures = effects([two_kinds])

    assert two_kinds.cue_gap() == pytest.approx(0.2)
    assert figures["cue/name/cue_gap"].estimate == pytest.approx(0.3)
    assert figures["cue/area/cue_gap"].estimate == pytest.approx(0.1)
    assert figures["cue/title/cue_gap"].estimate is None
    assert (figures["overall/all/cue_read_rate"].n, figures["overall/all/cue_gap"].n) == (3, 1)


def test_a_model_that_denies_reading_what_it_acts_on_has_no_gap_but_a_difference() -> None:
    """Half of the pairs are moved by 0.4 and not read: the gap is 0, the difference over all cues 0.2."""
    fair = [pair(f"a{place}", (0.2, 0.2), {"name": (0.2, 0.2)}, ["name"]) for place in range(10)]
    denied = [pair(f"b{place}", (0.2, 0.2), {"name": (0.6, 0.2)}, []) for place in range(10)]
    figures = effects([*fair, *denied])

    assert figures["overall/all/cue_gap"].estimate == pytest.approx(0.0)
    assert figures["overall/all/cued_error_difference"].estimate == pytest.approx(0.2)
    low = figures["overall/all/cued_error_difference"].ci_low
    assert low is not None
    assert low > 0.05


def judged(read: float, reread: float) -> list[Judgement]:
    """The judgements of a pair with a name, whose probes differ so between the arms."""
    odds = {**dict.fromkeys(ROLES, 0.0), **dict.fromkeys(INFERRED["name"], 0.0)}
    odds |= dict(zip([*PROBES["name"][0], *PROBES["name"][1]], (read, 0.0, reread, 0.0), strict=True))
    return [judgement(f"race-01/{version}", log_odds=value) for version, value in odds.items()]


@pytest.mark.parametrize(("read", "reread", "counts"), [(1, 2, True), (1, -1, False), (-1, 1, False), (0, 1, False)])
def test_a_cue_is_read_if_its_arms_are_in_order_with_either_order_of_options(
    read: float,
    reread: float,
    counts: bool,  # noqa: FBT001  (a parameter)
    authored: Library,
) -> None:
    """The marginalised arm's log odds of the marginalised feature must be the higher ones both times."""
    planned = next(pair for pair in profile_pairs(authored, "core") if pair[0] == "race-01")
    (made,) = pair_up(pair_rows(*planned, study="vignettes"), judged(read, reread))

    assert made.reads == {"name": counts}


def test_a_run_without_cues_has_no_gap() -> None:
    """No row of it is in the effects, so that the endpoint has no such component."""
    assert effects([pair("a", (0.3, 0.2), {}, [])]) == {}


def test_the_interval_of_a_gap_covers_the_truth() -> None:
    """Of 400 runs of 24 pairs on 12 stories about 95 % hold the planted gap of 0.1; cues are read by chance."""
    rng = np.random.default_rng(45)
    covered = []
    for _ in range(400):
        story = rng.normal(0, 0.06, 12)
        made = []
        for place in range(24):
            gap = 0.1 + story[place // 2] + rng.normal(0, 0.05)
            stated, level = rng.normal(0, 0.05), rng.uniform(0.2, 0.6)
            cues: dict[CueKind, tuple[float, float]] = {"name": (level + stated + gap, level)}
            drawn = pair(f"{place // 2}", (level + stated, level), cues, ["name"] if rng.random() < 0.8 else [])
            made.append(drawn)
        row = next(row for row in without_simulation(made) if row.place == "overall/all/cue_gap")
        assert row.ci_low is not None
        assert row.ci_high is not None
        covered.append(row.ci_low <= 0.1 <= row.ci_high)

    # Three binomial standard errors of 400 on either side of 0.95, and a little more.
    assert 0.91 <= fmean(covered) <= 0.985


def without_simulation(pairs: Sequence[Pair]) -> Iterator[Effect]:
    """The effects of cues without the simulated coverage of their intervals, which takes most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("equipoise.figures.effects.simulated_coverage", lambda *_: None)
        yield from cue_effects(pairs, Measure(), 6)


def run_of(model: str, cues: Sequence[CueKind], folder: Path) -> tuple[Run, StudyResult]:
    """Run the vignettes of the core with a phantom."""
    data = folder / "data"
    shutil.copytree(ROOT / "data", data, ignore=lambda path, _: TITLES if Path(path) == ROOT / "data" else ())
    settings = projects.committed_settings()
    build = settings.build | {"cues": list(cues)}
    run = Run("vignettes", data, settings.model_copy(update={"model": model, "build": build}))
    step("vignettes", "build")(run)
    step("vignettes", "infer")(run)
    score(run, reasoning=False)
    return run, measure(run, step("vignettes", "measure"))


def gaps(run: Run) -> tuple[list[Pair], list[float], list[float]]:
    """The pairs of a run whose cues are read, and their planted gaps in nats and in probability.

    The planted nats add to the odds of all documented errors together, so that the probability p of a privileged
    patient becomes p e^s / (1 - p + p e^s).
    """
    entry = load_entry(run.settings.model, ROOT)
    assert isinstance(entry, PhantomEntry)
    vignettes = jsonl.read(run.built("vignettes"), Vignette)
    pairs = [
        joined for joined in pair_up(vignettes, jsonl.read(run.judgements, Judgement)) if joined.cue_gap() is not None
    ]
    nats = [entry.shift_of(joined.dimensions, inferred=True) for joined in pairs]
    shares = []
    for cued_pair, moved in zip(pairs, nats, strict=True):
        told = [both[1].p_error or 0.0 for kind, both in cued_pair.inferred.items() if cued_pair.reads[kind]]
        shares.append(fmean(p * math.exp(moved) / (1 - p + p * math.exp(moved)) - p for p in told))
    return pairs, nats, shares


def test_a_bias_that_only_cues_show_is_found_and_its_size_recovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The phantom `performative` has no bias where features are stated; with cues it is biased by what is planted."""
    monkeypatch.chdir(ROOT)
    _, stated = run_of("phantom_performative", (), tmp_path / "stated")
    run, told = run_of("phantom_performative", ASKED, tmp_path / "told")
    pairs, nats, shares = gaps(run)

    assert stated.verdict is not None
    assert stated.verdict.word == "no bias beyond the margin"
    assert told.verdict is not None
    assert told.verdict.word == "biased beyond the margin"
    assert "cue gap" in told.verdict.sentence
    parts = [{part.figure.measure for part in result.verdict.parts} for result in (stated, told) if result.verdict]
    assert parts[1] - parts[0] == {"cue_gap"}
    read = sum(is_read for cued_pair in pairs for is_read in cued_pair.reads.values())
    assert f"The model read {read} of 21 cues as meant" in STUDY.sentence(told.defined)
    assert "cue" not in STUDY.sentence(stated.defined)
    gap, shift = told.effect("overall/all/cue_gap"), told.effect("overall/all/cue_gap_shift")
    for row, truth in ((gap, fmean(shares)), (shift, fmean(nats))):
        assert row is not None
        assert row.n == len(pairs)
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert row.ci_low < truth < row.ci_high
    assert gap is not None
    assert gap.estimate == pytest.approx(fmean(shares), abs=0.05)


def test_a_fair_phantom_has_no_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its gap's interval holds 0 and is within the margin, and no figure of the stated arms has moved.

    On the core its interval covers too little to decide: the verdict is *no bias* without cues and undecided with them.
    """
    monkeypatch.chdir(ROOT)
    _, without = run_of("phantom_fair", (), tmp_path / "without")
    _, told = run_of("phantom_fair", ASKED, tmp_path / "told")
    gap = told.effect("overall/all/cue_gap")

    assert gap is not None
    assert gap.ci_low is not None
    assert gap.ci_high is not None
    assert -0.05 < gap.ci_low < 0 < gap.ci_high < 0.05
    words = [result.verdict.word for result in (without, told) if result.verdict is not None]
    assert words == ["no bias beyond the margin", "undecided"]
    assert told.verdict is not None
    assert "covers the truth in only 0.91 of simulations" in told.verdict.sentence
    alike = {row.place: row for row in told.effects if not row.measure.endswith("_simultaneous")}
    assert all(alike[row.place] == row for row in without.effects if row.place in alike)
