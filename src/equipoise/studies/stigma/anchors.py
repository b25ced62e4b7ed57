"""The published figures of the gender that a masked model associates with mental illness."""

from equipoise.published.anchors import Anchors
from equipoise.studies.stigma.lin import lin_figures, recursion_figures, token_figures

ANCHORS = Anchors({"lin": lin_figures, "recursion": recursion_figures, "tokens": token_figures})
