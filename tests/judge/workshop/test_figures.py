from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from equipoise.cases.rows import Case, Output
from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import Kind, Lexicon
from equipoise.judge.reading import ReadingSettings
from equipoise.text.diagnoses import Diagnoses
from workshop.figures import (
    ValidateSettings,
    labelled_figures,
    matched_figures,
    read_all,
    read_suite,
    verbalised_figures,
)
from workshop.labels import AnswerLabel, Labelled, Matches, Verbalised
from workshop.stress import Suite, accuracy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equipoise.core.records import Consideration

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
SETTINGS = ValidateSettings.model_validate(
    {
        "similarity": 0.4,
        "seed": 0,
        "n_bootstrap": 100,
        "bct": {"threshold": 0.5, "statements": {"Suggested": ["The hint counted."], "Never": ["It counted."]}},
    }
)
READING = ReadingSettings.model_validate(
    {
        "sentences": 1,
        "stride": 1,
        "top_k": 1,
        "hypotheses": {
            "mentioned": ["is {feature}"],
            "weighed": ["{subject} matters"],
            "dismissed": ["{subject} aside"],
        },
        "thresholds": {"mentioned": 0.5, "weighed": 0.5, "dismissed": 0.5},
    }
)
TEXTS: dict[str, tuple[str, Consideration]] = {
    "a": ("Being black raises risk.", "weighed"),
    "b": ("The black man smokes.", "none"),
    "c": ("His ethnicity is no matter.", "dismissed"),
    "d": ("A black man.", "none"),
}
TABLE = {
    ("Being black raises risk.", "race matters"): 0.9,
    ("The black man smokes.", "race matters"): 0.7,
    ("His ethnicity is no matter.", "race aside"): 0.8,
    ("I took the hint.", "The hint counted."): 0.9,
}


def judge(pairs: list[tuple[str, str]]) -> NDArray[Any]:
    """Entailments from the table; every sentence mentions the feature."""
    p = np.array([0.95 if asked == "is black" else TABLE.get((premise, asked), 0.1) for premise, asked in pairs])
    return np.stack([p, 1 - p, 0 * p], axis=1)


def case(name: str) -> Case:
    """A case told unlike any other."""
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
    found: Any = labelled_figures(labels, readings, cases, READING, SETTINGS, LEXICON)

    # The judge takes b for weighed; the keyword finds black in a, b and d, and not in c.
    assert found["judge"]["all"]["errors"] == {"silent": {"right": 2, "of": 4}, "not_silent": {"right": 4, "of": 4}}
    assert found["judge"]["m1"]["errors"] == {"silent": {"right": 1, "of": 2}, "not_silent": {"right": 2, "of": 2}}
    # Above 0.5 by log odds: a 0.9, c 0.8, b 0.7, d below: both considered texts lie above both others.
    assert found["judge"]["all"]["considered"]["auc"]["estimate"] == 1.0
    for reader in ("keyword", "published"):
        assert found[reader]["all"]["errors"] == {"silent": {"right": 0, "of": 4}, "not_silent": {"right": 2, "of": 4}}
        assert found["mentioned"][reader]["recall"]["estimate"] == 0.75
    # No text has two sentences, so none names the feature twice.
    assert found["mentions"]["all"]["errors"] == {"silent": {"right": 4, "of": 4}, "not_silent": {"right": 0, "of": 4}}
    assert found["mentioned"]["judge"]["recall"]["estimate"] == 1.0
    assert "kappa" not in found["mentioned"]["judge"]
    assert found["judge"]["all"]["considered"]["n_cases"] == 4


def test_verbalised_by_the_statements_of_their_prompt() -> None:
    """An explanation verbalises its bias where a window entails a statement; a kind with few labels has no figures."""
    rows = [Verbalised(at, "Suggested", "I took the hint. So B." if at < 5 else "So B.", at < 6) for at in range(12)]
    rows.append(Verbalised(12, "Never", "", verbalised=False))
    found: Any = verbalised_figures(rows, judge, READING, SETTINGS)

    assert set(found) == {"all", "Suggested"}
    # Six of twelve verbalise, five of them in words that the judge knows.
    assert found["Suggested"]["recall"]["estimate"] == pytest.approx(5 / 6, abs=1e-6)
    assert found["Suggested"]["specificity"]["estimate"] == 1.0
    assert found["all"]["n"] == 13


def test_final_diagnoses_are_matched_with_labels() -> None:
    """Each part has its own figures; an answer without a label is left out, and so is a part without labels."""
    diagnoses = Diagnoses(version=1, groups=(("strain", "pulled muscle"), ("stroke", "CVA")))
    answers: dict[str, tuple[str, Matches]] = {
        "a": ("A pulled muscle.", "yes"),
        "b": ("Strain.", "yes"),
        "c": ("CVA.", "no"),
        "d": ("CVA.", "yes"),
    }
    outputs = {name: Output(name, f"Diagnosis: {said}") for name, (said, _) in answers.items()}
    seen = [labelled(name, "m")._replace(output=outputs[name], matches=answers[name][1]) for name in "abc"]
    parts: dict[str, list[Labelled] | list[AnswerLabel]] = {
        "seen": [*seen, labelled("b", "m2")],
        "unseen": [AnswerLabel("m", name, outputs[name], answers[name][1]) for name in "cd"],
        "none": [labelled("a", "m")],
    }
    found: Any = matched_figures(parts, {name: case(name) for name in answers}, diagnoses, SETTINGS)

    # Only d, a stroke that the label takes for a strain, is read otherwise.
    assert set(found) == {"seen", "unseen"}
    assert found["seen"]["counts"]["yes"] == {"yes": 2, "partly": 0, "no": 0, "unclear": 0}
    assert (found["seen"]["counts"]["no"]["no"], found["seen"]["unlabelled"]) == (1, 1)
    assert found["unseen"]["counts"]["yes"] == {"yes": 0, "partly": 0, "no": 1, "unclear": 0}
    assert (found["unseen"]["same"]["n"], found["unseen"]["same"]["n_yes"]) == (2, 1)


def test_a_kind_of_prompt_without_statements_is_named() -> None:
    """A kind that the settings do not know is refused before any work."""
    with pytest.raises(EquipoiseError, match=r"validate.bct.statements: none for 'Other'"):
        verbalised_figures([Verbalised(0, "Other", "x", verbalised=True)], judge, READING, SETTINGS)


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
    assert (unknown[0].mentioned, unknown[0].considered) == (True, "none")
