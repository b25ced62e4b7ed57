"""Tests of the figures that labels of the run itself correct."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import judgement, vignette
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Effect, Group
from equipoise.figures.options import Measure
from equipoise.judge.rating.labelled import Label, label_file, labelled_effects, read_labels
from equipoise.materials.pairs import Pair, pair_up
from equipoise.studies.vignettes.effects import vignette_effects

SHA = "ab" * 32
GROUP = Group("overall", "all", "vignettes")


def pairs(n: int = 20) -> list[Pair]:
    """Make pairs of which a half are biased and none is read as considered."""
    told = [vignette(f"r{at:02}", role) for at in range(n) for role in ("marginalised", "privileged")]
    read = [
        judgement(
            arm.key,
            answer="stereotyped" if arm.role == "marginalised" and at % 4 == 0 else "expected",
            p_weighed=0.0,
            p_dismissed=0.0,
        )
        for at, arm in enumerate(told)
    ]
    return pair_up(told, read)


def label(key: str, considered: str = "none", probability: float = 1.0, sha256: str = SHA) -> Label:
    """Label a reply."""
    return Label.model_validate(
        {
            "key": key,
            "study": "vignettes",
            "mentioned": considered != "none",
            "considered": considered,
            "probability": probability,
            "responses_sha256": sha256,
        }
    )


def figures(some: list[Pair], labels: list[Label]) -> dict[str, Effect]:
    """Estimate the figures by measure."""
    return {effect.measure: effect for effect in labelled_effects(GROUP, some, {row.key: row for row in labels}, 0.05)}


def test_labels_correct_the_judge() -> None:
    """A judge that finds nothing is corrected by what people find: everything labelled, the share is theirs."""
    some = pairs()
    labels = [
        label(arm.key, "weighed" if at < 5 and arm is pair.marginalised else "none")
        for at, pair in enumerate(some)
        for arm in pair.arms
    ]
    effects = figures(some, labels)

    # Biased are the pairs of even number, 10 of 20; weighed are 0, 2 and 4 of these: silent 7 of 10.
    assert (effects["silent_bias_rate_labelled"].n, effects["silent_bias_rate_labelled"].estimate) == (10, 0.7)
    assert effects["silent_bias_rate_labels"].estimate == 10
    # 5 of 20 marginalised patients', none of the others'.
    assert effects["considered_rate_marginalised"].estimate == 0
    assert effects["considered_rate_marginalised_labelled"].estimate == pytest.approx(0.25)
    assert effects["considered_rate_privileged_labelled"].estimate == 0
    difference = effects["considered_rate_difference_labelled"]
    assert difference.estimate == pytest.approx(0.25)
    assert difference.neg_log10_p is not None
    assert (effects["labels"].n, effects["labels"].estimate) == (40, 40)
    # The other arm of each has the expected answer: all are moved.
    assert (effects["silent_bias_rate_moved_labelled"].n, effects["silent_bias_rate_moved_labelled"].estimate) == (
        10,
        0.7,
    )


def test_a_label_counts_by_the_inverse_of_its_probability() -> None:
    """One in ten of what is silent, and every one that is not, weigh 10 and 1."""
    some = pairs()
    labels = [label(some[0].marginalised.key, "weighed"), label(some[2].marginalised.key, "none", 0.1)]
    effects = figures(some, labels)

    # The judge finds all silent, so that its readings say nothing: 10 / 11.
    assert effects["silent_bias_rate_labelled"].estimate == pytest.approx(10 / 11)
    # Two labels: one degree of freedom, and an interval that holds nearly everything.
    assert effects["silent_bias_rate_labelled"].ci_low == 0


def test_labels_of_one_story_give_no_figure() -> None:
    """The number of labels is given, and the figure is undefined."""
    some = pairs()
    effects = figures(some, [label(some[0].marginalised.key)])

    assert effects["silent_bias_rate_labelled"].estimate is None
    assert effects["silent_bias_rate_labels"].estimate == 1
    assert effects["considered_rate_difference_labelled"].estimate is None


def test_without_labels_no_figure_is_added_or_moved() -> None:
    """The other figures are the same with labels and without."""
    told = [vignette(f"r{at}", role) for at in range(6) for role in ("marginalised", "privileged")]
    read = [judgement(arm.key, p_weighed=0.0, p_dismissed=0.0) for arm in told]
    options = Measure.model_validate({"alpha": 0.05, "power": 0.8, "n_bootstrap": 100, "seed": 0})
    labels = {row.key: label(row.key) for row in read}
    without = vignette_effects(told, read, options)
    with_labels = vignette_effects(told, read, options, labels=labels)

    assert vignette_effects(told, read, options, labels={}) == without
    added = {effect.measure for effect in with_labels if effect not in without}
    assert [effect for effect in with_labels if effect in without] == without
    assert added == {effect.measure for effect in labelled_effects(GROUP, pair_up(told, read), labels, 0.05)}


def test_labels_are_those_of_the_run(tmp_path: Path) -> None:
    """A run's labels are found by its responses; those of another run are left alone."""
    responses = tmp_path / "responses.jsonl"
    responses.write_text("{}\n", encoding="utf-8")
    sha256 = jsonl.sha256(responses)

    ratings = tmp_path / "ratings"
    assert read_labels(ratings, responses, ["a/marginalised"]) == {}
    jsonl.write(label_file(ratings, SHA), [label("other/marginalised")])
    assert read_labels(ratings, responses, ["a/marginalised"]) == {}
    own = label("a/marginalised", sha256=sha256)
    jsonl.write(label_file(ratings, sha256), [own])
    assert read_labels(ratings, responses, ["a/marginalised"]) == {own.key: own}


@pytest.mark.parametrize("wrong", [{"key": "b/marginalised"}, {"responses_sha256": SHA}])
def test_a_label_that_is_not_of_the_run_is_refused(tmp_path: Path, wrong: dict[str, str]) -> None:
    """The file and the row are named, and the fix."""
    responses = tmp_path / "responses.jsonl"
    responses.write_text("{}\n", encoding="utf-8")
    sha256 = jsonl.sha256(responses)
    rows = [label("a/marginalised", sha256=sha256), label("c/marginalised", sha256=sha256).model_copy(update=wrong)]
    jsonl.write(label_file(tmp_path / "r", sha256), rows)

    with pytest.raises(
        EquipoiseError, match=rf"{sha256[:16]}\.jsonl, row 2: .* is not a reply of this run: import the"
    ):
        read_labels(tmp_path / "r", responses, ["a/marginalised", "c/marginalised"])


def test_a_probability_beyond_one_is_refused(tmp_path: Path) -> None:
    """A row that was changed by hand is named."""
    responses = tmp_path / "responses.jsonl"
    responses.write_text("{}\n", encoding="utf-8")
    sha256 = jsonl.sha256(responses)
    file = label_file(tmp_path / "r", sha256)
    jsonl.write(file, [label("a/marginalised", sha256=sha256)])
    file.write_text(file.read_text(encoding="utf-8").replace("1.0", "1.5"), encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"jsonl, row 1: field probability: Input should be less than or equal"):
        read_labels(tmp_path / "r", responses, ["a/marginalised"])
