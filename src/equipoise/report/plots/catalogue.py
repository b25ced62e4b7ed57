"""Every plot of the pipeline."""

from __future__ import annotations

from equipoise.report.plots.adversarial import PLOTS_ADVERSARIAL
from equipoise.report.plots.equity import PLOTS_EQUITY
from equipoise.report.plots.silent import PLOTS_SILENT
from equipoise.report.plots.stigma import PLOTS_STIGMA

ALL = PLOTS_SILENT | PLOTS_ADVERSARIAL | PLOTS_EQUITY | PLOTS_STIGMA
"""Every plot by the name of its file; the section `plots` of dvc.yaml says the same (a test holds them together)."""
