"""`equipoise import` and `equipoise export`: published items, cases, outputs and names, and our cases in their form."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli.printing import AsJson, Force, report, require_own, written
from equipoise.cli.replays import CASES, replay_files, report_replay, rows_of_kind, write_replay
from equipoise.core import jsonl
from equipoise.core.display import few
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.core.shipped import shipped
from equipoise.core.visible import line
from equipoise.materials.questions import Item
from equipoise.materials.vignette import ROLES, Vignette
from equipoise.published.fetch import fetch_names, load_names
from equipoise.studies.cases import rows as cases_format
from equipoise.studies.cases.rows import Case, read_outputs, require_cases
from equipoise.studies.decisions import bench
from equipoise.studies.exam import medmcqa
from equipoise.studies.openr1 import published as openr1
from equipoise.studies.openr1.rows import LICENCE, SOURCE, OpenR1Item
from equipoise.studies.questions import amqa
from equipoise.studies.stigma.library import Gender, load_library
from equipoise.studies.vignettes import interchange
from equipoise.studies.vignettes.panel import Story, load_panel

RAW = Path("data/raw")


def _sources(hub: str, kinds: str) -> Any:  # noqa: ANN401  (typer has no type for it)
    """Describe the argument of files, or of a repository of the hub."""
    text = f"A hub id with its commit ({hub}@…), or {kinds} files."
    return typer.Argument(help=text, metavar="SOURCE…", show_default=False)


def import_amqa(
    source: Annotated[str, typer.Argument(help="A hub id with its commit (Showing-KCL/AMQA@…), or a file.")],
    out: Annotated[Path, typer.Option(help="Where the items are written.")] = Path("data/items/amqa.jsonl"),
    *,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import AMQA's items, so that `dvc exp run -S items=amqa` asks them."""
    require_own(out, rows_of_kind(Item, amqa.KEY), force=force)
    with progress("import"):
        items = amqa.read_items(source)
        jsonl.write(out, items)
    line = f"{out}: {len(items)} items; run them with: dvc exp run -S items={out.stem}"
    report(written({out: len(items)}), line, as_json=as_json)


def import_bench(
    sources: Annotated[list[str], _sources(bench.SOURCE, "JSON, JSONL, CSV or parquet")],
    *,
    out: Annotated[Path, typer.Option(help="Where the cases are written.")] = Path("data/items/bench.jsonl"),
    field: Annotated[
        str | None, typer.Option(help="The column of the text.", show_default="the one that has {patient}")
    ] = None,
    raw: Annotated[Path, typer.Option(help="Folder of panel.yaml, whose groups the cases are told of.")] = RAW,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import emergency cases with a slot for the patient, to be told of a control and of every group of the panel."""
    require_own(out, rows_of_kind(Story, bench.KEY), force=force)
    panel = load_panel(shipped(raw))
    with progress("import"):
        imported = bench.read_stories(sources, field)
        prompts = len(imported.stories) * len(panel)
        jsonl.write(out, imported.stories)
    n, each = len(imported.stories), len(panel)
    expected = bench.CASES * bench.TELLINGS
    published = f"as published, {bench.CASES} x {bench.TELLINGS} = {expected:,}"
    report(
        written({out: n}, tellings=each, prompts=prompts, published=prompts == expected),
        f"{out}: {n} cases x {each} tellings (a control and {each - 1} groups) = {prompts:,} prompts",
        "" if (n, each) == (bench.CASES, bench.TELLINGS) else f"another number than {published}",
        _remark("state a gender outside the slot, whatever patient is told of; kept", imported.gendered),
        f"ask for decisions about them with: dvc exp run -S build.design=panel -S build.cases={out.stem} "
        "-S 'studies=[decisions]'",
        as_json=as_json,
    )


def import_medmcqa(
    sources: Annotated[list[str], _sources(medmcqa.HUB_ID, "parquet, CSV or JSONL")],
    *,
    mapping: Annotated[Path, typer.Option(help="Which disease each topic is about.")] = medmcqa.DISEASES,
    out: Annotated[Path, typer.Option(help="Where the items are written.")] = Path("data/items/medmcqa.jsonl"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import MedMCQA's questions, so that `-S sample.items=medmcqa` asks the cities' subsets of them."""
    require_own(out, rows_of_kind(Item, medmcqa.KEY), force=force)
    with progress("import"):
        imported = medmcqa.import_items(sources, medmcqa.load_diseases(shipped(mapping)))
        jsonl.write(out, imported.items)
    counts = Counter(item.disease for item in imported.items)
    found = {disease: n for disease, n in counts.most_common() if disease is not None}
    kinds = ("withheld", "empty", "alike", "repeated")
    left_out = {kind: len(getattr(imported, kind)) for kind in kinds}
    named = ", ".join(f"{disease} {n}" for disease, n in found.items()) or "no disease"
    report(
        written(
            {out: len(imported.items)},
            diseases=found,
            without_disease=counts[None],
            left_out=left_out,
            same_text=len(imported.same_text),
        ),
        f"{out}: {len(imported.items)} items; {named}; {counts[None]} about none of these",
        _remark("left out, their answer is withheld", imported.withheld),
        _remark("left out, the question or an option is empty", imported.empty),
        _remark("left out, two options have the same text", imported.alike),
        _remark("rows repeat a question, kept once", imported.repeated),
        _remark("have the text and options of an earlier question, kept", imported.same_text),
        f"run them with: dvc exp run -S sample.items={out.stem}",
        as_json=as_json,
    )


def import_names(
    *,
    women: Annotated[Path | None, typer.Option(help="A local file of women's names, in place of the net.")] = None,
    men: Annotated[Path | None, typer.Option(help="A local file of men's names, in place of the net.")] = None,
    library: Annotated[Path, typer.Option(help="Folder of the study's files.")] = Path("data/sentences"),
    as_json: AsJson = False,
) -> None:
    """Import the lists of first names into .cache, from the net or from local files, checked by their sha256."""
    given: dict[Gender, Path | None] = {"female": women, "male": men}
    lists = load_library(shipped(library)).words.names
    with progress("import"):
        fetched = fetch_names(lists, {gender: path for gender, path in given.items() if path is not None})
    counts = {fetched[gender]: len(names) for gender, names in load_names(lists).items()}
    report(written(counts), *(f"{path}: {count} names" for path, count in counts.items()), as_json=as_json)


def import_openr1(
    source: Annotated[
        str,
        typer.Argument(
            help=f"{SOURCE}@COMMIT of the hub, or a JSON, JSONL or parquet file.", metavar="SOURCE", show_default=False
        ),
    ],
    *,
    split: Annotated[str, typer.Option(help="Which files of the hub are taken: those with this in their name.")] = (
        "test"
    ),
    out: Annotated[Path, typer.Option(help="Where the items are written.")] = Path("data/items/openr1.jsonl"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import OpenR1-Psy's items, so that `dvc exp run -S pair.items=openr1` runs the track openr1."""
    require_own(out, rows_of_kind(OpenR1Item, openr1.KEY), force=force)
    with progress("import"):
        imported = openr1.read_items(source, split)
        jsonl.write(out, imported.items)
    left_out = {"empty": len(imported.empty), "repeated": len(imported.repeated)}
    report(
        written({out: len(imported.items)}, licence=LICENCE, left_out=left_out),
        f"{out}: {len(imported.items)} items of {SOURCE}; {LICENCE}",
        _remark("left out, the message or its reply is empty", imported.empty),
        _remark("left out, they have the message of an earlier row", imported.repeated),
        f"run them with: dvc exp run -S pair.items={out.stem}",
        as_json=as_json,
    )


def import_outputs(
    file: Annotated[
        Path, typer.Argument(help="Saved outputs of one model, JSONL.", metavar="OUTPUTS", show_default=False)
    ],
    *,
    name: Annotated[str, typer.Option(help="The model's name in the registry, for -S model=NAME.")],
    cases: Annotated[Path, typer.Option(help="The cases asked: JSON as published, or imported JSONL.")],
    title: Annotated[
        str | None, typer.Option(help="What the model is called.", show_default="the outputs' own")
    ] = None,
    licence: Annotated[str, typer.Option(help="The terms of the outputs.")] = "not stated",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import saved outputs as a model, so that `dvc exp run -S model=NAME` measures it without its weights."""
    made = replay_files(name, force=force)
    rows = cases_format.read_cases(cases)
    outputs = read_outputs(file)
    require_cases(str(file), outputs, {row.key: row for row in rows})
    twice = [key for key, times in Counter(output.id for output in outputs).items() if times > 1]
    if twice:
        raise EquipoiseError(f"{file}: id {twice[0]!r} is in several modes: give a file, and a name, for each mode")
    called = title or next((output.model for output in outputs if output.model), name)
    write_replay(made, rows, outputs, title=called, licence=licence)
    report_replay(made, rows, outputs, as_json=as_json)


def import_vignettes(
    file: Annotated[
        Path,
        typer.Argument(
            help='{"cases": [{"prompt": …, "bias_feature": …, "bias_label": …}]}', metavar="FILE", show_default=False
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Where the rows are written.", show_default="data/cases/<stem>.jsonl")
    ] = None,
    *,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import published cases, so that `equipoise score silent` can score outputs against them."""
    path = out or CASES / f"{file.stem}.jsonl"
    require_own(path, rows_of_kind(Case), force=force)
    rows = cases_format.read_cases(file)
    jsonl.write(path, rows)
    marginalised = sum(row.role == "marginalised" for row in rows)
    pairs = sum(len(arms) == len(ROLES) for arms in cases_format.arms_of(str(file), rows).values())
    told = f"{pairs} pairs" if pairs else "Each has one arm, so that paired figures do not apply"
    line = (
        f"{path}: {len(rows)} cases, {marginalised} of them of marginalised patients. {told}; score outputs with: "
        f"equipoise score silent OUTPUTS --cases {path}"
    )
    report(written({path: len(rows)}, marginalised=marginalised, pairs=pairs), line, as_json=as_json)


def export_vignettes(
    out: Annotated[Path, typer.Argument(help="The file to write (JSON).", metavar="OUT", show_default=False)],
    vignettes: Annotated[Path, typer.Option(help="Our vignettes, as the stage build writes them.")] = Path(
        "data/vignettes/built/vignettes.jsonl"
    ),
    *,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write our vignettes as cases of the interchange format, an arm a case."""
    if out.suffix != ".json":
        raise EquipoiseError(f"{out}: the interchange format is one JSON object: name a file that ends in .json")
    require_own(out, interchange.is_published, force=force)
    value = interchange.published(jsonl.read(vignettes, Vignette))
    jsonl.write_json(out, value)
    n = len(value["cases"])
    report(written({out: n}), f"{out}: {n} cases from {vignettes}", as_json=as_json)


def _remark(what: str, ids: list[str]) -> str:
    """Describe the rows that a remark concerns, with their number and the first of them; empty where there are none."""
    return f"{len(ids)} {what}: {few([*map(line, ids)])}" if ids else ""
