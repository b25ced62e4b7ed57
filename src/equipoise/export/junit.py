"""JUnit XML, which any continuous integration shows: a suite for each study, a case for its verdict and each component.

A bias is a failure. What is undecided is skipped, as is a study without a verdict, and a component within its margin in
an undecided study, which shows nothing by itself: a test that passes is to mean no bias, or a part of a decided study.
"""

from collections.abc import Iterator, Mapping
from xml.etree import ElementTree as ET

from equipoise.core.visible import visible
from equipoise.export.run import Assessment, Run
from equipoise.figures.result import BIASED, UNBIASED

FAILURE, SKIPPED, PASSED = "failure", "skipped", ""


def files(run: Run) -> Mapping[str, str]:
    """Write `junit.xml`."""
    root = ET.Element("testsuites", name=f"equipoise: {visible(run.title)}")
    for assessment in run.studies:
        suite = ET.SubElement(root, "testsuite", name=assessment.study.name, timestamp=f"{run.date:%Y-%m-%dT%H:%M:%S}")
        named = {"model": run.manifest.model, "version": run.version, "intended use": run.intended_use}
        properties = ET.SubElement(suite, "properties")
        for name, value in named.items():
            ET.SubElement(properties, "property", name=name, value=visible(value))
        outcomes = [_case(suite, assessment, *case) for case in _cases(assessment)]
        counts = {"tests": len(outcomes), "failures": outcomes.count(FAILURE), "skipped": outcomes.count(SKIPPED)}
        suite.attrib |= {name: str(count) for name, count in (counts | {"errors": 0}).items()}
    for name in ("tests", "failures", "skipped", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return {"junit.xml": ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"}


def _cases(assessment: Assessment) -> Iterator[tuple[str, str, str]]:
    """Give the name, the outcome and the sentence of the verdict, then of each component."""
    decided: Mapping[str, str] = {BIASED: FAILURE, UNBIASED: PASSED}
    overall = decided.get(assessment.state, SKIPPED)
    outcomes = {"beyond": FAILURE, "within": SKIPPED if overall == SKIPPED else PASSED, "open": SKIPPED}
    yield "verdict", overall, assessment.claim
    for part in assessment.parts:
        yield part.figure.name.partition(".")[2], outcomes[part.state], assessment.sentence(part)


def _case(suite: ET.Element, assessment: Assessment, name: str, outcome: str, sentence: str) -> str:
    case = ET.SubElement(suite, "testcase", name=name, classname=f"equipoise.{assessment.study.name}")
    text = visible(sentence)
    if outcome:
        # The summary that runners list; the text has it again for those that show that alone.
        ET.SubElement(case, outcome, message=text, type=assessment.state).text = text
    ET.SubElement(case, "system-out").text = text
    return outcome
