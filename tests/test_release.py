"""Tests of a release and of what contributors meet first: versions, the changelog, templates, hooks and links."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
RELEASE = runpy.run_path(str(ROOT / ".github/release.py"))
SUBJECT = runpy.run_path(str(ROOT / ".github/subject.py"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
GROUPS = {"Added", "Changed", "Deprecated", "Removed", "Renamed", "Fixed", "Security"}
"""Groups of Keep a Changelog, and ours for renames."""


def read(name: str) -> Any:
    """Read a YAML or TOML file of the repository."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else yaml.safe_load(text)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy the files that a release is checked by, with nothing left unreleased and the address that a release has."""
    for name in ("CITATION.cff", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    with (tmp_path / "CITATION.cff").open("a", encoding="utf-8") as cited:
        cited.write('url: "https://example.org/equipoise"\n')
    text = RELEASE["UNRELEASED"].sub("## [Unreleased]\n\n", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    (tmp_path / "CHANGELOG.md").write_text(text, encoding="utf-8")
    return tmp_path


def test_version_citation_and_changelog_agree() -> None:
    """The package's version, the cited one and the newest release of the changelog are the same, on one date."""
    version, cited = read("pyproject.toml")["project"]["version"], read("CITATION.cff")
    newest, day, _ = RELEASE["releases"]()[0]

    assert (version, version) == (cited["version"], newest)
    assert cited["date-released"] == day


def test_the_citation_has_what_the_format_requires() -> None:
    """The keys that version 1.2.0 of the Citation File Format requires are there, and each author has a name."""
    cited = read("CITATION.cff")

    assert (cited["cff-version"], cited["type"]) == ("1.2.0", "software")
    assert [key for key in ("message", "title") if not cited.get(key, "").strip()] == []
    assert cited["authors"]
    assert all({"name", "family-names"} & author.keys() for author in cited["authors"])
    assert date.fromisoformat(cited["date-released"])


def test_releases_are_in_order_and_grouped() -> None:
    """Versions and dates descend, dates exist, groups are those of Keep a Changelog, and an entry is one line."""
    releases = RELEASE["releases"]()
    versions = [tuple(map(int, version.split("."))) for version, _, _ in releases]
    days = [date.fromisoformat(day) for _, day, _ in releases]
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert versions == sorted(set(versions), reverse=True)
    assert days == sorted(days, reverse=True)
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == len(releases) + text.count("\n## [Unreleased]\n")
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= GROUPS
    assert not re.search(r"^ +\S", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        (
            "pyproject.toml",
            'version = "{}"',
            'version = "9.9.9"',
            "the tag is v{}, but pyproject.toml has version 9.9.9",
        ),
        ("CITATION.cff", "version: {}", "version: 9.9.9", "CITATION.cff has version 9.9.9, not {}"),
        ("CITATION.cff", "date-released: ", "date: ", "CITATION.cff is dated None"),
        ("CITATION.cff", "url: ", "# ", "CITATION.cff has no url: write the address of the repository"),
        ("CHANGELOG.md", "## [{}] - ", "## [9.9.9] - ", "the newest release in CHANGELOG.md is 9.9.9, not {}"),
        ("CHANGELOG.md", "\n## [{}] - ", "- A line.\n\n## [{}] - ", "CHANGELOG.md has lines below Unreleased"),
    ],
)
def test_a_release_whose_files_disagree_is_refused(checkout: Path, name: str, old: str, new: str, fault: str) -> None:
    """A tag is refused where one file has another version or date, or where lines are left below Unreleased."""
    version = read("pyproject.toml")["project"]["version"]
    path = checkout / name
    text = path.read_text(encoding="utf-8")
    assert RELEASE["faults"](f"v{version}", checkout) == []
    path.write_text(text.replace(old.format(version), new.format(version), 1), encoding="utf-8")

    assert RELEASE["faults"](f"v{version}", checkout)[0].startswith(fault.format(version))


def test_another_tag_is_refused_in_one_line() -> None:
    """The script exits with 1 and one line, and prints no notes; for the right tag it prints the newest release's."""
    command = [sys.executable, str(ROOT / ".github/release.py")]
    wrong = subprocess.run([*command, "v0.0.0"], capture_output=True, text=True, check=False)
    right = f"v{read('pyproject.toml')['project']['version']}"

    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (1, "", 1)
    assert wrong.stderr.startswith("error: the tag is v0.0.0, but pyproject.toml has version ")
    if not RELEASE["faults"](right):
        notes = subprocess.run([*command, right], capture_output=True, text=True, check=True).stdout
        assert notes.strip() == RELEASE["releases"]()[0][2].strip()


def test_only_what_publishes_may_write_and_runs_no_code_of_the_repository() -> None:
    """Jobs of the release that may write check out nothing, and wait for tests and the check of the tag."""
    jobs = read(".github/workflows/release.yml")["jobs"]
    writing = {name: job for name, job in jobs.items() if "write" in job["permissions"].values()}

    assert set(writing) == {"publish", "attach"}
    assert [
        name for name, job in writing.items() if any("checkout" in step.get("uses", "") for step in job["steps"])
    ] == []
    assert set(jobs["publish"]["needs"]) == {"test", "build"}
    assert jobs["attach"]["needs"] == ["publish"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_have_the_fields_that_github_requires(path: Path) -> None:
    """A form has a name, a description and fields with unique ids and labels; the chooser has its one setting."""
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert isinstance(form["blank_issues_enabled"], bool)
        return
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    labels = [field["attributes"]["label"] for field in fields]

    assert form.keys() <= {"name", "description", "title", "labels", "body"}
    assert all(isinstance(form[key], str) and form[key] for key in ("name", "description"))
    assert {field["type"] for field in form["body"]} <= {"markdown", "textarea", "input", "dropdown", "checkboxes"}
    assert len({field["id"] for field in fields}) == len(set(labels)) == len(fields)
    assert all(isinstance(option, str) for field in fields for option in field["attributes"].get("options", []))


def test_hooks_need_no_network_and_use_the_locked_ruff() -> None:
    """Each hook is a command of the environment that exists, and ruff is required in the version that is locked."""
    hooks = [hook for repo in read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    locked = re.search(r"^ruff==([\d.]+)", (ROOT / "requirements/dev.txt").read_text(encoding="utf-8"), re.MULTILINE)
    scripts = [word for hook in hooks for word in hook["entry"].split() if word.endswith(".py")]

    assert {repo["repo"] for repo in read(".pre-commit-config.yaml")["repos"]} == {"local"}
    assert {hook["language"] for hook in hooks} == {"system"}
    assert locked
    assert read("pyproject.toml")["tool"]["ruff"]["required-version"] == f"=={locked[1]}"
    assert [script for script in scripts if not (ROOT / script).is_file()] == []


@pytest.mark.parametrize(
    ("message", "faults"),
    [
        ("Report the coverage of each interval\n", []),
        ("Report the coverage of each interval\n\nIt was simulated.\n", []),
        ("# A comment\nReport the coverage\n# Another\n", []),
        (f'Revert "{"a" * 72}"\n', []),
        ("A" * 72 + "\n", []),
        ("A" * 73 + "\n", ["the subject has 73 characters: write at most 72"]),
        ("report it\n", ["the subject begins with a lower-case letter or a prefix"]),
        ("Docs: report it\n", ["the subject begins with a lower-case letter or a prefix"]),
        ("Report it.\n", ["the subject ends with a full stop"]),
        ("Report it\nnow\n", ["the second line is not blank"]),
        ("\n", ["the subject is empty"]),
        ("", ["the subject is empty"]),
    ],
)
def test_subjects_of_commits(message: str, faults: list[str]) -> None:
    """At most 72 characters, a capital, no prefix, no full stop, a blank line; what Git writes itself passes."""
    assert SUBJECT["faults"](message) == faults


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_front_pages_lead_to_files(name: str) -> None:
    """Every relative link and picture is a file of the repository."""
    links = set(re.findall(r"\]\((?!https?:|#)([^)#]+)", (ROOT / name).read_text(encoding="utf-8")))

    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_targets_that_contributors_run_exist() -> None:
    """Every target of make in CONTRIBUTING.md is one of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w./-]+):", makefile, re.MULTILINE))
    named = set(
        re.findall(r"(?:^|`)make ([\w./-]+)", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    )

    assert len(named) > 3
    assert named <= targets
