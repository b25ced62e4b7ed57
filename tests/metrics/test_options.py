"""Tests of the section `measure`."""

from __future__ import annotations

import pytest

from equipoise.metrics.adversarial import AdversarialOptions
from equipoise.metrics.equity import EquityOptions
from equipoise.metrics.options import Measure
from equipoise.metrics.silent import SilentBiasOptions
from equipoise.metrics.stigma import StigmaOptions


@pytest.mark.parametrize("kind", [SilentBiasOptions, AdversarialOptions, EquityOptions, StigmaOptions])
def test_every_study_takes_its_part(kind: type[SilentBiasOptions]) -> None:
    """A study's options are those of the section, as far as it knows them."""
    given = Measure(alpha=0.1, power=0.9, seed=3, n_bootstrap=500, partition="seeded", partition_seed=7, min_pairs=2)

    part = given.part(kind)

    assert isinstance(part, kind)
    assert part.model_dump().items() <= given.model_dump().items()
