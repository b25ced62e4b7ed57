"""The commands of the study, as the command line lists them: no code of theirs is imported here."""

from equipoise.core.command import Command

COMMANDS = (
    Command(
        "import bench",
        "equipoise.studies.decisions.cli:import_bench",
        "Import emergency cases with a slot for the patient: a control patient, or one of each group of the panel.",
        "equipoise import bench data/examples/bench.jsonl --out example",
    ),
)
