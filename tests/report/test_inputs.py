"""Tests of the manifest of inputs: whatever the pipeline reads is declared, with its licence, source and hash."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import projects
from equipoise.core import params
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import sha256
from equipoise.core.manifest import Manifest
from equipoise.core.yamlfile import load_yaml
from equipoise.models import registry
from equipoise.report.inputs import (
    FILE,
    Declarations,
    Declared,
    declaration,
    every_input,
    inputs,
    model_inputs,
    weights_inputs,
)
from equipoise.studies.registry import STUDIES

if TYPE_CHECKING:
    from equipoise.report.page import Report

ROOT = Path(__file__).parents[2]
DECLARED = {row.path: row for row in load_yaml(ROOT / FILE, Declarations).inputs}
STATED = re.compile(r"Licence: ([A-Za-z0-9.+-]*[A-Za-z0-9])")
"""How a file's first comment states its licence."""


def read_by_the_pipeline() -> set[str]:
    """List the files under data/, models/ and judge/ that a stage depends on and no stage makes."""
    stages: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    chosen = yaml.safe_load(projects.committed("params.yaml"))
    items = {chosen["items"], chosen["sample"]["items"], chosen["pair"]["items"]}
    # The stage of a chain is what is done for each study.
    each = [stage.get("do", stage) for stage in stages.values()]
    outs = [out for stage in each for out in stage.get("outs", ())]
    # Links to a user's own files are made too.
    made = {out if isinstance(out, str) else next(iter(out)) for out in outs} | {"data/followed"}
    files = {f"data/items/{name}.jsonl" for name in items if (ROOT / f"data/items/{name}.jsonl").is_file()}
    for dep in {dep for stage in each for dep in stage["deps"]}:
        is_made = any(dep == out or dep.startswith(f"{out}/") for out in made)
        if dep.startswith(("data/", "models", "judge/")) and not is_made:
            path = ROOT / dep
            files |= {
                file.relative_to(ROOT).as_posix() for file in ([path] if path.is_file() else path.rglob("*.yaml"))
            }
    return files


def test_every_input_of_the_pipeline_is_declared() -> None:
    """Each file that a stage reads from Git has a title, a licence and a source."""
    read = read_by_the_pipeline()

    assert {"data/cities.yaml", "data/items/authored.jsonl", "models/smollm2.yaml"} <= read
    assert [path for path in sorted(read) if not declaration(path, DECLARED).licence] == []


def test_everything_that_a_run_reads_is_in_its_manifest() -> None:
    """The report lists every data file that a stage depends on; of the registry, the entries of this run."""
    every = projects.committed_settings().model_copy(update={"studies": tuple(STUDIES)})
    listed = {row.path for row in inputs(every, ROOT)}
    data = {path for path in read_by_the_pipeline() if path.startswith("data/")}

    # Read where the model is a phantom, and where the judge is a language model.
    rubrics = {"data/rubrics/letters.yaml", "data/rubrics/treatments.yaml"}
    assert data - listed == {"data/phantoms/reasoning.yaml", *rubrics}
    assert {path for path in listed if path.startswith("models/")} == {
        "models/smollm2.yaml",
        "models/judges/minilm_letters.yaml",
        "models/judges/minilm_passages.yaml",
        "models/judges/minilm_snli.yaml",
    }


def test_a_judge_that_is_a_language_model_is_listed_with_its_model_and_rubric() -> None:
    """For the judge `llm` the report lists the entry, the model's entry, and the rubric with its hash."""
    chosen = projects.committed_settings().model_copy(update={"judge": "llm", "model": "phantom_fair"})
    listed = {row.path: row.sha256 for row in inputs(chosen, ROOT)}
    rubric = "data/rubrics/treatments.yaml"

    assert {"models/judges/llm.yaml", "models/smollm2.yaml"} <= listed.keys()
    assert listed[rubric] == sha256(ROOT / rubric)


def test_a_run_lists_the_inputs_of_its_studies_alone() -> None:
    """A study that is off adds no file and no judge; one that is on lists its own."""
    chosen = projects.committed_settings()
    listed = {
        study: {row.path for row in inputs(chosen.model_copy(update={"studies": (study,)}), ROOT)} for study in STUDIES
    }

    for judge, study in (("minilm_snli", "openr1"), ("minilm_letters", "letters")):
        assert {name for name, paths in listed.items() if f"models/judges/{judge}.yaml" in paths} == {study}
    assert {study for study, paths in listed.items() if "data/cities.yaml" in paths} == {"questions", "exam"}
    assert {study for study, paths in listed.items() if any("/sentences/" in path for path in paths)} == {"stigma"}


def settings_with(section: str, **changed: Any) -> params.Params:
    """Give the committed settings with some values of a section changed."""
    settings = projects.committed_settings()
    values = settings.model_dump()
    return params.Params.model_validate(values | {section: values[section] | changed})


def questions_of(settings: params.Params, root: Path) -> dict[str, Any]:
    """List the inputs of the study of questions alone, by path."""
    return {row.path: row for row in inputs(settings.model_copy(update={"studies": ("questions",)}), root)}


def test_templates_are_those_that_the_setting_names(tmp_path: Path) -> None:
    """A folder of a user's own takes the place of data/templates, needs no declaration, and is hashed as it is."""
    project = projects.copy(tmp_path)
    for name in ("data/templates", "data/phantoms"):
        shutil.copytree(ROOT / name, project / name)
    (project / FILE).write_bytes((ROOT / FILE).read_bytes())
    shutil.copytree(ROOT / "data/templates", project / "data/mine")
    edited = project / "data/mine/background/favourable.yaml"
    edited.write_text(edited.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")
    shipped = questions_of(projects.committed_settings(), project)
    own = questions_of(settings_with("perturb", templates="data/mine"), project)
    names = {path.relative_to(ROOT / "data/templates").as_posix() for path in (ROOT / "data/templates").rglob("*.yaml")}

    assert {path for path in shipped if "templates" in path} == {f"data/templates/{name}" for name in names}
    assert own.keys() - shipped.keys() == {f"data/mine/{name}" for name in names}
    assert not [path for path in own if "templates" in path]
    assert own["data/mine/background/favourable.yaml"].sha256 == sha256(edited)
    assert own["data/mine/evaluation.yaml"].source == "named by params.yaml or the registry"


def test_a_file_of_earlier_attempts_is_listed(tmp_path: Path) -> None:
    """The file that an agent replays is an input, inside the project or outside, with its hash."""
    attempts = tmp_path / "attempts.jsonl"
    attempts.write_text('{"key": "a"}\n', encoding="utf-8")
    listed = questions_of(settings_with("perturb", generator="replay", replay=str(attempts)), ROOT)

    assert listed[attempts.as_posix()].sha256 == sha256(attempts)
    assert listed[attempts.as_posix()].licence == "as the file states"


@pytest.mark.parametrize("agent", ["generator", "fuser", "evaluator"])
def test_a_model_that_is_an_agent_is_listed_with_its_weights(agent: str) -> None:
    """The entry of a generator, fuser or evaluator is an input, and its weights' sha256; rules are not a model."""
    settings = settings_with("perturb", **{agent: "smollm2"}).model_copy(update={"model": "phantom_fair"})
    manifest = Manifest(model="phantom_fair", backend="phantom", repo="planted", revision="1", licence="Apache-2.0")
    with_rules = projects.committed_settings().model_copy(update={"model": "phantom_fair"})
    listed = {row.path: row.sha256 for row in every_input(manifest, settings, ROOT)}

    assert listed["models/smollm2.yaml"] == sha256(ROOT / "models/smollm2.yaml")
    assert listed["smollm2"] == registry.load_entry("smollm2", ROOT).source.sha256  # type: ignore[union-attr]
    assert "models/smollm2.yaml" not in questions_of(with_rules, ROOT)


def test_what_the_stages_of_a_study_read_is_listed() -> None:
    """Each study alone lists every declared file that is there."""
    chosen = projects.committed_settings()
    for name, study in STUDIES.items():
        listed = {row.path for row in inputs(chosen.model_copy(update={"studies": (name,)}), ROOT)}
        reads = {path for paths in study.reads.values() for path in paths}
        files = {
            path
            for relative in reads
            for path in ([ROOT / relative] if (ROOT / relative).is_file() else (ROOT / relative).rglob("*"))
        }

        assert {path.relative_to(ROOT).as_posix() for path in files if path.suffix == ".yaml"} <= listed, name


def test_declarations_are_unique_and_of_files_that_exist() -> None:
    """No row of the list is left over from a file that is gone, or written twice."""
    rows = load_yaml(ROOT / FILE, Declarations).inputs

    assert len(rows) == len(DECLARED)
    assert [path for path in DECLARED if not (ROOT / path).exists()] == []


def test_declared_licence_is_the_one_that_the_file_states() -> None:
    """Where a file's first comment states a licence, the list says the same."""
    checked = 0
    for path in read_by_the_pipeline():
        head = " ".join((ROOT / path).read_text(encoding="utf-8").splitlines()[:30]) if path.endswith(".yaml") else ""
        if path.startswith("data/") and (stated := STATED.search(head)):
            checked += 1
            assert declaration(path, DECLARED).licence == stated[1], path

    # Lexicons, features, raw files and others: most state theirs.
    assert checked > 20


def test_the_nearest_declaration_counts() -> None:
    """A file's own row comes before its folder's, and a folder's before that of the folder around it."""
    rows = {path: Declared(path=path, title=path, licence="MIT", source="x") for path in ("a/", "a/b/", "a/b/c.yaml")}

    paths = [declaration(path, rows).path for path in ("a/b/c.yaml", "a/b/d.yaml", "a/e/f.yaml")]

    assert paths == ["a/b/c.yaml", "a/b/", "a/"]


def test_an_undeclared_input_is_refused_with_the_fix() -> None:
    """The line names the file and says where to declare it."""
    with pytest.raises(EquipoiseError, match=r"^data/new\.yaml: its licence is not declared: .* to data/inputs\.yaml$"):
        declaration("data/new.yaml", DECLARED)


def test_rows_state_their_own_licence_and_source(tmp_path: Path) -> None:
    """The licences and sources of the rows of imported questions count, each once."""
    (tmp_path / "data/items").mkdir(parents=True)
    (tmp_path / "models/judges").mkdir(parents=True)
    (tmp_path / FILE).write_bytes((ROOT / FILE).read_bytes())
    text = projects.committed("params.yaml")
    (tmp_path / "params.yaml").write_text(text.replace("items: authored", "items: mixed", 1), encoding="utf-8")
    for name in ("smollm2", "judges/minilm_passages", "judges/minilm_snli"):
        (tmp_path / f"models/{name}.yaml").write_bytes((ROOT / f"models/{name}.yaml").read_bytes())
    (tmp_path / "data/items/mixed.jsonl").write_text(
        '{"licence": "MIT", "source": "b"}\n{"licence": "CC0", "source": "a"}\n{"licence": "MIT", "source": "a"}\n',
        encoding="utf-8",
    )

    (imported,) = [
        row for row in inputs(params.load(tmp_path / "params.yaml"), tmp_path) if row.path.endswith(".jsonl")
    ]

    assert (imported.licence, imported.source) == ("CC0, MIT", "a, b")


def test_inputs_of_the_report_are_hashed_and_unique(report: Report) -> None:
    """Files have the sha256 of their bytes; the model's weights and the judge's are among the inputs."""
    listed = {row.path: row for row in report.provenance.inputs}

    assert len(listed) == len(report.provenance.inputs)
    assert listed["data/cities.yaml"].sha256 == sha256(ROOT / "data/cities.yaml")
    assert listed["judge/reader/model.onnx"].sha256 == sha256(ROOT / "judge/reader/model.onnx")
    replies = {row.path: row for row in weights_inputs("Judge", registry.load_judge_entry("minilm_snli", ROOT))}
    assert replies["judge/snli/weights/model.onnx"].licence.startswith("Apache-2.0 (base model), CC BY-SA 4.0")
    assert listed["model.onnx"].title == "Model under test: SmolLM2-135M-Instruct"


def test_a_model_behind_a_server_has_no_hash() -> None:
    """A server's weights are not known: the input names the server and the model, without a sha256."""
    entry = registry.load_entry("api_example", ROOT)
    manifest = Manifest(model="api_example", backend="openai", repo="https://x", revision="m-2026", licence="closed")

    (model_input,) = model_inputs(manifest, entry)

    assert (model_input.path, model_input.source, model_input.sha256) == ("m-2026", "https://x", None)


def test_saved_answers_are_an_input_with_their_cases() -> None:
    """A replayed model's inputs are its file of answers and the cases that it answers."""
    case_file = registry.CasesFile(file="cases.json", sha256="c" * 64)
    entry = registry.ReplayEntry(
        title="Saved",
        licence="MIT",
        backend="replay",
        file="saved.jsonl",
        sha256="a" * 64,
        answers=("cases",),
        cases=case_file,
    )
    manifest = Manifest(model="saved", backend="replay", repo="saved.jsonl", revision="a" * 64, licence="MIT")

    assert [(row.path, row.sha256) for row in model_inputs(manifest, entry)] == [
        ("saved.jsonl", "a" * 64),
        ("cases.json", "c" * 64),
    ]


def test_weights_of_the_hub_are_held_to_a_commit() -> None:
    """Judges and masked models of the hub have their commit as source."""
    from equipoise.models.registry import load_judge_entry as load_judge
    from equipoise.models.registry import load_masked_entry as load_masked

    for (weights,) in (
        weights_inputs("Judge", load_judge("deberta_v3_large", ROOT)),
        weights_inputs("Masked model", load_masked("roberta_large", ROOT)),
    ):
        assert re.fullmatch(r"huggingface\.co, commit [0-9a-f]{40}", weights.source)
        assert weights.sha256 is None
