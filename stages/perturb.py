"""Give every neutral question its variants, by generation, fusion and evaluation in up to three attempts."""

from pathlib import Path

from equipoise.backends import asking
from equipoise.backends.infer import Infer
from equipoise.core import cache, params, records, stage
from equipoise.models import registry
from equipoise.questions import asked as questions
from equipoise.questions.rows import Neutralised
from equipoise.questions.variants.agents import Perturb
from equipoise.questions.variants.loop import complete, perturb
from equipoise.questions.variants.models import choose_agents
from equipoise.questions.variants.templates import load_templates
from equipoise.questions.variants.validators import load_clinical


def main(items: Path, manifest: Path, clinical: Path, variants: Path, attempts: Path, asked: Path) -> None:
    """Read the neutral ITEMS, the MANIFEST and CLINICAL terms; write VARIANTS, ATTEMPTS and the prompts ASKED."""
    settings = params.load()
    chosen, how = settings.section("perturb", Perturb), settings.section("infer", Infer)
    templates = load_templates(chosen.templates)
    kept = [row for row in records.read(items, Neutralised) if row.excluded is None]
    kept = kept if registry.answers(registry.load_entry(settings.model, Path()), "adversarial") else []
    with cache.ResponseCache.open() as answers, stage.progress("perturb") as progress:
        ready = {"batch_size": how.batch_size, "cluster": how.cluster, "progress": progress}
        ready |= {"root": Path(), "kept": answers}
        ask = asking.asker(records.read_one(manifest, records.Manifest), **ready)
        write, fuse = choose_agents(chosen, templates, lambda name, tokens: asking.agent(name, tokens=tokens, **ready))
        made = perturb(
            kept,
            design=chosen.design,
            generate=write,
            fuse=fuse,
            evaluate=questions.evaluator(kept, templates.evaluation, chosen.answering, ask),
            clinical=load_clinical(clinical),
            attempts=chosen.attempts,
        )
    rows = complete(made)
    records.write(variants, rows)
    records.write(attempts, made.attempts)
    records.write(asked, questions.question_prompts(rows, kept, templates.evaluation, chosen.answering))


if __name__ == "__main__":
    stage.run(main)
