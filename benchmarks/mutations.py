"""Mutations of an evidence pack: does `equipoise verify` find each of a thousand?

    PYTHONPATH=src python benchmarks/mutations.py

packs the run of a biased phantom with a frozen plan, changes one thing at a time, drawn with a seed, and writes
benchmarks/mutations.json. Each mutation is tried twice: by someone who leaves the list of sha256 as it is, and by
someone who writes all of them anew, in `pack.json` and in the report. The second is caught by what is computed again.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple, cast

import typer
import yaml

sys.path.insert(0, str(Path(__file__).parent))
from mutations_run import ROOT, packed

from equipoise.core import jsonl, stage
from equipoise.core.errors import EquipoiseError
from equipoise.figures.result import StudyResult
from equipoise.judge.readers import Reader
from equipoise.pipeline.run import Run
from equipoise.report import evidence, verify
from equipoise.report.evidence import LIST, REPORT, Contents

FIGURES = ROOT / "benchmarks/mutations.json"
SEED, N = 2026, 1_000
STUDIES = ("vignettes", "questions")
FIRST, SECOND = "phantom_silent", "phantom_fair"
Files = dict[str, bytes]
Change = Callable[[Files, Files, random.Random], str]
"""Changes the files of a pack in place, with those of another pack at hand, and says what it changed."""
SELDOM, SOMETIMES, EVEN, OFTEN = 0.1, 0.2, 0.5, 0.6
"""Probabilities with which a mutation of a kind takes one way or another."""
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


class Outcome(NamedTuple):
    """What became of a mutation: what was changed, and what was reported with the list kept and with all anew."""

    kind: str
    change: str
    kept: str
    renewed: str


def rows_in(files: Mapping[str, bytes], *names: str) -> list[str]:
    """Name the files of rows; with `names`, those of these stems."""
    row_files = [name for name in files if name.endswith(".jsonl") and name.startswith("data/") and "items" not in name]
    return sorted(
        name for name in row_files if files[name].strip() and (not names or PurePosixPath(name).stem in names)
    )


def lines_of(files: Files, name: str) -> list[dict[str, Any]]:
    """Parse the rows of a file."""
    return [json.loads(line) for line in files[name].splitlines() if line.strip()]


def put(files: Files, name: str, rows: list[dict[str, Any]]) -> None:
    """Write rows as a stage does, in the order given."""
    files[name] = "".join(f"{jsonl.dumps(row)}\n" for row in rows).encode()


def leaves(value: object, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the paths of the single values of a JSON or YAML value, apart from keys of rows."""
    if isinstance(value, dict):
        return [
            path for name, child in value.items() if name not in {"key", "study"} for path in leaves(child, (*at, name))
        ]
    if isinstance(value, list):
        return [path for place, child in enumerate(value) for path in leaves(child, (*at, place))]
    return [at]


def alter(value: Any, at: tuple[Any, ...], draw: random.Random) -> tuple[Any, Any]:  # noqa: ANN401  (any JSON value)
    """Change the value at a path in place: a number by at least 0.001, a flag to its opposite, a text by a word."""
    for name in at[:-1]:
        value = value[name]
    before = value[at[-1]]
    match before:
        case bool():
            after: Any = not before
        case int():
            after = before + draw.choice((-1, 1, 2, 10))
        case float():
            after = round(before + draw.choice((-1, 1)) * draw.choice((0.001, 0.01, 0.1, 1.0)), 6)
        case str():
            words = before.split(" ")
            words[draw.randrange(len(words))] = draw.choice(("not", "Black", "stroke", "0.2"))
            after = " ".join(words)
        case _:
            after = draw.choice((0.5, 1.0, 2.0))
    value[at[-1]] = after
    return before, after


def change_value(files: Files, name: str, draw: random.Random, only: type | tuple[type, ...] = object) -> str:
    """Change one value of one row, to another one."""
    rows = lines_of(files, name)
    for row in draw.sample(rows, len(rows)):
        paths = [at for at in leaves(row) if isinstance(_at(row, at), only)]
        for at in draw.sample(paths, len(paths)):
            before, after = alter(row, at, draw)
            if before != after:
                put(files, name, rows)
                return f"{name}, {row['key']}: {at}: {before!r} to {after!r}"
    raise LookupError(name)


def _at(value: Any, at: tuple[Any, ...]) -> Any:  # noqa: ANN401  (any JSON value)
    for name in at:
        value = value[name]
    return value


def change_any(files: Files, draw: random.Random, only: type | tuple[type, ...]) -> str:
    """Change one value of a kind in a file of rows that has any."""
    names = rows_in(files)
    for name in draw.sample(names, len(names)):
        with suppress(LookupError):
            return change_value(files, name, draw, only)
    raise LookupError(only)


def row_value(files: Files, _: Files, draw: random.Random) -> str:
    """A number or flag of a row: a likelihood, a judgement, an effect, a reading, an expected answer."""
    return change_any(files, draw, (int, float))


def row_text(files: Files, _: Files, draw: random.Random) -> str:
    """A word in a row: of a reply, a case, a prompt, a judgement."""
    return change_any(files, draw, str)


def row_dropped(files: Files, _: Files, draw: random.Random) -> str:
    """A row left out, or one in twenty."""
    name = draw.choice(rows_in(files))
    rows = lines_of(files, name)
    gone = {draw.randrange(len(rows)) for _ in range(draw.choice((1, 1, 1 + len(rows) // 20)))}
    put(files, name, [row for place, row in enumerate(rows) if place not in gone])
    return f"{name}: rows {sorted(gone)} dropped"


def row_doubled(files: Files, _: Files, draw: random.Random) -> str:
    """A row twice: as it is, or under another key."""
    name = draw.choice(rows_in(files))
    rows = lines_of(files, name)
    row = dict(draw.choice(rows))
    if draw.random() < EVEN:
        row["key"] = f"{row['key']}x"
    put(files, name, sorted([*rows, row], key=lambda record: str(record["key"])))
    return f"{name}: {row['key']} doubled"


def rows_exchanged(files: Files, _: Files, draw: random.Random) -> str:
    """What two rows say, exchanged: two replies, two judgements, two figures."""
    name = draw.choice([path for path in rows_in(files) if len(lines_of(files, path)) > 1])
    rows = lines_of(files, name)
    for _ in range(200):
        first, second = draw.sample(range(len(rows)), 2)
        if {**rows[first], "key": ""} != {**rows[second], "key": ""}:
            break
    rows[first], rows[second] = {**rows[second], "key": rows[first]["key"]}, {**rows[first], "key": rows[second]["key"]}
    put(files, name, rows)
    return f"{name}: {rows[first]['key']} and {rows[second]['key']} exchanged"


def order(files: Files, _: Files, draw: random.Random) -> str:
    """The order of rows, or of figures."""
    if draw.random() < 3 * SELDOM:
        name = draw.choice(sorted(path for path in files if path.startswith("metrics/")))
        items = [*json.loads(files[name]).items()]
        draw.shuffle(items)
        if items == [*json.loads(files[name]).items()]:
            items = [*items[1:], items[0]]
        files[name] = (json.dumps(dict(items), ensure_ascii=False, indent=2) + "\n").encode()
        return f"{name}: order of figures"
    name = draw.choice([path for path in rows_in(files) if len(lines_of(files, path)) > 1])
    rows = lines_of(files, name)
    first, second = draw.sample(range(len(rows)), 2)
    rows[first], rows[second] = rows[second], rows[first]
    put(files, name, rows)
    return f"{name}: rows {first} and {second} change places"


def figure(files: Files, _: Files, draw: random.Random) -> str:
    """A number, a verdict or a reason in a metrics file."""
    name = draw.choice(sorted(path for path in files if path.startswith("metrics/")))
    value = json.loads(files[name])
    at = draw.choice(leaves(value))
    before, after = alter(value, at, draw)
    files[name] = (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()
    return f"{name}: {at}: {before!r} to {after!r}"


def _yaml(files: Files, name: str, paths: list[tuple[Any, ...]], value: object, draw: random.Random) -> str:
    at = draw.choice(paths)
    before, after = alter(value, at, draw)
    files[name] = yaml.safe_dump(value, allow_unicode=True, sort_keys=False).encode()
    return f"{name}: {at}: {before!r} to {after!r}"


def setting(files: Files, _: Files, draw: random.Random) -> str:
    """A setting of params.yaml."""
    value = yaml.safe_load(files["params.yaml"])
    return _yaml(files, "params.yaml", leaves(value), value, draw)


def margin(files: Files, _: Files, draw: random.Random) -> str:
    """A margin, a floor, or the level of decisions, of the settings or the frozen plan."""
    names = {"margin", "within_groups", "floors", "alpha"}
    name = draw.choice(("params.yaml", "data/plan/frozen.json"))
    value = yaml.safe_load(files[name])
    paths = [
        at for at in leaves(value) if names & {*at} and (name != "params.yaml" or at[0] in {"decision", "measure"})
    ]
    told = _yaml(files, name, paths, value, draw)
    if name.endswith(".json"):
        files[name] = (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()
    return told


def plan(files: Files, _: Files, draw: random.Random) -> str:
    """The frozen plan: its date, cases, size, endpoints; or no plan."""
    name = "data/plan/frozen.json"
    if draw.random() < SELDOM:
        del files[name]
        return "the plan left out"
    value = json.loads(files[name])
    at = draw.choice(leaves(value))
    before, after = alter(value, at, draw)
    files[name] = (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()
    return f"{name}: {at}: {before!r} to {after!r}"


def model(files: Files, _: Files, draw: random.Random) -> str:
    """The model: its entry, its manifest, or that of the judge."""
    name = draw.choice(sorted(path for path in files if path.startswith("models/") or path == "data/manifest.json"))
    value = yaml.safe_load(files[name])
    told = _yaml(files, name, leaves(value), value, draw)
    if name.endswith(".json"):
        files[name] = (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()
    return told


def environment(files: Files, _: Files, draw: random.Random) -> str:
    """The environment: a version."""
    value = json.loads(files["data/environment.json"])
    at = draw.choice(leaves(value))
    before, after = alter(value, at, draw)
    files["data/environment.json"] = (json.dumps(value, indent=2) + "\n").encode()
    return f"environment: {at}: {before!r} to {after!r}"


def declaration(files: Files, _: Files, draw: random.Random) -> str:
    """A date, the commit, the version or the digest of the code in pack.json."""
    value = json.loads(files[LIST])
    at = draw.choice([path for path in leaves(value) if path[0] not in {"files", "schema"}])
    before, after = alter(value, at, draw)
    files[LIST] = json.dumps(value).encode()
    return f"{LIST}: {at}: {before!r} to {after!r}"


def authored(files: Files, _: Files, draw: random.Random) -> str:
    """A number or a word of the authored data: a case, a question, a word list."""
    names = [path for path in files if path.endswith(".yaml") and path.startswith("data/") and "ratings" not in path]
    name = draw.choice(sorted(names))
    value = yaml.safe_load(files[name])
    return _yaml(files, name, leaves(value), value, draw)


def report(files: Files, _: Files, draw: random.Random) -> str:
    """A number, a word or a line of the report."""
    lines = files[REPORT].decode().split("\n")
    place = draw.choice([index for index, line in enumerate(lines) if line.strip()])
    before = lines[place]
    numbers = [*NUMBER.finditer(before)]
    if draw.random() < SOMETIMES:
        del lines[place]
    elif numbers and draw.random() < OFTEN:
        number = draw.choice(numbers)
        lines[place] = f"{before[: number.start()]}{float(number[0]) + 1:g}{before[number.end() :]}"
    else:
        words = before.split(" ")
        words[draw.randrange(len(words))] = "no"
        lines[place] = " ".join(words)
    files[REPORT] = "\n".join(lines).encode()
    return f"{REPORT}, line {place + 1}: {before[:60]!r}"


def mixed(files: Files, other: Files, draw: random.Random) -> str:
    """Files of another pack in place of ours: one, or all of a study, or all but the rows."""
    differing = sorted(name for name in files.keys() & other if files[name] != other[name] and name != LIST)
    study = draw.choice(STUDIES)
    match draw.randrange(4):
        case 0:
            taken = [draw.choice(differing)]
        case 1:
            taken = [name for name in differing if study in {*PurePosixPath(name).parts, PurePosixPath(name).stem}]
        case 2:
            taken = draw.sample(differing, 5)
        case _:
            taken = [name for name in differing if name.startswith(f"data/{study}/")]
    for name in taken:
        files[name] = other[name]
    return f"from the other pack: {', '.join(taken[:4])}"


def file(files: Files, _: Files, draw: random.Random) -> str:
    """A file left out, emptied, added or cut off."""
    name = draw.choice(sorted(path for path in files if path != LIST and files[path]))
    match draw.randrange(4):
        case 0:
            del files[name]
            return f"{name} left out"
        case 1:
            files[name] = b""
            return f"{name} emptied"
        case 2:
            files["data/vignettes/built/more.jsonl"] = files[rows_in(files)[0]]
            return "a file added"
        case _:
            files[name] = files[name][: draw.randrange(1, max(2, len(files[name]) - 1))]
            return f"{name} cut off"


KINDS: dict[str, tuple[Change, int]] = {
    "a value of a row": (row_value, 200),
    "a word of a row": (row_text, 100),
    "rows dropped": (row_dropped, 80),
    "a row doubled": (row_doubled, 60),
    "two rows exchanged": (rows_exchanged, 60),
    "order": (order, 40),
    "a figure": (figure, 100),
    "a setting": (setting, 60),
    "a margin or a level": (margin, 50),
    "the frozen plan": (plan, 30),
    "the model": (model, 30),
    "the environment": (environment, 20),
    "a date or the code": (declaration, 30),
    "authored data": (authored, 30),
    "the report": (report, 50),
    "two packs mixed": (mixed, 40),
    "a file": (file, 20),
}
"""Each kind of mutation and how many there are of it, a thousand in all."""


def renewed(files: Files, before: Mapping[str, str]) -> Contents:
    """Write every sha256 of a pack anew: in the list, and in the report."""
    value = json.loads(files[LIST])
    kept = {name: content for name, content in files.items() if name != LIST}
    text = kept.get(REPORT, b"").decode("utf-8", "replace")
    for name, content in kept.items():
        if name in before and name != REPORT:
            text = text.replace(before[name], hashlib.sha256(content).hexdigest())
    if REPORT in kept:
        kept[REPORT] = text.encode()
    value["files"] = evidence.sha256s(kept)
    return _through_a_file(json.dumps(value).encode(), kept)


def kept(files: Files) -> Contents:
    """Leave the list as it is."""
    return _through_a_file(files[LIST], {name: content for name, content in files.items() if name != LIST})


def _through_a_file(head: bytes, files: Files) -> Contents:
    """Write a pack with this list and read it, as `equipoise verify` does."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, content in {LIST: head, **files}.items():
            archive.writestr(name, content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.zip"
        path.write_bytes(written.getvalue())
        return evidence.read(path)


class Memory:
    """The stages that were run, by all that they read: most mutations leave most studies as they are."""

    MOST = 40

    def __init__(self) -> None:
        """Begin with nothing."""
        self.repeat, self.measured = verify.repeat, verify.measured
        self.known: dict[str, Any] = {}

    def stage(self, run: Run, stage: str, **more: Reader) -> None:
        """Run a stage, or write what it wrote."""
        readings = [cast("verify.Readings", reader.probabilities.__self__) for reader in more.values()]  # type: ignore[attr-defined]
        key = self._key(run.study, stage)
        if key not in self.known:
            self.repeat(run, stage, **more)
            wrote = {
                path: path.read_bytes() for path in (*run.folder.glob("built/*"), run.judgements) if path.is_file()
            }
            self._keep(key, (wrote, [{*reading.asked} for reading in readings]))
        wrote, asked = self.known[key]
        for path, content in wrote.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for reading, those in zip(readings, asked, strict=True):
            reading.asked |= those

    def result(self, run: Run) -> StudyResult:
        """Measure a study, or give what was measured."""
        key = self._key(run.study, "measure")
        if key not in self.known:
            self._keep(key, self.measured(run))
        result: StudyResult = self.known[key]
        return result

    def _keep(self, key: str, value: object) -> None:
        # Those of the unchanged pack come first, and stay.
        if len(self.known) >= self.MOST:
            self.known.pop([*self.known][self.MOST // 2])
        self.known[key] = value

    @staticmethod
    def _key(study: str, stage: str) -> str:
        others = {name for name in STUDIES if name != study} | {"environment.json"}
        others |= {"plan"} if stage != "measure" else set()
        paths = sorted(path for path in Path().rglob("*") if path.is_file() and not others & {*path.parts})
        return jsonl.digest([study, stage, [[path.as_posix(), jsonl.sha256(path)] for path in paths]])


def said(make: Callable[[], Contents]) -> str:
    """Verify a pack, and return what is wrong with it; empty if it passes as sound."""
    try:
        difference = next(verify.differences(make()), None)
    except EquipoiseError as error:
        return f"error: {error}"
    return "" if difference is None else f"differs: {difference}"


def trial(number: int, kind: str, packs: tuple[Files, Files], seed: int = SEED) -> Outcome:
    """Make one mutation, and try it both ways; one that is caught with all anew is caught with the list kept."""
    draw = random.Random(f"{seed} {kind} {number}")  # noqa: S311  (a simulation)
    files = dict(packs[0])
    before = json.loads(files[LIST])["files"]
    change = KINDS[kind][0](files, dict(packs[1]), draw)
    anew = said(partial(renewed, dict(files), before))
    return Outcome(kind, change, listed(partial(kept, files)), anew)


def listed(make: Callable[[], Contents]) -> str:
    """Say what is wrong with a pack whose list was kept: a sha256, which is compared last, else what is computed."""
    try:
        difference = next(verify._hashes(make()), None)  # noqa: SLF001
    except EquipoiseError as error:
        return f"error: {error}"
    return said(make) if difference is None else f"differs: {difference}"


def files_of(content: bytes) -> Files:
    """Take a pack apart."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packs(studies: tuple[str, ...] = STUDIES) -> tuple[Files, Files]:
    """Pack the runs of two phantoms."""
    made = []
    for name in (FIRST, SECOND):
        with tempfile.TemporaryDirectory() as folder:
            made.append(files_of(packed(Path(folder), name, studies)))
    return made[0], made[1]


def main(n: Annotated[int, typer.Option(help="How many mutations.")] = N) -> None:
    """Try the mutations on two processes, and write how many of each kind were caught."""
    made = packs()
    listed = [(number, kind) for kind, (_, most) in KINDS.items() for number in range(-(-most * n // N))]
    memory = Memory()
    verify.repeat, verify.measured = memory.stage, memory.result
    if wrong := said(partial(kept, made[0])):
        raise EquipoiseError(f"the pack itself: {wrong}")
    with get_context("fork").Pool(2) as pool:
        outcomes = pool.starmap(partial(_trial, made), listed, chunksize=4)
    totals = {
        kind: {
            "mutations": len(own),
            "caught": sum(bool(outcome.kept) for outcome in own),
            "caught with every sha256 written anew": sum(bool(outcome.renewed) for outcome in own),
        }
        for kind in KINDS
        if (own := [outcome for outcome in outcomes if outcome.kind == kind])
    }
    counted = Counter(name for counts in totals.values() for name, number in counts.items() for _ in range(number))
    missed = [f"{outcome.kind}: {outcome.change}" for outcome in outcomes if not outcome.renewed]
    jsonl.write_json(FIGURES, {"seed": SEED, "all": dict(counted), "kinds": totals, "not computed again": missed})
    typer.echo(json.dumps(dict(counted)))


def _trial(made: tuple[Files, Files], number: int, kind: str) -> Outcome:
    return trial(number, kind, made)


if __name__ == "__main__":
    stage.run(main)
