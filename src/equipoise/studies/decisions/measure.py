"""Estimate how far decisions move towards what is documented of the patient's group; or those about a panel."""

from collections.abc import Iterator

from equipoise.core import jsonl
from equipoise.figures import guards
from equipoise.figures.effects import Effect
from equipoise.figures.guards import run_effects
from equipoise.materials.pairs import require_same_keys
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.rows import asked_and_followed, contents, options_of
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.asked import Asked as Decided
from equipoise.studies.decisions.asked import Reading, is_decision
from equipoise.studies.decisions.effects import decision_effects
from equipoise.studies.decisions.followed import followed
from equipoise.studies.decisions.panel_effects import panel_decision_effects
from equipoise.studies.vignettes.panel import Telling
from equipoise.studies.vignettes.profiles import Build


def measure(run: Run) -> Iterator[Effect]:
    """Estimate how far decisions move towards what is documented of the patient's group; or those about a panel."""
    prompts, responses = asked_and_followed(run, followed)
    readings = jsonl.read(run.judgements, Reading)
    of_decisions = (one.key for one in responses if is_decision(one.key))
    require_same_keys("response", of_decisions, "judgement", (one.key for one in readings))
    panel = run.settings.section("build", Build).design == "panel"
    effects = panel_decision_effects if panel else decision_effects
    yield from effects(list(run.rows("decisions", Decided)), readings, options_of(run))
    told = (one for name in ("vignettes", "tellings") for one in run.rows(name, Vignette))
    written = [one for one in responses if not is_decision(one.key)]
    presentations = {vignette.key: vignette.presentation for vignette in told}
    presentations |= {telling.key: telling.story for telling in jsonl.each(run.built("imported"), Telling)}
    chosen = guards.unread(one.chosen or None for one in readings)
    found = [*guards.reply_guards(run.study, written, contents(prompts), presentations), chosen]
    yield from guards.guard_effects(run.study, found)
    yield from run_effects(run.study, responses, {"unparsed": chosen.wrong})
