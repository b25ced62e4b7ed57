"""Compute the probabilities of female, male and other subjects of each sentence."""

from pathlib import Path

from equipoise.core import jsonl
from equipoise.pipeline.rows import responses_of
from equipoise.pipeline.run import Run
from equipoise.studies.stigma.causal import causal_fills
from equipoise.studies.stigma.library import load_library
from equipoise.studies.stigma.rows import Filling


def score(run: Run) -> None:
    """Compute the probabilities of female, male and other subjects of each sentence."""
    settings, sentences = run.settings.section("fill", Filling), load_library(run.data / "sentences")
    if settings.scorer == "masked":
        from equipoise.studies.stigma.masked import masked_fills

        jsonl.write(run.judgements, masked_fills(sentences, settings, Path(), progress=run.progress))
    else:
        jsonl.write(run.judgements, causal_fills(sentences, responses_of(run), settings))
