"""Estimate every figure with its interval and test, and write the small metrics files that a reviewer compares."""

from pathlib import Path

from equipoise import params, records, stage
from equipoise.adversarial.rows import Attempt, Variant
from equipoise.metrics.adversarial import AdversarialOptions, adversarial_effects
from equipoise.metrics.adversarial_summary import adversarial_metrics
from equipoise.metrics.answered import tabulate
from equipoise.metrics.run import run_metrics
from equipoise.metrics.silent import SilentBiasOptions, silent_bias_effects
from equipoise.metrics.summary import silent_bias_metrics
from equipoise.questions import letters_of


def main(
    cases: Path, judgements: Path, variants: Path, attempts: Path, responses: Path, out: Path, folder: Path
) -> None:
    """Read CASES with JUDGEMENTS, VARIANTS with ATTEMPTS, and RESPONSES; write effects OUT and metrics into FOLDER."""
    options = params.load().section("measure", SilentBiasOptions)
    judged, answered = records.read(judgements, records.Judgement), records.read(responses, records.Response)
    silent = silent_bias_effects(records.read(cases, records.Vignette), judged, options)
    texts = records.read(variants, Variant)
    letters = letters_of(answered, texts)
    shared = AdversarialOptions(alpha=options.alpha, power=options.power)
    adversarial = adversarial_effects(tabulate(texts, letters), shared, records.read(attempts, Attempt))
    records.write(out, [*silent, *adversarial])
    records.write_json(folder / "silent_bias.json", silent_bias_metrics(silent))
    records.write_json(folder / "adversarial.json", adversarial_metrics(adversarial))
    records.write_json(folder / "run.json", run_metrics(answered, judged, letters))


if __name__ == "__main__":
    stage.run(main)
