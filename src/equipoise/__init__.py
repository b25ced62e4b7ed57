"""Equipoise measures demographic bias in clinical language models, with paired statistics, as a DVC pipeline."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.api import (
        EquipoiseError,
        Figures,
        adversarial,
        compare,
        equity,
        example,
        judge,
        plan,
        silent_bias,
        stigma,
    )

__all__ = [
    "EquipoiseError",
    "Figures",
    "adversarial",
    "compare",
    "equity",
    "example",
    "judge",
    "plan",
    "silent_bias",
    "stigma",
]


class _Package(ModuleType):
    """The package as its users see it: equipoise.judge is the function, whatever has been imported before.

    Three functions have the name of a package of ours, which the import system would set in their place. The packages
    are imported by their full names (`from equipoise.judge.reading import …`), which this does not change.
    """

    def __getattr__(self, name: str) -> object:
        """Import the functions when one is first used: importing equipoise imports nothing else."""
        if name not in __all__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        # By a name that is computed, since no stage of the pipeline depends on these functions (equipoise.core.code).
        found = getattr(import_module(f"{self.__name__}.api"), name)
        super().__setattr__(name, found)
        return found

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute, but no package in the place of a function."""
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        """List the functions too."""
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package
