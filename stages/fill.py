"""Fill in the subjects of the stigma sentences: how much probability each gives to female, male and other subjects."""

from pathlib import Path

from equipoise.backends import asking
from equipoise.backends.infer import Infer
from equipoise.core import cache, params, records, stage
from equipoise.models import registry
from equipoise.stigma.causal import causal_fills, sentence_prompts
from equipoise.stigma.library import load_library
from equipoise.stigma.masked import masked_fills
from equipoise.stigma.settings import Filling


def main(stigma: Path, manifest: Path, fills: Path) -> None:
    """Read the sentences in STIGMA and the model's MANIFEST; write the FILLS of either scorer."""
    chosen = params.load()
    settings = chosen.section("fill", Filling)
    library = load_library(stigma)
    made = records.read_one(manifest, records.Manifest)
    answered = registry.answers(registry.load_entry(made.model, Path()), "stigma")
    if settings.scorer == "none" or (settings.scorer == "causal" and not answered):
        records.write(fills, [])
        return
    with stage.progress("fill") as progress:
        if settings.scorer == "masked":
            records.write(fills, masked_fills(library, settings, Path(), progress=progress))
            return
        with cache.ResponseCache.open() as kept:
            cluster, size = chosen.section("infer", Infer).cluster, settings.batch_size
            ask = asking.asker(made, Path(), kept, batch_size=size, progress=progress, cluster=cluster)
            records.write(fills, causal_fills(library, ask(sentence_prompts(library, settings)), settings))


if __name__ == "__main__":
    stage.run(main)
