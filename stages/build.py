"""Compose the paired vignettes of the chosen profile and the prompts that ask about them."""

from pathlib import Path

from rich.console import Console

from equipoise import vignettes
from equipoise.core import params, records, stage
from equipoise.vignettes.prompts import Build, vignette_prompt


def main(raw: Path, cases: Path, prompts: Path) -> None:
    """Read the authored library in RAW; write the CASES, one arm of a pair a row, and their PROMPTS."""
    settings = params.load().section("build", Build)
    rows = vignettes.build(vignettes.load_library(raw), settings.profile)
    records.write(cases, rows)
    records.write(prompts, [vignette_prompt(row, settings) for row in rows])
    with stage.aside():
        Console().print(vignettes.counts_table(vignettes.counts(rows)))


if __name__ == "__main__":
    stage.run(main)
