"""Tests of the check that comes before any work."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise import params
from equipoise.errors import EquipoiseError
from equipoise.soundness import require_sound

ROOT = Path(__file__).parents[1]
SETTINGS = params.load(ROOT / "params.yaml")


def test_the_settings_that_ship_are_sound() -> None:
    """params.yaml passes as it stands."""
    require_sound(SETTINGS, ROOT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "smolm2"}, r"models: no entry 'smolm2': did you mean 'smollm2'\?"),
        ({"judge": "minilm"}, r"models/judges: no entry 'minilm': did you mean 'minilm_nli'\?"),
        ({"items": "amqb"}, r"amqb\.jsonl: no such items: run `equipoise import amqa"),
        ({"measure": {"alpha": 2}}, r"params\.yaml, section measure: field alpha"),
        ({"perturb": {"generator": "replay"}}, r"section perturb: .*replay names no file"),
    ],
)
def test_what_cannot_work_is_named(change: dict[str, object], message: str) -> None:
    """A name that is not there, or a value out of range, is refused with the mend."""
    with pytest.raises(EquipoiseError, match=message):
        require_sound(SETTINGS.model_copy(update=change), ROOT)
