"""The commands that belong to no study, and the groups; a study lists its own in its folder's `commands.py`."""

from equipoise.core.command import Command

GROUPS = {
    "new": "Create a commented file to start from: a model, a pair, a dimension, items (questions) or a city.",
    "score": "Score saved answers.",
    "import": "Import published data, saved outputs and logs.",
    "export": "Export a run, and our data, in published formats.",
    "blind": "Have people rate reasoning blind, and compare their ratings with the judge.",
}
FIRST = "show"
"""The command whose example ends the list of all commands."""
SHARED = (
    Command(
        "results",
        "equipoise.cli.results:results",
        "Print the verdicts and headline figures of the last run, each figure with its interval, n and p-value.",
        "equipoise results --json",
        checkout=True,
    ),
    Command(
        "run",
        "equipoise.cli.run:run",
        "Ask a model a few cases of a study and print its figures, without DVC; only the answers are kept.",
        "equipoise run phantom_open --study vignettes --limit 5",
        checkout=True,
    ),
    Command(
        "treat",
        "equipoise.cli.treat:treat",
        "Try every treatment of a model's bias, without DVC, and print whether each helps, harms or is undecided.",
        "equipoise treat phantom_mediated",
        checkout=True,
    ),
    Command(
        "new model",
        "equipoise.cli.new:new_model",
        "Create a registry entry for a model; by default it names the embedded weights, which run at once.",
        "equipoise new model mine",
        checkout=True,
    ),
    Command(
        "new city",
        "equipoise.cli.new:new_city",
        "Add a city to data/cities.yaml, with figures and sources to replace.",
        "equipoise new city paris",
        checkout=True,
    ),
    Command(
        "check",
        "equipoise.cli.check:check",
        "Check settings, models, cases, questions, cities, words and sentences without running anything.",
        "equipoise check",
        checkout=True,
    ),
    Command(
        "models",
        "equipoise.cli.models:models",
        "List models: first those that can run here, then the others with what each is missing.",
        "equipoise models --fits",
        checkout=True,
    ),
    Command(
        "models pin",
        "equipoise.cli.models:pin",
        "Pin a model's weights in its registry entry: to the commit used here, or else to the hub's current one.",
        "equipoise models pin piaget8b --json",
        checkout=True,
    ),
    Command(
        "doctor",
        "equipoise.cli.doctor:doctor",
        "Check caches, weights, exports, environment and DVC's state, and say how to fix what is wrong.",
        "equipoise doctor --clean",
        checkout=True,
    ),
    Command(
        "leaderboard",
        "equipoise.cli.leaderboard:leaderboard",
        "Compare all models that were run, one per row, sorted by name.",
        "equipoise leaderboard --markdown leaderboard.md --csv leaderboard.csv",
        checkout=True,
    ),
    Command(
        "record",
        "equipoise.cli.record:record",
        "Record the last run in results/MODEL@REVISION.json: verdicts, figures, and what they were made from.",
        "equipoise record",
        checkout=True,
    ),
    Command(
        "compare",
        "equipoise.cli.compare:compare",
        "Compare the headline figures of two revisions over the items that both have.",
        "equipoise compare HEAD workspace",
        checkout=True,
        failure=3,
    ),
    Command(
        "plan",
        "equipoise.cli.plan:make_plan",
        "Estimate how many cases a verdict of no bias needs, for each part and overall, and what they cost.",
        "equipoise plan --json",
        checkout=True,
    ),
    Command(
        "pull",
        "equipoise.cli.archive:pull",
        "Restore the outputs of the committed run without running it: rows, report and plots.",
        "equipoise pull HEAD~1",
        checkout=True,
    ),
    Command(
        "pack",
        "equipoise.cli.archive:pack",
        "Pack the outputs of the last run into the folder archive, which is committed with dvc.lock.",
        "equipoise pack --evidence run.zip",
        checkout=True,
    ),
    Command(
        "export run",
        "equipoise.cli.export:export_run",
        "Export the last run as tests, results, model cards, checklist, hazard log, data sets, tables or plots.",
        "equipoise export run --to junit --to hazard --json",
        checkout=True,
    ),
    Command(
        "verify",
        "equipoise.cli.evidence:verify",
        "Compute every figure of a pack again from its rows, and name the first that differs.",
        "equipoise verify run.zip",
    ),
    Command(
        "anchors",
        "equipoise.cli.anchors:anchors",
        "Compare every published figure with ours: paper, released data, ours, verdict.",
        "equipoise anchors --fetch --json",
    ),
    Command(
        "judge",
        "equipoise.cli.texts:judge",
        "Judge whether the reasoning in each output mentions the feature, and whether it weighs or dismisses it.",
        "equipoise judge data/examples/reasoning.jsonl --json",
    ),
    Command(
        "neutralize",
        "equipoise.cli.texts:neutralize",
        "Remove race, gender and socioeconomic terms from questions; report why a question was excluded.",
        "equipoise neutralize data/examples/amqa_items.jsonl --field original_question",
    ),
    Command(
        "parse",
        "equipoise.cli.texts:parse",
        "Read the letter that each response gives; null where it gives none.",
        "equipoise parse data/examples/replies.jsonl --json",
    ),
    Command(
        "score influence",
        "equipoise.cli.influence:score_influence",
        "Score answers to counterfactual questions: how much demographic influence do explanations leave out?",
        "equipoise score influence --answers data/examples/influence_answers.jsonl "
        "--implied data/examples/influence_implied.jsonl --concepts data/examples/influence_concepts.jsonl",
    ),
)
