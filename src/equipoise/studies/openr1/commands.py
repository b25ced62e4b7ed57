"""The commands of the study, as the command line lists them; importing this module does not import their code."""

from equipoise.core.command import Command

COMMANDS = (
    Command(
        "import openr1-psy",
        "equipoise.studies.openr1.cli:import_openr1",
        "Import OpenR1-Psy's items, so that `dvc exp run -S pair.items=openr1` asks them.",
        "equipoise import openr1-psy data/examples/openr1.json --out example.jsonl",
    ),
)
