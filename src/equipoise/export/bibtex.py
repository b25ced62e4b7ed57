"""BibTeX: how to cite Equipoise, and the run with its model, version and date."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ConfigDict

from equipoise.core.row import Frozen, Text
from equipoise.core.yamlfile import load_yaml
from equipoise.export.run import Run
from equipoise.export.tables import latex_text

FILE = Path("CITATION.cff")


class Author(Frozen):
    """An author of the software: a person, or an entity with a name."""

    model_config = ConfigDict(extra="ignore")

    name: Text


class Citation(Frozen):
    """What CITATION.cff says about the software; other fields are not needed here."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    title: Text
    authors: tuple[Author, ...]
    version: Text


def files(run: Run) -> Mapping[str, str]:
    """Write `equipoise.bib`."""
    cited = load_yaml(run.root / FILE, Citation)
    authors = " and ".join(f"{{{latex_text(author.name)}}}" for author in cited.authors)
    software = {
        "author": authors,
        "title": f"{{{latex_text(cited.title)}}}",
        "version": latex_text(cited.version),
        "year": f"{run.date:%Y}",
        "note": "Computer software",
    }
    claims = " ".join(f"{assessment.study.title}: {assessment.claim}" for assessment in run.studies)
    evaluated = {
        "author": authors,
        "title": f"{{{latex_text(f'Demographic bias of {run.title}, measured with {cited.title}')}}}",
        "year": f"{run.date:%Y}",
        "month": f"{run.date:%b}".lower(),
        "howpublished": latex_text(f"{run.version}{f', commit {run.commit}' if run.commit else ''}"),
        "note": latex_text(claims),
    }
    entries = {"equipoise": ("software", software), f"equipoise-{run.manifest.model}": ("misc", evaluated)}
    return {"equipoise.bib": "\n".join(_entry(name, *entry) for name, entry in entries.items())}


def _entry(name: str, kind: str, fields: Mapping[str, str]) -> str:
    return f"@{kind}{{{name},\n" + "".join(f"  {key} = {{{value}}},\n" for key, value in fields.items()) + "}\n"
