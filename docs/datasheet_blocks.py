"""The generated parts of docs/datasheet-vignettes.md: rows of the authored files, cases of each profile, and evidence.

`cog -I docs -r docs/datasheet-vignettes.md` rewrites them.
"""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import get_args

from equipoise.materials.pairs import NEGLECT, NEUTRAL
from equipoise.materials.stories.library import Library, load_library
from equipoise.materials.stories.schema import Stereotype
from equipoise.materials.vignette import Grade
from equipoise.studies.vignettes.profiles import Profile, build_pairs, counts, profile_pairs

ROOT = Path(__file__).parents[1]
RAW = ROOT / "data/raw"
COLUMNS = ("comparison group", "error named", "log ratio at most -0.5", "within 0.3", "at least 0.3", "with a mirror")


@cache
def library() -> Library:
    """Load the authored files."""
    return load_library(RAW)


def files() -> str:
    """Count the rows of each authored file."""
    own = library()
    stories = own.presentations.values()
    rows = [row for story in stories for row in story.stereotypes]
    mirrors = sum(row.mirror is not None for row in rows)
    reverse = sum(contrast.reverse for contrast in own.contrasts.values())
    people = own.personas.values()
    new, comorbid = sum(person.new for person in people), sum(bool(person.comorbidities) for person in people)
    at_risk = sum(person.risk == "high" for person in people)
    named = {
        "personas.yaml": f"{len(people)} people: {len(people) - new} with the conditions of the first set, {new} with "
        f"those added to it; {comorbid} with comorbidities, {at_risk} at high risk; a pair about each",
        "presentations/": f"{len(stories)} clinical stories, physical and mental, with {len(rows)} documented errors "
        f"by dimension and {mirrors} mirrors, in files named after the dimensions of most of their stories",
        "contrasts.yaml": f"{len(own.contrasts)} contrasts of {len(own.dimensions)} dimensions, {reverse} of them in "
        f"the reverse direction, and {len(own.settings)} settings",
        "pairs.yaml": f"{len(own.pairs)} pairs: presentation, persona, setting and contrasts of each",
        "endpoints.yaml": f"{len(own.endpoints)} end-points of decision in three families: question, ordered levels, "
        "settings, usual direction of the bias",
        "decisions/": f"{len(own.decisions)} decisions on {len({row.story for row in own.decisions.values()})} of the "
        "stories: the guideline's level, the direction of the bias, and its evidence by group",
        "details.yaml": f"{len(own.details)} kinds of irrelevant detail, each in a short and a long wording, for the "
        "control versions",
        "harm.yaml": f"{len(own.harms)} classes of harm: what a delay does, and the expected answers that have it",
    }
    return "\n".join(["| file | rows |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in named.items())])


def levels() -> str:
    """Lay out how sure models are of the expected answer and of the documented error, level by level."""
    lines = [
        "| model | level | expected answer | likeliest in | documented error | likeliest in |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in json.loads((ROOT / "benchmarks/levels.json").read_text(encoding="utf-8")):
        cells = [
            f"{row[name]['mean']:.2f} | {row[name]['likeliest']} of {row['n']}" for name in ("expected", "documented")
        ]
        lines.append(f"| {row['title']} | `{row['level']}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def cases() -> str:
    """Count the cases of each profile, by dimension and combination."""
    profiles = get_args(Profile)
    counted = [counts(build_pairs(library(), profile)) for profile in profiles]
    rows = [f"| cases (two per pair) | {' | '.join(profiles)} |", f"|---|{'---|' * len(profiles)}"]
    combinations = sorted(
        {group for each in counted for group in each["combination"]}, key=lambda name: (name.count("+"), name)
    )
    for family, groups in (("dimension", library().dimensions), ("combination", combinations), ("overall", ["all"])):
        for group in groups:
            cells = [str(each[family].get(group, {"n_cases": 0})["n_cases"]) for each in counted]
            rows.append(f"| {group} | {' | '.join(cells)} |")
    return "\n".join(rows)


def errors() -> str:
    """Count the documented errors of each dimension: grades, what grade A needs, epidemiology and mirrors."""
    rows = [row for story in library().presentations.values() for row in story.stereotypes]
    lines = [f"| documented errors | rows | grade A | B | C | {' | '.join(COLUMNS)} |", f"|---|{'---|' * 10}"]
    for name in (*library().dimensions, "all"):
        own = [row for row in rows if name in (row.dimension, "all")]
        lines.append(f"| of {name} | {' | '.join(map(str, error_counts(own)))} |")
    return "\n".join(lines)


def error_counts(rows: Iterable[Stereotype]) -> list[int]:
    """Count documented errors: all, by grade, by what grade A needs, by epidemiology, and with a mirror."""
    own = list(rows)
    ratios = [row.log_ratio.value for row in own]
    return [
        len(own),
        *(sum(row.evidence.grade == grade for row in own) for grade in get_args(Grade)),
        sum(row.evidence.comparison for row in own),
        sum(row.evidence.error_named for row in own),
        sum(ratio <= NEGLECT for ratio in ratios),
        sum(abs(ratio) < NEUTRAL for ratio in ratios),
        sum(ratio >= NEUTRAL for ratio in ratios),
        sum(row.mirror is not None for row in own),
    ]


def graded() -> str:
    """Say how many pairs of `core` and of `powered` have the best evidence."""
    shares = []
    for profile in ("core", "powered"):
        evidence = [parts.tested.evidence for _, _, parts in profile_pairs(library(), profile)]
        best = sum(row.grade == "A" for row in evidence)
        compared, named = (sum(getattr(row, flag) for row in evidence) for flag in ("comparison", "error_named"))
        shares.append(
            f"{best} of {len(evidence)} pairs in `{profile}` have grade A ({best / len(evidence):.0%}); the papers of "
            f"{compared} have a comparison group, those of {named} name the error"
        )
    return f"{shares[0]}. {shares[1]}."
