"""The command line: `equipoise --help`."""

from __future__ import annotations

import typer

from equipoise import __doc__ as about
from equipoise.commands.import_amqa import import_amqa
from equipoise.commands.neutralize import neutralize
from equipoise.commands.parse import parse
from equipoise.commands.score_amqa import score_amqa
from equipoise.stage import one_line

app = typer.Typer(help=about, no_args_is_help=True, pretty_exceptions_enable=False)
score = typer.Typer(help="Score answers that were given before.", no_args_is_help=True)
imports = typer.Typer(help="Import published data.", no_args_is_help=True)

app.command(epilog="Example: equipoise neutralize questions.jsonl --field original_question --json")(
    one_line(neutralize)
)
app.command(epilog="Example: equipoise parse responses.jsonl --json")(one_line(parse))
score.command("amqa", epilog="Example: equipoise score amqa answers/*.jsonl --json")(one_line(score_amqa))
imports.command("amqa", epilog="Example: equipoise import amqa amqa.parquet")(one_line(import_amqa))
app.add_typer(score, name="score")
app.add_typer(imports, name="import")
