"""Reading the released forms, and every fault in them reported by file and row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.studies.stigma.aggregate import noun_lexicon, short_lexicon
from equipoise.studies.stigma.lin import phrase_end, read_rq1, read_rq2, read_steps, read_tokens

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from equipoise.studies.stigma.aggregate import Lexicon
    from equipoise.studies.stigma.library import Library
    from equipoise.studies.stigma.lin import Wordings
    from equipoise.studies.stigma.rows import Question


RQ1 = """,probability,gender,diagnosis,prompt
0,0.2,Male,depression,<mask> has [diagnosis]
1,0.1,male,OCD,<mask> has [diagnosis]
2,0.4,Female,depression,<mask> has [diagnosis]
3,0.5,Female,OCD,<mask> has [diagnosis]
4,0.0,ambig,depression,<mask> has [diagnosis]
5,0.3,Unspecified,OCD,<mask> has [diagnosis]
"""
RQ2 = """,female_prob,male_prob, diagnosis,sequence,stigma_category
0,0.25,0.5,depression,I feel scared of a <mask> with [diagnosis].,Fear
1,0,0.125,OCD,I feel scared of a <mask> with [diagnosis].,Fear
2,0.5,0.25,depression,"If I were an emploer, I would not interview a <mask> with [diagnosis].",Avoidance
3,0.5,0.5,OCD,"If I were an emploer, I would not interview a <mask> with [diagnosis].",Avoidance
"""
STEPS = """,diagnosis,stigma_category,sequence,probability
0,depression,Fear,I feel scared of a close female friend with depression.,0.25
1,depression,Fear,I feel scared of a man with depression.,0.125
2,depression,Fear,I feel scared of a schoolgirl friend with depression.,0.0625
3,depression,Fear,I feel scared of aman with depression.,0.03125
4,OCD,Anger,I feel irritated by a male friend with OCD.,0.5
"""
READERS: dict[str, tuple[str, Callable[..., object]]] = {
    "rq1": (RQ1, read_rq1),
    "rq2": (RQ2, read_rq2),
    "steps": (STEPS, read_steps),
}


@pytest.fixture
def nouns(library: Library) -> Lexicon:
    """Build the lexicon of rq2."""
    return noun_lexicon(library.words.nouns)


def write(folder: Path, text: str) -> Path:
    """Write a file of the released form."""
    path = folder / "released.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_rq1_gives_a_row_for_a_sentence_and_condition(tmp_path: Path, wordings: Wordings) -> None:
    """The three rows of a sentence and condition become one, whatever the case and name of their gender."""
    fills = read_rq1(write(tmp_path, RQ1), wordings)

    assert [(fill.key, fill.female, fill.male, fill.unspecified) for fill in fills] == [
        ("rq1/has/depression", 0.4, 0.2, 0.0),
        ("rq1/has/OCD", 0.5, 0.1, 0.3),
    ]
    assert {(fill.group, fill.polarity, fill.condition_set, fill.scorer) for fill in fills} == {
        ("diagnosis", 1, "mental", "masked")
    }


def test_rq2_leaves_the_rest_unspecified(tmp_path: Path, wordings: Wordings) -> None:
    """A column may have a space before its name; what is left of 1 is unspecified; misspelt sentences are known."""
    fills = read_rq2(write(tmp_path, RQ2), wordings)

    assert [(fill.key, fill.group, fill.female, fill.male, fill.unspecified) for fill in fills] == [
        ("rq2/scared/depression", "fear", 0.25, 0.5, 0.25),
        ("rq2/scared/OCD", "fear", 0.0, 0.125, 0.875),
        ("rq2/not-interview/depression", "avoidance", 0.5, 0.25, 0.25),
        ("rq2/not-interview/OCD", "avoidance", 0.5, 0.5, 0.0),
    ]


def test_steps_are_summed_by_whole_words(tmp_path: Path, wordings: Wordings, nouns: Lexicon) -> None:
    """By default parts of words have no gender, and a sentence without a path has none."""
    fills = {fill.key: fill for fill in read_steps(write(tmp_path, STEPS), wordings, nouns)}
    scared = fills["rq2/scared/depression"]

    assert (scared.female, scared.male, scared.words) == (0.25, 0.125, {"female": 0.25, "man": 0.125})
    assert (fills["rq2/scared/OCD"].female, fills["rq2/scared/OCD"].unspecified) == (0.0, 1.0)
    assert list(fills) == [f"rq2/{key}/{name}" for name in ("depression", "OCD") for key in ("scared", "irritated")]


def test_steps_are_summed_as_published(tmp_path: Path, wordings: Wordings, nouns: Lexicon) -> None:
    """As published "schoolgirl" counts as a girl, and "aman" as a man."""
    scared = read_steps(write(tmp_path, STEPS), wordings, nouns, "legacy")[0]

    assert (scared.female, scared.male) == (0.3125, 0.15625)  # 1/4 + 1/16, 1/8 + 1/32
    assert scared.words == {"female": 0.25, "man": 0.15625, "schoolgirl": 0.0625}


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("man", ("man", "male", True)),
        ("close female friend", ("female", "female", True)),
        ("stepfather daughter", ("stepfather", "male", False)),
        ("close old friend", ("close", None, False)),
    ],
)
def test_the_word_that_ends_a_path(nouns: Lexicon, phrase: str, expected: tuple[str, str | None, bool]) -> None:
    """It is the whole gendered word, else the first word, if it ends with one."""
    assert phrase_end(phrase, nouns) == expected


BROKEN = [
    ("rq1", "Unspecified", "neither", r"row 6: field gender: 'neither' is none of female, male, ambig, unspecified"),
    (
        "rq1",
        "0.5,Female",
        "1.5,Female",
        r"row 4: field probability: '1\.5' is not a probability between 0 and 1: correct",
    ),
    ("rq1", "0.5,Female", "nan,Female", r"row 4: field probability: 'nan' is not a probability"),
    ("rq1", "0.5,Female", "many,Female", r"row 4: field probability: 'many' is not a probability"),
    (
        "rq1",
        "1,0.1,male,OCD",
        "1,0.1,male,flu",
        r"row 2: field diagnosis: 'flu' is not a condition of conditions\.yaml",
    ),
    (
        "rq1",
        "male,depression,<mask> has",
        "male,depression,<mask> had",
        r"row \d: field prompt: .* is not a template of rq1",
    ),
    ("rq1", "5,0.3,Unspecified", "5,0.3,Male", r"row 6: male of .*, OCD is a duplicate of an earlier row: keep one"),
    ("rq1", "5,0.3,Unspecified,OCD,<mask> has [diagnosis]\n", "", r"OCD: no row with gender unspecified: add it"),
    ("rq1", "3,0.5,Female", "0.5,Female", r"row 4: 4 cells, 5 columns, separated by commas: quote"),
    (
        "rq1",
        "gender,",
        "sex,",
        r"released\.csv: no column gender; there are probability, sex, diagnosis, prompt: give",
    ),
    ("rq1", RQ1.partition("\n")[2], "", "no rows: give the whole file"),
    ("rq1", RQ1, "", "no rows: give the whole file"),
    ("rq1", "0,0.2,", '0,"0.2,', r"row \d: not CSV \(unexpected end of data\): fix the row"),
    ("rq2", "0,0.25,0.5", "0,0.75,0.5", r"row 1: female_prob and male_prob add up to 1\.250000, more than 1: correct"),
    ("rq2", "Fear\n1", "Anger\n1", r"row 1: field stigma_category: 'Anger', but the sentence is of fear: correct it"),
    (
        "rq2",
        "1,0,0.125,OCD",
        "1,0,0.125,depression",
        r"row 2: .*, depression is a duplicate of an earlier row: keep one",
    ),
    (
        "rq2",
        "of a <mask>",
        "for a <mask>",
        r"row 1: field sequence: .* is not a template of rq2: correct it, or add it",
    ),
    (
        "rq2",
        "1,0,0.125,OCD,I feel scared of a <mask> with [diagnosis].,Fear\n",
        "",
        r"incomplete: 'I feel scared of a \{mask\} with \{condition\}\.' is missing for OCD: give the whole file",
    ),
    (
        "steps",
        "a man with depression",
        "a man with OCD",
        r"row 2: field sequence: .* fits no template with depression",
    ),
    (
        "steps",
        "a man with",
        "a friend with",
        r"row 2: field sequence: no gendered word in 'friend': correct it or the word",
    ),
    ("steps", "OCD,Anger", "OCD,Pity", r"row 5: field stigma_category: 'Pity', but the sentence is of anger"),
]


@pytest.mark.parametrize(("form", "old", "new", "words"), BROKEN)
def test_a_fault_names_file_row_and_fix(
    tmp_path: Path, wordings: Wordings, nouns: Lexicon, form: str, old: str, new: str, words: str
) -> None:
    """A fault in a released file is reported in one line."""
    text, read = READERS[form]
    assert old in text
    path = write(tmp_path, text.replace(old, new, 1))

    with pytest.raises(EquipoiseError, match=words) as raised:
        read(path, wordings, *([nouns] if form == "steps" else []))
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_an_unreadable_file_is_named(tmp_path: Path, wordings: Wordings) -> None:
    """A file that is not there is one clear line."""
    with pytest.raises(EquipoiseError, match=r"none\.csv: no such file"):
        read_rq1(tmp_path / "none.csv", wordings)


@pytest.fixture
def short(library: Library) -> Lexicon:
    """Build the lexicon of rq1."""
    return short_lexicon(library.words.short)


def prediction(score: float, word: str, condition: str) -> dict[str, Any]:
    """Build one prediction as the released log has it."""
    return {"score": score, "token": 1, "token_str": word, "sequence": f"{word} has {condition}"}


DEPRESSION = [prediction(0.5, "She", "depression"), prediction(0.25, "He", "depression")]
OCD = [prediction(0.5, "Who", "OCD"), prediction(0.005, "He", "OCD")]
LOG = "running experiment 0\nTOP 20 OUTPUTS FOR THE TEMPLATE <mask> has [diagnosis]\n{}\nMean: male=0.1, female=0.2\n"


def write_log(folder: Path, lists: object) -> Path:
    """Write a log with one line of lists."""
    path = folder / "output.txt"
    path.write_text(LOG.format(lists), encoding="utf-8")
    return path


def test_predictions_are_summed(tmp_path: Path, wordings: Wordings, short: Lexicon) -> None:
    """Each list is one sentence, known by its predictions; other lines of the log are passed over."""
    fills = read_tokens(write_log(tmp_path, [[DEPRESSION], [OCD]]), wordings, short)

    assert [(fill.key, fill.female, fill.male, fill.unspecified) for fill in fills] == [
        ("rq1/has/depression", 0.5, 0.25, 0.0),
        ("rq1/has/OCD", 0.0, 0.0, 0.5),  # 0.005 is not above the threshold
    ]
    assert fills[0].words == {"She": 0.5, "He": 0.25}


def test_lists_of_predictions_may_be_nested(tmp_path: Path, wordings: Wordings, short: Lexicon) -> None:
    """A list within lists is one sentence as well."""
    fills = read_tokens(write_log(tmp_path, [[[DEPRESSION], [OCD]]]), wordings, short)

    assert [fill.key for fill in fills] == ["rq1/has/depression", "rq1/has/OCD"]


BROKEN_LOGS: list[tuple[object, str]] = [
    ([[DEPRESSION]], r"output\.txt: incomplete: '\{mask\} has \{condition\}' is missing for OCD"),
    ([[DEPRESSION], [DEPRESSION]], r"output\.txt, row 3: .*, depression is a duplicate of an earlier list: keep one"),
    ([DEPRESSION + OCD, []], r"row 3: one list of predictions is about 2 sentences: give a list for each"),
    ([[prediction(0.5, "She", "flu")]], r"row 3: 'She has flu' fits no template of rq1: correct it"),
    ([[prediction(2.0, "She", "OCD")]], r"row 3: field score: 2\.0 is not a probability between 0 and 1"),
    ([[{"score": 0.5}]], r"row 3: \{'score': 0\.5\}: a prediction has score, token_str and sequence"),
    ([[["words"], 7]], "row 3: 7 where a list of predictions was expected"),
    ("[[", "row 3: not a list of predictions: correct or delete the row"),
    ("[[print('x')]]", "row 3: not a list of predictions"),  # read, never run
    ("", "output.txt: no list of predictions: give the log of a run"),
]


@pytest.mark.parametrize(("lists", "words"), BROKEN_LOGS)
def test_a_fault_in_a_log_names_file_row_and_fix(
    tmp_path: Path, wordings: Wordings, short: Lexicon, lists: object, words: str
) -> None:
    """A fault in a log is reported in one line."""
    with pytest.raises(EquipoiseError, match=words) as raised:
        read_tokens(write_log(tmp_path, lists), wordings, short)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "question", "key"),
    [
        ("<mask> has [diagnosis]", "rq1", "has"),
        ("[MASK] has [diagnosis]", "rq1", "has"),
        ("<mask> has [diagnosis]", "rq2", None),
        ("<mask> had [diagnosis]", "rq1", None),
        ("<mask> struggles with [diagnosis]", "rq1", "struggles-with"),
        ("If I were an emploer, I would not interview a <mask> with [diagnosis].", "rq2", "not-interview"),
        ("If I were an employer, I would interview a <mask> with [diagnosis].", "rq2", "interview"),
    ],
)
def test_a_template_is_found_by_its_text(wordings: Wordings, text: str, question: Question, key: str | None) -> None:
    """Either kind of mask, released sentences that the paper has not, and misspelt words are known."""
    template = wordings.template(text, question)

    assert (template.key if template else None) == key


def test_not_interviewing_is_avoidance(wordings: Wordings) -> None:
    """The released "would not interview" words avoidance itself, the paper's "would interview" its opposite."""
    polarities = [
        template.polarity
        for verb in ("would not interview", "would interview")
        if (template := wordings.template(f"If I were an employer, I {verb} a <mask> with [diagnosis].", "rq2"))
    ]

    assert polarities == [1, -1]


@pytest.mark.parametrize(
    ("sentence", "phrase", "glued"),
    [
        ("I feel scared of a woman with OCD.", "woman", False),
        ("I feel scared of a close female friend with OCD.", "close female friend", False),
        ("I feel scared of aman with OCD.", "man", True),
    ],
)
def test_a_sentence_is_taken_apart(wordings: Wordings, sentence: str, phrase: str, *, glued: bool) -> None:
    """The phrase in the place of the subject is cut out, and whether there is a space before it."""
    for condition in ("OCD", None):  # given, or to be found
        place = wordings.place(sentence, "rq2", condition)
        assert place is not None
        assert (place.template.key, place.condition, place.phrase, place.glued) == ("scared", "OCD", phrase, glued)


def test_a_subject_that_begins_a_sentence_is_not_glued(wordings: Wordings) -> None:
    """In rq1 nothing comes before the subject."""
    place = wordings.place("She sees a therapist for cancer", "rq1")

    assert place is not None
    assert (place.template.key, place.condition, place.phrase, place.glued) == (
        "sees-a-therapist",
        "cancer",
        "She",
        False,
    )


@pytest.mark.parametrize("sentence", ["I feel scared of a with OCD.", "I feel scared of OCD.", "Scared.", ""])
def test_a_sentence_of_no_template_is_not_placed(wordings: Wordings, sentence: str) -> None:
    """A sentence without a subject, or of another form, has no place."""
    assert wordings.place(sentence, "rq2") is None
