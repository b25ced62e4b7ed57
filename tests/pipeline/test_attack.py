"""The attack of the adversarial study from its build to its figures, by a model that answers by chance."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import projects
from equipoise.backends.phantom import BANK, Fact, PhantomBackend
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Prompt
from equipoise.figures.effects import Effect
from equipoise.figures.layout import rows_of
from equipoise.materials.questions import Item
from equipoise.models.registry import PhantomEntry, load_entry
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.studies.questions.rows import Variant

ROOT = Path(__file__).parents[2]


def copied(folder: Path) -> Path:
    """Copy the data of the project, without what a run made of them."""
    data = folder / "data"
    shutil.copytree(ROOT / "data", data, ignore=shutil.ignore_patterns("vignettes", "questions", "exam", "stigma"))
    return data


def kept_in_order(item: Item) -> Item:
    """Give an item a last option that refers to the others."""
    return item.model_copy(update={"options": item.options | {"D": "None of the above"}, "gold": "A"})


def made(folder: Path, *, referring: bool = False, **perturb: Any) -> tuple[Run, list[Effect]]:
    """Build, ask and measure the first questions with a phantom; of `referring` ones every second keeps its order."""
    data = copied(folder)
    if referring:
        path = data / "items/authored.jsonl"
        items = jsonl.read(path, Item)
        jsonl.write(path, [kept_in_order(item) if number % 2 else item for number, item in enumerate(items)])
    settings = projects.committed_settings()
    changes = {"model": "phantom_noisy", "perturb": settings.perturb | perturb, "neutralize": {"limit": 8}}
    run = Run("questions", data, settings.model_copy(update=changes))
    step("questions", "build")(run)
    entry = load_entry("phantom_noisy", ROOT)
    assert isinstance(entry, PhantomEntry)
    backend = PhantomBackend(entry, jsonl.read(run.built("facts"), Fact), data / BANK)
    jsonl.write(run.responses, backend.answer(jsonl.read(run.built("prompts"), Prompt)))
    step("questions", "score")(run)
    return run, rows_of(measure(run, step(run.study, "measure")))


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the project, as the stages do."""
    monkeypatch.chdir(ROOT)


def test_an_attack_leaves_every_other_figure_as_it_is(tmp_path: Path) -> None:
    """The variants and their figures are those of a run without an attack, but for triggering, rounds and counts."""
    (plain_run, plain), (run, attacked) = made(tmp_path / "one"), made(tmp_path / "three", attempts=3)
    others = {"attack", "triggering", "violation", "guard", "run"}

    assert jsonl.read(run.built("variants"), Variant) == jsonl.read(plain_run.built("variants"), Variant)
    assert [row for row in attacked if row.family not in others] == [row for row in plain if row.family not in others]
    assert not [row for row in plain if row.family == "attack"]
    places = {f"{row.group}/{row.measure}" for row in attacked if row.family == "attack"}
    assert {"race/gap", "ses/penalty", "gender/direction_effect", "all/group_effect"} <= places


def test_texts_are_measured_in_the_half_of_the_orders_that_did_not_choose_them(tmp_path: Path) -> None:
    """The first run's texts are asked in orders 1 and 3, the second's in 0 and 2; all others in all four."""
    run, _ = made(tmp_path, attempts=3)
    asked: dict[str, set[str]] = {}
    for prompt in jsonl.read(run.built("prompts"), Prompt):
        key, _, shift = prompt.key.partition("#")
        asked.setdefault(key.partition("/attack/")[2] or "all", set()).add(shift)

    assert asked == {"all": {"", "1", "2", "3"}, "0": {"1", "3"}, "1": {"", "2"}}


def test_a_question_in_one_order_is_not_attacked(tmp_path: Path) -> None:
    """It has no other half to be measured in; it is asked as written, and counted, beside the others."""
    run, rows = made(tmp_path, referring=True, attempts=3)
    variants = jsonl.read(run.built("variants"), Variant)
    kept = {row.item for row in variants if row.options["D"] == "None of the above"}
    prompts = [prompt.key for prompt in jsonl.read(run.built("prompts"), Prompt)]

    assert 0 < len(kept) < len({row.item for row in variants})
    assert not [key for key in prompts if key.partition("/")[0] in kept and ("#" in key or "/attack/" in key)]
    assert [row.estimate for row in rows if row.measure == "one_order"] == [len(kept)]
    attacked = {row.item for row in run.rows("attacks", Variant)}
    assert attacked == {row.item for row in variants} - kept


def test_an_attack_needs_answers_that_did_not_choose_its_texts(tmp_path: Path) -> None:
    """In one order the model under test has none."""
    study: str = "questions"
    settings = projects.committed_settings()
    perturb = settings.perturb | {"attempts": 3, "orders": 1}
    run = Run(study, copied(tmp_path), settings.model_copy(update={"perturb": perturb}))

    with pytest.raises(EquipoiseError, match="set orders to 2 or more, or name another model as evaluator"):
        step("questions", "build")(run)
