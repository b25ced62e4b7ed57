"""The verification of an evidence pack: every figure computed again from its rows, without model, network or DVC.

The cases and prompts are built again from the authored data, the responses are read again, with the judge's readings in
place of the judge, and the figures, verdicts, metrics and the report in words are made again. Each is compared with
what the pack has. Authored data, responses, the judge's readings and the declarations are taken from the pack. They
have to fit each other, but whoever replaces them all together forges a pack that only a signature tells from ours.
"""

import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, redirect_stdout
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from equipoise.compare.leaderboard import flattened
from equipoise.core import jsonl, params
from equipoise.core.errors import EquipoiseError
from equipoise.core.params import Params
from equipoise.core.prompts import Response
from equipoise.core.row import Row
from equipoise.core.units import Unit
from equipoise.figures.effects import Effect, Nested
from equipoise.figures.layout import read_result, rows_of
from equipoise.figures.options import Decision, Measure
from equipoise.figures.result import StudyResult
from equipoise.figures.study import Study
from equipoise.figures.summary import study_metrics, summary_metrics
from equipoise.figures.verdicts import verdict
from equipoise.judge.passages import TREATMENTS
from equipoise.judge.readers import Reader
from equipoise.models.environment import Environment
from equipoise.pipeline import steps
from equipoise.pipeline.depends import all_read
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.report.evidence import LIST, REPORT, Contents, place, sha256s
from equipoise.report.words import FIELDS, in_words
from equipoise.studies.registry import chosen

DATA = Path("data")
TOLERANCE = 5e-6
"""The largest difference of a number that another machine computes from the same rows; they have six places."""
R = TypeVar("R", bound=Row)


class Difference(NamedTuple):
    """Where a pack differs from what is computed: the study, the figure or the row of a file, and its field."""

    study: str
    figure: str
    field: str
    packed: object
    recomputed: object

    def __str__(self) -> str:
        """Name it in one line."""
        names = ": ".join(filter(None, [self.study, self.figure, self.field]))
        return f"{names}: packed {_short(self.packed)}, recomputed {_short(self.recomputed)}"


class JudgeReading(Row):
    """What the judge read in a passage: the probabilities of `TREATMENTS`; the key is a digest of what it was shown."""

    probabilities: Annotated[tuple[float, ...], Field(min_length=len(TREATMENTS), max_length=len(TREATMENTS))]


class Readings:
    """The judge's readings in a pack, given in place of the judge; or those of a judge, kept for a pack."""

    def __init__(self, study: str, rows: Iterable[JudgeReading], judge: Reader | None = None) -> None:
        """Give the readings that `rows` have; the judge, if there is one, is asked for those that they lack."""
        self.study, self.judge = study, judge
        self.known = {row.key: row for row in rows}
        self.asked: set[str] = set()

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Give the probabilities (pairs, treatments); a pair without a reading is an EquipoiseError."""
        keys = [jsonl.digest(list(pair)) for pair in pairs]
        new = [number for number, key in enumerate(keys) if key not in self.known]
        if new and self.judge is None:
            shown = _short(pairs[new[0]][0])
            raise EquipoiseError(f"{self.study}: the judge's readings have none of the passage {shown} of a response")
        if new and self.judge is not None:
            for number, row in zip(new, self.judge.probabilities([pairs[place] for place in new]), strict=True):
                values = tuple(round(float(value), jsonl.DECIMALS) for value in row)
                self.known[keys[number]] = JudgeReading(key=keys[number], study=self.study, probabilities=values)
        self.asked.update(keys)
        return np.array([self.known[key].probabilities for key in keys]).reshape(len(keys), len(TREATMENTS))

    @property
    def reader(self) -> Reader:
        """The readings as a reader."""
        return Reader(self.probabilities, lambda: 0.0)


def files_of(study: str) -> dict[str, str]:
    """Name the files of a study in a pack, apart from those that `build` writes."""
    rows = {name: f"data/{study}/{name}.jsonl" for name in ("asked", "responses", "readings", "judgements", "effects")}
    return {**rows, "metrics": f"metrics/{study}.json", "summary": f"metrics/summary/{study}.json"}


def is_derived(name: str, studies: Iterable[str]) -> bool:
    """Whether a file is computed again, and not given."""
    made = {files_of(study)[kind] for study in studies for kind in ("judgements", "effects", "metrics", "summary")}
    built = {f"data/{study}/built" for study in studies}
    return name == REPORT or name in made or PurePosixPath(name).parent.as_posix() in built


def unrepeated(settings: Params) -> dict[str, str]:
    """Say what only a model could repeat, with the reason, by `study, stage`: it is taken from the pack as it is."""
    return {f"{study.name}, {stage}": why for study in chosen(settings) for stage, why in study.asks(settings).items()}


def differences(contents: Contents) -> Iterator[Difference]:
    """Compute everything again in a temporary folder, and give what differs, in the order of the computation.

    Raises EquipoiseError for a file that is malformed, or rows that do not belong together.
    """
    with ExitStack() as opened:
        folder = Path(opened.enter_context(TemporaryDirectory()))
        opened.enter_context(chdir(folder))
        _place_settings(contents)
        settings = params.load()
        place(Path(), contents.files, [name for name in contents.files if not is_derived(name, settings.studies)])
        for name in all_read(chosen(settings), settings, Path()):
            inside = any(path == name or path.startswith(f"{name}/") for path in contents.files)
            if not inside and not _is_empty_folder(name):
                raise EquipoiseError(f"params.yaml: {name} is named there, and is not in the pack")
        results = {}
        for study in chosen(settings):
            run = Run(study.name, DATA, settings)
            yield from _guarded(study.name, partial(_study, study, run, contents.files))
            decision = settings.section("decision", Decision)
            results[study] = read_result(DATA, study, decision)
        yield from _report(contents, settings, results)
        yield from _hashes(contents)


def _place_settings(contents: Contents) -> None:
    name = params.FILE.as_posix()
    if name not in contents.files:
        raise EquipoiseError(f"{name} is missing: a pack has the settings of its run")
    place(Path(), contents.files, [name])


def _is_empty_folder(name: str) -> bool:
    """Whether it may be a folder with nothing but its README, which a pack leaves out; it is made then."""
    path = Path(name)
    if path.suffix or path.is_absolute() or ".." in path.parts:
        return False
    path.mkdir(parents=True, exist_ok=True)
    return True


def _guarded(study: str, steps_of: Callable[[], Iterator[Difference]]) -> Iterator[Difference]:
    """Turn an error from rows that no run writes into one line: the code trusts rows to fit each other."""
    try:
        yield from steps_of()
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise EquipoiseError(
            f"{study}: its rows do not fit each other ({_short(problem)}): no run wrote them"
        ) from error


def _study(study: Study, run: Run, files: Mapping[str, bytes]) -> Iterator[Difference]:
    """Build, read and measure a study again."""
    names, why = files_of(study.name), study.asks(run.settings)
    built = sorted(name for name in files if name.startswith(f"data/{study.name}/built/"))
    yield from _stage(run, "build", built, files, given="build" in why)
    for name, kind in ((names["responses"], Response), (names["asked"], Unit)):
        yield from _canonical(study.name, name, jsonl.read(Path(name), kind), files)
    if study.judged:
        yield from _read(run, names, files)
    else:
        yield from _stage(run, "score", [names["judgements"]], files, given="score" in why)
    result = measured(run)
    jsonl.write(run.effects, rows_of(result))
    yield from _rows(study.name, names["effects"], files, run.effects)
    yield from _metrics(study, run, result, files)


def _read(run: Run, names: Mapping[str, str], files: Mapping[str, bytes]) -> Iterator[Difference]:
    """Read the responses again with the judge's readings, each of which must have been asked for."""
    rows = jsonl.read(Path(names["readings"]), JudgeReading)
    yield from _canonical(run.study, names["readings"], rows, files)
    readings = Readings(run.study, rows)
    yield from _stage(run, "score", [names["judgements"]], files, reader=readings.reader)
    if extra := sorted(readings.known.keys() - readings.asked):
        yield Difference(run.study, f"{names['readings']}, {extra[0]}", "row", "there", "not asked for")


def _stage(
    run: Run, stage: str, names: Sequence[str], files: Mapping[str, bytes], *, given: bool = False, **more: Reader
) -> Iterator[Difference]:
    """Run a stage again and compare what it writes; what is `given` is taken from the pack."""
    if given:
        place(Path(), files, names)
        return
    repeat(run, stage, **more)
    made = run.folder / "built"
    wrote = {path.as_posix() for path in made.glob("*.jsonl")} if stage == "build" else {*names}
    for name in sorted(wrote.union(names)):
        if name not in files or not Path(name).is_file():
            there = ("absent", "there") if name not in files else ("there", "absent")
            yield Difference(run.study, name, "file", *there)
        else:
            yield from _rows(run.study, name, files, Path(name))


def repeat(run: Run, stage: str, **more: Reader) -> None:
    """Run `build` or `score` of a study."""
    with redirect_stdout(io.StringIO()):
        steps.step(run.study, stage)(run, **more)


def measured(run: Run) -> StudyResult:
    """Measure a study."""
    return measure(run, steps.step(run.study, "measure"))


def _canonical(study: str, name: str, rows: Iterable[R], files: Mapping[str, bytes]) -> Iterator[Difference]:
    """Find a given file that is not as a stage writes it: in another order, or with other digits."""
    path = Path(f"{name}.again")
    jsonl.write(path, rows)
    yield from _rows(study, name, files, path)
    path.unlink()


def _rows(study: str, name: str, files: Mapping[str, bytes], again: Path) -> Iterator[Difference]:
    """Compare two files of rows: the rows by their keys, then their fields, then their order."""
    made = again.read_bytes()
    if name not in files:
        yield Difference(study, name, "file", "absent", "there")
        return
    if files[name] == made:
        return
    packed, recomputed = _by_key(name, files[name]), _by_key(name, made)
    equal = True
    for key in sorted(packed.keys() | recomputed.keys()):
        where = key.partition("/")[2] if name.endswith("effects.jsonl") else f"{name}, {key}"
        for difference in _fields(packed.get(key), recomputed.get(key)):
            equal = False
            yield Difference(study, where, *difference)
    if equal and [*packed] != [*recomputed]:
        yield Difference(study, name, "order of rows", next(iter(packed), ""), next(iter(recomputed), ""))
    elif equal and "".join(f"{jsonl.dumps(row)}\n" for row in packed.values()).encode() != files[name]:
        yield Difference(study, name, "form of rows", "another", "canonical")


def _by_key(name: str, content: bytes) -> dict[str, Any]:
    """Index the rows of a file by key, in file order."""
    rows: dict[str, Any] = {}
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), start=1):
        if line.strip():
            row = jsonl.json_value(f"{name}, row {number}", line)
            key = str(row.get("key")) if isinstance(row, dict) else ""
            if key in rows:
                raise EquipoiseError(f"{name}, row {number}: duplicate key {key!r}: no run writes it")
            rows[key] = row
    return rows


def _fields(packed: Any, recomputed: Any) -> Iterator[tuple[str, object, object]]:  # noqa: ANN401  (JSON values)
    """Give the fields in which two rows differ by more than machines do."""
    if packed is None or recomputed is None:
        yield ("row", "absent" if packed is None else "there", "absent" if recomputed is None else "there")
        return
    ours, theirs = flattened({"": packed} if not isinstance(packed, dict) else packed), flattened(recomputed)
    for field in sorted(ours.keys() | theirs.keys()):
        packed_value, recomputed_value = ours.get(field, "absent"), theirs.get(field, "absent")
        if not _same(packed_value, recomputed_value):
            yield field, packed_value, recomputed_value


def _same(first: object, second: object) -> bool:
    """Whether two values are equal, numbers within what machines differ by; 1 is not 1.0 is not true."""
    if type(first) is not type(second):
        return False
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=TOLERANCE / 10, abs_tol=TOLERANCE)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    return first == second


def _metrics(study: Study, run: Run, result: StudyResult, files: Mapping[str, bytes]) -> Iterator[Difference]:
    """Compare the metrics file and the summary with those of the recomputed result."""
    decision, options = run.settings.section("decision", Decision), run.settings.section("measure", Measure)
    names = files_of(study.name)
    written = read_result(run.data, study, decision)
    made: dict[str, tuple[StudyResult, Callable[[StudyResult], Nested]]] = {
        names["metrics"]: (result, partial(study_metrics, study, decision=decision, options=options)),
        names["summary"]: (written, partial(summary_metrics, study, decision=decision)),
    }
    for name, (study_result, lay_out) in made.items():
        if name not in files:
            yield Difference(study.name, name, "file", "absent", "there")
            continue
        packed = jsonl.json_value(name, files[name].decode("utf-8", "replace"))
        if json.dumps(packed) != json.dumps(jsonl.canonical(lay_out(study_result))):
            others = [jsonl.canonical(lay_out(variant)) for variant in _nudged(study, study_result, decision)]
            yield from _leaves(study.name, name, packed, others)


def _leaves(study: str, name: str, packed: Any, made: Sequence[Any]) -> Iterator[Difference]:  # noqa: ANN401
    """Compare each value of a metrics file with what it may be rounded to; the first of `made` is the result itself."""
    if not isinstance(packed, dict):
        yield Difference(study, name, "file", packed, "an object")
        return
    ours, theirs = flattened(packed), [flattened(candidate) for candidate in made]
    for field in dict.fromkeys((*theirs[0], *ours)):
        value, others = ours.get(field, "absent"), [each.get(field, "absent") for each in theirs]
        if not any(type(value) is type(other) and value == other for other in others):
            figure, _, last = field.rpartition(".")
            yield Difference(study, figure or name, last, value, others[0])
    if [*ours] != [*theirs[0]] and ours.keys() == theirs[0].keys():
        yield Difference(study, name, "order of figures", next(iter(ours)), next(iter(theirs[0])))


def _nudged(study: Study, result: StudyResult, decision: Decision) -> Iterator[StudyResult]:
    """Give a result, and what it could be on another machine: a number at the edge of its last digit may round up."""
    yield result
    for step in (TOLERANCE / 2, -TOLERANCE / 2):
        moved = replace(
            result,
            effects=[_moved(row, step) for row in result.effects],
            deciding={name: _moved(row, step) for name, row in result.deciding.items()},
            adjusted={name: _moved(row, step) for name, row in result.adjusted.items()},
        )
        yield moved if result.verdict is None else replace(moved, verdict=verdict(study, moved, decision))


def _moved(row: Effect, step: float) -> Effect:
    values = {name: getattr(row, name) for name in FIELDS}
    return row.model_copy(update={name: value + step for name, value in values.items() if value is not None})


def _report(contents: Contents, settings: Params, results: Mapping[Study, StudyResult]) -> Iterator[Difference]:
    """Write the report again, and compare it line by line."""
    if REPORT not in contents.files:
        yield Difference("", REPORT, "file", "absent", "there")
        return
    pack = contents.pack.model_copy(update={"files": {k: v for k, v in contents.pack.files.items() if k != REPORT}})
    decision = settings.section("decision", Decision)
    again = in_words(pack, Path(), settings, results)
    if again.encode() == contents.files[REPORT]:
        return
    moved = zip(*(_nudged(study, result, decision) for study, result in results.items()), strict=True)
    texts = [in_words(pack, Path(), settings, dict(zip(results, each, strict=True))) for each in moved]
    packed = contents.files[REPORT].decode("utf-8", "replace").split("\n")
    for number, lines in enumerate(zip_longest(packed, *(text.split("\n") for text in texts)), start=1):
        if lines[0] not in lines[1:]:
            yield Difference("", REPORT, f"line {number}", lines[0], lines[1])


def _hashes(contents: Contents) -> Iterator[Difference]:
    """Compare the sha256 of each file with the list."""
    for name, digest in sha256s(contents.files).items():
        if contents.pack.files[name] != digest:
            yield Difference("", f"{LIST}, {name}", "sha256", contents.pack.files[name], digest)


def environment_notes(contents: Contents) -> list[str]:
    """Say how the environment of the run differs from this one, which may explain a difference."""
    name = "data/environment.json"
    if name not in contents.files:
        return []
    recorded = jsonl.parse(name, contents.files[name].decode("utf-8", "replace"), Environment)
    return [difference for difference in recorded.differences(Environment.current()) if "absent" not in difference]


def _short(value: object, most: int = 160) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else f"{text[:most]}…"
