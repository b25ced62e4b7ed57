"""Tests of the check that comes before any work."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
import yaml

import projects
from equipoise.backends.served import Offer
from equipoise.core import jsonl, params
from equipoise.core.errors import EquipoiseError
from equipoise.core.yamlfile import read_yaml
from equipoise.models.registry import load_entry
from equipoise.pipeline.check import answers, require_sound
from equipoise.studies.registry import STUDIES
from fakes import MadeMachine

if TYPE_CHECKING:
    from collections.abc import Callable

    from equipoise.models.registry import ApiEntry

ROOT = Path(__file__).parents[2]
SETTINGS = projects.committed_settings()
ITEMS = SETTINGS.pair | {"items": "authored"}


def test_the_settings_that_ship_are_sound() -> None:
    """params.yaml passes as it is, also where there is no network."""
    require_sound(SETTINGS, STUDIES, ROOT, MadeMachine(fault="no network"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "smolm2"}, r"models: no entry 'smolm2': did you mean 'smollm2'\?"),
        ({"judge": "minilm"}, r"models/judges: no entry 'minilm': did you mean 'minilm_snli'\?"),
        ({"items": "amqb"}, r"amqb\.jsonl: no such items: import them"),
        ({"sample": {"items": "medmcqb"}}, r"medmcqb\.jsonl: no such items: import them"),
        ({"fill": {"scorer": "masked", "masked": "roberta"}}, r"masked: no entry 'roberta': did you mean 'roberta_l"),
        ({"agree": {"judge": "minilm", "threshold": 0.7}}, r"models/judges: no entry 'minilm'"),
        (
            {"build": {**SETTINGS.build, "profile": "cor"}},
            r"params\.yaml, section build: field profile: Input should be 'core', 'full', 'powered', ",
        ),
        ({"score": {"answering": "guess"}}, r"params\.yaml, section score: field"),
        ({"measure": {"alpha": 2}}, r"params\.yaml, section measure: field alpha"),
        (
            {"infer": {"batch_size": 1, "executor": "ray", "address": None}},
            r"ray, which is not installed: run `pip install",
        ),
        (
            {"build": {**SETTINGS.build, "cases": "bench"}},
            r"section build: .*imported cases have one patient, not two: set design to panel",
        ),
        (
            {"build": {**SETTINGS.build, "design": "panel", "cases": "bunch"}},
            r"params\.yaml: build\.cases bunch: no .*bunch\.jsonl: run `equipoise import bench`, or set cases to",
        ),
        ({"perturb": {"generator": "replay"}}, r"section perturb: .*replay names no file"),
        ({"perturb": {"attempts": 3, "orders": 1}}, r"section perturb: .*set orders to 2 or more, or name another"),
        ({"perturb": {"evaluator": "smolm2"}}, r"models: no entry 'smolm2': did you mean 'smollm2'\?"),
        (
            {"decision": {**SETTINGS.decision, "sequential": True}, "studies": ("openr1",), "pair": ITEMS},
            r"decision\.sequential: the judge reads the endpoint of openr1 .*: leave openr1 out of `studies`, or set",
        ),
        ({"perturb": {"evaluator": "smollm2"}}, r"perturb\.evaluator smollm2 is the model under test: set it to null"),
    ],
)
def test_what_cannot_work_is_named(change: dict[str, object], message: str) -> None:
    """A name that is not there, or a value out of range, is refused with the fix."""
    with pytest.raises(EquipoiseError, match=message):
        require_sound(SETTINGS.model_copy(update=change), STUDIES, ROOT, MadeMachine())


def test_a_model_that_cannot_run_here_is_told_before_any_work() -> None:
    """The line has the estimate and every fix."""
    settings = SETTINGS.model_copy(update={"model": "piaget8b"})

    with pytest.raises(
        EquipoiseError,
        match=r"models/piaget8b\.yaml cannot run here \(about 16 GB .*vLLM needs a CUDA device",
    ):
        require_sound(settings, STUDIES, ROOT, MadeMachine(gigabytes=8.0))


def gives(likelihoods: Literal["prompt", "top", "none"]) -> Callable[[str, ApiEntry], Offer]:
    """Stand in for a server that is asked what it gives."""
    return lambda *_: Offer(likelihoods=likelihoods, found="asked for")


def test_a_model_without_likelihoods_is_not_asked_for_them() -> None:
    """The line names every setting that would ask, the options that fix them, and what verdicts then rest on."""
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
        r"-S sample\.answering=generate -S fill\.scorer=masked, or leave the study out of `studies`; verdicts then "
        r"rest on vignettes\.written_error_difference, decisions\.decision_shift$",
    ):
        require_sound(settings, STUDIES, ROOT, machine, gives("none"))
    require_sound(settings.model_copy(update=changed), STUDIES, ROOT, machine, gives("none"))
    openr1 = settings.model_copy(update={"studies": ("openr1",), "pair": ITEMS})
    require_sound(openr1, STUDIES, ROOT, machine, gives("none"))


def test_a_server_with_likelihoods_needs_no_other_setting() -> None:
    """Those of a prompt are enough for all studies; a first token tells no sentences apart, and the line says so."""
    machine = MadeMachine(variables=("OPENAI_API_KEY",))
    settings = SETTINGS.model_copy(update={"model": "api_example"})

    require_sound(settings, STUDIES, ROOT, machine, gives("prompt"))
    with pytest.raises(
        EquipoiseError,
        match=r"^models/api_example\.yaml returns likelihoods of first tokens alone, not as needed by fill\.scorer: "
        r"add -S fill\.scorer=masked, or leave the study out of `studies`$",
    ):
        require_sound(settings, STUDIES, ROOT, machine, gives("top"))
    require_sound(settings.model_copy(update={"studies": ("vignettes",)}), STUDIES, ROOT, machine, gives("top"))


def test_an_endpoint_that_the_run_cannot_compute_is_refused() -> None:
    """Without likelihoods and without an endpoint declared for that, the line names the setting and figures for it."""
    machine = MadeMachine(variables=("OPENAI_API_KEY",))
    endpoints = SETTINGS.decision["endpoints"]
    vignettes = {name: value for name, value in endpoints["vignettes"].items() if name != "without_likelihoods"}
    changed = {
        "model": "api_example",
        "studies": ("vignettes",),
        "score": SETTINGS.score | {"answering": "generate"},
        "decision": SETTINGS.decision | {"endpoints": endpoints | {"vignettes": vignettes}},
    }
    settings = SETTINGS.model_copy(update=changed)

    with pytest.raises(
        EquipoiseError,
        match=r"^params\.yaml: decision\.endpoints\.vignettes: error_difference is computed from likelihoods, and "
        r"models/api_example\.yaml returns none: declare `without_likelihoods: \{figure: …, margin: …, why: …\}` "
        r"there, with one of written_error_difference, ",
    ):
        require_sound(settings, STUDIES, ROOT, machine, gives("none"))
    require_sound(settings, STUDIES, ROOT, machine, gives("top"))


def test_the_endpoint_without_likelihoods_needs_none() -> None:
    """One that does is refused for every model."""
    endpoints = SETTINGS.decision["endpoints"]
    shift = {"figure": "stereotype_shift_net", "margin": 0.5, "why": "Nats."}
    vignettes = endpoints["vignettes"] | {"without_likelihoods": shift}
    settings = changed("decision", endpoints=endpoints | {"vignettes": vignettes})

    with pytest.raises(
        EquipoiseError,
        match=r"decision\.endpoints\.vignettes\.without_likelihoods: stereotype_shift_net is computed from "
        "likelihoods: name another figure",
    ):
        require_sound(settings, STUDIES, ROOT, MadeMachine())


def test_saved_answers_say_which_studies_they_answer(tmp_path: Path) -> None:
    """By default all that we have prompts of; a model that is asked answers no cases of others."""
    (tmp_path / "models").mkdir()
    saved = f"title: t\nlicence: l\nbackend: replay\nfile: f.jsonl\nsha256: {'a' * 64}\n"
    cases = f"answers: [cases]\ncases: {{file: c.jsonl, sha256: {'a' * 64}}}\n"
    for name, text in (("all", saved), ("cases", saved + cases)):
        (tmp_path / f"models/{name}.yaml").write_text(text, encoding="utf-8")

    def answered(name: str, root: Path) -> list[bool]:
        entry = load_entry(name, root)
        return [answers(entry, STUDIES[study]) for study in ("vignettes", "openr1", "cases")]

    assert answered("smollm2", ROOT) == answered("all", tmp_path) == [True, True, False]
    assert answered("cases", tmp_path) == [False, False, True]


@pytest.mark.parametrize(
    "fields", ["answers: [cases]\n", f"cases: {{file: c.jsonl, sha256: {'a' * 64}}}\n"], ids=["outputs", "cases"]
)
def test_saved_outputs_and_their_cases_are_named_together(tmp_path: Path, fields: str) -> None:
    """Outputs without the cases that they answer, or cases without outputs, are refused before any work."""
    (tmp_path / "models").mkdir()
    entry = f"title: t\nlicence: l\nbackend: replay\nfile: f.jsonl\nsha256: {'a' * 64}\n{fields}"
    (tmp_path / "models/saved.yaml").write_text(entry, encoding="utf-8")
    settings = SETTINGS.model_copy(update={"model": "saved"})

    with pytest.raises(EquipoiseError, match=r"models/saved\.yaml: field cases: name the file of the cases"):
        STUDIES["cases"].requires(settings, tmp_path, MadeMachine())


def test_likelihoods_of_studies_that_are_left_out_are_not_needed(tmp_path: Path) -> None:
    """Saved outputs to cases return no likelihoods, and no option is needed; missing cases are named."""
    for part in ("data", "models"):
        shutil.copytree(ROOT / part, tmp_path / part)
    for name in ("answers", "asked"):
        (tmp_path / f"{name}.jsonl").write_text("", encoding="utf-8")
    empty = jsonl.sha256(tmp_path / "asked.jsonl")
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
            settings.model_copy(update={"studies": ("vignettes", "exam")}),
            STUDIES,
            tmp_path,
            MadeMachine(fault="no network"),
        )
    require_sound(settings, STUDIES, tmp_path, MadeMachine(fault="no network"))
    (tmp_path / "asked.jsonl").unlink()
    with pytest.raises(
        EquipoiseError, match=r"cases of saved answers missing: .*/asked\.jsonl: .*correct the fields cases\.file"
    ):
        require_sound(settings, STUDIES, tmp_path, MadeMachine())


def changed(section: str, **fields: object) -> params.Params:
    """The settings that ship, with other values in one section."""
    return SETTINGS.model_copy(update={section: getattr(SETTINGS, section) | fields})


@pytest.mark.parametrize(
    ("section", "field", "text", "fault"),
    [
        ("infer", "batch_size", "true", "Input should be a valid integer"),
        ("infer", "batch_size", "'16'", "Input should be a valid integer"),
        ("infer", "batch_size", "16.0", "Input should be a valid integer"),
        ("infer", "batch_size", "10000001", "Input should be less than or equal to 10000000"),
        ("fill", "batch_size", "1e9", "Input should be a valid integer"),
        ("fill", "threshold", ".nan", "Input should be a finite number"),
        ("fill", "threshold", "true", "Input should be a valid number"),
        ("measure", "n_bootstrap", "1000000000000", "Input should be less than or equal to 1000000"),
        ("measure", "alpha", "'0.05'", "Input should be a valid number"),
        ("measure", "alpha", ".inf", "Input should be a finite number"),
        ("measure", "seed", "-1", "Input should be greater than or equal to 0"),
        ("measure", "seed", "4294967296", "Input should be less than or equal to 4294967295"),
        ("sample", "per_city", "99999999999999999999", "Input should be less than or equal to 10000000"),
        ("build", "system", "5", "Input should be a valid string"),
        (
            "build",
            "profile",
            "!!binary 2020",
            "b'\\xdbM\\xb4' is not text, a number, true or false: write it as text, in quotes",
        ),
        ("pair", "dimensions", "race", "Input should be a valid array"),
    ],
)
def test_settings_are_strict(tmp_path: Path, section: str, field: str, text: str, fault: str) -> None:
    """Text is not a number, true is not 1, and every number has its bounds; one line names the key."""
    (tmp_path / "value.yaml").write_text(f"value: {text}\n", encoding="utf-8")
    value = read_yaml(tmp_path / "value.yaml")
    assert isinstance(value, dict)

    with pytest.raises(EquipoiseError) as caught:
        require_sound(changed(section, **{field: value["value"]}), STUDIES, ROOT, MadeMachine())
    where = "" if fault.startswith("b'") else f"field {field}: "
    assert str(caught.value).startswith(f"params.yaml, section {section}: {where}{fault}")


def test_small_numbers_are_numbers_as_dvc_reads_them(tmp_path: Path) -> None:
    """DVC reads 1e-3 as YAML 1.2 does, and so do we; PyYAML alone would take it for text."""
    (tmp_path / "value.yaml").write_text("[1e-3, -2E+2, .5e1, 1., 'e9', 1e, 0x1e3]\n", encoding="utf-8")

    assert read_yaml(tmp_path / "value.yaml") == [0.001, -200.0, 5.0, 1.0, "e9", "1e", 0x1E3]


@pytest.mark.parametrize(
    ("field", "text", "fault"),
    [
        (
            "generation",
            "{repetition_penalty: .inf, reasoning_tokens: 1, answer_tokens: 1}",
            "repetition_penalty: Input",
        ),
        ("generation", "{reasoning_tokens: true, answer_tokens: 1}", "reasoning_tokens: Input should be a valid int"),
        ("max_length", "1e3", "max_length: Input should be a valid integer"),
        ("parameters", f"'{'9' * 400}B'", "parameters: String should match pattern"),
    ],
)
def test_entries_of_the_registry_are_strict(tmp_path: Path, field: str, text: str, fault: str) -> None:
    """So are the registry's entries."""
    entry = (ROOT / "models/smollm2.yaml").read_text("utf-8")
    kept = yaml.safe_load(entry)
    kept.pop(field)
    (tmp_path / "models").mkdir()
    path = tmp_path / "models/own.yaml"
    path.write_text(yaml.safe_dump(kept) + f"{field}: {text}\n", encoding="utf-8")

    with pytest.raises(EquipoiseError) as caught:
        load_entry("own", tmp_path)
    assert str(caught.value).startswith(f"{path}: field ")
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            changed("measure", n_bootstrap=1_000_000),
            "measure.n_bootstrap 1,000,000 needs about 2 GB of memory, 1.5 GB is here: lower it to at most 750,000",
        ),
        (
            changed("fill", batch_size=200),
            "fill.batch_size 200 needs about 2 GB of memory, 1.5 GB is here: lower it to at most 150",
        ),
    ],
)
def test_memory_is_estimated_before_any_work(settings: params.Params, line: str) -> None:
    """Resamples and batches that do not fit are refused with what fits."""
    with pytest.raises(EquipoiseError) as caught:
        require_sound(settings, STUDIES, ROOT, MadeMachine(gigabytes=1.5))
    assert str(caught.value) == f"params.yaml: {line}"
    require_sound(settings, STUDIES, ROOT, MadeMachine(gigabytes=None))


def test_a_study_that_is_off_needs_no_memory() -> None:
    """The batches of the stigma study are not counted where it is not run."""
    settings = changed("fill", batch_size=2000).model_copy(update={"studies": ("vignettes",)})

    require_sound(settings, STUDIES, ROOT, MadeMachine(gigabytes=5.0))
