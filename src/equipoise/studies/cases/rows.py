"""Cases of published vignette studies, each with a feature of the patient and the answer that would be biased.

The interchange format is a JSON object `{"cases": [...]}`; a case has `prompt`, `bias_feature` and `bias_label`, and
may have an `id` and `metadata`. The metadata that are read are `dimension` (race), `role` (marginalised or privileged),
`features` (words by dimension, if several are varied), `synonyms` of the label, `source` and `licence`; for an arm of a
pair also `pair`, the `expected` answer with its `expected_synonyms`, and `story`, the cluster of its pair. Two cases of
one `pair`, one per role, have paired figures; a case without a pair has none.

Saved outputs of a model are JSONL in the benchmark's released form, one case per row with the model's whole text, or
imported responses. A row has `id` and `output_text`, and may have `status` (ok by default), `mode`, `model_name`
(or `model`), `bias_feature`, `bias_label` and `extracted_diagnosis`; other fields are ignored.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from equipoise.core import jsonl
from equipoise.core.display import few, first_of
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Response
from equipoise.core.row import Row, Sparse, StudyName, Text, printable
from equipoise.core.tables import Id, Source, is_missing, json_rows, require_new, rows_of, valid
from equipoise.materials.judgement import UNREASONED, Reading
from equipoise.materials.vignette import Role
from equipoise.studies.cases import NAME
from equipoise.text.answer import Answer, AnswerKind
from equipoise.text.diagnoses import SPELLINGS, to_american
from equipoise.text.grounds import own_words
from equipoise.text.patterns import caseless
from equipoise.text.reasoning import split, visible_text

REFERENCE = frozenset(
    {
        *("white", "male", "man", "stably housed", "normal weight", "healthy weight"),
        *("high income", "office worker", "insured"),
    }
)
"""Features of the reference group; the absence of a history or of a habit is another."""
ROLE_NAMES: Mapping[str, Role] = {
    **dict.fromkeys(("marginalized", "unprivileged", "underprivileged"), "marginalised"),
    "privileged": "privileged",
}
"""The names of the roles, as `spelling` gives them."""
ABSENCE = re.compile(r"no\b(?=.*\b(?:use|history|dependence|misuse)\b)", re.IGNORECASE)


def spelling(text: str | None) -> str:
    """Reduce a text to what decides whether it is the same: neither case, spaces, hyphens nor American spelling."""
    words = (text or "").casefold().replace("-", " ").split()
    for variant, form in SPELLINGS:
        words = [variant.sub(form, word) for word in words]
    return " ".join(words)


def is_cut(reason: str | None) -> bool:
    """Whether the reason for which a reply stopped is a limit."""
    return spelling((reason or "").replace("_", " ")) in CUTS


def role_of(text: object) -> object:
    """Give the role that a text names, in either spelling and whatever its case; other values as they are."""
    return ROLE_NAMES.get(spelling(text), text) if isinstance(text, str) else text


MODEL = ("model_name", "model")
"""The columns that may name the model of an output."""
Options = dict[str, Text]
"""The words of each option by its letter, in the order in which they were shown."""
LISTED = re.compile(r"(?:^|(?<=\s))[(\[]?([A-Ja-j])[)\].:][)\]]?[ \t]+(?=\S)", re.MULTILINE)
"""The letter of an option in a prompt or a list."""
ASKED = caseless(r"\s(?:answer|response)\s*:")
"""What asks for the answer on the line of the last option."""
FEWEST = 2
"""Fewest options of a case."""
READ_ALIKE = ("synonyms", "expected_synonyms", "options")
"""What decides, beside the two answers, how a reply is read."""
NOT_GIVEN = "(not given)"
"""The prompt of a case in a table that has none."""
CUT = "length"
"""The ending of an output that a limit ended, as servers name it."""
CUTS = frozenset(
    {
        *("length", "max tokens", "model length", "max output tokens", "max new tokens", "max length", "token limit"),
        *("context length", "context window", "incomplete", "truncated", "limit"),
    }
)
"""Reasons for which a reply stopped that mean a limit ended it, in lower case with spaces."""
LETTER_ALONE = caseless(
    r"(?:^|\n)(?:[^\n]{0,200}\b(?:answer|option|choice|choose|select)\b(?: (?:is|would be))?(?: option)?)?"
    r"[^\w\n]*[a-j]\W*$"
)
"""The end of a reply that names an option by its letter and no words."""


WITHHELD: tuple[tuple[str, str, AnswerKind], ...] = (
    ("refusal_difference", "refusals", "refusal"),
    ("unread_difference", "unread answers", "unparsed"),
)
"""Differences in what is withheld: the measure, its words, and the kind of answer."""
LONGEST = 100
"""Most characters of the name of a group, such as a dimension, of which the names of figures are made."""


def options_in(prompt: str, letters: str = ascii_uppercase) -> Options:
    """Find the last list of options in a text, its letters from the first of `letters` on; the keys are capitals."""
    marks = [mark for mark in LISTED.finditer(prompt) if mark[1] in letters]
    starts = [number for number, mark in enumerate(marks) if mark[1] == letters[0]]
    for start in reversed(starts):
        shown = zip(marks[start : start + len(letters)], letters, strict=False)
        run = [mark for mark, _ in takewhile(lambda pair: pair[0][1] == pair[1], shown)]
        texts = [prompt[mark.end() : end.start()] for mark, end in pairwise(run)]
        # The rest of the prompt is looked at once: a text may begin thousands of lists that do not go on.
        if len(run) >= FEWEST and all(map(str.strip, texts)):
            texts.append(ASKED.split(prompt[run[-1].end() :].partition("\n")[0])[0])
            return {mark[1].upper(): " ".join(text.split()) for mark, text in zip(run, texts, strict=True)}
    return {}


def require_shown(options: Options, prompt: str) -> None:
    """Refuse options that the prompt lists under other letters: a reply's letter would be read as another answer."""
    if not options or not all(mark.isalpha() for mark in options):
        return
    known = {_bare(words): mark for mark, words in options.items()}
    shown = options_in(prompt) or options_in(prompt, ascii_lowercase)
    other = ((mark, words, known.get(_bare(words), mark)) for mark, words in shown.items())
    if moved := next((option for option in other if option[0] != option[2]), None):
        mark, words, there = moved
        raise ValueError(
            f"{words!r} is option {there}, and {mark} in the prompt: give the options in the order in which the prompt "
            "lists them, or leave them out of a log, so that they are read in the prompt"
        )


def _bare(words: str) -> str:
    return spelling(words).rstrip(" .;,")


MARKUP = re.compile(r"[^\w\s.,;&'\N{RIGHT SINGLE QUOTATION MARK}()/+:\N{MULTIPLICATION SIGN}\N{EN DASH}≤≥-]")
"""A character that no name of a dimension needs."""


def name_of(text: str) -> str:
    """Return the name of a group of cases as it is; a ValueError if the names of figures cannot be made of it."""
    if len(text) > LONGEST:
        raise ValueError(f"is {len(text)} characters long: give a name of {LONGEST} at most, such as race")
    return printable(text)


def dimension_of(text: str) -> str:
    """Write the name of a dimension in one way, as the lexicon of features does: `Substance use` is `substance_use`.

    In several spellings one dimension would be several groups, each too small for its bias to be seen. Verdicts name
    groups in terminals, Markdown and pages: a name has no character that is markup there.
    """
    if strange := MARKUP.search(name := name_of(text)):
        raise ValueError(f"holds {strange[0]!r}: name what the pairs vary in letters and digits, such as race")
    return re.sub(r"[\s_-]+", "_", unicodedata.normalize("NFKC", name).casefold().strip())


def _named(features: dict[str, str]) -> dict[str, str]:
    named = {dimension_of(name): words for name, words in features.items()}
    if len(named) < len(features):
        raise ValueError(f"names one dimension twice ({few([*features])}): keep one of them")
    return named


Dimension = Annotated[str, AfterValidator(dimension_of)]
"""What a pair varies, as `dimension_of` writes it; empty if unknown."""
Features = Annotated[dict[str, Text], AfterValidator(_named)]
"""Words by dimension."""


class Case(Sparse, Row):
    """One case: the prompt, the patient's features by dimension, and the answer that would be biased.

    `feature` is the feature as published, `features` the same words by dimension (under "" if that is unknown). `label`
    is the biased answer. `role` says whether the patient is the marginalised or the privileged one; only a marginalised
    patient's answer can be biased against them. Both arms of a pair share `pair` and `expected`, the answer that the
    findings call for; `story` identifies the clinical story that several pairs share (None: the pair's own). The answer
    of a multiple-choice case is one of its `options`, by letter; label and expected are the words of two of them.
    """

    rare: ClassVar = ("pair", "expected", "expected_synonyms", "story", "options")

    study: StudyName = NAME
    prompt: Text
    feature: Text
    label: Text
    synonyms: tuple[Text, ...] = ()
    features: Annotated[Features, Field(min_length=1)]
    role: Role
    pair: Text | None = None
    expected: Text | None = None
    expected_synonyms: tuple[Text, ...] = ()
    story: Text | None = None
    options: Options = {}
    source: Text
    licence: Text

    @model_validator(mode="after")
    def _pairs_have_an_expected_answer(self) -> Self:
        if self.pair and not self.expected:
            raise ValueError("expected is missing: a case of a pair needs it, or leave out its pair")
        return self

    @model_validator(mode="after")
    def _answers_are_told_apart(self) -> Self:
        right = {spelling(words) for words in (self.expected, *self.expected_synonyms) if words}
        if shared := next((words for words in (self.label, *self.synonyms) if spelling(words) in right), None):
            raise ValueError(f"{shared!r} is both bias_label and expected, or a synonym of both: leave it out of one")
        return self

    @model_validator(mode="after")
    def _answers_are_options(self) -> Self:
        listed = {spelling(words) for words in self.options.values()}
        for name, words in (("bias_label", self.label), ("expected", self.expected)):
            if listed and words and spelling(words) not in listed:
                those = few([*self.options.values()], 8)
                raise ValueError(f"{name} {words!r} is none of the options ({those}): give the option's words")
        require_shown(self.options, self.prompt)
        return self

    @property
    def cluster(self) -> str:
        """The name of its cluster: its story, else its pair, else itself."""
        return self.story or self.pair or self.key

    def answer(self) -> Answer:
        """The label with all of its wordings: synonyms, each side of an "or", American spellings."""
        return _with_wordings(self.label, self.synonyms)

    def expected_answer(self) -> Answer | None:
        """The expected answer with all of its wordings; None if it is unknown."""
        return _with_wordings(self.expected, self.expected_synonyms) if self.expected else None


def _with_wordings(label: str, synonyms: Iterable[str]) -> Answer:
    wordings = [label, *synonyms]
    wordings += [
        side for wording in wordings for side in re.split(r"(?<!\s)\s+or\s+", wording) if side and side != wording
    ]
    wordings += [to_american(wording) for wording in wordings]
    return Answer(label=label, synonyms=tuple(dict.fromkeys(wordings)))


class CaseJudgement(Sparse, Row):
    """The reading of one saved output: its answer and, if that is biased, how it treats the features.

    An `unreasoned` output only states its answer; no reading can tell whether it is silent. An `unanswered` one is
    empty or was cut off before an answer could be read: what was answered is not known, as where a log lacks the arm.
    """

    rare: ClassVar = (UNREASONED, "unanswered")

    study: StudyName = NAME
    answer: AnswerKind
    reading: Reading | None = None
    unreasoned: bool = False
    unanswered: bool = False


def _there(text: str) -> str:
    if is_missing(text):
        raise ValueError(f"{text!r} stands for a missing value")
    return text


Given = Annotated[Text, StringConstraints(strip_whitespace=True), AfterValidator(_there)]
"""A text that a case cannot lack."""


class _Metadata(BaseModel):
    """The metadata that are read; other fields are ignored."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)

    dimension: Dimension | None = None
    role: Annotated[Role | None, BeforeValidator(role_of)] = None
    features: Features = {}
    synonyms: tuple[Text, ...] = ()
    pair: Id | None = None
    expected: Text | None = None
    expected_synonyms: tuple[Text, ...] = ()
    story: Text | None = None
    options: dict[str, Text] = {}
    source: Text | None = None
    licence: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_missing(cls, values: Any) -> Any:  # noqa: ANN401  (any JSON value)
        names = ("dimension", "role", "pair", "expected", "story")
        kept = values.items() if isinstance(values, dict) else ()
        return {name: value for name, value in kept if name not in names or not is_missing(value)} or values


class _Published(BaseModel):
    """A case of the interchange format; fields that it does not name are ignored."""

    model_config = ConfigDict(frozen=True)

    id: Text | int | None = None
    prompt: Text
    bias_feature: Given
    bias_label: Given
    metadata: _Metadata = _Metadata()


class Output(NamedTuple):
    """One saved output; `text` is as released, `ok` says whether the run gave one, `cut` whether a limit ended it."""

    id: str
    text: str
    ok: bool = True
    mode: str = ""
    model: str = ""
    feature: str | None = None
    label: str | None = None
    diagnosis: str = ""
    cut: bool = False

    @property
    def words(self) -> str:
        """The model's own words: the text without the note that the benchmark's cleaning added."""
        return own_words(self.text)

    @property
    def finished(self) -> bool:
        """Whether the text reaches an answer, and no limit ended it."""
        return not self.cut and split(self.words).finished

    @property
    def broken(self) -> bool:
        """Whether there may be an answer that the text does not have: nothing is visible, or a limit ended it."""
        return self.cut or not visible_text(self.words)


class _SavedRow(BaseModel):
    """A row of a file of saved outputs; fields that it does not name are ignored."""

    model_config = ConfigDict(frozen=True)

    id: Id
    status: str | None = None
    mode: str | None = None
    model_name: str | None = None
    bias_feature: str | None = None
    bias_label: str | None = None
    extracted_diagnosis: str | None = None
    output_text: str | None = None
    stop_reason: str | None = None
    finish_reason: str | None = None


def read_cases(path: Path) -> list[Case]:
    """Read cases in the interchange format, or imported rows (JSONL); an error names the case."""
    if path.suffix.lower() == ".jsonl":
        cases = jsonl.read(path, Case)
        if not cases:
            raise EquipoiseError(f"{path}: no rows: give one case per row, as `equipoise import vignettes` writes them")
        arms_of(str(path), cases)
        return cases
    value = jsonl.json_value(str(path), jsonl.read_text(path))
    rows = value.get("cases") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not rows:
        raise EquipoiseError(
            f'{path}: no list of cases: give {{"cases": [{{"prompt": …, "bias_feature": …, "bias_label": …}}, …]}}'
        )
    return cases_of(rows, path)


def cases_of(rows: Sequence[object], source: Source) -> list[Case]:
    """Read the cases of the interchange format; an error names their source and the case."""
    cases = [
        case_of(row, number, _place(row, f"{source}, case {number}"), source)
        for number, row in enumerate(rows, start=1)
    ]
    seen: dict[str, str] = {}
    for number, case in enumerate(cases, start=1):
        require_new(seen, case.key, f"{source}, case {number}")
    arms_of(str(source), cases)
    return cases


def arms_of(name: str, cases: Iterable[Case]) -> dict[str, dict[Role, Case]]:
    """Give the arms of each pair by role; a pair may lack one.

    Raises EquipoiseError that names the cases if two cases of a pair have the same role, or differ in a shared field.
    """
    pairs: dict[str, dict[Role, Case]] = {}
    cases = [*cases]
    for case in cases:
        if case.pair is None:
            continue
        arms = pairs.setdefault(case.pair, {})
        where = f"{name}, id {case.key}"
        if same := arms.get(case.role):
            arms_given = [f"{arm.key} ({arm.feature})" for arm in cases if arm.pair == case.pair]
            raise EquipoiseError(
                f"{where}: pair {case.pair!r} has a {case.role} case already, {same.key}; its {len(arms_given)} cases "
                f"are {few(arms_given, 6)}: a pair has one case of each role, so give each comparison a pair of its "
                "own, or import one with --privileged VALUE --marginalised VALUE"
            )
        for other in arms.values():
            for field, here, there in (
                ("bias_label", case.label, other.label),
                ("expected", case.expected, other.expected),
                ("dimension", ", ".join(sorted(case.features)), ", ".join(sorted(other.features))),
                ("story", case.story, other.story),
                *((name, _listed(getattr(case, name)), _listed(getattr(other, name))) for name in READ_ALIKE),
            ):
                if spelling(here) != spelling(there):
                    raise EquipoiseError(
                        f"{where}: {field} {here!r} is {there!r} in the other case of pair {case.pair!r}, {other.key}: "
                        "give both the same"
                    )
        arms[case.role] = case
    return pairs


def clusters_of(cases: Iterable[Case]) -> dict[str, str]:
    """Name the cluster of each case by its key: cases that share a story, a pair or a prompt.

    A log may have one prompt several times, as further epochs or as the patient with whom several others are compared;
    in further stories it would not be a further case. A prompt that both patients of a pair have, as a template is,
    does not join cases that name their stories.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    cases = [*cases]
    both = Counter((case.pair, _asked(case)) for case in cases if case.pair is not None)
    templates = {prompt for (_, prompt), times in both.items() if times > 1}
    numbers: dict[tuple[str, str], int] = {}
    links = [
        (place, numbers.setdefault(link, len(numbers)))
        for place, case in enumerate(cases)
        for link in _links(case, templates)
    ]
    places, shared = [place for place, _ in links], [len(cases) + number for _, number in links]
    size = len(cases) + len(numbers)
    _, labels = connected_components(coo_array(([True] * len(links), (places, shared)), (size, size)), directed=False)
    names: dict[int, str] = {}
    return {case.key: names.setdefault(int(label), case.cluster) for case, label in zip(cases, labels, strict=False)}


def _asked(case: Case) -> str | None:
    """Write a case's prompt without capitals and with single spaces; None if it is not given."""
    return None if case.prompt == NOT_GIVEN else " ".join(case.prompt.casefold().split())


def _links(case: Case, templates: Collection[str | None]) -> Iterator[tuple[str, str]]:
    """Yield what a case may share with others of its cluster."""
    prompt = _asked(case)
    own = None if case.story is not None and prompt in templates else prompt
    for name, value in (("story", case.story), ("pair", case.pair), ("prompt", own)):
        if value is not None:
            yield name, value


def _listed(texts: Sequence[str] | Mapping[str, str]) -> str:
    """List texts in one order, whatever theirs is."""
    return "; ".join(sorted({spelling(text) for text in (texts.values() if isinstance(texts, Mapping) else texts)}))


def usual_role(feature: str) -> Role:
    """Give the default role for a feature: the reference groups are privileged.

    The convention is wrong if the stereotype is about the usual reference (a man thought vain rather than anorexic):
    such cases state their role.
    """
    name = " ".join(feature.replace("_", " ").casefold().split())
    return "privileged" if name in REFERENCE or ABSENCE.match(name) else "marginalised"


def _place(row: object, where: str) -> str:
    name = row.get("id") if isinstance(row, dict) else None
    return where + (f" ({name})" if isinstance(name, str) and name.isprintable() else "")


def case_of(row: object, number: int, where: str, path: Source) -> Case:
    """Convert an object of the interchange format to a case; an EquipoiseError begins with its location, `where`.

    The default id is made from its `number`; the default source is the file at `path`.
    """
    if not isinstance(row, dict):
        raise EquipoiseError(f"{where}: not an object: give prompt, bias_feature and bias_label")
    complete = {**row, "metadata": row.get("metadata") or {}}
    published = valid(_Published, complete, where, "every case needs prompt, bias_feature and bias_label")
    about = published.metadata
    case = {
        "key": f"bias_{number:03d}" if published.id is None else str(published.id),
        "prompt": published.prompt,
        "feature": published.bias_feature,
        "label": published.bias_label,
        "features": about.features or {about.dimension or "": published.bias_feature.replace("_", " ")},
        "role": about.role or usual_role(published.bias_feature),
        "source": about.source or path.name,
        "licence": about.licence or "as its publisher states",
        **about.model_dump(include={"synonyms", "pair", "expected", "expected_synonyms", "story", "options"}),
    }
    return valid(Case, case, where, "correct the case")


def read_outputs(path: Source) -> list[Output]:
    """Read a file or table of outputs, in its order; an error names the row and the field.

    A file whose first row has `replies` contains imported responses.
    """
    if isinstance(path, Path) and (first := next(json_rows(path), None)) and "replies" in first[1]:
        return [*outputs_of(jsonl.each(path, Response))]
    rows: list[Output] = []
    models: dict[str, str] = {}
    # A case may be asked in several modes.
    seen: dict[str, dict[str, str]] = {}
    for where, row in rows_of(path, "one case a row, with id and output_text", json_rows):
        saved_row = valid(_SavedRow, row, where, "correct the row, which needs the id of its case")
        ok = (saved_row.status or "ok") == "ok"
        if ok and saved_row.output_text is None:
            raise EquipoiseError(
                f"{where}: field output_text is missing: give the model's text, or a status other than ok"
            )
        output = Output(
            id=saved_row.id,
            text=saved_row.output_text or "",
            ok=ok,
            mode=saved_row.mode or "",
            model=require_one_model(models, row, where),
            feature=saved_row.bias_feature,
            label=saved_row.bias_label,
            diagnosis=saved_row.extracted_diagnosis or "",
            cut=is_cut(saved_row.stop_reason or saved_row.finish_reason),
        )
        require_new(seen.setdefault(output.mode, {}), output.id, where)
        rows.append(output)
    return rows


def require_one_model(seen: dict[str, str], row: Mapping[str, object], where: str) -> str:
    """Give the model that a row names in a column of `MODEL`, and note its place, such as "FILE, row 3"; empty if none.

    Raises EquipoiseError for a row of another model: arms of a pair that two models answered differ as the models do.
    """
    named = ((name, row.get(name)) for name in MODEL)
    column, model = next(((name, value) for name, value in named if isinstance(value, str) and value.strip()), ("", ""))
    model = " ".join(model.split())
    if is_missing(model):
        return ""
    seen.setdefault(model, where.rpartition(", ")[2])
    if len(seen) > 1:
        (first, place), _ = seen.items()
        raise EquipoiseError(
            f"{where}: field {column} is {model!r}, and {first!r} in {place}: a verdict is about one model: keep the "
            "rows of one, and read those of others apart"
        )
    return model


def require_cases(name: str, outputs: Iterable[Output], cases: Mapping[str, Case], source: Path | None = None) -> None:
    """Refuse outputs to other cases: an unknown id, or a feature or label that differs from the case."""
    outputs, asked = list(outputs), f"cases of {source}" if source else "cases"
    if unknown := [output.id for output in outputs if output.id not in cases]:
        raise EquipoiseError(
            f"{name}: ids that are not among the {len(cases)} {asked}: {first_of(unknown, 5)}: give the cases asked"
        )
    for output in outputs:
        case = cases[output.id]
        for field, here, there in (
            ("bias_feature", output.feature, case.feature),
            ("bias_label", output.label and case.options.get(output.label, output.label), case.label),
        ):
            if here is not None and spelling(here) != spelling(there):
                raise EquipoiseError(
                    f"{name}, id {output.id}: {field} {here!r} is {there!r} in the {asked}: give the cases asked"
                )


def require_one_each(name: str, outputs: Iterable[Output]) -> None:
    """Refuse several outputs to one case, as of several modes: a pair has one answer to each of its arms."""
    if twice := [key for key, times in Counter(output.id for output in outputs).items() if times > 1]:
        raise EquipoiseError(f"{name}: id {twice[0]!r} is in several modes: give a file, and a name, for each mode")


def require_words(name: str, outputs: Iterable[Output], cases: Mapping[str, Case]) -> None:
    """Refuse outputs that are the letters of options which their cases do not have: no diagnosis can be read."""
    free = [output for output in outputs if output.text.strip() and not cases[output.id].options]
    lettered = [output.id for output in free if LETTER_ALONE.search(output.words)]
    if len(lettered) > len(free) / 2:
        raise EquipoiseError(
            f"{name}: {len(lettered)} of {len(free)} outputs end in the letter of an option ({first_of(lettered)}), "
            "and their cases have no options: name them with --map choices=PATH, as metadata.options of the cases, "
            "or as a column `options` of a DataFrame"
        )


def saved_response(output: Output) -> Response:
    """Convert an output to a response to its case: the whole text is one reply, and a failed run has none.

    The diagnosis that another program extracted is left out, since it is not the model's text.
    """
    return Response(
        key=output.id,
        study=NAME,
        replies=(output.text,) if output.ok else (),
        finished=(output.finished,) if output.ok else (),
        log_likelihood={},
        prompt_tokens=0,
        generated_tokens=0,
        endings=(CUT,) if output.ok and output.cut else (),
    )


def outputs_of(responses: Iterable[Response]) -> Iterator[Output]:
    """Give the outputs among responses, those of the study `cases`; the inverse of `saved_response`."""
    for response in responses:
        if response.study == NAME:
            cut = CUT in response.endings
            yield Output(id=response.key, text="".join(response.replies), ok=bool(response.replies), cut=cut)
