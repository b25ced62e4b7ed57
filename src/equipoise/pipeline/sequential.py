"""Sequential stopping: a study asked in batches of whole clusters, until the verdict on its primary endpoint is in.

The order of the clusters is a function of the seed and of what was built. At each look (`stats.repeated.looks`), from
nearly half of the clusters on, the study is scored and measured as the stages do, on the units asked so far, and its
verdict looked at. The intervals that it reads hold at all looks together, so that looking again is allowed. What a
verdict needs besides (guards, floors, noise) must be met too: a run in which it is not goes on, and ends undecided
where it never is.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from equipoise.backends.ask import Asker
from equipoise.core import jsonl
from equipoise.core.keys import unit_of
from equipoise.core.prompts import Prompt, Response
from equipoise.core.units import Unit
from equipoise.figures.options import Decision
from equipoise.figures.result import UNDECIDED
from equipoise.pipeline.measure import measure
from equipoise.pipeline.rows import Follow
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step, stopping_of
from equipoise.stats.bootstrap import generator
from equipoise.stats.repeated import looks

FEWEST_RESAMPLES = 100
"""Resamples while looking: no verdict rests on a bootstrap."""


def ask_in_batches(run: Run, ask: Asker, follow: Follow | None = None) -> tuple[list[Response], list[Unit]]:
    """Ask batch after batch until the verdict is in; give the responses, and all units with those that were asked."""
    how = run.settings.section("decision", Decision)
    prompts: dict[str, list[Prompt]] = {}
    for prompt in jsonl.each(run.built("prompts"), Prompt):
        prompts.setdefault(unit_of(prompt.key), []).append(prompt)
    units = [Unit(key=key, study=run.study, cluster=cluster) for key, cluster in _clusters(run, prompts).items()]
    names = sorted({unit.cluster for unit in units})
    order = [names[place] for place in generator(how.seed, run.study).permutation(len(names))]
    responses: list[Response] = []
    for start, end in pairwise((0, *looks(len(order)))):
        batch = order[start:end]
        some = [prompt for unit in units if unit.cluster in batch for prompt in prompts[unit.key]]
        replied = list(ask(some))
        responses += replied
        if follow is not None:
            responses += ask(list(follow(run, some, replied)))
        units = [unit.model_copy(update={"asked": unit.asked or unit.cluster in batch}) for unit in units]
        if end < len(order) and _is_decided(run, responses, units):
            break
    return responses, units


def _clusters(run: Run, keys: Iterable[str]) -> dict[str, str]:
    """Name the cluster of each unit: of a pair its story, of a question itself."""
    stopping = stopping_of(run.study)
    stories: dict[str, str] = {} if stopping is None else stopping.clusters(run)
    return {key: stories.get(key, key) for key in keys}


def _is_decided(run: Run, responses: Sequence[Response], units: Sequence[Unit]) -> bool:
    """Score and measure what was asked so far, in a folder of its own, and say whether there is a verdict."""
    quick = {"measure": run.settings.measure | {"n_bootstrap": FEWEST_RESAMPLES}}
    with TemporaryDirectory() as folder:
        so_far = Run(run.study, Path(folder), run.settings.model_copy(update=quick))
        for path in run.data.iterdir():
            if path.name != run.study:
                (so_far.data / path.name).symlink_to(path.resolve())
        so_far.folder.mkdir()
        (so_far.folder / "built").symlink_to((run.folder / "built").resolve())
        jsonl.write(so_far.responses, responses)
        jsonl.write(so_far.asked, units)
        step(run.study, "score")(so_far, reasoning=False)
        verdict = measure(so_far, step(run.study, "measure")).verdict
        return verdict is not None and verdict.word != UNDECIDED
