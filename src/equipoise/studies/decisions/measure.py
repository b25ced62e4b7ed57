"""Estimate how far decisions move towards what is documented about the patient's group; or those about a panel."""

from equipoise.core import jsonl
from equipoise.figures import guards
from equipoise.figures.result import Counts, StudyResult
from equipoise.materials.pairs import require_same_keys
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.rows import asked_and_followed, contents, options_of
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.components import component_effects, written_guards
from equipoise.studies.decisions.effects import decision_effects, pair_readings
from equipoise.studies.decisions.panel_effects import panel_decision_effects
from equipoise.studies.decisions.prompts import follow_ups
from equipoise.studies.decisions.rows import CaseDecision, Reading, is_decision
from equipoise.studies.decisions.study import STUDY
from equipoise.studies.vignettes.panel import StoryVersion
from equipoise.studies.vignettes.profiles import Build


def measure(run: Run) -> StudyResult:
    """Estimate how far decisions move towards what is documented about the patient's group; or those about a panel."""
    prompts, responses = asked_and_followed(run, follow_ups)
    readings = jsonl.read(run.judgements, Reading)
    about_decisions = (response.key for response in responses if is_decision(response.key))
    require_same_keys("response", about_decisions, "judgement", (reading.key for reading in readings))
    decisions, options = list(run.rows("decisions", CaseDecision)), options_of(run)
    if run.settings.section("build", Build).design == "panel":
        effects = panel_decision_effects(decisions, readings, options)
    else:
        effects = decision_effects(decisions, readings, options)
        effects += component_effects(pair_readings(decisions, readings), options)
    # Decisions are a few words each, which many patients share.
    replies = [response for response in responses if not is_decision(response.key)]
    return StudyResult(
        study=run.study,
        effects=effects,
        guards=[
            *guards.reply_guards(STUDY, replies, contents(prompts), _presentations(run)),
            *written_guards(readings),
        ],
        counts=Counts.of(
            responses,
            unparsed=sum(not reading.chosen for reading in readings),
            refusals=sum(reading.refused for reading in readings),
        ),
    )


def _presentations(run: Run) -> dict[str, str]:
    vignettes = (row for name in ("vignettes", "tellings") for row in run.rows(name, Vignette))
    presentations = {vignette.key: vignette.presentation for vignette in vignettes}
    return presentations | {case.key: case.story for case in jsonl.each(run.built("imported"), StoryVersion)}
