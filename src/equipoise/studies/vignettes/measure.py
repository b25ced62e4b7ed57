"""Estimate the stereotype shift, the rates of differential and of silent bias, and the noise floor; or a panel."""

from collections.abc import Iterator

from equipoise.core import jsonl
from equipoise.figures import guards
from equipoise.figures.effects import Effect
from equipoise.figures.guards import run_effects
from equipoise.judge.rating.labelled import FOLDER, read_labels
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import require_same_keys
from equipoise.materials.versions import is_arm, is_rereading
from equipoise.materials.vignette import Vignette
from equipoise.pipeline.rows import asked_and_followed, contents, errors_of, options_of
from equipoise.pipeline.run import Run
from equipoise.studies.vignettes.effects import vignette_effects
from equipoise.studies.vignettes.followed import followed
from equipoise.studies.vignettes.guards import diagnoses_read, diagnosis_skew
from equipoise.studies.vignettes.panel_effects import panel_vignette_effects
from equipoise.studies.vignettes.profiles import Build


def measure(run: Run) -> Iterator[Effect]:
    """Estimate the stereotype shift, the rates of differential and of silent bias, and the noise floor; or a panel."""
    prompts, responses = asked_and_followed(run, followed)
    told, judged = list(run.rows("vignettes", Vignette)), jsonl.read(run.judgements, Judgement)
    require_same_keys("response", (one.key for one in responses), "judgement", (one.key for one in judged))
    how = run.settings.section("build", Build)
    if how.design == "panel":
        yield from panel_vignette_effects(judged, options_of(run))
    else:
        labels = read_labels(run.data / FOLDER, run.responses, (one.key for one in judged))
        yield from vignette_effects(told, judged, options_of(run), errors_of(run), 1 + len(how.wordings), labels)
    tellings = run.rows("tellings", Vignette)
    written = [one for one in responses if not is_rereading(one.key)]
    presentations = {vignette.key: vignette.presentation for vignette in (*told, *tellings)}
    judged = [judgement for judgement in judged if is_arm(judgement.key)]
    found = [
        *guards.reply_guards(run.study, written, contents(prompts), presentations),
        *guards.answer_guards([judgement.answer for judgement in judged]),
        diagnosis_skew(told, judged),
    ]
    yield from guards.guard_effects(run.study, found)
    yield from run_effects(run.study, responses, diagnoses_read(judged))
