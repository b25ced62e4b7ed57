"""`equipoise blind`: ratings of reasoning by people who do not know its source, compared with the judge."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.overwriting import Force, is_same, require_own, require_place
from equipoise.core.printing import NOT_DEFINED, AsJson, cell, plain_table, print_json, report, show, written
from equipoise.core.progress import progress
from equipoise.core.prompts import Response
from equipoise.core.sheets import table_text
from equipoise.core.shipped import shipped
from equipoise.core.units import of_asked, read_units
from equipoise.judge.lexicon import FOLDER, load_lexicon
from equipoise.judge.rating import agreement, blind, content, labels
from equipoise.judge.rating.labelled import FOLDER as OF_LABELS
from equipoise.judge.rating.labelled import Label, label_file
from equipoise.materials.judgement import Judgement
from equipoise.materials.vignette import Vignette

SHEET, KEY = Path("ratings.csv"), Path("ratings.key.jsonl")
RESPONSES, JUDGEMENTS = Path("data/vignettes/responses.jsonl"), Path("data/vignettes/judgements.jsonl")
VIGNETTES = Path("data/vignettes/built/vignettes.jsonl")
LABELS = Path("data") / OF_LABELS
Rated = Annotated[
    Literal["reasoning", "content"],
    typer.Option(help="What to rate: a model's reasoning, or the cases themselves (by clinicians)."),
]
SHOWN = 10
EXCEL = 32_767
"""Characters of a cell that Excel keeps."""
STATEMENTS = {
    "best_marginalised": "diagnosis best, marginalised arm",
    "best_privileged": "diagnosis best, privileged arm",
    "wrong": "alternative wrong",
    "natural": "reads naturally",
}
MEASURES = {"mentioned": "mentioned", "considered": "considered, yes or no", "three_way": "none, weighed, dismissed"}


def export_sheet(  # noqa: PLR0913  (a command's options)
    *,
    sheet: Rated = "reasoning",
    out: Annotated[Path, typer.Option(help="The rating sheet (CSV).", metavar="FILE")] = SHEET,
    key: Annotated[
        Path, typer.Option(help="Key linking rows to responses; do not share it with raters.", metavar="FILE")
    ] = KEY,
    n: Annotated[
        int | None,
        typer.Option(
            "--n",
            min=3,
            help="Number of rows to draw; of reasoning, equally from each of the judge's findings.",
            show_default="all",
        ),
    ] = None,
    for_judge: Annotated[
        int | None,
        typer.Option(
            "--for-judge",
            min=10,
            help="Draw this many replies with known probabilities; their labels correct for the judge's error.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed for sampling and row order.")] = 0,
    vignettes: Annotated[Path, typer.Option(help="The vignettes of the run.")] = VIGNETTES,
    responses: Annotated[Path, typer.Option(help="The responses of the run.")] = RESPONSES,
    judgements: Annotated[Path, typer.Option(help="The judgements of the run.")] = JUDGEMENTS,
    features: Annotated[Path, typer.Option(help="Folder with the names of the dimensions.")] = Path(FOLDER),
    as_json: AsJson = False,
) -> None:
    """Write a sheet for people to rate the run's reasoning or its cases, and the key that links its rows to them."""
    if is_same(out, key):
        raise EquipoiseError(f"{out}: sheet and key cannot be one file: name another with --key")
    for path, option in ((out, "--out"), (key, "--key")):
        require_place(path, f"name another with {option}")
        if path.exists():
            raise EquipoiseError(
                f"{path}: already exists and may hold ratings: name another with {option}, or move it away"
            )
    cases = jsonl.read(vignettes, Vignette)
    if for_judge is not None and (n is not None or sheet == "content"):
        raise EquipoiseError(f"--for-judge {for_judge} draws replies by itself: leave out --n and --sheet")
    if sheet == "content":
        _export_content(cases, out, key, seed=seed, n=n, as_json=as_json)
        return
    given, judged = jsonl.read(responses, Response), jsonl.read(judgements, Judgement)
    options: dict[str, Any] = {
        "subjects": load_lexicon(shipped(features)).subjects,
        "responses_sha256": jsonl.sha256(responses),
        "seed": seed,
    }
    if for_judge is None:
        text, rows = blind.rating_sheet(cases, given, judged, n=n, **options)
    else:
        cases = list(of_asked(cases, read_units(responses.parent)))
        text, rows = labels.judge_sheet(cases, given, judged, n=for_judge, **options)
    # The key first: ratings of a sheet without its key are useless.
    jsonl.write(key, rows)
    jsonl.write_text(out, text)
    drawn = Counter(row.stratum for row in rows)
    texts = blind.reasonings(given, samples=True)
    long = [row.key for row in rows if len(texts[row.response]) > EXCEL]
    of = len(cases) if for_judge is None else len(texts)
    counts = ", ".join(f"{drawn[kind]} {kind}" for kind in blind.CONSIDERATIONS if drawn[kind])
    report(
        written({out: len(rows), key: len(rows)}, of=of, drawn=drawn, too_long_for_excel=long),
        f"{out}: {len(rows)} of {of} responses to rate (the judge found {counts})",
        f"{key}: the key; keep it, and keep it from the raters",
        f"Excel cuts texts off at {EXCEL:,} characters (here: {', '.join(long)}): use LibreOffice" if long else "",
        as_json=as_json,
    )


def _export_content(
    cases: Sequence[Vignette], out: Path, key: Path, *, seed: int, n: int | None, as_json: bool
) -> None:
    text, rows = content.content_sheet(cases, seed=seed, n=n)
    jsonl.write(key, rows)
    jsonl.write_text(out, text)
    of = len({case.pair for case in cases})
    report(
        written({out: len(rows), key: len(rows)}, of=of),
        f"{out}: {len(rows)} of {of} pairs to rate",
        f"{key}: the key; keep it, and keep it from the raters",
        as_json=as_json,
    )


def import_sheets(  # noqa: PLR0913  (a command's options)
    sheets: Annotated[
        list[Path], typer.Argument(help="Completed sheets, one per rater.", metavar="SHEETS…", show_default=False)
    ],
    *,
    sheet: Rated = "reasoning",
    key: Annotated[Path, typer.Option(help="The key written with the sheet.", metavar="FILE")] = KEY,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the disagreements to this CSV file; of content, the ratings by pair.", metavar="FILE"),
    ] = None,
    for_judge: Annotated[
        bool,
        typer.Option(
            "--for-judge", help="Keep one sheet's ratings as labels, which `measure` uses to correct figures."
        ),
    ] = False,
    ratings: Annotated[Path, typer.Option(help="Folder for the labels.", metavar="FOLDER")] = LABELS,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    vignettes: Annotated[Path, typer.Option(help="The vignettes of the run, for --for-judge.")] = VIGNETTES,
    responses: Annotated[Path, typer.Option(help="The responses of the run that was rated.")] = RESPONSES,
    judgements: Annotated[Path, typer.Option(help="The judgements to compare with.")] = JUDGEMENTS,
    seed: Annotated[int, typer.Option(help="Random seed for resampling.")] = 0,
    n_bootstrap: Annotated[int, typer.Option(min=40, help="Number of bootstrap resamples.")] = 2000,
) -> None:
    """Compare people's ratings with the judge and, given several raters, with each other.

    For sheets of content, which need two raters, this prints the validity of each pair and statement (I-CVI, kappa).
    """
    names = _rater_names(sheets)
    if out is not None and any(is_same(out, path) for path in (*sheets, key, responses, judgements)):
        raise EquipoiseError(f"{out}: is an input here and would be overwritten: name another file with --out")
    if out is not None:
        require_own(
            out, partial(is_list, columns=content.LISTED if sheet == "content" else agreement.LISTED), force=force
        )
    if for_judge and (len(sheets) > 1 or sheet == "content"):
        raise EquipoiseError(
            f"{sheets[0]}: --for-judge takes one sheet of reasoning: give that which the raters agreed on"
        )
    if sheet == "content":
        _import_content(names, key, out, as_json=as_json)
        return
    rows = jsonl.read(key, blind.KeyRow)
    reasonings = blind.reasonings(jsonl.each(responses, Response), samples=True)
    shown = _rated_texts(key, rows, reasonings, responses)
    judged = jsonl.read(judgements, Judgement)
    judges = agreement.judgements_by_row(rows, judged)
    rated = {name: blind.read_ratings(str(path), _read(path), shown) for name, path in names.items()}
    options = {"seed": seed, "n_bootstrap": n_bootstrap}
    with progress("resample"):
        figures: dict[str, Any] = {
            "rows": len(rows),
            "raters": {name: agreement.judge_agreement(own, rows, judges, **options) for name, own in rated.items()},
            "between": [
                {"raters": [first, second], **agreement.rater_agreement(rated[first], rated[second], rows, **options)}
                for first, second in combinations(rated, 2)
            ],
            "disagreements": [
                line for name, own in rated.items() for line in agreement.disagreements(name, own, rows, judges)
            ],
        }
    if for_judge:
        run_labels = labels.run_labels(str(sheets[0]), rated[next(iter(rated))], rows, judges, reasonings)
        figures["judge"] = labels.judge_accuracy(run_labels, jsonl.read(vignettes, Vignette), judged, seed=seed)
        _keep(run_labels, ratings, figures, force=force)
    if out is not None:
        jsonl.write_text(out, table_text(agreement.LISTED, figures["disagreements"]))
    if as_json:
        print_json(figures)
    else:
        _show(figures, out)


def _keep(run_labels: Sequence[Label], folder: Path, figures: dict[str, Any], *, force: bool) -> None:
    """Write the labels to the file of their run, and add the file to the figures."""
    path = label_file(folder, run_labels[0].responses_sha256)
    if path.exists() and not force:
        raise EquipoiseError(
            f"{path}: this run has labels: replace them with --force, or name another --ratings FOLDER"
        )
    jsonl.write(path, run_labels)
    figures |= written({path: len(run_labels)})


def _import_content(names: Mapping[str, Path], key: Path, out: Path | None, *, as_json: bool) -> None:
    rows = jsonl.read(key, content.ContentKey)
    rated = {name: content.read_content(str(path), _read(path), rows) for name, path in names.items()}
    figures = content.validity(rated, rows)
    if out is not None:
        jsonl.write_text(out, table_text(content.LISTED, content.rating_rows(figures)))
    if as_json:
        print_json(jsonl.canonical(figures))
    else:
        _show_content(figures, out)


def is_list(path: Path, columns: Sequence[str] = agreement.LISTED) -> bool:
    """Whether a file has the columns of a list that this command writes; other columns are an EquipoiseError."""
    blind.read_table(str(path), jsonl.read_text(path), columns)
    return True


def _rater_names(sheets: Sequence[Path]) -> dict[str, Path]:
    """Name each rater after their sheet, or by its path if two sheets have the same name."""
    if repeated := [first for first, second in combinations(sheets, 2) if is_same(first, second)]:
        raise EquipoiseError(f"{repeated[0]}: given twice: give each rater's sheet once")
    stems = [sheet.stem for sheet in sheets]
    return {sheet.stem if stems.count(sheet.stem) == 1 else str(sheet): sheet for sheet in sheets}


def _rated_texts(path: Path, key: Sequence[blind.KeyRow], texts: Mapping[str, str], responses: Path) -> dict[str, str]:
    """Give the reasoning of each row of the key; refuse a key that belongs to other responses."""
    if not key:
        raise EquipoiseError(f"{path}: no rows: give the key that was made with the sheet")
    digest = jsonl.sha256(responses)
    if any(row.responses_sha256 != digest or row.response not in texts for row in key):
        raise EquipoiseError(
            f"{path}: belongs to another run than {responses} (its sha256 differs): "
            "bring back the run that was rated, or give its file with --responses"
        )
    return {row.key: texts[row.response] for row in key}


def _read(sheet: Path) -> str:
    try:
        return jsonl.read_text(sheet)
    except EquipoiseError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            raise EquipoiseError(f"{sheet}: not UTF-8 text: save the sheet in the form `CSV UTF-8`") from error
        raise


def _show_content(figures: Mapping[str, Any], out: Path | None) -> None:
    """Print the validity of each statement, the agreement of raters, and the least valid pairs."""
    columns = ("statement", "pairs", "Ave", "UA", "kappa*", "below", "Fleiss")
    table = plain_table("Content validity (S-CVI)", columns, gap=2)
    for name, title in STATEMENTS.items():
        statement = figures["statements"][name]
        table.add_row(
            title,
            str(statement["n"]),
            *(cell(statement[measure], ".2f") for measure in ("s_cvi_ave", "s_cvi_ua", "kappa")),
            str(statement["below"]),
            cell(statement["fleiss_kappa"], ".2f"),
        )
    raters = ", ".join(f"{name} {n}" for name, n in figures["raters"].items())
    notes = [f"rated of {figures['rows']} pairs: {raters}; below: pairs whose I-CVI is too low"]
    for both in figures["between"]:
        kappas = ", ".join(f"{STATEMENTS[name]} {cell(kappa, '.2f')}" for name, kappa in both["kappa"].items())
        notes.append(f"Cohen's kappa of {' and '.join(both['raters'])} over {both['n']} pairs: {kappas or '-'}")
    lines = [
        line for line in content.rating_rows(figures) if content.is_below(float(line["i_cvi"]), int(line["raters"]))
    ]
    notes += [f"{line['pair']}, {STATEMENTS[line['statement']]}: I-CVI {line['i_cvi']}" for line in lines[:SHOWN]]
    if out is not None:
        notes.append(f"all pairs: {out}")
    elif len(lines) > SHOWN:
        notes.append(f"and {len(lines) - SHOWN} more: write them with --out FILE")
    show(table, *notes)


def _show(figures: Mapping[str, Any], out: Path | None) -> None:
    """Print the kappas, then the rows in which raters and judge differ."""
    from rich.text import Text

    table = plain_table("Cohen's kappa", ("rater", "against", "rated", "n", "kappa", "95 % CI"), left=3, gap=2)
    table.columns[-1].justify = "left"
    for column in table.columns:
        column.no_wrap = False
    for line in _lines(figures):
        table.add_row(*map(Text, line))
    unrated = ", ".join(f"{name} {rater['unrated']}" for name, rater in figures["raters"].items())
    listed = figures["disagreements"]
    notes = [f"unrated of {figures['rows']} rows: {unrated}; disagreements with the judge: {len(listed)}"]
    if any("run" in rater for rater in figures["raters"].values()):
        notes.append("judge, in the run: rows weighted by the responses that they represent, as a sample was rated")
    for line in listed[:SHOWN]:
        answers = (f"{who} {line[f'mentioned_{who}']}/{line[f'considered_{who}']}" for who in ("rater", "judge"))
        notes.append(f"{line['row']} {line['key']}, {line['rater']}: {', '.join(answers)}: {line['sentence'] or '-'}")
    if out is not None:
        notes.append(f"all disagreements: {out}")
    elif len(listed) > SHOWN:
        notes.append(f"and {len(listed) - SHOWN} more: write them with --out FILE")
    notes += [f"{path}: {n} labels: `dvc repro measure@vignettes`" for path, n in figures.get("written", {}).items()]
    # The sentences come from a model: strip line breaks and control characters.
    plain = ("".join(letter for letter in " ".join(note.split()) if letter.isprintable()) for note in notes)
    show(table, *(_judge_table(figures["judge"]) if "judge" in figures else ()), *plain)


def _judge_table(figures: Mapping[str, Any]) -> Iterable[Table | str]:
    """Lay out how often the judge is right, by dimension and arm, and tests of whether its errors depend on them."""
    columns = ("", *("n", "sensitivity", "95 % CI"), *("n", "specificity", "95 % CI"))
    table = plain_table("The judge on silence, weighted by the replies that each label represents", columns, gap=2)
    groups = {"all": figures["all"], **figures["dimensions"], **figures["arms"]}
    for name, group in groups.items():
        cells: list[str] = []
        for rate in (group.get("sensitivity", {}), group.get("specificity", {})):
            bounds = f"{rate['ci_low']:.3f} to {rate['ci_high']:.3f}" if "ci_low" in rate else NOT_DEFINED
            cells += [str(rate.get("n", 0)), cell(rate.get("estimate")), bounds]
        table.add_row(name.replace("_", " "), *cells)
    p = figures["misreading"]
    yield table
    yield f"errors depend on the dimension: p {p['dimensions']:.3g}; on the arm: p {p['arms']:.3g}"


def _lines(figures: Mapping[str, Any]) -> Iterable[tuple[str, ...]]:
    """Yield the rows of the table: rater, other rater, measure, n, kappa and its interval."""
    compared = []
    for name, rater in figures["raters"].items():
        compared.append((name, "judge", rater["n"], rater))
        if "run" in rater:
            compared.append((name, "judge, in the run", rater["n"], rater["run"]))
    compared += [(*both["raters"], both["n"], both) for both in figures["between"]]
    for name, other, n, kappas in compared:
        for measure, title in MEASURES.items():
            kappa = kappas.get(measure, {}).get("kappa")
            bounds = [f"{kappa[field]:z.3f}" for field in ("estimate", "ci_low", "ci_high")] if kappa else ["-", "-"]
            yield (name, other, title, str(n), bounds[0], " to ".join(bounds[1:]))
