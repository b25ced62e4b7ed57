"""One run for all tests of exports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from exported import NOW, USE, decided
from reported import report_of

from equipoise.core import jsonl
from equipoise.export.run import read_run

if TYPE_CHECKING:
    from equipoise.export.run import Run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run's folder of data, with its project in the folder `project`."""
    data = tmp_path_factory.mktemp("run")
    report_of(data)
    root = data / "project"
    settings = (root / "params.yaml").read_text(encoding="utf-8")
    named = settings.replace('intended_use: ""', f'intended_use: "{USE}"')
    (root / "params.yaml").write_text(named.replace("model: smollm2", "model: phantom_fair"), encoding="utf-8")
    manifest = data / "manifest.json"
    jsonl.write_text(manifest, jsonl.read_text(manifest).replace('"tiny"', '"phantom_fair"'))
    (root / "CITATION.cff").symlink_to(ROOT / "CITATION.cff")
    for assessment in read_run(data, root).studies:
        row = {"key": "a", "study": assessment.study.name, "licence": "MIT", "source": "authored"}
        case = {
            "text": "He is 40 & well.",
            "options": {"A": "x"},
            "spans": [[1, 2]],
            "of": [{"n": 1}, {"n": 2}],
            "no": [],
        }
        rows = [{**row, **case}, {**row, "key": "b", "text": "She.", "options": {"B": "y"}, "spans": [], "of": []}]
        built = data / assessment.study.name / "built"
        built.mkdir(exist_ok=True)
        (built / "cases.jsonl").write_text("".join(f"{jsonl.dumps(entry)}\n" for entry in rows), encoding="utf-8")
        for name in assessment.study.plots:
            drawn = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0H9V9Z"/></svg>'
            jsonl.write_text(root / f"plots/pictures/{assessment.study.name}/{name}.svg", drawn)
    return root


@pytest.fixture(scope="session")
def run(project: Path) -> Run:
    """Read the run, and give its studies their verdicts."""
    read = read_run(project.parent, project, NOW)
    return read._replace(studies=[decided(assessment) for assessment in read.studies])
