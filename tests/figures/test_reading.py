"""Tests of the measured error of the readers of written answers, and of where it is shown."""

from __future__ import annotations

import pytest

import projects
import replies
from equipoise.figures.reading import MEASURED, Errors, reader_of, reading_effects, sentence, unread_by_arm
from equipoise.figures.study import Reader
from equipoise.judge import score
from equipoise.studies.cases import judged
from equipoise.studies.registry import STUDIES
from equipoise.text.letters import read_letter
from replies import OPPOSITE, read_replies, reading, written

DIAGNOSES = {"diagnoses": reading, "written": written}
"""The readers of diagnoses: of the study `cases`, and of `vignettes`."""


def test_the_error_on_letters_is_that_of_the_replies_held_aside() -> None:
    """Another letter than the gold is `other`; none where there is one is `unread`."""
    rows = read_replies("letters_held")
    read = [(read_letter(row["response"], row["options"]).letter, row["gold"]) for row in rows]
    other = sum(given is not None and given != gold for given, gold in read)
    unread = sum(given is None and gold is not None for given, gold in read)

    assert MEASURED["letters"] == Errors(len(rows), other, unread)


@pytest.mark.parametrize("reader", ["diagnoses", "written"])
def test_the_error_on_diagnoses_is_that_of_the_replies_held_aside(reader: Reader) -> None:
    """A reading of neither answer, where one is meant, is `unread`; any other that differs from the gold is `other`."""
    rows = read_replies("diagnoses_held")
    wrong = [given for row in rows if (given := DIAGNOSES[reader](row)) != row["gold"]]

    assert MEASURED[reader] == Errors(len(rows), len(wrong) - wrong.count("other"), wrong.count("other"))


def test_each_study_states_the_error_of_the_reader_that_it_uses() -> None:
    """The study of saved outputs reads them with `read_output`, the vignettes with `read_written`."""
    users = {"cases": judged.read_output, "vignettes": score.read_written}

    assert {name: STUDIES[name].reader for name in users} == {"cases": "diagnoses", "vignettes": "written"}
    assert users == {"cases": replies.read_output, "vignettes": replies.read_written}


def test_the_targets_on_replies_held_aside_are_met_but_for_letters_that_stay_unread() -> None:
    """Wrong letters and opposite diagnoses are at most 1 %, diagnoses right in 91 %; letters miss their 95 %."""
    letters = MEASURED["letters"]
    rows = read_replies("diagnoses_held")

    assert letters.other / letters.n <= 0.01
    for reader, errors in ((DIAGNOSES[name], MEASURED[name]) for name in ("diagnoses", "written")):
        assert sum(OPPOSITE.get(reader(row)) == row["gold"] for row in rows) / len(rows) <= 0.01
        # 207 of 224 are right, 0.924.
        assert 1 - (errors.other + errors.unread) / errors.n >= 0.91
    # 201 of 217 are read, 0.926.
    assert 0.92 <= 1 - (letters.other + letters.unread) / letters.n < 0.95


def test_answers_read_from_likelihoods_have_no_reader() -> None:
    """As shipped every study but that of saved outputs reads likelihoods, or no answer at all."""
    settings = projects.committed_settings()
    generated = settings.model_copy(update={"score": settings.score | {"answering": "generate"}})

    assert {name for name, study in STUDIES.items() if reader_of(study, settings)} == {"cases"}
    assert reader_of(STUDIES["vignettes"], generated) == "written"
    assert list(reading_effects(STUDIES["vignettes"], settings, 0.05)) == []


@pytest.mark.parametrize("reader", MEASURED)
def test_the_sentence_has_the_error_and_what_is_unread(reader: Reader) -> None:
    """Half of two answers of one arm are unread, none of the other's: 50 % and 0 %."""
    settings = projects.committed_settings()
    study = next(study for study in STUDIES.values() if study.reader == reader)
    if study.likelihoods is not None:
        part = study.likelihoods
        changed = {part.section: settings.values(part.section) | {part.field: part.other}}
        settings = settings.model_copy(update=changed)
    unread = {"marginalised": [True, False], "privileged": [False, False]}
    effects = [*reading_effects(study, settings, 0.05), *unread_by_arm(study.name, unread, 0.05)]
    told = sentence(effects)

    assert f"of {MEASURED[reader].n} replies with known answers" in told
    assert "Unread here: 50.0 % (" in told
    assert "0.0 % (0.0 to" in told
    assert sentence(effects[2:]) == ""
