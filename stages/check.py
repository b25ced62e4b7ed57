"""Refuse a setting, a model or a judge that cannot work, before any work is done; list what other stages depend on."""

from pathlib import Path

from equipoise.core import code, jsonl, params, stage
from equipoise.pipeline import check, steps
from equipoise.studies.registry import STUDIES


def main(stages: Path, checked: Path, listings: Path, sections: Path) -> None:
    """Read params.yaml, the registry and STAGES; write CHECKED, and what the other stages depend on.

    LISTINGS has the code of each stage, a file for each study; SECTIONS one file for each study, its own settings.
    """
    settings = params.load()
    chosen = check.require_sound(settings, STUDIES, Path())
    # The same for all sound settings, so that a changed setting reruns only the stages that read it.
    jsonl.write_json(checked, {"sound": True})
    for name, reads in code.load_reads(stages).items():
        jsonl.write_text(listings / f"{name}.txt", code.listing([stages / f"{name}.py"], reads, Path()))
    for study in chosen:
        for name in steps.STAGES:
            files, more = steps.depends_on(name, study, settings, stages)
            jsonl.write_text(
                listings / f"{name}/{study.name}.txt", code.listing(files, study.reads[name], Path()) + more
            )
        jsonl.write_json(sections / f"{study.name}.json", steps.own_settings(study, settings))


if __name__ == "__main__":
    stage.run(main)
