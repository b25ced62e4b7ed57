"""The command line: `equipoise --help`. A command's code is imported only when that command is run."""

from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from equipoise import __doc__ as about
from equipoise.core.errors import EquipoiseError
from equipoise.core.extras import extras_named
from equipoise.core.shipped import PIPELINE, shipped
from equipoise.core.stage import one_line


class Command(NamedTuple):
    """What the command line knows of a command before its code is imported.

    `function` is module:name within equipoise.cli, `example` a line that works from the repository's root with what is
    there, or with what the commands before it made. `checkout` says that it is about a run of the pipeline, or its
    files, and so has little to do elsewhere.
    """

    function: str
    example: str
    checkout: bool = False

    @property
    def summary(self) -> str:
        """The first paragraph of the function's docstring, read without importing its module, which takes longer."""
        module, _, name = self.function.partition(":")
        described = _source(module).partition(f"\ndef {name}(")[2].partition('"""')[2]
        return " ".join(described.partition('"""')[0].partition("\n\n")[0].split())


EXAMPLES = Path("data/examples")
GROUPS = {
    "new": "Write a commented file to start from: a model, a pair, a dimension, questions or a city.",
    "score": "Score answers that were given before.",
    "import": "Import published data.",
    "export": "Write our data in published forms.",
    "blind": "Have people rate reasoning blindly, and compare them with the judge.",
}
COMMANDS = {
    "results": Command("results:results", "equipoise results vignettes", checkout=True),
    "cases": Command("cases:cases", "equipoise cases --profile powered"),
    "show": Command("show:show", "equipoise show race-01", checkout=True),
    "new model": Command("new:new_model", "equipoise new model mine", checkout=True),
    "new pair": Command("new:new_pair", "equipoise new pair mine", checkout=True),
    "new dimension": Command("new:new_dimension", "equipoise new dimension prison", checkout=True),
    "new items": Command("new:new_items", "equipoise new items mine", checkout=True),
    "new city": Command("new:new_city", "equipoise new city paris", checkout=True),
    "check": Command("check:check", "equipoise check", checkout=True),
    "models": Command("models:models", "equipoise models --json", checkout=True),
    "models pin": Command("models:pin", "equipoise models pin piaget8b --json", checkout=True),
    "doctor": Command("doctor:doctor", "equipoise doctor --clean", checkout=True),
    "leaderboard": Command(
        "leaderboard:leaderboard",
        "equipoise leaderboard --markdown leaderboard.md --csv leaderboard.csv",
        checkout=True,
    ),
    "compare": Command("compare:compare", "equipoise compare HEAD workspace", checkout=True),
    "plan": Command("plan:make_plan", "equipoise plan --json", checkout=True),
    "pull": Command("archive:pull", "equipoise pull HEAD~1", checkout=True),
    "pack": Command("archive:pack", "equipoise pack", checkout=True),
    "anchors": Command("anchors:anchors", "equipoise anchors --fetch --json"),
    "judge": Command("texts:judge", "equipoise judge data/examples/reasoning.jsonl --json"),
    "neutralize": Command(
        "texts:neutralize", "equipoise neutralize data/examples/amqa_items.jsonl --field original_question"
    ),
    "parse": Command("texts:parse", "equipoise parse data/examples/replies.jsonl --json"),
    "score amqa": Command(
        "score:score_amqa", "equipoise score amqa data/examples/amqa_answers.jsonl --allow-incomplete"
    ),
    "score equity": Command(
        "score:score_equity", "equipoise score equity data/examples/amqa_answers.jsonl --allow-incomplete"
    ),
    "score influence": Command(
        "score:score_influence",
        "equipoise score influence --answers data/examples/influence_answers.jsonl "
        "--implied data/examples/influence_implied.jsonl --concepts data/examples/influence_concepts.jsonl",
    ),
    "score medmcqa": Command("score:score_medmcqa", "equipoise score medmcqa data/examples/medmcqa_london.jsonl"),
    "score silent": Command(
        "score:score_silent",
        "equipoise score silent data/examples/outputs.jsonl --cases data/examples/cases.json",
    ),
    "score stigma": Command(
        "score:score_stigma",
        "equipoise score stigma --rq1 data/examples/mental.csv --rq1 data/examples/control.csv",
    ),
    "import amqa": Command(
        "imports:import_amqa", "equipoise import amqa data/examples/amqa_items.jsonl --out example.jsonl"
    ),
    "import bench": Command("imports:import_bench", "equipoise import bench data/examples/bench.jsonl --out example"),
    "import csv": Command(
        "logs:import_csv",
        "equipoise import csv data/examples/log.csv --name example --map pair=case --map role=patient "
        "--map bias_feature=patient --map expected=correct --privileged 'office worker' --set dimension=housing",
    ),
    "import inspect": Command(
        "logs:import_inspect", "equipoise import inspect logs/vignettes.eval --name example --json"
    ),
    "import lm-eval": Command(
        "logs:import_lm_eval",
        "equipoise import lm-eval data/examples/samples_triage_2026-01-01T00-00-00.000000.jsonl --name example",
    ),
    "import medmcqa": Command(
        "imports:import_medmcqa", "equipoise import medmcqa data/examples/medmcqa_questions.jsonl --out example.jsonl"
    ),
    "import names": Command("imports:import_names", "equipoise import names --json"),
    "import openr1-psy": Command(
        "imports:import_openr1", "equipoise import openr1-psy data/examples/openr1.json --out example.jsonl"
    ),
    "import outputs": Command(
        "imports:import_outputs",
        "equipoise import outputs data/examples/outputs.jsonl --name example --cases data/examples/cases.json",
    ),
    "import vignettes": Command(
        "imports:import_vignettes", "equipoise import vignettes data/examples/cases.json --json"
    ),
    "export vignettes": Command("imports:export_vignettes", "equipoise export vignettes cases.json --json"),
    "blind export": Command("blind:export_sheet", "equipoise blind export --n 60 --out anna.csv", checkout=True),
    "blind import": Command("blind:import_sheets", "equipoise blind import anna.csv --out differ.csv", checkout=True),
}
"""Every command by its words. One that begins another's words, as models does, runs by itself too."""


class Listing(TyperGroup):
    """A group that lists its commands by their summaries, and imports the one that is run, completed or asked about."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  (typer keeps the types to itself)
        """Find the command that the arguments name, and load it."""
        name, command, rest = super().resolve_command(ctx, args)
        words = f"{ctx.info_name} {name}" if ctx.parent else name
        return name, load(words) if words in COMMANDS else command, rest


@cache
def _source(module: str) -> str:
    return Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")


def load(words: str) -> Any:  # noqa: ANN401  (typer keeps the type to itself)
    """Import a command of `COMMANDS`, with its subcommands."""
    app = typer.Typer(add_completion=False)
    below = [other for other in COMMANDS if other.startswith(f"{words} ")]
    (app.callback(invoke_without_command=True, epilog=_epilog(words)) if below else _add(app, words))(_function(words))
    for other in below:
        _add(app, other)(_function(other))
    return typer.main.get_command(app)


def _add(app: typer.Typer, words: str) -> Any:  # noqa: ANN401  (a decorator)
    return app.command(words.rsplit(" ", maxsplit=1)[-1], epilog=_epilog(words))


def _function(words: str) -> Any:  # noqa: ANN401  (each command has its own parameters)
    module, _, name = COMMANDS[words].function.partition(":")
    function = getattr(import_module(f"equipoise.cli.{module}"), name)
    return one_line(_in_checkout(words, function) if COMMANDS[words].checkout else _with_examples(function))


def _in_checkout(words: str, function: Callable[..., None]) -> Callable[..., None]:
    """Say first that the command is for a checkout, where an error arises and none is around the working folder."""

    @wraps(function)
    def told(*args: object, **kwargs: object) -> None:
        try:
            with extras_named():
                function(*args, **kwargs)
        except EquipoiseError as error:
            here = Path.cwd()
            if any((folder / PIPELINE).is_file() for folder in (here, *here.parents)):
                raise
            message = f"equipoise {words} needs a clone of the repository, and this folder is not in one: {error}"
            raise EquipoiseError(message) from error

    return told


def _with_examples(function: Callable[..., None]) -> Callable[..., None]:
    """Let the example of every --help run anywhere: elsewhere than in a checkout, its files are the package's."""

    def found(value: object) -> object:
        match value:
            case list():
                return [found(one) for one in value]
            case Path() if value.parent == EXAMPLES:
                return shipped(value)
            case str() if Path(value).parent == EXAMPLES:  # a file or an address
                return str(shipped(value))
            case _:
                return value

    @wraps(function)
    def run(**kwargs: object) -> None:
        function(**{name: found(value) for name, value in kwargs.items()})

    return run


def _epilog(words: str) -> str:
    return f"Example: {COMMANDS[words].example}"


def _listed() -> None:
    """Take the place of a command that is not loaded yet."""


def _main() -> typer.Typer:
    """Put the listing together."""
    options: dict[str, Any] = {"cls": Listing, "no_args_is_help": True}
    main = typer.Typer(help=about, epilog=_epilog("show"), pretty_exceptions_enable=False, **options)
    groups = {"": main}
    for name, summary in GROUPS.items():
        first = next(words for words in COMMANDS if words.startswith(f"{name} "))
        groups[name] = typer.Typer(help=summary, epilog=_epilog(first), **options)
        main.add_typer(groups[name], name=name)
    for words, command in COMMANDS.items():
        group, _, name = words.rpartition(" ")
        if group in groups:
            groups[group].command(name, help=command.summary)(_listed)
    return main


app = _main()
