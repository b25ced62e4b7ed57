"""Check a release tag and print the release notes: release.py TAG.

The tag, the version in pyproject.toml, the version in CITATION.cff and the newest release in CHANGELOG.md must agree.
CITATION.cff must have the address of the repository.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADING = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
UNRELEASED = re.compile(r"^## \[Unreleased\]\n(.*?)(?=^## )", re.MULTILINE | re.DOTALL)
CITED = re.compile(r"^(version|date-released|url): \"?(\S+?)\"?$", re.MULTILINE)


def read(name: str, root: Path = ROOT) -> str:
    """Read a text file of the repository."""
    return (root / name).read_text(encoding="utf-8")


def releases(root: Path = ROOT) -> list[tuple[str, str, str]]:
    """Give the version, date and notes of each release in the changelog, the newest first."""
    return HEADING.findall(read("CHANGELOG.md", root))


def faults(tag: str, root: Path = ROOT) -> list[str]:
    """List what does not agree with a tag."""
    version = tomllib.loads(read("pyproject.toml", root))["project"]["version"]
    cited = dict(CITED.findall(read("CITATION.cff", root)))
    newest, date, _ = (releases(root) or [("none", "none", "")])[0]
    unreleased = UNRELEASED.search(read("CHANGELOG.md", root))
    checks = {
        f"the tag is {tag}, but pyproject.toml has version {version}": tag != f"v{version}",
        f"CITATION.cff has version {cited.get('version')}, not {version}": cited.get("version") != version,
        f"the newest release in CHANGELOG.md is {newest}, not {version}": newest != version,
        f"CITATION.cff is dated {cited.get('date-released')}, CHANGELOG.md {date}": cited.get("date-released") != date,
        "CITATION.cff has no url: write the address of the repository": not cited.get("url", "").startswith("https://"),
        "CHANGELOG.md has lines below Unreleased": bool(unreleased and unreleased[1].strip()),
    }
    return [fault for fault, applies in checks.items() if applies]


if __name__ == "__main__":
    if disagreements := faults(sys.argv[1]):
        sys.exit("error: " + "; ".join(disagreements))
    print(releases()[0][2].strip())  # noqa: T201
