"""Fetching the lists of first names from a server on this machine, from files, and not at all."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from equipoise.core.errors import EquipoiseError
from equipoise.studies.stigma import cli as command
from equipoise.studies.stigma.library import NameList, NameLists
from equipoise.studies.stigma.names import fetch_names, load_names, names_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[3] / "data/sentences"
WOMEN, MEN = b"Mary\nAda\n", b"Mark\nAlan"


class Quiet(SimpleHTTPRequestHandler):
    """A handler that logs nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (inherited signature)
        """Write nothing."""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the cache of these tests by itself, and reach this machine without a proxy."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """Write both lists where the server finds them."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "women.csv").write_bytes(WOMEN)
    (site / "men.csv").write_bytes(MEN)
    return site


@pytest.fixture
def address(served: Path) -> Iterator[str]:
    """Serve the lists from a port of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def lists(address: str, women: bytes = WOMEN) -> NameLists:
    """Name the two lists with their sha256."""
    return NameLists(
        female=NameList(url=f"{address}/women.csv", sha256=hashlib.sha256(women).hexdigest()),
        male=NameList(url=f"{address}/men.csv", sha256=hashlib.sha256(MEN).hexdigest()),
    )


NOWHERE = "http://127.0.0.1:9"  # the discard port: nothing listens there


def test_lists_are_fetched_once(address: str, served: Path) -> None:
    """Both lists come from their addresses into the cache; what is there with the right hash is not fetched again."""
    wanted = lists(address)
    fetched = fetch_names(wanted)
    (served / "women.csv").unlink()

    assert (
        fetch_names(wanted) == fetched == {"female": names_folder() / "female.csv", "male": names_folder() / "male.csv"}
    )
    assert load_names(wanted) == {"female": ("Mary", "Ada"), "male": ("Mark", "Alan")}


def test_another_hash_is_refused(address: str) -> None:
    """A list that is not the one asked for is refused, and nothing of it stays."""
    with pytest.raises(EquipoiseError, match=r"women\.csv: checksum mismatch \(expected .*\): give"):
        fetch_names(lists(address, women=b"other"))
    assert list(names_folder().iterdir()) == []


def test_a_list_that_is_not_there_is_refused(address: str, served: Path) -> None:
    """An address that gives no file is one clear error."""
    (served / "women.csv").unlink()

    with pytest.raises(EquipoiseError, match=r"women\.csv: cannot be fetched \(HTTPError\): go online, or give"):
        fetch_names(lists(address))


def test_offline_is_one_error() -> None:
    """Without a server the error names the address and the way to do without it."""
    with pytest.raises(EquipoiseError, match=r"cannot be fetched \(ConnectionError\): go online, or give a local file"):
        fetch_names(lists(NOWHERE))


def test_local_files_need_no_net(served: Path) -> None:
    """Local files are taken byte by byte, and checked."""
    files = {"female": served / "women.csv", "male": served / "men.csv"}
    fetched = fetch_names(lists(NOWHERE), files)  # type: ignore[arg-type]  # mypy widens the literals to str

    assert [path.read_bytes() for path in fetched.values()] == [WOMEN, MEN]


@pytest.mark.parametrize(("content", "words"), [(b"other", "checksum mismatch: expected"), (None, "cannot be read")])
def test_a_wrong_local_file_is_refused(served: Path, content: bytes | None, words: str) -> None:
    """A local file with another hash, or none at all, is refused before anything is kept."""
    wrong = served / "wrong.csv"
    if content is not None:
        wrong.write_bytes(content)

    with pytest.raises(EquipoiseError, match=rf"wrong\.csv: {words}"):
        fetch_names(lists(NOWHERE), {"female": served / "women.csv", "male": wrong})
    assert not names_folder().exists()


def test_names_that_are_not_imported_are_asked_for() -> None:
    """Reading without an import says which command imports."""
    with pytest.raises(EquipoiseError, match="not imported: run `equipoise import names`"):
        load_names(lists(NOWHERE))


def test_a_spoilt_list_in_the_cache_is_refused(served: Path) -> None:
    """A list that changed after its import is refused on reading."""
    wanted = lists(NOWHERE)
    fetched = fetch_names(wanted, {"female": served / "women.csv", "male": served / "men.csv"})
    fetched["male"].write_bytes(b"Mark")

    with pytest.raises(EquipoiseError, match=r"male\.csv: checksum mismatch: expected .*run `equipoise import names`"):
        load_names(wanted)


def test_the_command_counts_the_names(served: Path, tmp_path: Path) -> None:
    """`equipoise import names` prints each list's place and length; the study's own hashes refuse other files."""
    app = typer.Typer()
    app.command()(command.import_names)
    library = tmp_path / "library"
    write_library(library)
    files = ["--women", str(served / "women.csv"), "--men", str(served / "men.csv")]
    done = CliRunner().invoke(app, [*files, "--library", str(library)], catch_exceptions=False)

    printed = CliRunner().invoke(app, [*files, "--library", str(library), "--json"], catch_exceptions=False).stdout

    assert done.stdout.split("\n")[:2] == [f"{names_folder() / name}.csv: 2 names" for name in ("female", "male")]
    assert json.loads(printed) == {"written": {f"{names_folder() / name}.csv": 2 for name in ("female", "male")}}
    with pytest.raises(EquipoiseError, match="checksum mismatch: expected"):
        CliRunner().invoke(app, [*files, "--library", str(FOLDER)], catch_exceptions=False)


def write_library(library: Path) -> None:
    """Copy the study's files with these lists' hashes."""
    shutil.copytree(FOLDER, library)
    path = library / "words.yaml"
    hashes = iter([hashlib.sha256(content).hexdigest() for content in (WOMEN, MEN)])
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"sha256: [0-9a-f]{64}", lambda _: f"sha256: {next(hashes)}", text), encoding="utf-8")
