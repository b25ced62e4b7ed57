"""Estimate the figures of the vignettes, from pairs or a panel, and count what guards against misreading them."""

from collections.abc import Iterator, Sequence

from equipoise.core import jsonl
from equipoise.core.keys import unnumbered
from equipoise.core.prompts import Response
from equipoise.figures import guards
from equipoise.figures.guards import UNDUE, Guard, agreement_guard, answer_guards, tested, unscored_guard
from equipoise.figures.result import Counts, Finding, StudyResult
from equipoise.figures.skew import stereotype_skew
from equipoise.judge.rating.labelled import FOLDER, read_labels
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import require_same_keys
from equipoise.materials.versions import ASKED, CaseKey
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.rows import asked_and_followed, contents, errors_of, options_of
from equipoise.pipeline.run import Run
from equipoise.studies.vignettes.awareness import awareness_effects, awareness_guard, load_awareness, notice
from equipoise.studies.vignettes.effects import vignette_effects, vignette_findings
from equipoise.studies.vignettes.panel_effects import panel_vignette_effects
from equipoise.studies.vignettes.profiles import Build
from equipoise.studies.vignettes.reread import follow_ups
from equipoise.studies.vignettes.study import STUDY


def measure(run: Run) -> StudyResult:
    """Estimate the stereotype shift, the rates of differential and of silent bias, and the noise floor, or a panel."""
    prompts, responses = asked_and_followed(run, follow_ups)
    vignettes, judgements = list(run.rows("vignettes", Vignette)), jsonl.read(run.judgements, Judgement)
    read = [row.key for row in responses if CaseKey.parse(row.key).rereading not in ASKED]
    require_same_keys("response", read, "judgement", (row.key for row in judgements))
    own, options = run.settings.section("build", Build), options_of(run)
    findings: list[Finding] = []
    stories = {row.key: row.presentation for row in vignettes}
    noticed = notice(jsonl.each(run.responses, Response), stories, load_awareness(run.data))
    if own.design == "panel":
        effects = panel_vignette_effects(judgements, options)
    else:
        wordings = 1 + len(own.wordings)
        labels = read_labels(run.data / FOLDER, run.responses, (row.key for row in judgements))
        effects = vignette_effects(vignettes, judgements, options, errors_of(run), wordings, labels)
        effects += awareness_effects(noticed, own.cue, wordings, options.alpha)
        findings = vignette_findings(vignettes, judgements, options.alpha, wordings)
    written = [response for response in responses if not CaseKey.parse(response.key).rereading]
    presentations = {row.key: row.presentation for row in (*vignettes, *run.rows("tellings", Vignette))}
    arms = [judgement for judgement in judgements if CaseKey.parse(judgement.key).is_arm]
    return StudyResult(
        study=run.study,
        effects=sorted(effects, key=lambda row: row.key),
        findings=findings,
        guards=[
            *guards.reply_guards(STUDY, written, contents(prompts), presentations),
            *written_guards(arms),
            boilerplate_guard(arms),
            admission_guard(arms),
            awareness_guard(noticed),
            diagnosis_skew(vignettes, arms),
        ],
        counts=Counts.of(responses, **diagnoses_read(arms)),
    )


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
