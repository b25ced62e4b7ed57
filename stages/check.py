"""Refuse a setting, a model or a judge that cannot work, before any work is done; list what other stages depend on."""

from pathlib import Path

from equipoise.core import jsonl, params, stage
from equipoise.models import environment
from equipoise.pipeline import check, depends, steps
from equipoise.studies.registry import STUDIES


def main(stages: Path, data: Path) -> None:
    """Read params.yaml, the registry and STAGES; write below DATA what the other stages depend on.

    `checked.json`, `environment.json`, `code/` with a list of code and inputs for each stage and study, `settings/`
    with the settings that each reads, and `followed/` with links to the files of the user's own that settings name.
    """
    settings = params.load()
    chosen = check.require_sound(settings, STUDIES, Path())
    # The same for all sound settings, so that a changed setting reruns only the stages that read it; for a server, with
    # the likelihoods that it gives.
    offer = check.offer_of(settings, Path())
    jsonl.write_json(
        data / environment.CHECKED, environment.Checked(likelihoods=offer.written() if offer else {}).written()
    )
    jsonl.write_json(data / environment.FILE, environment.Environment.of_project(Path()).model_dump(mode="json"))
    listings, sections = data / "code", data / "settings"
    for name, reads in depends.of_run(settings, chosen, stages).items():
        jsonl.write_text(listings / f"{name}.txt", reads)
    for study in chosen:
        for name in steps.STAGES:
            jsonl.write_text(listings / name / f"{study.name}.txt", depends.listing(name, study, settings, stages))
        for name in depends.SETTINGS:
            jsonl.write_json(sections / name / f"{study.name}.json", depends.own_settings(name, study, settings))
    depends.link_followed(settings, chosen, data / "followed")


if __name__ == "__main__":
    stage.run(main)
