"""Every plot of the pipeline, by study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.report.plots.adversarial import PLOTS_ADVERSARIAL
from equipoise.report.plots.equity import PLOTS_EQUITY
from equipoise.report.plots.others import PLOTS_CASES, PLOTS_OPENR1
from equipoise.report.plots.silent import PLOTS_SILENT
from equipoise.report.plots.stigma import PLOTS_STIGMA

if TYPE_CHECKING:
    from equipoise.core.records import Study
    from equipoise.report.plots.plot import Plot

ALL: dict[Study, dict[str, Plot]] = {
    "vignettes": PLOTS_SILENT,
    "questions": PLOTS_ADVERSARIAL | {"cities": PLOTS_EQUITY["cities"]},
    "exam": {"diseases": PLOTS_EQUITY["diseases"]},
    "stigma": PLOTS_STIGMA,
    "openr1": PLOTS_OPENR1,
    "cases": PLOTS_CASES,
}
"""Every plot by its study and the name of its file; the section `plots` of dvc.yaml says the same (held by a test)."""
