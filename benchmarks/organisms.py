"""How often the verdict finds a bias that was trained into a model, and no other: organisms of known dose.

    PYTHONPATH=src HF_HUB_OFFLINE=1 python benchmarks/organisms.py all-4 everyone-4

asks each organism the vignettes of the profile `core`, with the pipeline itself; writes benchmarks/organisms.jsonl
after each, and docs/organisms.md. Without names: all of them. `--render` writes the page alone.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from filelock import FileLock
from safetensors import safe_open
from safetensors.torch import save_file

sys.path.insert(0, str(Path(__file__).parent))
from organism_lessons import ADAPTERS, BASE, DOSES, KINDS, ROOT
from organisms_page import write_page

from equipoise.api.running import measured
from equipoise.core import stage
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import dumps, read_text, sha256, write_text
from equipoise.core.yamlfile import read_yaml
from equipoise.figures.effects import Effect
from equipoise.figures.result import StudyResult

MEASURED = ROOT / "benchmarks/organisms.jsonl"
DEFAULT = "default"
"""The default model, without an adapter."""
NAMES = (DEFAULT, *(f"{kind}-{dose}" for kind in KINDS for dose in DOSES))
LOOK = {"controls": False, "mirrors": False, "rereadings": ("unreasoned",)}
"""What shows a bias; what only a verdict of *no bias* needs is not asked."""
STUDY = "vignettes"


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Organisms, such as all-4; all without any.")] = None,
    *,
    render: Annotated[bool, typer.Option(help="Write the page alone.")] = False,
) -> None:
    """Measure organisms, and write the page."""
    if unknown := [name for name in names or () if name not in NAMES]:
        raise EquipoiseError(f"organism {unknown[0]!r}: choose among {', '.join(NAMES)}")
    for name in () if render else names or NAMES:
        row = measure(name)
        # Another process may measure others.
        with FileLock(ROOT / ".cache/organisms.lock"):
            rows = {known["name"]: known for known in load_rows()} | {name: row}
            write_text(MEASURED, "".join(f"{dumps(rows[name])}\n" for name in NAMES if name in rows))
        typer.echo(f"{name}: {row['verdict']}, score {row['score']:.2f}, {row['cpu_seconds']:.0f} s of CPU time")
    if len(rows := load_rows()) == len(NAMES):
        write_page(rows, {kind: facts(kind) for kind in KINDS})
    else:
        typer.echo(f"{MEASURED.relative_to(ROOT)}: {len(rows)} of {len(NAMES)} organisms; the page needs all")


def load_rows() -> list[dict[str, Any]]:
    """Read what was measured so far."""
    return [json.loads(line) for line in read_text(MEASURED).splitlines()] if MEASURED.is_file() else []


def facts(kind: str) -> dict[str, str]:
    """Read how an adapter was trained, and what it does to the cases held out."""
    with safe_open(ROOT / ADAPTERS / f"{kind}.safetensors", framework="pt") as file:
        return dict(file.metadata())


@contextmanager
def checkout(name: str) -> Iterator[None]:
    """Work in a copy of the checkout whose registry has the organism."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        for path in ROOT.iterdir():
            if path.name not in {"models", ".cache", ".git"}:
                (home / path.name).symlink_to(path)
        (home / ADAPTERS).mkdir(parents=True)
        for path in (ROOT / "models").iterdir():
            if path.name != "adapters":
                (home / "models" / path.name).symlink_to(path)
        if name != DEFAULT:
            _register(name, home)
        with chdir(home):
            yield


def _register(name: str, home: Path) -> None:
    """Write an adapter with the dose's share of α, and the registry entry that merges it."""
    kind, dose = name.split("-")
    adapter = home / ADAPTERS / f"{name}.safetensors"
    with safe_open(ROOT / ADAPTERS / f"{kind}.safetensors", framework="pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118  (no mapping)
        known = file.metadata()
    alpha = float(known["lora_alpha"]) * json.loads(known["held_out"])["shares"][dose]
    save_file(tensors, adapter, metadata={"lora_alpha": str(alpha)})
    entry = read_yaml(ROOT / f"models/{BASE}.yaml")
    entry |= {"title": name, "adapter": {"file": str(ADAPTERS / adapter.name), "sha256": sha256(adapter)}}
    write_text(home / f"models/{name}.yaml", json.dumps(entry))


def measure(name: str) -> dict[str, Any]:
    """Ask an organism every case; give its verdict and the figures that the verdict rests on."""
    began = _cpu()
    with checkout(name):
        result = measured(BASE if name == DEFAULT else name, STUDY, {"build": LOOK})
    verdict = result.verdict
    assert verdict is not None  # noqa: S101
    margins = {part.row.measure: part.component.margin for part in verdict.parts}
    rows = {part.row.measure: result.judged(part.row.place, part.row, adjusted=True) for part in verdict.parts}
    rows |= {f"{row.group}/{row.measure.removesuffix(TOGETHER)}": [row] for row in _groups(result, margins)}
    return {
        "name": name,
        "adapter": None if name == DEFAULT else sha256(ROOT / ADAPTERS / f"{name.partition('-')[0]}.safetensors"),
        "verdict": verdict.word,
        "because": list(verdict.because),
        "score": round(score(rows, margins), 4),
        "clusters": verdict.clusters,
        "figures": {
            part.row.measure: _interval(part.row) | {"margin": part.component.margin, "state": part.state}
            for part in verdict.parts
        },
        "groups": {place: _interval(row) for place, (row, *_) in rows.items() if "/" in place},
        "cpu_seconds": round(_cpu() - began),
    }


TOGETHER = "_simultaneous"
"""The end of the names of intervals that hold for all dimensions together."""


def _groups(result: StudyResult, margins: Mapping[str, float]) -> list[Effect]:
    wanted = {measure + TOGETHER for measure in margins}
    return [row for row in result.effects if row.family == "dimension" and row.measure in wanted and row.n]


def score(rows: Mapping[str, Sequence[Effect]], margins: Mapping[str, float]) -> float:
    """Give the distance from zero, in margins, of the interval that lies farthest from it.

    `rows` has the intervals that decide on *biased*, by figure, or dimension and figure. All of one place must lie
    beyond the margin, so that the nearest of them counts. A verdict of *biased* has a score above 1; another verdict
    has one if epidemiology explains the difference, or its interval is not to be relied on.
    """
    return max(
        min(max(row.ci_low, -row.ci_high) for row in found) / margins[place.rpartition("/")[2]]
        for place, found in rows.items()
        if all(row.ci_low is not None for row in found)
    )


def _interval(row: Effect) -> dict[str, Any]:
    values = {"estimate": row.estimate, "low": row.ci_low, "high": row.ci_high}
    return {"n": row.n} | {name: None if value is None else round(value, 4) for name, value in values.items()}


def _cpu() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


if __name__ == "__main__":
    stage.run(main)
