"""Results that the tests of a process, or of all, share, since they are functions of what was read and never change."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import re2
from filelock import FileLock

from equipoise.core import yamlfile
from equipoise.core.jsonl import digest, sha256
from equipoise.models import optimum


def keep() -> None:
    """Validate equal contents of YAML files once, and compile each pattern once: re2 itself keeps 128.

    The files are read anew each time, and what is wrong is refused anew. Models of rows and settings are frozen.
    """
    strictly = yamlfile.strictly
    kept: dict[tuple[Any, str], Any] = {}

    def once(where: str, value: object, kind: Any) -> Any:
        try:
            key = kind, json.dumps(value)
        except (TypeError, ValueError):
            return strictly(where, value, kind)
        if key not in kept:
            kept[key] = strictly(where, value, kind)
        return kept[key]

    yamlfile.strictly = once
    make = re2._Regexp._make.__wrapped__
    re2._Regexp._make = classmethod(functools.cache(make))


@contextmanager
def exports_kept(store: Path) -> Iterator[None]:
    """Export each encoder once for all test processes: optimum takes many seconds, whatever the size of the model."""
    run = optimum._failure
    store.mkdir(exist_ok=True)

    def once(arguments: Sequence[str], folder: str, **variables: str) -> str:
        if optimum.EXPORT not in arguments:
            return run(arguments, folder, **variables)
        _, _, _, target, *what = arguments
        kept = store / digest([what, {path.name: sha256(path) for path in sorted(Path(folder).iterdir())}])
        with FileLock(kept.with_suffix(".lock")):
            if not kept.is_dir():
                if reason := run(arguments, folder, **variables):
                    return reason
                shutil.copytree(target, kept.with_suffix(".new"), dirs_exist_ok=True)
                kept.with_suffix(".new").rename(kept)
        shutil.copytree(kept, target, dirs_exist_ok=True)
        return ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimum, "_failure", once)
        yield
