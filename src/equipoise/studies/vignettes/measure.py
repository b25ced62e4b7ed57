"""Estimate the figures of the vignettes, from pairs or a panel."""

from equipoise.core import jsonl
from equipoise.core.prompts import Response
from equipoise.figures import guards
from equipoise.figures.result import Counts, Finding, StudyResult
from equipoise.judge.rating.labelled import FOLDER, read_labels
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import require_same_keys
from equipoise.materials.versions import ASKED, CaseKey
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.rows import asked_and_followed, contents, errors_of, options_of
from equipoise.pipeline.run import Run
from equipoise.studies.vignettes.awareness import awareness_effects, awareness_guard, load_awareness, notice
from equipoise.studies.vignettes.effects import vignette_effects, vignette_findings
from equipoise.studies.vignettes.guards import (
    admission_guard,
    boilerplate_guard,
    diagnoses_read,
    diagnosis_skew,
    written_guards,
)
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
