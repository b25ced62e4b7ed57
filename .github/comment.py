"""Write the comment on a pull request from its figures, without any of its code: comment.py comparison.json URL.

`comparison.json` is what `equipoise compare --json` printed in the pull request's own run, which may have changed that
program. It is therefore data of others: names and numbers of a known form are laid out, anything else is refused.
"""

import json
import math
import re
import sys
from pathlib import Path

NAME = re.compile(r"[a-z0-9_.+-]{1,80}")
LARGEST = 10_000_000
"""Bytes of a file that is read."""
MOST, BOUND = 200, 1e9
"""How many figures are laid out, and how large a number may be."""
FIELDS = ("null", "base", "head", "change", "ci_low", "ci_high", "p_holm", "n", "moved")
BIAS = ("worse", "worse (n.s.)", "", "better (n.s.)", "better", "no change")
"""Which way bias changed, in the order in which figures are shown."""
WORDS = ("worse", "not worse", "undecided")
STUDY = re.compile(r"[a-z0-9]{1,20}")
UNTRUSTED = (
    "The figures are those that the pull request's own code computed: they are as trustworthy as that code. "
    "This comment is written by the code of the default branch."
)


class RefusedError(Exception):
    """The file is not a comparison."""


def rows(value: object) -> list[tuple[str, str, dict[str, float | None]]]:
    """Read the figures: a name of a known form, a known word, and numbers or null; what got worse comes first."""
    figures = value.get("figures") if isinstance(value, dict) else None
    if not isinstance(figures, dict) or len(figures) > MOST:
        raise RefusedError("no table of figures")
    found = []
    for name, row in figures.items():
        if not NAME.fullmatch(name) or not isinstance(row, dict) or row.get("bias", "") not in BIAS:
            raise RefusedError("a figure has a name or values of another form")
        numbers = {field: row.get(field) for field in FIELDS}
        for number in numbers.values():
            known = number is None or (type(number) in (int, float) and math.isfinite(number) and abs(number) < BOUND)
            if not known:
                raise RefusedError("a figure has a value that is no number")
        found.append((name, row.get("bias", ""), numbers))
    return sorted(found, key=lambda row: BIAS.index(row[1]))


def verdict(value: object) -> list[str]:
    """Read the verdict, one of three words, and those on the studies, with their margins."""
    found = value.get("verdict") if isinstance(value, dict) else None
    if not isinstance(found, dict) or found.get("is") not in WORDS or not isinstance(found.get("studies"), dict):
        raise RefusedError("no verdict")
    lines = [f"**Verdict: {found['is']}**", ""]
    for study, one in found["studies"].items():
        margin = one.get("margin") if isinstance(one, dict) else None
        known = STUDY.fullmatch(study) and isinstance(one, dict) and one.get("is") in WORDS
        if not known or not NAME.fullmatch(str(one.get("figure"))) or not isinstance(margin, float):
            raise RefusedError("a verdict of another form")
        if not 0 < margin < BOUND:
            raise RefusedError("a margin that is no number")
        lines.append(f"- {study}: {one['is']} ({one['figure']}, margin {margin:g})")
    return lines


def comment(value: object, url: str) -> str:
    """Lay out the comment."""
    lines = [
        "### Bias review",
        "",
        *verdict(value),
        "",
        UNTRUSTED,
        "",
        "| figure | bias | null | BASE | HEAD | change (interval) | p (Holm) | shared | moved |",
    ]
    lines.append("| :--- | :--- |" + " ---: |" * 7)
    for name, bias, row in rows(value):
        if row["n"]:
            change = text(row["change"])
            if row["ci_low"] is not None and row["ci_high"] is not None:
                change += f" ({text(row['ci_low'])} to {text(row['ci_high'])})"
            null = "" if row["null"] is None else f"{row['null']:g}"
            cells = (null, text(row["base"]), text(row["head"]), change, text(row["p_holm"]), f"{row['n']:.0f}")
            lines.append(f"| {name} | {bias} | {' | '.join(cells)} | {row['moved'] or 0:.0f} |")
    return "\n".join([*lines, "", f"[Whole text and plots]({url})", ""])


def text(value: float | None) -> str:
    """Write a number."""
    return "" if value is None else f"{value:.3f}"


def main(file: Path, url: str) -> None:
    """Print the comment."""
    if file.stat().st_size > LARGEST:
        raise RefusedError("the file is too large")
    print(comment(json.loads(file.read_bytes()), url), end="")  # noqa: T201


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2])
    except (RefusedError, ValueError, RecursionError) as error:
        sys.exit(f"error: {sys.argv[1]}: {error}: no comment is written")
