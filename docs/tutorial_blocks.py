"""The generated blocks of the tutorial: outputs of its commands, on phantoms, the committed run and saved outputs.

`make readme` writes the blocks, `make check` fails when they are stale. Phantoms and saved outputs are run here; the
rows of the committed run are read from its archive.
"""

import json
import shutil
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stdout
from datetime import UTC, datetime
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import yaml
from rich.table import Table
from typer.testing import CliRunner

from equipoise.backends.phantom import Fact
from equipoise.cli.app import app
from equipoise.cli.compare import study_table as table_of_changes
from equipoise.cli.leaderboard import study_table as table_of_figures
from equipoise.cli.leaderboard import verdicts_of
from equipoise.compare.archive import ARCHIVE
from equipoise.compare.changes import changes
from equipoise.compare.gate import gate
from equipoise.compare.items import flips
from equipoise.compare.leaderboard import Run as Recorded
from equipoise.compare.leaderboard import standings
from equipoise.compare.revisions import Revision, Sources
from equipoise.compare.text import Comparison, differences, flips_title
from equipoise.core import jsonl, params
from equipoise.core.display import number as written
from equipoise.core.printing import PlainConsole, show_on
from equipoise.figures.figure import headline_metrics
from equipoise.figures.layout import read_result, rows_of
from equipoise.figures.options import Decision, Measure
from equipoise.figures.result import StudyResult
from equipoise.figures.verdicts import verdict_metrics
from equipoise.materials.judgement import Judgement, Reading
from equipoise.materials.vignette import Vignette
from equipoise.models import registry
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.comparison import VignetteRows

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from phantoms_truth import Truth, planted_vignettes  # noqa: E402

PHANTOMS = ("fair", "open", "silent")
STUDY = "vignettes"
SETTINGS = params.load(ROOT / "params.yaml")
TITLES = {
    "stereotype_shift_net": "net shift (nats)",
    "differential_bias_rate": "differential bias rate",
    "silent_bias_rate_moved": "silent bias rate",
}
WIDTH = 116


class Measured(NamedTuple):
    """What a run of the study gives on one phantom, and what the phantom knew."""

    facts: list[Fact]
    vignettes: list[Vignette]
    judgements: list[Judgement]
    result: StudyResult


@contextmanager
def project() -> Iterator[Path]:
    """Work in a copy of the project without anything computed."""
    with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(StringIO()):
        # The studies' own folders; what we wrote has one of the name of a study too, data/raw/decisions.
        shutil.copytree(ROOT / "data", "data", ignore=lambda path, _: STUDIES if Path(path) == ROOT / "data" else ())
        shutil.copytree(ROOT / "models", "models", ignore=shutil.ignore_patterns("adapters"))
        shutil.copy(ROOT / "params.yaml", "params.yaml")
        Path("judge").symlink_to(ROOT / "judge")
        yield Path("data")


@cache
def measured(name: str) -> Measured:
    """Run the study on a phantom, in a copy of the project's data."""
    with project() as data:
        run = Run(STUDY, data, SETTINGS.model_copy(update={"model": f"phantom_{name}"}))
        for stage in ("build", "infer", "score"):
            step(run.study, stage)(run)
        return read(run, measure(run, step(run.study, "measure")))


def read(run: Run, result: StudyResult) -> Measured:
    """Read the rows of a run; only a phantom has facts."""
    facts = run.built("facts")
    return Measured(
        jsonl.read(facts, Fact) if facts.exists() else [],
        jsonl.read(run.built("vignettes"), Vignette),
        jsonl.read(run.judgements, Judgement),
        result,
    )


def restore(data: Path) -> None:
    """Restore the rows of the committed run of the study below `data`, as `make pull` does."""
    with tarfile.open(ROOT / ARCHIVE) as archive:
        # One by one: Python before 3.11.4 has no filter for a whole archive.
        for member in archive:
            if file := archive.extractfile(member):
                jsonl.write_bytes(Path(member.name), file.read())
    stages = yaml.safe_load(jsonl.read_text(ROOT / "dvc.lock"))["stages"].values()
    outs = {out["path"]: out["md5"] for stage in stages for out in stage["outs"]}
    for path, digest in outs.items():
        if not path.startswith(f"data/{STUDY}/"):
            continue
        files = {"": digest}
        if digest.endswith(".dir"):
            files = {f"/{row['relpath']}": row["md5"] for row in json.loads(jsonl.read_text(packed(digest)))}
        for name, md5 in files.items():
            jsonl.write_bytes(data.parent / f"{path}{name}", packed(md5).read_bytes())


def packed(digest: str) -> Path:
    """Give the place of an object of DVC in the archive."""
    return Path("files/md5") / digest[:2] / digest[2:]


@cache
def committed() -> Measured:
    """Read the committed run of the default model."""
    with project() as data:
        restore(data)
        run = Run(STUDY, data, SETTINGS)
        return read(run, read_result(data, STUDIES[STUDY], SETTINGS.section("decision", Decision)))


@cache
def generated() -> Measured:
    """Score the committed run by its generated answers; what the judge read of its reasoning stays."""
    with project() as data:
        restore(data)
        settings = {**SETTINGS.score, "answering": "generate"}
        run = Run(STUDY, data, SETTINGS.model_copy(update={"score": settings}))
        known = {row.key: row.model_dump(include={*Reading.model_fields}) for row in committed().judgements}
        step(STUDY, "score")(run, reasoning=False)
        rows = [row.model_copy(update=known[row.key]) for row in jsonl.read(run.judgements, Judgement)]
        jsonl.write(run.judgements, rows)
        return read(run, measure(run, step(run.study, "measure")))


def figures(name: str) -> dict[str, Any]:
    """Give the headline figures of a phantom, as its metrics file would have them."""
    result = measured(name).result
    headlines = headline_metrics(STUDIES[STUDY].figures, result.effects, result.totals)
    return {**headlines, **verdict_metrics(result.verdict)}


def leaderboard() -> str:
    """Show the phantoms beside the default model, whose figures are in Git, as `equipoise leaderboard` does."""
    by_model = {f"phantom_{name}": figures(name) for name in PHANTOMS}
    by_model[SETTINGS.model] = json.loads(jsonl.read_text(ROOT / f"metrics/{STUDY}.json"))
    runs = [
        Recorded(model, "", datetime.now(tz=UTC), {"model": model}, model, {STUDY: metrics})
        for model, metrics in by_model.items()
    ]
    rows = standings(runs, {})
    return shown("equipoise leaderboard", [*verdicts_of(rows), "", table_of_figures(STUDY, rows)])


def compare() -> str:
    """Show the changes from the open to the silent phantom, as `equipoise compare` does."""
    compared = comparison(revision("open", measured("open")), revision("silent", measured("silent")))
    return shown("equipoise compare open silent", table_of_changes(compared, STUDY))


def compare_answers() -> str:
    """Show the changes from likelihoods to generated answers, as `equipoise compare` does."""
    compared = comparison(
        revision("main", committed()),
        revision("workspace", generated()),
        {"score.answering": ("likelihood", "generate")},
    )
    parameters = differences(compared.sources)[0].replace("`", "")
    lines = ("…", f"{flips_title(compared)}.", "…", parameters)
    return shown("equipoise compare main workspace", table_of_changes(compared, STUDY), *lines)


def revision(name: str, run: Measured) -> Revision:
    """Give a run as a revision to compare."""
    options = SETTINGS.section("measure", Measure)
    rows = {STUDY: VignetteRows(vignettes=run.vignettes, answers=run.judgements)}
    return Revision(name=name, rows=rows, effects=rows_of(run.result), options=options)


def comparison(base: Revision, head: Revision, parameters: Mapping[str, tuple[str, str]] | None = None) -> Comparison:
    """Compare two revisions; `parameters` are those that differ, with their old and new values."""
    rows = changes(base, head)
    sources = Sources(parameters or {}, {}, {}, {})
    return Comparison(base, head, rows, flips(base, head), (), sources, gate(base, head, rows))


def show(arguments: str, sections: Mapping[str, int] | None = None) -> str:
    """Show what `equipoise show` prints of the committed run.

    `sections` maps the beginnings of headings to how many lines are kept from there on; the others become `…`.
    """
    with project() as data:
        restore(data)
        text = output(f"show {arguments}")
    kept: list[str] = []
    left = 0 if sections else sys.maxsize
    for line in text.splitlines():
        left = max([left, *(n for start, n in (sections or {}).items() if line.startswith(start))])
        if left or kept[-1] != "…":
            kept.append(line if left else "…")
        left = max(left - 1, 0)
    return block([f"$ equipoise show {arguments}", *kept])


def saved() -> str:
    """Import the saved outputs of data/examples, measure them, and show what was found."""
    with project() as data:
        imported = "import outputs data/examples/outputs.jsonl --name mine --cases data/examples/cases.json"
        lines = [f"$ equipoise {imported}", *output(imported).splitlines()]
        run = Run("cases", data, SETTINGS.model_copy(update={"model": "mine"}))
        for stage in ("build", "infer", "score"):
            step(run.study, stage)(run)
        jsonl.write(run.effects, rows_of(measure(run, step(run.study, "measure"))))
        lines += ["$ dvc exp run --name saved -S model=mine -S 'studies=[cases]'", "…"]
        lines += ["$ equipoise results cases", *output("results cases").splitlines()]
    return block(lines)


def output(arguments: str) -> str:
    """Run a command of `equipoise` in the working folder."""
    done = CliRunner().invoke(app, arguments.split(), env={"COLUMNS": str(WIDTH)}, catch_exceptions=False)
    if done.exit_code:
        raise RuntimeError(done.output)
    return "\n".join(line.rstrip() for line in done.stdout.rstrip().splitlines())


def truths() -> str:
    """Lay out what is planted in each phantom beside what its run reports."""
    return "\n".join(["| | fair | open | silent |", "|---|---:|---:|---:|", *_rows()])


def shown(command: str, parts: Table | Sequence[Table | str], *more: str) -> str:
    """Print a table of a command, or several parts, below the command as a block of text; `more` lines follow."""
    console = PlainConsole(file=StringIO(), width=WIDTH)
    show_on(console, *([parts] if isinstance(parts, Table) else parts))
    lines = (line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]
    return block([f"$ {command}", *lines, *(more or ("…",))])


def block(lines: list[str]) -> str:
    """Fence lines as a block of text."""
    return "\n".join(["```text", *lines, "```"])


@cache
def truth_of(name: str) -> Mapping[str, Truth]:
    """Give what is planted in a phantom."""
    entry = registry.load_entry(f"phantom_{name}", ROOT)
    return planted_vignettes(entry, measured(name).facts)


def _rows() -> Iterator[str]:
    for figure, title in TITLES.items():
        known, reported = [], []
        for name in PHANTOMS:
            truth = truth_of(name).get(f"{STUDY}.{figure}")
            estimate = figures(name)[figure].get("estimate")
            known.append("–" if truth is None else written(truth.value))
            reported.append("undefined" if estimate is None else written(estimate))
        yield f"| {title}: planted | {' | '.join(known)} |"
        yield f"| {title}: reported | {' | '.join(reported)} |"
