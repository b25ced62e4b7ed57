"""Tests of the check that comes before any work."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from equipoise.core import params, records
from equipoise.core.errors import EquipoiseError
from equipoise.studies.check import require_sound
from fakes import MadeMachine

ROOT = Path(__file__).parents[2]
SETTINGS = params.load(ROOT / "params.yaml")
ITEMS = SETTINGS.pair | {"items": "authored"}


def test_the_settings_that_ship_are_sound() -> None:
    """params.yaml passes as it is, also where there is no network."""
    require_sound(SETTINGS, ROOT, MadeMachine(fault="no network"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "smolm2"}, r"models: no entry 'smolm2': did you mean 'smollm2'\?"),
        ({"judge": "minilm"}, r"models/judges: no entry 'minilm': did you mean 'minilm_nli'\?"),
        ({"items": "amqb"}, r"amqb\.jsonl: no such items: import them"),
        ({"sample": {"items": "medmcqb"}}, r"medmcqb\.jsonl: no such items: import them"),
        ({"fill": {"scorer": "masked", "masked": "roberta"}}, r"masked: no entry 'roberta': did you mean 'roberta_l"),
        ({"agree": {"judge": "minilm", "threshold": 0.7}}, r"models/judges: no entry 'minilm'"),
        (
            {"build": {"profile": "cor"}},
            r"params\.yaml, section build: field profile: Input should be 'core', 'full' or",
        ),
        ({"score": {"answering": "guess"}}, r"params\.yaml, section score: field"),
        ({"measure": {"alpha": 2}}, r"params\.yaml, section measure: field alpha"),
        (
            {"infer": {"batch_size": 1, "executor": "ray", "address": None}},
            r"ray, which is not installed: run `pip install",
        ),
        ({"perturb": {"generator": "replay"}}, r"section perturb: .*replay names no file"),
    ],
)
def test_what_cannot_work_is_named(change: dict[str, object], message: str) -> None:
    """A name that is not there, or a value out of range, is refused with the fix."""
    with pytest.raises(EquipoiseError, match=message):
        require_sound(SETTINGS.model_copy(update=change), ROOT, MadeMachine())


def test_a_model_that_cannot_run_here_is_told_before_any_work() -> None:
    """The line has the estimate and every fix."""
    settings = SETTINGS.model_copy(update={"model": "piaget8b"})

    with pytest.raises(
        EquipoiseError, match=r"models/piaget8b\.yaml cannot run here \(about 16 GB .*run `equipoise models"
    ):
        require_sound(settings, ROOT, MadeMachine())


def test_a_model_without_likelihoods_is_not_asked_for_them() -> None:
    """The line names every setting that would ask, and the options that fix them; with these all is sound."""
    machine = MadeMachine(variables=("OPENAI_API_KEY",))
    settings = SETTINGS.model_copy(update={"model": "api_example"})
    needed = {"perturb": "answering", "sample": "answering", "score": "answering", "fill": "scorer"}
    changed = {
        section: getattr(SETTINGS, section) | {field: "masked" if field == "scorer" else "generate"}
        for section, field in needed.items()
    }

    with pytest.raises(
        EquipoiseError,
        match=r"^models/api_example\.yaml returns no likelihoods, as needed by score\.answering, perturb\.answering, "
        r"sample\.answering, fill\.scorer: add -S score\.answering=generate -S perturb\.answering=generate "
        r"-S sample\.answering=generate -S fill\.scorer=masked, or leave the study out of `studies`$",
    ):
        require_sound(settings, ROOT, machine)
    require_sound(settings.model_copy(update=changed), ROOT, machine)
    require_sound(settings.model_copy(update={"studies": ("openr1",), "pair": ITEMS}), ROOT, machine)


def test_likelihoods_of_studies_that_are_left_out_are_not_needed(tmp_path: Path) -> None:
    """Saved outputs to cases return no likelihoods, and no option is needed; missing cases are named."""
    for part in ("data", "models"):
        shutil.copytree(ROOT / part, tmp_path / part)
    for name in ("answers", "asked"):
        (tmp_path / f"{name}.jsonl").write_text("", encoding="utf-8")
    empty = records.sha256(tmp_path / "asked.jsonl")
    entry = f"title: t\nlicence: l\nbackend: replay\nfile: {tmp_path}/answers.jsonl\nsha256: {empty}\n"
    entry += f"answers: [cases]\ncases: {{file: {tmp_path}/asked.jsonl, sha256: {empty}}}\n"
    (tmp_path / "models/saved.yaml").write_text(entry, encoding="utf-8")
    settings = SETTINGS.model_copy(update={"model": "saved", "studies": ("cases",)})

    with pytest.raises(
        EquipoiseError,
        match=r"models/saved\.yaml has no answers to vignettes, exam: run the studies that it answers, "
        r"-S 'studies=\[cases\]'",
    ):
        require_sound(
            settings.model_copy(update={"studies": ("vignettes", "exam")}), tmp_path, MadeMachine(fault="no network")
        )
    require_sound(settings, tmp_path, MadeMachine(fault="no network"))
    (tmp_path / "asked.jsonl").unlink()
    with pytest.raises(
        EquipoiseError, match=r"cases of saved answers missing: .*/asked\.jsonl: .*correct the fields cases\.file"
    ):
        require_sound(settings, tmp_path, MadeMachine())
