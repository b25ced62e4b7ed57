"""AMQA and FairMedPrompt: items with their options, the released answers of published runs, and their figures.

Answers are JSONL with `question_id`, `answer_idx` and one `test_model_answer_<arm>` for each of eight arms; AMQA and
FairMedPrompt differ in two names. Questions are numbered "0" to "800". A file that lacks some of them is refused unless
the caller allows it, because figures over part of the questions are not comparable.

Holm's adjustment runs over the family of all files scored together: the three attribute pairs of each. Original
against neutral, which checks the neutral text and is not a test of bias, is a separate family with one test per file.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import Source, identifier, json_rows, require_new, required, rows_of, valid
from equipoise.figures.options import ALPHA
from equipoise.materials.questions import ATTRIBUTES, GROUPS, Item
from equipoise.published.fetch import locate
from equipoise.stats.multiplicity import adjust
from equipoise.stats.paired import mcnemar_chi2, mcnemar_exact
from equipoise.stats.proportions import paired_difference, wilson
from equipoise.stats.quantities import PairedCells
from equipoise.studies.questions import NAME
from equipoise.studies.questions.effects import NEUTRAL, ORIGINAL, Answered, arms_of, cells, letters_differ, paper_pair

HUB_ID = "Showing-KCL/AMQA"
KEY = "amqa-"
"""Beginning of an item's key; the rest is the question's number in four digits."""
N_QUESTIONS = 801
"""Questions of the published dataset."""
ANSWER = "test_model_answer_"
ALIASES: dict[str, tuple[str, ...]] = {
    ORIGINAL: ("original_question", "original"),
    NEUTRAL: ("desensitized_question", "desensitized"),
}
"""The two names of an arm: AMQA's, then FairMedPrompt's."""
RELEASED = {
    arm: name
    for attribute in ATTRIBUTES
    for arm, name in zip(paper_pair(attribute), GROUPS[attribute].values(), strict=True)
}
"""The released files' name of each arm of the paper's design."""
NO_ANSWER = {"", "unknown", "none", "null", "n/a", "nan"}
"""The values of the released files for an answer in which their parser found no letter."""
LONGEST = 18
"""The most digits of a question's number that is named within a range."""
LICENCE = "as stated at huggingface.co/datasets/Showing-KCL/AMQA"
ANSWERS = "amqa/answers"
"""Folder of AMQA's released answers among the published data."""
CONTROL = "original_neutral"
PAIRS: dict[str, tuple[str, str]] = {
    "race": paper_pair("race"),
    "ses": paper_pair("ses"),
    "gender": paper_pair("gender"),
    CONTROL: (ORIGINAL, NEUTRAL),
}
"""The pairs of a released file; in the last one `privileged` is original and `unprivileged` is neutral."""
CELLS = {
    "both": "both",
    "only_first": "only_privileged",
    "only_second": "only_unprivileged",
    "neither": "neither",
    "inconsistent": "letters_differ",
    "gap": "gap",
    "p_exact": "p_exact",
    "p_chi2_cc": "p_chi2_cc",
}
"""Our name of a pair's figure for the published one."""


def complete_ids() -> list[str]:
    """List the question ids of the published dataset."""
    return [str(number) for number in range(N_QUESTIONS)]


def released_name(arm: str) -> str:
    """Return the released files' name of an arm of the paper's design (`white`); original and neutral keep theirs."""
    return RELEASED.get(arm, arm)


def read_answers(path: Source) -> list[Answered]:
    """Read a file or table of released answers, in its order; an error names the row and the field."""
    rows: list[Answered] = []
    seen: dict[str, str] = {}
    arms = ALIASES | {arm: (name,) for arm, name in RELEASED.items()}
    for where, row in rows_of(path, "a file of released answers, one question a row", json_rows):
        question = identifier(row, "question_id", where)
        require_new(seen, question, where, "question_id")
        letters = {arm: _letter(row, names, where) for arm, names in arms.items()}
        rows.append(Answered(question, gold_letter(row, where), letters))
    return rows


def gold_letter(row: Mapping[str, Any], where: str) -> str:
    """Read the letter of the right option from `answer_idx`."""
    gold = required(row, "answer_idx", where).strip().upper()
    if not re.fullmatch("[A-Z]", gold):
        raise EquipoiseError(
            f"{where}: field answer_idx: {gold!r} is not a letter: give the letter of the right option"
        )
    return gold


def require_same_questions(files: Mapping[str, Sequence[Answered]], expected: Collection[str]) -> None:
    """Refuse files that lack questions, have others, or disagree on the right answer; errors name the ids."""
    wanted = set(expected)
    for name, rows in files.items():
        ids = {row.question for row in rows}
        if missing := wanted - ids:
            raise EquipoiseError(
                f"{name}: incomplete, {len(ids & wanted)} of {len(wanted)} questions; missing ids "
                f"{named_ids(missing)}: score complete files, or ask for part of the questions with --allow-incomplete"
            )
        if extra := ids - wanted:
            raise EquipoiseError(
                f"{name}: ids that are not among the {len(wanted)} questions: {named_ids(extra)}: delete them"
            )
    require_same_gold(files)


def require_same_gold(files: Mapping[str, Sequence[Answered]]) -> None:
    """Refuse files that disagree on the right answer of a question; the error names the ids."""
    gold: dict[str, str] = {}
    for name, rows in files.items():
        differ = [row.question for row in rows if gold.setdefault(row.question, row.gold) != row.gold]
        if differ:
            raise EquipoiseError(
                f"{name}: answer_idx differs from the other files in the ids {named_ids(differ)}: correct one"
            )


def named_ids(ids: Iterable[str]) -> str:
    """List ids in order, runs of numbers as ranges: `3, 5, 402-800`."""
    known = {name: int(name) for name in ids if _is_number(name) and len(name) < LONGEST}
    numbers = sorted(set(known.values()))
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    ranges = [str(low) if low == high else f"{low}-{high}" for low, high in runs]
    return ", ".join(ranges + sorted({name for name in ids if name not in known}))


def read_items(source: str) -> list[Item]:
    """Read AMQA items from a parquet, CSV or JSONL file, or from the hub as `Showing-KCL/AMQA@<commit>`.

    Keys are `amqa-0000` and so on, so that they sort by the numbers of the questions. An error names the row and the
    field.
    """
    (path,) = locate(source, _largest)
    items: list[Item] = []
    seen: dict[str, str] = {}
    for where, row in rows_of(path, "one question a row"):
        items.append(_item(row, where))
        require_new(seen, items[-1].key, where, "question_id")
    return items


def question_id(key: str) -> str:
    """Return the id in the released files of an imported item's key: that of `amqa-0007` is "7"."""
    number = key.removeprefix(KEY)
    return _plain(number) if _is_number(number) else number


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _plain(number: str) -> str:
    return number.lstrip("0") or "0"


def _letter(row: Mapping[str, Any], names: Sequence[str], where: str) -> str | None:
    """Read the letter of one arm; None if it is one of `NO_ANSWER`."""
    for name in names:
        if ANSWER + name in row:
            value = row[ANSWER + name]
            answer = "" if value is None else str(value).strip()
            if re.fullmatch("[A-Za-z]", answer):
                return answer.upper()
            if answer.lower() in NO_ANSWER:
                return None
            raise EquipoiseError(
                f"{where}: field {ANSWER}{name}: {answer!r} is neither a letter nor Unknown: read its letter first"
            )
    raise EquipoiseError(
        f"{where}: field {' or '.join(ANSWER + name for name in names)} is missing: every arm needs its answer"
    )


def _item(row: Mapping[str, Any], where: str) -> Item:
    number = identifier(row, "question_id", where)
    options = row.get("options")
    if not isinstance(options, dict):
        options = {name.removeprefix("option_"): words for name, words in row.items() if name.startswith("option_")}
    item = {
        "key": KEY + (_plain(number).zfill(4) if _is_number(number) else number),
        "question": required(row, "original_question", where),
        "options": {letter: words for letter, words in options.items() if words is not None},
        "gold": required(row, "answer_idx", where),
        "disease": None,
        "reference": "",
        "source": f"AMQA question {number}",
        "licence": LICENCE,
        "study": NAME,
    }
    return valid(Item, item, where, "correct the row")


def _largest(sizes: Mapping[str, int]) -> list[str]:
    """Pick the data file of a data set: the largest one with rows."""
    names = [name for name in sizes if name.endswith((".parquet", ".jsonl"))]
    return sorted(names, key=lambda name: (sizes[name], name))[-1:]


def score_released(files: Mapping[str, Sequence[Answered]], name_of: Callable[[str], str]) -> list[dict[str, Any]]:
    """Score every file: `n`, `unparsed` and `accuracy` by arm (named by `name_of`), and the four `pairs`.

    `both`, `only_privileged`, `only_unprivileged`, `neither` and `letters_differ` are counts of questions, accuracy and
    gap are shares; undefined values are None. An unparsed answer counts as wrong.
    """
    scored = [_scored(name, table, name_of) for name, table in files.items()]
    for family in (ATTRIBUTES, (CONTROL,)):
        members = [file["pairs"][pair] for file in scored for pair in family]
        for pair, p in zip(members, adjust([pair["p_exact"] for pair in members], "holm"), strict=True):
            pair["p_holm"] = p
    return scored


def _scored(name: str, table: Sequence[Answered], name_of: Callable[[str], str]) -> dict[str, Any]:
    arms = arms_of(table)
    return {
        "file": name,
        "n": len(table),
        "unparsed": {name_of(arm): sum(not row.parsed(arm) for row in table) for arm in arms},
        "accuracy": {name_of(arm): sum(row.right(arm) for row in table) / len(table) for arm in arms},
        "pairs": {pair: _figures_of_pair(table, *PAIRS[pair]) for pair in PAIRS},
    }


def _figures_of_pair(table: Sequence[Answered], first: str, second: str) -> dict[str, Any]:
    counted = cells(table, first, second)
    interval = paired_difference(counted, ALPHA)
    exact, chi2 = mcnemar_exact(counted), mcnemar_chi2(counted)
    return {
        "both": counted.both,
        "only_privileged": counted.only_first,
        "only_unprivileged": counted.only_second,
        "neither": counted.neither,
        "gap": counted.difference,
        "ci_low": None if interval is None else interval.low,
        "ci_high": None if interval is None else interval.high,
        "p_exact": None if exact is None else exact.value,
        "p_chi2_cc": None if chi2 is None else chi2.value,
        "p_holm": None,
        "letters_differ": sum(letters_differ(table, first, second)),
    }


def amqa_figures(folder: Path, _data: Path) -> dict[str, float]:
    """Compute the counts, accuracies, intervals and pairs of AMQA's runs, as `amqa/<run>/…`."""
    return _runs("amqa", folder / ANSWERS)


def fairmedprompt_figures(folder: Path, _data: Path) -> dict[str, float]:
    """Compute the same for FairMedPrompt's runs, as `fairmedprompt/<run>/…`."""
    return _runs("fairmedprompt", folder / "fairmedprompt")


def _runs(source: str, folder: Path) -> dict[str, float]:
    figures: dict[str, float] = {}
    for path in sorted(folder.glob("*.jsonl")):
        figures |= {f"{source}/{path.stem}/{name}": value for name, value in _run(read_answers(path)).items()}
    return figures


def _run(table: list[Answered]) -> dict[str, float]:
    """Compute the figures of one run; an unparsed answer counts as wrong."""
    (scored,) = score_released({"": table}, released_name)
    n: int = scored["n"]
    figures: dict[str, float] = {"n": n, "variants": 2 * len(ATTRIBUTES) * n}
    for arm in arms_of(table):
        name = released_name(arm)
        correct = sum(row.right(arm) for row in table)
        interval = wilson(correct, n)
        figures |= {f"correct/{name}": correct, f"unparsed/{name}": scored["unparsed"][name]}
        figures[f"accuracy/{name}"] = scored["accuracy"][name]
        if interval is not None:
            figures |= {f"wilson95/{name}/low": interval.low, f"wilson95/{name}/high": interval.high}
    given = [row.letters["neutral"] for row in table]
    figures |= {f"letters/{letter}": given.count(letter) for letter in "ABCD"}
    for name, pair in scored["pairs"].items():
        figures |= {f"pairs/{name}/{measure}": value for measure, value in _published_pair(pair, n).items()}
    gaps = [scored["pairs"][attribute]["gap"] for attribute in ATTRIBUTES]
    return figures | {"smallest_gap": min(gaps), "largest_gap": max(gaps)}


def _published_pair(pair: dict[str, Any], n: int) -> dict[str, float]:
    figures: dict[str, float] = {name: pair[ours] for name, ours in CELLS.items() if pair[ours] is not None}
    figures["only_first_share"] = pair["only_privileged"] / n
    counts = (pair[name] for name in ("both", "only_privileged", "only_unprivileged", "neither"))
    if exact := mcnemar_exact(PairedCells(*counts)):
        # Not -log10 of the p-value, which may underflow.
        figures["neg_log10_p_exact"] = exact.neg_log10
    return figures
