"""Equipoise in Python: DataFrames in, figures out, by the code that the command line runs.

`import equipoise as eq` finds these functions as `eq.silent_bias` and so on. docs/api.md describes them together.
"""

from equipoise.api.changes import compare, plan
from equipoise.api.examples import example
from equipoise.api.figures import Figures
from equipoise.api.scores import adversarial, equity, judge, silent_bias, stigma
from equipoise.core.errors import EquipoiseError

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
