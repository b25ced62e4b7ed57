from pathlib import Path
from typing import Literal

import pytest

from equipoise.core import params
from equipoise.core.errors import EquipoiseError
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step

SETTINGS = params.load(Path(__file__).parents[2] / "params.yaml")


@pytest.mark.parametrize("study", ["questions", "exam"])
def test_a_study_without_questions_is_not_built(study: Literal["questions", "exam"], tmp_path: Path) -> None:
    """An items file without rows is named, in place of a run that measures nothing."""
    (tmp_path / "items").mkdir()
    (tmp_path / "items/authored.jsonl").touch()

    with pytest.raises(EquipoiseError, match=r"items/authored\.jsonl: no rows: import the items again"):
        step(study, "build")(Run(study, tmp_path, SETTINGS))
