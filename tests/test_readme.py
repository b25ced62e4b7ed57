"""The commands of the README, in its order, in one fresh clone of the last commit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from repositories import PRIVATE

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
SETTINGS = {"model": "phantom_fair", "studies": ["vignettes"]}
"""In place of the embedded model, which takes twelve minutes."""
STAMPS = ("installed", "developed")
"""Files by which make knows that an environment is whole."""
FEWER = {"controls": False, "mirrors": False, "rereadings": []}
STATE = "tests/core/test_params.py tests/report/test_inputs.py"
"""Tests that read what a run writes or leaves in the settings."""
SHORTER = {
    "make test": f"make test PYTEST='pytest -q {STATE}'",
    "make test-all": f"make test-all PYTEST='pytest -q {STATE}'",
    # Minutes of work, and models of the hub: what they would run.
    "dvc exp run -S build.profile=powered": "dvc exp run --queue -S build.profile=powered",
    "dvc exp run -S model=phantom_silent": "dvc exp run --queue -S model=phantom_silent",
    'make sweep MODELS="smollm2 qwen3_8b"': 'make --dry-run sweep MODELS="smollm2 qwen3_8b"',
    # Files of the network.
    "equipoise anchors --fetch": "equipoise anchors --help",
}
"""What takes longer than a test may, and what is run in its place."""


def commands() -> list[str]:
    """Give the commands of the README's shell blocks and those of make and DVC in its text, in its order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    matches = re.findall(r"^```sh\n(.*?)^```|`((?:make|dvc) [^`]*)`", text, re.DOTALL | re.MULTILINE)
    lines = [line.partition("  #")[0].strip() for block, inline in matches for line in (block or inline).splitlines()]
    listed = [line for line in lines if line]
    # Before that the page only mentions what can be done.
    return list(dict.fromkeys(listed[listed.index("make repro STUDY=vignettes") :]))


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone whose environment is this one, and whose settings name a phantom."""
    folder = tmp_path_factory.mktemp("readme") / "equipoise"
    subprocess.run(["git", "clone", "--quiet", "--local", str(ROOT), str(folder)], check=True)
    (folder / ".venv").mkdir()
    for path in Path(sys.prefix).iterdir():
        if path.name not in STAMPS:
            (folder / ".venv" / path.name).symlink_to(path)
    for name in STAMPS:
        (folder / ".venv" / name).touch()
    settings = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    settings |= SETTINGS | {"build": settings["build"] | FEWER, "measure": settings["measure"] | {"n_bootstrap": 200}}
    (folder / "params.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return folder


def test_the_commands_of_the_readme_run_in_its_order(clone: Path) -> None:
    """Each succeeds where those before it have run; after `make repro` the report is there."""
    listed = commands()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PRIVATE)}
    environment["PATH"] = f"{clone / '.venv/bin'}{os.pathsep}{environment['PATH']}"
    # The environment is that of another checkout, and the code the clone's own.
    environment |= {"PYTHONPATH": str(clone / "src"), "MAKEFLAGS": f"PYTHONPATH={clone / 'src'}"}

    assert {*SHORTER, "make repro", "make pull"} <= {*listed}
    for command in listed:
        done = subprocess.run(
            ["bash", "-c", SHORTER.get(command, command)],
            cwd=clone,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
        assert command != "make repro" or (clone / "report/index.html").is_file()
