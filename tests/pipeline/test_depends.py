"""Which stages an edit makes stale: those that read what was edited, and no other."""

from __future__ import annotations

import re
import runpy
import shutil
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from equipoise.core import params
from equipoise.core.params import Params, Refers
from equipoise.pipeline import depends
from equipoise.pipeline.check import SHARED
from equipoise.pipeline.steps import STAGES
from equipoise.studies.registry import STUDIES
from projects import copy_pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

ROOT = Path(__file__).parents[2]
NAME, HYPHENATED = r"^[a-z0-9_]+$", r"^[a-z0-9_-]+$"
"""The patterns of names of files."""
CHOSEN = ("vignettes", "questions", "exam", "stigma", "decisions")
ALL = {f"{stage}@{study}" for stage, study in product(STAGES, CHOSEN)}
REPORT, EXPORT = {"report"}, {"export"}


def stages(*names: str) -> set[str]:
    """Name one stage of several studies: `score: vignettes decisions`."""
    return {
        f"{stage}@{study}"
        for stage, of in (name.split(":") for name in names)
        for study in (CHOSEN if of.strip() == "all" else of.split())
    }


COMPUTED = EXPORT | ALL
# File, what is replaced there (a regular expression; empty: the end of the file), by what, and the stages that read it.
# Stages that only read what these write are left to DVC, and so is `check` itself, which takes seconds.
EDITS: dict[str, tuple[str, str, str, set[str]]] = {
    "score.unsure": ("params.yaml", r"unsure: [\d.]+", "unsure: 0.2", stages("score: vignettes") | REPORT),
    "measure.n_bootstrap": (
        "params.yaml",
        r"n_bootstrap: \d+",
        "n_bootstrap: 9999",
        stages("measure: all") | REPORT,
    ),
    "infer.batch_size": ("params.yaml", r"batch_size: 16", "batch_size: 8", REPORT),
    "a margin": ("params.yaml", r"margin: 0.5\b", "margin: 0.6", stages("measure: vignettes") | REPORT),
    "a level of decisions": ("params.yaml", r"  power: null", "  power: 0.9", stages("measure: all") | REPORT),
    "a comment in params.yaml": ("params.yaml", r"\A", "# Mine.\n", set()),
    "a comment in a lexicon": ("data/lexicon/nouns.yaml", "", "\n# Mine.\n", set()),
    "a word of a lexicon": (
        "data/lexicon/clinical.yaml",
        "",
        "\nmine: 1\n",
        stages("build: questions") | REPORT,
    ),
    "a word by which reasoning is blinded": (
        "data/lexicon/nouns.yaml",
        "",
        "\nmine: 1\n",
        stages("build: questions", "infer: vignettes", "measure: vignettes") | REPORT,
    ),
    "a comment in diagnoses.yaml": ("data/diagnoses.yaml", "", "\n# Mine.\n", set()),
    "a diagnosis": ("data/diagnoses.yaml", "", "\nmine: 1\n", stages("score: vignettes") | REPORT),
    "a question": (
        "data/items/authored.jsonl",
        "",
        "\n",
        # The questions of the study and those of the exam are the same file.
        stages("build: questions exam") | REPORT,
    ),
    "a story": (
        "data/raw/presentations/race_language.yaml",
        "",
        "\nmine: 1\n",
        stages("build: vignettes decisions") | REPORT,
    ),
    "a feature": (
        "data/features/race.yaml",
        "",
        "\nmine: 1\n",
        stages("infer: vignettes", "score: vignettes", "measure: vignettes") | REPORT,
    ),
    "a README beside stories": ("data/raw/own/README.md", "", "More.\n", set()),
    "the title of a plot in dvc.yaml": ("dvc.yaml", r"title: Bias rates", "title: Rates of bias", set()),
    "the title of a plot in the report": (
        "src/equipoise/studies/vignettes/plots.py",
        r"title=\"(\w)",
        r'title="The \1',
        stages("measure: vignettes") | REPORT,
    ),
    "a template of plots": (".dvc/plots/forest.json", "", "\n", REPORT),
    "a page of a metric": ("docs/metrics/gap.md", "", "More.\n", REPORT),
    "another page": ("docs/report.md", "", "More.\n", set()),
    "a comment in statistics": ("src/equipoise/stats/clusters.py", "", "\n# Mine.\n", set()),
    "a docstring in statistics": ("src/equipoise/stats/clusters.py", r'\A"""', '"""Mine: ', set()),
    "statistics": (
        "src/equipoise/stats/clusters.py",
        "",
        "\nMINE = 1\n",
        # Only a stage that measures loads the declarations of studies, which draw on statistics.
        stages("measure: all") | REPORT,
    ),
    "a comment in the engine": ("src/equipoise/models/engine.py", "", "\n# Mine.\n", set()),
    "the engine": (
        "src/equipoise/models/engine.py",
        "",
        "\nMINE = 1\n",
        # Agents that write questions run in it, and so do the judge and the masked models.
        EXPORT | stages("infer: all", "build: questions", "score: vignettes stigma"),
    ),
    "a comment in a backend": ("src/equipoise/backends/vllm.py", "", "\n# Mine.\n", set()),
    "a comment in records": ("src/equipoise/core/jsonl.py", "", "\n# Mine.\n", set()),
    "a comment in a command": ("src/equipoise/cli/doctor.py", "", "\n# Mine.\n", set()),
    "a command": ("src/equipoise/cli/doctor.py", "", "\nMINE = 1\n", set()),
    "a version that is required": ("requirements/runtime.txt", r"^numpy==[\d.]+", "numpy==2.5.0", COMPUTED | REPORT),
    "a version in pyproject.toml": ("pyproject.toml", r"\"numpy>=2\"", '"numpy>=2.4"', COMPUTED | REPORT),
    "a version that changes no figure": ("requirements/dev.txt", r"^sphinx==[\d.]+", "sphinx==9.9.9", set()),
    "a comment on the judge": ("models/judges/minilm_passages.yaml", "", "\n# Mine.\n", set()),
    "the judge": (
        "models/judges/minilm_passages.yaml",
        r"max_tokens: \d+",
        "max_tokens: 200",
        stages("score: vignettes", "measure: vignettes") | REPORT,
    ),
    "the title of the model": ("models/smollm2.yaml", r"title: ", "title: My ", REPORT),
    "a setting of the model": (
        "models/smollm2.yaml",
        r"reasoning_tokens: \d+",
        "reasoning_tokens: 99",
        COMPUTED | REPORT,
    ),
    "another model": ("models/phantom_fair.yaml", r"ability: [\d.]+", "ability: 0.5", set()),
    "the manifest of inputs": ("data/inputs.yaml", "", "\nmine: 1\n", REPORT),
    "published figures": ("data/anchors.yaml", "", "\nmine: 1\n", set()),
    # Only the import of a data set reads them.
    "the diseases of an exam": ("data/medmcqa_diseases.yaml", "", "\nmine: 1\n", set()),
    "examples": ("data/examples/log.csv", "", "1,2\n", set()),
    "cities": (
        "data/cities.yaml",
        "",
        "\nmine: 1\n",
        stages("build: exam", "measure: questions exam") | REPORT,
    ),
}


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the pipeline reads, with the settings that ship."""
    folder = tmp_path_factory.mktemp("project")
    copy_pipeline(folder)
    return folder


@pytest.fixture
def project(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The copy as the working folder; what a test changes is put back."""
    monkeypatch.chdir(copied)
    ready(monkeypatch)
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file() and not path.is_symlink()}
    yield copied
    for path in [path for path in copied.rglob("*") if path.is_file() or path.is_symlink()]:
        if path not in before or path.is_symlink():
            path.unlink()
        elif path.read_bytes() != before[path]:
            path.write_bytes(before[path])


@pytest.fixture(scope="module")
def before(copied: Path) -> dict[str, dict[str, Any]]:
    """What each stage depends on before any edit."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(copied)
        ready(patched)
        check()
    return dependencies(copied)


def ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every study of params.yaml be chosen, whether or not its models and items are ready."""
    name = "equipoise.pipeline.check.require_sound"
    monkeypatch.setattr(name, lambda settings, *_: [STUDIES[study] for study in settings.studies])


def check() -> None:
    """Run the stage `check` of the copy."""
    main = runpy.run_path("stages/check.py")["main"]
    main(Path("stages"), Path("data"))


def dependencies(folder: Path) -> dict[str, dict[str, Any]]:
    """Give what each stage depends on that no stage but `check` writes, with its content, as dvc.yaml declares it."""
    pipeline = yaml.safe_load((folder / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    settings = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    by_stage: dict[str, dict[str, Any]] = {}
    for name, declared in pipeline.items():
        for study in CHOSEN if "do" in declared else ("",):
            stage = declared.get("do", declared)
            deps = [dep.replace("${item}", study) for dep in stage["deps"]]
            values: dict[str, Any] = {}
            for entry in stage.get("params", ()):
                for key in [entry] if isinstance(entry, str) else []:
                    value = settings
                    for part in key.replace("${item}", study).split("."):
                        value = value[part]
                    values[key] = value
            for dep in deps:
                if dep.startswith(("data/code", "data/settings", "data/environment")):
                    values[dep] = (folder / dep).read_text(encoding="utf-8")
            by_stage[f"{name}@{study}" if study else name] = values
    return by_stage


def stale(folder: Path, before: dict[str, dict[str, Any]]) -> set[str]:
    """Name the stages whose dependencies have changed, other than `check`."""
    after = dependencies(folder)
    return {name for name in after if after[name] != before[name]} - {"check"}


@pytest.mark.slow
@pytest.mark.parametrize("what", EDITS)
def test_an_edit_makes_stale_what_reads_it_and_nothing_else(
    project: Path, before: dict[str, dict[str, Any]], what: str
) -> None:
    """The listings of `check`, the settings and the environment say so to DVC."""
    name, pattern, replacement, expected = EDITS[what]
    text = (project / name).read_text(encoding="utf-8")
    edited = re.sub(pattern, replacement, text, count=1, flags=re.MULTILINE) if pattern else text + replacement
    assert edited != text, f"{name} has nothing like {pattern}"
    (project / name).write_text(edited, encoding="utf-8")
    check()

    assert stale(project, before) == expected


FIELDS = {
    (study.name, section, name): field
    for study in STUDIES.values()
    for section, kind in study.sections.items()
    for name, field in kind.model_fields.items()
}
"""Every setting that belongs to a study."""
NAMED = {key for key, field in FIELDS.items() if any(isinstance(mark, Refers) for mark in field.metadata)}


def is_path_or_name(field: FieldInfo) -> bool:
    """Whether a setting's type is a path, or has a pattern of names of files."""
    kind = f"{field.annotation!r} {field.metadata!r}"
    return "Path" in kind or any(repr(pattern) in kind for pattern in (NAME, HYPHENATED))


def test_every_setting_that_names_a_file_is_followed() -> None:
    """Its type is marked with what it refers to; a path or a name that is not would go stale unseen."""
    assert {key for key, field in FIELDS.items() if is_path_or_name(field)} == NAMED
    marked = {name for name, field in Params.model_fields.items() if any(isinstance(m, Refers) for m in field.metadata)}
    assert marked == {"model", "judge", "items"}
    assert not [name for kind in SHARED.values() for name, field in kind.model_fields.items() if is_path_or_name(field)]


@pytest.mark.parametrize("key", sorted(NAMED), ids=".".join)
def test_a_file_that_a_setting_names_makes_its_study_stale(project: Path, key: tuple[str, str, str]) -> None:
    """Wherever it lies: a folder beside the project, an entry of the registry, or a file of items."""
    study, section, name = key
    (refers,) = (mark for mark in FIELDS[key].metadata if isinstance(mark, Refers))
    value, target = place(project, refers.to)
    text = yaml.safe_load((project / "params.yaml").read_text(encoding="utf-8"))
    text["studies"] = [study]
    # OpenR1-Psy has no items that ship, and imported cases are asked about a panel alone.
    text["pair"]["items"] = "authored"
    text["build"]["design"] = "panel"
    text["fill"]["scorer"] = "masked"
    text[section][name] = value
    (project / "params.yaml").write_text(yaml.safe_dump(text, sort_keys=False), encoding="utf-8")
    check()
    before = {path: path.read_text("utf-8") for path in (project / "data/code").rglob(f"{study}.txt")}
    target.write_text(target.read_text("utf-8").replace("MINE", "YOURS"), encoding="utf-8")
    check()
    changed = {path.parent.name for path, listing in before.items() if path.read_text("utf-8") != listing}

    # The stage that reads it; later ones follow from what that one writes.
    assert changed & {"build", "score"}


def place(project: Path, to: str) -> tuple[str, Path]:
    """Make a file that a setting may name; return the setting's value and the file."""
    if to == "":
        target = project / "elsewhere/mine.txt"
        value = "elsewhere"
    else:
        target = project / to / f"mine.{'jsonl' if to == 'data/items' else 'yaml'}"
        value = "mine"
    text = {
        "models": "phantom_fair.yaml",
        "models/judges": "minilm_passages.yaml",
        "models/masked": "roberta_large.yaml",
    }
    content = (ROOT / to / text[to]).read_text("utf-8") if to in text else "{}\n"
    target.parent.mkdir(exist_ok=True)
    # A licence is a text that any entry has.
    target.write_text(
        re.sub("^licence: .*", "licence: MINE", content, flags=re.MULTILINE) + "# MINE\n", encoding="utf-8"
    )
    return value, target


@pytest.mark.usefixtures("project")
def test_files_elsewhere_are_linked_where_dvc_sees_them() -> None:
    """`check` depends on its folder of links: through them, an edit of any such file runs it again."""
    settings = params.load()
    shutil.copytree("data/templates", "mine")
    elsewhere = settings.model_copy(update={"perturb": settings.values("perturb") | {"templates": "mine"}})
    questions = [STUDIES["questions"]]
    depends.link_followed(elsewhere, questions, Path("data/followed"))
    linked = {
        path.relative_to("data/followed/mine") for path in Path("data/followed/mine").rglob("*") if path.is_file()
    }

    assert linked == {path.relative_to("mine") for path in Path("mine").rglob("*") if path.is_file()}
    assert all(path.is_symlink() for path in Path("data/followed/mine").glob("*.yaml"))
    # What `check` depends on by itself is not linked, and what is not named any more is not either.
    depends.link_followed(settings, questions, Path("data/followed"))
    assert [path for path in Path("data/followed").rglob("*") if path.is_symlink()] == []
