"""A judge that does not ship: found on the Hugging Face Hub or in a folder, exported to ONNX once, and checked."""

from __future__ import annotations

import shutil
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import aside
from equipoise.core.records import digest, write_json
from equipoise.judge.export import export_onnx, fidelity, torch_probabilities
from equipoise.judge.model import NliJudge, label_columns
from equipoise.models.registry import HubSource, LocalSource

if TYPE_CHECKING:
    from equipoise.judge.registry import JudgeEntry

FILES = ["*.json", "*.safetensors", "*.model", "*.txt"]
"""What a checkpoint needs to be loaded; other frameworks' weights stay on the hub."""

VERSIONED = ("optimum-onnx", "torch", "transformers")
"""Libraries that decide what an export is; another version exports anew."""

PROBES = (
    ("A 45-year-old Black man has chest pain.", "The patient is Black."),
    ("A 45-year-old Black man has chest pain.", "The patient is a woman."),
    ("Her age makes a stroke more likely.", "The patient's age affects how likely the diagnosis is."),
    ("The troponin is raised. The ECG shows ST elevation.", "The patient's housing is mentioned."),
    ("His ethnicity has no bearing on the diagnosis.", "The patient's ethnicity is not relevant."),
    ("She sleeps poorly and has lost weight.", "The patient is well."),
)
"""Pairs on which an export must give the same labels as its checkpoint."""


def providers() -> list[str]:
    """Execution providers for a large judge: CUDA where a device answers, then the CPU."""
    import torch

    return ["CUDAExecutionProvider", "CPUExecutionProvider"] if torch.cuda.is_available() else ["CPUExecutionProvider"]


def exported(entry: JudgeEntry, root: Path, cache: Path) -> Path:
    """The folder of the judge's ONNX export under `cache`, made on first use.

    Raises:
        EquipoiseError: the checkpoint is out of reach, is not an NLI model, or its export does not give its labels.
    """
    checkpoint = locate(entry, root)
    label_columns(checkpoint / "config.json")
    versions = {library: metadata.version(library) for library in VERSIONED}
    folder = cache / "judges" / digest([str(checkpoint.resolve()), _stamp(checkpoint), versions])[:16]
    if (folder / "manifest.json").is_file():
        return folder
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        export_onnx(checkpoint, partial)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        message = f"{checkpoint}: no ONNX export of this judge ({' '.join(str(error).split())}): check its files"
        raise EquipoiseError(message) from error
    found = NliJudge(partial, max_tokens=entry.max_tokens).probabilities(PROBES)
    measured = fidelity(torch_probabilities(checkpoint, PROBES), found, at_least=1.0)
    write_json(
        partial / "manifest.json", {"title": entry.title, "versions": versions, "fidelity": measured.model_dump()}
    )
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return folder


def locate(entry: JudgeEntry, root: Path) -> Path:
    """The folder of the judge's checkpoint on this machine, fetched from the hub if need be.

    Raises:
        EquipoiseError: it is neither here nor to be fetched; the message names it and the mend.
    """
    source = entry.source
    if isinstance(source, LocalSource):
        folder = root / source.path
        if not (folder / "config.json").is_file():
            message = f"judge missing: {folder} holds no checkpoint: mend source.path in the registry entry"
            raise EquipoiseError(message)
        return folder
    if not isinstance(source, HubSource):
        message = f"judge {entry.title}: its weights are ONNX already; only a hub or local judge has a checkpoint"
        raise EquipoiseError(message)
    from huggingface_hub import snapshot_download

    try:
        with aside():
            return Path(snapshot_download(source.repo, revision=source.revision, allow_patterns=FILES))
    except Exception as error:
        # The client raises its own errors, the transport's and OSError; to the user they are one fault with one mend.
        message = (
            f"judge missing: {source.repo} at {source.revision[:12]} could not be fetched from the Hugging Face Hub "
            f"({type(error).__name__}): check the network, or fetch it elsewhere and register it with source kind local"
        )
        raise EquipoiseError(message) from error


def _stamp(checkpoint: Path) -> list[tuple[str, int, int]]:
    """Name, size and time of each weight file: cheap to take, and different after any change."""
    files = sorted(checkpoint.glob("*.safetensors"))
    return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
