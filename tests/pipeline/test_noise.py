"""The metrics files say the same on another processor: noise in the likelihoods changes hardly any of their values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import projects
from builders import judgement, response
from equipoise.figures.figure import headline_metrics
from equipoise.figures.options import Measure
from equipoise.materials.stories.library import load_library as load_vignettes
from equipoise.studies.registry import STUDIES
from equipoise.studies.stigma.causal import causal_fills, sentence_prompts
from equipoise.studies.stigma.effects import stigma_effects
from equipoise.studies.stigma.library import load_library
from equipoise.studies.stigma.rows import Filling
from equipoise.studies.vignettes.effects import vignette_effects
from equipoise.studies.vignettes.profiles import Build, build_pairs, build_versions
from equipoise.text.answers import log_odds, read_likelihood

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from equipoise.core.prompts import Response
    from equipoise.materials.judgement import Judgement
    from equipoise.materials.vignette import Vignette

    Values = dict[str, float]

ROOT = Path(__file__).parents[2]
NOISE = 1e-5
"""How far the log likelihoods of two processors differ, in nats: the standard deviation of the noise."""
SEEDS = 20
MOST = 0.01
"""Share of the values that may change, on average over the seeds."""
VALUES_A_STUDY, VALUES = 64, 250


def leaves(table: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Give the numbers of a nested table by their paths; a verdict is in words."""
    if isinstance(table, dict):
        for name, content in table.items():
            yield from leaves(content, f"{path}.{name}")
    elif not isinstance(table, str):
        yield path, table


def noisy(row: Response, rng: np.random.Generator) -> Response:
    """Add noise to every log likelihood of a response."""
    noise = rng.normal(0, NOISE, len(row.log_likelihood))
    likelihoods = dict(zip(row.log_likelihood, noise + list(row.log_likelihood.values()), strict=True))
    return row.model_copy(update={"log_likelihood": {name: float(value) for name, value in likelihoods.items()}})


def changed(rows: list[Response], measured: Callable[[list[Response]], Values]) -> tuple[float, int]:
    """Measure rows as they are and with noise: the mean share of values that change, and the number of values."""
    before = measured(rows)
    counts = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        after = measured([noisy(row, rng) for row in rows])
        assert after.keys() == before.keys()
        counts.append(sum(after[path] != before[path] for path in before))
    return float(np.mean(counts)) / len(before), len(before)


def diagnosed(told: tuple[Vignette, ...]) -> list[Response]:
    """Make up the likelihoods of every vignette's diagnoses: both arms alike, but for half a nat."""
    rng = np.random.default_rng(1)
    alike: dict[str, list[float]] = {}
    rows = []
    for row in told:
        labels = [answer.label for group in row.answers.values() for answer in group]
        base = alike.setdefault(row.pair, rng.normal(-4, 1.5, len(labels)).tolist())
        own = base + rng.normal(0, 0.5, len(labels))
        rows.append(response(row.key, "Because.", log_likelihood=dict(zip(labels, own.tolist(), strict=True))))
    return rows


def read(row: Response, told: Vignette) -> Judgement:
    """Read a diagnosis by its likelihood; every third reasoning weighs the feature."""
    given = read_likelihood(row, told.answers, "total")
    assert given is not None
    considered = "weighed" if sum(map(ord, told.pair)) % 3 == 0 else "none"
    return judgement(row.key, considered, given.kind, label=given.label, log_odds=log_odds(row, told.answers, "total"))


def test_noise_in_the_diagnoses_likelihoods_changes_hardly_a_value() -> None:
    """The 41 pairs of the default profile and their other tellings, with made-up likelihoods."""
    library = load_vignettes(ROOT / "data/raw")
    arms = build_pairs(library, "core")
    told = (*arms, *build_versions(library, projects.committed_settings().section("build", Build)))

    def measured(rows: list[Response]) -> Values:
        judged = [read(row, vignette) for row, vignette in zip(rows, told, strict=True)]
        effects = vignette_effects(list(arms), judged, Measure(n_bootstrap=100))
        return dict(leaves(headline_metrics(STUDIES["vignettes"].figures, effects)))

    share, n = changed(diagnosed(told), measured)

    assert n > 40
    assert share <= MOST


def test_noise_in_the_sentences_likelihoods_changes_hardly_a_value() -> None:
    """Every sentence of the stigma library, with made-up likelihoods."""
    library, settings = load_library(ROOT / "data/sentences"), Filling()
    rng = np.random.default_rng(2)
    rows = []
    for prompt in sentence_prompts(library, settings):
        scores = rng.normal(-3, 0.2, len(prompt.candidates)).tolist()
        likelihoods = dict(zip(prompt.candidates, scores, strict=True))
        tokens = {text: len(text.split()) for text in prompt.candidates}
        rows.append(response(prompt.key, study="stigma", log_likelihood=likelihoods, candidate_tokens=tokens))

    def measured(rows: list[Response]) -> Values:
        effects = stigma_effects([*causal_fills(library, rows, settings)], Measure())
        return dict(leaves(headline_metrics(STUDIES["stigma"].figures, effects)))

    share, n = changed(rows, measured)

    assert n > 15
    assert share <= MOST


def test_the_metrics_files_fit_a_screen() -> None:
    """A study of the committed run has at most 64 values, and all studies together have at most 250."""
    counts = {
        study: len([*leaves(json.loads(projects.committed(f"metrics/{study}.json")))])
        for study in projects.committed_settings().studies
    }

    assert counts
    assert max(counts.values()) <= VALUES_A_STUDY, counts
    assert sum(counts.values()) <= VALUES, counts
