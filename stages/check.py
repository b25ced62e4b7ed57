"""Refuse a setting, a model or a judge that cannot work, before any work is done; list what other stages depend on."""

from pathlib import Path

from equipoise.core import code, jsonl, params, stage
from equipoise.core.catalogue import CATALOGUE
from equipoise.pipeline import check, stopping


def main(stages: Path, checked: Path, listings: Path, sections: Path) -> None:
    """Read params.yaml, the registry and STAGES; write CHECKED, and what the other stages depend on.

    LISTINGS has a file for each of them, which lists its code; SECTIONS one for each study, its own settings.
    """
    settings = params.load()
    check.require_sound(settings, Path())
    # The same for all sound settings, so that a changed setting reruns only the stages that read it.
    jsonl.write_json(checked, {"sound": True})
    for script in sorted({*stages.glob("*.py")} - {stages / "check.py"}):
        more = stopping.depends_on(settings, Path()) if script.stem == "infer" else ""
        listed = [*code.closure(script, Path()), *code.read_by(stages, script.stem, Path())]
        jsonl.write_text(listings / f"{script.stem}.txt", code.listing(listed, Path()) + more)
    for study in settings.studies:
        chosen = {name: getattr(settings, name) for name in CATALOGUE[study].sections}
        jsonl.write_json(sections / f"{study}.json", chosen)


if __name__ == "__main__":
    stage.run(main)
