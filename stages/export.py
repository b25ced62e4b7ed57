"""Make the chosen model ready to be asked, its weights a graph in .cache/ checked against torch, and describe it."""

from pathlib import Path

from equipoise.core import cache, params, records, stage
from equipoise.models import registry
from equipoise.models.export import load_probes, prepare


def main(questions: Path, manifest: Path) -> None:
    """Read the probe QUESTIONS; write the MANIFEST of the model."""
    name = params.load().model
    entry = registry.load_entry(name, Path())
    made = prepare(name, entry, cache.root(), cache.folder() / "models", load_probes(questions))
    for path in (manifest, cache.folder() / "models" / f"{name}.json"):
        records.write_json(path, made.written())


if __name__ == "__main__":
    stage.run(main)
