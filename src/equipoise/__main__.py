"""`python -m equipoise`: the command line, where no script of it is installed."""

from equipoise.cli.app import app

app(prog_name="equipoise")
