"""What code a script runs."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from equipoise.core.code import closure, listing
from equipoise.core.errors import EquipoiseError

FILES = {
    "stages/run.py": (
        "from typing import TYPE_CHECKING\nfrom equipoise.core import a\n"
        "if TYPE_CHECKING:\n    import equipoise.types\n"
    ),
    "src/equipoise/__init__.py": "",
    "src/equipoise/types.py": "",
    "src/equipoise/core/__init__.py": "",
    "src/equipoise/core/a.py": "import json\ndef late():\n    from equipoise.page.draw import line\n",
    "src/equipoise/core/b.py": "",
    "src/equipoise/page/__init__.py": "",
    "src/equipoise/page/draw.py": "import equipoise.core.a\n",
    "src/equipoise/page/page.css": "p {}\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project of one script and two packages."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def listed(root: Path) -> str:
    """The listing of the script."""
    return listing([Path("stages/run.py")], [], root)


def test_a_script_runs_what_it_imports_in_functions_too_with_its_packages_and_their_other_files(root: Path) -> None:
    """Neither a module that nobody imports, nor one imported for types alone, nor a library is in it."""
    expected = set(FILES) - {"src/equipoise/core/b.py", "src/equipoise/types.py"}

    assert closure(Path("stages/run.py"), root) == sorted(Path(name) for name in expected)


def test_a_listing_changes_with_a_file_of_it_and_with_no_other(root: Path) -> None:
    """Each line is a digest and a path; the digest of a file that is not Python or YAML is its sha256."""
    before = listed(root)
    (root / "src/equipoise/core/b.py").write_text("changed = True\n", encoding="utf-8")
    assert listed(root) == before
    (root / "src/equipoise/page/page.css").write_text("p {color: red}\n", encoding="utf-8")
    after = listed(root)

    (changed,) = set(after.splitlines()) - set(before.splitlines())
    checksum = sha256(b"p {color: red}\n").hexdigest()

    assert changed == f"{checksum}  src/equipoise/page/page.css"


def test_a_listing_has_the_files_and_folders_that_are_read_too(root: Path) -> None:
    """Those of folders by themselves, but no README; a name without a file is an error."""
    (root / "src/equipoise/page/README.md").write_text("About.\n", encoding="utf-8")
    of_page = {f"src/equipoise/page/{name}" for name in ("__init__.py", "draw.py", "page.css")}
    listed = listing([], ["src/equipoise/page", "src/equipoise/types.py"], root)

    assert {line.split("  ")[1] for line in listed.splitlines()} == {*of_page, "src/equipoise/types.py"}
    with pytest.raises(EquipoiseError, match=r"^absent: a stage reads it, and there is no such file: correct"):
        listing([], ["absent"], root)


def test_the_title_of_a_model_counts_where_it_is_shown(root: Path) -> None:
    """It changes no answer: only the listing of the report has it."""
    entry = root / "models/some.yaml"
    entry.parent.mkdir()
    entry.write_text("title: Some\nbackend: onnx\n", encoding="utf-8")
    before = [listing([], ["models/some.yaml"], root, titles=titles) for titles in (False, True)]
    entry.write_text("title: Another\nbackend: onnx\n", encoding="utf-8")
    after = [listing([], ["models/some.yaml"], root, titles=titles) for titles in (False, True)]

    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False]
