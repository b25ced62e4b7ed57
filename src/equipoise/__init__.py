"""Equipoise measures demographic bias in clinical language models, with paired statistics, as a DVC pipeline."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.api.changes import compare, plan
    from equipoise.api.examples import example
    from equipoise.api.judged import judge
    from equipoise.api.running import run
    from equipoise.core.errors import EquipoiseError
    from equipoise.figures.frame import Figures
    from equipoise.studies.public import adversarial, equity, silent_bias, stigma, vignettes

__all__ = [
    "EquipoiseError",
    "Figures",
    "adversarial",
    "compare",
    "equity",
    "example",
    "judge",
    "plan",
    "run",
    "silent_bias",
    "stigma",
    "vignettes",
]
_HOMES = {
    "EquipoiseError": "core.errors",
    "Figures": "figures.frame",
    "compare": "api.changes",
    "example": "api.examples",
    "judge": "api.judged",
    "plan": "api.changes",
    "run": "api.running",
}
"""The module of each name that no study has; those of the studies are in `studies.public`."""


class _Package(ModuleType):
    """The package as its users see it: each public name is imported when it is first used.

    This is the lazy loading of PEP 562. A class takes the place of the module's `__getattr__`, as Python's data model
    describes under "Customizing module attribute access", because `compare` and `judge` are also packages: the import
    system would put them where the functions belong. Import from these packages by their full names
    (`from equipoise.judge.reading import …`).
    """

    def __getattr__(self, name: str) -> object:
        """Import a public name when it is first used: importing equipoise imports nothing else."""
        if name not in __all__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{self.__name__}.{_HOMES.get(name, 'studies.public')}"), name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute, but no package in the place of a function."""
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        """List the public names too."""
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package
