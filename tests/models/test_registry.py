from __future__ import annotations

import re
from pathlib import Path

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.models import registry

ROOT = Path(__file__).parents[2]
ENTRY = """\
title: A model
parameters: 1B
licence: Apache-2.0
backend: onnx
source: {kind: hub, repo: someone/model, revision: 0123456789012345678901234567890123456789}
max_length: 1024
generation: {reasoning_tokens: 128, answer_tokens: 24}
fidelity: 0.99
"""


def register(root: Path, name: str, text: str = ENTRY) -> None:
    """Add an entry to the registry of a project."""
    (root / "models").mkdir(exist_ok=True)
    (root / "models" / f"{name}.yaml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "models").glob("*.yaml")))
def test_every_model_of_the_registry_loads(name: str) -> None:
    """An entry that ships is sound."""
    assert registry.load_entry(name, ROOT).title


def test_a_new_file_is_a_new_model(tmp_path: Path) -> None:
    """Adding a model takes one file; what it leaves out has its default."""
    register(tmp_path, "mine")
    entry = registry.load_entry("mine", tmp_path)

    assert isinstance(entry, registry.OnnxEntry)
    assert registry.ModelHubSource(kind="hub", repo="someone/model", revision="0123456789" * 4) == entry.source
    assert registry.Generation(repetition_penalty=1.0, reasoning_tokens=128, answer_tokens=24) == entry.generation
    assert (entry.reasoning, entry.bytes_per_parameter, entry.thinking, entry.likelihoods) == ("auto", 2.0, {}, True)


def test_an_argument_of_the_template_may_be_a_number(tmp_path: Path) -> None:
    """Seed-OSS switches thinking off by a budget of 0 tokens; false is not that number, and stays false."""
    register(tmp_path, "mine", f"{ENTRY}thinking: {{thinking_budget: 0, enable_thinking: false, mode: none}}\n")
    entry = registry.load_entry("mine", tmp_path)

    assert isinstance(entry, registry.OnnxEntry)
    assert repr(entry.thinking) == "{'thinking_budget': 0, 'enable_thinking': False, 'mode': 'none'}"


def test_an_unknown_model_is_refused_with_the_known_and_the_nearest(tmp_path: Path) -> None:
    """A misspelt name is answered with the one that was meant."""
    register(tmp_path, "smollm2")
    register(tmp_path, "qwen")

    with pytest.raises(
        EquipoiseError, match=r"models: no entry 'smolm2': did you mean 'smollm2'\? known: qwen, smollm2$"
    ):
        registry.load_entry("smolm2", tmp_path)
    with pytest.raises(EquipoiseError, match=r"models: no entry 'xyz': known: qwen, smollm2$"):
        registry.load_entry("xyz", tmp_path)


@pytest.mark.parametrize("name", ["../models/smollm2", "judges/smollm2", "smollm2.yaml", ""])
def test_a_name_is_no_path(tmp_path: Path, name: str) -> None:
    """Only the stem of a file in the registry's own folder is a name."""
    register(tmp_path, "smollm2")

    with pytest.raises(EquipoiseError, match="no entry"):
        registry.load_entry(name, tmp_path)


def test_an_empty_registry_says_so(tmp_path: Path) -> None:
    """Where no model is registered none is known."""
    with pytest.raises(EquipoiseError, match="no entry 'any': known: none"):
        registry.load_entry("any", tmp_path)


@pytest.mark.parametrize(
    ("sound", "faulty", "field"),
    [
        ("max_length: 1024", "max_length: 8", "max_length: Input should be greater than or equal to 64"),
        ("fidelity: 0.99", "fidelity: 1.5", "fidelity: Input should be less than or equal to 1"),
        ("answer_tokens: 24", "answer_tokens: 0", r"generation\.answer_tokens: Input should be greater"),
        (
            "answer_tokens: 24",
            "answer_tokens: 24, samples: 8",
            r"\(row\): Value error, generation.samples: greedy replies",
        ),
        ("backend: onnx", "backend: gpt", "backend: it must be one of onnx, torch, vllm, openai, replay"),
        ("backend: onnx", "backend: [onnx]", "backend: it must be one of"),
        ("parameters: 1B", "parameters: 1 billion", "parameters: String should match pattern"),
        (
            "max_length: 1024",
            "max_length: 1024\ncontext: 512",
            r"\(row\): Value error, max_length 1024 is more than the",
        ),
        ("backend: onnx", "backend: onnx\nreasoning: tags", "reasoning: Input should be 'auto', 'think', 'content'"),
        (
            "title: A model",
            'title: "A\\amodel"',
            r"title: Value error, holds the character U\+0007, which is not printable",
        ),
        ("title: A model", f"title: {'a' * 501}", "title: String should have at most 500 characters"),
        ("title: A model", "titel: A model", "titel: Extra inputs are not permitted: did you mean 'title'"),
        ("kind: hub", "kind: cloud", "source: Input tag 'cloud'"),
        (", revision: 0123456789012345678901234567890123456789", "", r"source\.hub\.revision: Field required"),
        ("revision: 0123456789", "revision: main", r"source\.hub\.revision: String should match pattern"),
        ("fidelity: 0.99", "fidelity: 0.99\ntemperature: 0", "temperature: Extra inputs are not permitted"),
    ],
)
def test_a_malformed_entry_names_the_field(tmp_path: Path, sound: str, faulty: str, field: str) -> None:
    """The message gives the file and the field; a branch is not a revision."""
    register(tmp_path, "mine", ENTRY.replace(sound, faulty))

    with pytest.raises(EquipoiseError, match=rf"mine\.yaml: field {field}"):
        registry.load_entry("mine", tmp_path)


@pytest.mark.parametrize("repo", ["gpt2", "01-ai/Yi-1.5-6B-Chat", "some_one/a.b-c_d"])
def test_an_id_of_the_hub_is_accepted(tmp_path: Path, repo: str) -> None:
    """With an owner or without one, and with full stops, hyphens and underscores within its names."""
    register(tmp_path, "mine", ENTRY.replace("someone/model", repo))

    assert registry.load_entry("mine", tmp_path)


@pytest.mark.parametrize(
    "repo", ["https://huggingface.co/a/b", "a/b/c", "a/b.git", "../..", "a/-b", "a/b--c", "a/b ", "''", "a/" + "b" * 97]
)
def test_what_is_no_id_of_the_hub_is_refused(tmp_path: Path, repo: str) -> None:
    """The hub's client would raise an error of its own, before it asks the hub."""
    register(tmp_path, "mine", ENTRY.replace("someone/model", f'"{repo}"'))

    with pytest.raises(
        EquipoiseError, match=r"field source\.hub\.repo: Value error, .* is not a repository id: write OWNER"
    ):
        registry.load_entry("mine", tmp_path)


# The ids and sizes of seed 1's table of the benchmark; a dash there is the size of the model's base.
BENCHMARK = {
    "psyllm": ("GMLHUHE/PsyLLM", "8.19B"),
    "qwen3_8b": ("Qwen/Qwen3-8B", "8.19B"),
    "gpt_oss_20b": ("openai/gpt-oss-20b", "20.9B"),
    "qwq_32b": ("Qwen/QwQ-32B-Preview", "32.8B"),
    "deepseek_r1_14b": ("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", "14.8B"),
    "piaget8b": ("gustavecortal/Piaget-8B", "8.19B"),
    "psyche_r1": ("MindIntLab/Psyche-R1", "7.62B"),
    "psych_qwen_32b": ("Compumacy/Psych_Qwen_32B", "32.8B"),
}


@pytest.mark.parametrize("name", BENCHMARK)
def test_the_models_of_the_benchmark_have_its_ids(name: str) -> None:
    """Each is fetched under the very id of the benchmark, with its limits, its form and the sizes for estimates."""
    entry = registry.load_entry(name, ROOT)

    assert isinstance(entry, registry.WeightsEntry)
    assert isinstance(entry.source, registry.ModelHubSource)
    assert (entry.source.repo, entry.parameters) == BENCHMARK[name]
    assert entry.context is not None
    assert entry.attention is not None
    assert entry.max_length <= entry.context
    assert entry.generation.reasoning_tokens + entry.generation.answer_tokens < entry.max_length


API = """\
title: A server
licence: none
backend: openai
base_url: http://localhost:8000/v1
model: some
key_env: null
generation: {reasoning_tokens: 128, answer_tokens: 24}
"""


def test_a_server_is_asked_greedily_unless_told_otherwise(tmp_path: Path) -> None:
    """What an entry leaves out has its default: temperature 0, a seed, eight requests at once, no likelihoods."""
    register(tmp_path, "mine", API)
    entry = registry.load_entry("mine", tmp_path)

    assert isinstance(entry, registry.ApiEntry)
    assert (entry.temperature, entry.seed, entry.concurrency, entry.likelihoods) == (0.0, 0, 8, False)


@pytest.mark.parametrize(
    ("sound", "faulty", "field"),
    [
        ("key_env: null", 'key_env: null\nserved_as: ""', "served_as: String should have at least 1 character"),
        ("key_env: null", 'key_env: null\nserved_as: "a\\nb"', r"served_as: Value error, holds the character U\+000A"),
        ("model: ", 'model: "a\\nb" #', r"model: Value error, holds the character U\+000A, which is not printable"),
        ("http://localhost:8000/v1", "localhost:8000", "base_url: String should match pattern"),
        ("http://localhost:8000/v1", "https://user:secret@host/v1", "base_url: String should match pattern"),
        ("http://localhost:8000/v1", "https://host/v1?key=secret", "base_url: String should match pattern"),
        ("key_env: null", "key_env: sk-0123456789", "key_env: String should match pattern"),
        ("key_env: null\n", "", "key_env: Field required"),
        ("key_env: null", "key_env: null\nkey: sk-0123", "key: Extra inputs are not permitted"),
        ("key_env: null", "key_env: null\nprefix: Go on.", "prefix: String should match pattern"),
        (
            "{reasoning",
            "{repetition_penalty: 1.1, reasoning",
            r"\(row\): Value error, generation\.repetition_penalty is not",
        ),
    ],
)
def test_an_entry_of_a_server_holds_no_secret(tmp_path: Path, sound: str, faulty: str, field: str) -> None:
    """A key has no place in it, not even in the address; only the name of its variable has."""
    register(tmp_path, "mine", API.replace(sound, faulty))

    with pytest.raises(EquipoiseError, match=rf"mine\.yaml: field {field}"):
        registry.load_entry("mine", tmp_path)


def test_saved_answers_say_whether_they_have_likelihoods(tmp_path: Path) -> None:
    """A replay needs a file and its sha256, and no generation."""
    text = f"title: Saved\nlicence: none\nbackend: replay\nfile: a.jsonl\nsha256: {'a' * 64}\n"
    register(tmp_path, "without", text)
    register(tmp_path, "with", text + "candidates: true\n")

    assert [registry.load_entry(name, tmp_path).likelihoods for name in ("without", "with")] == [False, True]


MASKED_ENTRY = """\
title: Mine
licence: MIT
source: {kind: local, path: somewhere}
runtime: onnx
max_tokens: 64
"""


def register_masked(root: Path, name: str, text: str = MASKED_ENTRY) -> None:
    """Add an entry to the registry of masked models."""
    (root / registry.MASKED).mkdir(parents=True, exist_ok=True)
    (root / registry.MASKED / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_the_three_models_of_the_paper_are_registered() -> None:
    """Each entry that ships is sound and names a commit; only MentalRoBERTa is gated, and Longformer runs in torch."""
    names = sorted(path.stem for path in (ROOT / registry.MASKED).glob("*.yaml"))
    entries = {name: registry.load_masked_entry(name, ROOT) for name in names}

    assert names == ["clinical_longformer", "mental_roberta", "roberta_large"]
    assert all(isinstance(entry.source, registry.HubSource) for entry in entries.values())
    assert {name for name in names if entries[name].gated} == {"mental_roberta"}
    assert {name for name in names if entries[name].runtime == "torch"} == {"clinical_longformer"}


def test_a_new_file_is_a_new_masked_model(tmp_path: Path) -> None:
    """Adding a masked model takes one file; what it leaves out has its default."""
    register_masked(tmp_path, "mine")
    entry = registry.load_masked_entry("mine", tmp_path)

    assert (entry.weights, entry.gated) == ("model.safetensors", False)


def test_an_unknown_masked_model_is_refused_with_the_nearest(tmp_path: Path) -> None:
    """A misspelt name is answered with the one that was meant."""
    register_masked(tmp_path, "roberta_large")

    with pytest.raises(EquipoiseError, match=r"masked: no entry 'roberta_larg': did you mean 'roberta_large'\?"):
        registry.load_masked_entry("roberta_larg", tmp_path)


@pytest.mark.parametrize(
    ("sound", "faulty", "field"),
    [
        ("runtime: onnx", "runtime: jax", "runtime: Input should be 'onnx' or 'torch'"),
        ("max_tokens: 64", "max_tokens: 8", "max_tokens: Input should be greater than or equal to 16"),
        ("licence: MIT", "licence: ''", "licence: String should have at least 1 character"),
        ("runtime: onnx", "runtime: onnx\ntrust_remote_code: true", "trust_remote_code: Extra inputs"),
        ("runtime: onnx", "runtime: onnx\nweights: model.bin", "weights: Input should be 'model.safetensors'"),
        ("{kind: local, path: somewhere}", "{kind: hub, repo: a/b, revision: main}", r"source\.hub\.revision: String"),
    ],
)
def test_a_malformed_masked_entry_names_the_field(tmp_path: Path, sound: str, faulty: str, field: str) -> None:
    """The message gives the file and the field; code from the hub is never trusted, and a branch is not a revision."""
    register_masked(tmp_path, "mine", MASKED_ENTRY.replace(sound, faulty))

    with pytest.raises(EquipoiseError, match=rf"mine\.yaml: field {field}"):
        registry.load_masked_entry("mine", tmp_path)


@pytest.mark.parametrize(
    ("marks", "fault"),
    [
        ('{open: ["<denk>"], close: ["thinking done"]}', "'thinking done' is an ordinary word, or has margins"),
        ('{open: [" <denk>"], close: ["</denk>"]}', "' <denk>' is an ordinary word, or has margins"),
        ('{open: ["<denk>"], close: ["< DENK >"]}', "'<denk>' both opens and closes the thinking"),
        ('{open: ["<denk>"], close: []}', "Tuple should have at least 1 item"),
        ('{open: ["<denk>"]}', "Field required"),
        ('{open: "<denk>", close: ["</denk>"]}', "Input should be a valid"),
    ],
)
def test_marks_of_thinking_that_could_be_text_are_refused(tmp_path: Path, marks: str, fault: str) -> None:
    """The line names the entry, the field and the mark."""
    register(tmp_path, "mine", f"{ENTRY}marks: {marks}\n")

    with pytest.raises(EquipoiseError, match=rf"mine\.yaml: field marks.*{re.escape(fault)}"):
        registry.load_entry("mine", tmp_path)
