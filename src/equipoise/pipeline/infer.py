"""The step `infer`: every prompt of a study answered by the model under test, through the cache."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from equipoise.backends.ask import Asker, asker
from equipoise.backends.base import Infer
from equipoise.backends.phantom import BANK, Fact, PhantomBackend
from equipoise.backends.replay import saved_cases
from equipoise.core import cache, jsonl
from equipoise.core.prompts import Prompt
from equipoise.models.registry import PhantomEntry
from equipoise.pipeline.followed import FOLLOWED, followed
from equipoise.pipeline.run import Run
from equipoise.pipeline.stopping import is_stopped_early, sequential
from equipoise.studies.stigma.rows import Filling


def infer(run: Run) -> None:
    """Write a response for each prompt of the study; saved outputs to cases are taken over as they are.

    A study that stops when its verdict is in has responses to what was asked until then, and says what that is.
    """
    if run.study == "cases":
        _, outputs = saved_cases(run.settings.model, run.entry, cache.root())
        jsonl.write(run.responses, outputs)
        jsonl.write(run.asked, [])
        return
    with ExitStack() as opened, asking(run, opened) as ask:
        if is_stopped_early(run):
            responses, units = sequential().ask_in_batches(run, ask)
            jsonl.write(run.responses, responses)
            jsonl.write(run.asked, units)
            return
        jsonl.write(run.asked, [])
        prompts = jsonl.read(run.built("prompts"), Prompt)
        if run.study in FOLLOWED:
            responses = list(ask(prompts))
            jsonl.write(run.responses, chain(responses, ask(list(followed(run, prompts, responses)))))
        else:
            jsonl.write(run.responses, ask(prompts))


@contextmanager
def asking(run: Run, opened: ExitStack | None = None) -> Iterator[Asker]:
    """Give what answers the prompts of a study: the model through the cache, or a phantom, which has no need of one.

    `opened` keeps the model open from one call to the next.
    """
    entry = run.entry
    if isinstance(entry, PhantomEntry):
        yield PhantomBackend(entry, jsonl.read(run.built("facts"), Fact), run.data / BANK).answer
        return
    how = run.settings.section("infer", Infer)
    size = run.settings.section("fill", Filling).batch_size if run.study == "stigma" else how.batch_size
    with cache.ResponseCache.open() as kept:
        shared: dict[str, Any] = {"batch_size": size, "progress": run.progress, "cluster": how.cluster}
        yield asker(run.manifest, Path(), kept, opened=opened, **shared)
