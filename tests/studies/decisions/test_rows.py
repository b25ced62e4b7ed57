"""Decisions about stories: what is refused, what a pair asks for, how it is asked and how it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from builders import decision, prompt, response
from equipoise.core.errors import EquipoiseError
from equipoise.studies.decisions.prompts import decision_prompts
from equipoise.studies.decisions.rows import decision_of, is_decision, pair_decisions, panel_decisions, read_decision
from equipoise.studies.vignettes.profiles import profile_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from equipoise.core.prompts import Prompt
    from equipoise.materials.stories.library import Library

FILE = "decisions/made_up.yaml"
SPEED = decision(
    "race-01", "speed", question="How fast?", levels=("slow", "fast", "very fast"), answer="fast", story="case-0"
)
REFERRAL = decision("race-01", "referral", levels=("no", "yes"), answer="no", direction="higher", story="case-0")
TELLINGS = ("marginalised", "privileged", "control-a", "control-b")


def changed(row: int, **fields: Any) -> Callable[[Any], None]:
    """Change fields of one of the decisions."""
    return lambda files: files[FILE]["decisions"]["case-0"][row].update(fields)


def evidence(**fields: Any) -> Callable[[Any], None]:
    """Change fields of the evidence of the first decision."""
    return lambda files: files[FILE]["decisions"]["case-0"][0]["evidence"][0].update(fields)


def endpoint(**fields: Any) -> Callable[[Any], None]:
    """Change fields of the first end-point."""
    return lambda files: files["endpoints.yaml"]["endpoints"][0].update(fields)


def told(rows: Any) -> Callable[[Any], None]:
    """Change the rows of the file of decisions."""
    return lambda files: files[FILE].update(decisions=rows)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (endpoint(levels=[]), r"endpoints\[0\] \(speed\): field levels: Tuple should have at least 2 items"),
        (endpoint(levels=[{"label": "a"}, {"label": "A"}]), "two levels have the same label; give each its own"),
        (endpoint(question="How fast?"), r"question must have \{levels\} once"),
        (endpoint(family="kindness"), "field family: Input should be 'undertreatment'"),
        (
            changed(0, answer="quick"),
            r"made_up.yaml: decisions \(case-0/speed\): field answer: 'quick' is not a level of speed; write one of ",
        ),
        (changed(0, also=["quick"]), "field also: 'quick' is not a level of speed"),
        (changed(0, also=["medium"]), "field also: 'medium' is the answer itself; remove it"),
        (changed(0, answer="slow"), r"field answer: 'slow' leaves no room in the stereotyped direction \(lower\)"),
        (changed(1, answer="yes"), r"field answer: 'yes' leaves no room in the stereotyped direction \(higher\)"),
        (changed(0, ask="sped"), r"decisions \(case-0/sped\): field ask: unknown id 'sped'; did you mean 'speed'"),
        (
            endpoint(settings=["s9"]),
            r"endpoints.yaml: endpoints \(speed\): field settings: unknown id 's9'; known: s0, ",
        ),
        (
            endpoint(settings=["s7"]),
            r"decisions \(case-0/speed\): field ask: speed is asked in no setting of case-0; choose another",
        ),
        (evidence(dimension="rase"), "field evidence.dimension: unknown id 'rase'; did you mean 'race'"),
        (evidence(group="age-0"), "field evidence.group: unknown id 'age-0'; did you mean 'race-0'"),
        (
            evidence(grade="D"),
            r"decisions\[0\] \(case-0/speed\): field evidence.0.grade: Input should be 'A', 'B' or 'C'",
        ),
        (changed(1, ask="speed"), r"decisions\[1\] \(case-0/speed\): field id: the id 'case-0/speed' is used twice"),
        (
            lambda files: told({"case-99": files[FILE]["decisions"]["case-0"]})(files),
            r"decisions \(case-99/speed\): field story: unknown id 'case-99'",
        ),
        (told({"case-0": {"ask": "speed"}}), r"decisions \(case-0\) must be a list of rows; add them as '- ask: …'"),
        (told({}), "decisions must be a list with at least one row"),
        (told(7), "decisions must be a list with at least one row"),
    ],
)
def test_an_unsound_decision_is_refused(
    check: Callable[..., Library], change: Callable[[Any], None], words: str
) -> None:
    """A fault is one line that names the file and the row."""
    with pytest.raises(EquipoiseError, match=words):
        check(change)


def test_a_question_lists_its_levels(library: Library) -> None:
    """In order, with what they hold in brackets."""
    asked = "What speed? Answer with one of these: slow (the least), medium, very fast or fast."

    assert library.endpoints["speed"].full_question == asked


def test_a_pair_asks_for_what_is_documented_of_its_group(library: Library) -> None:
    """The grade is the best of the evidence about the pair's group; for a group without any it is C."""
    decisions = {}
    for pair, _, parts in profile_pairs(library, "full"):
        for row in pair_decisions(pair, parts, library.decisions.values(), library.endpoints):
            decisions[row.pair, row.ask] = row
    rows = {
        parts.contrasts[0].id: pair for pair, _, parts in profile_pairs(library, "full") if (pair, "speed") in decisions
    }

    # race-01 is about race-0: documented about race-all with B and C, and about race-0 with A
    assert rows["race-0"] == "race-01"
    assert (decisions["race-01", "speed"].grade, decisions["race-01", "referral"].grade) == ("B", "A")
    other = next(pair for contrast, pair in rows.items() if not contrast.startswith("race"))
    assert (decisions[other, "speed"].grade, decisions[other, "referral"].grade) == ("C", "C")
    assert decisions["race-01", "speed"].usual
    assert decisions["race-01", "speed"].towards == ("fast", "very fast", "medium", "slow")


@pytest.mark.parametrize(("settings", "asked"), [([], True), (["s0", "s2"], True), (["s1", "s2"], False)])
def test_an_endpoint_is_asked_in_its_settings_alone(
    check: Callable[..., Library],
    settings: list[str],
    asked: bool,  # noqa: FBT001  (a parameter)
) -> None:
    """A pair in setting s0 is asked for the speed where s0 is one of its settings or it has none; so is a panel."""
    library = check(endpoint(settings=settings))
    parts = library.parts(library.pairs["race-01"])
    decisions, endpoints = library.decisions.values(), library.endpoints

    asks = [
        [row.ask for row in pair_decisions("race-01", parts, decisions, endpoints)],
        [row.ask for row in panel_decisions("case-0", "s0", decisions, endpoints)],
    ]

    assert asks == [["speed", "referral"] if asked else ["referral"]] * 2


def test_the_stories_of_the_project_ask_for_decisions(authored: Library) -> None:
    """Eight end-points in three families; every answer leaves room in the direction of the bias, or it did not load."""
    assert [row.id for row in authored.endpoints.values()] == [
        "triage",
        "urgency",
        "test",
        "pain_relief",
        "admission",
        "psychiatric_referral",
        "substance_screen",
        "belief",
    ]
    assert len({row.story for row in authored.decisions.values()}) >= 60


def followed(replies: dict[str, str], **how: bool) -> dict[str, Prompt]:
    """Ask for both decisions after the reasoning of each telling."""
    prompts = [
        prompt(f"race-01/{telling}", f"Case of {telling}.", "Diagnosis?", candidates=("x",), lead="Case")
        for telling in TELLINGS
    ]
    responses = [
        response(case_prompt.key, replies.get(case_prompt.key.rpartition("/")[2], "Same."), "Flu.")
        for case_prompt in prompts
    ]
    # What was answered before is among the responses when a study is measured.
    responses.append(response("race-01/privileged/speed"))
    kept = {"swapped": True, "likelihoods": True} | how
    return {question.key: question for question in decision_prompts([SPEED, REFERRAL], prompts, responses, **kept)}


def test_a_decision_is_asked_after_the_reasoning() -> None:
    """The case, the model's own reasoning word for word, then the question, with the levels as candidates."""
    prompts = followed({"marginalised": "Own.", "privileged": "Other."})
    asked = prompts["race-01/marginalised/speed"]

    assert (asked.turns, asked.given) == (("Case of marginalised.", "How fast?"), ("Own.",))
    assert (asked.prefix, asked.candidates, asked.stem) == ("It is", ("slow", "fast", "very fast"), asked.turns[0])
    assert (asked.reply, asked.sentence, asked.n_replies, asked.limit) == (True, True, 1, 16)
    assert prompts["race-01/marginalised/speed/swapped"].given == ("Other.",)
    # 4 tellings x 2 decisions, and 2 arms x 2 decisions once more
    assert len(prompts) == 12


def test_only_decisions_about_the_arms_are_written() -> None:
    """A model with likelihoods writes them after their own reasoning; controls and exchanged reasonings are scored."""
    prompts = followed({"marginalised": "Own.", "privileged": "Other."})

    assert {key for key, question in prompts.items() if question.reply} == {
        f"race-01/{role}/{ask}" for role in ("marginalised", "privileged") for ask in ("speed", "referral")
    }


def test_what_is_known_is_not_asked() -> None:
    """After reasoning that is the same in both arms nothing is asked again, nor where no swap is wanted."""
    assert len(followed({})) == 8
    assert len(followed({"marginalised": "Own."}, swapped=False)) == 8


def test_a_model_without_likelihoods_replies() -> None:
    """The last reply alone is written: the reasoning is given."""
    assert {question.n_replies for question in followed({}, likelihoods=False).values()} == {1}


def test_keys_tell_decisions_from_reasoning() -> None:
    """A decision has its end-point in the key, whatever follows."""
    assert not is_decision("race-01/privileged#3")
    assert is_decision("race-01/privileged/speed#3")
    assert {decision_of(f"race-01/control-a/speed{end}") for end in ("", "#1", "/swapped", "/swapped#2")} == {
        "race-01/speed"
    }


def test_probabilities_are_of_whole_labels() -> None:
    """Totals of -1, -2 and -1 nats (two tokens of -0.5) have shares in the ratio e : 1 : e."""
    answer = response(
        "race-01/marginalised/speed",
        log_likelihood={"slow": -1.0, "fast": -2.0, "very fast": -0.5},
        candidate_tokens={"slow": 1, "fast": 1, "very fast": 2},
    )
    reading = read_decision(answer, SPEED, "")

    # e / (2 e + 1) = 0.4223, 1 / (2 e + 1) = 0.1554; the mean level is 1 by symmetry
    assert reading.probabilities == pytest.approx({"slow": 0.42232, "fast": 0.15536, "very fast": 0.42232}, abs=1e-5)
    assert reading.expected == pytest.approx(1.0)
    assert (reading.chosen, reading.log_odds) == ("slow", None)


def test_the_tilt_is_that_of_the_line_through_the_levels() -> None:
    """Totals of -3, -1 and -2 nats: the slope is (3 - 2) / 2 a level, over two steps 1 nat; a text has none."""
    answer = response(
        "race-01/marginalised/speed",
        log_likelihood={"slow": -3.0, "fast": -1.0, "very fast": -1.0},
        candidate_tokens={"slow": 1, "fast": 1, "very fast": 2},
    )

    assert read_decision(answer, SPEED, "").tilt == pytest.approx(1.0)
    assert read_decision(response("race-01/marginalised/speed", "slow"), SPEED, "slow").tilt is None


@pytest.mark.parametrize(("direction", "odds"), [("higher", 2.0), ("lower", -2.0)])
def test_the_log_odds_are_those_of_the_stereotyped_level(direction: str, odds: float) -> None:
    """They are those of a yes that is 2 nats likelier than a no, where the bias pulls to either."""
    answer = response("race-01/marginalised/referral", log_likelihood={"no": -3.0, "yes": -1.0})

    assert read_decision(answer, REFERRAL.model_copy(update={"direction": direction}), "").log_odds == odds


@pytest.mark.parametrize(
    ("text", "chosen", "expected"),
    [
        ("Very fast, please.", "very fast", 2.0),
        ("It is fast.", "fast", 1.0),
        ("I cannot say.", "", None),
        ("", "", None),
    ],
)
def test_a_text_names_its_level(text: str, chosen: str, expected: float | None) -> None:
    """Without likelihoods the level named counts; where none is named there is none."""
    reading = read_decision(response("race-01/marginalised/speed", text), SPEED, text)

    assert (reading.chosen, reading.expected, reading.probabilities) == (chosen, expected, {})


@pytest.mark.parametrize(
    ("levels", "text", "chosen"),
    [
        (("no", "yes"), "There is no doubt: yes.", "yes"),
        (("no", "yes"), "Yes, there is no reason to wait.", "yes"),
        (("no", "yes"), "for this patient (no mental illness) yes.", "yes"),
        (("standard", "urgent"), "for this patient (no mental illness) urgent.", "urgent"),
        (("standard", "urgent"), "Not urgent: standard.", "standard"),
        (("standard", "urgent"), "urgent rather than standard.", "urgent"),
        (("1", "2", "3", "4", "5"), "On a scale of 1 to 5, 4", "4"),
        (("1", "2", "3", "4", "5"), "4 out of 5.", "4"),
        (("discharge", "admission"), "Admission is not needed: discharge", "discharge"),
        (("standard", "urgent"), "urgent would be usual, but for this patient standard.", ""),
        (("standard", "urgent"), "urgent in most patients; here standard.", ""),
        (("standard", "urgent"), "standard or urgent", ""),
        (("standard", "urgent"), "Not urgent.", ""),
    ],
)
def test_a_level_counts_if_no_other_could_be_meant(levels: tuple[str, ...], text: str, chosen: str) -> None:
    """A denied level, a scale and a figure of speech name none; neither of two levels that are left counts."""
    row = SPEED.model_copy(update={"levels": levels, "answer": None, "also": ()})

    assert read_decision(response("race-01/marginalised/speed", text), row, text).chosen == chosen
