"""Refuse a setting, a model or a judge that cannot work, before any work is done."""

from pathlib import Path

from equipoise import params, records, registry, stage
from equipoise.infer import Infer
from equipoise.judge.registry import load_entry as load_judge_entry
from equipoise.metrics.silent import SilentBiasOptions
from equipoise.prompts import Build
from equipoise.score import Score

SECTIONS = {"build": Build, "infer": Infer, "score": Score, "measure": SilentBiasOptions}


def main(checked: Path) -> None:
    """Read params.yaml and the registry; write CHECKED, which every other stage waits for."""
    settings = params.load()
    for name, kind in SECTIONS.items():
        settings.section(name, kind)
    registry.load_entry(settings.model, Path())
    load_judge_entry(settings.judge, Path())
    # The same for all sound settings, so that a changed setting runs again only the stages that read it.
    records.write_json(checked, {"sound": True})


if __name__ == "__main__":
    stage.run(main)
