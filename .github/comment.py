"""Write the comment on a pull request from its figures, without any of its code: comment.py comparison.json URL.

`comparison.json` is what `equipoise compare --json` printed in the pull request's own run, which may have changed that
program. It is therefore data of others: names and numbers of a known form are laid out, and the verdict is the worst of
those on the studies. Anything else is refused: the comment then says that the comparison cannot be read, so that no
earlier verdict remains, and the exit code is 1.
"""

import json
import math
import re
import sys
from pathlib import Path

MARK = "<!-- equipoise bias review -->"
"""The first line, by which the workflow finds its own comment."""
STUDIES = {path.parent.name for path in (Path(__file__).parents[1] / "src/equipoise/studies").glob("*/study.py")}
"""Studies of the default branch, with which the name of a figure begins."""
NAME = re.compile(r"[a-z0-9_]{1,20}(?:\.[a-z0-9_+-]{1,60}){1,3}")
LARGEST = 10_000_000
"""Bytes of a file that is read."""
MOST, BOUND = 200, 1e9
"""How many figures are laid out, and how large a number may be."""
FIELDS = ("null", "base", "head", "change", "ci_low", "ci_high", "p_holm", "n", "moved")
BIAS = ("worse", "worse (n.s.)", "", "better (n.s.)", "better", "no change")
"""Which way bias changed, in the order in which figures are shown."""
WORDS = ("not worse", "undecided", "worse")
"""Verdicts, the worst last."""
STUDY = re.compile(r"[a-z0-9_]{1,20}")
UNKNOWN = "a study that the default branch does not have"
UNREADABLE = "**Verdict: cannot be read.** The run has left no comparison, or one of another form: read its log."
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
    entries = []
    for name, row in figures.items():
        if not NAME.fullmatch(name) or not isinstance(row, dict) or row.get("bias", "") not in BIAS:
            raise RefusedError("a figure has a name or values of another form")
        numbers = {field: row.get(field) for field in FIELDS}
        for number in numbers.values():
            known = number is None or (type(number) in (int, float) and math.isfinite(number) and abs(number) < BOUND)
            if not known:
                raise RefusedError("a figure has a value that is no number")
        entries.append((name, row.get("bias", ""), numbers))
    return sorted(entries, key=lambda row: BIAS.index(row[1]))


def verdict(value: object) -> list[str]:
    """Read the verdicts on the studies, with their margins; the verdict as a whole is the worst of them."""
    overall = value.get("verdict") if isinstance(value, dict) else None
    studies = overall.get("studies") if isinstance(overall, dict) else None
    if not isinstance(overall, dict) or not isinstance(studies, dict) or not 0 < len(studies) <= MOST:
        raise RefusedError("no verdict on a study")
    words, lines = [], []
    for study, row in studies.items():
        margin = row.get("margin") if isinstance(row, dict) else None
        figure = str(row.get("figure")) if isinstance(row, dict) else ""
        if not STUDY.fullmatch(study) or row.get("is") not in WORDS or not isinstance(margin, float):
            raise RefusedError("a verdict of another form")
        if not NAME.fullmatch(figure) or figure.partition(".")[0] != study or not 0 < margin < BOUND:
            raise RefusedError("a verdict on no figure of its study, or a margin that is no number")
        words.append(row["is"])
        known = study in STUDIES
        lines.append(f"- {study if known else UNKNOWN}: {row['is']}" + (f" (`{figure}`, margin {margin:g})" * known))
    worst = max(words, key=WORDS.index)
    if overall.get("is") != worst:
        raise RefusedError("a verdict that is not the worst of its studies")
    return [f"**Verdict: {worst}**", "", *lines]


def comment(value: object, url: str) -> str:
    """Lay out the comment."""
    lines = [
        *verdict(value),
        "",
        UNTRUSTED,
        "",
        "| figure | bias | null | BASE | HEAD | change (interval) | p (Holm) | shared | moved |",
    ]
    lines.append("| :--- | :--- |" + " ---: |" * 7)
    measured = [row for row in rows(value) if row[2]["n"]]
    known = [row for row in measured if row[0].partition(".")[0] in STUDIES]
    for name, bias, row in known:
        change = text(row["change"])
        if row["ci_low"] is not None and row["ci_high"] is not None:
            change += f" ({text(row['ci_low'])} to {text(row['ci_high'])})"
        null = "" if row["null"] is None else f"{row['null']:g}"
        cells = (null, text(row["base"]), text(row["head"]), change, text(row["p_holm"]), f"{row['n']:.0f}")
        lines.append(f"| `{name}` | {bias} | {' | '.join(cells)} | {row['moved'] or 0:.0f} |")
    if len(known) < len(measured):
        lines += ["", f"Not shown: {len(measured) - len(known)} figures of {UNKNOWN}."]
    return framed(lines, url)


def framed(lines: list[str], url: str) -> str:
    """Put the mark and the heading before the lines, and a link to the run after them."""
    return "\n".join([MARK, "### Bias review", "", *lines, "", f"[Whole text and plots]({url})", ""])


def text(value: float | None) -> str:
    """Write a number."""
    return "" if value is None else f"{value:.3f}"


def read(file: Path) -> object:
    """Read a JSON file of a bounded size."""
    if file.stat().st_size > LARGEST:
        raise RefusedError("the file is too large")
    return json.loads(file.read_bytes())


def main(file: Path, url: str) -> None:
    """Print the comment, or one that says that the comparison cannot be read."""
    try:
        body = comment(read(file), url)
    except (RefusedError, OSError, ValueError, RecursionError) as error:
        print(framed([UNREADABLE], url), end="")  # noqa: T201
        sys.exit(f"error: {file}: {error}: the comment says that it cannot be read")
    print(body, end="")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
