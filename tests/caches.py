"""Results that the tests of a process share, since they are functions of what was read and never change."""

from __future__ import annotations

import functools
import json
from typing import Any

import re2

from equipoise.core import yamlfile


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
