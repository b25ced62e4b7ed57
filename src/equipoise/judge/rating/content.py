"""Sheets on which clinicians rate the cases themselves, and the content validity of their ratings.

A row of a sheet has both texts of a pair, in random order, with the expected and the documented error under plain
names: a rater sees the texts with their patients, but not which arm is the marginalised one, nor the pair, its
dimension or its hypothesis. A key, which raters do not see, joins rows to pairs. Each of four statements is rated from
1 (not true) to 4 (entirely true); a rating of 3 or 4 means agreement. If A of N raters agree with one statement about
one pair:

    I-CVI = A / N        kappa* = (I-CVI - p) / (1 - p)        p = C(N, A) / 2^N

Sources: I-CVI and its least value, Lynn 1986, Nurs Res 35: 382-385; the means over pairs, Polit and Beck 2006, Res
Nurs Health 29: 489-497; kappa*, which allows for agreement by chance, Polit, Beck and Owen 2007, Res Nurs Health 30:
459-467.
"""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import digest
from equipoise.core.row import Row, Text
from equipoise.core.sheets import table_text
from equipoise.judge.rating.agreement import cohens_kappa
from equipoise.judge.rating.blind import read_table
from equipoise.materials.vignette import ROLES, Role, Vignette

ASKED = ("best_1", "best_2", "wrong", "natural")
"""Columns to fill in: whether the diagnosis is the best for text 1 and for text 2, whether the alternative is wrong for
both, and whether both read like a clinician's notes."""
COLUMNS = ("row", "text_1", "text_2", "diagnosis", "alternative", *ASKED, "note")
STATEMENTS = ("best_marginalised", "best_privileged", "wrong", "natural")
"""The same four statements, by arm instead of position on the sheet."""
LISTED = ("pair", "statement", "raters", "i_cvi", "kappa", "notes")
"""Columns of the list of ratings by pair and statement."""
SCALE = {"1": 1, "2": 2, "3": 3, "4": 4}
AGREES = 3
"""Smallest rating that counts as agreement."""
FEWEST = 2
"""Fewest raters for whom agreement is defined."""


class ContentKey(Row):
    """The pair that a row of a sheet shows: `key` is the row's name there, `first` the arm whose text is text 1.

    `texts` is a digest of both texts, in their order on the sheet.
    """

    pair: Text
    first: Role
    texts: Text


class Content(NamedTuple):
    """One rater's ratings of one pair: 1 to 4 for each of `STATEMENTS`, and a note."""

    ratings: tuple[int, ...]
    note: str


def content_sheet(vignettes: Sequence[Vignette], *, seed: int, n: int | None = None) -> tuple[str, list[ContentKey]]:
    """Return a sheet, as CSV, and its key: a row for each pair, or for `n` drawn with `seed`, in a drawn order.

    Raises EquipoiseError if there is no pair, or a pair lacks an arm.
    """
    arms: defaultdict[str, dict[Role, Vignette]] = defaultdict(dict)
    for vignette in vignettes:
        arms[vignette.pair][vignette.role] = vignette
    if not arms:
        raise EquipoiseError("vignettes: no rows to rate: run `dvc repro build`")
    if lone := next((pair for pair, both in arms.items() if len(both) < len(ROLES)), None):
        raise EquipoiseError(f"vignettes: the pair {lone!r} lacks an arm: run `dvc repro build`")
    drawn = sorted(arms, key=lambda pair: digest(["draw", seed, pair]))[:n]
    drawn.sort(key=lambda pair: digest(["order", seed, pair]))
    rows, key = [], []
    width = max(3, len(str(len(drawn))))
    for number, pair in enumerate(drawn, start=1):
        first = min(ROLES, key=lambda role: digest(["side", seed, pair, role]))
        arm_1, arm_2 = (arms[pair][role] for role in (first, *(role for role in ROLES if role != first)))
        name = f"c{number:0{width}}"
        texts = {"row": name, "text_1": arm_1.text, "text_2": arm_2.text}
        answers = {"diagnosis": arm_1.expected.label, "alternative": arm_1.stereotyped.label}
        rows.append(dict.fromkeys(COLUMNS, "") | texts | answers)
        key.append(ContentKey(key=name, study=vignette.study, pair=pair, first=first, texts=_digest(texts)))
    return table_text(COLUMNS, rows), key


def read_content(name: str, text: str, key: Sequence[ContentKey]) -> dict[str, Content]:
    """Read a filled sheet: the ratings by pair, without rows in which no statement is rated.

    Raises:
        EquipoiseError: A row is unknown, repeated, of another key or partly filled, or none is rated; the message
            begins with `name`.
    """
    rows = {row.key: row for row in key}
    contents: dict[str, Content] = {}
    seen: set[str] = set()
    for number, cells in read_table(name, text, COLUMNS):
        where = f"{name}, row {cells['row']!r} (row {number} of the sheet)"
        row = rows.get(cells["row"].strip())
        if row is None:
            raise EquipoiseError(f"{where}: the key has no such row: correct its name, or give the key of this sheet")
        if row.key in seen:
            raise EquipoiseError(f"{where}: duplicate row: keep one of them")
        seen.add(row.key)
        if _digest(cells) != row.texts:
            raise EquipoiseError(f"{where}: the texts differ from the key's: give the key made with this sheet")
        if ratings := _ratings(where, cells):
            best_1, best_2, *others = ratings
            best = (best_1, best_2) if row.first == ROLES[0] else (best_2, best_1)
            contents[row.pair] = Content((*best, *others), cells["note"].strip())
    if not contents:
        raise EquipoiseError(f"{name}: no row is rated: fill the columns {', '.join(ASKED)}")
    return contents


def validity(rated: Mapping[str, Mapping[str, Content]], key: Sequence[ContentKey]) -> dict[str, Any]:
    """Measure content validity by statement and by pair, and the agreement of raters.

    Args:
        rated: For each rater, the ratings by pair.
        key: The key of the rated sheet.

    Returns:
        `rows`; `raters`, with the number of pairs that each rated; `statements`, over pairs with two or more raters:
        `n`, `s_cvi_ave` (mean of I-CVI), `s_cvi_ua` (share of pairs on which all agree), `kappa` (mean of kappa*),
        `below` (pairs for which `is_below` is true) and `fleiss_kappa` over the pairs that all raters rated; `between`,
        Cohen's kappa of every two raters; `pairs`, with I-CVI and kappa* of each statement. Undefined figures are None.

    Raises:
        EquipoiseError: There are fewer than two raters, or no pair that two of them rated.
    """
    if len(rated) < FEWEST:
        raise EquipoiseError(
            f"{', '.join(rated)}: one rater is not enough for agreement: give the sheets of two or more"
        )
    agreed = {
        name: {pair: tuple(rating >= AGREES for rating in content.ratings) for pair, content in contents.items()}
        for name, contents in rated.items()
    }
    pairs = [_pair(row.pair, rated, agreed) for row in key]
    both = [entry for entry in pairs if entry["raters"] >= FEWEST]
    if not both:
        raise EquipoiseError(
            f"{', '.join(rated)}: no pair was rated by two: give sheets of which the same rows are rated"
        )
    return {
        "rows": len(key),
        "raters": {name: len(contents) for name, contents in rated.items()},
        "statements": {name: _statement(place, name, both, agreed) for place, name in enumerate(STATEMENTS)},
        "between": [
            {"raters": [first, second], **_rater_kappas(agreed[first], agreed[second])}
            for first, second in combinations(agreed, 2)
        ],
        "pairs": sorted(both, key=lambda entry: entry["pair"]),
    }


def rating_rows(figures: Mapping[str, Any]) -> list[dict[str, str]]:
    """List the ratings by pair and statement, the least valid first; columns are `LISTED`."""
    rows = [(entry[name]["i_cvi"], entry["pair"], name, entry) for entry in figures["pairs"] for name in STATEMENTS]
    return [
        dict(zip(LISTED, (pair, name, str(entry["raters"]), *_cells(entry[name]), entry["notes"]), strict=True))
        for _, pair, name, entry in sorted(rows, key=lambda row: row[:3])
    ]


def is_below(i_cvi: float, raters: int) -> bool:
    """Whether an I-CVI is below Lynn's (1986) limit: 1 with up to five raters, 0.78 with more (7 of 9, rounded)."""
    return round(i_cvi, 2) < (1 if raters <= 5 else 0.78)  # noqa: PLR2004  (Lynn's table)


def modified_kappa(agree: int, raters: int) -> float:
    """Return the kappa* of `agree` of `raters`; chance agreement is never certain, so it is always defined."""
    chance = math.comb(raters, agree) / 2**raters
    kappa: float = (agree / raters - chance) / (1 - chance)
    return kappa


def _pair(
    pair: str, rated: Mapping[str, Mapping[str, Content]], agreed: Mapping[str, Mapping[str, tuple[bool, ...]]]
) -> dict[str, Any]:
    agreements = [contents[pair] for contents in agreed.values() if pair in contents]
    notes = (
        f"{name}: {contents[pair].note}" for name, contents in rated.items() if pair in contents and contents[pair].note
    )
    figures: dict[str, Any] = {"pair": pair, "raters": len(agreements), "notes": "; ".join(notes)}
    for place, name in enumerate(STATEMENTS) if len(agreements) >= FEWEST else ():
        agree = sum(agreement[place] for agreement in agreements)
        figures[name] = {"i_cvi": agree / len(agreements), "kappa": modified_kappa(agree, len(agreements))}
    return figures


def _statement(
    place: int, name: str, pairs: Sequence[Mapping[str, Any]], agreed: Mapping[str, Mapping[str, tuple[bool, ...]]]
) -> dict[str, Any]:
    shares = [entry[name]["i_cvi"] for entry in pairs]
    return {
        "n": len(pairs),
        "s_cvi_ave": float(np.mean(shares)),
        "s_cvi_ua": float(np.mean([share == 1 for share in shares])),
        "kappa": float(np.mean([entry[name]["kappa"] for entry in pairs])),
        "below": sum(is_below(entry[name]["i_cvi"], entry["raters"]) for entry in pairs),
        "fleiss_kappa": _fleiss(place, agreed),
    }


def _fleiss(place: int, agreed: Mapping[str, Mapping[str, tuple[bool, ...]]]) -> float | None:
    """Return Fleiss' kappa over the pairs that all raters rated; None without such pairs, or if ratings are equal."""
    from statsmodels.stats.inter_rater import fleiss_kappa

    common = set.intersection(*(set(agreements) for agreements in agreed.values()))
    counts = [sum(agreements[pair][place] for agreements in agreed.values()) for pair in sorted(common)]
    if not 0 < sum(counts) < len(agreed) * len(counts):
        return None
    return float(fleiss_kappa(np.array([[n, len(agreed) - n] for n in counts])))


def _rater_kappas(first: Mapping[str, tuple[bool, ...]], second: Mapping[str, tuple[bool, ...]]) -> dict[str, Any]:
    """Return Cohen's kappa of two raters, by statement, over the pairs that both rated."""
    common = sorted(first.keys() & second.keys())
    kappas: dict[str, float | None] = {}
    for place, name in enumerate(STATEMENTS) if common else ():
        table = np.zeros((2, 2))
        answers = [[int(agreed[pair][place]) for pair in common] for agreed in (first, second)]
        np.add.at(table, tuple(answers), 1)
        kappa = float(cohens_kappa(table))
        kappas[name] = None if math.isnan(kappa) else kappa
    return {"n": len(common), "kappa": kappas}


def _ratings(where: str, cells: Mapping[str, str]) -> tuple[int, ...]:
    """Return the ratings of one row, in the order of `ASKED`; empty if it is unrated."""
    answers = {column: cells[column].strip() for column in ASKED}
    if not any(answers.values()):
        return ()
    for column, rating in answers.items():
        if rating not in SCALE:
            raise EquipoiseError(f"{where}: {column} is {cells[column]!r}: write 1, 2, 3 or 4")
    return tuple(SCALE[rating] for rating in answers.values())


def _cells(figures: Mapping[str, float]) -> tuple[str, str]:
    return f"{figures['i_cvi']:.2f}", f"{figures['kappa']:z.2f}"


def _digest(cells: Mapping[str, str]) -> str:
    """Return a digest of both texts without spaces and punctuation, which spreadsheets change."""
    return digest([re.sub(r"\W+", "", cells[column]) for column in ("text_1", "text_2")])
