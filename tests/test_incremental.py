"""What a small change costs: one new pair asks two prompts, and a changed analysis opens no model."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import projects
from equipoise.backends.replay import ReplayBackend, Saved, question
from equipoise.core import jsonl
from equipoise.core.prompts import Prompt
from equipoise.judge.model import CrossEncoder
from equipoise.materials.judgement import Judgement
from equipoise.materials.stories.library import load_library
from equipoise.materials.vignette import Vignette
from equipoise.models import registry
from equipoise.models.export import describe
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.profiles import Build, build_pairs, vignette_prompt
from test_pipeline import STAGES, closure, entries, paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from equipoise.core.prompts import Response

ROOT = Path(__file__).parents[1]
ENTRY = "title: Saved\nlicence: none\nbackend: replay\nfile: saved.jsonl\nsha256: {sha256}\ncandidates: true\n"
STUDY = Path("data/vignettes")
OPENS_A_MODEL = {
    *(f"backends/{name}.py" for name in ("ask", "onnx", "torch", "vllm", "openai", "ray/cluster")),
    *(f"models/{name}.py" for name in ("engine", "export", "decoder")),
    "judge/model.py",
    "studies/stigma/masked_model.py",
}
"""The modules of ours that load weights or ask a server."""


def stage(name: str) -> Callable[..., None]:
    """Give a stage's main function."""
    spec = importlib.util.spec_from_file_location(f"stage_{name}", ROOT / "stages" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    main: Callable[..., None] = module.main
    return main


def told_as(key: str) -> str:
    """Name a case without the word race, which the judge would take for the feature."""
    return key.removeprefix("race-")


def saved(row: Vignette, asked: Prompt) -> Saved:
    """Answer a case: two sentences of reasoning, of which the second names the patient's feature."""
    (feature,), told = row.features.values(), told_as(row.key)
    return Saved(
        key=row.key,
        replies=(f"The story of {told} is new. In {told} the patient is {feature}.", row.expected.label),
        finished=(True, True),
        log_likelihood=dict.fromkeys(asked.candidates, -1.0),
        candidate_tokens=dict.fromkeys(asked.candidates, 1),
        prompt_tokens=1,
        generated_tokens=1,
        asked=question(asked),
    )


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, made the working folder, whose model has saved answers to four pairs of core that differ in race."""
    for name in ("data/features", "data/diagnoses.yaml", "judge"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "models", tmp_path / "models")
    params = yaml.safe_load(projects.committed("params.yaml"))
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params | {"model": "saved"}), encoding="utf-8")
    library = load_library(ROOT / "data/raw")
    rows = [row for row in build_pairs(library, "core") if row.dimensions == ("race",)][:8]
    assert len({row.pair for row in rows}) == 4
    prompts = [vignette_prompt(row, Build.model_validate(params["build"])) for row in rows]
    jsonl.write(tmp_path / "all.jsonl", rows)
    jsonl.write(tmp_path / "asked.jsonl", prompts)
    jsonl.write(tmp_path / "saved.jsonl", [saved(row, asked) for row, asked in zip(rows, prompts, strict=True)])
    entry = ENTRY.format(sha256=jsonl.sha256(tmp_path / "saved.jsonl"))
    (tmp_path / "models/saved.yaml").write_text(entry, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    loaded: Any = registry.load_entry("saved", Path())
    jsonl.write_json(Path("data/manifest.json"), describe("saved", loaded, Path()).written())
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the prompts that the model is asked."""
    keys: list[str] = []
    plain = ReplayBackend.answer

    def noted(self: ReplayBackend, prompts: Iterable[Prompt]) -> Iterator[Response]:
        listed = list(prompts)
        keys.extend(prompt.key for prompt in listed)
        return plain(self, listed)

    monkeypatch.setattr(ReplayBackend, "answer", noted)
    return keys


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passages that the judge is asked about."""
    premises: list[str] = []
    plain = CrossEncoder.probabilities

    def noted(self: CrossEncoder, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        premises.extend(premise for premise, _ in pairs)
        return plain(self, pairs)

    monkeypatch.setattr(CrossEncoder, "probabilities", noted)
    return premises


def run(project: Path, pairs: int) -> list[Vignette]:
    """Run infer and score on the first so many pairs, and give their cases."""
    rows = jsonl.read(project / "all.jsonl", Vignette)
    names = sorted({row.pair for row in rows})[:pairs]
    kept = [row for row in rows if row.pair in names]
    keys = {row.key for row in kept}
    jsonl.write(STUDY / "built/vignettes.jsonl", kept)
    jsonl.write(STUDY / "built/tellings.jsonl", ())
    asked = [prompt for prompt in jsonl.read(project / "asked.jsonl", Prompt) if prompt.key in keys]
    jsonl.write(STUDY / "built/prompts.jsonl", asked)
    stage("infer")("vignettes", Path("data"))
    stage("score")("vignettes", Path("data"))
    return kept


def test_one_new_pair_asks_two_prompts_and_judges_their_passages(
    project: Path, asked: list[str], judged: list[str]
) -> None:
    """Of four pairs, three of them answered before, the model and the judge are asked about the fourth alone."""
    before = run(project, 3)
    assert len(asked) == 6
    asked.clear()
    judged.clear()
    new = [row.key for row in run(project, 4) if row not in before]

    # Both arms, each a prompt; each reply is one passage, with one feature.
    assert sorted(asked) == sorted(new)
    assert len(new) == 2
    assert len(judged) == 2
    assert {key for key in new for passage in judged if f"In {told_as(key)} " in passage} == set(new)
    assert len(jsonl.read(STUDY / "judgements.jsonl", Judgement)) == 8


def test_a_run_with_nothing_new_opens_neither_model_nor_judge(
    project: Path, asked: list[str], judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same pairs again: nothing is asked or judged, and the bytes are the same."""
    run(project, 4)
    first = [(STUDY / name).read_bytes() for name in ("responses.jsonl", "judgements.jsonl")]
    asked.clear()
    judged.clear()
    for kind in (ReplayBackend, CrossEncoder):
        monkeypatch.setattr(kind, "__init__", lambda *_, **__: pytest.fail("a model was opened"))
    run(project, 4)

    assert (asked, judged) == ([], [])
    assert first == [(STUDY / name).read_bytes() for name in ("responses.jsonl", "judgements.jsonl")]


def reached(section: str) -> set[str]:
    """Name the stages that run after a change of a section of params.yaml: those that read it, and what they feed.

    `check` reads all of params.yaml, but writes the same file for all sound settings, so nothing follows from it.
    """
    makes = {
        name: {path.replace("${item}", study) for path in paths(stage, "outs", "metrics", "plots") for study in STUDIES}
        for name, stage in STAGES.items()
    }
    affected = {
        name for name, stage in STAGES.items() if section in {str(parameter) for parameter in stage.get("params", ())}
    }
    while more := {
        name
        for name, stage in STAGES.items()
        if name not in affected
        and any(made.startswith(dep) for dep in paths(stage, "deps") for earlier in affected for made in makes[earlier])
    }:
        affected |= more
    return affected


def test_a_change_of_the_analysis_opens_no_model() -> None:
    """What runs after a change in `measure` imports nothing that loads weights or asks a server.

    `check` loads no weights either, but asks a server what it offers.
    """
    assert reached("measure") == {"measure", "report"}
    for name in reached("measure"):
        assert not opened(name), name
    assert opened("check") == {"backends/openai.py"}


def test_check_loads_no_library_that_runs_a_model() -> None:
    """The stage on which all others wait starts without the libraries of models and without what opens one."""
    heavy = {"onnx", "onnxruntime", "openai", "ray", "torch", "transformers", "vllm"}
    ours = {f"equipoise.{path.removesuffix('.py').replace('/', '.')}" for path in OPENS_A_MODEL}
    imports = "from equipoise.pipeline import check; from equipoise.studies import registry"
    listing = f"import sys; {imports}; print(*sys.modules, sep='\\n')"
    loaded = subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True).stdout.split()

    assert "equipoise.models.readiness" in loaded
    assert not (heavy | ours) & set(loaded)


def test_stages_that_ask_a_model_are_told_apart() -> None:
    """The modules by which the test above knows a model are those by which infer and score load theirs."""
    assert {"backends/ask.py", "backends/onnx.py"} <= opened("infer")
    assert {"judge/model.py", "studies/stigma/masked_model.py"} <= opened("score")


def opened(name: str) -> set[str]:
    """Name the modules that load weights or ask a server among those that a stage can import."""
    files = {path for starts, _ in entries(name) for start in starts for path in closure(start.as_posix())}
    return {path.removeprefix("src/equipoise/") for path in files} & OPENS_A_MODEL
