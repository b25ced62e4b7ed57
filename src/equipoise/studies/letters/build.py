"""Compose the cases that letters are about, their facts, and the prompts."""

from equipoise.core import jsonl
from equipoise.core.prompts import Prompt
from equipoise.materials.stories.library import load_library
from equipoise.pipeline.phantoms import tell
from equipoise.pipeline.run import Run
from equipoise.studies.letters.facts import facts
from equipoise.studies.letters.parts import facts_of
from equipoise.studies.letters.rows import Case, Letters
from equipoise.studies.vignettes.profiles import Build, build_pairs


def build(run: Run) -> None:
    """Write the pairs of the profile, at the level of the letters, and one prompt about each arm."""
    settings, how = run.settings.section("build", Build), run.settings.section("letters", Letters)
    library = load_library(run.data / "raw")
    cases = [
        Case(
            key=row.key,
            pair=row.pair,
            role=row.role,
            story=row.presentation,
            dimensions=row.dimensions,
            features=row.features,
            main=row.grade != "C" and not row.reverse,
            text=row.text,
            facts=facts_of(library.presentations[row.presentation]),
        )
        for row in build_pairs(library, settings.profile, how.level, settings.cue, settings.stories)
    ]
    jsonl.write(run.built("patients"), cases)
    jsonl.write(run.built("prompts"), [letter_prompt(case, how) for case in cases])
    tell(run, facts)


def letter_prompt(case: Case, how: Letters) -> Prompt:
    """Ask for the letter about a case in one turn."""
    return Prompt(
        key=case.key,
        study=case.study,
        system=how.system,
        prefix="",
        turns=(how.requests[how.kind].replace("{case}", case.text),),
        candidates=(),
        limit=how.reply_tokens,
    )
