"""Clones of the working tree, each with its own Git and DVC repositories, for runs under DVC."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

import projects
import session
import tiny
from repositories import PRIVATE

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("archive/", "benchmarks/", "dvc.lock", "judge/benchmark/", "tests/")
"""What no stage reads. The committed lock file is parsed several times a stage, which takes longer than most stages."""
IMMUTABLE = (".git/objects", ".dvc/cache/files", ".cache/models")
"""Folders whose files are named after their content: copies share them."""
SHORTENED = ("conditions", "templates")
FEWER = {"controls": False, "mirrors": False, "rereadings": ["swapped"]}
"""Half the replies of the vignettes."""
ORDERS = 1
"""Orders of a question's options: a preference for a letter changes nothing that these tests show."""


class Clone:
    """A clone of the working tree, with its own Git and DVC repositories."""

    def __init__(self, folder: Path, like: Path | None = None) -> None:
        """Copy the clone that the session keeps: of the working tree, or else the one that is given."""
        self.folder = folder
        shutil.copytree(
            like or session.once("clone", _init), folder, symlinks=True, dirs_exist_ok=True, copy_function=_copy
        )

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command in the clone, as a user in an activated environment would."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(PRIVATE)}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=1500
        )
        assert done.returncode == 0 or not check, f"{command}: {done.stdout}\n{done.stderr}"
        return done

    def git(self, *arguments: str) -> str:
        """Run Git with an author."""
        author = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
        return self.run("git", *author, *arguments).stdout

    def dvc(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run DVC."""
        return self.run("dvc", *arguments, check=check)

    def commit(self) -> None:
        """Commit everything."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "State")

    def restore(self) -> None:
        """Bring back the committed run."""
        self.git("checkout", "--quiet", "--force", "main")
        self.dvc("checkout", "--quiet")

    def compare(self, base: str, head: str) -> dict[str, dict[str, dict[str, float]]]:
        """Compare two revisions with `dvc metrics diff`: old, new and diff of each figure, by file and dotted name."""
        differences: dict[str, dict[str, dict[str, float]]] = json.loads(
            self.dvc("metrics", "diff", "--all", "--json", base, head, "--targets", "metrics").stdout
        )
        return differences

    def metrics(self, base: str, head: str) -> list[dict[str, float]]:
        """Read the figures of two revisions, by file and dotted name."""
        compared = self.compare(base, head)
        return [
            {
                f"{file}:{name}": figure[side]
                for file, figures in compared.items()
                for name, figure in figures.items()
                if figure[side] is not None
            }
            for side in ("old", "new")
        ]


def ran(folder: Path) -> Clone:
    """Copy the clone in which the pipeline has run on the tiny model, all studies, committed."""
    return Clone(folder, session.once("ran", _run))


def changes(*settings: str) -> list[str]:
    """Give DVC's options that change settings."""
    return [word for setting in settings for word in ("--set-param", setting)]


def shorten(sentences: Path, conditions: int = 3) -> None:
    """Leave some conditions a set and one template a group of the stigma sentences."""
    sets, templates = (yaml.safe_load((sentences / f"{name}.yaml").read_text("utf-8")) for name in SHORTENED)
    few = {name: members[:conditions] for name, members in sets.items()}
    first = {
        question: {group: dict([next(iter(members.items()))]) for group, members in groups.items()}
        for question, groups in templates.items()
    }
    for name, content in zip(SHORTENED, (few, first), strict=True):
        (sentences / f"{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def _init(folder: Path) -> None:
    """Copy every file that Git tracks or would track and a stage may read, and commit it.

    The judges' weights are links, since DVC packs everything that is in Git for each run elsewhere.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in {name for name in listed.stdout.decode().split("\0") if name and not name.startswith(LEFT_OUT)}:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".onnx"):
            target.symlink_to(ROOT / name)
        elif (ROOT / name).is_file():
            shutil.copy2(ROOT / name, target)
    # As they are dated: else each clone compiles the library anew.
    for path in (ROOT / "src").rglob("*.pyc"):
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    # A run that was made here may have left settings of its own.
    (folder / "params.yaml").write_text(projects.committed("params.yaml"), encoding="utf-8")
    clone = Clone.__new__(Clone)
    clone.folder = folder
    clone.git("init", "--quiet", "--initial-branch", "main")
    clone.commit()


def _run(folder: Path) -> None:
    made = Clone(folder)
    tiny.register(folder, "tiny_a", tiny.build(folder.with_name("tiny_a"), 1), 1)
    entry = folder / "models/tiny_a.yaml"
    entry.write_text(entry.read_text(encoding="utf-8").replace("_tokens: 12", "_tokens: 6"), encoding="utf-8")
    params = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    params |= {"model": "tiny_a", "build": params["build"] | FEWER, "neutralize": {"limit": 6}}
    params["measure"]["n_bootstrap"] = 200
    for section in ("perturb", "sample"):
        params[section]["orders"] = ORDERS
    (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    shorten(folder / "data/sentences")
    made.dvc("repro")
    made.commit()


def _copy(source: str, target: str) -> None:
    """Link what never changes, and copy everything else."""
    (os.link if any(f"/{folder}/" in source for folder in IMMUTABLE) else shutil.copy2)(source, target)
