"""The commands of the study, as the command line lists them: no code of theirs is imported here."""

from equipoise.core.command import Command

COMMANDS = (
    Command(
        "score silent",
        "equipoise.studies.cases.cli:score_silent",
        "Score saved outputs: count the biased answers that are silent about the patient's feature.",
        "equipoise score silent data/examples/outputs.jsonl --cases data/examples/cases.json",
    ),
    Command(
        "import csv",
        "equipoise.studies.cases.import_logs:import_csv",
        "Import a table of any evaluation's samples as a model, so that its outputs are measured as pairs.",
        "equipoise import csv data/examples/log.csv --name example --map pair=case --map role=patient --map "
        "bias_feature=patient --map expected=correct --privileged 'office worker' --set dimension=housing",
    ),
    Command(
        "import inspect",
        "equipoise.studies.cases.import_logs:import_inspect",
        "Import a log of Inspect as a model, so that `dvc exp run -S model=NAME` measures its outputs as pairs.",
        "equipoise import inspect logs/vignettes.eval --name example --json",
    ),
    Command(
        "import lm-eval",
        "equipoise.studies.cases.import_logs:import_lm_eval",
        "Import samples of lm-evaluation-harness as a model, so that its outputs are measured as pairs.",
        "equipoise import lm-eval data/examples/samples_triage_2026-01-01T00-00-00.000000.jsonl --name example",
    ),
    Command(
        "import outputs",
        "equipoise.studies.cases.imports:import_outputs",
        "Import saved outputs as a model, so that `dvc exp run -S model=NAME` measures it without its weights.",
        "equipoise import outputs data/examples/outputs.jsonl --name example --cases data/examples/cases.json",
    ),
    Command(
        "import vignettes",
        "equipoise.studies.cases.imports:import_vignettes",
        "Import published cases, so that `equipoise score silent` can score outputs against them.",
        "equipoise import vignettes data/examples/cases.json --json",
    ),
)
