"""`equipoise compare`: what changed between two revisions, paired by item, and whether it made bias worse."""

import re
import textwrap
from collections.abc import Callable
from typing import Annotated

import typer
from rich.table import Table

from equipoise.cli import completing
from equipoise.compare.changes import changes
from equipoise.compare.gate import REQUIRED, gate
from equipoise.compare.items import flips, reworded, settle
from equipoise.compare.revisions import WORKSPACE, changed_parameters, read_revision, sources
from equipoise.compare.text import (
    LEGEND,
    Comparison,
    cells,
    differences,
    flips_title,
    json_value,
    markdown,
    meaning,
    notes,
    requirement,
    summary,
)
from equipoise.core import jsonl, printing
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.figures.result import UNDECIDED
from equipoise.figures.verdicts import NOT_WORSE, WORSE
from equipoise.materials.pair_rows import answer_kind
from equipoise.studies.registry import TITLES

EXIT_CODES = {NOT_WORSE: 0, WORSE: 1, UNDECIDED: 2}
"""What `--gate` exits with; what `--require` asks for and HEAD lacks exits as *worse* does."""
STEPS = 4
"""Reading base and head, their changes, and the rest."""
WIDEST = 18
"""A figure's name beyond this is put in several lines."""


def compare(
    base: Annotated[
        str,
        typer.Argument(
            help="A Git revision, an experiment, or workspace.", metavar="BASE", autocompletion=completing.revisions
        ),
    ],
    head: Annotated[
        str,
        typer.Argument(help="The revision to compare with BASE.", metavar="HEAD", autocompletion=completing.revisions),
    ] = WORKSPACE,
    *,
    as_markdown: Annotated[bool, typer.Option("--md", help="Print Markdown, for a pull-request comment.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value, with every flip.")] = False,
    shown: Annotated[int, typer.Option("--flips", min=0, help="Maximum number of flips to show.", metavar="N")] = 10,
    gated: Annotated[
        bool, typer.Option("--gate", help="Set the exit code: 0 if bias is not worse, 1 if worse, 2 if undecided.")
    ] = False,
    require: Annotated[
        str,
        typer.Option(
            "--require",
            help='With --gate, also exit with 1 unless HEAD\'s own verdicts are VERDICT (only "no bias").',
            metavar="VERDICT",
        ),
    ] = "",
    images: Annotated[
        str, typer.Option("--images", help="Base URL of plot images to embed (with --md).", metavar="URL")
    ] = "",
) -> None:
    """Compare the headline figures of two revisions over the items that both have.

    This prints the verdict on each study's primary endpoint against its declared margin (worse, not worse or
    undecided), the change of each figure with a paired interval and test, the answers that changed kind, and the
    parameters, inputs and code that differ. The exit code is 3 if a revision cannot be read.
    """
    if require and (require not in REQUIRED or not gated):
        raise EquipoiseError(f'--require {require}: give --gate --require "{next(iter(REQUIRED))}"')
    with progress("compare") as move:
        comparison = _comparison(base, head, move, require)
    if as_json:
        printing.print_json(jsonl.canonical(json_value(comparison)))
    elif as_markdown:
        typer.echo(markdown(comparison, shown=shown, images=images), nl=False)
    else:
        _print(comparison, shown)
    if gated:
        raise typer.Exit(EXIT_CODES[WORSE if comparison.gate.unmet else comparison.gate.word])


def _comparison(base: str, head: str, move: Callable[[int, int], object], require: str) -> Comparison:
    """Read both revisions and compare them; `move` gets how many of the four steps are done."""
    first = read_revision(base)
    move(1, STEPS)
    second = read_revision(head)
    move(2, STEPS)
    settled = settle(first, second)
    rows = changes(first, settled.head)
    move(3, STEPS)
    comparison = Comparison(
        base=first,
        head=second,
        changes=rows,
        flips=flips(first, second, settled.ties),
        reworded=reworded(first, second),
        sources=sources(first, second, changed_parameters(base, head)),
        gate=gate(first, settled.head, rows, require),
        same_digits=settled.rows,
    )
    move(STEPS, STEPS)
    return comparison


def _print(comparison: Comparison, shown: int) -> None:
    parts: list[Table | str] = [f"{comparison.base.name} to {comparison.head.name}", ""]
    parts += [f"Verdict: {comparison.gate.sentence}", *(f"  {sentence}" for sentence in comparison.gate.untold)]
    parts += [*requirement(comparison.gate), ""]
    for study in dict.fromkeys(row.figure.study for row in comparison.rows):
        parts += [study_table(comparison, study), ""]
    lines = [summary(comparison), *notes(comparison), f"{flips_title(comparison)}."]
    lines += [
        f"  {flip.key}: {answer_kind(flip.before)} → {answer_kind(flip.after)}"
        + (f" ({meaning(flip)})" if meaning(flip) else "")
        for flip in comparison.flips[:shown]
    ]
    lines += [line.replace("`", "") for line in differences(comparison.sources)]
    printing.show(*parts, *lines, *([LEGEND] if comparison.rows else []))


def study_table(comparison: Comparison, study: str) -> Table:
    """Lay out one study's changes, what got worse first, each interval below its change, to fit a terminal."""
    rows = [row for row in comparison.rows if row.figure.study == study]
    columns = ("figure", "bias", "BASE\n(null)", "HEAD", "change\n(interval)", "p\n(Holm)", "shared\n(moved)")
    table = printing.plain_table(f"{TITLES[study]}, by {rows[0].figure.unit}", columns, left=len(columns))
    for row in rows:
        name, bias, null, base, head, change, p, p_holm, shared, moved = cells(row, comparison.alpha)
        table.add_row(
            _broken(name.removeprefix(f"{study}.")),
            bias.replace(" ", "\n"),
            _stacked(base) + (f"\n({null})" if null else ""),
            _stacked(head),
            change.replace(" ", "\n", 1),
            f"{p}\n({p_holm})" if p else "",
            f"{shared.replace(f' {row.figure.unit}', '')}\n({moved})",
        )
    return table


def _broken(name: str) -> str:
    """Break a long name after a dot or an underscore."""
    spaced = re.sub(r"([._])", r"\1 ", name)
    return "\n".join(line.replace(" ", "") for line in textwrap.wrap(spaced, WIDEST, break_long_words=False))


def _stacked(level: str) -> str:
    """Put what a rate is of below it: `0.778`, `of 9`, `moved`."""
    return re.sub(r" (of|biased|moved)\b", r"\n\1", level)
