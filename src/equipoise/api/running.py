"""Ask a model, or any function, a few cases of a study, without DVC: `equipoise.run` and `equipoise run`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from itertools import chain, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from equipoise.backends.ask import Asker
from equipoise.core import cache, jsonl, params, shipped
from equipoise.core.display import first_of
from equipoise.core.errors import EquipoiseError
from equipoise.core.extras import extras_named
from equipoise.core.keys import unit_of
from equipoise.core.manifest import Manifest
from equipoise.core.params import Params
from equipoise.core.progress import Move, progress
from equipoise.core.prompts import Prompt, Response
from equipoise.figures.figure import headline_effects
from equipoise.figures.frame import Figures, frame_of, row_of
from equipoise.figures.result import StudyResult
from equipoise.figures.study import Study
from equipoise.models import registry
from equipoise.models.registry import AnyEntry, ApiEntry, Generation
from equipoise.pipeline.check import item_file, require_sound
from equipoise.pipeline.infer import asking
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import MANIFEST, Run
from equipoise.pipeline.steps import part, step
from equipoise.studies.registry import STUDIES
from equipoise.text.reasoning import strip_thinking

Messages = list[dict[str, str]]
"""A conversation: `role` (system, user or assistant) and `content` of each message, as OpenAI's API has them."""
Model = Callable[[Messages], str]
"""Replies to a conversation, whose last message is the user's."""
LIMIT = 5
"""Stories, questions or sentences that are asked unless more are wanted."""
FIRST = next(iter(STUDIES))
"""The study that is asked unless another is named: the vignettes."""
CALLED = "called"
"""The name of a model that is a function."""
INPUTS = (
    *("cities.yaml", "diagnoses.yaml", "features", "items", "lexicon", "medmcqa_diseases.yaml", "phantoms", "ratings"),
    *("raw", "sentences", "templates"),
)
"""What studies read below data/."""
FUNCTION = ApiEntry(
    backend="openai",
    title="A function",
    licence="not stated",
    generation=Generation(reasoning_tokens=1, answer_tokens=1),
    base_url="http://localhost",
    model=CALLED,
    key_env=None,
    offers="none",
)
"""The registry entry of a function: like a server that gives no likelihoods, but nothing is sent anywhere."""


def run(model: Model | str, *, study: str = FIRST, limit: int | None = LIMIT) -> Figures:
    """Ask a model a few cases of a study, and estimate its headline figures, with the verdict.

    Cases, prompts and figures are those of a run of the pipeline, as `equipoise results` prints them; but nothing is
    kept apart from the cached answers of a registered model. A function is called once for each reply, in order.

    Args:
        model: a function from a conversation to its next message, or the name of a model in models/. A conversation is
            a list of `{"role": "system" | "user" | "assistant", "content": "…"}`.
        study: a study of params.yaml, by default the vignettes. One that reads likelihoods alone needs a registered
            model; one of imported items needs these.
        limit: number of stories' pairs, questions, sentences of each group, or messages, spread evenly over all; None
            asks all.

    Returns:
        One figure a row, and the `verdict`, which from a few cases is seldom other than undecided. The notes say how
        much was asked.

    Raises:
        EquipoiseError: no such study or model, a limit below 1, a reply that is not a text, or a study that the model
            cannot answer; the message names the fix.
    """
    if study not in STUDIES:
        raise EquipoiseError(f"study {study!r}: choose one of {', '.join(STUDIES)}")
    if not (callable(model) or isinstance(model, str)):
        raise EquipoiseError(f"model {model!r}: give a function from messages to a text, or a name in models/")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise EquipoiseError(f"limit {limit!r}: give a whole number from 1, or None for all")
    if STUDIES[study].saved_outputs:
        raise EquipoiseError(f"study {study!r} scores saved outputs: pass them to equipoise.silent_bias instead")
    with extras_named(), _at_home(), TemporaryDirectory() as folder, progress("run") as moved:
        return _run(model, STUDIES[study], limit, Path(folder), moved)


@contextmanager
def _at_home() -> Iterator[None]:
    """Work where the files are, in a checkout or the package's folder; caches stay in the working folder (DVC_ROOT)."""
    if (home := shipped.root()) == Path():
        yield
        return
    given = os.environ.get("DVC_ROOT")
    os.environ["DVC_ROOT"] = given or str(Path.cwd())
    try:
        with chdir(home):
            yield
    finally:
        if given is None:
            del os.environ["DVC_ROOT"]


@dataclass(frozen=True)
class Called(Run):
    """A run whose model is a function, which the registry does not have."""

    @property
    def entry(self) -> AnyEntry:
        """The entry of a function."""
        return FUNCTION


def measured(model: str, study: str, changed: Mapping[str, dict[str, Any]], rows: Path | None = None) -> StudyResult:
    """Ask a registered model every case of a study under other settings, by section.

    The reasoning is read by the judge only if `rows` names an empty folder, which then holds the study's files as
    `data/` does; the study must be one whose reasoning can be left unread.
    """
    with extras_named(), _at_home(), TemporaryDirectory() as folder, progress("run") as moved:
        settings = params.load()
        others = {section: settings.values(section) | values for section, values in changed.items()}
        settings = settings.model_copy(update=others)
        data, reasoning = rows or Path(folder), rows is not None
        return _measured(model, STUDIES[study], None, data, moved, settings, reasoning=reasoning)[0]


def _run(model: Model | str, study: Study, limit: int | None, data: Path, moved: Move) -> Figures:
    return _figures(study, *_measured(model, study, limit, data, moved, params.load()))


def _measured(
    model: Model | str,
    study: Study,
    limit: int | None,
    data: Path,
    moved: Move,
    settings: Params,
    **scored: bool,
) -> tuple[StudyResult, int, int]:
    """Build, ask, score and measure a study in a folder; give the result, the cases asked, and how many there are."""
    settings = _settings(settings, study, model)
    for name in INPUTS:
        if (source := Path("data", name).resolve()).exists():
            (data / name).symlink_to(source)
    if isinstance(model, str):
        started = Run(study.name, data, settings, moved)
        _prepare(started)
    else:
        if (items := study.items(settings)) and not (file := item_file(Path(), items)).is_file():
            raise EquipoiseError(f"{file}: no such items: import them (`equipoise import --help`)")
        started = Called(study.name, data, settings, moved)
        jsonl.write_json(data / MANIFEST, _called().tracked())
    choose = partial(_spread, n=limit)
    own = part(study.name, "limited")
    counts = own.limited(data, choose) if own else None
    with redirect_stdout(StringIO()):  # the tables of what is there, which the notes say in a line
        step(study.name, "build")(started)
    asked, there = counts or _limited(started, choose)
    with asking(started) if isinstance(model, str) else nullcontext(_asker(model, moved)) as ask:
        jsonl.write(started.responses, _replies(started, ask))
    step(study.name, "score")(started, **scored)
    result = measure(started, step(study.name, "measure"), asked="server" if isinstance(model, str) else "function")
    return result, asked, there


def _settings(settings: Params, study: Study, model: Model | str) -> Params:
    """Choose the study and the model; a function is asked for text alone, and everything in one batch."""
    changed: dict[str, Any] = {"studies": (study.name,), "decision": settings.decision | {"sequential": False}}
    if isinstance(model, str):
        return settings.model_copy(update={**changed, "model": model})
    if (needs := study.likelihoods) and needs.exact:
        raise EquipoiseError(
            f"study {study.name!r} reads likelihoods, which a function does not give: name a model in models/"
        )
    changed["model"] = CALLED
    if needs:
        changed[needs.section] = settings.values(needs.section) | {needs.field: needs.other}
    return settings.model_copy(update=changed)


def _prepare(run: Run) -> None:
    """Check a registered model and make it ready, as the stages `check` and `export` do."""
    from equipoise.backends.offers import offered
    from equipoise.models import hub
    from equipoise.models.export import load_probes, prepare

    name, store = run.settings.model, cache.folder() / "models"
    entry = registry.load_entry(name, Path())
    require_sound(run.settings, STUDIES, Path())
    entry = hub.resolve_commit(name, entry, store, lambda _: None)
    made = prepare(name, entry, cache.root(), store, load_probes(Path("data/raw/probes.yaml")))
    if isinstance(entry, ApiEntry):
        made = made.model_copy(update={"likelihoods": offered(name, entry).written()})
    jsonl.write_json(store / f"{name}.json", made.written())
    jsonl.write_json(run.data / MANIFEST, made.tracked())


def _called() -> Manifest:
    return Manifest(model=CALLED, backend="openai", repo="a function", revision="unknown", licence=FUNCTION.licence)


def _limited(run: Run, choose: Callable[[Sequence[str]], list[str]]) -> tuple[int, int]:
    """Keep what `build` wrote about so many pairs, questions or messages; return how many, and how many there were."""
    prompts = jsonl.read(run.built("prompts"), Prompt)
    units = list(dict.fromkeys(unit_of(prompt.key) for prompt in prompts))
    kept = {*choose(units)}
    for path in run.built("prompts").parent.glob("*.jsonl"):
        rows = map(json.loads, filter(None, jsonl.read_text(path).split("\n")))
        mine = [row for row in rows if row.get("item", unit_of(row["key"])) in kept]
        jsonl.write_text(path, "".join(f"{jsonl.dumps(row)}\n" for row in mine))
    return len(kept), len(units)


def _spread(values: Sequence[Any], n: int | None) -> list[Any]:
    """Choose `n` of the values, evenly over their order; all if there are no more, or without a number."""
    if n is None or n >= len(values):
        return list(values)
    return [values[number * len(values) // n] for number in range(n)]


def _replies(run: Run, ask: Asker) -> Iterable[Response]:
    """Ask what `build` wrote, and what follows from the replies where the study's module `infer` has such prompts."""
    prompts = jsonl.read(run.built("prompts"), Prompt)
    replied = list(ask(prompts))
    follow = getattr(part(run.study, "infer"), "follow_ups", None)
    return replied if follow is None else chain(replied, ask(list(follow(run, prompts, replied))))


def _asker(model: Model, moved: Move) -> Asker:
    """Ask a function as a server is asked: one conversation for each prompt, and equal conversations once."""

    def ask(prompts: Sequence[Prompt]) -> Iterator[Response]:
        known: dict[str, Response] = {}
        for number, prompt in enumerate(prompts, start=1):
            content = prompt.model_dump_json(exclude={"key", "study"})
            if content not in known:
                known[content] = _converse(model, prompt)
            yield known[content].model_copy(update={"key": prompt.key, "study": prompt.study})
            moved(number, len(prompts))

    return ask


def _converse(model: Model, prompt: Prompt) -> Response:
    """Hold one conversation with a function; it is asked to begin its last reply with the prompt's prefix."""
    messages: Messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
    replies: list[str] = []
    for turn, given in zip_longest(prompt.turns[:-1], prompt.given):
        messages.append({"role": "user", "content": turn})
        if given is None:
            replies.append(_reply(model, messages))
        messages.append({"role": "assistant", "content": strip_thinking(given or replies[-1])[0]})
    last = prompt.turns[-1]
    if prompt.prefix and FUNCTION.prefix:
        last = f"{last}\n\n{FUNCTION.prefix.replace('{prefix}', prompt.prefix)}"
    replies.append(_reply(model, [*messages, {"role": "user", "content": last}]).removeprefix(prompt.prefix).lstrip())
    return Response(
        key=prompt.key,
        study=prompt.study,
        replies=tuple(replies),
        finished=(True,) * len(replies),
        log_likelihood={},
        prompt_tokens=0,
        generated_tokens=0,
    )


def _reply(model: Model, messages: Messages) -> str:
    reply = model([dict(message) for message in messages])
    if not isinstance(reply, str):
        raise EquipoiseError(f"model: a reply is {type(reply).__name__}, not a text: return the message's words")
    return reply


def _figures(study: Study, result: StudyResult, asked: int, there: int) -> Figures:
    frame = frame_of(row_of(effect) for _, effect in headline_effects(result.effects, study.figures))
    notes = [f"Asked {asked} of {there}: {study.question}"]
    if result.warnings:
        notes.append(f"Guards that warn: {first_of([guard.name.replace('_', ' ') for guard in result.warnings])}.")
    if asked < there:
        notes.append("So few cases show whether the model can be run, not whether it is biased.")
    return Figures(study.title, frame, tuple(notes), "" if result.verdict is None else result.verdict.sentence)
