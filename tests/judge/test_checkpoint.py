from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.judge import checkpoint as room
from equipoise.judge.checkpoint import PROBES, exported
from equipoise.judge.export import torch_probabilities
from equipoise.judge.model import load_judge
from equipoise.judge.registry import FOLDER, JudgeEntry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HUB_ORDER = ("contradiction", "entailment", "neutral")


def register(root: Path, folder: Path) -> None:
    """Register a local checkpoint as the judge `tiny`."""
    (root / FOLDER).mkdir(parents=True)
    entry = f"title: Tiny\nlicence: none\nmax_tokens: 64\nsource:\n  kind: local\n  path: {folder}\n"
    (root / FOLDER / "tiny.yaml").write_text(entry, "utf-8")


def test_local_judge_gives_its_checkpoint_s_probabilities(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    """A judge in a folder is exported and gives the probabilities of torch, columns in our order."""
    folder = checkpoint(HUB_ORDER)
    register(tmp_path, folder)
    found = load_judge("tiny", tmp_path, tmp_path / ".cache").probabilities(PROBES)

    np.testing.assert_allclose(torch_probabilities(folder, PROBES), found, rtol=0, atol=1e-5)


def test_export_is_kept(checkpoint: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second opening of a judge uses the export of the first."""
    register(tmp_path, checkpoint())
    load_judge("tiny", tmp_path, tmp_path / ".cache")

    def again(*_: Any) -> None:
        pytest.fail("exported twice")

    monkeypatch.setattr(room, "export_onnx", again)
    load_judge("tiny", tmp_path, tmp_path / ".cache")


def test_unfaithful_export_is_refused_and_not_kept(
    checkpoint: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export whose labels differ from its checkpoint's is refused, and nothing usable is left behind."""
    register(tmp_path, checkpoint())
    # The reference with its columns turned round: no label can agree with the export's.
    monkeypatch.setattr(room, "torch_probabilities", lambda *given: np.roll(torch_probabilities(*given), 1, axis=1))

    with pytest.raises(EquipoiseError, match=r"agrees with its checkpoint on 0\.0000 of 6 pairs"):
        load_judge("tiny", tmp_path, tmp_path / ".cache")
    assert not list(tmp_path.glob(".cache/judges/*/manifest.json"))


def test_unreachable_hub_is_told_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the hub cannot be reached one line names the repository, the commit and the mend."""

    def unreachable(*_: Any, **__: Any) -> str:
        raise OSError

    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    revision = "0" * 40
    entry = JudgeEntry.model_validate(
        {
            "title": "Far",
            "licence": "none",
            "max_tokens": 64,
            "source": {"kind": "hub", "repo": "far/away", "revision": revision},
        }
    )

    with pytest.raises(EquipoiseError, match=r"far/away at 000000000000 could not be fetched .*source kind local"):
        exported(entry, tmp_path, tmp_path)


def test_empty_local_folder_is_refused(tmp_path: Path) -> None:
    """A registered folder without a checkpoint is named, with the mend."""
    register(tmp_path, tmp_path / "nowhere")

    with pytest.raises(EquipoiseError, match=r"nowhere holds no checkpoint: mend source\.path"):
        load_judge("tiny", tmp_path, tmp_path / ".cache")
