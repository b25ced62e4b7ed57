"""Write the requirements that are installed with hashes, for every platform and Python that is supported: `make lock`.

The versions are those of constraints.txt, the hashes of all files that the package index publishes of them. A package
that another platform needs beside these has the newest version that fits. Each file is complete by itself, so that pip
resolves nothing: build.txt is what builds packages (and pip itself), runtime.txt what a run needs, dev.txt what tests
and checks need beside it, torch.txt torch alone. Why torch is apart: docs/decisions/0010-hashes.md. optimum.txt is what
optimum needs in other versions than these: docs/decisions/0026-exporters.md.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parent / "pyproject.toml"
INDEX = "https://pypi.org/simple"
BUILD = ("pip", "setuptools", "wheel", "editables")
"""What builds a source distribution or the editable package, beside the build backend that pyproject.toml pins."""
CUDA = re.compile(r"nvidia-|cuda-|triton$")
"""Libraries of torch's CUDA builds, which other builds of torch do not need: left to torch's own metadata."""
CPU = "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"
"""The CPU build of torch for Linux and Python 3.11 that the tests ran with, which the index does not publish."""
DRIVER = {"playwright", "greenlet", "pyee"}
"""What axe-playwright-python requires beside axe-core, to drive a browser: tests/report/browser.py does that."""
OPTIMUM = (
    "huggingface-hub==0.36.2",
    "optimum-onnx==0.1.0",
    "optimum==2.1.0",
    "tokenizers==0.22.2",
    "transformers==4.57.6",
)
"""optimum, and what it needs in another version than constraints.txt has. Its other requirements are those of a run."""
APART = """\
What the export of encoders needs in other versions than a run; the first export installs it into a folder of its own
# (equipoise.models.optimum). transformers 4.57.6 has published advisories. The process that imports it takes none of
# the code paths that they name: it reads a configuration and safetensors that were written here, offline, and writes a
# graph (docs/decisions/0026-exporters.md).\
"""
HEAD = "# {what} Installed with --require-hashes; made by: make lock\n"


def compiled(*arguments: str, constraints: Path = HERE / "constraints.txt") -> dict[str, str]:
    """Resolve requirements for all platforms; give the lines of each package with its hashes, by its name."""
    command = ["uv", "pip", "compile", *arguments, "--quiet", "--universal", "--python-version", "3.11"]
    command += ["--constraint", str(constraints), "--default-index", INDEX, "--no-config"]
    command += ["--generate-hashes", "--no-annotate", "--no-header"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603  (of constants)
    entries = re.findall(r"^(([\w.-]+)==.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    return {name: lines for lines, name in entries}


def normal(requirement: str) -> str:
    """Give the name of a requirement as indexes compare it."""
    return re.sub(r"[-_.]+", "-", requirement.partition("==")[0]).lower()


def write(name: str, what: str, entries: dict[str, str]) -> None:
    """Write one file, its packages by name."""
    text = HEAD.format(what=what) + "".join(lines for _, lines in sorted(entries.items()))
    (HERE / name).write_text(text, encoding="utf-8")


def main() -> None:
    """Resolve and write all files."""
    backend = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["build-system"]["requires"]
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "build.in"
        wanted.write_text("\n".join((*BUILD, *backend)) + "\n", encoding="utf-8")
        build = compiled(str(wanted))
        run = (str(PROJECT), "--extra", "run", str(wanted))
        everything = compiled(*run, "--group", f"{PROJECT}:dev")
        runtime = compiled(*run)
        wanted.write_text("\n".join(OPTIMUM) + "\n", encoding="utf-8")
        versions = Path(folder) / "constraints.txt"
        other = {line.partition("==")[0] for line in OPTIMUM}
        kept = (HERE / "constraints.txt").read_text(encoding="utf-8").splitlines()
        versions.write_text("\n".join(line for line in kept if normal(line) not in other), encoding="utf-8")
        optimum = compiled(str(wanted), constraints=versions)
    torch = {"torch": everything["torch"].rstrip("\n") + f" \\\n    --hash=sha256:{CPU}\n"}
    apart = {name for name in everything if name == "torch" or CUDA.match(name)} | build.keys()
    write("build.txt", "What builds packages.", {name: everything[name] for name in build})
    write("torch.txt", "torch, as published for every platform, and one build for the CPU alone.", torch)
    write("runtime.txt", "What a run needs.", {name: everything[name] for name in runtime.keys() - apart})
    optimum = {name: lines for name, lines in optimum.items() if name in other or name not in runtime.keys() | apart}
    write("optimum.txt", APART, optimum)
    write(
        "dev.txt",
        "What tests and checks need beside it.",
        {name: everything[name] for name in everything.keys() - runtime.keys() - apart - DRIVER},
    )


if __name__ == "__main__":
    main()
