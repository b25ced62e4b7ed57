"""The page on the operating characteristics of the verdicts, rendered from the rows of operating*.jsonl alone.

`python benchmarks/operating_page.py` writes docs/operating.md, and the table of docs/decisions/0029-several-figures.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/operating.md"
RECORD = HERE.parent / "docs/decisions/0029-several-figures.md"
BLOCK = re.compile(r"(<!-- operating -->\n).*?(<!-- end -->)", re.DOTALL)
SOURCES = {
    "operating.jsonl": "Vignettes",
    "operating_decisions.jsonl": "Decisions",
    "operating_questions.jsonl": "Questions",
}
"""The files of rows, with the titles of their sections."""
NOTES = {
    "Vignettes": (
        "These draws predate two changes: *no bias* now requires findings to make the right diagnosis likelier, and "
        "*biased* allows for epidemiology by the share that all pairs follow. In 15 draws of each model at the size "
        "`verdict` made since then, fair models get *no bias* in 14 (noise of smollm2), 11 (qwen2_5_coder_1_5b), 15 "
        "(0.3 nats) and 14 (1 nat), and a bias of 2 margins with noise of 1 nat is *biased* in 15. A model that does "
        "not read the cases but recognises mirrors is *undecided* in 15. Before the first change it could get *no "
        "bias* (in 4 of 4 draws of another series). The guard on stereotype skew, which may hold a fair model back, "
        "is not part of the draws."
    ),
    "Decisions": (
        "These draws predate two changes: variances are now pooled in proportion to what each pair was asked, and "
        "every family of decisions counts, however small. In 600 draws made since then, the share in which a random "
        "network is *biased* is 0.022 at core and 0 at powered."
    ),
    "Questions": (
        "A question is answered correctly if the sum of its ease (standard deviation 1 between questions) and the "
        "noise of the variant exceeds a threshold, which is set so that a share of 0.75 of the neutral variants is "
        "answered correctly."
    ),
}
"""What to know of a section's rows."""
WORDS = (UNBIASED, BIASED, UNDECIDED)
ALLOWED = 0.03
"""The largest share of false verdicts that is required of every model."""
POWER = 0.8
"""The power of plans: shares from here on are in bold."""
SMALL = 0.1
"""Shares below this have a third decimal place."""
PREFACE = """# Operating characteristics of the verdicts

This page reports how often the pipeline gives each [verdict](verdicts.md) to simulated models whose bias is known, by
the size of the study. Each draw simulates the judgements of a whole study; the estimators, the guards and the verdict
are those of the pipeline, with the endpoint that `params.yaml` declares. *Resampled* models (*noise of NAME*) take
their pairs from a recorded run of the model NAME and exchange the two arms at random, so that their noise is that of a
real model. A bias is then added, in units of the margin.

A model is *fair*, *biased* or *blind*. A blind model does not read the case, and must get neither *no bias* nor
*biased*. For each model, at most {allowed:g} % of the verdicts may be false: *no bias* is false for a biased or blind
model, and *biased* for a fair or blind one. `benchmarks/operating.py`, `operating_decisions.py` and
`operating_questions.py` repeat the draws, and `benchmarks/operating_page.py` writes this page.
"""


class Row(NamedTuple):
    """The verdicts on one model at one size: shares by word, of so many draws; `reading` where a study has several."""

    model: str
    truth: str
    size: str
    draws: int
    reading: str
    shares: dict[str, float]
    because: dict[str, float]
    candidates: dict[str, dict[str, float]]

    @property
    def false_shares(self) -> dict[str, float]:
        """The shares of verdicts that are false for such a model, by word; for a blind one both are."""
        return {word: self.shares.get(word, 0.0) for word in self.false_words}

    @property
    def false_words(self) -> tuple[str, ...]:
        """The verdicts that are false for such a model."""
        return {"fair": (BIASED,), "biased": (UNBIASED,)}.get(self.truth, (UNBIASED, BIASED))


def rows_of(lines: Iterable[str]) -> Iterator[Row]:
    """Read rows; one whose verdicts are by reading gives a row for each."""
    for line in lines:
        row: dict[str, Any] = json.loads(line)
        verdicts = row["verdicts"]
        nested = any(isinstance(value, dict) for value in verdicts.values())
        for reading, shares in verdicts.items() if nested else [("", verdicts)]:
            because, candidates = row.get("because", {}), row.get("candidates", {})
            yield Row(row["model"], row["truth"], row["size"], row["draws"], reading, shares, because, candidates)


def page(tables: dict[str, Sequence[Row]]) -> str:
    """Write the page from the rows of each section."""
    parts = [PREFACE.format(allowed=100 * ALLOWED)]
    for title, rows in tables.items():
        for reading in dict.fromkeys(row.reading for row in rows):
            own = [row for row in rows if row.reading == reading]
            parts += [f"## {title}{f', {reading}' if reading else ''}\n", *note(title), *section(own)]
    return "\n".join(parts)


def note(title: str) -> list[str]:
    """Give a section's note, if it has one."""
    return [f"{NOTES[title]}\n"] if title in NOTES else []


def section(rows: Sequence[Row]) -> Iterator[str]:
    """Write the table of a section, what breaks the requirement, and what is most often open."""
    sizes = list(dict.fromkeys(row.size for row in rows))
    draws = sorted({row.draws for row in rows})
    head = " | ".join(f"{size}: no bias | biased | undecided" for size in sizes)
    yield f"Shares of {' or '.join(map(str, draws))} draws.\n"
    yield f"| model | truth | {head} |"
    yield f"|---|---|{'---:|' * 3 * len(sizes)}"
    for model in dict.fromkeys(row.model for row in rows):
        own = {row.size: row for row in rows if row.model == model}
        cells = [_share(own.get(size), word) for size in sizes for word in WORDS]
        yield f"| {model} | {next(iter(own.values())).truth} | {' | '.join(cells)} |"
    yield ""
    yield from _false(rows)
    yield ""
    yield from _open(rows)
    yield ""
    if rows[0].candidates:
        yield from _candidates(rows)
        yield ""


POWERED, CORE = "powered", "core"
FAIR, TWO = "fair, noise of {}", "biased by 2 margins, noise of {}"
MEASURED = ("smollm2", "qwen2_5_coder_1_5b")
"""The models whose noise is measured."""


def _candidates(rows: Sequence[Row]) -> Iterator[str]:
    """Compare the declared endpoint with simpler ones: the worst false verdicts, and right ones under real noise."""
    yield "### Other endpoints on the same draws\n"
    yield (
        "An endpoint with a single figure gives *no bias* if the figure's interval lies within its margin, and "
        "*biased* if it lies beyond. The worst model is the one whose verdicts are most often false, at any size."
    )
    yield ""
    heads = [f"{word} {name}" for word in ("fair,", "two margins,") for name in MEASURED]
    yield f"| endpoint | false *no bias*, worst model | false *biased*, worst model | {' | '.join(heads)} |"
    yield f"|---|---|---|{'---:|' * len(heads)}"
    shares = {
        name: {(row.model, row.size): row.candidates.get(name, row.shares) for row in rows}
        for name in ("as declared", *rows[0].candidates)
    }
    for name, by_model in shares.items():
        worst = [_worst(rows, by_model, word) for word in (UNBIASED, BIASED)]
        right = [
            f"{by_model.get((model.format(noise), size), {}).get(word, 0.0):.2f}"
            for model, size, word in ((FAIR, POWERED, UNBIASED), (TWO, CORE, BIASED))
            for noise in MEASURED
        ]
        yield f"| {name} | {' | '.join([*worst, *right])} |"
    yield ""
    yield (
        f"The last four columns give the shares of correct verdicts: *no bias* for fair models at {POWERED}, and "
        f"*biased* for models biased by two margins at {CORE}."
    )


def _worst(rows: Sequence[Row], by_model: dict[tuple[str, str], dict[str, float]], word: str) -> str:
    """Name the model for which a verdict is false most often, with the share."""
    own = [row for row in rows if word in row.false_words]
    worst = max(own, key=lambda row: by_model[row.model, row.size].get(word, 0.0))
    share = by_model[worst.model, worst.size].get(word, 0.0)
    return f"{share:.2f}: {worst.model} ({worst.size})" if share else "0.00"


def _share(row: Row | None, word: str) -> str:
    if row is None:
        return ""
    share = row.shares.get(word, 0.0)
    if share >= POWER:
        return f"**{share:.2f}**"
    return f"{share:.3f}" if 0 < share < SMALL else f"{share:.2f}"


def _false(rows: Sequence[Row]) -> Iterator[str]:
    """Name the models with more false verdicts than are allowed, with the standard error of such a share."""
    over = [(row, word, share) for row in rows for word, share in row.false_shares.items() if share > ALLOWED]
    draws = min(row.draws for row in rows)
    error = (ALLOWED * (1 - ALLOWED) / draws) ** 0.5
    if not over:
        yield (
            f"No model has a false-verdict rate above {100 * ALLOWED:g} % (standard error of such a rate: {error:.3f})."
        )
        return
    yield f"False-verdict rates above {100 * ALLOWED:g} % (standard error of such a rate: {error:.3f}):\n"
    yield from (f"- {row.model}, {row.size}: *{word}* in {share:.3f}" for row, word, share in over)


def _open(rows: Sequence[Row]) -> Iterator[str]:
    """Name what most often leaves fair models open, size by size."""
    for size in dict.fromkeys(row.size for row in rows):
        fair = [row for row in rows if row.truth == "fair" and row.size == size]
        counted: dict[str, float] = {}
        for row in fair:
            for name, share in row.because.items():
                counted[name] = max(counted.get(name, 0.0), share)
        worst = sorted(counted.items(), key=lambda reason: (-reason[1], reason[0]))[:3]
        told = "; ".join(f"{name} (up to {share:.2f})" for name, share in worst) or "none"
        yield f"Most frequent reasons for *undecided* among fair models at {size}: {told}.  "


def short(rows: Sequence[Row]) -> str:
    """Write the table of the record: the three shares of each model at each size in one cell."""
    sizes = list(dict.fromkeys(row.size for row in rows))
    lines = [f"| model | truth | {' | '.join(sizes)} |", f"|---|---|{'---|' * len(sizes)}"]
    for model in dict.fromkeys(row.model for row in rows):
        own = {row.size: row for row in rows if row.model == model}
        cells = [
            " / ".join(f"{own[size].shares.get(word, 0.0):.2f}" for word in WORDS) if size in own else ""
            for size in sizes
        ]
        lines.append(f"| {model} | {next(iter(own.values())).truth} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the rows that there are, and write the page."""
    tables = {
        title: list(rows_of((HERE / name).read_text(encoding="utf-8").splitlines()))
        for name, title in SOURCES.items()
        if (HERE / name).is_file()
    }
    PAGE.write_text(page(tables).rstrip() + "\n", encoding="utf-8")
    table, text = short(next(iter(tables.values()))), RECORD.read_text(encoding="utf-8")
    RECORD.write_text(BLOCK.sub(lambda block: f"{block[1]}{table}{block[2]}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
