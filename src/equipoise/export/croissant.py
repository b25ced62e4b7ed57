"""Croissant 1.0 with its responsible-AI fields: a folder for each study's cases, and for each file of items.

A folder has the files of the run, byte for byte, and `croissant.json` beside them, so that it can be published as it
is. Source: Croissant format specification 1.0 and Croissant RAI specification 1.0, MLCommons (2024).
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import ITEMS
from equipoise.core.tables import json_rows
from equipoise.core.visible import visible
from equipoise.core.yamlfile import load_yaml
from equipoise.export.bibtex import FILE, Citation
from equipoise.export.run import LIMITS, Run

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{
        name: f"cr:{name}"
        for name in (
            *("citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileObject"),
            *("fileProperty", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5"),
            *("parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate"),
            *("separator", "source", "subField", "transform"),
        )
    },
}
"""The context that the specification prescribes."""
CONFORMS = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
TYPES: dict[type, str] = {bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float", str: "sc:Text"}
PROMPTS = "prompts.jsonl"
"""The prompts, built from the cases by the settings: exported where a study has nothing else."""
AUTHORED = "authored"
USES = (
    "To measure whether a clinical language model answers differently when only the patient's demographics differ. Not "
    "to train a model, since it could learn the test, and not for decisions about patients."
)
BIASES = (
    "Cases are chosen to be about documented errors in the care of particular groups: how often a group or a disease "
    "occurs in them says nothing about patients."
)
IMPACT = (
    "Cases repeat stereotypes in order to test for them. Published without their answers' meaning they could be taken "
    "for statements about the groups."
)
NOBODY = "The people in the cases are invented: no text is of or about a real patient."
Json = dict[str, Any]


class Set(NamedTuple):
    """A data set: its name, what it is, and its files."""

    name: str
    description: str
    files: Sequence[Path]


def files(run: Run) -> Mapping[str, bytes]:
    """Write `NAME/croissant.json` and the files that it describes, for each set."""
    cited = load_yaml(run.root / FILE, Citation)
    written: dict[str, bytes] = {}
    for dataset in _sets(run):
        contents = {path.name: path.read_bytes() for path in dataset.files}
        described = json.dumps(_dataset(run, dataset, contents, cited), indent=1, ensure_ascii=False, allow_nan=False)
        parts = contents | {"croissant.json": f"{described}\n".encode()}
        written |= {f"{dataset.name}/{name}": content for name, content in parts.items()}
    return written


def _sets(run: Run) -> Iterator[Set]:
    stems = []
    for assessment in run.studies:
        folder = run.data / assessment.study.name / "built"
        built = [path for path in sorted(folder.glob("*.jsonl")) if path.stat().st_size]
        if not built:
            raise EquipoiseError(f"{folder}: has no cases: run `dvc repro`, or restore them with `make pull`")
        cases = [path for path in built if path.name != PROMPTS] or built
        yield Set(
            assessment.study.name,
            f"{assessment.study.title}. {assessment.study.question} {assessment.study.whom}",
            cases,
        )
        if (stem := assessment.study.items(run.settings)) is not None:
            stems.append(stem)
    for stem in dict.fromkeys(stems):
        path = run.root / ITEMS / f"{stem}.jsonl"
        yield Set(f"items-{stem}", f"Questions or messages of {path.name}, from which studies build cases.", [path])


def _dataset(run: Run, dataset: Set, contents: Mapping[str, bytes], cited: Citation) -> Json:
    rows = {path.name: [row for _, row in json_rows(path)] for path in dataset.files}
    every = [row for part in rows.values() for row in part]
    licences, sources = _stated(every, "licence"), _stated(every, "source")
    # Rows without a licence of their own are built from the inputs, each of which declares one.
    licences = licences or sorted({each.licence for each in run.inputs if each.path.startswith("data/")})
    origin = f"as each row states: {', '.join(sources)}" if sources else "the inputs that report/inputs.json lists"
    name = f"equipoise-{dataset.name}"
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": name,
        "description": visible(dataset.description),
        "conformsTo": CONFORMS,
        "license": licences,
        "version": cited.version,
        "datePublished": f"{run.date:%Y-%m-%d}",
        "creator": [{"@type": "sc:Organization", "name": author.name} for author in cited.authors],
        "citeAs": f"{', '.join(author.name for author in cited.authors)}: {cited.title} {cited.version}, {name}",
        "rai:dataCollection": f"Built by {cited.title} {cited.version}. Origin: {origin}.",
        "rai:dataBiases": BIASES,
        "rai:dataLimitations": LIMITS,
        "rai:dataUseCases": USES,
        "rai:dataSocialImpact": IMPACT,
        "rai:personalSensitiveInformation": NOBODY if sources == [AUTHORED] else f"Not assessed. Origin: {origin}.",
        "distribution": [_file(name, content) for name, content in contents.items()],
        "recordSet": [_records(name, part) for name, part in rows.items()],
    }


def _stated(rows: Sequence[Mapping[str, Any]], field: str) -> list[str]:
    return sorted({str(row[field]) for row in rows if row.get(field)})


def _file(name: str, content: bytes) -> Json:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{len(content)} B",
        "encodingFormat": "application/jsonlines",
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _records(file: str, rows: Sequence[Mapping[str, Any]]) -> Json:
    """Describe the rows of a file, a field for each column that is not always empty."""
    name = Path(file).stem
    columns = sorted({column for row in rows for column in row})
    values = {column: [row[column] for row in rows if row.get(column) is not None] for column in columns}
    fields = [_field(file, f"{name}/{column}", column, cells) for column, cells in values.items()]
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"{len(rows)} rows.",
        "key": {"@id": f"{name}/key"},
        "field": [field for field in fields if field],
    }


def _field(file: str, name: str, column: str, values: Sequence[Any]) -> Json | None:
    """Describe a column by its values: scalars, lists, objects, or lists of objects or of lists."""
    lists = any(isinstance(value, list) for value in values)
    within = [each for value in values for each in value] if lists else values
    members = _members(within)
    about = {"@type": "cr:Field", "@id": name, "name": name, "description": column.replace("_", " ")}
    if members is None:
        kind = _type(within)
        return about | {"dataType": kind, "repeated": lists, "source": _source(file, column)} if kind else None
    parts = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{member}",
            "name": f"{name}/{member}",
            "description": f"{column.replace('_', ' ')}: {member}",
            "dataType": _type(
                [each for value in member_values for each in (value if isinstance(value, list) else [value])]
            ),
            "repeated": lists or any(isinstance(value, list) for value in member_values),
            "source": _source(file, column, path),
        }
        for member, path, member_values in members
    ]
    return about | {"repeated": lists, "subField": parts} if parts else None


def _members(values: Sequence[Any]) -> list[tuple[str, str, list[Any]]] | None:
    """List the members of objects or lists: name, JSONPath and values; None for scalars."""
    objects = [value for value in values if isinstance(value, dict)]
    rows = [value for value in values if isinstance(value, list)]
    if rows:
        longest = max(map(len, rows))
        return [
            (str(place), f"$[{place}]", [row[place] for row in rows if len(row) > place]) for place in range(longest)
        ]
    if objects:
        names = sorted({name for value in objects for name in value})
        by_name = {name: [value[name] for value in objects if value.get(name) is not None] for name in names}
        return [(name, f"$.{name}", part) for name, part in by_name.items() if part]
    return None


def _type(values: Sequence[Any]) -> str | None:
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        return TYPES[float]
    return TYPES.get(kinds.pop(), TYPES[str]) if len(kinds) == 1 else (TYPES[str] if kinds else None)


def _source(file: str, column: str, path: str = "") -> Json:
    source: Json = {"fileObject": {"@id": file}, "extract": {"column": column}}
    return source | ({"transform": {"jsonPath": path}} if path else {})
