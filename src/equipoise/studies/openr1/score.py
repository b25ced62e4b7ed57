"""Compare the replies to both arms of every message with each other and with the gold answer."""

from pathlib import Path

from equipoise.core import jsonl
from equipoise.judge.located import cached_probabilities
from equipoise.pipeline.rows import cluster_of, responses_of
from equipoise.pipeline.run import Run
from equipoise.studies.openr1 import agree
from equipoise.studies.openr1.rows import Comparison, Message


def score(run: Run) -> None:
    """Compare the replies to both arms of every message with each other and with the gold answer."""
    settings = run.settings.section("agree", Comparison)
    messages = run.built("messages")
    with cached_probabilities(settings.judge, Path(), "inference", cluster_of(run)) as judge:
        rows = agree.agreements(
            jsonl.read(messages, Message),
            responses_of(run),
            judge,
            threshold=settings.threshold,
            form=run.entry.reasoning,
            progress=run.progress,
            where=str(messages),
        )
    jsonl.write(run.judgements, rows)
