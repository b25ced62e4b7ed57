from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.errors import EquipoiseError
from equipoise.materials.questions import Item
from equipoise.studies.questions.neutralize import neutralize_items
from equipoise.text.neutral.lexicon import Edit, Lexicon, alternatives, apply, compose, load_lexicon, plural, settle
from equipoise.text.neutral.neutralize import neutralize, select

CASE = "A 50-year-old man has a cough. Which drug should be given?"


@pytest.mark.parametrize(
    ("verb", "form"),
    [
        *(("is", "are"), ("was", "were"), ("has", "have"), ("does", "do"), ("Has", "Have"), ("doesn’t", "don’t")),
        *(("goes", "go"), ("undergoes", "undergo"), ("denies", "deny"), ("lies", "lie"), ("dies", "die")),
        *(("uses", "use"), ("loses", "lose"), ("passes", "pass"), ("washes", "wash"), ("watches", "watch")),
        *(("itches", "itch"), ("aches", "ache"), ("fixes", "fix"), ("sneezes", "sneeze"), ("focuses", "focus")),
        *(("exercises", "exercise"), ("says", "say"), ("sees", "see"), ("drinks", "drink"), ("echoes", "echo")),
        *(("had", None), ("can", None), ("noticed", None), ("discuss", None), ("this", None), ("as", None)),
    ],
)
def test_plural(verb: str, form: str | None, lexicon: Lexicon) -> None:
    """A verb in the third person singular gives its plural; any other form stays."""
    assert form == plural(verb, lexicon.verbs)


@pytest.mark.parametrize(("twice", "once"), [("poor**", "poor*"), ("on  benefits", "on benefits"), ("##", "#")])
def test_a_sign_given_twice_is_read_once(twice: str, once: str) -> None:
    """Two signs in a row would try every length of the one with every length of the other."""
    assert alternatives([twice]) == alternatives([once])


def test_a_title_has_no_meaning_but_its_own(lexicon: Lexicon) -> None:
    """A title of a user's list is plain words, whatever characters it holds."""
    nouns = lexicon.nouns.model_copy(update={"titles": frozenset({"rev(d"})})

    assert neutralize("Rev(d Smith coughs.", lexicon.model_copy(update={"nouns": nouns})).text == "The patient coughs."


@given(data=st.data(), text=st.text("ab ", min_size=1, max_size=12))
def test_composed_edits_do_what_two_rounds_do(data: st.DataObject, text: str) -> None:
    """Two rounds of edits, composed, lead to the same text in one."""
    first = data.draw(rounds(len(text)))
    middle = apply(text, first)
    second = data.draw(rounds(len(middle)))

    assert apply(middle, second) == apply(text, compose(text, first, second))


def rounds(length: int) -> st.SearchStrategy[list[Edit]]:
    """Rounds of edits that do not overlap, on a text of a length."""
    starts = st.lists(st.tuples(st.integers(0, length), st.integers(1, 3), st.text("xyz", max_size=3)), max_size=4)
    return starts.map(lambda all_: settle(Edit(a, min(a + n, length), new, "r") for a, n, new in all_ if a < length))


@pytest.mark.parametrize(
    ("question", "options", "rule"),
    [
        (CASE, {"A": "Amoxicillin", "B": "Rest"}, None),
        ("Which vitamin is missing in scurvy?", {"A": "A", "B": "C"}, "no_patient"),
        ("A 50-year-old man is ill. Is informed consent needed?", {}, "no_patient"),
        ("A 50-year-old man is ill. An ECG is shown. What is it?", {}, "needs_picture"),
        ("A 29-year-old woman is pregnant. Which drug?", {}, "decisive_sex"),
        (CASE, {"A": "Prostate cancer", "B": "Gout"}, "decisive_sex"),
        ("A 9-year-old black boy is in pain. Why?", {"A": "Sickle cell disease", "B": "Gout"}, "decisive_race"),
        # Fluid round the heart is nobody's sex.
        (CASE, {"A": "Cardiac tamponade", "B": "Gout"}, None),
        # Race alone is taken out of the text and decides nothing.
        ("A 9-year-old black boy has asthma. Which drug?", {"A": "Salbutamol", "B": "Rest"}, None),
        ("A 44-year-old woman cannot afford her drugs. What next?", {}, "decisive_ses"),
        (CASE, {"A": "Apply for Medicaid", "B": "Rest"}, "decisive_ses"),
    ],
)
def test_select(question: str, options: dict[str, str], rule: str | None, lexicon: Lexicon) -> None:
    """The first rule that applies gives its id; a case that nothing decides stays."""
    assert rule == select(question, options, lexicon)


def test_items_keep_what_they_had(lexicon: Lexicon) -> None:
    """An item's key, question, options, right letter and disease go with its neutral form; items are counted."""
    item = Item(
        key="i1", study="questions", question=CASE, options={"A": "One", "B": "Two"}, gold="B", disease="respiratory",
        reference="NICE", source="authored", licence="Apache-2.0",
    )  # fmt: skip
    counted: list[tuple[int, int]] = []
    row, _ = neutralize_items([item, item], lexicon, lambda done, total: counted.append((done, total)))

    assert counted == [(1, 2), (2, 2)]
    assert ("i1", CASE, item.options, "B", "respiratory", None) == (
        row.key, row.question, row.options, row.gold, row.disease, row.excluded,
    )  # fmt: skip
    assert row.neutral == "A 50-year-old patient has a cough. Which drug should be given?"
    assert [(change.before, change.after) for change in row.changes] == [("man", "patient")]


def test_fault_in_the_lexicon_names_file_and_field(tmp_path: Path) -> None:
    """A word list that is not a list of words is refused with the file and the field."""
    (tmp_path / "pronouns.yaml").write_text("subject: {he: neither}\n", encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"pronouns\.yaml: field subject\.he"):
        load_lexicon(tmp_path)
