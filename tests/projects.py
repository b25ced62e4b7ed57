"""Copies of the project for tests that write into it: settings, registry and authored data, without their weights."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import yaml

from equipoise.core.params import Params

ROOT = Path(__file__).parents[1]
FOLDERS = ("models", "data/raw", "data/features", "data/items", "data/sentences", "data/lexicon", "data/examples")
PIPELINE = (
    ".dvc/plots",
    "data",
    "docs/metrics",
    "docs/report.md",
    "docs/verdicts.md",
    "dvc.yaml",
    "models",
    "params.yaml",
    "pyproject.toml",
    "requirements",
    "src",
    "stages",
)
FILES = ("params.yaml", "data/cities.yaml")


def copy(folder: Path) -> Path:
    """Copy what commands of the command line read and write, without rows of a user's own."""
    for name in (*FILES, *shipped(*FOLDERS)):
        if not name.endswith(".safetensors"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def copy_pipeline(folder: Path) -> None:
    """Copy all that the pipeline reads, without weights, the outputs of a run, and what a user has added."""
    outs = (
        "__pycache__",
        "built",
        "code",
        "settings",
        "own",
        "replays",
        "followed",
        "responses.jsonl",
        "effects.jsonl",
    )
    ignored = shutil.ignore_patterns(*outs, "judgements.jsonl", "asked.jsonl", "*.safetensors")
    for name in PIPELINE:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=ignored)
        else:
            shutil.copy(ROOT / name, target)
    # A run that was made here may have left settings of its own.
    (folder / "params.yaml").write_text(committed("params.yaml"), encoding="utf-8")
    (folder / "data/followed").mkdir()
    (folder / "data/raw/own").mkdir()
    shutil.copy(ROOT / "data/raw/own/README.md", folder / "data/raw/own/README.md")


@cache
def shipped(*folders: str) -> tuple[str, ...]:
    """List the paths of the files in folders that Git tracks: a user's own models and pairs are beside them."""
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, check=True, capture_output=True)
    return tuple(name for name in listed.stdout.decode("utf-8").split("\0") if name and (ROOT / name).is_file())


def models() -> list[str]:
    """Name the models that ship."""
    return sorted(Path(name).stem for name in shipped("models/*.yaml") if name.count("/") == 1)


@cache
def committed(path: str) -> str:
    """Read a file as the last commit has it, whatever a run has made of it in the checkout since."""
    shown = subprocess.run(["git", "show", f"HEAD:{path}"], cwd=ROOT, check=True, capture_output=True)
    return shown.stdout.decode("utf-8")


@cache
def committed_settings() -> Params:
    """Read params.yaml as the last commit has it: `dvc exp run` leaves its settings in the checkout."""
    return Params.model_validate(yaml.safe_load(committed("params.yaml")))
