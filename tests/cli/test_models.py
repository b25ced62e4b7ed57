"""Tests of `equipoise models` and `equipoise models pin`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
import typer
from typer.testing import CliRunner

import projects
from equipoise.cli import models as command
from equipoise.cli.models import fitting, models, pin, pin_entry, rows_of
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.models import registry
from fakes import MadeMachine

ROOT = Path(__file__).parents[2]
COMMIT = "0123456789" * 4
app = typer.Typer()
app.callback(invoke_without_command=True)(models)
app.command("pin")(pin)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the registry and the settings that ship, in the working folder."""
    shutil.copytree(ROOT / "models", tmp_path / "models")
    (tmp_path / "params.yaml").write_text(projects.committed("params.yaml"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path


def test_every_model_is_listed_with_what_it_needs(project: Path) -> None:
    """Each file of the registry is one row; the sizes are those of the estimates, to a tenth of a GB."""
    rows = {row["name"]: row for row in rows_of(project, MadeMachine(gigabytes=12.0, fault="no network"))}

    assert list(rows) == registry.names(ROOT / "models")
    assert (rows["smollm2"]["ready"], rows["smollm2"]["missing"]) == (True, [])
    # 134.5M parameters: 4 x 4 bytes of each, and 1 GB, to export.
    assert rows["smollm2"]["gigabytes"]["export"] == 2.6
    assert rows["qwen3_8b"]["ready"] is False
    assert "no network" in rows["qwen3_8b"]["missing"]
    # 8.19 x 10^9 parameters of 2 bytes.
    assert rows["qwen3_8b"]["gigabytes"]["fetch"] == 16.4
    assert (rows["psyche_r1"]["gated"], rows["psyche_r1"]["source"]["revision"]) == (True, None)
    assert (rows["api_example"]["likelihoods"], "gigabytes" in rows["api_example"]) == (False, False)


def test_what_runs_here_comes_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ready models are the upper table, phantoms at its end; of the others the kinds of what they lack."""
    machine = MadeMachine(gigabytes=12.0, fault="no network", modules=())
    monkeypatch.setattr(command, "Machine", lambda: machine)
    monkeypatch.setenv("COLUMNS", "120")
    lines = CliRunner().invoke(app, [], catch_exceptions=False).stdout.splitlines()
    below = next(number for number, line in enumerate(lines) if line.startswith("Not ready here"))
    ready, others = ([line.split()[0] for line in part if line] for part in (lines[2:below], lines[below + 2 :]))

    rows = {row["name"]: row for row in rows_of(project, machine)}
    assert set(ready) == {name for name, row in rows.items() if row["ready"]}
    assert ready.index("smollm2") < ready.index("phantom_fair")
    assert others[: len(rows) - len(ready)] == [name for name, row in rows.items() if not row["ready"]]
    # 65.6 GB of a GPU are needed, where none is here; the server's key has another name than SOME_KEY.
    assert rows["qwq_32b"]["lacks"] == ["package", "weights", "GPU"]
    assert rows["qwen3_8b"]["lacks"] == ["package", "weights", "GPU"]
    assert rows["api_example"]["lacks"] == ["package", "key"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("width", ["80", "60"])
def test_a_narrow_terminal_truncates_nothing(monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    """What a model lacks, and its sizes, are whole where the terminal is too narrow for the table."""
    monkeypatch.setattr(command, "Machine", lambda: MadeMachine(fault="no network", modules=()))
    monkeypatch.setenv("COLUMNS", width)
    printed = CliRunner().invoke(app, [], catch_exceptions=False).stdout

    assert "package, weights, GPU" in printed
    rows = [line.split() for line in printed.splitlines() if line.startswith("psych_qwen_32b")]
    assert (rows[0][1:2] == ["vllm"]) is (width == "80")
    assert "…" not in printed.partition("no network")[0]


def test_the_list_is_a_table_or_json(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table has a line a model, and below it what each lacks; with --json every model is one object."""
    machine = MadeMachine(fault="no network")
    monkeypatch.setattr(command, "Machine", lambda: machine)
    table = CliRunner().invoke(app, [], catch_exceptions=False).stdout
    rows = [
        json.loads(line) for line in CliRunner().invoke(app, ["--json"], catch_exceptions=False).stdout.splitlines()
    ]

    lines = table.splitlines()
    assert all(any(line.startswith(name) for line in lines) for name in registry.names(project / "models"))
    assert any("piaget8b" in line and line.endswith(": no network") for line in lines)
    assert rows == rows_of(project, machine)


@pytest.mark.parametrize(
    ("machine", "here", "reasons"),
    [
        # 1.00 x 10^9 parameters of 2 bytes are 2.0 GB, 3.21 x 10^9 are 6.4, 4.30 x 10^9 are 8.6.
        (
            MadeMachine(gigabytes=8.0),
            ["gemma3_1b", "olmo2_1b"],
            {"gemma3_4b": "8.9 GB of memory is needed, 8.0 GB is here", "qwen2_5_7b": "vLLM needs a CUDA device"},
        ),
        (
            MadeMachine(gigabytes=24.0),
            ["gemma3_1b", "olmo2_1b", "llama3_2_3b", "qwen3_4b", "gemma3_4b"],
            {"qwen2_5_7b": "vLLM needs a CUDA device", "qwq_32b": "vLLM needs a CUDA device"},
        ),
        # On a GPU 15.2 GB fit as well; weights in its memory are read before those of the smallest model elsewhere.
        (
            MadeMachine(gigabytes=24.0, gpu_gigabytes=24.0),
            ["gemma3_1b", "olmo2_1b", "llama3_2_3b", "qwen3_4b", "gemma3_4b", "smollm2", "qwen2_5_7b", "smollm2_360m"],
            {"qwq_32b": "GB of GPU memory is needed, 24.0 GB is here"},
        ),
        # 134.5M parameters take 1.6 GB to export.
        (MadeMachine(disk_gigabytes=1.8), ["smollm2"], {"gemma3_1b": "2.0 GB of disk is needed"}),
    ],
    ids=["8 GB", "24 GB", "GPU of 24 GB", "little disk"],
)
def test_what_fits_comes_fastest_first(
    project: Path, machine: MadeMachine, here: list[str], reasons: dict[str, str]
) -> None:
    """By the bytes of the weights and where they lie; each of the others has its reason, and the hub is not asked."""
    machine.packages = {}
    rows = fitting(project, machine)
    fit = [row["name"] for row in rows if row["fits"]]
    why = {row["name"]: row["why"] for row in rows if not row["fits"]}
    seconds = {row["name"]: row["token_seconds"] for row in rows}

    loaded = {name: registry.load_entry(name, project) for name in registry.names(project / "models")}
    assert sorted(seconds) == [name for name, entry in loaded.items() if isinstance(entry, registry.WeightsEntry)]
    assert [name for name in fit if name in here] == here
    assert {name for name, reason in reasons.items() if reason not in why[name]} == set()
    assert machine.asked == []
    # 2.0 GB at 30 GB a second, or 600 on a GPU.
    assert seconds["gemma3_1b"] == pytest.approx(2.0 / (600 if machine.gpu_gigabytes else 30))


@pytest.mark.usefixtures("project")
def test_what_fits_is_a_table_and_a_line_for_each_reason_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table has the time that a token takes; with --json every model is one object."""
    monkeypatch.setattr(command, "Machine", lambda: MadeMachine(gigabytes=8.0))
    monkeypatch.setenv("COLUMNS", "120")
    lines = CliRunner().invoke(app, ["--fits"], catch_exceptions=False).stdout.splitlines()
    printed = CliRunner().invoke(app, ["--fits", "--json"], catch_exceptions=False).stdout.splitlines()

    # 2.0 GB at 30 GB a second.
    assert next(line for line in lines if line.startswith("gemma3_1b")).split()[-1] == "67"
    assert [("qwen2_5_7b" in line, "qwen3_8b" in line) for line in lines if "vLLM needs a CUDA device" in line] == [
        (True, True)
    ]
    fits = [json.loads(line)["fits"] for line in printed]
    assert fits == sorted(fits, reverse=True)


def test_pinning_changes_one_value_and_keeps_the_comments(project: Path) -> None:
    """The commit takes the place of null; every other byte stays."""
    path = project / "models" / "piaget8b.yaml"
    before = path.read_text(encoding="utf-8")
    asked: list[str] = []
    pinned = pin_entry("piaget8b", project, lambda repo: asked.append(repo) or COMMIT)  # type: ignore[func-returns-value]

    assert pinned == (path, "gustavecortal/Piaget-8B", COMMIT, True)
    assert asked == ["gustavecortal/Piaget-8B"]
    assert path.read_text(encoding="utf-8") == before.replace("revision: null", f"revision: {COMMIT}")
    entry = registry.load_entry("piaget8b", project)
    assert isinstance(entry, registry.VllmEntry)
    assert entry.source.model_dump()["revision"] == COMMIT


@pytest.mark.parametrize(
    "written",
    [
        "source: {kind: hub, repo: some/model, revision: null}",
        "source: {kind: hub, revision: ~, repo: some/model}  # revision: null",
        "source:\n  kind: hub\n  repo: some/model\n  # revision: null\n  revision: null  # not yet",
    ],
)
def test_pinning_finds_the_value_in_any_style(project: Path, written: str) -> None:
    """In braces or below each other, with `null` or `~`, beside comments that say the same."""
    text = (project / "models" / "smollm2.yaml").read_text(encoding="utf-8")
    source = text[text.index("source:") : text.index("# The model's context length")]
    (project / "models" / "mine.yaml").write_text(text.replace(source, f"{written}\n"), encoding="utf-8")
    pin_entry("mine", project, lambda _: COMMIT)

    entry = registry.load_entry("mine", project)
    assert isinstance(entry, registry.OnnxEntry)
    assert entry.source.model_dump()["revision"] == COMMIT


def test_a_pinned_model_stays_as_it_is(project: Path) -> None:
    """The hub is not asked, and the line says how to pin again."""
    path = project / "models" / "qwen3_8b.yaml"
    before = path.read_bytes()

    def refuse(_: str) -> str:
        raise AssertionError

    assert pin_entry("qwen3_8b", project, refuse).new is False
    printed = CliRunner().invoke(app, ["pin", "qwen3_8b"], catch_exceptions=False).stdout
    assert "is pinned to b968826d9c46dd6066d109eabc6255188de91218 already; set revision to null" in printed
    printed = json.loads(CliRunner().invoke(app, ["pin", "qwen3_8b", "--json"], catch_exceptions=False).stdout)
    assert (printed["written"], printed["revision"]) == ({}, "b968826d9c46dd6066d109eabc6255188de91218")
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["smollm2", "api_example"])
def test_only_weights_of_the_hub_are_pinned(project: Path, name: str) -> None:
    """A package and a server have no commit."""
    with pytest.raises(EquipoiseError, match=rf"{name}\.yaml: the weights do not come from the Hugging Face Hub"):
        pin_entry(name, project, lambda _: COMMIT)


def test_an_ambiguous_value_is_left_to_the_user(project: Path) -> None:
    """Where the line is written otherwise, nothing is changed and the error names the fix."""
    path = project / "models" / "piaget8b.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("revision: null", "revision:"), encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"needs exactly one line `revision: null` to replace: correct the file"):
        pin_entry("piaget8b", project, lambda _: COMMIT)


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        (SimpleNamespace(sha=COMMIT), f"is pinned to {COMMIT}"),
        (SimpleNamespace(sha=None), "the Hugging Face Hub names no commit of gustavecortal/Piaget-8B: check"),
        (ConnectionError(), "the Hugging Face Hub cannot be reached (ConnectionError): check the network and"),
    ],
)
def test_the_command_asks_the_hub(project: Path, monkeypatch: pytest.MonkeyPatch, answer: Any, output: str) -> None:
    """What the hub names is written; what it does not leaves the file, with the fix."""

    class Api:
        """The hub's client."""

        def model_info(self, repo: str, *, revision: str, timeout: float) -> Any:
            """Tell of a model."""
            assert (repo, revision, timeout) == ("gustavecortal/Piaget-8B", "main", 10)
            if isinstance(answer, Exception):
                raise answer
            return answer

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    done = CliRunner().invoke(app, ["pin", "piaget8b"])

    assert output in f"{done.stdout}{done.exception}"
    text = (project / "models" / "piaget8b.yaml").read_text(encoding="utf-8")
    assert (f"revision: {COMMIT}" in text) == (done.exit_code == 0)


def test_pinning_says_what_it_wrote(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --json it is one object: the entry that was changed, and the commit that it has now."""
    monkeypatch.setattr(command.hub, "commit", lambda _: COMMIT)
    printed = CliRunner().invoke(app, ["pin", "piaget8b", "--json"], catch_exceptions=False).stdout

    assert json.loads(printed) == {
        "written": {"models/piaget8b.yaml": 1},
        "model": "piaget8b",
        "repo": "gustavecortal/Piaget-8B",
        "revision": COMMIT,
    }
    assert COMMIT in (project / "models" / "piaget8b.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("options", "pinned"), [((), COMMIT), (("--newest",), "f" * 40)])
def test_the_commit_that_was_used_is_the_one_that_is_pinned(
    project: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], pinned: str
) -> None:
    """After a run the entry gets that run's commit, whatever the hub has now; with --newest the hub's."""
    monkeypatch.setenv("DVC_ROOT", str(project))
    monkeypatch.setattr(command.hub, "commit", lambda _: "f" * 40)
    made = Manifest(
        model="piaget8b", backend="vllm", repo="gustavecortal/Piaget-8B", revision=COMMIT, licence="MIT", settings={}
    )
    (project / ".cache/models").mkdir(parents=True)
    jsonl.write_json(project / ".cache/models/piaget8b.json", made.written())
    CliRunner().invoke(app, ["pin", "piaget8b", *options], catch_exceptions=False)

    assert f"revision: {pinned}\n" in (project / "models/piaget8b.yaml").read_text(encoding="utf-8")
