"""Tests of options that refer to other options."""

import pytest

from equipoise.text.referring import FORMS, refers

LETTERS = "ABCD"
REFERRING = """
All of the above. | All of the above except C | None of the above is correct | Any of the above | All the above
All above | None of these | Both of these | None of them | All of these tests | None of the following
None of the other options | None of the others | All are correct | All statements are true
Both statements are true | All options are correct | Neither | None | Both | Neither of the above | Either of these
More than one of the above | Any combination of the above | Both A and B | both (a) and (b) | Both A & B
Either A or B | Neither A nor B | Both A and B, depending on renal function | A and C only | A, B and D | A + B
B but not C | "A" and "B" | A and B are both correct | Only A | A only | Same as A | 1 and 2 | 1, 2 & 3
1 and 3 are correct | 1,2,3 | I and III only | II only | Only 1 and 3 | Either 1 or 2 | options 1 and 3
Options (1) and (3) | answers a and c | Both options A and B | Only statement 2 | Statements 1 and 3 are true
The first two options | First and third options | 1st and 3rd options | The first of the above | The above
As above | The preceding option | Both the preceding options | All of the abovementioned | All except A
Both the above
"""
MOVABLE = """
Vitamin A and B12 deficiency | Both ventricles | Hepatitis A and B | Type 1 and 2 diabetes | All four limbs
Either parent | None of his relatives is affected | All of the colon | Group A and B streptococci
Factors V and VIII | C and D lesions | Blood group AB | A and B cells | 1 and 2 weeks | Above the knee
Both above and below the knee | The following morning | No treatment | None needed | A | AB | 1 | II
First trimester | Second | First and second ribs | All tests normal | Any fever | Vitamins A and D | Only child
Only at night | Phase I | Most often viral | One of the twins | Option appraisal | Influenza A and B | 1.5 mg
2 of 3 doses | Cranial nerves III and IV | Previous stroke | Given orally | The former smoker | Both A and V waves
1/2 | 2:1 | 10 and 20 | 6, 8, 10, 11 | In the first two weeks | Alternatives to surgery | Both E and F
All given intravenously | Both following trauma | Half of the above-knee amputees
Explain all options to the patient | ALL
"""


def listed(text: str) -> list[str]:
    """Give the options of a list."""
    return [option.strip() for option in text.replace("\n", "|").split("|") if option.strip()]


@pytest.mark.parametrize("option", [*FORMS, *listed(REFERRING)])
def test_an_option_that_names_others_refers(option: str) -> None:
    """Whatever its letter case, an option that names others by quantity, letter, number or place refers to them."""
    assert refers([option], LETTERS) == [option]
    assert refers([option.lower()], LETTERS) == [option.lower()]


@pytest.mark.parametrize("option", listed(MOVABLE))
def test_an_option_about_the_world_does_not_refer(option: str) -> None:
    """Letters, numbers and quantities of medicine are about no other option."""
    assert refers([option], LETTERS) == []


def test_letters_side_by_side_refer_if_several_options_have_them() -> None:
    """AB alone may be a blood group; beside other runs of letters it names statements."""
    assert refers(["ab", "bc", "acd", "asthma"], LETTERS) == ["ab", "bc", "acd"]
    assert refers(["A", "B", "AB", "O"], LETTERS) == []


def test_all_in_capitals_is_a_leukaemia() -> None:
    """ALL beside other abbreviations is one; in a question written in capitals it is the word."""
    assert refers(["ALL", "AML", "CLL"], "ABC") == []
    assert refers(["FEVERISH", "RASHES", "ALL"], "ABC") == ["ALL"]
