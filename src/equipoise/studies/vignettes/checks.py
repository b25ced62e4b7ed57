"""Checks of the study's inputs: stories, pairs and panel, and the words for the patients' features."""

from collections.abc import Iterator
from pathlib import Path

from equipoise.figures.study import Checked
from equipoise.judge import lexicon
from equipoise.materials.stories.library import load_library
from equipoise.models import registry
from equipoise.studies.vignettes.panel import load_panel
from equipoise.studies.vignettes.profiles import build_pairs


def checks(root: Path) -> Iterator[Checked]:
    """Read all inputs; a malformed one is an EquipoiseError."""
    raw = root / "data/raw"
    library = load_library(raw)
    for name in registry.names(root / registry.FOLDER):
        if isinstance(entry := registry.load_entry(name, root), registry.PhantomEntry):
            registry.require_dimensions(name, entry, library.dimensions)
    rows = build_pairs(library, "full")
    yield Checked("stories", "data/raw", len(library.presentations))
    yield Checked("pairs", "data/raw", len(library.pairs))
    yield Checked("vignettes of the profile full", "data/raw", len(rows))
    yield Checked("groups of the panel", "data/raw/panel.yaml", len(load_panel(raw)))
    features = root / lexicon.FOLDER
    lexicon.load_lexicon(features)
    yield Checked("lexicons of features", lexicon.FOLDER, len(list(features.glob("*.yaml"))))
