"""Every study's figures from the rows of a run: the effects, and the metrics files by the names of their stems."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from equipoise.metrics.adversarial import AdversarialOptions, adversarial_effects
from equipoise.metrics.adversarial_summary import adversarial_metrics
from equipoise.metrics.answered import tabulate
from equipoise.metrics.cases import case_metrics
from equipoise.metrics.classification import Resampling
from equipoise.metrics.equity import EquityOptions, equity_effects
from equipoise.metrics.equity_summary import equity_metrics
from equipoise.metrics.guards import guard_metrics, guards
from equipoise.metrics.medmcqa import medmcqa_effects, medmcqa_metrics, score_cities, tabulate_exam
from equipoise.metrics.openr1 import OpenR1Options, openr1_effects
from equipoise.metrics.openr1_summary import openr1_metrics
from equipoise.metrics.run import run_metrics
from equipoise.metrics.silent import SilentBiasOptions, silent_bias_effects
from equipoise.metrics.stigma import StigmaOptions, stigma_effects
from equipoise.metrics.stigma_summary import stigma_metrics
from equipoise.metrics.summary import silent_bias_metrics
from equipoise.questions.asked import EXAM

if TYPE_CHECKING:
    from equipoise.core.records import Effect
    from equipoise.metrics.effects import Nested
    from equipoise.metrics.options import Measure
    from equipoise.metrics.rows import Rows
    from equipoise.stats.misclassification import ErrorCounts


class Figures(NamedTuple):
    """All effects, and by file stem what each metrics file holds."""

    effects: list[Effect]
    metrics: dict[str, Nested]


def figures_of(rows: Rows, options: Measure, errors: ErrorCounts | None = None) -> Figures:
    """Estimate every figure of every study; one that the model did not answer has no figures, and counts of 0.

    `errors` is the judge's measured error, for which the silent bias rate is corrected.
    """
    answered = {response.study for response in rows.responses}
    vignettes = rows.vignettes if "vignettes" in answered else ()
    sampled = rows.sampled if "medmcqa" in answered else ()
    letters = {one.key: one.letter for one in rows.responses if one.study == "adversarial"}
    exam = {one.key.removesuffix(EXAM): one.letter for one in rows.responses if one.study == "medmcqa"}
    table = tabulate(rows.variants, letters)
    weights = {name: city.disease_weights() for name, city in rows.cities.items() if city.diseases}
    resampling = Resampling(alpha=options.alpha, seed=options.seed, n_bootstrap=options.n_bootstrap)
    scores = score_cities(tabulate_exam(sampled, exam), weights, resampling)
    silent = silent_bias_effects(vignettes, rows.judgements, options.part(SilentBiasOptions), errors)
    adversarial = adversarial_effects(table, options.part(AdversarialOptions), rows.attempts)
    equity = equity_effects(table, rows.cities, options.part(EquityOptions))
    stigma = stigma_effects(rows.fills, options.part(StigmaOptions))
    openr1 = openr1_effects(rows.agreements, options.part(OpenR1Options))
    return Figures(
        effects=[*silent, *adversarial, *equity, *medmcqa_effects(scores, options.alpha), *stigma, *openr1],
        metrics={
            "silent_bias": silent_bias_metrics(silent),
            "adversarial": adversarial_metrics(adversarial),
            "equity": equity_metrics(equity),
            "medmcqa": medmcqa_metrics(scores),
            "stigma": stigma_metrics(stigma),
            "openr1": openr1_metrics(openr1),
            "cases": case_metrics(rows.cases, rows.saved, rows.case_judgements, options.alpha, errors),
            "guards": guard_metrics(guards(rows, letters, exam, adversarial), rows.responses),
            "run": run_metrics(rows.responses, rows.judgements, letters, exam),
        },
    )
