"""Tests of clustered means against R: clubSandwich for CR2 and Satterthwaite, lme4 for crossed random effects.

The values and the script that made them are in tests/stats/oracle.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.mixed_linear_model import MixedLM

from equipoise.stats.clusters import clustered_mean, two_way_mean

ORACLE = Path(__file__).parent / "oracle"
BY_R = json.loads((ORACLE / "clusters.json").read_text(encoding="utf-8"))
DESIGNS = ("core", "single", "few")
"""As in the default profile (41 pairs, 25 stories), one value a story, and three stories of 2 to 9 values."""


def column(design: str, name: str) -> list[str]:
    """Give a column of one design's rows."""
    with (ORACLE / "clusters.csv").open(encoding="utf-8") as file:
        return [row[name] for row in csv.DictReader(file) if row["design"] == design]


def shifts(design: str) -> list[float]:
    """Give the values of one design."""
    return [float(value) for value in column(design, "shift")]


@pytest.mark.parametrize("cluster", ["story", "persona"])
@pytest.mark.parametrize("design", DESIGNS)
def test_cr2_is_that_of_clubsandwich(design: str, cluster: str) -> None:
    """Mean, standard error, degrees of freedom and p are R's."""
    mean, by_r = clustered_mean(shifts(design), column(design, cluster)), BY_R[f"{design}/{cluster}"]

    assert mean is not None
    wanted = [by_r[name] for name in ("mean", "standard_error", "df")]
    assert [mean.value, mean.standard_error, mean.df] == pytest.approx(wanted, abs=1e-8)
    assert mean.test().value == pytest.approx(by_r["p"], abs=1e-8)


def test_crossed_random_effects_agree_with_the_two_way_error() -> None:
    """A model with crossed effects of story and persona is the same in statsmodels and lme4, and near the sandwich."""
    rows = pd.DataFrame({name: column("core", name) for name in ("story", "persona")})
    rows["shift"] = shifts("core")
    parts = {name: f"0 + C({name})" for name in ("story", "persona")}
    model = MixedLM.from_formula("shift ~ 1", rows, groups=[1] * len(rows), vc_formula=parts).fit(gtol=1e-6)
    two_way = two_way_mean(shifts("core"), column("core", "story"), column("core", "persona"))
    by_r = BY_R["core/crossed"]
    persona, story, residual = (*model.vcomp, model.scale)

    alike = {name: np.equal.outer(rows[name].to_numpy(), rows[name].to_numpy()) for name in parts}
    covariance = residual * np.eye(len(rows)) + persona * alike["persona"] + story * alike["story"]
    # By generalised least squares the variance of the mean is 1 / (1' V^-1 1).
    error = 1 / np.sqrt(np.linalg.inv(covariance).sum())
    estimates = {
        "mean": model.fe_params["Intercept"],
        "standard_error": error,
        "persona": persona,
        "story": story,
        "residual": residual,
    }
    assert estimates == pytest.approx({name: by_r[name] for name in estimates}, abs=1e-4)
    assert two_way is not None
    # Two estimates of one error, from 25 stories and 26 personas: a third apart at most.
    assert two_way.standard_error == pytest.approx(by_r["standard_error"], rel=1 / 3)
