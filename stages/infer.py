"""Ask the chosen model every prompt."""

from pathlib import Path

from equipoise import cache, params, records, registry, stage
from equipoise.backends.load import open_backend
from equipoise.infer import Infer, answer_all


def main(prompts: Path, manifest: Path, responses: Path) -> None:
    """Read the PROMPTS and the model's MANIFEST; write one of the RESPONSES for each prompt."""
    settings = params.load()
    batch_size = settings.section("infer", Infer).batch_size
    entry = registry.load_entry(settings.model, Path())
    made = records.read_one(manifest, records.Manifest)
    with cache.ResponseCache.open() as kept, stage.progress("infer") as progress:
        rows = answer_all(
            records.read(prompts, records.Prompt),
            manifest=made,
            generation=entry.generation,
            cache=kept,
            open_backend=lambda: open_backend(made, entry, cache.folder() / "models", batch_size=batch_size),
            progress=progress,
        )
    records.write(responses, rows)


if __name__ == "__main__":
    stage.run(main)
