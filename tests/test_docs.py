from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter
from typer.main import get_command

import projects
from equipoise.cli.app import app
from equipoise.judge.lexicon import Kind
from equipoise.materials.cities import City
from equipoise.materials.stories.schema import Contrast, Dimension, Pair, Presentation
from equipoise.models import registry
from equipoise.models.registry import JudgeEntry, JudgeError, LlmJudgeEntry, PanelJudgeEntry
from equipoise.studies.registry import FIGURES, TITLES
from equipoise.studies.vignettes.panel import PanelGroup

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CARDS = sorted(path for path in (DOCS / "metrics").glob("*.md") if path.name != "index.md")
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"]
PARTS = ("Definition", "Unit", "Direction", "Null value", "When it misleads")
"""Parts that every card must have."""
REGISTRY = {name: registry.load_entry(name, ROOT) for name in projects.models()}
WEIGHTS = {name: entry for name, entry in REGISTRY.items() if isinstance(entry, registry.WeightsEntry)}
FETCHED = re.compile(r"""(?:url\(|@import)\s*["']?\s*(?:https?:)?//""")


class Fetched(HTMLParser):
    """The addresses that a browser loads automatically to show a page; links do not count."""

    def __init__(self) -> None:
        """Start with an empty list."""
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the sources of a tag, and the target of a <link>."""
        names = ("src", "srcset", "data", "poster", "href") if tag == "link" else ("src", "srcset", "data", "poster")
        self.addresses += [value for name, value in attrs if name in names and value]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--builder", "html"]
    done = subprocess.run([*command, str(DOCS), str(folder)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def table(page: Path) -> list[list[str]]:
    """Read the cells of every row of a page's tables."""
    rows = (line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| "))
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def examples(page: str) -> list[Any]:
    """Read the YAML blocks of a how-to page."""
    text = (DOCS / "howto" / page).read_text(encoding="utf-8")
    return [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)]


def test_no_page_needs_a_network(site: Path) -> None:
    """Every script, style, font and image of the built site is bundled with it."""
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(CARDS)
    for page in pages:
        fetched = Fetched()
        fetched.feed(page.read_text(encoding="utf-8"))
        assert fetched.addresses
        assert [address for address in fetched.addresses if re.match(r"(?:https?:)?//", address)] == [], page.name
    for style in site.rglob("*.css"):
        assert not FETCHED.search(style.read_text(encoding="utf-8")), style.name


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_a_card_says_all_that_it_must(card: Path) -> None:
    """A card has a definition, a unit, a direction, a null value, and says when the figure misleads."""
    text = card.read_text(encoding="utf-8")

    assert [part for part in PARTS if not re.search(rf"\*\*(?:{part})\b", text)] == []


def test_every_card_is_in_the_table_of_cards() -> None:
    """The table of metrics/index.md links to each card, and each row to one."""
    rows = [row for row in table(DOCS / "metrics/index.md") if row[0] != "card"]

    assert all("](" in row[0] for row in rows)
    assert {name for row in rows for name in re.findall(r"\((.+)\)", row[0])} == {card.name for card in CARDS}


def test_every_figure_of_the_run_has_a_card() -> None:
    """The measure of every headline figure, in every study, is named in the table of cards."""
    named = set(re.findall(r"`(\w+)`", (DOCS / "metrics/index.md").read_text(encoding="utf-8")))

    assert {headline.measure for headline in FIGURES} <= named


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_model_cards_agree_with_the_registry(name: str) -> None:
    """A model's row has the title, size, licence, backend, context and pin of its file; the default has a card."""
    entry = WEIGHTS[name]
    assert isinstance(entry.source, registry.PypiSource | registry.FileSource | registry.ModelHubSource)
    text = (DOCS / "model-cards.md").read_text(encoding="utf-8")
    if isinstance(entry.source, registry.PypiSource):
        facts = (
            f"`{name}`",
            entry.licence,
            f"`{entry.source.package}` {entry.source.version}",
            f"{entry.max_length:,}",
        )
        assert [fact for fact in facts if fact not in text] == []
        return
    (row,) = (row for row in table(DOCS / "model-cards.md") if row[0] == f"`{name}`")

    at_a_commit = isinstance(entry.source, registry.ModelHubSource)
    pinned = "yes" if not at_a_commit or entry.source.revision else "no"
    origin = entry.source.repo if at_a_commit else entry.source.name
    expected = [f"{entry.title} (`{origin}`)", entry.parameters, entry.licence, entry.backend]
    assert row[1:7] == [*expected, f"{entry.context:,}", pinned]


def test_the_example_of_a_city_is_one() -> None:
    """The block of howto/city.md is what data/cities.yaml takes."""
    (block,) = examples("city.md")

    assert TypeAdapter(dict[str, City]).validate_python(block)["paris"].title == "Paris"


def test_the_examples_of_a_dimension_are_rows_of_their_files() -> None:
    """The blocks of howto/dimension.md are a dimension, a contrast, a story, a pair and a lexicon that fit together."""
    dimension, contrast, story, pair, words = examples("dimension.md")
    told, presentation = Contrast.model_validate(contrast[0]), Presentation.model_validate(story[0])
    (stereotype,) = presentation.stereotypes
    planned, lexicon = Pair.model_validate(pair[0]), Kind.model_validate(words)

    names = {Dimension.model_validate(dimension[0]).id, told.dimension, stereotype.dimension}
    assert names | {planned.stereotype, lexicon.dimension} == {"prison"}
    assert stereotype.mirror is not None
    assert stereotype.evidence.group in told.groups
    assert (planned.presentation, planned.contrasts) == (presentation.id, (told.id,))
    assert [arm.feature for arm in told.arms] == list(lexicon.features)


def test_the_example_of_a_panel_is_a_group() -> None:
    """The block of howto/panel.md is what data/raw/panel.yaml takes."""
    (block,) = examples("panel.md")
    (group,) = block["groups"]

    assert PanelGroup.model_validate(group).words == "woman who has a low income"


def test_the_examples_of_a_judge_are_an_entry_and_its_error() -> None:
    """The blocks of howto/judge.md are what models/judges/ takes."""
    entry, error, llm, panel = examples("judge.md")

    assert LlmJudgeEntry.model_validate(llm).structured
    assert len(PanelJudgeEntry.model_validate(panel).judges) == 3
    assert JudgeEntry.model_validate(entry).source.kind == "hub"
    assert JudgeError.model_validate(error["error"]).silent.of == 50


def test_the_examples_of_a_model_are_entries_and_a_source() -> None:
    """The blocks of howto/model.md are what models/ takes."""
    entry, local, phantom = examples("model.md")

    assert registry.OnnxEntry.model_validate(entry).fidelity == 0.99
    assert registry.LocalSource.model_validate(local["source"]).kind == "local"
    assert registry.PhantomEntry.model_validate(phantom).shift_of(["race", "age"]) == 1.5


def test_every_setting_that_the_pages_change_exists() -> None:
    """Every setting after -S in the pages and the README is a parameter."""
    params = yaml.safe_load(projects.committed("params.yaml"))
    known = {key for key, value in params.items() if not isinstance(value, dict)}
    known |= {f"{section}.{key}" for section, value in params.items() if isinstance(value, dict) for key in value}
    settings = {name for page in PAGES for name in re.findall(r"-S ([\w.]+)=", page.read_text(encoding="utf-8"))}

    assert len(settings) > 5
    assert settings <= known


def test_every_command_that_the_pages_name_exists() -> None:
    """Every word after `equipoise` in the pages and the README is a command."""
    known = set(getattr(get_command(app), "commands", ()))
    named = {
        name
        for page in PAGES
        for name in re.findall(r"(?<!import )\bequipoise ([a-z]+)", page.read_text(encoding="utf-8"))
    }

    assert len(named) > 5
    assert named <= known


def test_no_output_of_a_command_is_typed_by_hand() -> None:
    """A block that shows a prompt and what follows is generated, or of a kind that a test runs and compares."""
    run = {"console": "howto", "pycon": "docs"}  # tests/test_howto.py and tests/api/test_pages.py
    compared, typed = 0, []
    for page in PAGES:
        text = re.sub(r"\[\[\[cog.*?\[\[\[end\]\]\]", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for kind, block in re.findall(r"^ *```(\S*)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
            if re.search(r"^ *(\$|>>>) ", block, re.MULTILINE):
                compared += run.get(kind) == page.parent.name
                typed += [(page.name, block)] if run.get(kind) != page.parent.name else []

    assert compared > 10
    assert typed == []


def test_the_index_of_decisions_lists_every_record_and_nothing_else() -> None:
    """The list of decisions/index.md links to each record once, in order."""
    records = sorted(path.name for path in (DOCS / "decisions").glob("0*.md"))

    assert re.findall(r"\]\((.+?)\)", (DOCS / "decisions/index.md").read_text(encoding="utf-8")) == records


def test_every_page_that_the_code_names_exists() -> None:
    """Docstrings, comments and strings name only pages that exist; the pages of other projects have longer paths."""
    files = [path for folder in ("src", "stages", "benchmarks") for path in (ROOT / folder).rglob("*")]
    named = {
        (page, path.name)
        for path in files
        if path.suffix in {".py", ".yaml"}
        for page in re.findall(r"(?<![\w/])docs/[\w/-]+\.md", path.read_text(encoding="utf-8"))
    }

    assert len(named) > 20
    assert {(page, name) for page, name in named if not (ROOT / page).is_file()} == set()


def test_every_stage_and_target_that_the_pages_name_exists() -> None:
    """Every `stage@study`, and every stage after `dvc repro` or of a run's cost, is in dvc.yaml; targets in Makefile.

    Decision records also name what was.
    """
    stages = set(yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"])
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if page.parent != DOCS / "decisions")
    # Actions of GitHub are named OWNER/NAME@REVISION.
    chains = re.findall(r"(?<![/\w])([a-z]+)@(\w+)", text)
    named = {stage for stage, _ in chains}
    named |= {stage for some in re.findall(r"dvc repro((?: [a-z]+)+)(?!@)\b", text) for stage in some.split()}
    costs = (DOCS / "performance.md").read_text(encoding="utf-8").partition("| stage |")[2].partition("| DVC's")[0]
    named |= set(re.findall(r"^\| ([a-z]+) \|", costs, re.MULTILINE))

    assert len(named) > 5
    assert named <= stages
    assert {study for _, study in chains} <= {*TITLES, "S", "STUDY"}
    assert set(re.findall(r"`make ([a-z-]+)", text)) - {"--silent"} <= targets
