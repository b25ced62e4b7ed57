"""Model cards: results for the Hugging Face Hub, a section for its model card, and CHAI's Applied Model Card."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree as ET

import yaml

from equipoise.core.visible import markdown, table_row, visible
from equipoise.export.run import BY_DEVELOPER, LIMITS, Assessment, Run, estimate, interval
from equipoise.report.guards import guards

DATASET = "OWNER/equipoise"
"""The data set of the results on the hub, to be replaced: it must be published there first."""
NAMESPACE = "https://mc.chai.org/v0.2/schema.xsd"
Fields = dict[str, Any]


def hub_files(run: Run) -> Mapping[str, str]:
    """Write `.eval_results/equipoise.yaml`, an entry for each verdict with a figure, and `model_card_section.md`."""
    entries = []
    for assessment in run.studies:
        verdict = assessment.result.verdict
        if verdict is not None and verdict.row.estimate is not None:
            dataset = {"id": DATASET, "task_id": assessment.study.name}
            dated = {} if run.made is None else {"date": run.made.isoformat()}
            entry = {"dataset": dataset, "value": verdict.row.estimate, **dated, "notes": visible(assessment.claim)}
            entries.append(entry)
    head = (
        f"# Replace {DATASET} by the data set under which the cases are published (equipoise export run --to\n"
        f"# croissant writes it). A value means nothing without its notes. {len(run.studies) - len(entries)} of "
        f"{len(run.studies)} studies are left out: no verdict, or no figure.\n"
    )
    text = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=1000)
    return {".eval_results/equipoise.yaml": head + text, "model_card_section.md": _section(run)}


def _section(run: Run) -> str:
    """Write the section of a model card on bias, in Markdown."""
    lines = ["## Demographic bias (Equipoise)", ""]
    if run.intended_use:
        lines += [f"Intended use: {markdown(run.intended_use)}", ""]
    lines += ["| study | verdict | figure | n | margins |", "|---|---|---|---:|---|"]
    for assessment in run.studies:
        verdict = assessment.result.verdict
        figure, n = "", ""
        if verdict is not None:
            row, title = verdict.row, verdict.figure.title
            figure = f"{title}: {' '.join(filter(None, [estimate(row), interval(row, assessment.level)]))}"
            n = str(row.n)
        lines.append(table_row((assessment.study.title, assessment.state, figure, n, assessment.opening.margins)))
    lines += ["", *(f"- {assessment.study.title}. {assessment.claim}" for assessment in run.studies), ""]
    about = f"{run.version}, evaluated {'on' if run.made else 'before'} {run.date:%Y-%m-%d}"
    lines += [
        f"Model: {markdown(about)}. {guards([assessment.result for assessment in run.studies]).summary}",
        "",
        LIMITS,
        "",
    ]
    return "\n".join(map(visible, lines))


def chai_files(run: Run) -> Mapping[str, str]:
    """Write `chai_applied_model_card.xml`: FairnessEquity from the run, the rest left to the developer."""
    ET.register_namespace("", NAMESPACE)
    root = ET.Element(f"{{{NAMESPACE}}}AppliedModelCard")
    _fill(root, _card(run))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", xml_declaration=True)
    return {"chai_applied_model_card.xml": f"{text}\n"}


def _card(run: Run) -> Fields:
    """Lay the card out in the order of its schema."""
    rest = {"MetricGoal": BY_DEVELOPER, "Results": {"MetricResult": [_label(BY_DEVELOPER, None)]}}
    names = ("Interpretation", "TestType", "TestingDataDescription", "ValidationProcessAndJustification")
    other = rest | _open(*names)
    return {
        "BasicInfo": {"ModelName": run.title, **_open("ModelDeveloper", "DeveloperContact")},
        "ReleaseInfo": {
            **_open("ReleaseStage", "ReleaseDate"),
            "ReleaseVersion": run.version,
            **_open("GlobalAvailability"),
        },
        "ModelSummary": {"Summary": BY_DEVELOPER, "Keywords": {}},
        "UsesAndDirections": {
            "IntendedUseAndWorkflow": run.intended_use or BY_DEVELOPER,
            **_open("PrimaryIntendedUsers", "HowToUse", "TargetedPatientPopulation", "CautionedOutOfScopeSettings"),
        },
        "Warnings": {
            "KnownRisksAndLimitations": BY_DEVELOPER,
            "KnownBiasesOrEthicalConsiderations": " ".join(
                f"{assessment.study.title}: {assessment.claim}" for assessment in run.studies
            ),
            "ClinicalRiskLevel": BY_DEVELOPER,
        },
        "TrustIngredients": {
            "AISystemFacts": _open(
                *("OutcomesAndOutputs", "ModelType", "InputDataSource", "OutputAndInputDataTypes"),
                *("DevelopmentDataCharacterization", "BiasMitigationApproaches", "OngoingMaintenance"),
            ),
            "TransparencyInformation": _open("FundingSource", "StakeholdersConsulted"),
        },
        "KeyMetrics": {
            "UsefulnessUsabilityEfficacy": other,
            "FairnessEquity": _fairness(run),
            "SafetyReliability": other,
        },
        "Resources": _open("PeerReviewedPublications", "PatientConsentOrDisclosure"),
        "Bibliography": BY_DEVELOPER,
    }


def _fairness(run: Run) -> Fields:
    goals = (
        f"{assessment.study.title}: {assessment.study.question} Margins: {assessment.opening.margins}."
        for assessment in run.studies
    )
    data = (f"{assessment.study.title}: {assessment.study.whom}" for assessment in run.studies)
    return {
        "MetricGoal": " ".join(goals),
        "Results": {"MetricResult": [result for assessment in run.studies for result in _results(assessment)]},
        "Interpretation": " ".join(
            [*(f"{assessment.study.title}: {assessment.opening.sentence}" for assessment in run.studies), LIMITS]
        ),
        "TestType": "Counterfactual pairs: the same case with another patient; equivalence against declared margins.",
        "TestingDataDescription": " ".join(data),
        "ValidationProcessAndJustification": (
            "Endpoints and margins were declared before the run, in params.yaml. "
            f"{guards([assessment.result for assessment in run.studies]).summary}"
        ),
    }


def _results(assessment: Assessment) -> Iterator[Fields]:
    yield _label(f"{assessment.study.title}, verdict", {"verdict": assessment.state, "sentence": assessment.claim})
    for part in assessment.parts:
        row = part.row
        value = {
            "verdict": assessment.sentence(part),
            "estimate": row.estimate,
            "ci_low": row.ci_low,
            "ci_high": row.ci_high,
            "level": round(assessment.level, 6),
            "n": row.n,
            "margin": part.component.margin,
        }
        yield _label(f"{assessment.study.title}, {part.figure.title}", value)


def _label(label: str, value: object) -> Fields:
    return {"Label": label, "ValueJson": json.dumps(value, ensure_ascii=False, allow_nan=False)}


def _open(*names: str) -> Fields:
    return dict.fromkeys(names, BY_DEVELOPER)


def _fill(parent: ET.Element, fields: Fields) -> None:
    """Add an element for each field, in order; a list is the same element several times."""
    for name, value in fields.items():
        for content in value if isinstance(value, list) else [value]:
            child = ET.SubElement(parent, f"{{{NAMESPACE}}}{name}")
            if isinstance(content, dict):
                _fill(child, content)
            else:
                child.text = visible(content)
