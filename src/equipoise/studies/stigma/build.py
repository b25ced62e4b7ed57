"""Write the prompts of the stigma sentences; the masked scorer reads the sentences and has no prompts."""

from equipoise.core import jsonl
from equipoise.pipeline.phantoms import tell
from equipoise.pipeline.run import Run
from equipoise.studies.stigma.causal import sentence_prompts
from equipoise.studies.stigma.facts import facts
from equipoise.studies.stigma.library import load_library as load_sentences
from equipoise.studies.stigma.rows import Filling


def build(run: Run) -> None:
    """Write the prompts of the stigma sentences; the masked scorer reads the sentences and has no prompts."""
    settings = run.settings.section("fill", Filling)
    sentences = load_sentences(run.data / "sentences")
    jsonl.write(run.built("prompts"), sentence_prompts(sentences, settings) if settings.scorer == "causal" else [])
    tell(run, facts)
