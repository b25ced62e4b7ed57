"""A run for the tests of the report: effects made by hand, and pairs whose replies are hostile."""

from __future__ import annotations

import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import projects
from equipoise.core import jsonl
from equipoise.core.manifest import Manifest
from equipoise.figures.effects import Effect
from equipoise.figures.layout import result_of
from equipoise.report.page import Report, read_report
from equipoise.studies.registry import FIGURES
from runs import housing_study

if TYPE_CHECKING:
    from collections.abc import Iterable

    from equipoise.figures.result import StudyResult

ROOT = Path(__file__).parents[2]
HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> "
    "<svg onload=alert(1)> {{ 7 * 7 }} <b>bold</b>\x00\x1b[31m </details></section> \u202e"
)
GROUPS = {
    ("vignettes", "dimension"): ("age", "race"),
    ("questions", "city"): ("dublin/race", "london/ses"),
    ("exam", "city"): ("dublin", "london"),
    ("decisions", "endpoint"): ("belief", "triage"),
}
"""Groups of the families whose figures are of every group."""
VOID = frozenset({"meta", "br", "img", "input", "link", "hr"})


def report_of(data: Path) -> Report:
    """Make the report of a run whose rows lie in a new folder; the first arm's reply is hostile."""
    vignettes, responses, judgements = housing_study()
    hostile = HOSTILE + "The man is homeless."
    responses[0] = responses[0].model_copy(update={"replies": (hostile, HOSTILE)})
    judgements[0] = judgements[0].model_copy(update={"window": "<b>bold</b>", "label": "<i>x</i>"})
    for name, rows in (("built/vignettes", vignettes), ("responses", responses), ("judgements", judgements)):
        jsonl.write(data / "vignettes" / f"{name}.jsonl", rows)
    manifest = Manifest(
        model="tiny", repo="r", revision="abc", licence="MIT", weights={"model.onnx": "f" * 64}, versions={"torch": "2"}
    )
    jsonl.write_json(data / "manifest.json", manifest.model_dump())
    for study in ("vignettes", "questions", "exam", "stigma", "decisions"):
        jsonl.write(data / study / "effects.jsonl", [row for row in effects() if row.study == study])
    shutil.copytree(ROOT / "data/features", data / "features")
    (data / "raw").symlink_to(ROOT / "data/raw")
    project = data / "project"
    project.mkdir(parents=True)
    for name in ("data", "judge", "models"):
        (project / name).symlink_to(ROOT / name)
    (project / "params.yaml").write_text(projects.committed("params.yaml"), encoding="utf-8")
    return read_report(data, ROOT / ".dvc/plots", ROOT / "docs", project)


def effect(key: str, n: int, estimate: float | None, **more: float) -> Effect:
    """Make an effect from its key, `<study>/<family>/<group>/<measure>`."""
    study, family, *group, measure = key.split("/")
    return Effect.model_validate(
        {
            "key": key,
            "study": study,
            "family": family,
            "group": "/".join(group),
            "measure": measure,
            "n": n,
            "estimate": estimate,
            **more,
        }
    )


def results_of(rows: Iterable[Effect]) -> dict[str, StudyResult]:
    """Read the result of each study from rows."""
    rows = list(rows)
    return {study: result_of(study, rows) for study in dict.fromkeys(row.study for row in rows)}


def effects() -> list[Effect]:
    """Make every headline figure, each another, of the studies of the default run, and what the pictures also need."""
    rows = []
    for figure in FIGURES:
        if figure.pick is None and figure.study not in {"letters", "openr1", "cases"}:
            for group in GROUPS.get((figure.study, figure.family), (figure.group,)):
                value = 0.001 * (100 + len(rows))
                low, high = value - 0.05, value + 0.05
                key = f"{figure.study}/{figure.family}/{group}/{figure.measure}"
                rows.append(effect(key, 40 + len(rows), value, ci_low=low, ci_high=high))
    rows += [
        effect(f"stigma/{question}_{side}/all/{measure}", 22, 0.25)
        for question in ("rq1", "rq2")
        for side in ("mental", "control", "difference")
        for measure in ("female", "male", "unspecified", "disparity_corrected_clustered")
    ]
    return rows


class Reader(HTMLParser):
    """Read a page strictly: every element is closed by its own tag."""

    def __init__(self) -> None:
        """Begin with nothing open."""
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element."""
        assert self.open[-1] == tag, (self.open, tag, self.getpos())
        self.open.pop()

    def handle_data(self, data: str) -> None:
        """Note text that is shown, or a script."""
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif not self.open or self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        """All text that the page shows."""
        return "".join(self.texts)


def read(page: str) -> Reader:
    """Read a page."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader
