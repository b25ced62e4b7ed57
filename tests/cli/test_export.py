"""Tests of `equipoise export run`: what it writes, and the line by which it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from reported import report_of

import projects
from equipoise.cli.export import export_run
from equipoise.core.errors import EquipoiseError
from equipoise.export.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """Work in the project of a run of the model `smollm2`."""
    report_of(tmp_path)
    manifest = tmp_path / "manifest.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"tiny"', '"smollm2"'), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "project")
        yield tmp_path


def test_each_format_has_a_folder(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The files of a format lie in its folder, and are listed with their sizes."""
    export_run(to=["junit", "hf"], out=project / "out", data=project, as_json=True)
    written = json.loads(capsys.readouterr().out)["written"]
    names = ("hf/.eval_results/equipoise.yaml", "hf/model_card_section.md", "junit/junit.xml")

    assert written == {(project / "out" / name).as_posix(): (project / "out" / name).stat().st_size for name in names}


def test_an_unused_field_is_pointed_out(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an intended use, the last line says where to state it."""
    export_run(to=["junit"], out=project / "out", data=project)

    assert projects.committed_settings().intended_use == ""
    assert capsys.readouterr().out.splitlines()[-1].startswith("intended_use in params.yaml is empty")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"to": None}, f"no format: add --to FORMAT, with one of {', '.join(FORMATS)}"),
        ({"to": ["pptx"]}, f"no format 'pptx': choose from {', '.join(FORMATS)}"),
        ({"to": ["junit"], "out": Path("params.yaml")}, "params.yaml: not a folder: name another with --out"),
        (
            {"to": ["junit"], "data": Path("none")},
            "none/manifest.json: there is no run to export: run `dvc repro`, or restore one with `make pull`",
        ),
    ],
)
def test_what_cannot_be_exported_is_refused(project: Path, given: dict[str, object], message: str) -> None:
    """One line names the problem and the fix."""
    with pytest.raises(EquipoiseError) as refused:
        export_run(**{"data": project, "out": project / "out", **given})  # type: ignore[arg-type]

    assert str(refused.value) == message
    assert not (project / "out").exists()


def test_a_folder_that_cannot_be_made_is_refused(project: Path) -> None:
    """A folder below a file cannot be written."""
    with pytest.raises(EquipoiseError, match=r"^params.yaml/out/junit/junit.xml: cannot be written \(.*\): "):
        export_run(to=["junit"], out=Path("params.yaml/out"), data=project)


def test_nothing_is_written_if_a_format_fails(project: Path) -> None:
    """The plots have not been drawn, so that JUnit is not written either."""
    with pytest.raises(EquipoiseError, match=r"the plot has not been drawn: run `dvc repro report`$"):
        export_run(to=["junit", "png"], out=project / "out", data=project)

    assert not (project / "out").exists()


def test_a_run_of_another_model_is_refused(project: Path) -> None:
    """The run is not exported under the name that params.yaml has now."""
    Path("params.yaml").write_text(
        projects.committed("params.yaml").replace("model: smollm2", "model: phantom_fair"), encoding="utf-8"
    )
    with pytest.raises(EquipoiseError) as refused:
        export_run(to=["junit"], out=project / "out", data=project)

    assert str(refused.value) == (
        "the last run is one of smollm2, and params.yaml names phantom_fair: run `dvc repro`, or name the model of "
        "the run"
    )
