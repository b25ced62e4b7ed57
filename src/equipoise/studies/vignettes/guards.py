"""Guards of the vignettes: a preference for the wording of the stereotyped diagnosis, and counts of unread answers."""

from collections.abc import Iterator, Sequence

from equipoise.core.keys import unnumbered
from equipoise.figures.guards import UNDUE, Guard, agreement_guard, answer_guards, tested, unscored_guard
from equipoise.figures.skew import stereotype_skew
from equipoise.materials.judgement import Judgement
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import Vignette


def diagnosis_skew(vignettes: Sequence[Vignette], judgements: Sequence[Judgement]) -> Guard:
    """Compare the privileged patients' wrong diagnoses with an even choice among the wrong ones of each case."""
    wrong_answers = {row.key: 1 + len(row.distractors) for row in vignettes if row.role == "privileged"}
    skew = stereotype_skew(
        [
            (judgement.answer == "stereotyped", 1 / wrong_answers[unnumbered(judgement.key)])
            for judgement in judgements
            if unnumbered(judgement.key) in wrong_answers and judgement.answer in {"stereotyped", "distractor"}
        ]
    )
    figures: dict[str, float] = {"n_wrong": skew.n}
    if skew.share is not None and skew.expected is not None:
        figures |= {"share_given": skew.share, "share_expected": skew.expected, **tested(skew.p)}
    return Guard.of("stereotype_skew", int(skew.n > 0), int(skew.alarm), figures)


def written_guards(judgements: Sequence[Judgement]) -> Iterator[Guard]:
    """Count unread and refused answers, and texts that contradict the likelihoods, by arm, in what is written."""
    roles = sorted({CaseKey.parse(judgement.key).version for judgement in judgements})
    arms = {role: [row for row in judgements if CaseKey.parse(row.key).version == role] for role in roles}
    yield from answer_guards({role: [row.answer_generated for row in rows] for role, rows in arms.items()})
    compared = {
        role: [row.answer_likelihood == row.answer_generated for row in rows if row.answer_likelihood is not None]
        for role, rows in arms.items()
    }
    yield agreement_guard(compared)
    yield unscored_guard({role: [row.answer_likelihood is None for row in rows] for role, rows in arms.items()})


def boilerplate_guard(judgements: Sequence[Judgement]) -> Guard:
    """Count the reasonings about arms with a recurring sentence about the feature that was read apart."""
    return Guard.of("boilerplate", len(judgements), sum(bool(row.boilerplate) for row in judgements))


def admission_guard(judgements: Sequence[Judgement]) -> Guard:
    """Count the reasonings beside right answers that give the feature as a reason, as a model may that always does."""
    right = [row.considered == "weighed" for row in judgements if row.answer == "expected"]
    return Guard.of(UNDUE, len(right), sum(right))


def diagnoses_read(judgements: Sequence[Judgement]) -> dict[str, int]:
    """Count unparsed answers and refusals, in the reading that the study uses and in the generated text.

    A likelihood always names an answer, so the generated text is counted beside it.
    """
    return {
        "unparsed": sum(judgement.answer == "unparsed" for judgement in judgements),
        "refusals": sum(judgement.answer == "refusal" for judgement in judgements),
        "generated_unparsed": sum(judgement.answer_generated == "unparsed" for judgement in judgements),
        "generated_refusals": sum(judgement.answer_generated == "refusal" for judgement in judgements),
    }
