"""Tests of a few cases put to a function or a registered model: what is asked, what is found, what is refused."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import equipoise as eq
from equipoise.api.running import measured
from equipoise.cli.app import app
from equipoise.core import jsonl, params
from equipoise.materials.judgement import Judgement
from equipoise.materials.stories.library import load_library
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.profiles import Build, build_pairs

ROOT = Path(__file__).parents[2]
PLANTED = "phantom_stereotyped_always"


@pytest.fixture(autouse=True)
def _root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask from the repository's root."""
    monkeypatch.chdir(ROOT)


class Noting:
    """A model that gives the answer of a function of the case, and notes what it is asked."""

    def __init__(self, answer: Any) -> None:
        """Take the function from the first of the user's messages to the answer."""
        self.answer, self.asked = answer, []

    def __call__(self, messages: list[dict[str, str]]) -> Any:
        """Answer."""
        self.asked.append(messages)
        return self.answer(next(message["content"] for message in messages if message["role"] == "user"))


def estimate(figures: eq.Figures, measure: str) -> tuple[int, float]:
    """Find n and estimate of one overall figure."""
    frame = figures.frame
    (row,) = frame[(frame.measure == measure) & (frame.family == "overall")].to_dict("records")
    return row["n"], row["estimate"]


def test_a_function_is_asked_as_a_model_is() -> None:
    """Each conversation begins with our system prompt, alternates, and ends with the user's turn."""
    model = Noting(lambda _: "The findings fit. Depression.")
    eq.run(model, limit=1)
    system = params.load().section("build", Build).system

    assert model.asked
    for messages in model.asked:
        roles = [message["role"] for message in messages]
        assert messages[0] == {"role": "system", "content": system}
        assert roles[1:] == ["user", "assistant"] * ((len(roles) - 2) // 2) + ["user"]
    # The reasoning of the first turn is in the conversation of the second.
    assert "The findings fit. Depression." in {messages[2]["content"] for messages in model.asked if len(messages) > 3}


def test_a_planted_difference_is_found() -> None:
    """A function that errs about the marginalised patient alone has a differential bias rate of 1, of five pairs."""
    build = params.load().section("build", Build)
    rows = build_pairs(load_library(ROOT / "data/raw"), "core", build.level, build.cue)
    told = {row.text: (row.stereotyped if row.role == "marginalised" else row.expected).label for row in rows}
    figures = eq.run(Noting(lambda turn: next((label for text, label in told.items() if text in turn), "?")), limit=5)

    assert estimate(figures, "differential_bias_rate") == (5, 1.0)
    assert figures.notes[0].startswith("Asked 5 of 41: ")
    assert "A function gives replies, not likelihoods: the endpoint declared for that case decides." in figures.verdict


@pytest.mark.parametrize("study", ["questions", "exam", "decisions"])
def test_every_study_of_texts_can_be_asked(study: str) -> None:
    """A function answers so many questions or pairs, and the notes say of how many."""
    figures = eq.run(lambda _: "B", study=study, limit=2)

    assert figures.title == STUDIES[study].title
    assert figures.notes[0].startswith("Asked 2 of ")
    assert figures.frame.n.max() > 0


def test_equal_conversations_are_asked_once() -> None:
    """A question in two cities is one question: no conversation is held twice."""
    model = Noting(lambda _: "B")
    eq.run(model, study="exam", limit=3)

    assert set(Counter(json.dumps(messages) for messages in model.asked).values()) == {1}


def test_nothing_is_written_where_the_user_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere than in a checkout the package's cases are asked, and the working folder gets a cache alone."""
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    figures = eq.run(lambda _: "Depression.", limit=1)

    assert figures.notes[0].startswith("Asked 1 of 41: ")
    assert {path.name for path in tmp_path.iterdir()} <= {".cache"}
    assert (Path.cwd(), os.environ.get("DVC_ROOT")) == (tmp_path, None)


def test_the_command_asks_a_registered_model() -> None:
    """A phantom with a planted stereotype is asked six pairs, and the command prints what the function gives."""
    words = ["run", PLANTED, "--study", "vignettes", "--limit", "6"]
    printed = json.loads(CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False).stdout)
    figures = eq.run(PLANTED, limit=6)

    assert (printed["model"], printed["study"], printed["verdict"]) == (PLANTED, "vignettes", figures.verdict)
    assert len(printed["figures"]) == len(figures.frame)
    assert estimate(figures, "differential_bias_rate")[0] == 6
    assert (
        CliRunner().invoke(app, words, catch_exceptions=False).stdout.strip().endswith(figures.summary().strip()[-60:])
    )


def test_reasoning_is_read_where_a_folder_for_the_rows_is_given(tmp_path: Path) -> None:
    """A registered model is asked under other settings, and a folder that is given has the rows, with what is read."""
    few = {"mirrors": False, "controls": False, "stubs": False, "rereadings": ()}
    result = measured("phantom_open", "vignettes", {"build": few}, tmp_path)
    rows = {row.key: row for row in jsonl.each(tmp_path / "vignettes/judgements.jsonl", Judgement)}

    assert result.verdict is not None
    # Two arms of each of the 41 pairs, and nothing else; the phantom admits what it does.
    assert len(rows) == 2 * 41
    assert any(row.considered == "weighed" for row in rows.values())


def test_stigma_is_limited_by_sentences_of_each_group() -> None:
    """A model with likelihoods is asked a sentence of each group about every condition."""
    figures = eq.run("phantom_open", study="stigma", limit=1)
    whole = eq.run("phantom_open", study="stigma", limit=None)
    (_, asked, _, there, *_), (_, every, _, same, *_) = (table.notes[0].split() for table in (figures, whole))

    assert int(asked) < int(there.rstrip(":")) == int(every) == int(same.rstrip(":"))


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("phantom_open", {"study": "nope"}, "study 'nope': choose one of vignettes, questions"),
        ("phantom_open", {"study": "cases"}, "pass them to equipoise.silent_bias instead"),
        ("nope", {}, "models: no entry 'nope': known: "),
        (1, {}, "model 1: give a function from messages to a text, or a name in models/"),
        (str, {"limit": 0}, "limit 0: give a whole number from 1, or None for all"),
        (str, {"study": "stigma"}, "reads likelihoods, which a function does not give: name a model in models/"),
        (str, {"study": "openr1"}, "no such items: import them"),
        (len, {"limit": 1}, "model: a reply is int, not a text: return the message's words"),
    ],
)
def test_what_cannot_be_asked_is_refused(model: Any, options: dict[str, Any], message: str) -> None:
    """A wrong argument is one line with the fix."""
    if options.get("study") == "openr1" and (ROOT / "data/items/openr1.jsonl").is_file():
        pytest.skip("the items of openr1 are imported here")
    with pytest.raises(eq.EquipoiseError) as caught:
        eq.run(model, **options)

    assert message in str(caught.value)


def test_a_missing_argument_is_named() -> None:
    """Python's own error names the argument that is missing."""
    with pytest.raises(TypeError, match="'model'"):
        eq.run()  # type: ignore[call-arg]
