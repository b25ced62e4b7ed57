"""The step `build` of each study: from what we wrote, or what was imported, to the rows and prompts of the study."""

from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from equipoise.backends.ask import agent, asker, exported
from equipoise.backends.base import Infer
from equipoise.backends.replay import saved_cases
from equipoise.core import cache, jsonl, stage
from equipoise.core.errors import EquipoiseError
from equipoise.core.yamlfile import load_yaml
from equipoise.materials import asked
from equipoise.materials.cities import load_cities
from equipoise.materials.evaluation import EvaluationPrompt
from equipoise.materials.questions import Item
from equipoise.materials.versions import STUBS
from equipoise.materials.vignette import Vignette
from equipoise.models.registry import PhantomEntry, require_dimensions
from equipoise.pipeline.facts import facts
from equipoise.pipeline.infer import asking
from equipoise.pipeline.run import Run
from equipoise.studies.exam.asked import exam_prompts
from equipoise.studies.exam.subsets import Sample, asked_items, sample_cities
from equipoise.studies.openr1.pairs import exclusions, message_prompt, pair_items
from equipoise.studies.openr1.rows import OpenR1Item, Pairing
from equipoise.studies.questions.asked import evaluator, question_prompts
from equipoise.studies.questions.neutralise import Neutralize, neutralise_items, spread
from equipoise.studies.questions.rows import Variant
from equipoise.studies.questions.variants.agents import Evaluate, Perturb
from equipoise.studies.questions.variants.loop import attack, complete, perturb
from equipoise.studies.questions.variants.templates import load_templates
from equipoise.studies.questions.variants.validators import load_clinical
from equipoise.studies.questions.variants.writers import choose_agents
from equipoise.studies.stigma.causal import sentence_prompts
from equipoise.studies.stigma.library import load_library as load_sentences
from equipoise.studies.stigma.rows import Filling
from equipoise.studies.vignettes.decisions import LEVEL, Asked, asked_of, asked_of_import, asked_of_story
from equipoise.studies.vignettes.library import load_library
from equipoise.studies.vignettes.panel import (
    Story,
    Telling,
    cases_file,
    load_panel,
    panel_rows,
    telling_prompts,
    tellings,
)
from equipoise.studies.vignettes.profiles import (
    Build,
    build,
    build_tellings,
    counts,
    counts_table,
    planned,
    vignette_prompts,
)
from equipoise.text.neutral.lexicon import load_lexicon


def vignettes(run: Run) -> None:
    """Compose the pairs of the chosen profile, their other tellings, and the prompts that ask about all; or a panel."""
    settings, library = run.settings.section("build", Build), load_library(run.data / "raw")
    tellings: tuple[Vignette, ...] = ()
    if settings.design == "panel":
        rows = panel_rows(library, settings, load_panel(run.data / "raw"))
    else:
        rows = build(library, settings.profile, settings.level, settings.cue)
        tellings = build_tellings(library, settings)
    if not run.entry.likelihoods:
        tellings = tuple(row for row in tellings if not row.key.endswith(STUBS))
    jsonl.write(run.built("vignettes"), rows)
    jsonl.write(run.built("tellings"), tellings)
    n = run.entry.generation.samples
    asked_of = (vignette_prompts(row, settings, n) for row in (*rows, *tellings))
    jsonl.write(run.built("prompts"), [prompt for prompts in asked_of for prompt in prompts])
    _tell(run)
    stories = len({row.pair for row in rows})
    told = f"{stories} stories x {len(rows) // stories} tellings = {len(rows)} cases"
    with stage.aside():
        Console().print(counts_table(counts(rows)) if settings.design == "pair" else told)


def decisions(run: Run) -> None:
    """Compose the pairs whose story asks for decisions, at the level for which these hold, and what is asked of each.

    Of a panel, our stories or imported ones are told of every group instead. The first prompts about ours are those of
    the vignettes, word for word: what has its response in the cache is not asked again.
    """
    settings, library = run.settings.section("build", Build), load_library(run.data / "raw")
    settings = settings.model_copy(update={"level": LEVEL, "stubs": False, "mirrors": False})
    arms: tuple[Vignette, ...] = ()
    others: tuple[Vignette, ...] = ()
    imported: list[Telling] = []
    asked_for: list[Asked] = []
    endpoints, wanted = library.endpoints, library.decisions.values()
    if settings.imported:
        stories = jsonl.read(cases_file(run.data, settings), Story)
        imported = list(tellings(stories, load_panel(run.data / "raw")))
        asked_for = [row for story in stories for row in asked_of_import(story.key, settings.endpoints, endpoints)]
    elif settings.design == "panel":
        arms = panel_rows(library, settings, load_panel(run.data / "raw"))
        asked_for = [
            row for story in {one.pair: None for one in arms} for row in asked_of_story(story, wanted, endpoints)
        ]
    else:
        arms = build(library, settings.profile, settings.level, settings.cue)
        others = build_tellings(library, settings)
        asked_for = [
            row
            for pair, _, parts in planned(library, settings.profile, settings.level, settings.cue)
            if parts.level == settings.level
            for row in asked_of(pair, parts, wanted, endpoints)
            if row.grade != "C" or settings.extrapolated
        ]
    chosen = {row.pair for row in asked_for}
    rows, more = (
        [row.model_copy(update={"study": run.study}) for row in told if row.pair in chosen] for told in (arms, others)
    )
    jsonl.write(run.built("vignettes"), rows)
    jsonl.write(run.built("tellings"), more)
    jsonl.write(run.built("imported"), imported)
    jsonl.write(run.built("decisions"), asked_for)
    how = run.entry.generation
    prompts = [prompt for row in (*rows, *more) for prompt in vignette_prompts(row, settings, how.samples)]
    for telling in imported:
        prompts += telling_prompts(telling, settings, tokens=how.reasoning_tokens, samples=how.samples)
    jsonl.write(run.built("prompts"), prompts)
    _tell(run)


def questions(run: Run) -> None:
    """Neutralise the questions, and give each its variants by the Generation, Fusion and Evaluation agents."""
    limit = run.settings.section("neutralize", Neutralize).limit
    items = _items(run, run.settings.items)
    lexicon = load_lexicon(run.data / "lexicon")
    neutralised = neutralise_items(spread(items, limit), lexicon, run.progress)
    jsonl.write(run.built("neutralised"), neutralised)
    chosen = run.settings.section("perturb", Perturb)
    templates = load_templates(chosen.templates)
    how_asked = asked.Asking(templates.evaluation, chosen.answering, chosen.orders)
    kept = [row for row in neutralised if row.excluded is None]
    _tell(run)  # the evaluator of later attempts asks before there are variants
    with cache.ResponseCache.open() as answers, asking(run) as ask:
        how = run.settings.section("infer", Infer)
        shared: dict[str, Any] = {"batch_size": how.batch_size, "progress": run.progress, "cluster": how.cluster}
        write, fuse = choose_agents(
            chosen, templates, lambda name, tokens: agent(name, Path(), answers, tokens=tokens, **shared)
        )
        make = partial(
            perturb,
            kept,
            design=chosen.design,
            generate=write,
            fuse=fuse,
            clinical=load_clinical(run.data / "lexicon" / "clinical.yaml"),
            attempts=chosen.attempts,
        )
        made = make()
        rows = complete(made)
        prompts, attempts = question_prompts(rows, kept, how_asked), list(made.attempts)
        attacks: list[Variant] = []
        if chosen.attempts > 1:
            if chosen.evaluator:
                other = asker(exported(chosen.evaluator, Path()), Path(), answers, **shared)
                runs: list[tuple[Evaluate, int | None]] = [(evaluator(kept, how_asked, other), None)]
            else:
                # What one half of the orders chooses is measured in the other.
                runs = [(evaluator(kept, how_asked, ask, half), 1 - half) for half in (0, 1)]
            attempts = []
            for number, (evaluate, measured) in enumerate(runs):
                found, tried = attack(make(evaluate=evaluate), number)
                attacks += found
                attempts += tried
                prompts += question_prompts(found, kept, how_asked, measured)
    jsonl.write(run.built("variants"), rows)
    jsonl.write(run.built("attacks"), attacks)
    jsonl.write(run.built("attempts"), attempts)
    jsonl.write(run.built("prompts"), prompts)


def exam(run: Run) -> None:
    """Draw each city's exam: questions in the proportions of its diseases, each asked once as written."""
    settings = run.settings.section("sample", Sample)
    rows = _items(run, settings.items)
    sampled = sample_cities(rows, load_cities(run.data / "cities.yaml"), settings)
    template = load_yaml(run.data / "templates" / "evaluation.yaml", EvaluationPrompt)
    how = asked.Asking(template, settings.answering, settings.orders)
    prompts = [prompt for item in asked_items(rows, sampled) for prompt in exam_prompts(item, how)]
    jsonl.write(run.built("subsets"), sampled)
    jsonl.write(run.built("prompts"), prompts)
    _tell(run)


def stigma(run: Run) -> None:
    """Write the prompts of the stigma sentences; a masked scorer reads the sentences themselves, and asks nothing."""
    settings = run.settings.section("fill", Filling)
    sentences = load_sentences(run.data / "sentences")
    jsonl.write(run.built("prompts"), sentence_prompts(sentences, settings) if settings.scorer == "causal" else [])
    _tell(run)


def openr1(run: Run) -> None:
    """Tell the messages of OpenR1-Psy in two arms that differ in a demographic statement, and write the prompts."""
    settings = run.settings.section("pair", Pairing)
    authored = load_library(run.data / "raw")
    personas, contrasts = list(authored.personas.values()), list(authored.contrasts.values())
    items = run.data / "items" / f"{settings.items}.jsonl"
    made = pair_items(jsonl.read(items, OpenR1Item), personas, contrasts, settings, str(items))
    jsonl.write(run.built("messages"), made.messages)
    jsonl.write(run.built("prompts"), [message_prompt(message, settings) for message in made.messages])
    _tell(run)
    with stage.aside():
        left_out = exclusions(made.excluded) or "none"
        Console().print(f"{len(made.messages)} messages; left out: {left_out}", highlight=False)


def cases(run: Run) -> None:
    """Take over the cases that the model's saved outputs answer."""
    asked_cases, _ = saved_cases(run.settings.model, run.entry, cache.root())
    jsonl.write_text(run.built("cases"), asked_cases)
    jsonl.write(run.built("prompts"), [])


def _items(run: Run, name: str) -> list[Item]:
    """Read the questions of a study; a file without any is an EquipoiseError."""
    path = run.data / "items" / f"{name}.jsonl"
    rows = jsonl.read(path, Item)
    if not rows:
        message = f"{path}: no rows: import the items again (`equipoise import --help`), or name items: authored"
        raise EquipoiseError(message)
    return rows


def _tell(run: Run) -> None:
    """Write what a phantom is told of the prompts; any other model is told nothing."""
    if isinstance(run.entry, PhantomEntry):
        require_dimensions(run.settings.model, run.entry, load_library(run.data / "raw").dimensions)
        jsonl.write(run.built("facts"), facts(run))
