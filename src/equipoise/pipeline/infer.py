"""Ask the model under test every prompt of a study, through the cache."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from equipoise.backends.ask import Asker, asker
from equipoise.backends.base import Infer
from equipoise.backends.phantom import BANK, Fact, PhantomBackend
from equipoise.core import cache, jsonl
from equipoise.core.pace import Clock
from equipoise.core.prompts import Prompt
from equipoise.figures.options import Decision
from equipoise.models.registry import PhantomEntry
from equipoise.pipeline.rows import Follow
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import SEQUENTIAL, stopping_of


def answer(run: Run, *, follow: Follow | None = None, batch_size: int | None = None) -> None:
    """Write a response for each prompt of the study, and for those that `follow` from the replies.

    A study that stops early has responses to the units asked until then, and a file that lists them. `batch_size`
    defaults to that of params.yaml.
    """
    with ExitStack() as opened, asking(run, opened, batch_size) as ask:
        if is_stopped_early(run):
            responses, units = import_module(SEQUENTIAL).ask_in_batches(run, ask, follow)
            jsonl.write(run.responses, responses)
            jsonl.write(run.asked, units)
            return
        jsonl.write(run.asked, [])
        prompts = jsonl.Rows(run.built("prompts"), Prompt)
        if follow is None:
            jsonl.write(run.responses, ask(prompts))
        else:
            responses = list(ask(prompts))
            jsonl.write(run.responses, chain(responses, ask(list(follow(run, list(prompts), responses)))))


def is_stopped_early(run: Run) -> bool:
    """Whether a study stops once it has a verdict: `decision.sequential` asks for it, and the study supports it."""
    decision = run.settings.section("decision", Decision)
    endpoint = decision.endpoints.get(run.study)
    if not decision.sequential or endpoint is None or endpoint.margin is None:
        return False
    stopping = stopping_of(run.study)
    return stopping is not None and bool(stopping.can_stop(run))


@contextmanager
def asking(run: Run, opened: ExitStack | None = None, batch_size: int | None = None) -> Iterator[Asker]:
    """Open what answers the prompts of a study: the model through the cache, or a phantom without it.

    `opened` keeps the model open from one call to the next.
    """
    entry = run.entry
    if isinstance(entry, PhantomEntry):
        yield PhantomBackend(entry, jsonl.read(run.built("facts"), Fact), run.data / BANK).answer
        return
    how = run.settings.section("infer", Infer)
    with cache.ResponseCache.open() as kept:
        clock = Clock(run.study, run.manifest, run.progress)
        shared: dict[str, Any] = {"progress": clock.moved, "cluster": how.cluster}
        size = how.batch_size if batch_size is None else batch_size
        yield clock.timed(asker(run.manifest, Path(), kept, opened=opened, batch_size=size, **shared))
