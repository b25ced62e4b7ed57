"""The commands of the study, as the command line lists them; importing this module does not import their code."""

from equipoise.core.command import Command

COMMANDS = (
    Command(
        "score stigma",
        "equipoise.studies.stigma.cli:score_stigma",
        "Score one model's released probabilities; compare mental with control conditions where both are given.",
        "equipoise score stigma --rq1 data/examples/mental.csv --rq1 data/examples/control.csv",
    ),
    Command(
        "import names",
        "equipoise.studies.stigma.cli:import_names",
        "Import the lists of first names into .cache, downloaded or from local files, checked by their sha256.",
        "equipoise import names --json",
    ),
)
