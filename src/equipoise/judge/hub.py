"""A judge from the Hugging Face Hub, or from a folder of such files: fetched at a commit, exported to ONNX, checked."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.errors import EquipoiseError
from equipoise.judge.export import export_onnx, fidelity
from equipoise.judge.model import NliJudge, label_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from equipoise.judge.registry import HubJudge

FILES = ("*.json", "*.safetensors", "*.model", "*.txt")
"""What a checkpoint needs to be loaded; the other frameworks' weights stay on the hub."""

PROBES = (
    ("A 45-year-old Black man has chest pain.", "The patient is Black."),
    ("A 45-year-old Black man has chest pain.", "The patient is a woman."),
    ("Her age makes a stroke more likely.", "The patient's age affects how likely the diagnosis is."),
    ("The troponin is raised. The ECG shows ST elevation.", "The patient's housing is mentioned."),
    ("His ethnicity has no bearing on the diagnosis.", "The patient's ethnicity is not relevant."),
    ("She sleeps poorly and has lost weight.", "The patient is well."),
)
"""Pairs on which an export must give the same label as its checkpoint."""


def providers() -> list[str]:
    """Execution providers for a large judge: CUDA where a device answers, then the CPU."""
    import torch

    return ["CUDAExecutionProvider", "CPUExecutionProvider"] if torch.cuda.is_available() else ["CPUExecutionProvider"]


def exported(entry: HubJudge, root: Path, cache: Path) -> Path:
    """The folder of the judge's ONNX export, made on first use and reused while repository and commit stay the same.

    Raises:
        EquipoiseError: the checkpoint is out of reach, is not an NLI model, or its export does not give its labels.
    """
    checkpoint = _checkpoint(entry, root)
    label_columns(checkpoint / "config.json")
    folder = cache / "judges" / hashlib.sha256(f"{checkpoint.resolve()}@{entry.revision}".encode()).hexdigest()[:16]
    if (folder / "manifest.json").is_file():
        return folder
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        export_onnx(checkpoint, partial)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        reason = " ".join(str(error).split())
        message = f"judge {entry.repo}@{entry.revision}: no ONNX export ({reason}); check the files in {checkpoint}"
        raise EquipoiseError(message) from error
    reference = torch_probabilities(checkpoint, PROBES)
    measured = fidelity(reference, NliJudge(partial, max_tokens=entry.max_tokens).probabilities(PROBES), at_least=1.0)
    manifest = {"repo": entry.repo, "revision": entry.revision, "fidelity": measured._asdict()}
    (partial / "manifest.json").write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", "utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return folder


def torch_probabilities(checkpoint: Path, pairs: Sequence[tuple[str, str]], *, batch: int = 64) -> NDArray[np.float64]:
    """Probabilities of the checkpoint in float32 torch, (n, 3) in the order of LABELS: the reference of an export."""
    import numpy as np
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    columns = label_columns(checkpoint / "config.json")
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint, dtype=torch.float32).eval()
    longest = int(model.config.max_position_embeddings)
    found = np.empty((len(pairs), len(columns)))
    # Pairs of like length together: less padding, and the order of the result is that of `pairs`.
    order = sorted(range(len(pairs)), key=lambda row: sum(map(len, pairs[row])))
    for first in range(0, len(order), batch):
        rows = order[first : first + batch]
        inputs = tokenizer(
            [pairs[row][0] for row in rows],
            [pairs[row][1] for row in rows],
            truncation="only_first",
            max_length=longest,
            padding=True,
            return_tensors="pt",
        )
        with torch.inference_mode():
            found[rows] = model(**inputs).logits.double().softmax(dim=1)[:, columns].numpy()
    return found


def _checkpoint(entry: HubJudge, root: Path) -> Path:
    """The checkpoint's files on this machine, fetched if need be."""
    local = root / entry.repo
    if local.is_dir():
        return local
    from huggingface_hub import snapshot_download

    fetch: Any = snapshot_download
    try:
        return Path(fetch(entry.repo, revision=entry.revision, allow_patterns=list(FILES)))
    except Exception as error:
        # The client raises its own, httpx's, requests' and OSError alike; to the user they are one fault with one mend.
        message = (
            f"judge {entry.repo}@{entry.revision}: not on this machine and the Hugging Face Hub cannot be reached "
            f"({type(error).__name__}); fetch it where there is a network with: "
            f"hf download {entry.repo} --revision {entry.revision}, or name a local folder as repo in its entry"
        )
        raise EquipoiseError(message) from error
