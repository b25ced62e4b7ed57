"""Ask the chosen model every prompt of the studies that it answers; take its saved outputs to cases, if it has any."""

from itertools import chain
from pathlib import Path

from equipoise.backends import asking
from equipoise.backends.infer import Infer
from equipoise.backends.replay import saved_cases
from equipoise.core import cache, params, records, stage
from equipoise.models import registry


def main(manifest: Path, responses: Path, cases: Path, prompts: list[Path]) -> None:
    """Read the model's MANIFEST and the PROMPTS; write a row of RESPONSES for each, and the CASES of saved outputs."""
    how = params.load().section("infer", Infer)
    made = records.read_one(manifest, records.Manifest)
    entry = registry.load_entry(made.model, Path())
    rows = [row for path in prompts for row in records.read(path, records.Prompt)]
    asked, outputs = saved_cases(made.model, entry, cache.root())
    with cache.ResponseCache.open() as kept, stage.progress("infer") as progress:
        ask = asking.asker(made, Path(), kept, batch_size=how.batch_size, progress=progress, cluster=how.cluster)
        answered = ask([row for row in rows if registry.answers(entry, row.study)])
        records.write(responses, chain(answered, outputs))
    records.write_text(cases, asked)


if __name__ == "__main__":
    stage.run(main)
