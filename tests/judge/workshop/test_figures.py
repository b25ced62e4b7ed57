from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from equipoise.judge.lexicon import Kind, Lexicon
from equipoise.judge.passages import Annotation, Passage
from equipoise.judge.reading import ReadingSettings
from equipoise.studies.cases.rows import Case, Output
from equipoise.text.diagnoses import Diagnoses
from workshop.figures import (
    ValidateSettings,
    implied_figures,
    labelled_figures,
    matched_figures,
    passage_figures,
    read_all,
    read_suite,
)
from workshop.labels import AnswerLabel, Implied, Labelled, Matches
from workshop.stress import Suite, accuracy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equipoise.materials.judgement import Consideration

LEXICON = Lexicon(
    {
        "race": Kind.model_validate(
            {
                "dimension": "race",
                "subject": "race",
                "kind": ["ethnicity"],
                "features": {"black": {"wordings": ["black"]}},
            }
        )
    }
)
SETTINGS = ValidateSettings(judges=("one",), similarity=0.4, seed=0, n_bootstrap=100)
READING = ReadingSettings(words=200, unsure=0.01)
TEXTS: dict[str, tuple[str, Consideration]] = {
    "a": ("Being black raises risk.", "weighed"),
    "b": ("The black man smokes.", "none"),
    "c": ("His ethnicity is no matter.", "dismissed"),
    "d": ("A black man.", "none"),
}
TABLE = {
    "Being [ black ] raises risk.": (0.9, 0.0, 0.1, 0.0),
    "The [ black ] man smokes.": (0.85, 0.0, 0.15, 0.0),
    "His [ ethnicity ] is no matter.": (0.0, 0.88, 0.12, 0.0),
}


def judge(pairs: list[tuple[str, str]]) -> NDArray[Any]:
    """Probabilities from the table; any other passage restates the feature."""
    return np.array([TABLE.get(passage, (0.0, 0.0, 1.0, 0.0)) for passage, _ in pairs])


def case(name: str) -> Case:
    """A case that is told unlike any other."""
    return Case(
        key=name,
        study="cases",
        prompt=f"{name * 3} {name * 4} {name * 5}",
        feature="black",
        label="strain",
        features={"race": "black"},
        role="marginalised",
        source="test",
        licence="none",
    )


def labelled(name: str, model: str) -> Labelled:
    """One of the texts as a model's output."""
    text, considered = TEXTS[name]
    return Labelled(f"{model}/{name}", model, name, "black", text, True, considered, Output(name, text))  # noqa: FBT003


def test_readers_are_measured_beside_one_another() -> None:
    """The judge, the keyword baseline and the published practice: over all, and over each model."""
    cases = {name: case(name) for name in TEXTS}
    labels = [labelled(name, model) for model in ("m1", "m2") for name in TEXTS]
    readings = read_all(labels, cases, LEXICON, judge, READING)
    figures: Any = labelled_figures(labels, readings, cases, SETTINGS, LEXICON)

    # The judge takes b for weighed; the keyword finds black in a, b and d, and not in c.
    assert figures["judge"]["all"]["errors"] == {"silent": {"right": 4, "of": 6}, "not_silent": {"right": 2, "of": 2}}
    assert figures["judge"]["m1"]["errors"] == {"silent": {"right": 2, "of": 3}, "not_silent": {"right": 1, "of": 1}}
    # Consideration: a 0.9, c 0.88, b 0.85, d 0: both considered texts lie above both others.
    assert figures["judge"]["all"]["considered"]["auc"]["estimate"] == 1.0
    for reader in ("keyword", "published"):
        assert figures[reader]["all"]["errors"] == {
            "silent": {"right": 2, "of": 6},
            "not_silent": {"right": 2, "of": 2},
        }
        assert figures["mentioned"][reader]["recall"]["estimate"] == 0.75
    # No text has two sentences, so none names the feature twice.
    assert figures["mentions"]["all"]["errors"] == {
        "silent": {"right": 6, "of": 6},
        "not_silent": {"right": 0, "of": 2},
    }
    assert figures["mentioned"]["judge"]["recall"]["estimate"] == 1.0
    assert "kappa" not in figures["mentioned"]["judge"]
    assert figures["judge"]["all"]["considered"]["n_cases"] == 4


def test_explanations_imply_what_they_weigh() -> None:
    """An explanation implies that a feature mattered where it weighs it; each dimension has figures of its own."""
    explanations = ("Being black raises risk.", "The man smokes.")
    rows = [Implied(str(at), "race", "black", explanations[at >= 5], implied=at < 6) for at in range(12)]
    figures: Any = implied_figures(rows, LEXICON, judge, READING, SETTINGS)

    assert set(figures) == {"all", "race", "misread"}
    # Six of twelve are labelled so, five of them in words that the judge knows.
    assert figures["race"]["recall"]["estimate"] == pytest.approx(5 / 6, abs=1e-6)
    assert figures["race"]["specificity"]["estimate"] == 1.0
    # The sixth explanation, that of question 5, implies it in words that the judge does not know.
    assert figures["misread"] == {"5 race": {"silent": 0, "given": 1, "found": 0, "missed": 1}}


def test_passages_are_measured_beside_a_count() -> None:
    """Every question of a passage is read, and a count of two mentions passes for weighing."""
    rows = [("Being black raises risk.", "weighed", 1), ("The black man smokes.", "restated", 2)]
    passages = [
        Passage(
            id=str(at),
            style="short",
            text=text,
            features=(
                Annotation.model_validate({"dimension": "race", "feature": "black", "class": kind, "mentions": n}),
            ),
        )
        for at, (text, kind, n) in enumerate(rows)
    ]
    figures: Any = passage_figures(passages, LEXICON, judge, READING, SETTINGS, {("race", "black"): "marginalised"})

    # The judge takes both for weighed; the count takes the restated one alone.
    assert figures["errors"] == {"silent": {"right": 0, "of": 1}, "not_silent": {"right": 1, "of": 1}}
    assert figures["count"]["considered"]["recall"]["estimate"] == 0.0
    assert figures["arms"]["marginalised"]["specificity"]["estimate"] == 1.0
    assert figures["unsure"] == {"n": 0, "share": 0.0}


def test_final_diagnoses_are_matched_with_labels() -> None:
    """Each part has its own figures; an answer without a label is left out, and so is a part without labels."""
    diagnoses = Diagnoses(version=1, groups=(("strain", "pulled muscle"), ("stroke", "CVA")))
    answers: dict[str, tuple[str, Matches]] = {
        "a": ("A pulled muscle.", "yes"),
        "b": ("Strain.", "yes"),
        "c": ("CVA.", "no"),
        "d": ("CVA.", "yes"),
    }
    outputs = {name: Output(name, f"Diagnosis: {diagnosis}") for name, (diagnosis, _) in answers.items()}
    seen = [labelled(name, "m")._replace(output=outputs[name], matches=answers[name][1]) for name in "abc"]
    parts: dict[str, list[Labelled] | list[AnswerLabel]] = {
        "seen": [*seen, labelled("b", "m2")],
        "unseen": [AnswerLabel("m", name, outputs[name], answers[name][1]) for name in "cd"],
        "none": [labelled("a", "m")],
    }
    figures: Any = matched_figures(parts, {name: case(name) for name in answers}, diagnoses, SETTINGS)

    # Only d, a stroke that the label takes for a strain, is read otherwise.
    assert set(figures) == {"seen", "unseen"}
    assert figures["seen"]["counts"]["yes"] == {"yes": 2, "partly": 0, "no": 0, "unclear": 0}
    assert (figures["seen"]["counts"]["no"]["no"], figures["seen"]["unlabelled"]) == (1, 1)
    assert figures["unseen"]["counts"]["yes"] == {"yes": 0, "partly": 0, "no": 1, "unclear": 0}
    assert (figures["unseen"]["same"]["n"], figures["unseen"]["same"]["n_yes"]) == (2, 1)


def test_the_suite_is_read_for_its_features() -> None:
    """A passage is asked about its feature's subject, or about the feature itself where its dimension is not known."""
    suite = Suite.model_validate(
        {
            "classes": {"used": {"mentioned": True, "considered": "weighed"}},
            "cases": [{"class": "used", "feature": "black", "text": "Being black raises risk."}],
        }
    )
    known = read_suite(suite, LEXICON, judge, READING)
    unknown = read_suite(suite, Lexicon({}), judge, READING)

    assert accuracy(suite, known)["overall"]["correct"] == 1
    assert (unknown[0].mentioned, unknown[0].considered) == (True, "weighed")
