"""The command line: `equipoise --help`."""

from __future__ import annotations

import typer

from equipoise import __doc__ as about
from equipoise.commands.anchors import anchors
from equipoise.commands.blind import export_sheet, import_sheets
from equipoise.commands.compare import compare
from equipoise.commands.import_amqa import import_amqa
from equipoise.commands.import_medmcqa import import_medmcqa
from equipoise.commands.import_names import import_names
from equipoise.commands.import_openr1 import import_openr1
from equipoise.commands.import_outputs import import_outputs
from equipoise.commands.import_vignettes import export_vignettes, import_vignettes
from equipoise.commands.judge import judge
from equipoise.commands.leaderboard import leaderboard
from equipoise.commands.models import models, pin
from equipoise.commands.neutralize import neutralize
from equipoise.commands.parse import parse
from equipoise.commands.score_amqa import score_amqa
from equipoise.commands.score_equity import score_equity
from equipoise.commands.score_medmcqa import score_medmcqa
from equipoise.commands.score_silent import score_silent
from equipoise.commands.score_stigma import score_stigma
from equipoise.commands.show import show
from equipoise.stage import one_line

app = typer.Typer(help=about, no_args_is_help=True, pretty_exceptions_enable=False)
score = typer.Typer(help="Score answers that were given before.", no_args_is_help=True)
imports = typer.Typer(help="Import published data.", no_args_is_help=True)
exports = typer.Typer(help="Write our data in published forms.", no_args_is_help=True)
blind = typer.Typer(help="Have people rate reasoning blindly, and compare them with the judge.", no_args_is_help=True)
registered = typer.Typer(
    help="Models of the registry: what is ready here, and what is missing.", invoke_without_command=True
)

app.command(epilog="Example: EQUIPOISE_ANCHORS=../anchors equipoise anchors")(one_line(anchors))
app.command(epilog="Example: equipoise neutralize questions.jsonl --field original_question --json")(
    one_line(neutralize)
)
app.command(epilog="Example: equipoise compare main workspace --fail-on 'adversarial.race.gap>0.02'")(one_line(compare))
app.command(epilog="Example: equipoise leaderboard --markdown leaderboard.md --csv leaderboard.csv")(
    one_line(leaderboard)
)
app.command(epilog="Example: equipoise parse responses.jsonl --json")(one_line(parse))
app.command(epilog="Example: equipoise judge outputs.jsonl --json")(one_line(judge))
app.command(epilog="Example: equipoise show race-01")(one_line(show))
score.command("amqa", epilog="Example: equipoise score amqa answers/*.jsonl --json")(one_line(score_amqa))
score.command("equity", epilog="Example: equipoise score equity answers.jsonl --cities data/cities.yaml")(
    one_line(score_equity)
)
score.command("medmcqa", epilog="Example: equipoise score medmcqa responses.parquet --questions questions.parquet")(
    one_line(score_medmcqa)
)
score.command("silent", epilog="Example: equipoise score silent outputs.jsonl --cases cases.json --json")(
    one_line(score_silent)
)
score.command("stigma", epilog="Example: equipoise score stigma --rq1 mental.csv --rq1 control.csv --json")(
    one_line(score_stigma)
)
imports.command("amqa", epilog="Example: equipoise import amqa amqa.parquet")(one_line(import_amqa))
imports.command("medmcqa", epilog="Example: equipoise import medmcqa openlifescienceai/medmcqa@COMMIT")(
    one_line(import_medmcqa)
)
imports.command("names", epilog="Example: equipoise import names --women women.csv --men men.csv")(
    one_line(import_names)
)
imports.command("outputs", epilog="Example: equipoise import outputs out.jsonl --name replay_x --cases cases.json")(
    one_line(import_outputs)
)
imports.command("vignettes", epilog="Example: equipoise import vignettes biased_vignettes.json")(
    one_line(import_vignettes)
)
exports.command("vignettes", epilog="Example: equipoise export vignettes ours.json")(one_line(export_vignettes))
blind.command("export", epilog="Example: equipoise blind export --n 60 --out anna.csv")(one_line(export_sheet))
blind.command("import", epilog="Example: equipoise blind import anna.csv ben.csv --out differ.csv")(
    one_line(import_sheets)
)
registered.callback(epilog="Example: equipoise models --json")(one_line(models))
registered.command("pin", epilog="Example: equipoise models pin piaget8b")(one_line(pin))
imports.command("openr1-psy", epilog="Example: equipoise import openr1-psy GMLHUHE/OpenR1-Psy@COMMIT")(
    one_line(import_openr1)
)
app.add_typer(score, name="score")
app.add_typer(imports, name="import")
app.add_typer(exports, name="export")
app.add_typer(blind, name="blind")
app.add_typer(registered, name="models")
