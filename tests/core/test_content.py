"""What a file says: its digest changes with its content, and with nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from equipoise.core.content import digest, imported
from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from pathlib import Path

CODE = '"""About."""\n\nimport json\n\nLIMIT = 3\n\n\ndef f(a, b=1):\n    return [a, "b"]\n'
SAME = {
    "a comment": CODE.replace("LIMIT = 3", "LIMIT = 3  # three"),
    "another docstring": CODE.replace("About.", "About something else."),
    "a docstring more": CODE.replace("LIMIT = 3", 'LIMIT = 3\n"""The limit."""').replace(
        "    return", '    """Give a list."""\n    return'
    ),
    "another layout": CODE.replace('[a, "b"]', "[\n        a,\n        'b',\n    ]"),
}
OTHER = {
    "a value": CODE.replace("LIMIT = 3", "LIMIT = 4"),
    "a type of value": CODE.replace("LIMIT = 3", "LIMIT = 3.0"),
    "a name": CODE.replace("LIMIT", "LEAST"),
    "a default": CODE.replace("b=1", "b=2"),
    "an operator": CODE.replace("LIMIT = 3", "LIMIT = +3"),
    "a text that is returned": CODE.replace('"b"', '"c"'),
}


def digest_of(folder: Path, name: str, text: str) -> str:
    """Write a file and take its digest."""
    (folder / name).write_text(text, encoding="utf-8")
    return digest(folder / name)


@pytest.mark.parametrize("what", SAME)
def test_what_does_not_run_does_not_count(tmp_path: Path, what: str) -> None:
    """Comments, docstrings, those of constants too, and layout leave a Python file what it is."""
    assert digest_of(tmp_path, "a.py", SAME[what]) == digest_of(tmp_path, "b.py", CODE)


@pytest.mark.parametrize("what", OTHER)
def test_whatever_runs_counts(tmp_path: Path, what: str) -> None:
    """Any other change makes it another file."""
    assert digest_of(tmp_path, "a.py", OTHER[what]) != digest_of(tmp_path, "b.py", CODE)


def test_a_digest_is_that_of_every_supported_python(tmp_path: Path) -> None:
    """It is a constant: dvc.lock has it, which machines with other versions of Python share."""
    text = f'{CODE}\ntext = f"{{f(1)!r:>{{LIMIT}}}} and {{f(2)}}"\n'
    assert digest_of(tmp_path, "a.py", text) == "fcdc701238f59ee234750b878970ebae59cc5301e7dc8e669ec667cfa6a8dfdd"


def test_yaml_counts_by_its_values(tmp_path: Path) -> None:
    """Comments, quotes and the style of lists do not count; a value and the order of keys do."""
    plain = digest_of(tmp_path, "a.yaml", "names: [a, b]\nlimit: 3\n")

    assert digest_of(tmp_path, "a.yaml", "# Two.\nnames:\n- 'a'\n- b\nlimit: 3\n") == plain
    assert digest_of(tmp_path, "a.yaml", "names: [a, b]\nlimit: '3'\n") != plain
    assert digest_of(tmp_path, "a.yaml", "limit: 3\nnames: [a, b]\n") != plain


def test_other_files_count_by_their_bytes(tmp_path: Path) -> None:
    """Nothing is known about what they say."""
    assert digest_of(tmp_path, "a.css", "p {}\n") != digest_of(tmp_path, "a.css", "p {} \n")


def test_faulty_files_are_named(tmp_path: Path) -> None:
    """Malformed Python and YAML, and a file that is gone, give one line with the place."""
    with pytest.raises(EquipoiseError, match=r"a\.py, line 2: "):
        digest_of(tmp_path, "a.py", "a = 1\nb = (\n")
    with pytest.raises(EquipoiseError, match=r"a\.yaml, line 2: malformed YAML"):
        digest_of(tmp_path, "a.yaml", "a: 1\n  b: 2\n")
    with pytest.raises(EquipoiseError, match=r"a\.yaml: nested too deeply, or an alias within its own value"):
        digest_of(tmp_path, "a.yaml", "a: &a [*a]\n")
    with pytest.raises(EquipoiseError, match=r"gone\.py: cannot be read"):
        imported(tmp_path / "gone.py")
