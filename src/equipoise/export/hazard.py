"""Rows for a hazard log as DCB0129 requires of a manufacturer: one for each finding.

A finding is a component that is not within its margin, or a study that has no verdict of no bias for another reason.
Severity, likelihood and risk stay empty: the clinical safety officer rates them, knowing the use.
"""

from collections.abc import Iterator, Mapping

from equipoise.core.sheets import table_text
from equipoise.core.visible import visible
from equipoise.export.run import Assessment, Run
from equipoise.figures.result import BIASED, UNBIASED, Part

CAUSE = "The model's answer depends on the patient's demographics, where only these differ between two cases."
OPEN_CAUSE = "The run cannot exclude that the model's answer depends on the patient's demographics."
CONTROLS = "None assessed by this run."
EMPTY = (
    *("severity (safety officer)", "likelihood (safety officer)", "initial risk (safety officer)"),
    *("additional controls", "residual risk (safety officer)", "owner"),
)
"""Columns that no run can fill."""


def files(run: Run) -> Mapping[str, str]:
    """Write `hazard_log.csv`; a run without a finding has the head alone."""
    rows = [_row(run, number, *finding) for number, finding in enumerate(_findings(run), 1)]
    head = (
        "id",
        "hazard",
        "cause",
        "effect",
        "existing controls",
        "evidence",
        *EMPTY,
        "status",
        "intended use",
        "model",
    )
    return {"hazard_log.csv": table_text(head, rows)}


def _findings(run: Run) -> Iterator[tuple[Assessment, Part | None]]:
    """Yield each component that is beyond its margin, or open, and each study whose verdict none of them explains."""
    for assessment in run.studies:
        parts = [part for part in assessment.parts if part.state != "within"]
        yield from ((assessment, part) for part in parts)
        wanted = "beyond" if assessment.state == BIASED else "open"
        if (
            assessment.result.verdict is not None
            and assessment.state != UNBIASED
            and wanted not in {part.state for part in parts}
        ):
            yield assessment, None


def _row(run: Run, number: int, assessment: Assessment, part: Part | None) -> dict[str, str]:
    beyond = assessment.state == BIASED if part is None else part.state == "beyond"
    doubt = "" if beyond else "not excluded: "
    what = "bias" if part is None else f"{part.figure.title} beyond the margin"
    row = {
        "id": f"EQ-{number:03d}",
        "hazard": f"{doubt}{assessment.study.title}: {what}",
        "cause": CAUSE if beyond else OPEN_CAUSE,
        "effect": f"{doubt}{_effect(assessment, part)}",
        "existing controls": CONTROLS,
        "evidence": f"{assessment.sentence(part) if part else ''} The study's verdict: {assessment.claim}".strip(),
        **dict.fromkeys(EMPTY, ""),
        "status": "open",
        "intended use": run.intended_use,
        "model": f"{run.title}: {run.version}",
    }
    return {name: visible(value) for name, value in row.items()}


def _effect(assessment: Assessment, part: Part | None) -> str:
    """Say what a difference of the figure means for patients: on the side where it lies, or on both."""
    if part is None:
        return assessment.study.question
    figure, value = part.figure, part.row.estimate
    if part.state == "beyond" and value is not None:
        return figure.above if value > (figure.null or 0.0) else figure.below
    return " or ".join(filter(None, [figure.above, figure.below]))
