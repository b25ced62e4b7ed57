"""The indefinite article before words, acronyms, letters and numbers."""

from __future__ import annotations

import pytest

from equipoise.text.articles import article, with_article

AN = """
    obese|obese man|Asian woman|older man|uninsured woman|unimpaired adult|unidentified man|unemployed man
    |unhoused man|underweight patient|urban dweller|urgent case|ulcer|umbilical hernia|upper lobe|unconscious
    |honest man|heir|honorary|hour|HIV infection|HIV-positive man|MRI|SSRI|NSAID|NSTEMI|ECG|LDL level
    |ICU|MAOI|AIDS-defining illness|X-ray|S3 gallop|L4-L5 disc|F-18 scan|A1c|E. coli infection|M-mode image
    |onerous task|oncology ward|8|8-year-old|80-year-old|81.5|83-|89|11|11-year-old|11-month-old|11,000
    |18|18-|18-year-old|18000|(80-year-old|“obese
"""
A = """
    one-legged man|one-|one|once-daily dose|European|Ewing sarcoma|eunuch|university lecturer|uni
    |unilateral rash|unit|union|unique case|unidirectional flow|unimodal curve|unanimous|usual finding
    |user of drugs|UTI|urinary infection|urologist|ureter|uterine mass|uveitis|ubiquitous|Ukrainian|Ugandan
    |US-born man|UK resident|U-shaped curve|homeless man|heroin user|Hmong woman|Muslim man|CT|BMI|PET scan
    |DVT|C-section|T-score|B12 level|HER2-positive tumour|STEMI|NICU stay|SARS infection|MEN2 syndrome|1
    |1-year-old|1.8|17|78|100|108|110|117|180|180-cm|1100|1,800|patient|“patient
"""
UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
)
SPOKEN = [*UNITS.split(), "eighteen", "nineteen"]
SPOKEN += [
    f"{tens} {unit}"
    for tens in ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    for unit in range(10)
]


def words(listed: str) -> list[str]:
    """The words of a list that bars divide."""
    return [word.strip() for word in listed.split("|")]


@pytest.mark.parametrize(
    ("word", "expected"), [*((word, "an") for word in words(AN)), *((word, "a") for word in words(A))]
)
def test_article_is_that_of_the_first_sound(word: str, expected: str) -> None:
    """Sounds choose the article: of acronyms that of the first letter's name, of numbers that of the first spoken."""
    assert article(word) == expected


def test_article_follows_the_spoken_age() -> None:
    """From two to ninety-nine it is "an" exactly where the spoken number begins with a vowel letter."""
    for age in range(2, 100):
        expected = "an" if SPOKEN[age][0] in "aeiou" else "a"

        assert article(f"{age}-year-old") == article(str(age)) == expected


def test_noun_has_its_article() -> None:
    """The article comes before the noun, with a capital where asked."""
    assert with_article("obese man") == "an obese man"
    assert with_article("83-year-old", capital=True) == "An 83-year-old"
    assert with_article("European", capital=True) == "A European"
