"""Sequential stopping: a study is asked in batches of whole clusters until its primary endpoint is decided.

The order of the clusters depends on the seed and on what was built. At each look (`stats.repeated.looks`), the first of
them at nearly half of the clusters, the units asked so far are scored and measured as by the stages. The verdict's
intervals are valid at all looks together, so that repeated looks are allowed. Its other preconditions (guards, floors,
noise) must be met too; a run that never meets them ends undecided.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from equipoise.backends.ask import Asker
from equipoise.core import jsonl
from equipoise.core.keys import grouped, unit_of
from equipoise.core.prompts import Prompt, Response
from equipoise.core.units import Unit
from equipoise.figures.options import Decision
from equipoise.figures.result import UNDECIDED
from equipoise.pipeline.measure import FEWEST_RESAMPLES, measure
from equipoise.pipeline.rows import Follow
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step, stopping_of
from equipoise.stats.bootstrap import generator
from equipoise.stats.repeated import looks


def ask_in_batches(run: Run, ask: Asker, follow: Follow | None = None) -> tuple[list[Response], list[Unit]]:
    """Ask in batches until the study is decided; return the responses, and all units, marking those asked."""
    how = run.settings.section("decision", Decision)
    prompts = grouped((unit_of(prompt.key), prompt) for prompt in jsonl.each(run.built("prompts"), Prompt))
    units = [Unit(key=key, study=run.study, cluster=cluster) for key, cluster in _clusters(run, prompts).items()]
    names = sorted({unit.cluster for unit in units})
    order = [names[place] for place in generator(how.seed, run.study).permutation(len(names))]
    responses: list[Response] = []
    for start, end in pairwise((0, *looks(len(order)))):
        batch = order[start:end]
        chosen = [prompt for unit in units if unit.cluster in batch for prompt in prompts[unit.key]]
        replied = list(ask(chosen))
        responses += replied
        if follow is not None:
            responses += ask(list(follow(run, chosen, replied)))
        units = [unit.model_copy(update={"asked": unit.asked or unit.cluster in batch}) for unit in units]
        if end < len(order) and _is_decided(run, responses, units):
            break
    return responses, units


def _clusters(run: Run, keys: Iterable[str]) -> dict[str, str]:
    """Name the cluster of each unit: a pair's story, or a question itself."""
    stopping = stopping_of(run.study)
    stories: dict[str, str] = {} if stopping is None else stopping.clusters(run)
    return {key: stories.get(key, key) for key in keys}


def _is_decided(run: Run, responses: Sequence[Response], units: Sequence[Unit]) -> bool:
    """Score and measure the units asked so far, in a temporary folder, to see whether the study is decided."""
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
