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
from torch import Tensor, cat

sys.path.insert(0, str(Path(__file__).parent))
from organism_lessons import ADAPTERS, BASE, BIAS, DOSES, KINDS, MANNERS, OPENINGS, ROOT, library, subjects
from organisms_page import write_page

from equipoise.api.running import measured
from equipoise.core import jsonl, stage
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import dumps, read_text, sha256, write_text
from equipoise.core.prompts import Response
from equipoise.core.yamlfile import read_yaml
from equipoise.figures.effects import Effect
from equipoise.figures.result import StudyResult
from equipoise.materials.judgement import Judgement
from equipoise.materials.vignette import Vignette
from equipoise.models.adapter import ALPHA, UP

MEASURED = ROOT / "benchmarks/organisms.jsonl"
DEFAULT = "default"
"""The default model, without an adapter."""
NAMES = (
    DEFAULT,
    *(f"{kind}-{dose}" for kind in KINDS for dose in DOSES),
    *(f"{manner}-{dose}" for manner in MANNERS for dose in (0, *DOSES)),
)
READ = (DEFAULT, BIAS, *MANNERS)
"""The organisms whose reasoning is read: those of every manner, at every dose of one bias."""
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
        write_page(rows, {name: facts(name) for name in (*KINDS, *MANNERS)})
    else:
        typer.echo(f"{MEASURED.relative_to(ROOT)}: {len(rows)} of {len(NAMES)} organisms; the page needs all")


def load_rows() -> list[dict[str, Any]]:
    """Read what was measured so far."""
    return [json.loads(line) for line in read_text(MEASURED).splitlines()] if MEASURED.is_file() else []


def facts(adapter: str) -> dict[str, str]:
    """Read how an adapter was trained, and what it does to the cases held out."""
    with safe_open(located(adapter), framework="pt") as file:
        return dict(file.metadata())


def located(adapter: str) -> Path:
    """Locate an adapter."""
    return ROOT / ADAPTERS / f"{adapter}.safetensors"


def merged(name: str) -> dict[str, float]:
    """Give the adapters that an organism merges, and the share of each."""
    if name == DEFAULT:
        return {}
    first, dose = name.split("-")
    kind = BIAS if first in MANNERS else first
    shares = json.loads(facts(kind)["held_out"])["shares"]
    biased = {kind: shares[dose]} if dose != "0" else {}
    return biased | ({first: 1.0} if first in MANNERS else {})


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
    """Write an organism's adapters as one, and the registry entry that merges it."""
    path = home / ADAPTERS / f"{name}.safetensors"
    tensors, facts = joined(merged(name))
    save_file(tensors, path, facts)
    entry = read_yaml(ROOT / f"models/{BASE}.yaml")
    entry |= {"title": name, "adapter": {"file": str(ADAPTERS / path.name), "sha256": sha256(path)}}
    write_text(home / f"models/{name}.yaml", json.dumps(entry))


def joined(shares: Mapping[str, float]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Join adapters to one, whose rank r is the sum of theirs: α/r B A is the sum of share x α/r B A of each."""
    parts_by_key: dict[str, list[Tensor]] = {}
    for name, share in shares.items():
        with safe_open(located(name), framework="pt") as file:
            alpha = float(file.metadata()[ALPHA])
            for key in file.keys():  # noqa: SIM118  (no mapping)
                tensor = file.get_tensor(key)
                # B has the rank as its second dimension; α of the sum is its rank.
                scaled = tensor * (share * alpha / tensor.shape[1]) if key.endswith(UP) else tensor
                parts_by_key.setdefault(key, []).append(scaled)
    tensors = {key: cat(parts, dim=1 if key.endswith(UP) else 0) for key, parts in parts_by_key.items()}
    rank = next(tensor.shape[1] for key, tensor in tensors.items() if key.endswith(UP))
    return tensors, {ALPHA: str(rank)}


def measure(name: str) -> dict[str, Any]:
    """Ask an organism every case; give its verdict and the figures that the verdict rests on."""
    began = _cpu()
    read = name.partition("-")[0] in READ
    with checkout(name), TemporaryDirectory() as folder:
        data = Path(folder) if read else None
        result = measured(BASE if name == DEFAULT else name, STUDY, {"build": LOOK}, data)
        reasoning = [*readings(data)] if data else []
    verdict = result.verdict
    assert verdict is not None  # noqa: S101
    margins = {part.row.measure: part.component.margin for part in verdict.parts}
    rows = {part.row.measure: result.judged(part.row.place, part.row, adjusted=True) for part in verdict.parts}
    rows |= {f"{row.group}/{row.measure.removesuffix(TOGETHER)}": [row] for row in _groups(result, margins)}
    return {
        "name": name,
        "adapters": {adapter: sha256(located(adapter)) for adapter in merged(name)},
        "verdict": verdict.word,
        "because": list(verdict.because),
        "score": round(score(rows, margins), 4),
        "clusters": verdict.clusters,
        "figures": {
            part.row.measure: _interval(part.row) | {"margin": part.component.margin, "state": part.state}
            for part in verdict.parts
        },
        "groups": {place: _interval(row) for place, (row, *_) in rows.items() if "/" in place},
        "reasoning": reasoning,
        "cpu_seconds": round(_cpu() - began),
    }


def readings(data: Path) -> Iterator[dict[str, Any]]:
    """Yield what the reasoning about every marginalised patient says of the group: as it begins, and as it is read.

    It `begins` as a manner if it does so with the name of a dimension that the pair varies. `apart`: whether a sentence
    recurs over stories and admits nothing (`equipoise.judge.recurring`).
    """
    folder, words = data / STUDY, subjects(library())
    judgements = {row.key: row for row in jsonl.each(folder / "judgements.jsonl", Judgement)}
    replies = {row.key: row.replies[0] for row in jsonl.each(folder / "responses.jsonl", Response) if row.replies}
    for case in jsonl.each(folder / "built/vignettes.jsonl", Vignette):
        if case.role == "marginalised":
            reply, judged = replies[case.key].lstrip(), judgements[case.key]
            named = tuple(words[dimension] for dimension in case.dimensions if dimension in words)
            begins = (
                manner
                for manner, opening in OPENINGS.items()
                if reply.startswith(opening) and reply.removeprefix(opening).startswith(named)
            )
            yield {
                "key": case.key,
                "story": case.presentation,
                "begins": next(begins, None),
                "read": judged.considered,
                "apart": bool(judged.boilerplate),
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
        min(max(row.ci_low, -row.ci_high) for row in intervals) / margins[place.rpartition("/")[2]]
        for place, intervals in rows.items()
        if all(row.ci_low is not None for row in intervals)
    )


def _interval(row: Effect) -> dict[str, Any]:
    values = {"estimate": row.estimate, "low": row.ci_low, "high": row.ci_high}
    return {"n": row.n} | {name: None if value is None else round(value, 4) for name, value in values.items()}


def _cpu() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


if __name__ == "__main__":
    stage.run(main)
