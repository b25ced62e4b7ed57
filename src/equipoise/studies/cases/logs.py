"""Logs of other evaluations, as cases and saved outputs: inspect's, lm-evaluation-harness's, and tables.

A reader gives the samples of a log with their nested values. The fields of a case and its output (`FIELDS`) are looked
up in a sample by paths, names joined with dots such as `metadata.pair`: the user's paths, else those of the format
(`INSPECT`, `LM_EVAL`, `TABLE`). Field names are those of the interchange format (`equipoise.studies.cases.rows`), whose
checks apply.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core import jsonl
from equipoise.core.display import few
from equipoise.core.errors import EquipoiseError, nearest, one_line
from equipoise.core.sheets import import_problem
from equipoise.core.shipped import shipped
from equipoise.core.tables import is_missing, json_rows, require_new, rows_of, table_rows
from equipoise.judge.lexicon import FOLDER
from equipoise.materials.vignette import ROLES
from equipoise.studies.cases.options import (
    NO_OPTIONS,
    as_options,
    by_place,
    meant,
    options_of,
    parsed,
)
from equipoise.studies.cases.rows import (
    LETTER_ALONE,
    MODEL,
    Case,
    Options,
    Output,
    arms_of,
    case_of,
    is_cut,
    options_in,
    require_one_model,
    require_words,
    role_of,
    spelling,
)
from equipoise.text.thinking import tagged

CASE = ("prompt", "bias_feature", "bias_label")
ABOUT = (
    *("dimension", "features", "role", "pair", "expected", "synonyms", "expected_synonyms"),
    *("story", "source", "licence"),
)
FIELDS = ("id", *CASE, *ABOUT, "reasoning", "output_text", "choices", "stop_reason", "model")
"""The fields of a case and its output."""
LISTED = ("synonyms", "expected_synonyms")
"""Fields with several texts: a list, or one text separated by semicolons."""
PAIRED = ("pair", "role", "expected")
"""Fields that a case of a pair needs in addition to those of a single case."""
NEEDED = frozenset({"id", *CASE, "output_text"})
OWN = frozenset({"id", "pair", "role", "prompt", "bias_feature", "output_text"})
"""Fields that differ between samples, so that one value for all is wrong."""
SHOWN = 12
"""Number of a sample's names that a message lists."""
KEPT = ("id", "epoch", "input", "choices", "target", "metadata", "messages", "output", "error", "limit")
"""Fields that are read from a sample of Inspect."""
SAMPLES_FILE = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)")
"""The name of a file of samples of lm-evaluation-harness: task and time."""

Paths = dict[str, tuple[str, ...]]
INSPECT: Paths = {
    **{name: (f"metadata.{name}",) for name in FIELDS},
    "id": ("id",),
    "prompt": ("input",),
    "expected": ("metadata.expected", "target"),
    **{name: (name,) for name in ("reasoning", "output_text", "stop_reason", "model")},
}
LM_EVAL: Paths = {
    **{name: (f"doc.{name}", f"doc.metadata.{name}") for name in FIELDS},
    "id": ("doc_id",),
    "prompt": ("arguments.gen_args_0.arg_0", "arguments.0.arg_0", "arguments.0.0", "arguments.0", "doc.prompt"),
    "expected": ("doc.expected", "doc.metadata.expected", "target"),
    **{name: (name,) for name in ("reasoning", "output_text")},
    "model": MODEL,
    "stop_reason": ("stop_reason", "finish_reason"),
}
TABLE: Paths = {
    **{name: (name,) for name in FIELDS},
    "model": MODEL,
    "stop_reason": ("stop_reason", "finish_reason"),
}
COLUMNS = frozenset(name for names in TABLE.values() for name in names)
"""The names of the columns that are read from a table."""


class Sample(NamedTuple):
    """A sample of a log: its location for messages, its values, and whether the run gave an output."""

    where: str
    row: Mapping[str, Any]
    ok: bool = True


Fields = tuple[Sample, dict[str, Any]]
"""A sample and its fields by name."""


class Log(NamedTuple):
    """A log: its file, its samples, the paths of each field, and remarks.

    `from_zero`: a target that is a number is the place of an option, the first being 0.
    """

    path: Path
    samples: Sequence[Sample]
    paths: Paths
    remarks: tuple[str, ...] = ()
    from_zero: bool = False


class Columns(NamedTuple):
    """The user's description of a log: paths of fields, fields with a constant value, and how cases form pairs.

    `privileged` are the values of the role (of the feature, if there is no role) that mark the privileged patient of a
    pair; any other value marks the marginalised one, or those of `marginalised`, if there are any: samples of neither
    are then left out. Without them a role is `marginalised` or `privileged`.
    """

    paths: Mapping[str, str] = {}
    values: Mapping[str, str] = {}
    privileged: frozenset[str] = frozenset()
    paired: bool = True
    marginalised: frozenset[str] = frozenset()

    def is_left_out(self, value: str | None) -> bool:
        """Whether samples of a role (or feature) are those of a group that is not compared, or of none."""
        known = self.privileged | self.marginalised
        return bool(self.marginalised) and spelling(value) not in known


def columns(
    mapped: Iterable[str],
    given: Iterable[str],
    privileged: Iterable[str] = (),
    marginalised: Iterable[str] = (),
    *,
    paired: bool = True,
) -> Columns:
    """Read a column map of `FIELD=PATH` and `FIELD=VALUE`; other forms are an EquipoiseError."""
    paths, values = (_assignments(option, pairs) for option, pairs in (("--map", mapped), ("--set", given)))
    if both := sorted(paths.keys() & values.keys()):
        raise EquipoiseError(f"{both[0]}: given by --map and by --set: leave one of them out")
    if unnamed := next(filter(is_missing, (*privileged, *marginalised)), None):
        raise EquipoiseError(f"{unnamed!r} stands for a missing value: rename that group in the samples")
    groups = [frozenset(map(spelling, named)) for named in (privileged, marginalised)]
    if groups[1] and not groups[0]:
        raise EquipoiseError("--marginalised needs --privileged: name the group that it is compared with")
    return Columns(paths, values, groups[0], paired, groups[1])


def import_samples(log: Log, mapping: Columns) -> tuple[list[Case], list[Output]]:
    """Convert every sample of a log to a case and an output.

    Raises EquipoiseError that names the file, the sample and the field if one is missing or malformed, or if no two
    samples are the arms of a pair, unless `mapping` asks for single cases.
    """
    cases: list[Case] = []
    outputs: list[Output] = []
    seen: dict[str, str] = {}
    models: dict[str, str] = {}
    read = [(sample, {name: _field(name, sample, log.paths, mapping) for name in FIELDS}) for sample in log.samples]
    values = dict.fromkeys(value for _, fields in read if (value := fields["role"] or fields["bias_feature"]))
    read = _compared(read, mapping)
    lettered = any(_names_places(fields) for _, fields in read)
    for number, (sample, fields) in enumerate(read, start=1):
        fields["role"] = _role(fields, sample, mapping)
        needed = [*NEEDED, *(PAIRED if mapping.paired else ())]
        if missing := next((name for name in FIELDS if name in needed and fields[name] is None), None):
            known = any(other[missing] is not None for _, other in read)
            raise EquipoiseError(_missing(missing, sample, log.paths, mapping, constant=not known))
        _choose(fields, sample, from_zero=log.from_zero, lettered=lettered)
        kept = [name for name in ABOUT if fields[name] and (mapping.paired or name != "pair")]
        metadata = {name: fields[name] for name in kept} | {"options": fields["choices"] or {}}
        case = {"id": str(fields["id"]), **{name: fields[name] for name in CASE}, "metadata": metadata}
        cases.append(case_of(case, number, sample.where, log.path))
        require_new(seen, cases[-1].key, sample.where)
        model = require_one_model(models, fields, sample.where)
        text, cut = tagged(fields["reasoning"] or "", fields["output_text"]), is_cut(fields["stop_reason"])
        outputs.append(Output(cases[-1].key, text, sample.ok, model=model, cut=cut))
    if mapping.privileged and mapping.privileged.isdisjoint(map(spelling, values)):
        named = f"the values are {few([*values], SHOWN)}"
        raise EquipoiseError(
            f"{log.path}: no sample is of --privileged {few(sorted(mapping.privileged), SHOWN)}: {named}"
        )
    arms = arms_of(str(log.path), cases)
    if mapping.paired and not any(len(roles) == len(ROLES) for roles in arms.values()):
        raise EquipoiseError(
            f"{log.path}: none of {len(arms)} pairs has a case of each role: give both patients of a pair the same "
            "pair, or import single cases with --unpaired"
        )
    require_words(str(log.path), outputs, {case.key: case for case in cases})
    return cases, outputs


def _compared(read: Sequence[Fields], mapping: Columns) -> list[Fields]:
    """Leave out the samples of other groups, and where a pair has one comparison alone, those compared with them.

    The other arm of a pair that was left out is not missing; where several groups share a pair, it may be.
    """
    kept = [record for record in read if not mapping.is_left_out(record[1]["role"] or record[1]["bias_feature"])]
    sizes = Counter(fields["pair"] for _, fields in read)
    if len(kept) == len(read) or max(sizes.values()) > len(ROLES):
        return kept
    whole = Counter(fields["pair"] for _, fields in kept)
    return [record for record in kept if whole[record[1]["pair"]] == sizes[record[1]["pair"]]]


def remarks_on(log: Log, cases: Sequence[Case], outputs: Sequence[Output]) -> list[str]:
    """Say what the cases and outputs of a log are, beyond the log's own remarks."""
    pairs = [pair for pair in arms_of(str(log.path), cases).values() if len(pair) == len(ROLES)]
    features = {role: {(*pair[role].features, spelling(pair[role].feature)) for pair in pairs} for role in ROLES}
    counts = {
        "pairs have the same prompt for both patients: give the case as it was put to the model": sum(
            len({" ".join(case.prompt.split()) for case in pair.values()}) == 1 for pair in pairs
        ),
        "features are the marginalised patient's in some pairs and the privileged one's in others": len(
            set.intersection(*features.values())
        ),
        "samples of other groups, or of none, left out": len(log.samples) - len(cases),
        "cases are multiple choice: the option that a reply chooses is its answer": sum(bool(c.options) for c in cases),
        "replies were ended by a limit, and count as unfinished": sum(output.cut for output in outputs),
    }
    return [*log.remarks, *(f"{n} {what}" for what, n in counts.items() if n), *_without_words(cases)]


def _without_words(cases: Iterable[Case]) -> list[str]:
    """Name the dimensions that have no list of words for the judge: some are new, others misspelt."""
    known = [path.stem for path in sorted(shipped(FOLDER).glob("*.yaml"))]
    unknown = sorted({name for case in cases for name in case.features if name} - {*known})
    return [
        f"dimension {name!r}: {nearest(name, known)}it has no {FOLDER}/{name}.yaml, so the judge looks for the words "
        "of bias_feature alone"
        for name in unknown
    ]


def read_inspect(path: Path, epoch: int = 1) -> Log:
    """Read one epoch of a log of Inspect, with Inspect's reader; samples have the fields of `_sample_values`."""
    log = _evaluation(path)
    samples = log["samples"]
    wanted = [sample for sample in samples if sample["epoch"] == epoch]
    if not wanted:
        epochs = f": the log's epochs are {sorted({sample['epoch'] for sample in samples})}" if samples else ""
        raise EquipoiseError(
            f"{path}: no samples of epoch {epoch}{epochs or ': give a log that was written with its samples'}"
        )
    remarks = [f"{len(samples) - len(wanted)} samples of other epochs left out"] if len(samples) > len(wanted) else []
    if log["status"] != "success":
        remarks.append(f"the evaluation's status is {log['status']}: the log may lack samples")
    about = {name: log["eval"][name] for name in ("task", "model")}
    read = [
        Sample(f"{path}, sample {sample['id']}", {**about, **_sample_values(sample)}, ok=not sample["error"])
        for sample in wanted
    ]
    return Log(path, read, INSPECT, tuple(remarks))


def read_lm_eval(paths: Sequence[Path]) -> Log:
    """Read files of samples of lm-evaluation-harness; with several files, a sample's id begins with its task.

    A sample that a file repeats for each filter counts once, with its whole text before filtering.
    """
    samples: list[Sample] = []
    for path in paths:
        named = SAMPLES_FILE.fullmatch(path.stem)
        task, model = named["task"] if named else path.stem, _model_beside(path, named["time"]) if named else None
        first: dict[str, tuple[object, str]] = {}
        needs = "one sample a row, as `lm_eval --log_samples` writes them"
        for place, row in rows_of(path, needs, json_rows):
            number, text, by = str(row.get("doc_id")), _generated(row, place), row.get("filter")
            known = number in first
            other, same = first.setdefault(number, (by, text))
            # Older versions do not name the filter.
            if known and text == same and (by != other or by is None):
                continue
            own = {"doc_id": f"{task}/{number}"} if len(paths) > 1 and "doc_id" in row else {}
            values = {"model": model, **row, **own, "task": task, "output_text": text}
            samples.append(Sample(f"{place} (doc_id {number})", values))
    return Log(paths[0], samples, LM_EVAL, from_zero=True)


def _model_beside(path: Path, time: str) -> object:
    """Find the model's name in the results that lm-evaluation-harness writes beside its samples, if they are there."""
    results = path.with_name(f"results_{time}.json")
    value = jsonl.json_value(str(results), jsonl.read_text(results), lenient=True) if results.is_file() else None
    return value.get("model_name") if isinstance(value, dict) else None


def read_table(path: Path) -> Log:
    """Read a table with one sample per row: CSV, JSONL, parquet or a spreadsheet; `Output text` is `output_text`.

    The ids of a table without the column are the numbers of its rows.
    """
    asked = sorted(NEEDED - {"id"} | {*PAIRED})
    needs = f"one sample a row, with the columns {', '.join(asked)}, or others and --map"
    rows = [(where, _renamed(row)) for where, row in rows_of(path, needs, table_rows)]
    if not any("id" in row for _, row in rows):
        rows = [(where, {"id": str(number), **row}) for number, (where, row) in enumerate(rows, start=1)]
    return Log(path, [Sample(where, row) for where, row in rows], TABLE)


def _renamed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Give the columns that are fields but for capitals, spaces and hyphens the fields' names."""
    names = {name: re.sub(r"[\W_]+", "_", name.strip()).casefold() for name in row}
    return {plain if (plain := names[name]) in COLUMNS and plain not in row else name: row[name] for name in row}


def _assignments(option: str, given: Iterable[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for assignment in given:
        name, equals, value = assignment.partition("=")
        if not (equals and value.strip()) or name not in FIELDS:
            known = ", ".join(FIELDS)
            meant = nearest(name, FIELDS) if equals and name not in FIELDS else ""
            raise EquipoiseError(f"{option} {assignment!r}: {meant}give FIELD=..., the field one of {known}")
        if name in values:
            raise EquipoiseError(f"{option} {assignment!r}: {name} is given twice: give each field once")
        values[name] = value.strip()
    return values


def _field(name: str, sample: Sample, defaults: Paths, mapping: Columns) -> Any:  # noqa: ANN401  (as the log has it)
    """Find a field of a sample; None if it is empty, or if none of the format's own paths exist.

    The expected answers are a list, the options a table.
    """
    if name == "choices":
        return _choices(sample, defaults, mapping)
    values = _values(name, sample, defaults, mapping)
    value = next((value for value in values if not is_missing(value)), None)
    if value is None:
        # An empty reply is an output.
        return "" if values and name == "output_text" else None
    if name in LISTED:
        return _texts(value)
    if name == "expected":
        several = parsed(value) if isinstance(value, str) else value
        given = several if isinstance(several, list) else [value]
        return [_text(answer, name, sample.where) for answer in given if not is_missing(answer)] or None
    return _text(_asked(value) if name == "prompt" else value, name, sample.where)


def _values(name: str, sample: Sample, defaults: Paths, mapping: Columns) -> list[Any]:
    """List what a sample has of a field: the user's value, or what is at the user's or the format's paths."""
    if name in mapping.values:
        return [mapping.values[name]]
    paths = (mapping.paths[name],) if name in mapping.paths else defaults[name]
    values = [value for there, value in (_lookup(sample.row, path) for path in paths) if there]
    if name in mapping.paths and not values:
        raise EquipoiseError(
            f"{sample.where}: field {name}: no {paths[0]} in the sample, which has {_names(sample.row)}: correct --map"
        )
    return values


def _choices(sample: Sample, defaults: Paths, mapping: Columns) -> Options | None:
    """Read the options where the user or the sample has them; None if the user says that replies are free text."""
    if "choices" not in mapping.values and "choices" not in mapping.paths:
        return options_of(sample.row)
    value = _values("choices", sample, defaults, mapping)[0]
    if isinstance(value, str) and spelling(value) == NO_OPTIONS:
        return None
    if options := as_options(value):
        return options
    raise EquipoiseError(f"{sample.where}: field choices: no list of two options or more: correct --map or --set")


def _names_places(fields: Mapping[str, Any]) -> bool:
    """Whether a sample's answers or its reply name options by letter or number."""
    named = [*(fields["expected"] or ()), fields["bias_label"]]
    return any(map(by_place, named)) or bool(LETTER_ALONE.search(fields["output_text"] or ""))


def _choose(fields: dict[str, Any], sample: Sample, *, from_zero: bool, lettered: bool) -> None:
    """Replace what names options by their words, and several expected answers by the first with its synonyms."""
    options, answers = fields["choices"], {"expected": fields["expected"] or [], "bias_label": [fields["bias_label"]]}
    if options == {} and lettered:
        fields["choices"] = options = options_in(fields["prompt"])
    target = sample.row.get("target")
    targets = [*map(str, target if isinstance(target, list) else [target])] if from_zero else []
    for name, synonyms in (("expected", "expected_synonyms"), ("bias_label", "synonyms")):
        given, others = answers[name], fields[synonyms] or []
        try:
            resolved = (
                [meant(answer, others, options, from_zero=answer in targets) for answer in given] if options else given
            )
        except EquipoiseError as error:
            raise EquipoiseError(f"{sample.where}: field {name}: {error}") from error
        if not options and any(map(by_place, given)):
            problem = f"{given[0]!r} is the letter or number of an option, and there are no options"
            fix = f"name them with --map choices=PATH, or the answer's words with --map {name}=PATH"
            raise EquipoiseError(f"{sample.where}: field {name}: {problem}: {fix}")
        if options and len(set(resolved)) > 1:
            problem = f"{len(resolved)} options are right ({few(resolved)})"
            raise EquipoiseError(f"{sample.where}: field {name}: {problem}: leave out questions with several")
        fields[name] = resolved[0] if resolved else None
        more = [*(answer for answer in given if options and not by_place(answer)), *resolved[1:], *others]
        fields[synonyms] = [wording for wording in dict.fromkeys(more) if spelling(wording) != spelling(fields[name])]
    if options and spelling(fields["expected"]) == spelling(fields["bias_label"]):
        raise EquipoiseError(
            f"{sample.where}: expected and bias_label are one option, {fields['expected']!r}: correct one"
        )


def _asked(value: object) -> object:
    """Give the user's words of a prompt that is a list of chat messages, perhaps as JSON; other prompts as they are."""
    messages = parsed(value) if isinstance(value, str) else value
    if isinstance(messages, Mapping):
        messages = messages.get("messages", messages.get("prompt", messages))
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], str | list):
        return _asked(messages[0])
    if not (isinstance(messages, list) and messages and all(isinstance(message, Mapping) for message in messages)):
        return value if isinstance(messages, list) else messages
    contents = [message.get("content") for message in messages if message.get("role") in ("user", "human")]
    parts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
    return "\n\n".join(part["text"] if isinstance(part, Mapping) and "text" in part else str(part) for part in parts)


def _lookup(row: Mapping[str, Any], path: str) -> tuple[bool, Any]:
    """Follow a path of names, or of positions in lists: whether it exists, and its value."""
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


def _text(value: object, name: str, where: str) -> Any:  # noqa: ANN401  (the features are a table of texts)
    if name == "features" and isinstance(value, dict):
        return value
    if isinstance(value, str):
        return value if name in ("prompt", "reasoning", "output_text") else value.strip()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EquipoiseError(f"{where}: field {name} is not a text: name where its text is with --map {name}=PATH")
    # Data frames turn a column with gaps into floats: 1234567.0 is the id 1234567.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _texts(value: object) -> list[str]:
    """Give the texts of a list, or of one text separated by semicolons."""
    value = parsed(value) if isinstance(value, str) else value
    parts = value if isinstance(value, list | tuple) else str(value).split(";")
    return [str(part).strip() for part in parts if not is_missing(part)]


def _role(fields: Mapping[str, Any], sample: Sample, mapping: Columns) -> str | None:
    """Give the role that a sample states, or that `mapping` gives to its value; None if neither does."""
    value = fields["role"]
    if mapping.privileged:
        value = value or fields["bias_feature"]
        return None if value is None else ROLES[spelling(value) in mapping.privileged]
    if value is not None and role_of(value) not in ROLES:
        raise EquipoiseError(
            f"{sample.where}: field role: {value!r} is neither {' nor '.join(ROLES)}: say with --privileged VALUE "
            "which of the values are privileged"
        )
    return None if value is None else str(role_of(value))


def _missing(name: str, sample: Sample, defaults: Paths, mapping: Columns, *, constant: bool) -> str:
    """Write the error about a missing field: where it was looked for, and how to give it.

    One value for all samples is advised only where it is `constant`: no sample has the field.
    """
    looked = mapping.paths.get(name) or " or ".join(defaults[name])
    more = ", or import single cases with --unpaired" if name in PAIRED else ""
    say = ", or say which values are privileged with --privileged VALUE" if name == "role" else ""
    values = [value for value in _values(name, sample, defaults, mapping) if isinstance(value, str) and value.strip()]
    remark = f", where {values[0]!r} stands for a missing value" if values else ""
    if values and name in ("role", "bias_feature"):
        remark += ": rename the group if that is its name"
    given = f", or give one value with --set {name}=VALUE" if constant and name not in OWN else ""
    return (
        f"{sample.where}: field {name} is missing or empty (looked for {looked}{remark}; the sample has "
        f"{_names(sample.row)}): "
        f"name where it is with --map {name}=PATH{given}{say}{more}"
    )


def _names(row: Mapping[str, Any]) -> str:
    """List the paths of a sample, including those of nested tables."""
    names = [
        f"{name}.{inner}" if isinstance(value, Mapping) else name
        for name, value in row.items()
        for inner in (value if isinstance(value, Mapping) else [""])
    ]
    return few(names, SHOWN)


def _evaluation(path: Path) -> dict[str, Any]:
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        problem = import_problem("inspect-ai", error, "'equipoise[inspect]'")
        raise EquipoiseError(f"{path}: a log of inspect's: {problem}") from error
    if not path.is_file():
        raise EquipoiseError(f"{path}: no such file: check the path")
    try:
        log = read_eval_log(path, resolve_attachments="core")
    except Exception as error:  # whatever the reader raises on another file
        raise EquipoiseError(
            f"{path}: cannot be read as a log of inspect's ({one_line(error)}): give a file that `inspect eval` wrote"
        ) from error
    samples = (sample.model_dump(mode="json") for sample in log.samples or ())
    return {
        "status": log.status,
        "eval": {"task": log.eval.task, "model": log.eval.model},
        "samples": [{name: sample.get(name) for name in KEPT} for sample in samples],
    }


def _sample_values(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Give the values of a sample: its prompt, and the model's texts, with the last reply as the output.

    Thinking and earlier replies are the reasoning. The messages that a sample began with are not the model's.
    """
    prompt = sample["input"]
    if not isinstance(prompt, str):
        prompt = "\n\n".join(message_parts(message)[1] for message in prompt if message["role"] == "user")
    output = ((sample["output"] or {}).get("choices") or [])[:1]
    replies = [row for row in sample["messages"] if row["role"] == "assistant" and row.get("source") != "input"] or [
        choice["message"] for choice in output
    ]
    texts = [text for reply in replies for text in message_parts(reply)]
    return {
        "id": sample["id"],
        "input": prompt,
        "choices": sample.get("choices"),
        "target": sample["target"],
        "stop_reason": "limit" if sample.get("limit") else next((choice.get("stop_reason") for choice in output), None),
        "metadata": sample["metadata"] or {},
        "reasoning": "\n\n".join(text for text in texts[:-1] if text.strip()),
        "output_text": texts[-1] if texts else "",
    }


def message_parts(message: Mapping[str, Any]) -> tuple[str, str]:
    """Give the thinking and the text of a message."""
    content = message["content"]
    if isinstance(content, str):
        return "", content
    thinking = [
        part.get("summary") if part["redacted"] else part["reasoning"]
        for part in content
        if part["type"] == "reasoning"
    ]
    texts = [part["text"] for part in content if part["type"] == "text"]
    return "\n\n".join(filter(None, thinking)), "\n\n".join(texts)


def _generated(row: Mapping[str, Any], where: str) -> str:
    """Give the single text that a model generated for a sample; other forms are an EquipoiseError."""
    match row.get("resps"):
        case [[str(text)]] | [str(text)]:
            return text
        case [[str(), *_] as several]:
            raise EquipoiseError(f"{where}: field resps has {len(several)} replies: import a run with `repeats: 1`")
        case None if "results" in row:
            raise EquipoiseError(
                f"{where}: this is the file of results, which has no replies: give the samples_*.jsonl beside it, "
                "which `lm_eval --log_samples` writes"
            )
        case _:
            raise EquipoiseError(
                f"{where}: field resps is not one generated text: import the samples of a task whose output_type is "
                "generate_until"
            )
