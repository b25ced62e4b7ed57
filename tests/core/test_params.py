from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import projects
from equipoise.backends.base import Infer
from equipoise.core import params
from equipoise.core.errors import EquipoiseError
from equipoise.models import registry
from equipoise.pipeline.check import SHARED, require_sound
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.profiles import Build

if TYPE_CHECKING:
    from pydantic import BaseModel

ROOT = Path(__file__).parents[2]
SECTIONS = SHARED | {name: kind for study in STUDIES.values() for name, kind in study.sections.items()}


def changed(folder: Path, old: str, new: str) -> Path:
    """Write the project's params.yaml with one change."""
    text = projects.committed("params.yaml")
    assert text.count(old) == 1
    path = folder / "params.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def test_a_file_of_items_is_asked_by_a_name_that_settings_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a file in another place, or with another name, the line says where to keep it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/items").mkdir()
    (tmp_path / "linked").symlink_to("data/items")

    for name in ("data/items/my_2.jsonl", str(tmp_path / "data/items/my_2.jsonl"), "linked/my_2.jsonl"):
        assert params.items_named(Path(name), "items") == "-S items=my_2"
    for name in (
        "my_2.jsonl",
        "data/items/My.jsonl",
        "data/items/a-b.jsonl",
        "data/items/a.json",
        "data/items/x/a.jsonl",
    ):
        told = params.items_named(Path(name), "pair.items")
        rule = "lower-case letters, digits and underscores"
        assert told == f"-S pair.items=NAME, with the file as data/items/NAME.jsonl (NAME in {rule})"


def test_the_chosen_model_is_registered() -> None:
    """params.yaml names a model of the registry."""
    assert registry.load_entry(params.load(ROOT / "params.yaml").model, ROOT)


@pytest.mark.parametrize(("name", "kind"), SECTIONS.items())
def test_every_section_is_what_its_stage_takes(name: str, kind: type[BaseModel]) -> None:
    """Every section of the shipped file validates, and every setting of its type is in the file."""
    settings = params.load(ROOT / "params.yaml")

    assert kind.model_fields.keys() == getattr(settings, name).keys()
    assert isinstance(settings.section(name, kind), kind)


def test_an_unknown_section_is_named(tmp_path: Path) -> None:
    """A misspelt section is rejected by name."""
    with pytest.raises(EquipoiseError, match=r"params\.yaml: field infer: Field required"):
        params.load(changed(tmp_path, "\ninfer:", "\ninfers:"))


def test_a_section_too_many_is_named(tmp_path: Path) -> None:
    """A section that belongs to no study is rejected by the check, not ignored."""
    settings = params.load(changed(tmp_path, "\ninfer:", "\ntrain: {}\ninfer:"))

    with pytest.raises(EquipoiseError, match=r"params\.yaml: train: no such setting"):
        require_sound(settings, STUDIES, ROOT)


def test_an_unknown_setting_is_named(tmp_path: Path) -> None:
    """A misspelt setting is rejected by section and name."""
    settings = params.load(changed(tmp_path, "batch_size: 16", "batchsize: 16"))

    with pytest.raises(EquipoiseError, match=r"params\.yaml, section infer: field batchsize: .* 'batch_size'"):
        settings.section("infer", Infer)


def test_a_setting_too_many_is_named(tmp_path: Path) -> None:
    """An unknown setting is rejected, not ignored."""
    settings = params.load(changed(tmp_path, "  batch_size: 16", "  threads: 2\n  batch_size: 16"))

    with pytest.raises(EquipoiseError, match="section infer: field threads: Extra inputs are not permitted"):
        settings.section("infer", Infer)


@pytest.mark.parametrize("name", ["Smol LM", "../smollm2", "''"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    """A model's name is the stem of a file, never a path."""
    with pytest.raises(EquipoiseError, match=r"params\.yaml: field model: String should match pattern"):
        params.load(changed(tmp_path, "model: smollm2", f"model: {name}"))


def test_a_question_without_the_case_is_refused(tmp_path: Path) -> None:
    """The first turn must hold the vignette."""
    settings = params.load(changed(tmp_path, "reason: |-\n    {case}\n", "reason: |-\n    The case.\n"))

    with pytest.raises(EquipoiseError, match="section build: field reason: String should match pattern"):
        settings.section("build", Build)


def test_overriding_settings_loses_no_comment(tmp_path: Path) -> None:
    """`dvc exp run -S` writes lists anew, with what follows one: every comment is still there after three overrides.

    The second and the third time the lists are in block style, as the first override writes them.
    """
    from dvc.utils.hydra import apply_overrides

    def comments(text: str) -> list[str]:
        return [line.strip() for line in text.splitlines() if line.strip().startswith("#")]

    path = tmp_path / "params.yaml"
    before = (ROOT / "params.yaml").read_text(encoding="utf-8")
    path.write_text(before, encoding="utf-8")
    for overrides in (
        ["model=phantom_silent", "score.unsure=0.2", "decision.endpoints.vignettes.margin=0.4"],
        ["studies=[stigma,exam]", "build.wordings=[{reason: Why?, answer: What?}]", "build.endpoints=[triage]"],
        ["build.rereadings=[swapped]", "pair.dimensions=[race]", "score.words=200"],
    ):
        apply_overrides(path, overrides)

        assert comments(path.read_text(encoding="utf-8")) == comments(before)
    settings = params.load(path)
    assert (settings.model, [*settings.studies]) == ("phantom_silent", ["stigma", "exam"])
