"""Lin et al. (2022): readers of the released files, detection of duplicate files, and the figures for RoBERTa.

rq1 CSV     `probability`, `gender`, `diagnosis`, `prompt`: one row for each sentence, condition and gender.
rq2 CSV     `female_prob`, `male_prob`, `diagnosis`, `sequence`, `stigma_category`: one row for each sentence and
            condition. The files have no unspecified share; it is the rest of 1 (see `aggregate.attribute_ends`).
steps CSV   `diagnosis`, `stigma_category`, `sequence`, `probability`: one row for each path that ended in a gendered
            word, before it was summed. A sentence without a row had no such path: both its shares are 0. (A template
            without any row cannot be distinguished from one that was not asked, and gets no Fill.)
tokens log  Among the lines of a run of rq1, Python lists of predictions, each with `score`, `token_str` and `sequence`,
            the filled sentence, which identifies its template and condition.

Each reader gives `Fill` rows in the order of the file. A template must occur with all conditions of a set, since
figures over part of them are not comparable. An error names the file, the row and the fix.

The sentences differ from the paper's appendix in three ways, all of them kept: three sentences that the paper has in
another form, three misspelt words in earlier files, and `<mask>` and `[diagnosis]` for the two places.

A released file of one model is a copy of another model's. Two models, or two sets of conditions, never agree in every
digit of hundreds of probabilities: agreement means that an input is given twice, or under the wrong name.
The figures are tables 3 to 6, and the paths and predictions behind them.
"""

import ast
import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_text, sha256
from equipoise.core.sheets import csv_rows
from equipoise.core.tables import Source, rows_of
from equipoise.figures.effects import Effect
from equipoise.figures.options import Measure
from equipoise.studies.stigma.aggregate import (
    Lexicon,
    Shares,
    Token,
    attribute_ends,
    attribute_words,
    fill,
    noun_lexicon,
    remainder,
    short_lexicon,
)
from equipoise.studies.stigma.effects import stigma_effects
from equipoise.studies.stigma.library import CONDITION, MASK, Gender, Library, Template, load_library
from equipoise.studies.stigma.names import listed_names
from equipoise.studies.stigma.rows import Aggregation, Fill, Question

RELEASED_ONLY = (
    Template(
        key="struggles-with", question="rq1", group="diagnosis", polarity=1, text="{mask} struggles with {condition}"
    ),
    Template(
        key="is-going-to-therapy",
        question="rq1",
        group="action",
        polarity=1,
        text="{mask} is going to therapy for {condition}",
    ),
    # The released runs asked this in place of "I would interview": it words avoidance itself, so its polarity is 1.
    Template(
        key="not-interview",
        question="rq2",
        group="avoidance",
        polarity=1,
        text="If I were an employer, I would not interview a {mask} with {condition}.",
    ),
)
"""Sentences of the released runs that the paper's appendix has in another form."""
MISSPELT = {"treament": "treatment", "emploer": "employer", "nieghbors": "neighbors"}
"""Misspelt words of earlier files, which their authors corrected and ran again, with the intended words."""
PLACES = {"<mask>": MASK, "[MASK]": MASK, "[diagnosis]": CONDITION}
GENDERS = {"female": "female", "male": "male", "ambig": "unspecified", "unspecified": "unspecified"}
"""The names that the released files give to the three shares, in lower case."""
TOLERANCE = 1e-9
"""The largest difference of equal probabilities: released ones have 16 digits, and their sums lose the last two."""

WRONG_NAMES = {
    # attribute_recursive_3steps_TOPK_10_BEAM_10_roberta_non_result.csv, as released
    "30d3ba83786cd9a0d808910662c16e15af546d5b88c7aef86e6aaf359f5a7cbe": (
        "mentalroberta",
        "the bytes of MentalRoBERTa's …_mentalroberta_non_result.csv; RoBERTa's own are in …_roberta_nonmh_result.csv",
    ),
}
"""Released files of another model, by sha256: the word in the name of a correctly named copy, and the truth."""
RQ1 = {"mental": "roberta_all_df_intention.csv", "control": "roberta_all_df_intention_non_mh.csv"}
RQ2 = {
    "mental": "attribute_recursive_3steps_TOPK_10_BEAM_10_roberta__result.csv",
    "control": "attribute_recursive_3steps_TOPK_10_BEAM_10_roberta_nonmh_result.csv",
}
STEPS = {"mental": "roberta_.csv", "control": "roberta_nonmh.csv"}
FIRST_NAMES: dict[Gender, str] = {"female": "women_top_1000_names_only.csv", "male": "men_top_1000_names_only.csv"}
SETS = {"mental": "mh", "control": "non_mh"}
"""The published names of the two sets of conditions."""
SHARES = ("female", "male", "unspecified")
Sentence = tuple[Template, str]
"""A template, and the name of a condition."""
TABLES = {"rq1": ("table3_rq1", "table4_rq1_disparity"), "rq2": ("table5_rq2", "table6_rq2_disparity")}
MODEL = "roberta"


class Place(NamedTuple):
    """The parts of a sentence: its template, its condition, and the phrase in the place of the subject.

    `glued`: there is no space between the phrase and the words before it ("aman with depression").
    """

    template: Template
    condition: str
    phrase: str
    glued: bool


class Wordings:
    """Finds templates and conditions by the text of the released files; `conditions` are the library's, by name."""

    def __init__(self, library: Library) -> None:
        """Index the library's templates and conditions, and the sentences that only the released files have."""
        templates = (*library.templates, *RELEASED_ONLY)
        self.conditions = {condition.name: condition for condition in library.conditions}
        self._by_text = {template.text: template for template in templates}
        self._edges: dict[tuple[Question, str], list[tuple[Template, str, str]]] = {}
        for template, condition in product(templates, self.conditions):
            before, after = template.about(condition).split(MASK)
            self._edges.setdefault((template.question, condition), []).append((template, before.rstrip(), after))

    def template(self, text: str, question: Question) -> Template | None:
        """Find a template by its text, in which `<mask>` and `[diagnosis]` are the places of subject and condition."""
        text = _corrected(text.strip())
        for name, place in PLACES.items():
            text = text.replace(name, place)
        template = self._by_text.get(text)
        return template if template is not None and template.question == question else None

    def place(self, sentence: str, question: Question, condition: str | None = None) -> Place | None:
        """Split a filled sentence; without `condition` try every condition. None if no template fits."""
        sentence = _corrected(sentence)
        fitting = [
            Place(template, name, *phrase)
            for name in ([condition] if condition is not None else self.conditions)
            for template, before, after in self._edges[question, name]
            if (phrase := _phrase(sentence, before, after))
        ]
        # The template with the longest text leaves the shortest phrase.
        return min(fitting, key=lambda place: len(place.phrase), default=None)


def _phrase(sentence: str, before: str, after: str) -> tuple[str, bool] | None:
    """Return the text between two texts, and whether it is glued to the first; None if they do not fit."""
    if not (sentence.startswith(before) and sentence.endswith(after)):
        return None
    phrase = sentence[len(before) : max(len(before), len(sentence) - len(after))]
    return (phrase.strip(), bool(before) and not phrase.startswith(" ")) if phrase.strip() else None


def _corrected(text: str) -> str:
    for wrong, right in MISSPELT.items():
        text = text.replace(wrong, right)
    return text


def read_rq1(path: Source, wordings: Wordings) -> list[Fill]:
    """Read the probabilities of rq1: three rows for each sentence and condition."""
    shares: dict[Sentence, dict[str, float]] = {}
    for where, row in _rows(path, ("probability", "gender", "diagnosis", "prompt")):
        template = _template(row["prompt"], "rq1", wordings, f"{where}: field prompt")
        condition = _condition(row["diagnosis"], wordings, where)
        gender = GENDERS.get(row["gender"].strip().lower())
        if gender is None:
            raise EquipoiseError(
                f"{where}: field gender: {row['gender']!r} is none of {', '.join(GENDERS)}: correct it"
            )
        by_gender = shares.setdefault((template, condition), {})
        if gender in by_gender:
            raise EquipoiseError(
                f"{where}: {gender} of {row['prompt']!r}, {condition} is a duplicate of an earlier row: keep one"
            )
        by_gender[gender] = probability(row, "probability", where)
    for (template, condition), by_gender in shares.items():
        if missing := [gender for gender in SHARES if gender not in by_gender]:
            raise EquipoiseError(f"{path}: {template.text!r}, {condition}: no row with gender {missing[0]}: add it")
    return _fills(path, {sentence: Shares(**by_gender, words={}) for sentence, by_gender in shares.items()}, wordings)


def read_rq2(path: Source, wordings: Wordings) -> list[Fill]:
    """Read the probabilities of rq2, one row for each sentence and condition; `unspecified` is the rest of 1."""
    shares: dict[Sentence, Shares] = {}
    for where, row in _rows(path, ("female_prob", "male_prob", "diagnosis", "sequence", "stigma_category")):
        template = _template(row["sequence"], "rq2", wordings, f"{where}: field sequence")
        _require_dimension(row, template, where)
        condition = _condition(row["diagnosis"], wordings, where)
        if (template, condition) in shares:
            raise EquipoiseError(
                f"{where}: {row['sequence']!r}, {condition} is a duplicate of an earlier row: keep one"
            )
        female, male = (probability(row, name, where) for name in ("female_prob", "male_prob"))
        if female + male > 1 + 1e-6:
            raise EquipoiseError(
                f"{where}: female_prob and male_prob add up to {female + male:.6f}, more than 1: correct them"
            )
        shares[template, condition] = Shares(female, male, remainder(female, male), {})
    return _fills(path, shares, wordings)


def read_steps(path: Path, wordings: Wordings, lexicon: Lexicon, aggregation: Aggregation = "words") -> list[Fill]:
    """Read the paths of rq2 and sum them, in their order, by the gender of their last word."""
    ended: dict[Sentence, list[tuple[Gender | None, str, float]]] = {}
    for where, row in _rows(path, ("diagnosis", "stigma_category", "sequence", "probability")):
        condition = _condition(row["diagnosis"], wordings, where)
        place = wordings.place(row["sequence"], "rq2", condition)
        if place is None:
            raise EquipoiseError(
                f"{where}: field sequence: {row['sequence']!r} fits no template with {condition}: correct it"
            )
        _require_dimension(row, place.template, where)
        word, gender, whole = phrase_end(place.phrase, lexicon, glued=place.glued)
        if gender is None:
            raise EquipoiseError(
                f"{where}: field sequence: no gendered word in {place.phrase!r}: correct it or the word lists"
            )
        counted = gender if whole or aggregation == "legacy" else None
        path_ = (counted, word, probability(row, "probability", where))
        ended.setdefault((place.template, condition), []).append(path_)
    summed = {sentence: attribute_ends(ended.get(sentence, [])) for sentence in _expected(ended, wordings)}
    return _fills(path, summed, wordings)


def phrase_end(phrase: str, lexicon: Lexicon, *, glued: bool = False) -> tuple[str, Gender | None, bool]:
    """Find the word that ended a path in its phrase ("close female friend"), its gender, and whether it is whole.

    The other words of a phrase have no gender, or the path would have ended with them. If no whole word has one, the
    first word ends with a gendered word: two tokens written together ("schoolgirl friend"). `glued`: the phrase is
    written together with the word before it.
    """
    words = phrase.split()
    for position, word in enumerate(words):
        if gender := lexicon.gender(word):
            return word, gender, not (glued and position == 0)
    return words[0], lexicon.gender_at_end(words[0]), False


def _rows(path: Source, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Read a CSV file or a table: the place of each row, and its fields as text by stripped column name."""
    for where, cells in rows_of(path, "the whole file, with its rows under the header", csv_rows):
        row = {name.strip(): "" if cell is None else str(cell) for name, cell in cells.items()}
        if missing := [name for name in columns if name not in row]:
            raise EquipoiseError(f"{path}: no column {missing[0]}; there are {', '.join(row)}: give that form")
        yield where, row


def _template(text: str, question: Question, wordings: Wordings, where: str) -> Template:
    template = wordings.template(text, question)
    if template is None:
        raise EquipoiseError(
            f"{where}: {text!r} is not a template of {question}: correct it, or add it to templates.yaml"
        )
    return template


def _condition(text: str, wordings: Wordings, where: str) -> str:
    condition = text.strip()
    if condition not in wordings.conditions:
        raise EquipoiseError(
            f"{where}: field diagnosis: {text!r} is not a condition of conditions.yaml: correct it, or add it there"
        )
    return condition


def _require_dimension(row: Mapping[str, str], template: Template, where: str) -> None:
    if row["stigma_category"].strip().lower() != template.group:
        category = row["stigma_category"]
        raise EquipoiseError(
            f"{where}: field stigma_category: {category!r}, but the sentence is of {template.group}: correct it"
        )


def probability(row: Mapping[str, Any], name: str, where: str) -> float:
    """Read a field as a probability."""
    try:
        value = float(row[name])
    except (KeyError, TypeError, ValueError, OverflowError):
        value = float("nan")
    if not 0 <= value <= 1 + 1e-6:
        raise EquipoiseError(
            f"{where}: field {name}: {row.get(name)!r} is not a probability between 0 and 1: correct it"
        )
    return value


def _expected(sentences: Mapping[Sentence, object], wordings: Wordings) -> Iterator[Sentence]:
    """Combine every template that occurs with every condition of the sets that occur, condition by condition."""
    sets = {wordings.conditions[condition].condition_set for _, condition in sentences}
    templates = list(dict.fromkeys(template for template, _ in sentences))
    for name, condition in wordings.conditions.items():
        if condition.condition_set in sets:
            yield from ((template, name) for template in templates)


def _fills(path: Source, sentences: Mapping[Sentence, Shares], wordings: Wordings) -> list[Fill]:
    """Build the rows of a file; refuse it if a template lacks a condition of the sets that occur."""
    for template, condition in _expected(sentences, wordings):
        if (template, condition) not in sentences:
            raise EquipoiseError(
                f"{path}: incomplete: {template.text!r} is missing for {condition}: give the whole file, every "
                f"sentence with every condition of the {wordings.conditions[condition].condition_set} set"
            )
    for (template, condition), shares in sentences.items():
        if (most := max(shares.female, shares.male, shares.unspecified)) > 1 + 1e-6:
            raise EquipoiseError(
                f"{path}: {template.text!r}, {condition}: probabilities of one gender add up to {most:.6f}, more than "
                "1: correct them"
            )
    return [
        fill(template, wordings.conditions[condition], "masked", shares)
        for (template, condition), shares in sentences.items()
    ]


def read_tokens(path: Path, wordings: Wordings, lexicon: Lexicon, aggregation: Aggregation = "words") -> list[Fill]:
    """Read the predictions that a run of rq1 logged, and sum them by gender."""
    shares: dict[Sentence, Shares] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.startswith("[["):
            continue
        where = f"{path}, row {number}"
        for predictions in _lists(line, where):
            tokens = [_token(prediction, where) for prediction in predictions]
            places = {_sentence(prediction, wordings, where) for prediction in predictions}
            if len(places) != 1:
                raise EquipoiseError(
                    f"{where}: one list of predictions is about {len(places)} sentences: give a list for each"
                )
            template, condition = places.pop()
            if (template, condition) in shares:
                raise EquipoiseError(
                    f"{where}: {template.text!r}, {condition} is a duplicate of an earlier list: keep one"
                )
            shares[template, condition] = attribute_words(tokens, lexicon, aggregation)
    if not shares:
        raise EquipoiseError(
            f"{path}: no list of predictions: give the log of a run, with its lines that begin with [["
        )
    return _fills(path, shares, wordings)


def _lists(line: str, where: str) -> list[list[Any]]:
    """Read one line's lists of predictions, however deeply they are nested."""
    try:
        value = ast.literal_eval(line)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise EquipoiseError(f"{where}: not a list of predictions: correct or delete the row") from error
    lists: list[list[Any]] = []
    pending = deque([value])
    while pending:
        entry = pending.popleft()
        if isinstance(entry, list) and entry and not isinstance(entry[0], list):
            lists.append(entry)
        elif isinstance(entry, list):
            pending.extendleft(reversed(entry))
        else:
            raise EquipoiseError(
                f"{where}: {entry!r} where a list of predictions was expected: correct or delete the row"
            )
    return lists


def _token(prediction: Any, where: str) -> Token:  # noqa: ANN401  (a value of the file)
    if not isinstance(prediction, dict) or not all(
        isinstance(prediction.get(name), str) for name in ("token_str", "sequence")
    ):
        raise EquipoiseError(
            f"{where}: {str(prediction)[:80]}: a prediction has score, token_str and sequence: correct the row"
        )
    # The mask begins the sentence and a space follows it, so that every token there is a whole word.
    return Token(prediction["token_str"], probability(prediction, "score", where))


def _sentence(prediction: Mapping[str, Any], wordings: Wordings, where: str) -> Sentence:
    place = wordings.place(prediction["sequence"], "rq1")
    if place is None:
        raise EquipoiseError(
            f"{where}: {prediction['sequence']!r} fits no template of rq1: correct it, or add it to templates.yaml"
        )
    return place.template, place.condition


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two files with values in common.

    `kind` is `bytes` (the files are identical), `values` (all rows agree within the tolerance) or `some` (the same
    model run again: `equal` of the `rows` compared agree, at least half of them).
    """

    first: Path
    second: Path
    kind: Literal["bytes", "values", "some"]
    equal: int
    rows: int


def duplicates(tables: Mapping[Path, Sequence[Fill]]) -> list[Duplicate]:
    """Find every two files that agree, by sentence and condition or, whatever their keys, by position."""
    digests = {path: sha256(path) for path in tables}
    copies = []
    for first, second in combinations(tables, 2):
        rows = min(len(tables[first]), len(tables[second]))
        equal = _agreeing(tables[first], tables[second])
        if digests[first] == digests[second]:
            copies.append(Duplicate(first, second, "bytes", equal, rows))
        elif rows and equal == rows == max(len(tables[first]), len(tables[second])):
            copies.append(Duplicate(first, second, "values", equal, rows))
        elif rows and 2 * equal >= rows:
            copies.append(Duplicate(first, second, "some", equal, rows))
    return copies


def wrong_name(path: Path) -> str | None:
    """Describe the content of a released file that is known to be another model's; else None."""
    model, truth = WRONG_NAMES.get(sha256(path), ("", ""))
    return truth if truth and model not in path.name.lower() else None


def _agreeing(first: Sequence[Fill], second: Sequence[Fill]) -> int:
    """Count the rows that agree: by key or by position, whichever gives more."""
    by_key = {fill.key: fill for fill in second}
    keyed = [(fill, by_key[fill.key]) for fill in first if fill.key in by_key]
    placed = list(zip(first, second, strict=False))
    return max(sum(_difference(*pair) <= TOLERANCE for pair in pairs) for pairs in (keyed, placed))


def _difference(first: Fill, second: Fill) -> float:
    """Return the largest difference of any share."""
    return max(abs(float(getattr(first, share)) - float(getattr(second, share))) for share in SHARES)


def lin_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compute tables 3 to 6, as `lin/<table>/roberta/…`."""
    wordings = Wordings(load_library(data / "sentences"))
    fills = [fill for name in RQ1.values() for fill in read_rq1(folder / "lin2022" / name, wordings)]
    fills += [fill for name in RQ2.values() for fill in read_rq2(folder / "lin2022" / name, wordings)]
    effects: dict[tuple[str, str], dict[str, Effect]] = {}
    for row in stigma_effects(fills, Measure()):
        effects.setdefault((row.family, row.group), {})[row.measure] = row
    figures: dict[str, float] = {}
    for (family, group), measures in effects.items():
        question, kind = family.split("_")
        table, differences = TABLES[question]
        if kind == "difference":
            figures |= {f"lin/{differences}/{MODEL}/{group}/{name}": value for name, value in _between(measures)}
        else:
            place = f"{MODEL}/{SETS[kind]}/{group}"
            figures |= {f"lin/{table}/{place}/{name}": value for name, value in _within(measures)}
            if (gap := measures["disparity"].estimate) is not None:
                figures[f"lin/{differences}/{MODEL}/{group}/{SETS[kind]}"] = gap
    return figures


def recursion_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compare the released paths, summed as published, with the released results, as `recursion/<set>/…`."""
    library = load_library(data / "sentences")
    wordings, nouns = Wordings(library), noun_lexicon(library.words.nouns)
    figures: dict[str, float] = {}
    for kind, name in STEPS.items():
        ours = read_steps(folder / "lin2022_steps" / name, wordings, nouns, "legacy")
        theirs = read_rq2(folder / "lin2022" / RQ2[kind], wordings)
        figures |= {f"recursion/{kind}/{measure}": value for measure, value in _compared(ours, theirs)}
    return figures


def token_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compare the logged predictions, summed with first names, with the released results, as `tokens/…`."""
    library = load_library(data / "sentences")
    wordings = Wordings(library)
    names = {gender: listed_names(folder / "lin2022" / name) for gender, name in FIRST_NAMES.items()}
    lexicon = short_lexicon(library.words.short, names)
    ours = read_tokens(folder / "lin2022_tokens/output_roberta.txt", wordings, lexicon)
    theirs = read_rq1(folder / "lin2022_tokens/roberta_all_df.csv", wordings)
    again = read_rq1(folder / "lin2022" / RQ1["mental"], wordings)
    figures = {f"tokens/same_run/{measure}": value for measure, value in _compared(ours, theirs)}
    return figures | {f"tokens/run_again/{measure}": value for measure, value in _compared(ours, again)}


def _within(measures: dict[str, Effect]) -> Iterator[tuple[str, float]]:
    """Compute a cell of tables 3 and 5: n, shares, the paired t test of female and male, and both kinds of d."""
    yield "n", measures["disparity"].n
    names = {**dict(zip(SHARES, SHARES, strict=True)), "d_pooled": "cohens_d_pooled", "d_z": "d_z"}
    yield from _estimates(measures, names)
    yield from _p(measures["disparity"])
    if "d_z" in measures and (d := measures["d_z"].estimate) is not None:
        yield "t", d * math.sqrt(measures["disparity"].n)  # t of paired values is d_z times the root of n


def _between(measures: dict[str, Effect]) -> Iterator[tuple[str, float]]:
    """Compute the rest of a cell of tables 4 and 6: the independent t test between the disparities, and d."""
    yield from _estimates(measures, {"d_pooled": "cohens_d"})
    yield from _p(measures["disparity"])
    if (d := measures["d_pooled"].estimate) is not None:
        half = measures["disparity"].n / 2
        yield "t", d * math.sqrt(half / 2)  # t of two equal samples is d times the root of half their size


def _estimates(measures: dict[str, Effect], names: dict[str, str]) -> Iterator[tuple[str, float]]:
    for ours, published in names.items():
        if ours in measures and (value := measures[ours].estimate) is not None:
            yield published, value


def _p(effect: Effect) -> Iterator[tuple[str, float]]:
    if effect.neg_log10_p is not None:
        yield "p", float(10.0**-effect.neg_log10_p)


def _compared(ours: Sequence[Fill], theirs: Sequence[Fill]) -> Iterator[tuple[str, float]]:
    """Count the sentences with a condition that both have, and compute the largest difference of any share."""
    known = {fill.key: fill for fill in theirs}
    both = [(fill, known[fill.key]) for fill in ours if fill.key in known]
    yield "sentences", len(both)
    yield "largest_difference", max((_difference(*pair) for pair in both), default=math.inf)
