"""The commands of the study, as the command line lists them; importing this module does not import their code."""

from equipoise.core.command import Command

COMMANDS = (
    Command(
        "score amqa",
        "equipoise.studies.questions.cli:score_amqa",
        "Score answers in AMQA's or FairMedPrompt's released form, every file over the same questions.",
        "equipoise score amqa data/examples/amqa_answers.jsonl --allow-incomplete",
    ),
    Command(
        "score equity",
        "equipoise.studies.questions.cli:score_equity",
        "Score answers for the population of each city: accuracy, accuracy ratio and consistency ratio.",
        "equipoise score equity data/examples/amqa_answers.jsonl --allow-incomplete",
    ),
    Command(
        "import amqa",
        "equipoise.studies.questions.cli:import_amqa",
        "Import AMQA's items, so that `dvc exp run -S items=amqa` asks them.",
        "equipoise import amqa data/examples/amqa_items.jsonl --out example.jsonl",
    ),
    Command(
        "new items",
        "equipoise.studies.questions.cli:new_items",
        "Create a file of two multiple-choice questions, and a page that explains its fields.",
        "equipoise new items mine",
        checkout=True,
    ),
)
