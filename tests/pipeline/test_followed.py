"""Tests of the prompts that follow from the replies to others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import projects
from builders import ROLES, prompt, response, vignette
from equipoise.core import jsonl
from equipoise.core.prompts import Prompt, Response
from equipoise.materials.versions import CaseKey
from equipoise.models.export import describe
from equipoise.models.registry import ReplayEntry
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.studies.vignettes.reread import follow_ups
from servers import KEY, FaultyServer, entry

if TYPE_CHECKING:
    from equipoise.models.registry import AnyEntry

ROOT = Path(__file__).parents[2]


def made(folder: Path, entry: AnyEntry, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Build a study of one pair, to put to a model."""
    monkeypatch.setenv("DVC_ROOT", str(folder))
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(Run, "entry", entry)
    monkeypatch.setattr("equipoise.models.registry.load_entry", lambda *_: entry)
    run = Run("vignettes", folder, projects.committed_settings())
    for name in ("lexicon", "features"):
        (folder / name).symlink_to(ROOT / "data" / name)
    told = [vignette("p", role, text=f"The {role} case.") for role in ROLES]
    jsonl.write(run.built("vignettes"), told)
    jsonl.write(
        run.built("prompts"), [prompt(arm.key, f"Why? {arm.text}", "What?", candidates=("x", "y")) for arm in told]
    )
    return run


def test_saved_answers_are_followed_by_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can be asked again, where a model is asked after every reading."""
    saved = ReplayEntry.model_validate(
        {"title": "Saved", "licence": "none", "backend": "replay", "file": "saved.jsonl", "sha256": "0" * 64}
    )
    run = made(tmp_path, saved, monkeypatch)
    prompts = jsonl.read(run.built("prompts"), Prompt)
    answers = [response(row.key, f"First {n}. Then gout is likely.", "Gout.") for n, row in enumerate(prompts)]

    assert list(follow_ups(run, prompts, answers)) == []
    monkeypatch.setattr(Run, "entry", entry("http://127.0.0.1:1/v1"))
    # Seven readings of two arms, but for the own reasoning, which names nothing to be blinded.
    assert len(list(follow_ups(run, prompts, answers))) == 2 * 7 - 2


def test_a_server_is_asked_again_for_replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives no likelihoods, and replies to each question after other reasoning; a second run asks nothing."""
    with FaultyServer() as api:
        run = made(tmp_path, entry(api.url), monkeypatch)
        jsonl.write_json(run.data / "manifest.json", describe("some", entry(api.url), tmp_path).written())
        step(run.study, "infer")(run)
        asked = len(api.requests)
        step(run.study, "infer")(run)
        responses = jsonl.read(run.responses, Response)

        assert len(api.requests) == asked
    again = [row for row in responses if CaseKey.parse(row.key).rereading]
    assert {len(row.replies) for row in again} == {1}
    assert {row.key.rpartition("/")[2] for row in again} >= {"swapped", "unreasoned", "early-25", "early-75"}
    assert len(responses) == len(again) + 2
