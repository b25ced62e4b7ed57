"""Refuse a setting, a model or a judge that cannot work, before any work is done."""

from pathlib import Path

from equipoise.core import params, records, stage
from equipoise.studies import check


def main(checked: Path) -> None:
    """Read params.yaml and the registry; write CHECKED, which every other stage waits for."""
    check.require_sound(params.load(), Path())
    # The same for all sound settings, so that a changed setting reruns only the stages that read it.
    records.write_json(checked, {"sound": True})


if __name__ == "__main__":
    stage.run(main)
