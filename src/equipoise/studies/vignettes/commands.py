"""The commands of the study, as the command line lists them: no code of theirs is imported here."""

from equipoise.core.command import Command

COMMANDS = (
    Command(
        "show",
        "equipoise.studies.vignettes.show:show",
        "Show both arms of a pair and how the model's replies were read; without KEY, list the pairs.",
        "equipoise show race-01",
        checkout=True,
    ),
    Command(
        "cases",
        "equipoise.studies.vignettes.cli:cases",
        "Print what the cases of a profile cover: by dimension, patient group, grade and story; decisions by family.",
        "equipoise cases --profile powered",
    ),
    Command(
        "new pair",
        "equipoise.studies.vignettes.cli:new_pair",
        "Create a file with a story and a pair of vignettes that tells it.",
        "equipoise new pair mine",
        checkout=True,
    ),
    Command(
        "new dimension",
        "equipoise.studies.vignettes.cli:new_dimension",
        "Create a dimension: its contrast, a story, two pairs, and the words by which a judge finds it.",
        "equipoise new dimension prison",
        checkout=True,
    ),
    Command(
        "export vignettes",
        "equipoise.studies.vignettes.cli:export_vignettes",
        "Write our vignettes as cases of the interchange format, one arm per case.",
        "equipoise export vignettes cases.json --json",
    ),
    Command(
        "blind export",
        "equipoise.studies.vignettes.blind:export_sheet",
        "Write a sheet for people to rate the run's reasoning or its cases, and the key that links its rows to them.",
        "equipoise blind export --n 60 --out anna.csv",
        checkout=True,
    ),
    Command(
        "blind import",
        "equipoise.studies.vignettes.blind:import_sheets",
        "Compare people's ratings with the judge and, given several raters, with each other.",
        "equipoise blind import anna.csv --out differ.csv",
        checkout=True,
    ),
)
