"""The commands of the study, as the command line lists them; importing this module does not import their code."""

from equipoise.core.command import Command

COMMANDS = (
    Command(
        "score medmcqa",
        "equipoise.studies.exam.cli:score_medmcqa",
        "Score answers by city and disease: accuracy, macro precision, recall and F1, prevalence-weighted accuracy.",
        "equipoise score medmcqa data/examples/medmcqa_london.jsonl",
    ),
    Command(
        "import medmcqa",
        "equipoise.studies.exam.cli:import_medmcqa",
        "Import MedMCQA's questions; `-S sample.items=medmcqa` then asks each city's subset of them.",
        "equipoise import medmcqa data/examples/medmcqa_questions.jsonl --out example.jsonl",
    ),
)
