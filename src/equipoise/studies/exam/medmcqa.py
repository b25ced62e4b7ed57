"""MedMCQA: its questions turned into items, and EquiLens' answers to the question sets of cities, with their figures.

The published form of a question has the columns id, question, opa to opd, cop (0 to 3; -1 where the answer is
withheld), subject_name and topic_name. EquiLens' form has id, prompt (subject, topic, question and options in one
text), answer (a letter), and perhaps disease and city.

The question sets of cities share questions, so an id does not identify the city: each file of responses belongs to the
one set that contains all its ids. The figures are those of `equipoise.studies.exam.effects`, not rounded.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self, get_args

from pydantic import Field, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.row import Frozen
from equipoise.core.tables import identifier, required, rows_of, valid
from equipoise.core.yamlfile import load_yaml
from equipoise.figures.effects import Estimate
from equipoise.figures.options import Measure
from equipoise.materials.cities import City, load_cities
from equipoise.materials.questions import Disease, Item, same_text
from equipoise.published.catalogue import Reference, leaves
from equipoise.published.equilens import CITIES, RESAMPLES, letter_given, response_text
from equipoise.published.fetch import locate
from equipoise.studies.exam import NAME
from equipoise.studies.exam.effects import MEASURES, WEIGHTED, CityScores, ExamAnswer, Marked, Scores, score_cities
from equipoise.studies.exam.subsets import CLASSES, disease_counts

DISEASES = Path("data/medmcqa_diseases.yaml")
"""The rules that assign a group of diseases to a question by its topic and subject; the first that fits applies."""
Words = Annotated[str, Field(pattern=r"^[a-z0-9]+\*?( [a-z0-9]+\*?)*$")]
"""Words as `plain` leaves them, in lower case; a star at the end of a word matches any ending."""
HUB_ID = "openlifescienceai/medmcqa"
LICENCE = f"as stated at huggingface.co/datasets/{HUB_ID}"
KEY = "medmcqa-"
"""Beginning of an item's key; the rest is the question's id."""
OPTION_COLUMNS = dict(zip(CLASSES, ("opa", "opb", "opc", "opd"), strict=True))
WITHHELD = -1
"""The value of the right option in the test split."""
LABELLED = re.compile(r"(?:^|[/_-])(?:train|validation|dev)\b.*\.parquet$")
"""The files of the hub whose questions have their answers."""
PROMPT = re.compile(
    r"\s*(?:Subject: (?P<subject>.*?)\s*\|\s*Topic: (?P<topic>.*?)\n\s*)?Question:\n(?P<question>.*)\n\s*Options:\n"
    r"\s*A\. (?P<A>.*)\n\s*B\. (?P<B>.*)\n\s*C\. (?P<C>.*)\n\s*D\. (?P<D>.*?)(?:\n\s*Answer:)?\s*",
    re.DOTALL,
)
FAILED = re.compile(r"\s*ERROR\b")
"""Beginning of the response to a failed request; the letters in its message are not an answer."""
QUESTIONS = "equilens/medmcqa_questions/medmcqa_{city}.parquet"
SET_SIZE = 1000
"""Questions in each released set of a city."""


class Rule(Frozen):
    """A rule that assigns a group of diseases, or none, to a question.

    It fits if the topic contains any of `topics` and the subject any of `subjects`; a missing list fits every name.
    """

    disease: Disease | None
    topics: tuple[Words, ...] = ()
    subjects: tuple[Words, ...] = ()

    @model_validator(mode="after")
    def _fits_something(self) -> Self:
        if not self.topics and not self.subjects:
            raise ValueError("a rule without topics and subjects would fit every question: give some of either")
        return self

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        return _any_of(self.topics), _any_of(self.subjects)

    def fits(self, topic: str, subject: str) -> bool:
        """Whether the rule is about a topic of a subject, both as `plain` gives them."""
        topics, subjects = self._patterns
        return bool(topics.search(topic) and subjects.search(subject))


class DiseaseMap(Frozen):
    """The rules, in the order in which they are tried."""

    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]

    def disease_of(self, topic: str | None, subject: str | None = None) -> Disease | None:
        """Return the group of diseases of the first rule that fits; None if it assigns none, or if no rule fits."""
        names = plain(topic or ""), plain(subject or "")
        return next((rule.disease for rule in self.rules if rule.fits(*names)), None)


def load_diseases(path: Path = DISEASES) -> DiseaseMap:
    """Read the rules; an error is an EquipoiseError that names the file and the field."""
    return load_yaml(path, DiseaseMap)


def plain(name: str) -> str:
    """Reduce a name to lower-case words separated by spaces: full stops are removed, other punctuation splits words."""
    text = unicodedata.normalize("NFKC", name).casefold().replace(".", "")
    return " ".join(re.findall(r"[^\W_]+", text))


def _any_of(entries: tuple[str, ...]) -> re.Pattern[str]:
    """Match any of the entries as whole words; without entries, everything."""
    words = "|".join(re.sub(r"(?:\\\*)+", r"\\w*", re.escape(entry)) for entry in entries)
    return re.compile(rf"\b(?:{words})\b" if words else "")


@dataclass(frozen=True, slots=True)
class Question:
    """A question; fields that its row does not state are None, and `options` empty.

    `gold` is None if the answer is withheld. `where` names file and row.
    """

    where: str
    id: str
    question: str | None
    options: Mapping[str, str]
    gold: str | None
    subject: str | None
    topic: str | None
    disease: Disease | None
    city: str | None

    def disease_by(self, mapping: DiseaseMap) -> Disease | None:
        """Return the disease that the row states, else that of its topic and subject."""
        return self.disease or mapping.disease_of(self.topic, self.subject)


QuestionSet = dict[str, Question]


@dataclass(frozen=True, slots=True)
class Imported:
    """The imported items, and the ids of special rows.

    Rows left out because their answer is withheld, a text is empty or two options are alike; questions in more than one
    row (kept once); and questions with the same text and options as an earlier one (kept).
    """

    items: list[Item]
    withheld: list[str]
    empty: list[str]
    alike: list[str]
    repeated: list[str]
    same_text: list[str]


def import_items(sources: Iterable[str], mapping: DiseaseMap) -> Imported:
    """Read items from files in either form, or from the hub as `openlifescienceai/medmcqa@<commit>`.

    The disease is the one that the row states, else that of its topic. An error names the file, the row and the fix.
    """
    imported = Imported([], [], [], [], [], [])
    kept: dict[str, Question] = {}
    texts: set[tuple[str, ...]] = set()
    for row in _rows(sources):
        if row.gold is None:
            imported.withheld.append(row.id)
        elif row.question is None or any(letter not in row.options for letter in CLASSES):
            imported.empty.append(row.id)
        elif same_text(row.options):
            imported.alike.append(row.id)
        elif row.id in kept:
            _require_same(kept[row.id], row)
            imported.repeated.append(row.id)
        else:
            kept[row.id] = row
            text = (row.question, *(row.options[letter] for letter in CLASSES))
            if text in texts:
                imported.same_text.append(row.id)
            texts.add(text)
            imported.items.append(_item(row, row.question, row.gold, mapping))
    if not imported.items:
        raise EquipoiseError(f"{', '.join(sources)}: no question with its answer: give the train or validation split")
    return imported


def read_row(row: Mapping[str, Any], where: str) -> Question:
    """Read one row of either form; an EquipoiseError begins with `where`."""
    options, gold = _published(row, where) if "opa" in row else ({}, None)
    question = _stripped(row, "question")
    head: Mapping[str, str | None] = {}
    if "prompt" in row and (match := PROMPT.fullmatch(_stripped(row, "prompt") or "")):
        head = {name: (text or "").strip() or None for name, text in match.groupdict().items()}
        question = question or head["question"]
        options = options or {letter: words for letter in CLASSES if (words := head[letter])}
    if "answer" in row:
        gold = _letter(row, where)
    return Question(
        where=where,
        id=identifier(row, "id", where),
        question=question,
        options=options,
        gold=gold,
        subject=_stripped(row, "subject_name") or head.get("subject"),
        topic=_stripped(row, "topic_name") or head.get("topic"),
        disease=_disease(row, where),
        city=_stripped(row, "city"),
    )


def _rows(sources: Iterable[str]) -> Iterator[Question]:
    for source in sources:
        for path in locate(source, lambda sizes: sorted(filter(LABELLED.search, sizes))):
            for where, row in rows_of(path, "one question a row"):
                if not {"question", "opa", "cop"} <= row.keys() and not {"prompt", "answer"} <= row.keys():
                    message = f"{where}: neither question, opa to opd and cop nor prompt and answer: give a file of "
                    message += "MedMCQA or EquiLens questions"
                    raise EquipoiseError(message)
                question = read_row(row, where)
                if "opa" not in row and not question.options:
                    raise EquipoiseError(
                        f"{where}: field prompt: no question and options A to D in EquiLens' form: correct the row"
                    )
                yield question


def _published(row: Mapping[str, Any], where: str) -> tuple[dict[str, str], str | None]:
    """Read the options and right letter of the published form; an option without text is left out."""
    if missing := [column for column in OPTION_COLUMNS.values() if column not in row]:
        raise EquipoiseError(f"{where}: field {missing[0]} is missing: give the columns opa, opb, opc and opd")
    options = {letter: words for letter, column in OPTION_COLUMNS.items() if (words := _stripped(row, column))}
    value = row.get("cop")
    if value is None:
        return options, None
    try:
        place = float(value)
    except (TypeError, ValueError, OverflowError):
        place = float("nan")
    if place not in {WITHHELD, *range(len(CLASSES))}:
        raise EquipoiseError(
            f"{where}: field cop: {value!r} is none of 0 to 3, nor -1 (withheld): give the form of "
            f"huggingface.co/datasets/{HUB_ID}; the first release counted from 1, so subtract 1 in every row"
        )
    return options, None if place == WITHHELD else CLASSES[int(place)]


def _letter(row: Mapping[str, Any], where: str) -> str:
    letter = required(row, "answer", where).strip().upper()
    if letter not in CLASSES:
        raise EquipoiseError(
            f"{where}: field answer: {row['answer']!r} is none of {', '.join(CLASSES)}: give the right letter"
        )
    return letter


def _disease(row: Mapping[str, Any], where: str) -> Disease | None:
    named, known = _stripped(row, "disease"), {name: name for name in get_args(Disease)}
    if named is not None and named.lower() not in known:
        raise EquipoiseError(f"{where}: field disease: {named!r} is none of {', '.join(known)}: correct or delete it")
    return None if named is None else known[named.lower()]


def _stripped(row: Mapping[str, Any], name: str) -> str | None:
    """Return a text without the white space around it; None if there is none."""
    value = row.get(name)
    return None if value is None else str(value).strip() or None


def _require_same(first: Question, second: Question) -> None:
    if (first.question, first.options, first.gold) != (second.question, second.options, second.gold):
        raise EquipoiseError(f"{second.where}: id {second.id!r} is another question in {first.where}: keep one of them")


def _item(row: Question, question: str, gold: str, mapping: DiseaseMap) -> Item:
    item = {
        "key": f"{KEY}{row.id}",
        "question": question,
        "options": dict(row.options),
        "gold": gold,
        "disease": row.disease_by(mapping),
        "reference": "",
        "source": ", ".join(name for name in (f"MedMCQA question {row.id}", row.subject, row.topic) if name),
        "licence": LICENCE,
        "study": NAME,
    }
    return valid(Item, item, row.where, "correct the row")


def read_questions(path: Path) -> QuestionSet:
    """Read a city's question set, by id; a repeated id is an EquipoiseError that names both rows."""
    questions: QuestionSet = {}
    for where, row in rows_of(path, "one question a row"):
        question = read_row(row, where)
        if question.id in questions:
            message = f"{question.where}: duplicate id {question.id!r} (first in {questions[question.id].where}): "
            message += "keep one of them; give the sets of several cities as several files"
            raise EquipoiseError(message)
        questions[question.id] = question
    return questions


def read_responses(path: Path) -> list[tuple[Question, str | None]]:
    """Read a file of responses, each with what the file states about its question; a response without text is None."""
    rows = rows_of(path, "a file with one response a row")
    return [(read_row(row, where), response_text(row, where)) for where, row in rows]


def set_of(path: Path, ids: Sequence[str], sets: Mapping[Path, QuestionSet]) -> Path:
    """Find the question set that a file of responses belongs to: the one that contains all its ids.

    Among several, it is the one whose city the file is named after. Raises EquipoiseError if there is not exactly one.
    """
    holding = [name for name, questions in sets.items() if questions.keys() >= set(ids)]
    if not holding:
        nearest = max(sets, key=lambda name: len(sets[name].keys() & set(ids)))
        missing = sorted(set(ids) - sets[nearest].keys())
        shown = ", ".join(missing[:3]) + (" …" if missing[3:] else "")
        message = f"{path}: no question set holds all its ids; {nearest} lacks {len(missing)} of {len(ids)} ({shown}): "
        message += "give the set that was answered"
        raise EquipoiseError(message)
    named = [name for name in holding if _named_after(path, {row.city for row in sets[name].values() if row.city})]
    chosen = holding if len(holding) == 1 else named
    if len(chosen) != 1:
        raise EquipoiseError(
            f"{path}: its ids are in all of {', '.join(map(str, holding))}: give the one that was answered"
        )
    return chosen[0]


def tabulate_released(
    path: Path,
    responses: Sequence[tuple[Question, str | None]],
    questions: QuestionSet | None,
    mapping: DiseaseMap,
    cities: Sequence[str],
) -> list[ExamAnswer]:
    """Join every response with its city, disease and letter, from its row or else from the question set.

    A disease that neither states is that of the topic; a city that neither states is the one that the file is named
    after. Raises EquipoiseError, naming the row, if a value is missing, contradicts the set or is repeated.
    """
    named = _named_after(path, cities)
    rows: list[ExamAnswer] = []
    seen: dict[tuple[str, str], str] = {}
    for stated, response in responses:
        row = _completed(stated, None if questions is None else questions[stated.id])
        city = row.city.lower() if row.city else named[0] if len(named) == 1 else None
        if city is None:
            raise EquipoiseError(f"{row.where}: no city: give the question set with --questions, or add a column city")
        if row.gold is None:
            raise EquipoiseError(
                f"{row.where}: no right letter: add a column answer, or give the question set with --questions"
            )
        if (city, row.id) in seen:
            raise EquipoiseError(
                f"{row.where}: id {row.id!r} was answered already in {seen[city, row.id]}: keep one of them"
            )
        seen[city, row.id] = row.where
        letter = None if response is None or FAILED.match(response) else letter_given(response, row.options)
        rows.append(ExamAnswer(city, row.id, row.disease_by(mapping), Marked(row.gold, letter)))
    return rows


def _completed(row: Question, other: Question | None) -> Question:
    """Fill in what a row does not state from the question set."""
    if other is None:
        return row
    for name in ("gold", "disease", "city"):
        ours, theirs = getattr(row, name), getattr(other, name)
        if ours is not None and theirs is not None and ours != theirs:
            column = "answer" if name == "gold" else name
            raise EquipoiseError(
                f"{row.where}: field {column}: {ours!r}, but {theirs!r} in {other.where}: correct one of them"
            )
    names = ("question", "options", "gold", "subject", "topic", "disease", "city")
    return replace(row, **{name: getattr(row, name) or getattr(other, name) for name in names})


def _named_after(path: Path, cities: Iterable[str]) -> list[str]:
    """List the cities whose name is a separate part of the file's name."""
    name = path.stem.lower()
    return [city for city in cities if re.search(rf"(?<![a-z0-9]){re.escape(city.lower())}(?![a-z0-9])", name)]


def released_form(city: str, scores: CityScores) -> dict[str, Any]:
    """Lay out one city: `aggregate`, and `per_disease` with the disease's weight as `composition`.

    Values are shares with the limits of their interval, and counts of answers and classes; undefined ones are None.
    Answers about none of the diseases count only in the aggregate.
    """
    aggregate = scores.aggregate
    placed = sum(of_disease.n_total for of_disease in scores.diseases.values())
    return {
        "city": city,
        "n_samples": aggregate.n_total,
        "aggregate": {
            **_figures_of(aggregate),
            **_with_interval(WEIGHTED, scores.weighted),
            "n_without_disease": aggregate.n_total - placed,
        },
        "per_disease": {
            disease: {**_figures_of(of_disease), "composition": scores.weights.get(disease)}
            for disease, of_disease in scores.diseases.items()
        },
    }


def _figures_of(scores: Scores) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for measure in MEASURES:
        figures |= _with_interval(measure, scores.estimates[measure])
    return figures | {
        "n_samples": scores.n_total,
        "n_valid": scores.n_valid,
        "n_invalid": scores.n_invalid,
        "n_absent_classes": scores.n_absent_classes,
        "n_unpredicted_classes": scores.n_unpredicted_classes,
    }


def _with_interval(measure: str, estimate: Estimate) -> dict[str, float | None]:
    interval = estimate.interval
    return {
        measure: estimate.value,
        f"{measure}_ci_low": None if interval is None else interval.low,
        f"{measure}_ci_high": None if interval is None else interval.high,
    }


def medmcqa_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compute MedMCQA's scores by city and disease, the weights, the set sizes and the agreement on diseases."""
    cities, mapping = load_cities(data / "cities.yaml"), load_diseases(data / "medmcqa_diseases.yaml")
    weights = {name: city.disease_weights() for name, city in cities.items()}
    sets = {path: read_questions(path) for path in (folder / QUESTIONS.format(city=city) for city in CITIES)}
    figures: dict[str, float] = {}
    for city in CITIES:
        path = folder / f"equilens/medmcqa_responses/medmcqa_{city}_responses_claude.parquet"
        responses = read_responses(path)
        questions = sets[set_of(path, [row.id for row, _ in responses], sets)]
        answers = tabulate_released(path, responses, questions, mapping, list(cities))
        scores = score_cities(answers, weights, Measure(alpha=0.05, seed=0, n_bootstrap=RESAMPLES))[city]
        figures |= dict(leaves(released_form(city, scores), f"medmcqa/{city}"))
        figures |= _subset(city, cities[city])
    every = {key: row for question_set in sets.values() for key, row in question_set.items()}
    agreeing = [mapping.disease_of(row.topic, row.subject) == row.disease for row in every.values()]
    return figures | {
        "medmcqa/diseases/questions": len(agreeing),
        "medmcqa/diseases/agreeing": sum(agreeing),
        "medmcqa/diseases/agreement": sum(agreeing) / len(agreeing),
    }


def _subset(city: str, described: City) -> dict[str, float]:
    weights = described.disease_weights()
    sizes = disease_counts(weights, SET_SIZE, "plain")
    return {f"medmcqa/weights/{city}/{disease}": weight for disease, weight in weights.items()} | {
        f"medmcqa/sizes/{city}/{disease}": size for disease, size in sizes.items()
    }


def released_sizes(path: Path, city: str) -> dict[str, Reference]:
    """Count the questions about each disease in a city's released set; empty without the file."""
    if not path.exists():
        return {}
    counted = Counter(row.disease for row in read_questions(path).values())
    return {f"medmcqa/sizes/{city}/{disease}": Reference(n, 0) for disease, n in counted.items()}
