"""The models of the hub, end to end: fetched from a hub on loopback under their real names, asked, scored and measured.

They are the eight of the benchmark, and those for a laptop or one GPU that need no export. Their checkpoints are tiny
and random, of each one's architecture, with a chat template and marks of its kind (`families`); everything else is what
the registry says, but for the lengths of the replies.
"""

from __future__ import annotations

import importlib.util
import math
import re
import shutil
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import families
import projects
import tiny_masked
from clones import Clone, changes, shorten
from equipoise.backends.torch import TorchBackend
from equipoise.core import jsonl, params
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.prompts import Prompt, Response
from equipoise.materials.judgement import Judgement
from equipoise.materials.vignette import Vignette
from equipoise.models import registry
from equipoise.models.environment import CHECKED, Checked
from equipoise.models.hub import pin_commit
from equipoise.models.readiness import Machine
from equipoise.models.registry import ModelHubSource, OnnxEntry, TorchEntry, VllmEntry
from equipoise.models.weights import locate
from equipoise.pipeline import check
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.studies.registry import STUDIES
from equipoise.studies.stigma.rows import Fill
from equipoise.text.reasoning import split
from fakes import MadeMachine
from fixtures import EXPORTER_WARNINGS
from hubs import COMMIT, LoopbackHub

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from equipoise.core.params import Params

ROOT = Path(__file__).parents[1]
LATER = "f" * 40
FEW: dict[str, Any] = {"profile": "core", "controls": False, "mirrors": False, "rereadings": ["swapped"]}
"""What is built: the pairs and their stubs, and each answer once more after the other arm's reasoning."""
SAMPLED = {"temperature": 0.7, "top_p": 0.9, "samples": 2, "reasoning_tokens": 24, "answer_tokens": 6}
UNEXPORTED = [name for name in families.LAPTOP if not isinstance(registry.load_entry(name, ROOT), OnnxEntry)]
MODELS = [
    pytest.param(name, marks=() if name == "piaget8b" else pytest.mark.slow)
    for name in sorted({*families.FAMILIES, *UNEXPORTED})
]
"""One in every run of the tests, all in the complete one."""


class RichMachine(MadeMachine):
    """A machine with memory and GPUs for every model, which asks the hub itself."""

    hub_fault = Machine.hub_fault
    has_fetched = Machine.has_fetched
    _unreachable = None


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A hub without repositories, used by the client with an empty cache."""
    with LoopbackHub() as serving:
        serving.use(monkeypatch, tmp_path / "hub")
        monkeypatch.setenv("HF_TOKEN", "hf_of_the_tests")
        yield serving


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the registry, the settings and the texts that ship, in the working folder."""
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)
    for path in (ROOT / "data").iterdir():
        if path.name not in (CHECKED, "environment.json", "manifest.json", "vignettes", "stigma"):
            (folder / "data" / path.name).symlink_to(path)
    jsonl.write_json(folder / "data" / CHECKED, Checked().written())
    shutil.copytree(ROOT / "models", folder / "models")
    (folder / "judge").symlink_to(ROOT / "judge")
    settings = yaml.safe_load(projects.committed("params.yaml"))
    settings["build"] |= FEW
    settings["measure"]["n_bootstrap"] = 200
    (folder / "params.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DVC_ROOT", str(folder))
    return folder


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """VLLM's stand-in installed, on a machine with four GPUs."""
    import sys

    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.23.0" if name == "vllm" else version(name))
    for name in ("VLLM_BATCH_INVARIANT", "VLLM_NO_USAGE_STATS", "VLLM_LOGGING_LEVEL"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "standin"))
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "vllm"]:
        del sys.modules[name]


def settings_for(name: str, **change: Any) -> Params:
    """Choose a model in the project's params.yaml, with other values of its entry; give the settings."""
    path = Path("models") / f"{name}.yaml"
    entry = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump(entry | change), encoding="utf-8")
    text = Path("params.yaml").read_text(encoding="utf-8")
    Path("params.yaml").write_text(re.sub(r"(?m)^model: .*$", f"model: {name}", text), encoding="utf-8")
    return params.load()


def serve(hub: LoopbackHub, name: str, folder: Path) -> str:
    """Serve a model's checkpoint under its name, at the commit of its entry or else at the hub's; give the commit."""
    source = getattr(registry.load_entry(name, Path()), "source", None)
    assert isinstance(source, ModelHubSource)
    commit = source.revision or COMMIT
    hub.serve(source.repo, families.build(folder, name), commit=commit)
    return commit


def stage(name: str) -> Any:
    """Load a stage's script."""
    spec = importlib.util.spec_from_file_location(f"stage_{name}", ROOT / "stages" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Hide a package, whether or not it is installed."""
    find, version = importlib.util.find_spec, metadata.version

    def no_version(name: str) -> str:
        if name == package:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == package else find(name, *rest))
    monkeypatch.setattr(metadata, "version", no_version)


def keep(run: Run, pairs: int) -> None:
    """Leave the first pairs of a study that was built, and their prompts."""
    chosen = list(dict.fromkeys(row.pair for row in jsonl.each(run.built("vignettes"), Vignette)))[:pairs]
    for name in ("vignettes", "tellings"):
        rows = [row for row in jsonl.read(run.built(name), Vignette) if row.pair in chosen]
        jsonl.write(run.built(name), rows)
    asked = [prompt for prompt in jsonl.read(run.built("prompts"), Prompt) if prompt.key.split("/")[0] in chosen]
    jsonl.write(run.built("prompts"), asked)


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize("name", MODELS)
def test_each_model_of_the_hub_is_one_run(
    project: Path, hub: LoopbackHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Checked, fetched at one commit, asked with samples, scored and measured; thinking is not read as an answer."""
    commit = serve(hub, name, tmp_path / name)
    settings = settings_for(name, generation=SAMPLED)
    entry = registry.load_entry(name, project)
    assert isinstance(entry, TorchEntry | VllmEntry)
    modules = ("vllm", "bitsandbytes", "openai")
    check.require_sound(settings, STUDIES, Path(), RichMachine(modules=modules, gpu_gigabytes=200.0, token=True))
    stage("export").main(ROOT / "data/raw/probes.yaml", Path("data/manifest.json"))
    printed = capsys.readouterr().out
    hub.repositories[entry.source.repo].commit = LATER  # type: ignore[union-attr]  # it is of the hub
    run = Run("vignettes", Path("data"), settings)
    step("vignettes", "build")(run)
    keep(run, 2)
    step(run.study, "infer")(run)
    step("vignettes", "score")(run)
    effects = measure(run, step(run.study, "measure")).effects
    responses = {response.key: response for response in jsonl.read(run.responses, Response)}
    judgements = jsonl.read(run.judgements, Judgement)

    assert (run.manifest.repo, run.manifest.revision) == (entry.source.repo, commit)  # type: ignore[union-attr]
    # Only a commit that the entry does not name is reported.
    assert (f"models/{name}.yaml names no commit: using {run.manifest.repo} at {commit}" in printed) is (
        entry.source.revision is None  # type: ignore[union-attr]
    )
    assert {effect.n for effect in effects if effect.key.endswith("/n_pairs")} <= {2}
    assert {effect.estimate for effect in effects if effect.measure == "pairs"} <= {2.0}
    # Two arms of two pairs, in two samples each.
    sampled = [judgement for judgement in judgements if "stub" not in judgement.key]
    assert len({judgement.key for judgement in sampled}) >= 4
    replies = [response.replies for response in responses.values() if len(response.replies) == 2]
    assert len(set(replies)) > 4
    assert all(response.log_likelihood for response in responses.values() if not response.replies)
    closing = {"think": "</think>", "content": "</think>", "channels": "<|channel|>final<|message|>"}.get(
        entry.reasoning
    )
    marked = [reasoning for reasoning, _ in replies if closing and closing in reasoning]
    assert bool(marked) is bool(closing)
    assert not any("<|" in split(reasoning, entry.reasoning).reasoning for reasoning in marked)


@pytest.mark.parametrize(
    ("bits", "layer", "stored"),
    [
        # Two numbers of 4 bits to a byte.
        (4, "Linear4bit", lambda shape: (shape[0] * shape[1] // 2, 1)),
        (8, "Linear8bitLt", lambda shape: shape),
    ],
)
def test_quantised_loading_answers_in_few_bits(
    project: Path,
    hub: LoopbackHub,
    tmp_path: Path,
    bits: int,
    layer: str,
    stored: Callable[[tuple[int, int]], tuple[int, int]],
) -> None:
    """A checkpoint of the hub answers with every matrix of its layers in few bits; the head keeps its 16."""
    import torch

    commit = serve(hub, "piaget8b", tmp_path / "piaget8b")
    settings = settings_for("piaget8b", backend="torch", bits=bits, device_map="cpu", generation=SAMPLED)
    check.require_sound(settings, STUDIES, Path(), RichMachine(modules=("bitsandbytes",)))
    stage("export").main(ROOT / "data/raw/probes.yaml", Path("data/manifest.json"))
    run = Run("vignettes", Path("data"), settings)
    step("vignettes", "build")(run)
    keep(run, 1)
    step(run.study, "infer")(run)
    entry = registry.load_entry("piaget8b", project)
    assert isinstance(entry, TorchEntry)
    with TorchBackend(locate(pin_commit(entry, commit), project), entry, batch_size=4) as backend:
        linear = {
            name: module
            for name, module in backend._engine._model.named_modules()
            if isinstance(module, torch.nn.Linear)
        }
    head = linear.pop("lm_head")

    assert len(list(jsonl.each(run.responses, Response))) > 4
    assert run.manifest.settings["bits"] == bits
    # Two layers, each with four projections of its attention and three of its feed-forward part.
    assert [type(module).__name__ for module in linear.values()] == [layer] * 14
    for projection in linear.values():
        assert projection.weight.dtype.itemsize == 1
        # On processors with AVX-512 bitsandbytes lays the same bytes out in another shape.
        assert projection.weight.numel() == math.prod(stored((projection.out_features, projection.in_features)))
    assert (type(head), head.weight.dtype) == (torch.nn.Linear, torch.bfloat16)


@pytest.mark.parametrize("bits", [4, 8])
def test_quantised_loading_without_bitsandbytes_says_what_it_needs(
    project: Path, hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int
) -> None:
    """The check, the export and the backend each name the package in one line, and nothing is written."""
    commit = serve(hub, "piaget8b", tmp_path / "piaget8b")
    settings = settings_for("piaget8b", backend="torch", bits=bits, device_map="cpu")
    entry = registry.load_entry("piaget8b", project)
    assert isinstance(entry, TorchEntry)
    weights = locate(pin_commit(entry, commit), project)
    without(monkeypatch, "bitsandbytes")

    with pytest.raises(EquipoiseError, match=rf"bitsandbytes, which {bits} bits need, is not installed: run `pip"):
        check.require_sound(settings, STUDIES, Path(), RichMachine())
    with pytest.raises(EquipoiseError, match=rf"{entry.title}: bitsandbytes is not installed: run `pip"):
        stage("export").main(ROOT / "data/raw/probes.yaml", Path("data/manifest.json"))
    with pytest.raises(EquipoiseError, match=rf"bits is {bits}, and bitsandbytes is not installed: run `pip"):
        TorchBackend(weights, entry, batch_size=4)
    assert not Path("data/manifest.json").exists()


@pytest.mark.slow
def test_weights_published_in_four_bits_run_in_torch(project: Path, hub: LoopbackHub, tmp_path: Path) -> None:
    """The experts of gpt-oss, in MXFP4, are unpacked in bfloat16; another format is refused before any work."""
    serve(hub, "gpt_oss_20b", tmp_path / "gpt_oss_20b")
    settings = settings_for("gpt_oss_20b", backend="torch", device_map="cpu", generation=SAMPLED)
    stage("export").main(ROOT / "data/raw/probes.yaml", Path("data/manifest.json"))
    run = Run("vignettes", Path("data"), settings)
    step("vignettes", "build")(run)
    keep(run, 1)
    step(run.study, "infer")(run)
    responses = jsonl.read(run.responses, Response)
    other = registry.load_entry("gpt_oss_20b", project).model_copy(update={"dtype": "float32"})
    assert isinstance(other, TorchEntry)

    # Two arms, each with its stub and in two samples, and the answers after the other arm's reasoning.
    assert len([response for response in responses if len(response.replies) == 2]) == 4
    with pytest.raises(EquipoiseError, match=r"dtype is float32, and its weights, published in MXFP4, run in bfloat16"):
        TorchBackend(locate(other, project), other, batch_size=4)


def deberta(folder: Path) -> Path:
    """Write a tiny random DeBERTa that tells entailment from contradiction, as the large judge does."""
    import torch
    from tokenizers.processors import TemplateProcessing
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

    import tiny

    words = tiny.tokenizer(None, ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"), "[SEP]")
    words.add_special_tokens({"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"})
    words.backend_tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    torch.manual_seed(0)
    config = DebertaV2Config(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=512,
        relative_attention=True,
        position_buckets=64,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        type_vocab_size=0,
        initializer_range=0.5,
        id2label={0: "contradiction", 1: "entailment", 2: "neutral"},
        label2id={"contradiction": 0, "entailment": 1, "neutral": 2},
    )
    DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings(*EXPORTER_WARNINGS)
def test_the_large_judge_reads_a_run(project: Path, hub: LoopbackHub, tmp_path: Path) -> None:
    """Fetched at its commit and exported once, it judges the reasoning; the second time the hub is away."""
    source = registry.load_judge_entry("deberta_v3_large", project).source
    assert isinstance(source, registry.HubSource)
    repository = hub.serve(source.repo, deberta(tmp_path / "judge"), commit=source.revision)
    settings = settings_for("phantom_silent").model_copy(update={"judge": "deberta_v3_large"})
    check.require_sound(settings, STUDIES, Path(), RichMachine())
    stage("export").main(ROOT / "data/raw/probes.yaml", Path("data/manifest.json"))
    run = Run("vignettes", Path("data"), settings)
    step("vignettes", "build")(run)
    keep(run, 4)
    step(run.study, "infer")(run)
    step("vignettes", "score")(run)
    judged = jsonl.read(run.judgements, Judgement)
    repository.faults.append("broken")
    step("vignettes", "score")(run)
    effects = measure(run, step(run.study, "measure")).effects

    assert judged == jsonl.read(run.judgements, Judgement)
    assert {effect.n for effect in effects if effect.measure == "pairs"} <= {4}
    assert next(Path(".cache/judges").iterdir()).name.startswith("judge-")


@pytest.mark.slow
@pytest.mark.filterwarnings(*EXPORTER_WARNINGS)
@pytest.mark.parametrize("name", ["roberta_large", "mental_roberta", "clinical_longformer"])
def test_each_masked_model_fills_the_sentences(project: Path, hub: LoopbackHub, tmp_path: Path, name: str) -> None:
    """Fetched at its commit, pickled weights as tensors alone, it gives the figures of the stigma study."""
    entry = registry.load_masked_entry(name, project)
    assert isinstance(entry.source, registry.HubSource)
    safe = entry.weights == "model.safetensors"
    # The published window: twice the tokens that the registry allows.
    window = {"longformer": True, "attention_window": 512} if "longformer" in name else {}
    # As test_masked has them, so that what is exported is exported once.
    folder = tiny_masked.build(tmp_path / name, 3, safe=safe, **window)
    hub.serve(entry.source.repo, folder, commit=entry.source.revision)
    (project / "data/sentences").unlink()
    shutil.copytree(ROOT / "data/sentences", project / "data/sentences")
    shorten(project / "data/sentences")
    settings = settings_for("phantom_silent")
    fill = settings.fill | {"scorer": "masked", "masked": name, "beam": 3, "steps": 2}  # type: ignore[attr-defined]
    run = Run("stigma", Path("data"), settings.model_copy(update={"fill": fill}))
    check.require_sound(run.settings, STUDIES, Path(), RichMachine())
    stage("export").main(ROOT / "data/raw/probes.yaml", Path("data/manifest.json"))
    step("stigma", "build")(run)
    step(run.study, "infer")(run)
    step("stigma", "score")(run)
    effects = measure(run, step(run.study, "measure")).effects

    assert {path.rpartition("/")[2] for path in hub.paths() if path.startswith("/cdn")} == {entry.weights}
    # Three conditions a set (`shorten`).
    assert len({row.condition for row in jsonl.read(run.judgements, Fill)}) == 6
    assert effects


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qwen3_4b", "medgemma_4b"])
def test_one_command_runs_a_model_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """`dvc exp run -S model=NAME` prints the commit that it found, which the manifest then names; gated or not."""
    clone = Clone(tmp_path / "clone")
    path = clone.folder / f"models/{name}.yaml"
    entry = yaml.safe_load(path.read_text(encoding="utf-8"))
    repo = entry["source"]["repo"]
    # As large as the checkpoint that is served, which fits on any machine.
    path.write_text(yaml.safe_dump(entry | {"parameters": "0.1M", "generation": SAMPLED}), encoding="utf-8")
    shorten(clone.folder / "data/sentences", conditions=1)
    clone.commit()
    with LoopbackHub() as hub:
        hub.serve(repo, families.build(tmp_path / "checkpoint", name))
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
        monkeypatch.setenv("HF_TOKEN", "hf_of_the_tests")
        monkeypatch.setenv("NO_PROXY", "*")
        # Without the report.
        printed = clone.dvc("exp", "run", *changes(f"model={name}", "studies=[stigma]"), "measure@stigma").stdout
        asked = len(hub.asked)
        hub.repositories[repo].commit = LATER
        again = clone.dvc("repro", "--force", "--single-item", "export").stdout
    manifest = jsonl.read_one(clone.folder / "data/manifest.json", Manifest)

    told = f"models/{name}.yaml names no commit: using {repo} at {COMMIT}"
    assert told in printed
    assert told in again
    assert asked > 0
    assert (manifest.repo, manifest.revision) == (repo, COMMIT)
    assert (clone.folder / "metrics/stigma.json").is_file()
