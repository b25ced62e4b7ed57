"""Run stages of the project in the working folder, and print what each opens: the harness of tests/test_reads.py.

Each stage runs in a fork of this process, in which the libraries are imported once and no file has been read before.
"""

from __future__ import annotations

import json
import os
import runpy
import shlex
import sys
import traceback
from importlib import import_module
from pathlib import Path

HEAVY = (
    "onnxruntime",
    "scipy.stats",
    "statsmodels.api",
    "vl_convert",
    "equipoise.report.page",
    "equipoise.pipeline.run",
)


def opened(command: str) -> set[str]:
    """Run a stage's command in this process; return the files of the working folder that it opens to read."""
    root, paths = f"{Path.cwd()}{os.sep}", set()

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            path, mode = os.path.abspath(os.fsdecode(arguments[0])), str(arguments[1])  # noqa: PTH100  (links stay links)
            if path.startswith(root) and not set(mode) & set("wax"):
                paths.add(path.removeprefix(root))

    sys.argv = shlex.split(command)
    sys.addaudithook(hook)
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
    return paths


def forked(command: str) -> dict[str, object]:
    """Run a stage in a fork; return what it opens, or its error."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            answer: dict[str, object] = {"opened": sorted(opened(command))}
        except BaseException:  # noqa: BLE001  (whatever it is, the test shows it)
            answer = {"error": traceback.format_exc()}
        with os.fdopen(writer, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return dict(json.loads(text))


if __name__ == "__main__":
    for module in HEAVY:
        import_module(module)
    for line in sys.stdin.read().splitlines():
        sys.stdout.write(json.dumps({"command": line, **forked(line)}) + "\n")
