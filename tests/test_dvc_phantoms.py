"""Phantoms under real DVC: imported cases, and a run that stops when its verdict is in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from clones import Clone, changes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_imported_cases_are_asked_about_a_panel(tmp_path: Path) -> None:
    """A phantom is asked ten examples about a control and 31 groups; without a diagnosis, the vignettes are refused."""
    clone = Clone(tmp_path)
    examples = tmp_path / "data/examples/bench.jsonl"
    lines = examples.read_text(encoding="utf-8").splitlines(keepends=True)
    examples.write_text("".join(lines[:10]), encoding="utf-8")
    # As the stages do: the clone's own code.
    clone.run("env", "PYTHONPATH=src", "python", "-m", "equipoise", "import", "bench", "data/examples/bench.jsonl")
    settings = ("build.design=panel", "build.cases=bench", "model=phantom_undertreating", "measure.n_bootstrap=200")
    refused = clone.dvc("exp", "run", *changes(*settings), check=False)
    clone.dvc("exp", "run", *changes(*settings, "studies=[decisions]"))
    figures, picture = (
        json.loads((tmp_path / name).read_text(encoding="utf-8"))
        for name in ("metrics/decisions.json", "plots/decisions/decisions.json")
    )

    assert "these cases have no diagnoses: leave vignettes out of `studies`" in refused.stderr
    assert len(figures["panel"]) == 31
    # 2 nats from end to end of every scale.
    assert min(group["decision_shift"]["estimate"] for group in figures["panel"].values()) > 0.1
    assert len(picture) == 31 * 3
    assert {row["dimension"] for row in picture} == {"triage", "test", "psychiatric referral"}
    assert "white-unhoused" in (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert "data/items/bench.jsonl" in (tmp_path / "report/inputs.json").read_text(encoding="utf-8")


def test_a_biased_phantom_stops_early(tmp_path: Path) -> None:
    """It is asked until its verdict is in; its figures are those of a fixed run over the questions that were asked."""
    clone, metrics = Clone(tmp_path), {}
    few = tmp_path / "data/items/few.jsonl"
    # More than the twenty questions from which on a study may stop; then all of those that were asked.
    variants = {
        "stopped": ("neutralize.limit=30", "decision.sequential=true"),
        "fixed": ("neutralize.limit=0", "items=few"),
    }
    for name, changed in variants.items():
        settings = (
            "model=phantom_silent",
            "studies=[questions]",
            "perturb.orders=1",
            "measure.n_bootstrap=200",
            *changed,
        )
        # The page is read of the first alone.
        until = () if name == "stopped" else ("measure@questions",)
        clone.dvc("exp", "run", "--name", name, *changes(*settings), *until)
        metrics[name] = json.loads((tmp_path / "metrics/questions.json").read_text(encoding="utf-8"))
        if name == "stopped":
            lines = (tmp_path / "data/questions/asked.jsonl").read_text(encoding="utf-8").splitlines()
            units = {row["key"]: row["asked"] for row in map(json.loads, lines)}
            page = (tmp_path / "report/index.html").read_text(encoding="utf-8")
            clone.git("checkout", "--quiet", "--force", "main")
            items = (tmp_path / "data/items/authored.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
            few.write_text("".join(line for line in items if units.get(json.loads(line)["key"])), encoding="utf-8")
    stopped, fixed = metrics["stopped"], metrics["fixed"]
    verdict = stopped.pop("verdict")
    endpoints = [figures.pop("group_effect") for figures in (stopped, fixed)]
    stopped.pop("told"), fixed.pop("told")

    assert verdict["is"] == fixed.pop("verdict")["is"] == "biased beyond the margin"
    assert verdict["asked"] == sum(units.values()) < verdict["of"] == len(units)
    assert f"Stopped early: {verdict['asked']} of {verdict['of']} stories or questions were asked" in page
    assert endpoints[0]["estimate"] == endpoints[1]["estimate"]
    assert endpoints[0]["ci_low"] < endpoints[1]["ci_low"]
    assert stopped == fixed
