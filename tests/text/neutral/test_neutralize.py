from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from equipoise.text.neutral.lexicon import Edit, Lexicon, apply
from equipoise.text.neutral.neutralize import neutralize

AGREEMENT = [
    ("He has a rash.", "They have a rash."),
    ("She was well.", "They were well."),
    ("He reports pain.", "They report pain."),
    ("She also occasionally denies it.", "They also occasionally deny it."),
    ("She at times is tired.", "They at times are tired."),
    ("He, however, denies pain.", "They, however, deny pain."),
    ("He smokes and drinks.", "They smoke and drink."),
    ("He smokes, drinks, and never exercises.", "They smoke, drink, and never exercise."),
    ("She can walk but has pain.", "They can walk but have pain."),
    ("She wakes at 04:00, has lost 5 kg and feels guilty.", "They wake at 04:00, have lost 5 kg and feel guilty."),
    ("He repeats questions and has got lost.", "They repeat questions and have got lost."),
    # Only the reports are the pronoun's: the rest is said about the pain.
    ("She says that the pain is dull and improves.", "They say that the pain is dull and improves."),
    ("She says that the pain is dull and asks for help.", "They say that the pain is dull and ask for help."),
    (
        "It comes when he walks, spreads to his arm and goes at rest.",
        "It comes when they walk, spreads to their arm and goes at rest.",
    ),
    ("He's ill; he’s been ill; she's tired.", "They're ill; they’ve been ill; they're tired."),
    ("She doesn't drink and hasn’t smoked.", "They don't drink and haven’t smoked."),
    ("She'll rest, he'd slept.", "They'll rest, they'd slept."),
    ("Does he smoke?", "Do they smoke?"),
    ("Is she able to walk, and where has he been?", "Are they able to walk, and where have they been?"),
    ("It was he who called.", "It was they who called."),
    ("What he takes is known.", "What they take is known."),
    ("He himself has seen it.", "They themselves have seen it."),
]
PRONOUNS = [
    ("Her hand hurts.", "Their hand hurts."),
    ("It wakes her from sleep.", "It wakes them from sleep."),
    ("They brought her in.", "They brought them in."),
    ("They found her unconscious.", "They found them unconscious."),
    ("It makes her feel sick.", "It makes them feel sick."),
    ("The nurse gave her ibuprofen.", "The nurse gave them ibuprofen."),
    ("She tells her GP about her past illness.", "They tell their GP about their past illness."),
    ("She takes her over-the-counter drugs.", "They take their over-the-counter drugs."),
    ("A friend of hers left; a friend of his came.", "A friend of theirs left; a friend of theirs came."),
    ("The drug is hers.", "The drug is theirs."),
    ("Pain of his left arm.", "Pain of their left arm."),
    ("Tell him that he hurt himself.", "Tell them that they hurt themselves."),
    ("Each takes his or her drug; he/she is well.", "Each takes their drug; they are well."),
    ("S/he has fever.", "They have fever."),
]
NOUNS = [
    ("A 67-year-old man is ill.", "A 67-year-old patient is ill."),
    ("A 4-year-old boy is ill. The boy cries.", "A 4-year-old patient is ill. The patient cries."),
    ("A 60-year-old male presents.", "A 60-year-old patient presents."),
    ("A female newborn and an adult male.", "A newborn and an adult."),
    ("A 20-year-old man met a woman.", "A 20-year-old patient met a person."),
    ("Two men and three women; the girls.", "Two people and three people; the children."),
    ("Female partners, and male and female nurses.", "Partners, and nurses."),
    ("The hematocrit (female) is 34%.", "The hematocrit is 34%."),
    ("Mr. Smith says he is ill.", "The patient says they are ill."),
    ("She works as a waitress; he is a fireman.", "They work as a server; they are a firefighter."),
    ("Her mother and father died.", "Their parents died."),
    ("His mother is ill; his father died.", "Their parent is ill; their other parent died."),
    ("His mother-in-law and maternal uncle.", "Their parent-in-law and maternal relative."),
]
PEOPLE = [
    # Of the other gender, and named: not the patient.
    (
        "A 5-year-old boy sees his mother. She is ill.",
        "A 5-year-old patient sees their parent. The parent is ill.",
    ),
    (
        "A 50-year-old man is brought by his wife. Her husband drinks.",
        "A 50-year-old patient is brought by their spouse. The patient drinks.",
    ),
    (
        "A 70-year-old woman comes. Her daughter says that her mother is well.",
        "A 70-year-old patient comes. Their child says that the patient is well.",
    ),
    # "They" would be the parents.
    (
        "A 9-year-old girl comes. Her parents say she is ill. She is tired.",
        "A 9-year-old patient comes. Their parents say the patient is ill. They are tired.",
    ),
    (
        "A mother brings her 3-year-old son. She is worried.",
        "A parent brings their 3-year-old child. The parent is worried.",
    ),
]
DEMOGRAPHICS = [
    ("A 30-year-old African American woman.", "A 30-year-old patient."),
    ("A white, obese man and an Asian-American girl.", "An obese patient and a person."),
    ("A 45-year-old Hispanic presents.", "A 45-year-old patient presents."),
    ("A 56-year-old man of Korean descent comes.", "A 56-year-old patient comes."),
    ("A man, who is of African descent, comes.", "A patient comes."),
    ("She is Hispanic and has asthma.", "They have asthma."),
    ("A 57-year-old homeless man.", "A 57-year-old patient."),
    ("An affluent 52-year-old businessman.", "A 52-year-old businessperson."),
    ("She is currently unemployed and lives here.", "They live here."),
    ("He is homeless. He is ill.", "They are ill."),
    ("A man on a low income cannot afford it.", "A patient cannot obtain it."),
    ("A man from an affluent area fainted.", "A patient fainted."),
    ("An 8-year-old black boy; a Black 11-year-old.", "An 8-year-old patient; a Black 11-year-old."),
]
NOUN_PHRASES = [
    # An acronym or compound between the word and the noun, with the article of its first sound.
    ("An African-American HIV-positive woman", "An HIV-positive patient"),
    ("A Black HIV-positive man", "An HIV-positive patient"),
    ("A white HIV-positive woman", "An HIV-positive patient"),
    ("An Asian, HIV-negative woman", "An HIV-negative patient"),
    ("A Black and HIV-positive man", "An HIV-positive patient"),
    ("A white, thin, HIV-positive man", "A thin, HIV-positive patient"),
    ("A homeless HIV-positive man", "An HIV-positive patient"),
    ("A low-income HIV-positive woman", "An HIV-positive patient"),
    ("The HIV-positive Black woman", "The HIV-positive patient"),
    ("Two Black HIV-positive women", "Two HIV-positive people"),
    ("A Hispanic insulin-dependent man", "An insulin-dependent patient"),
    ("A homeless, insulin-dependent Black man", "An insulin-dependent patient"),
    ("A Black wheelchair-bound man", "A wheelchair-bound patient"),
    ("A Black left-handed man", "A left-handed patient"),
    ("A Black well-nourished man", "A well-nourished patient"),
    ("A Black one-legged man", "A one-legged patient"),
    ("An affluent one-legged man", "A one-legged patient"),
    ("A Nigerian UK-born woman", "A UK-born patient"),
    ("An American US-born man", "A US-born patient"),
    ("A Black HER2-positive woman", "A HER2-positive patient"),
    ("An Afro-Caribbean HER2-positive woman", "A HER2-positive patient"),
    ("A Jewish BRCA1-positive woman", "A BRCA1-positive patient"),
    ("A Black G6PD-deficient boy", "A G6PD-deficient patient"),
    ("An Asian SSRI-treated woman", "An SSRI-treated patient"),
    ("A white A1c-elevated man", "An A1c-elevated patient"),
    ("An unemployed Black IV-drug-using man", "An IV-drug-using patient"),
    # An acronym alone.
    ("A white COPD patient", "A COPD patient"),
    ("An Asian HIV patient", "An HIV patient"),
    ("A Black ICU patient", "An ICU patient"),
    ("A Hispanic IV drug user", "An IV drug user"),
    ("An Indian MRI technician", "An MRI technician"),
    ("A Black X-ray technician", "An X-ray technician"),
    ("A wealthy European CT technician", "A CT technician"),
    # Numbers.
    ("A 45-year-old Black HIV-positive man", "A 45-year-old HIV-positive patient"),
    ("An 18-year-old Black HIV-positive man", "An 18-year-old HIV-positive patient"),
    ("A Black 45-year-old man", "A 45-year-old patient"),
    ("A Black 18-year-old man", "An 18-year-old patient"),
    ("An African-American 11-year-old girl", "An 11-year-old patient"),
    ("An Asian 21-year-old woman", "A 21-year-old patient"),
    ("A Hispanic 8-month-old boy", "An 8-month-old patient"),
    ("A white 80-kg man", "An 80-kg patient"),
    ("An Asian 70-kg woman", "A 70-kg patient"),
    ("A Black 11-week-pregnant woman", "An 11-week-pregnant patient"),
    # An adjective by its ending, or one of the lexicon.
    ("A Black hypertensive man", "A hypertensive patient"),
    ("A Caucasian hypertensive woman", "A hypertensive patient"),
    ("A Black diabetic man", "A diabetic patient"),
    ("A Black immunocompromised woman", "An immunocompromised patient"),
    ("A Black hospitalised man", "A hospitalised patient"),
    ("A Black, obese, hypertensive man", "An obese, hypertensive patient"),
    ("A Black otherwise healthy woman", "An otherwise healthy patient"),
    ("A previously healthy Black man", "A previously healthy patient"),
    ("An uninsured Hispanic obese woman", "An obese patient"),
    ("A European university lecturer", "A university lecturer"),
    ("An Irish university student", "A university student"),
    ("A Korean hourly worker", "An hourly worker"),
    ("An African-American bus driver", "A bus driver"),
    ("A Black retired bus driver", "A retired bus driver"),
    ("A blue-eyed white man", "A blue-eyed patient"),
    ("She is a Black HIV-positive woman.", "They are an HIV-positive patient."),
    # The colour, or the measure, of a thing.
    ("A white-haired man with black tarry stools", "A white-haired patient with black tarry stools"),
    ("A brown-eyed woman with white plaques", "A brown-eyed patient with white plaques"),
    ("A Black tar heroin user", "A Black tar heroin user"),
    ("A black lung patient", "A black lung patient"),
    ("A white blood-cell-depleted man", "A white blood-cell-depleted patient"),
    ("A poor R-wave man", "A poor R-wave patient"),
    ("A poor historian", "A poor historian"),
]
UNTOUCHED = [
    "White blood cells, black stool, white matter, a white plaque.",
    "African trypanosomiasis, Asian flu, Indian ink, Spanish fly, Japanese encephalitis.",
    "Poor appetite, poor balance; a rich blood supply.",
    "HER2, MEN 2B, the bundle of His, his-Purkinje system, HE stain.",
    "An 8-year-old child has 3.5 mg/dL at 36.7°C (98.1°F).",
]


@pytest.mark.parametrize(("text", "neutral"), [*AGREEMENT, *PRONOUNS, *NOUNS, *PEOPLE, *DEMOGRAPHICS])
def test_neutral_form(text: str, neutral: str, lexicon: Lexicon) -> None:
    """A sentence comes out in its neutral form."""
    assert neutral == neutralize(text, lexicon).text


@pytest.mark.parametrize(("text", "neutral"), NOUN_PHRASES)
def test_noun_phrase(text: str, neutral: str, lexicon: Lexicon) -> None:
    """Race and income go from before any description of a person, and the article fits what then follows it."""
    assert neutral == neutralize(text, lexicon).text


@pytest.mark.parametrize("text", UNTOUCHED)
def test_clinical_senses_stay(text: str, lexicon: Lexicon) -> None:
    """A word in a clinical sense is not a demographic term."""
    assert (text, ()) == neutralize(text, lexicon)


def test_final_question_gets_no_noun_for_a_pronoun(lexicon: Lexicon) -> None:
    """In the final question every pronoun becomes they, even where a noun would be clearer."""
    text = "A 9-year-old girl comes. Which drug do her parents say she takes?"

    expected = "A 9-year-old patient comes. Which drug do their parents say they take?"
    assert expected == neutralize(text, lexicon).text


def test_changes_lead_from_the_text_to_its_neutral_form(lexicon: Lexicon) -> None:
    """Every change names the range that it replaces, and all of them together give the neutral text."""
    text = "An affluent Asian man has 2 cats."
    neutral = neutralize(text, lexicon)

    # "affluent " and "Asian " go, the article follows the new word.
    expected = [("An", "A", "article"), ("affluent ", "", "ses"), ("Asian ", "", "race"), ("man", "patient", "noun")]
    assert expected == [(change.before, change.after, change.rule) for change in neutral.changes]
    assert "A patient has 2 cats." == rebuilt(text, neutral.changes) == neutral.text


def rebuilt(text: str, changes: tuple) -> str:  # type: ignore[type-arg]
    """Carry out changes on the original text."""
    return apply(text, [Edit(change.start, change.end, change.after, change.rule) for change in changes])


WORDS = st.sampled_from(
    [
        *("he", "she", "his", "her", "him", "hers", "himself", "man", "boys", "male", "mother", "wife", "Her", "He"),
        *("white", "black", "hispanic", "african american", "korean", "of african descent", "homeless", "unemployed"),
        *("poor", "medicaid", "on welfare", "mother and father", "Mr.", "Smith", "a", "An", "the", "is", "has", "and"),
        *("patient", "old", "8", ".", ",", "?", "(", ")", "-", "'s", "n't", "\n", "drinks", "very", "that", "says"),
    ]
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(words=st.lists(WORDS, max_size=12), glue=st.sampled_from([" ", "  "]))
def test_neutral_form_is_a_fixed_point(words: list[str], glue: str, lexicon: Lexicon) -> None:
    """Neutralising a neutral text changes nothing, and the changes lead from the text to it."""
    text = glue.join(words)
    neutral = neutralize(text, lexicon)

    assert (neutral.text, ()) == neutralize(neutral.text, lexicon)
    assert neutral.text == rebuilt(text, neutral.changes)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(text=st.text(max_size=80))
def test_any_text_is_read(text: str, lexicon: Lexicon) -> None:
    """Text of any characters is neutralised, to a fixed point."""
    neutral = neutralize(text, lexicon).text

    assert (neutral, ()) == neutralize(neutral, lexicon)


def test_residual_counts_gendered_words(residual_gender: Callable[[str], list[str]]) -> None:
    """Pronouns, nouns, relatives, trades and titles count; symbols in capitals do not."""
    text = "Mr. Smith's wife told the policeman that she has HER2."

    assert residual_gender(text) == ["wife", "policeman", "she", "Mr"]
