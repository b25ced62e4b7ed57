"""What computes a run besides its code: versions of Python and libraries, the accelerator, and variables.

The stage `check` writes it to `data/environment.json`, on which the stages that compute depend. It has nothing that
differs between machines on which equal work gives equal figures.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any, Literal, Self

from equipoise.core import jsonl, params
from equipoise.core.errors import EquipoiseError
from equipoise.core.row import Frozen
from equipoise.core.system import has_driver, versions
from equipoise.models import registry

FILE = "environment.json"
"""Its file, below `data`."""
CHECKED = "checked.json"
"""The file, below `data`, that says that `check` found the settings sound."""
LOCK = "requirements/*.txt"
PROJECT = "pyproject.toml"
PIN = re.compile(r"^\s*\"?([\w.-]+)((?:[=<>!~]=|[<>])[^\s;\"]+)", re.MULTILINE)
"""A requirement with its versions, in a requirements file or in pyproject.toml."""
PACKAGES = (
    *("bitsandbytes", "google-re2", "numpy", "onnxruntime", "onnxruntime-gpu", "optimum-onnx", "scikit-learn", "scipy"),
    *("statsmodels", "tokenizers", "torch", "transformers", "vllm"),
)
"""The libraries whose versions can change an answer, a reading or a figure."""
QUANTISERS = frozenset({"bitsandbytes"})
"""Those of them that compute for a model of 8 or 4 bits alone: any other does not depend on them."""
VARIABLES = ("CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE", "VLLM_BATCH_INVARIANT")
"""The environment variables that can, where they are set."""
VISIBLE, HIDDEN = "CUDA_VISIBLE_DEVICES", ("", "-1")
"""The variable that chooses GPUs, and its values that choose none; which one it chooses changes no figure."""
REFRESH = "run `make repro`, or remove the file and run `dvc repro`"


class Checked(Frozen):
    """That settings are sound, and which likelihoods the server of the model under test gives, if it has one."""

    sound: Literal[True] = True
    likelihoods: dict[str, str] = {}

    def written(self) -> dict[str, Any]:
        """Lay it out for its file."""
        return {"sound": self.sound} | ({"likelihoods": self.likelihoods} if self.likelihoods else {})


class Environment(Frozen):
    """The version of Python without its patch, of installed `packages`, and what the project requires of them.

    `accelerator` is cuda where the NVIDIA driver can be loaded and a GPU is visible, else none; `variables` are those
    that are set.
    """

    python: str
    packages: dict[str, str]
    accelerator: str
    variables: dict[str, str]
    required: dict[str, tuple[str, ...]] = {}

    @classmethod
    def current(cls) -> Self:
        """Describe this process, without requirements."""
        return cls(
            python=f"{sys.version_info.major}.{sys.version_info.minor}",
            packages=versions(PACKAGES),
            accelerator="cuda" if has_driver() and os.environ.get(VISIBLE) not in HIDDEN else "none",
            variables={name: os.environ[name] for name in VARIABLES if name in os.environ},
        )

    @classmethod
    def of_project(cls, root: Path) -> Self:
        """Describe this process, and what the project at `root` requires in its lock and in pyproject.toml.

        Libraries for quantised weights are left out where the model of the project's settings has none.
        """
        counted = {*PACKAGES} - (set() if _is_quantised(root) else QUANTISERS)
        files = (*sorted(root.glob(LOCK)), *root.glob(PROJECT))
        pins = {pin for file in files for pin in PIN.findall(jsonl.read_text(file)) if pin[0] in counted}
        required = {name: tuple(sorted(spec for of, spec in pins if of == name)) for name, _ in sorted(pins)}
        current = cls.current()
        packages = {name: version for name, version in current.packages.items() if name in counted}
        return current.model_copy(update={"packages": packages, "required": required})

    def differences(self, other: Self) -> list[str]:
        """Describe how another environment differs, apart from requirements: `numpy 2.4.6 -> 2.5.0`.

        A library for quantised weights that is not part of this one makes no difference.
        """
        before = self._named()
        after = {name: value for name, value in other._named().items() if name not in QUANTISERS - before.keys()}
        return [
            f"{name} {before.get(name, 'absent')} -> {after.get(name, 'absent')}"
            for name in sorted(before.keys() | after)
            if before.get(name) != after.get(name)
        ]

    def _named(self) -> dict[str, str]:
        return {"Python": self.python, "accelerator": self.accelerator} | self.packages | self.variables


def _is_quantised(root: Path) -> bool:
    """Whether the model under test has weights of 8 or 4 bits; not so where settings or entry are faulty."""
    try:
        entry = registry.load_entry(params.load(root / params.FILE).model, root)
    except EquipoiseError:
        # The stage `check` says so.
        return False
    return isinstance(entry, registry.TorchEntry) and entry.bits is not None


def require_recorded(data: Path) -> None:
    """Refuse to compute in another environment than the one recorded in `data`, with which results are labelled.

    Raises:
        EquipoiseError: They differ; the message names the packages or variables.
    """
    if not (file := data / FILE).is_file():
        return
    recorded = jsonl.read_one(file, Environment)
    if changed := recorded.differences(Environment.current()):
        raise EquipoiseError(f"{file} describes another environment ({', '.join(changed)}): {REFRESH}")
