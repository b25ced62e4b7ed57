"""The checklist TRIPOD-LLM (`tripod.yaml`), filled where the run knows the answer, else left to the authors.

Source: Gallifant et al. (2025), Nature Medicine 31:60-69.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from equipoise.core.row import Frozen, Text
from equipoise.core.visible import line, table_row
from equipoise.core.yamlfile import load_yaml
from equipoise.export.run import LIMITS, Run
from equipoise.report.guards import guards
from equipoise.report.inputs import provenance

FILE = Path(__file__).parent / "tripod.yaml"
AUTHORS = "To be completed by the authors."
NOT_APPLICABLE = {
    "no_summary": "Not applicable: nothing is summarized.",
    "no_tuning": "Not applicable: the model is evaluated as it is.",
    "no_patients": "Not applicable where the cases are authored: no patient's data are used.",
}


class Item(Frozen):
    """An item of the checklist: what it asks, and the name of the text that answers it, if the run has one."""

    number: Text
    topic: Text
    asks: Text
    answer: Text | None = None


class Checklist(Frozen):
    """The file of items."""

    items: tuple[Item, ...]


def files(run: Run) -> Mapping[str, str]:
    """Write `tripod_llm.md`."""
    items, known = load_yaml(FILE, Checklist).items, answers(run)
    rows = [(item.number, item.topic, item.asks, known[item.answer] if item.answer else AUTHORS) for item in items]
    filled = sum(not reported.startswith(AUTHORS) for *_, reported in rows)
    about = (
        f"{filled} of {len(items)} items are filled from the run, for the authors to check. Items are in short words; "
        "the wording that counts: Gallifant et al. (2025), Nature Medicine 31:60-69, doi:10.1038/s41591-024-03425-5."
    )
    lines = [
        f"# TRIPOD-LLM checklist: {run.title}",
        "",
        about,
        "",
        "| item | topic | asks for | reported |",
        "|---|---|---|---|",
        *(table_row(map(line, row)) for row in rows),
        "",
    ]
    return {"tripod_llm.md": "\n".join(lines)}


def answers(run: Run) -> Mapping[str, str]:
    """Give every text by which the run answers an item."""
    known = provenance(run.manifest, run.settings, run.root)
    collected = guards([assessment.result for assessment in run.studies])
    studies = run.studies
    margins = _each(
        (assessment.study.title, assessment.opening.margins or "no margin, so no verdict") for assessment in studies
    )
    counted = [
        (assessment.study.title, assessment.result.counts)
        for assessment in studies
        if assessment.result.counts is not None
    ]
    level = f"{100 * (1 - run.alpha):g} %"
    when = f"made on {run.made:%Y-%m-%d}" if run.made else "made at an unknown date"
    texts = {
        "title": f"Demographic bias of {run.title}: an evaluation on "
        f"{', '.join(assessment.study.title for assessment in studies)}.",
        "rationale": _each((assessment.study.title, assessment.study.whom) for assessment in studies),
        "intended_use": run.intended_use or f"{AUTHORS} (`intended_use` in params.yaml is empty.)",
        "objectives": _each(
            ("Evaluation. " + assessment.study.title, assessment.study.question) for assessment in studies
        ),
        "sources": "Evaluation: "
        + "; ".join(
            dict.fromkeys(
                f"{source.title} ({source.licence})" for source in run.inputs if source.path.startswith("data/")
            )
        )
        + f". Training data: {AUTHORS}",
        "sizes": _each((title, f"{counts.n_prompts} prompts") for title, counts in counted),
        "guards": collected.summary,
        "counts": _each(
            (title, ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.known.items()))
            for title, counts in counted
        ),
        "model": f"{run.title}: {run.version}. Last date of training: {AUTHORS}",
        "generation": f"Prompts, settings and seeds are in params.yaml. {_pairs(known.drawing)}",
        "output": "Likelihoods of the listed answers, and written replies of which the answer is read; each figure's "
        "definition is in docs/metrics.",
        "figures": "; ".join(dict.fromkeys(figure.title for assessment in studies for figure, _ in assessment.rows))
        + ".",
        "outcome": f"Declared before the run. {margins} Intervals at {level}. The run was {when}.",
        "judge": f"A model reads the reasoning. {_pairs(known.judge)}",
        "comparison": "equipoise leaderboard compares recorded runs of other models, some with a planted bias.",
        "compute": f"Backend {run.manifest.backend}; {_pairs(sorted(run.manifest.versions.items()))} "
        "Machine: report/run.js, where the run was made here.",
        "protocol": f"Figures, margins and rules are declared in params.yaml before the run. {margins}",
        "data": "equipoise export run --to croissant writes the cases with their licences.",
        "code": f"Equipoise, Apache-2.0{f', commit {run.commit}' if run.commit else ''}.",
        "verdicts": _each((assessment.study.title, assessment.claim) for assessment in studies),
        "interpretation": _each((assessment.study.title, assessment.opening.sentence) for assessment in studies),
        "limits": LIMITS,
    }
    return texts | NOT_APPLICABLE


def _each(parts: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"{name}: {text if text.endswith(('.', '?')) else f'{text}.'}" for name, text in parts)


def _pairs(rows: Iterable[tuple[str, str]]) -> str:
    return "; ".join(f"{name} {value}" for name, value in rows) + "."
