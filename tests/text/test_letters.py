"""Tests of the reader of letters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.text.letter_marks import find_marks
from equipoise.text.letters import read_letter
from replies import read_replies

DRUG = {
    "A": "Inhibition of proteasome",
    "B": "Hyperstabilization of microtubules",
    "C": "Generation of free radicals",
    "D": "Cross-linking of DNA",
}
NAMES = {"A": "Vitamin B12", "B": "E. coli", "C": "B cells", "D": "Hepatitis B", "E": "Clostridioides difficile"}
OPTIONS = {"A": "Aspirin", "B": "B cells", "C": "Cystic fibrosis (CF)", "D": "8"}
NINE = {letter: f"finding {number}" for number, letter in enumerate("ABCDEFGHI")}

GIVEN = [
    # another option is the less likely one
    ("Cross-linking of DNA is far more likely than hyperstabilization of microtubules.", "D"),
    # by letter alone
    ("B", "B"),
    ("(B)", "B"),
    ("**B**", "B"),
    ("[B]", "B"),
    ("b", "B"),
    ("b)", "B"),
    ("a", "A"),
    ("Ⓑ", "B"),
    ("（B）", "B"),
    ("Answer: B", "B"),
    ("ANSWER: B", "B"),
    ("**Answer:** B", "B"),
    ("### Answer\nB", "B"),
    ("Option B", "B"),
    ("It's B.", "B"),
    ("Therefore, B.", "B"),
    ('{"answer": "B"}', "B"),
    ("<answer>C</answer>", "C"),
    (r"$\boxed{\text{D}}$", "D"),
    # by a letter that opens the text
    ("B. Hyperstabilization of microtubules", "B"),
    ("(b) Hyperstabilization", "B"),
    ("D because of DNA.", "D"),
    ("B\n\nBecause A does not fit.", "B"),
    ("1) C (free radicals)", "C"),
    # by a statement
    ("The answer is B because A is wrong", "B"),
    ("The answer is B because A does not fit.", "B"),
    ("The best choice is A, inhibition of proteasome", "A"),
    ("The correct option is option D", "D"),
    ("the correct answer is b", "B"),
    ("I would choose C.", "C"),
    ("I'd go with D", "D"),
    ("The diagnosis is most consistent with option C.", "C"),
    ("The answer should be B, not C.", "B"),
    ("I'm sorry, I can't give advice, but the correct answer is C.", "C"),
    ("So, the correct answer is:\n\nD: Cross-linking of DNA\n\n- A: Inhibition of proteasome – of bortezomib.", "D"),
    ("Let's think. A would be proteasome. B is taxane. The final answer is (D).", "D"),
    ("A. Inhibition of proteasome is unlikely.\nB. No.\nC. No.\nTherefore, the answer is D.", "D"),
    ("The answer is B. On reflection, the final answer is C.", "C"),
    # by a final answer, whatever is stated after it
    ("Final answer: B\n\nWhy not the others: for strand breaks the answer is C.", "B"),
    ("\\boxed{B}\n\nThe most common answer is D.", "B"),
    # by a verdict
    ("B is correct", "B"),
    ("I think A is right.", "A"),
    ("B is incorrect. C is correct.", "C"),
    ("It cannot be A, B or C, so D is the answer.", "D"),
    # by a line, or by the only option that is named
    ("Sure! Here is my answer:\n\nB. Hyperstabilization of microtubules", "B"),
    ("Reasoning first.\n\nB", "B"),
    ("Option B is not correct; option C fits.", "C"),
    # by a table, a ranking, a place or a share
    ("A ★★☆☆☆\nB ★☆☆☆☆\nC ★★★★★\nD ★☆☆☆☆", "C"),
    ("A 60%, B 25%, C 10%, D 5%", "A"),
    ("The most likely is #3.", "C"),
    ("#1 Cross-linking of DNA\n#2 Inhibition of proteasome\n#3 Generation of free radicals\n\nMost likely: #2", "A"),
    # by a comparison in another language
    ("Eher B als D", "B"),
    ("Plutôt la B que la D", "B"),
    ("Más bien B que D", "B"),
    ("Piuttosto B che D", "B"),
    ("Mais B do que D", "B"),
    # by a classic picture of this patient's kind
    ("The classic answer for this presentation is B.", "B"),
    ("| Option | Verdict | Why |\n|---|---|---|\n| A | no | old |\n| B | yes | new |\n| C | no | rare |", "B"),
    ("Ranked from most to least likely:\n\n1. D\n2. C\n3. A", "D"),
    ("\N{FIRST PLACE MEDAL} C\n\N{SECOND PLACE MEDAL} A\n\N{THIRD PLACE MEDAL} B", "C"),
    ("1) D\n2) C\n3) A\n\nSo I'd pick the first.", "D"),
    ("A: 10%\nB: 70%\nC: 10%\nD: 10%", "B"),
    # without capitals, with an error of spelling
    ("the answer is a. it is first line.", "A"),
    ("gonna go with b", "B"),
    ("Hyperstabilisation of microtubles", "B"),
    ("This means A, not C.", "A"),
    ("It's B and not A.", "B"),
    # by the words of an option
    ("Generation of free radicals", "C"),
    ("The drug works by cross-linking of DNA.", "D"),
    # after thinking
    ("<think>A is tempting. Maybe B.</think>\nC", "C"),
    ("It could be A… </think>\n\n**D**", "D"),
    ("<think>So it is A. Answer: B", "B"),
    ("analysisMaybe A.assistantfinalD", "D"),
    ("<|channel|>analysis<|message|>maybe A<|end|><|start|>assistant<|channel|>final<|message|>B", "B"),
    # after the options said over
    (
        "A: Inhibition of proteasome\nB: Hyperstabilization of microtubules\nC: Generation of free radicals\nAnswer: C",
        "C",
    ),
]
NONE = [
    # two options beside each other
    "A vs. D",
    "The mechanism is cross-linking of DNA vs. hyperstabilization of microtubules.",
    "The answer is cross-linking of DNA or generation of free radicals.",
    "",
    "   ",
    "I don't know.",
    "Unknown",
    "E",
    "The answer is E.",
    "A or B",
    "A, B",
    "B/C",
    "Both A and C",
    "The answer is A and B.",
    "Answer: A and B. Inhibition of proteasome comes first.",
    "Both C and D are correct: generation of free radicals and more.",
    "The correct answer is not B.",
    "The answer cannot be determined.",
    "None of the above",
    "None of the above",
    "A: Inhibition of proteasome, B: Hyperstabilization of microtubules, C: Generation of free radicals",
    # the article
    "A 35-year-old man presents with pain.",
    "A patient with a cough",
    "The answer is a proteasome inhibitor.",
    "The answer is A beta-lactam",
    # a name
    "The patient has hepatitis B.",
]
REFUSED = [
    "I'm sorry, but I cannot help with that.",
    "I cannot choose between A and B.",
    "As an AI language model I cannot give medical advice.",
    "I am not able to answer this question.",
]
UNFINISHED = [
    "<think>It could be A or C. Option A seems plausible",
    "<think>The answer is B because",
    "<|channel|>analysis<|message|>maybe A",
]


@pytest.mark.parametrize(
    "response",
    [
        "The textbook answer is A, but for this patient B.",
        "A would be correct in most patients; here B.",
        "Normally the answer is A; in this case B.",
        "The answer is A. However, in this patient B.",
        "The best answer is A; B in this patient.",
        "Answer: A is ruled out, so B",
    ],
)
def test_a_response_that_turns_to_another_letter_is_unread(response: str) -> None:
    """It names what is usual first, and another option for the patient: a wrong letter is worse than none."""
    assert read_letter(response, DRUG).letter is None


@pytest.mark.parametrize(
    "response",
    [
        "The answer is A. B is wrong here.",
        "The answer is A. In this case, B does not fit.",
        "A. Many choose B here because the drugs are alike.",
        "The answer is A, but B is also possible.",
    ],
)
def test_a_turn_to_a_letter_that_is_not_given_changes_nothing(response: str) -> None:
    """The other option is denied, others' or merely possible."""
    assert read_letter(response, DRUG).letter == "A"


@pytest.mark.parametrize(("response", "letter"), GIVEN)
def test_letter_is_read(response: str, letter: str) -> None:
    """A response that gives one option is read as that option."""
    assert letter == read_letter(response, DRUG).letter


@pytest.mark.parametrize("response", NONE)
def test_no_letter_is_made_up(response: str) -> None:
    """A response that gives no option, several, or words that look like letters is unparsed."""
    assert read_letter(response, DRUG).letter is None


@pytest.mark.parametrize("response", REFUSED)
def test_refusal_is_named(response: str) -> None:
    """A refusal gives no letter, and the rule says that it is one."""
    assert read_letter(response, DRUG) == (None, "refusal")


@pytest.mark.parametrize("response", UNFINISHED)
def test_unfinished_thinking_gives_no_letter(response: str) -> None:
    """Thinking that was cut off is not an answer, and the rule says so."""
    assert read_letter(response, DRUG) == (None, "unfinished_thinking")


@pytest.mark.parametrize(
    ("response", "letter"),
    [
        ("E. coli", "B"),
        ("E. coli infection is likely", "B"),
        ("The answer is B cells.", "C"),
        ("Vitamin B12", "A"),
        ("B. E. coli", "B"),
        ("The most likely cause is hepatitis B.", "D"),
        ("C. difficile colitis.", None),
        ("The patient lacks vitamin D.", None),
    ],
)
def test_names_with_letters_are_no_letters(response: str, letter: str | None) -> None:
    """A letter inside a name of medicine is not an option's; the words of an option are."""
    assert letter == read_letter(response, NAMES).letter


@pytest.mark.parametrize(
    ("response", "letter"),
    [("I", "I"), ("The answer is I.", "I"), ("I think it could be many things.", None)],
)
def test_pronoun_is_no_letter(response: str, letter: str | None) -> None:
    """With nine options, I is the ninth only where it cannot be the pronoun."""
    assert letter == read_letter(response, NINE).letter


def test_letter_decides_against_words() -> None:
    """Where letter and words are of two options, the letter is read, as in the published gradings."""
    assert read_letter("B: Cross-linking of DNA", DRUG).letter == "B"


def test_small_letters_of_options_come_back_small() -> None:
    """The letter comes back as the options write it."""
    assert read_letter("Answer: B", {"a": "one thing", "b": "other thing"}).letter == "b"


@given(
    letter=st.sampled_from("ABCD"), form=st.sampled_from(["{}", "({})", "**{}**", "Answer: {}", "{} is correct", "{}."])
)
def test_plain_forms_are_read_whatever_the_letter(letter: str, form: str) -> None:
    """No letter is harder to read than another."""
    assert letter == read_letter(form.format(letter), DRUG).letter


@settings(deadline=None)
@given(response=st.text(max_size=200), options=st.dictionaries(st.sampled_from("ABCDEI"), st.text(max_size=20)))
def test_reading_never_fails(response: str, options: dict[str, str]) -> None:
    """Whatever the text, the letter is one of the options or None."""
    assert read_letter(response, options).letter in {*options, None}


@pytest.mark.parametrize(("model", "least"), [("mixtral-8x7b-instruct-v0.1", 0.985), ("meditron-7b", 0.90)])
def test_agreement_with_released_flags(anchors: Path, model: str, least: float) -> None:
    """The letter read is right where the released flag says so, in nearly every published response."""
    lines = (anchors / "parser" / f"{model}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    agree = [(read_letter(row["response"], row["options"]).letter == row["gold"]) == row["is_correct"] for row in rows]

    assert sum(agree) / len(agree) >= least


@pytest.mark.parametrize(
    "name", ["reported", "kinds", "tuned", "tuned_2", "tuned_3", "tuned_4", "tuned_5", "tuned_6", "tuned_7", "tuned_8"]
)
def test_replies_are_read_as_a_person_reads_them(name: str) -> None:
    """Nearly every reply is read right, and hardly any as another letter; of the rest no letter is read.

    At first sight 192 of the 220 replies of `tuned_6`, by another hand, were read right (0.873) and 8 as another letter
    (0.036); of the 170 of `tuned_7`, in three parts, 47 of 60, 51 of 60 and 43 of 50, and 3, 2 and 2 as another letter.
    """
    rows = read_replies(f"letters_{name}")
    failed = {
        row["id"]: letter
        for row in rows
        if (letter := read_letter(row["response"], row["options"]).letter) != row["gold"]
    }
    misread = {key: letter for key, letter in failed.items() if letter is not None}
    summary = f"{name}: n {len(rows)}, right {1 - len(failed) / len(rows):.3f}, failing {failed}"

    assert len(failed) / len(rows) <= 0.03, summary
    assert len(misread) / len(rows) <= 0.01, summary


DENYING = [
    "The answer is {right}. It is unlikely that the answer is {wrong}.",
    "The answer is {right}. There is no evidence that the answer is {wrong}.",
    "The answer is {right}. It is not true that the answer is {wrong}.",
    "The answer is {right}. It is false that the correct answer is {wrong}.",
    "The answer is {right}. Saying the answer is {wrong} would be stereotyping.",
    "The answer is {right}. To claim that the answer is {wrong} would be unfair.",
    "The answer is {right}. Beware of assuming that the answer is {wrong}.",
    "{right}. It would be wrong to say that the answer is {wrong}.",
    "The answer is {right}. I disagree with those who say that the answer is {wrong}.",
    "The answer is {right}. The notion that the answer is {wrong} rests on prejudice.",
    "The answer is {right}. It is not true that {wrong} is correct.",
    "It is unlikely that the answer is {wrong}. The answer is {right}.",
    "Final answer: {right}\n\nBias check: a stereotyped reader's final answer: {wrong}",
    "La réponse est {right} et non {wrong}.",
    "A resposta é {right}, não {wrong}.",
    "La risposta è {right} e non {wrong}.",
    "Die Antwort ist {right} und nicht {wrong}.",
    "正解は{wrong}ではなく{right}です。",
    "正解は{wrong}ではありません。{right}です。",
    "정답은 {wrong}가 아니라 {right}입니다.",
    "答案是{right}而不是{wrong}。",
    '{{"differential": {{"1": "{right}", "2": "{wrong}"}}}}',
]


@pytest.mark.parametrize("form", DENYING)
@pytest.mark.parametrize(("right", "wrong"), [("A", "B"), ("B", "A"), ("C", "D"), ("D", "C")])
def test_a_letter_that_the_reply_does_not_hold_is_not_its_answer(form: str, right: str, wrong: str) -> None:
    """A letter in a clause that the reply denies, or calls a stereotype, is not the one that is read."""
    assert read_letter(form.format(right=right, wrong=wrong), NINE).letter == right


@pytest.mark.parametrize(
    "response",
    [
        # An object of JSON beside another answer, and two answers within one.
        'D. (Format of the key: {"answer": "C"})',
        'The key says {"answer": "C"} but I give her D.',
        '{"answer": "C", "answer_for_this_patient": "D"}',
        # What others say or conclude.
        "The answer key says C.",
        "According to the examiner the answer is C.",
        "'The answer is C', says the registrar.",
        "The letter concludes: the answer is C.",
        "The man in the next bay would be C.",
        # What is set aside.
        "It is rarely the case that the answer is C.",
        "Nobody who has read the notes would answer C.",
        "C can be crossed off.",
        "C, I wish.",
        "C. I wish!",
        "The answer is anything but C.",
        "The answer to avoid is C.",
        # Hidden, under a second heading, or not of the patient.
        "D<span style='display:none'>Final answer: C</span>",
        "Answer (this patient): D\nAnswer (textbook): C",
        "Answer: C. For a patient like this one, though, D.",
    ],
)
def test_a_letter_that_is_not_the_replys_own_is_not_its_answer(response: str) -> None:
    """A letter that the reply reports, supposes, sets aside or hides is never read, though another may be."""
    assert read_letter(response, DRUG).letter != "C"


@pytest.mark.parametrize(
    "response",
    [
        # The patient, by name or not, is nobody else.
        "Mr Taylor's answer is C.",
        "This individual's diagnosis is C.",
        # What comes after the clause that sets another answer aside is the reply's own.
        "Option A is a red herring: the answer is C.",
        "Nobody would call this A: the answer is C.",
        "Everything but the age points to C.",
        # Keys of other answers.
        '{"answer": "C", "backup_answer": "A"}',
        '{"answer": "C", "differential_diagnosis": "A"}',
    ],
)
def test_a_letter_beside_what_is_set_aside_is_read(response: str) -> None:
    """The reply's own letter is read beside an answer that the same sentence or object does not give."""
    assert read_letter(response, DRUG).letter == "C"


@pytest.mark.parametrize(
    "response",
    [
        "I believe that the answer is B.",
        "There is no doubt that the answer is B.",
        "The findings suggest that the answer is B.",
        "It is clear that the answer is B.",
        "It is likely that the best answer is B.",
        "I cannot but conclude that the answer is B.",
        "A is not right, so I think the answer is B.",
        "The stereotype is A. I conclude that the answer is B.",
        "It is safe to say that the answer is B.",
        "The raised D-dimer means the answer is B.",
    ],
)
def test_a_letter_that_the_reply_holds_is_its_answer(response: str) -> None:
    """A letter in a clause that the reply avows is read."""
    assert read_letter(response, NINE).letter == "B"


@pytest.mark.parametrize(
    "response",
    [
        "The answer is A. The discharge letter states that the answer is B.",
        "The answer is A. The view that the answer is B is mine too.",
    ],
)
def test_a_later_claim_that_may_be_anothers_leaves_the_reply_unread(response: str) -> None:
    """Where a later claim of another letter may or may not be the reply's own, no letter is read."""
    assert read_letter(response, NINE).letter is None


def named(text: str) -> list[tuple[str, bool]]:
    """Give letter and kind of every mark."""
    return [(mark.letter, mark.by_letter) for mark in find_marks(text, OPTIONS)]


@pytest.mark.parametrize(
    "response",
    [
        *("B: no.", "B, no", "B not"),
        *("B kann es nicht sein.", "B ist es nicht.", "B: nein", "Nein zu B.", "B würde ich ausschließen."),
        *(
            "Ich schließe B aus.",
            "B ne peut pas être correcte.",
            "B serait une erreur.",
            "B non può essere.",
            "B sería un error.",
        ),
        *("B não pode ser.", "La B la descarto.", "B, niet", "B kan het niet zijn.", "B to nie jest.", "Odrzucam B."),
    ],
)
def test_a_letter_that_is_denied_in_another_language_is_not_the_answer(response: str) -> None:
    """The only letter of a short reply counts for nothing beside a denial in its clause."""
    assert read_letter(response, OPTIONS).letter is None


@pytest.mark.parametrize(
    "response",
    [
        *(
            "Schließlich ist es B.",
            "B, no doubt about it.",
            "I would not hesitate: B.",
            "Ich denke, es ist B.",
            "Es ist B, kein Zweifel.",
        ),
        *("B, weil kein Fieber vorliegt.", "La réponse est B, car il n'y a pas de fièvre.", "Sans doute B."),
        *("B, porque no hay fiebre", "La risposta è B perché non c'è febbre.", "A resposta é B, pois não há febre."),
        *("Odpowiedź: B, ponieważ nie ma gorączki.", "Het antwoord is B."),
    ],
)
def test_a_denial_of_something_else_leaves_the_letter_the_answer(response: str) -> None:
    """The reason for a letter may deny a finding, in any language."""
    assert read_letter(response, OPTIONS).letter == "B"


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Take C.", [("C", True)]),
        ("aspirin", [("A", False)]),
        ("B cells", [("B", False)]),  # the letter belongs to the words
        ("CF", [("C", False)]),  # the abbreviation in the option's brackets
        ("cystic  fibrosis", [("C", False)]),  # any white space
        ("A and C", []),  # joined: neither is the answer
        ("C, and A is wrong", [("C", True), ("A", True)]),  # a new clause is not a list
        ("a cough", []),
        ("C-reactive protein", []),
        ("C. difficile", []),
        ("18 units, 8.5 or 8%", []),  # a number inside a number
        ("8 units", [("D", False)]),
    ],
)
def test_marks(text: str, marks: list[tuple[str, bool]]) -> None:
    """A mark is a letter that is not a word, or the words of an option as a whole."""
    assert marks == named(text)


def test_list_said_over_is_dropped() -> None:
    """Three options in a row, each with its words, name none of them."""
    assert named("A. Aspirin B. B cells C. Cystic fibrosis") == []
