"""A judge that can be opened: the one that ships, or one exported to ONNX once and compared with its checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import digest, sha256
from equipoise.judge.model import FILES, NliJudge, label_columns, require_files
from equipoise.models.engine import CPU, providers
from equipoise.models.export import ExportManifest, LabelFidelity, exported_once, hashes, label_fidelity, versions
from equipoise.models.registry import EmbeddedSource, load_judge_entry
from equipoise.models.weights import locate

PROBES = (
    ("A 45-year-old Black man has chest pain.", "The patient is Black."),
    ("A 45-year-old Black man has chest pain.", "The patient is a woman."),
    ("Her age makes a stroke more likely.", "The patient's age affects how likely the diagnosis is."),
    ("The troponin is raised. The ECG shows ST elevation.", "The patient's housing is mentioned."),
    ("His ethnicity has no bearing on the diagnosis.", "The patient's ethnicity is not relevant."),
    ("She sleeps poorly and has lost weight.", "The patient is well."),
)
"""Pairs on which an export must give the same labels as its checkpoint."""


class JudgeManifest(ExportManifest):
    """What the export of a judge is kept with: its libraries and how true to its checkpoint it is."""

    title: str
    versions: dict[str, str]
    fidelity: LabelFidelity


class LocatedJudge(NamedTuple):
    """A judge that can be opened: its folder, how many tokens it reads, and its execution providers, best first."""

    folder: Path
    max_tokens: int
    providers: tuple[str, ...] = (CPU,)

    @property
    def identity(self) -> str:
        """A digest of everything that determines a probability: the judge's part of a cache key."""
        import onnxruntime

        require_files(self.folder)
        files = {name: sha256(self.folder / name) for name in FILES}
        return digest([files, self.max_tokens, self.providers, str(onnxruntime.__version__)])

    def open(self) -> NliJudge:
        """Open the judge, ready to run."""
        return NliJudge(self.folder, max_tokens=self.max_tokens, providers=self.providers)


def locate_judge(name: str, root: Path, cache: Path) -> LocatedJudge:
    """The judge registered as `name` under `root`, not yet opened; one that does not ship is exported on first use.

    Args:
        name: stem of a file in models/judges/.
        root: the repository root.
        cache: where the export of a judge that does not ship is kept.

    Raises:
        EquipoiseError: unknown name, malformed entry, weights missing, altered or out of reach, not an NLI model, or an
            export that does not give its checkpoint's labels; raised before any work.
    """
    entry = load_judge_entry(name, root)
    weights = locate(entry, root)
    if isinstance(entry.source, EmbeddedSource):
        return LocatedJudge(weights.folder, entry.max_tokens)
    label_columns(weights.folder / "config.json")
    libraries = versions(("optimum-onnx", "torch", "transformers"))

    def fill(made: Path) -> JudgeManifest:
        try:
            export_onnx(weights.folder, made)
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            reason = " ".join(str(error).split())
            message = f"{weights.folder}: this judge cannot be exported to ONNX ({reason}): check its files"
            raise EquipoiseError(message) from error
        found = NliJudge(made, max_tokens=entry.max_tokens).probabilities(PROBES)
        fidelity = label_fidelity(name, torch_probabilities(weights.folder, PROBES), found, at_least=1.0)
        return JudgeManifest(title=entry.title, versions=libraries, files=hashes(made), fidelity=fidelity)

    folder = f"judge-{digest([weights.files, libraries, entry.max_tokens])[:16]}"
    exported_once(cache / "judges", folder, JudgeManifest, fill)
    return LocatedJudge(cache / "judges" / folder, entry.max_tokens, tuple(providers()))


def load_judge(name: str, root: Path, cache: Path) -> NliJudge:
    """The judge registered as `name` under `root`, ready to run. See `locate_judge`."""
    return locate_judge(name, root, cache).open()


def export_onnx(checkpoint: Path, folder: Path) -> None:
    """Export a sequence-classification checkpoint to `folder`: model.onnx (float32), config.json, tokenizer.json."""
    from optimum.exporters.onnx import main_export

    main_export(str(checkpoint), output=folder, task="text-classification", do_validation=False)


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
