"""Ask the chosen model every prompt."""

from pathlib import Path

from equipoise import asking, cache, params, records, stage
from equipoise.infer import Infer


def main(manifest: Path, responses: Path, prompts: list[Path]) -> None:
    """Read the model's MANIFEST and the PROMPTS of every study; write one of the RESPONSES for each prompt."""
    batch_size = params.load().section("infer", Infer).batch_size
    rows = [row for path in prompts for row in records.read(path, records.Prompt)]
    with cache.ResponseCache.open() as kept, stage.progress("infer") as progress:
        made = records.read_one(manifest, records.Manifest)
        ask = asking.asker(made, Path(), kept, batch_size=batch_size, progress=progress)
        records.write(responses, ask(rows))


if __name__ == "__main__":
    stage.run(main)
