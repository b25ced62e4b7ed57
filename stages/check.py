"""Refuse a setting, a model or a judge that cannot work, before any work is done; list the code of each stage."""

from pathlib import Path

from equipoise.core import code, params, records, stage
from equipoise.studies import check, stopping


def main(stages: Path, checked: Path, listings: Path) -> None:
    """Read params.yaml, the registry and STAGES; write CHECKED, and in LISTINGS what code each other stage runs."""
    settings = params.load()
    check.require_sound(settings, Path())
    # The same for all sound settings, so that a changed setting reruns only the stages that read it.
    records.write_json(checked, {"sound": True})
    for script in sorted({*stages.glob("*.py")} - {stages / "check.py"}):
        more = stopping.depends_on(settings, Path()) if script.stem == "infer" else ""
        records.write_text(listings / f"{script.stem}.txt", code.listing(script, Path()) + more)


if __name__ == "__main__":
    stage.run(main)
