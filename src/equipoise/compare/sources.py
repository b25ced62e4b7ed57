"""What the figures of two revisions were made from, and where that differs: parameters, inputs, code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from equipoise.compare.revisions import Revision


class Sources(NamedTuple):
    """What differs: parameters with old and new value; inputs and code by path with what was done to them.

    `edited` names, by revision, files and parameters that were changed after the figures were made.
    """

    parameters: Mapping[str, tuple[Any, Any]]
    inputs: Mapping[str, str]
    code: Mapping[str, str]
    edited: Mapping[str, tuple[str, ...]]


def sources(base: Revision, head: Revision, parameters: Mapping[str, tuple[Any, Any]]) -> Sources:
    """Compare what two revisions were made from; `parameters` are those that `changed_parameters` found.

    Inputs and code are the files that no stage makes, as hashed when the stages ran.
    """
    return Sources(
        parameters=dict(sorted(parameters.items())),
        inputs=_differences(base.inputs, head.inputs),
        code=_differences(base.code, head.code),
        edited={revision.name: revision.edited for revision in (base, head) if revision.edited},
    )


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for path in sorted(before.keys() | after.keys()):
        if path not in before:
            found[path] = "added"
        elif path not in after:
            found[path] = "removed"
        elif before[path] != after[path]:
            found[path] = "changed"
    return found
