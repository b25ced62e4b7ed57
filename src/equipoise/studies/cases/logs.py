"""Logs of other evaluations, as cases and saved outputs: inspect's, lm-evaluation-harness's, and tables.

A reader gives the samples of a log as the log has them, nested. What a case and its output are made of (`FIELDS`) is
found in a sample by paths, names joined with dots such as `metadata.pair`: the user's, else the format's own
(`INSPECT`, `LM_EVAL`, `TABLE`). The names are those of the interchange format (`equipoise.studies.cases.rows`), so that
the cases are made and checked as those of a file in it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core.display import few
from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.tables import json_rows, require_new, rows_of, table_rows
from equipoise.materials.vignette import ROLES
from equipoise.studies.cases.rows import Case, Output, arms_of, case_of

CASE = ("prompt", "bias_feature", "bias_label")
ABOUT = (
    *("dimension", "features", "role", "pair", "expected", "synonyms", "expected_synonyms"),
    *("story", "source", "licence"),
)
FIELDS = ("id", *CASE, *ABOUT, "reasoning", "output_text")
"""What a case and its output are made of."""
LISTED = ("synonyms", "expected_synonyms")
"""Fields that hold several texts: a list, or one text with semicolons between them."""
PAIRED = ("pair", "role", "expected")
"""Fields that a case of a pair needs beside those of a single case."""
NEEDED = frozenset({"id", *CASE, "output_text"})
SHOWN = 12
"""Names of a sample that a message lists."""
KEPT = ("id", "epoch", "input", "target", "metadata", "messages", "output", "error")
"""Fields of a sample of inspect's that are read."""
SAMPLES_FILE = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d.:-]+")
"""The name of a file of samples as lm-evaluation-harness writes it: task and time."""

Paths = dict[str, tuple[str, ...]]
INSPECT: Paths = {
    **{name: (f"metadata.{name}",) for name in FIELDS},
    "id": ("id",),
    "prompt": ("input",),
    "expected": ("metadata.expected", "target"),
    "expected_synonyms": ("metadata.expected_synonyms", "more_targets"),
    "reasoning": ("reasoning",),
    "output_text": ("output_text",),
}
LM_EVAL: Paths = {
    **{name: (f"doc.{name}", f"doc.metadata.{name}") for name in FIELDS},
    "id": ("doc_id",),
    "prompt": ("arguments.gen_args_0.arg_0", "arguments.0.0"),
    "expected": ("doc.expected", "doc.metadata.expected", "target"),
    "reasoning": ("reasoning",),
    "output_text": ("output_text",),
}
TABLE: Paths = {name: (name,) for name in FIELDS}


class Sample(NamedTuple):
    """A sample of a log: its place for messages, its values, and whether the run gave an output."""

    where: str
    row: Mapping[str, Any]
    ok: bool = True


class Log(NamedTuple):
    """A log that was read: its file, its samples, where a sample has each field, the model's name, and remarks."""

    path: Path
    samples: Sequence[Sample]
    paths: Paths
    model: str = ""
    remarks: tuple[str, ...] = ()


class Columns(NamedTuple):
    """What the user says of a log: where fields are, which have one value throughout, and how cases form pairs.

    `privileged` are the values of the role (of the feature, where there is no role) that make a patient the privileged
    one of a pair; every other is the marginalised one. Without them a role is `marginalised` or `privileged`.
    """

    paths: Mapping[str, str] = {}
    values: Mapping[str, str] = {}
    privileged: frozenset[str] = frozenset()
    paired: bool = True


def columns(
    mapped: Iterable[str], given: Iterable[str], privileged: Iterable[str] = (), *, paired: bool = True
) -> Columns:
    """Read a column map: `FIELD=PATH` where a field is, `FIELD=VALUE` for one value; EquipoiseError for other forms."""
    paths, values = (_assigned(option, some) for option, some in (("--map", mapped), ("--set", given)))
    if both := sorted(paths.keys() & values.keys()):
        raise EquipoiseError(f"{both[0]}: given by --map and by --set: leave one of them out")
    return Columns(paths, values, frozenset(map(_folded, privileged)), paired)


def imported(log: Log, said: Columns) -> tuple[list[Case], list[Output]]:
    """Make a case and an output of every sample of a log.

    Raises EquipoiseError that names the file, the sample and the field where one is missing or malformed, and where no
    two samples are the arms of a pair, unless the cases are to be single ones.
    """
    cases: list[Case] = []
    outputs: list[Output] = []
    seen: dict[str, str] = {}
    values: dict[str, None] = {}
    for number, sample in enumerate(log.samples, start=1):
        found = {name: _field(name, sample, log.paths, said) for name in FIELDS}
        if value := found["role"] or found["bias_feature"]:
            values[value] = None
        found["role"] = _role(found, sample, said)
        needed = [*NEEDED, *(PAIRED if said.paired else ())]
        if missing := next((name for name in FIELDS if name in needed and found[name] is None), None):
            raise EquipoiseError(_missing(missing, sample, log.paths, said))
        about = {name: found[name] for name in ABOUT if found[name] is not None and (said.paired or name != "pair")}
        case = {"id": str(found["id"]), **{name: found[name] for name in CASE}, "metadata": about}
        cases.append(case_of(case, number, sample.where, log.path))
        require_new(seen, cases[-1].key, sample.where)
        outputs.append(Output(cases[-1].key, _whole(found), sample.ok, model=log.model))
    if said.privileged and said.privileged.isdisjoint(map(_folded, values)):
        named = f"the values are {few([*values], SHOWN)}"
        raise EquipoiseError(f"{log.path}: no sample is of --privileged {few(sorted(said.privileged), SHOWN)}: {named}")
    arms = arms_of(str(log.path), cases)
    if said.paired and not any(len(roles) == len(ROLES) for roles in arms.values()):
        raise EquipoiseError(
            f"{log.path}: none of {len(arms)} pairs has a case of each role: give both patients of a pair the same "
            "pair, or import single cases with --unpaired"
        )
    return cases, outputs


def read_inspect(path: Path, epoch: int = 1) -> Log:
    """Read one epoch of a log of inspect's, by its own reader; its samples have the fields of `_inspected`."""
    log = _evaluation(path)
    samples = log["samples"]
    wanted = [one for one in samples if one["epoch"] == epoch]
    if not wanted:
        epochs = f": the log's epochs are {sorted({one['epoch'] for one in samples})}" if samples else ""
        raise EquipoiseError(
            f"{path}: no samples of epoch {epoch}{epochs or ': give a log that was written with its samples'}"
        )
    remarks = [f"{len(samples) - len(wanted)} samples of other epochs left out"] if len(samples) > len(wanted) else []
    if log["status"] != "success":
        remarks.append(f"the evaluation's status is {log['status']}: the log may lack samples")
    about = log["eval"]
    read = [
        Sample(f"{path}, sample {one['id']}", {"task": about["task"], **_inspected(one)}, ok=not one["error"])
        for one in wanted
    ]
    return Log(path, read, INSPECT, about["model"], tuple(remarks))


def read_lm_eval(paths: Sequence[Path]) -> Log:
    """Read files of samples that lm-evaluation-harness wrote; of several files a sample's id begins with its task.

    A sample that the file repeats for each filter counts once: the whole text is read, not what a filter left of it.
    """
    samples: list[Sample] = []
    for path in paths:
        named = SAMPLES_FILE.fullmatch(path.stem)
        task = named["task"] if named else path.stem
        first: dict[str, tuple[object, str]] = {}
        needs = "one sample a row, as `lm_eval --log_samples` writes them"
        for place, row in rows_of(path, needs, json_rows):
            number, text, by = str(row.get("doc_id")), _generated(row, place), row.get("filter")
            other, same = first.setdefault(number, (by, text))
            if by != other and text == same:
                continue
            own = {"doc_id": f"{task}/{number}"} if len(paths) > 1 and "doc_id" in row else {}
            values = {**row, **own, "task": task, "output_text": text}
            samples.append(Sample(f"{place} (doc_id {number})", values))
    return Log(paths[0], samples, LM_EVAL)


def read_table(path: Path) -> Log:
    """Read a table of samples, a row each: CSV, JSONL or parquet."""
    needs = f"one sample a row, with the columns {', '.join(sorted(NEEDED | {*PAIRED}))}, or others and --map"
    return Log(path, [Sample(where, row) for where, row in rows_of(path, needs, table_rows)], TABLE)


def _assigned(option: str, given: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not (equals and value.strip()) or name not in FIELDS:
            known = ", ".join(FIELDS)
            raise EquipoiseError(f"{option} {one!r}: give FIELD=..., the field one of {known}")
        if name in found:
            raise EquipoiseError(f"{option} {one!r}: {name} is given twice: give each field once")
        found[name] = value.strip()
    return found


def _field(name: str, sample: Sample, defaults: Paths, said: Columns) -> Any:  # noqa: ANN401  (as the log has it)
    """Find a field of a sample; None where it is empty, or where the format's own paths lead nowhere."""
    if name in said.values:
        return _listed(said.values[name]) if name in LISTED else said.values[name]
    paths = (said.paths[name],) if name in said.paths else defaults[name]
    found = [value for there, value in (_at(sample.row, path) for path in paths) if there]
    if name in said.paths and not found:
        raise EquipoiseError(
            f"{sample.where}: field {name}: no {paths[0]} in the sample, which has {_named(sample.row)}: correct --map"
        )
    value = next((one for one in found if not _empty(one)), None)
    if value is None:
        # A reply without words is an output.
        return "" if found and name == "output_text" else None
    return _listed(value) if name in LISTED else _text(value, name, sample.where)


def _at(row: Mapping[str, Any], path: str) -> tuple[bool, Any]:
    """Follow a path of names, or of places in lists; whether it leads somewhere, and where to."""
    if path in row:
        return True, row[path]
    value: Any = row
    for name in path.split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return False, None
    return True, value


def _empty(value: object) -> bool:
    return value is None or value in ("", [], {}) or (isinstance(value, str) and not value.strip())


def _text(value: object, name: str, where: str) -> Any:  # noqa: ANN401  (the features are a table of texts)
    if name == "features" and isinstance(value, dict):
        return value
    if isinstance(value, str):
        return value if name in ("prompt", "reasoning", "output_text") else value.strip()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EquipoiseError(f"{where}: field {name} is not a text: name where its text is with --map {name}=PATH")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _listed(value: object) -> list[str]:
    """Give the texts of a list, or of one text with semicolons between them."""
    parts = value if isinstance(value, list | tuple) else str(value).split(";")
    return [text for part in parts if (text := str(part).strip())]


def _role(found: Mapping[str, Any], sample: Sample, said: Columns) -> str | None:
    """The role that a sample states, or that its value has by what the user says; None where it is left open."""
    value = found["role"]
    if said.privileged:
        value = value or found["bias_feature"]
        return None if value is None else ROLES[_folded(value) in said.privileged]
    if value is not None and _folded(value) not in ROLES:
        raise EquipoiseError(
            f"{sample.where}: field role: {value!r} is neither {' nor '.join(ROLES)}: say with --privileged VALUE "
            "which of the values are privileged"
        )
    return None if value is None else _folded(value)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _missing(name: str, sample: Sample, defaults: Paths, said: Columns) -> str:
    """Say which field a sample lacks, where it was looked for, and how to give it."""
    looked = said.paths.get(name) or " or ".join(defaults[name])
    more = ", or import single cases with --unpaired" if name in PAIRED else ""
    say = ", or say which values are privileged with --privileged VALUE" if name == "role" else ""
    return (
        f"{sample.where}: field {name} is missing or empty (looked for {looked}; the sample has {_named(sample.row)}): "
        f"name where it is with --map {name}=PATH, or give one value with --set {name}=VALUE{say}{more}"
    )


def _named(row: Mapping[str, Any]) -> str:
    """List the paths of a sample, those of tables within it too."""
    names = [
        f"{name}.{inner}" if isinstance(value, Mapping) else name
        for name, value in row.items()
        for inner in (value if isinstance(value, Mapping) else [""])
    ]
    return few(names, SHOWN)


def _whole(found: Mapping[str, Any]) -> str:
    """All that the model wrote: a reasoning that the log has apart, in the tags of one, before the answer."""
    said: str = found["output_text"]
    return f"<think>\n{found['reasoning']}\n</think>\n\n{said}" if found["reasoning"] else said


def _evaluation(path: Path) -> dict[str, Any]:
    """Read a log of inspect's as plain values, by its own reader."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise EquipoiseError(
            f"{path}: reading a log of inspect's needs inspect-ai: run `pip install 'equipoise[inspect]'`"
        ) from error
    if not path.is_file():
        raise EquipoiseError(f"{path}: no such file: check the path")
    try:
        log = read_eval_log(path, resolve_attachments="core")
    except Exception as error:  # whatever its reader raises on a file that is no log
        raise EquipoiseError(
            f"{path}: cannot be read as a log of inspect's ({one_line(error)}): give a file that `inspect eval` wrote"
        ) from error
    samples = (one.model_dump(mode="json") for one in log.samples or ())
    return {
        "status": log.status,
        "eval": {"task": log.eval.task, "model": log.eval.model},
        "samples": [{name: one[name] for name in KEPT} for one in samples],
    }


def _inspected(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Give the values of a sample: what was asked, and what the model wrote, its last reply as the output.

    Thinking and earlier replies are its reasoning. The messages that a sample began with are not the model's.
    """
    asked, target = sample["input"], sample["target"]
    targets = [target] if isinstance(target, str) else [*target]
    prompt = asked if isinstance(asked, str) else "\n\n".join(_parts(one)[1] for one in asked if one["role"] == "user")
    output = [choice["message"] for choice in (sample["output"] or {}).get("choices") or []][:1]
    said = [one for one in sample["messages"] if one["role"] == "assistant" and one.get("source") != "input"] or output
    thoughts = [text for one in said for text in _parts(one)]
    return {
        "id": sample["id"],
        "input": prompt,
        "target": targets[0] if targets else None,
        "more_targets": targets[1:],
        "metadata": sample["metadata"] or {},
        "reasoning": "\n\n".join(text for text in thoughts[:-1] if text.strip()),
        "output_text": thoughts[-1] if thoughts else "",
    }


def _parts(message: Mapping[str, Any]) -> tuple[str, str]:
    """Give the thinking and the text of a message."""
    content = message["content"]
    if isinstance(content, str):
        return "", content
    thinking = [
        one.get("summary") if one["redacted"] else one["reasoning"] for one in content if one["type"] == "reasoning"
    ]
    texts = [one["text"] for one in content if one["type"] == "text"]
    return "\n\n".join(filter(None, thinking)), "\n\n".join(texts)


def _generated(row: Mapping[str, Any], where: str) -> str:
    """Give the one text that a model generated for a sample; what was only scored has none."""
    match row.get("resps"):
        case [[str(text)]] | [str(text)]:
            return text
        case [[str(), *_] as several]:
            raise EquipoiseError(f"{where}: field resps has {len(several)} replies: import a run with `repeats: 1`")
        case _:
            raise EquipoiseError(
                f"{where}: field resps is not one generated text: import the samples of a task whose output_type is "
                "generate_until"
            )
