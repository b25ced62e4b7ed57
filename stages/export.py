"""Make the chosen model ready to be asked, its weights a graph in .cache/ checked against torch, and describe it."""

from functools import partial
from pathlib import Path

from rich.console import Console

from equipoise.core import cache, jsonl, params, stage
from equipoise.models import hub, registry
from equipoise.models.environment import CHECKED, Checked, require_recorded
from equipoise.models.export import load_probes, prepare


def main(questions: Path, manifest: Path) -> None:
    """Read the probe QUESTIONS; write the MANIFEST of the model."""
    require_recorded(manifest.parent)
    name = params.load().model
    store = cache.folder() / "models"
    tell = partial(Console().print, highlight=False, markup=False, soft_wrap=True)
    entry = hub.resolve_commit(name, registry.load_entry(name, Path()), store, tell)
    made = prepare(name, entry, cache.root(), store, load_probes(questions))
    checked = jsonl.read_one(manifest.with_name(CHECKED), Checked)
    made = made.model_copy(update={"likelihoods": checked.likelihoods})
    jsonl.write_json(store / f"{name}.json", made.written())
    jsonl.write_json(manifest, made.tracked())


if __name__ == "__main__":
    stage.run(main)
