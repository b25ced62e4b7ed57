"""Tests of `equipoise new` and `equipoise check`: what is written is valid untouched, and nothing is overwritten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import projects
from equipoise.api.checks import unedited
from equipoise.cli import models as listing
from equipoise.cli.app import app
from equipoise.core import jsonl
from equipoise.materials.cities import load_cities
from equipoise.materials.questions import Item
from equipoise.materials.stories.library import load_library
from equipoise.models import registry
from equipoise.studies.questions.neutralize import neutralize_items
from equipoise.studies.vignettes.profiles import profile_pairs
from equipoise.text.neutral.lexicon import load_lexicon
from fakes import MadeMachine

if TYPE_CHECKING:
    from typer.testing import Result

KINDS = ("model", "pair", "dimension", "items", "city")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of the project."""
    monkeypatch.chdir(projects.copy(tmp_path))
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path


def invoke(*words: str) -> Result:
    """Run a command."""
    return CliRunner().invoke(app, list(words), prog_name="equipoise", catch_exceptions=False)


def tree(folder: Path) -> dict[str, bytes]:
    """Give the content of every file of a project."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_new_is_valid_and_found(project: Path) -> None:
    """One of each, untouched: the pair and the dimension are in the profile full, the rest where its reader looks."""
    for kind in KINDS:
        # A pair and a dimension have their files in one folder.
        assert invoke("new", kind, "told" if kind == "dimension" else "newone").exit_code == 0
    done = json.loads(invoke("check", "--json").stdout)
    library = load_library(project / "data/raw")
    keys = {pair for pair, _, _ in profile_pairs(library, "full")}
    neutral = neutralize_items(
        jsonl.read(project / "data/items/newone.jsonl", Item), load_lexicon(Path("data/lexicon"))
    )

    assert {"newone-01", "told-01", "told-02"} <= keys
    assert "told" in library.dimensions
    assert "newone" in load_cities()
    assert isinstance(registry.load_entry("newone", project), registry.OnnxEntry)
    assert [row.excluded for row in neutral] == [None, None]
    counted = {(check["what"], check["where"]): check["n"] for check in done["checked"]}
    assert counted["items", "data/items/newone.jsonl"] == 2
    # Five sources of a city; of a pair and of a dimension a paper's error and its source; who wrote the questions.
    assert len(done["notes"]) == 5 + 2 * 2 + 1
    assert done["notes"][0].startswith("data/cities.yaml, line ")


def test_it_says_what_was_written_and_what_to_edit(project: Path) -> None:
    """The files, the fields to edit first, the page and the command that runs it; with --json as one object."""
    told = invoke("new", "pair", "mine").stdout
    given = json.loads(invoke("new", "items", "mine", "--json").stdout)

    assert told.splitlines()[0] == "data/raw/own/mine.yaml: written, valid as it is"
    assert "edit next: the story, its answers, the evidence (docs/howto/pair.md)" in told
    assert given["written"] == {"data/items/mine.jsonl": 2, "data/items/mine.md": 1}
    assert given["run"] == ["equipoise check", "dvc exp run -S items=mine -S 'studies=[questions]'"]
    assert (project / given["written"].popitem()[0]).is_file()


def test_weights_of_the_hub_are_pinned_after_a_run(project: Path) -> None:
    """The run prints the commit that it uses, which `models pin` then writes into the file: each step works in turn."""
    told = invoke("new", "model", "mine", "--hub", "some/Model-1B").stdout.splitlines()

    assert told[0] == "models/mine.yaml: written, valid as it is"
    assert told[2:] == [
        "then, in this order:",
        "  equipoise check",
        "  equipoise models",
        "  dvc exp run -S model=mine",
        "  equipoise models pin mine",
    ]
    assert (project / "models/mine.yaml").is_file()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "pair"])
def test_nothing_is_overwritten(project: Path, kind: str) -> None:
    """A second time is one line on standard error, exit code 1, and every file as it was."""
    invoke("new", kind, "mine")
    before = tree(project)
    again = invoke("new", kind, "mine")

    assert again.exit_code == 1
    assert "already exists" in str(again.exception)
    assert "\n" not in str(again.exception)
    assert tree(project) == before


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("model", "My Model"), "the name 'My Model': use lower-case letters, digits and underscores"),
        (("city", "a" * 300), "300 characters: use at most 100"),
        (("model", "a" * 101), "101 characters: use at most 100"),
        (("city", "../x"), "the name '../x': use lower-case letters, digits and underscores"),
        (
            ("model", "m", "--hub", "a/b", "--gguf", "c"),
            "give one of --hub, --folder, --gguf, --server",
        ),
        (("model", "m", "--server", "http://localhost:1"), "name its model with --model, and leave out --url"),
        (("model", "m", "--model", "a"), "--model and --url need --server: add it"),
        (
            ("model", "m", "--server", "olama"),
            "--server olama: give one of ollama, lmstudio, llama.cpp, vllm",
        ),
        (
            ("model", "m", "--server", "vllm", "--url", "gpu:8000"),
            "--url gpu:8000: give an address that begins",
        ),
        (("model", "m", "--server", "vllm", "--url", "http://[::1"), "no vllm answers there (ValueError: Invalid IPv6"),
        (
            ("model", "m", "--server", "http://[::1", "--model", "a"),
            "--server http://[::1: no address (Invalid IPv6 URL)",
        ),
        (
            ("model", "m", "--server", "http://localhost:99999/v1", "--model", "a"),
            "field base_url: Value error, Port out of range 0-65535 (taken back: nothing was written)",
        ),
        (("model", "m", "--hub", "some-model"), "--hub some-model: give the repository as OWNER/NAME"),
        (("model", "m", "--folder", "nowhere"), "nowhere: no such folder: correct the path"),
        (("model", "m", "--folder", "models"), "holds no .safetensors file: give the folder of a checkpoint"),
    ],
)
def test_what_cannot_work_is_refused(project: Path, words: tuple[str, ...], fault: str) -> None:
    """One line names the fix, and nothing is written."""
    before = tree(project)
    done = invoke("new", *words)

    assert done.exit_code == 1
    assert fault in str(done.exception)
    assert tree(project) == before


def test_what_the_check_refuses_is_taken_back(project: Path) -> None:
    """The example's words are in the lexicon already, under another dimension: neither file is left."""
    (project / "data/features/jail.yaml").write_text(
        (project / "data/features/housing.yaml")
        .read_text(encoding="utf-8")
        .replace("dimension: housing", "dimension: jail"),
        encoding="utf-8",
    )
    before = tree(project)
    done = invoke("new", "dimension", "prison")

    assert "keep it in one of them" in str(done.exception)
    assert tree(project) == before


def test_outside_a_project_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without params.yaml the command says where to run it."""
    monkeypatch.chdir(tmp_path)

    assert "run this in the folder of the project" in str(invoke("new", "model", "mine").exception)
    assert list(tmp_path.iterdir()) == []


def entries(arguments: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """Write models and read their entries."""
    for name, words in arguments.items():
        assert invoke("new", "model", name, *words).exit_code == 0
    return {name: registry.load_entry(name, Path()) for name in arguments}


@pytest.mark.usefixtures("project")
def test_a_model_of_any_source_is_listed(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default and a folder are ready; the hub and a server are listed with what they lack."""
    monkeypatch.setattr("equipoise.cli.sources.find_spec", lambda _: None)  # without vLLM
    models = entries(
        {
            "plain": (),
            "local": ("--folder", str(tiny_checkpoint)),
            "hub": ("--hub", "Qwen/Qwen2.5-0.5B-Instruct"),
            "large": ("--hub", "some/Model-32B"),
            "loopback": ("--server", "http://localhost:8000/v1", "--model", "m"),
            "remote": ("--server", "https://example.org/v1", "--model", "m"),
        }
    )
    monkeypatch.setattr(listing, "Machine", lambda: MadeMachine(gigabytes=16.0, fault="no network", serves=False))
    rows = {row["name"]: row for row in map(json.loads, invoke("models", "--json").stdout.splitlines())}

    assert {name: rows[name]["lacks"] for name in models} == {
        "plain": [],
        "local": [],
        "hub": ["weights"],
        "large": ["weights", "memory"],
        "loopback": ["server"],
        "remote": ["key"],
    }
    assert (models["hub"].parameters, models["hub"].backend) == ("0.5B", "onnx")
    assert (models["large"].parameters, models["large"].backend) == ("32B", "torch")
    assert (models["loopback"].key_env, models["remote"].key_env) == (None, "OPENAI_API_KEY")


@pytest.mark.usefixtures("project")
def test_a_size_that_no_name_gives_is_left_to_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experts of 8x7B are multiplied; a name without a size is noted by check, and runs nowhere until edited."""
    monkeypatch.setattr("equipoise.cli.sources.find_spec", lambda _: None)  # without vLLM
    models = entries({"mixed": ("--hub", "a/Mixtral-8x7B-Instruct-v0.1"), "mini": ("--hub", "b/Phi-3.5-mini-instruct")})
    notes = [note for note in unedited() if "does not give it" in note]

    assert {name: (entry.parameters, entry.backend) for name, entry in models.items()} == {
        "mixed": ("56B", "torch"),
        "mini": ("999B", "torch"),
    }
    assert [note.partition(",")[0] for note in notes] == ["models/mini.yaml"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("call", ["", "/", "/chat/completions", "/completions/", "/models"])
def test_a_call_of_a_server_is_no_part_of_its_address(call: str) -> None:
    """The address of its API is followed by that of a call, which users copy from examples."""
    models = entries({"mine": ("--server", f"http://localhost:8000/v1{call}", "--model", "m")})

    assert models["mine"].base_url == "http://localhost:8000/v1"


@pytest.mark.usefixtures("project")
def test_large_weights_run_in_vllm_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights too large for ONNX get vLLM; small ones do not."""
    monkeypatch.setattr("equipoise.cli.sources.find_spec", lambda name: object() if name == "vllm" else None)
    models = entries({"small": ("--hub", "some/Model-1B"), "large": ("--hub", "some/Model-32B")})

    assert {name: entry.backend for name, entry in models.items()} == {"small": "onnx", "large": "vllm"}


def test_a_folder_says_its_sizes_itself(project: Path, tiny_checkpoint: Path) -> None:
    """Parameters are counted in the tensors, context and sizes of attention are those of config.json."""
    from safetensors import safe_open

    config = json.loads((tiny_checkpoint / "config.json").read_text(encoding="utf-8"))
    entry = entries({"local": ("--folder", str(tiny_checkpoint))})["local"]
    with safe_open(tiny_checkpoint / "model.safetensors", "np") as tensors:
        n = sum(tensors.get_tensor(name).size for name in tensors.keys())  # noqa: SIM118  (no mapping)

    # Rounded to a tenth of a million, and at least that.
    assert entry.parameters == f"{max(n / 1e6, 0.1):.1f}M"
    assert entry.context == config["max_position_embeddings"]
    assert entry.attention.layers == config["num_hidden_layers"]
    assert (project / "models/local.yaml").is_file()


def test_check_names_the_first_fault(project: Path) -> None:
    """A malformed question is one line with file, row and field, and exit code 1."""
    path = project / "data/items/mine.jsonl"
    invoke("new", "items", "mine")
    path.write_text(path.read_text(encoding="utf-8").replace('"gold": "B"', '"gold": "E"'), encoding="utf-8")
    done = invoke("check")

    assert done.exit_code == 1
    assert "data/items/mine.jsonl, row 1: " in str(done.exception)
    assert "gold 'E' is not one of the options A, B, C, D" in str(done.exception)
    assert "valid" not in done.stdout
