"""Control tellings: one case told in two ways that say nothing of the patient."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import load_lexicon
from equipoise.materials.versions import CONTROLS
from equipoise.studies.vignettes.profiles import Build, build_pairs, build_versions, outside
from equipoise.text.diagnoses import load_diagnoses

if TYPE_CHECKING:
    from collections.abc import Callable

    from equipoise.materials.stories.library import Library
    from equipoise.materials.stories.schema import Presentation
    from equipoise.materials.vignette import Vignette

DATA = Path(__file__).parents[3] / "data"
ORDINARY = {
    *("already", "ends", "from", "goes", "late", "morning", "seen", "today", "were", "whose", "will", "yesterday"),
    *("tuesday", "thursday", "hand", "name", "nine", "straight"),
    *("checked", "computer", "contact", "details", "dictated", "email", "entry", "file", "form", "label", "letter"),
    *("notes", "number", "paper", "posted", "printed", "record", "registration", "results", "screen", "summary"),
    *("typed", "typing"),
}
"""Words that cases have too, and that are findings in none."""


def span(row: Vignette) -> str:
    """Give the noun phrase of a text."""
    ((start, end),) = row.spans
    return row.text[start:end]


def build_controls(library: Library, profile: Any) -> tuple[Vignette, ...]:
    """Give the control tellings of a profile alone."""
    asked = {"system": "", "reason": "{case}", "answer": "?", "answer_prefix": ""}
    how = Build(profile=profile, **asked, controls=True, stubs=False, mirrors=False)
    return build_versions(library, how)


@pytest.mark.parametrize("profile", ["core", "powered"])
def test_every_pair_has_two_control_tellings(authored: Library, profile: Any) -> None:
    """They are the privileged arm with words after its noun phrase, as many in both, and alike outside it."""
    arms = {row.pair: row for row in build_pairs(authored, profile) if row.role == "privileged"}
    controls = build_controls(authored, profile)

    assert [row.key for row in controls] == sorted(f"{pair}/{end}" for pair in arms for end in CONTROLS)
    for first, second in zip(controls[::2], controls[1::2], strict=True):
        arm = arms[first.pair]
        assert first.pair == second.pair
        assert outside(first) == outside(second) == outside(arm)
        assert span(first).startswith(f"{span(arm)} ")
        assert span(first) != span(second)
        assert len(span(first).split()) == len(span(second).split())
        assert first.features == second.features == {}
        assert (first.expected, first.stereotyped, first.distractors) == (
            arm.expected,
            arm.stereotyped,
            arm.distractors,
        )


def test_control_tellings_differ_as_the_arms_do(authored: Library) -> None:
    """A contrast in a word stands against a detail in a word or two, and one in a clause against one in a clause."""
    arms = {row.key: span(row).split() for row in build_pairs(authored, "core")}
    controls = {row.key: span(row).split() for row in build_controls(authored, "core")}

    def differing(rows: dict[str, list[str]], *keys: str) -> int:
        first, second = (rows[key] for key in keys)
        return sum(a != b for a, b in zip(first, second, strict=False)) + abs(len(first) - len(second))

    race = differing(controls, "race-01/control-a", "race-01/control-b")
    housing = differing(controls, "housing-01/control-a", "housing-01/control-b")
    both = differing(controls, "mhsu-01/control-a", "mhsu-01/control-b")
    # Black for White; where they sleep; drugs and illness.
    assert differing(arms, "race-01/marginalised", "race-01/privileged") == 1
    assert (race <= 2, 3 <= housing <= 8, both > housing) == (True, True, True)


def test_every_kind_of_detail_is_used(authored: Library) -> None:
    """A digest of the pair's key chooses the kind: no kind is used in all pairs, or in none."""
    texts = [row.text for row in build_controls(authored, "core")]
    used = {
        name: sum(any(wording in text for wording in (*detail.word, *detail.clause)) for text in texts)
        for name, detail in authored.details.items()
    }

    assert len(used) >= 5
    assert all(4 <= count < len(texts) / 2 for count in used.values()), used


def story(case: Presentation) -> str:
    """Give all that a presentation tells."""
    return f"{case.opening} {case.history} {case.background} {case.examination} {case.test}"


def test_details_say_nothing_of_patient_or_case(authored: Library) -> None:
    """They hold no word that names a feature, no diagnosis, and no word of a case beyond ordinary ones."""
    lexicon = load_lexicon(DATA / "features")
    words = " ".join(text for detail in authored.details.values() for text in (*detail.word, *detail.clause))
    named = [
        words[slice(*place)]
        for contrast in authored.contrasts.values()
        for arm in (contrast.marginalised, contrast.privileged)
        for feature in lexicon.features({contrast.dimension: arm.feature})
        if feature.named
        for place in feature.named.places(words)
    ]
    cases = {
        word
        for presentation in authored.presentations.values()
        for word in re.findall(r"[a-z]{4,}", story(presentation).lower())
    }
    shared = set(re.findall(r"[a-z]{4,}", words)) & cases

    assert named == []
    assert not load_diagnoses(DATA / "diagnoses.yaml").meaning(words).groups
    assert shared <= ORDINARY


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"word": ["who waits here", "who waits"]}, "word: the statements must differ and have the same number of"),
        ({"clause": ["who waits", "who waits"]}, "clause: the statements must differ"),
        ({"word": ["who met her", "who met him"]}, "word states a demographic"),
    ],
)
def test_unequal_details_are_refused(check: Callable[..., Library], change: dict[str, Any], message: str) -> None:
    """Statements of unequal length, the same statement twice, and one that names a gender."""
    with pytest.raises(EquipoiseError, match=message):
        check(lambda files: files["details.yaml"]["details"][0].update(change))


def test_too_few_kinds_are_refused(check: Callable[..., Library]) -> None:
    """Fewer than five."""
    with pytest.raises(EquipoiseError, match="details: 4 kinds; write at least 5"):
        check(lambda files: files["details.yaml"]["details"].pop())
