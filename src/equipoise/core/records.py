"""Row types and their canonical JSONL: the only reader and writer of data files.

Every row has a `key`, unique in its file, and the name of its `study`. A file is canonical: rows sorted by key,
object keys sorted, LF, UTF-8, floats rounded to six places, no NaN. Equal content therefore gives equal bytes, and
equal hashes in DVC.
"""

import hashlib
import json
import math
import os
import re
import secrets
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from equipoise.core.errors import EquipoiseError
from equipoise.core.shipped import PIPELINE

DECIMALS = 6
"""Decimal places to which every float is rounded on writing."""
HELD = 2**24
"""Bytes of unsorted rows held in memory (16 MiB); beyond that they are buffered on disk."""

DEPTH = 100
"""Levels of a JSON value: rows and manifests have fewer than ten."""
LARGEST = 2**31
"""Bytes of a file that is read whole (2 GiB)."""

Text = Annotated[str, Field(min_length=1)]


def printable(key: str) -> str:
    """Refuse a key that would break a line, a table or a terminal: one with control or formatting characters."""
    if not key.isprintable() and (
        strange := next((one for one in key if not one.isprintable() and unicodedata.category(one) != "Zs"), None)
    ):
        message = f"holds the character U+{ord(strange):04X}, which is not printable: give an id on one line"
        raise ValueError(message)
    return key


Key = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(printable)]
"""The key of a row: printable, on one line."""
Study = Literal["vignettes", "questions", "exam", "stigma", "decisions", "openr1", "cases"]
Role = Literal["marginalised", "privileged"]
ROLES: tuple[Role, Role] = ("marginalised", "privileged")
OTHER: dict[str, Role] = dict(zip(ROLES, reversed(ROLES), strict=True))
"""The other role of each."""
CONTROLS = ("control-a", "control-b")
STUBS = ("stub-marginalised", "stub-privileged")
MIRRORS = ("mirror-marginalised", "mirror-privileged")
"""What the keys of a pair's other tellings end in, after its id, where those of its arms end in their roles.

Two controls with irrelevant details, the arms without findings, and the arms with findings that the stereotyped answer
fits.
"""
EARLY = (25, 50, 75)
"""Per cent of the words of a reasoning after which the answer is asked."""
REREADINGS = ("swapped", "blinded", "blinded-swapped", "unreasoned", *(f"early-{share}" for share in EARLY))
"""What the keys of prompts end in, after the key of an arm, that read its answer again after other reasoning.

The other arm's; the own and the other's without demographics; none; the first quarter, half and three quarters.
"""
CONTROL = "control"
"""The group of a panel with which the others are compared; its tellings' keys end in it, and no pair has such a key."""
Grade = Literal["A", "B", "C"]
Level = Literal["open", "leaning", "decisive"]
Tier = Literal["single", "tier1", "tier2", "tier3", "mental_health_substance"]
AnswerKind = Literal["expected", "stereotyped", "distractor", "other", "refusal", "unparsed"]
Consideration = Literal["none", "weighed", "dismissed"]


def is_arm(key: str) -> bool:
    """Whether a vignette's key, or that of a prompt about it, is that of an arm: of no other telling or rereading."""
    return unnumbered(key).rpartition("/")[2] not in (*CONTROLS, *STUBS, *MIRRORS, *REREADINGS)


def is_rereading(key: str) -> bool:
    """Whether the key of a prompt about a vignette is that of an arm's answer, read again after other reasoning."""
    return unnumbered(key).rpartition("/")[2] in REREADINGS


def case_of(key: str) -> str:
    """Give the key of the vignette that a prompt is about: without a rereading and the number of the prompt."""
    return unnumbered(key).rpartition("/")[0] if is_rereading(key) else unnumbered(key)


NUMBER = "#"
"""What stands between a key and the number of one of several prompts about the same: `race-01/privileged#1`."""


def numbered(key: str, number: int) -> str:
    """Give the key of one of several prompts about what has a key: a sample, a wording or an order of the options.

    The first, 0, keeps the key.
    """
    return f"{key}{NUMBER}{number}" if number else key


def unnumbered(key: str) -> str:
    """Give the key of what a prompt is about, without the number of the prompt."""
    return key.rpartition(NUMBER)[0] if number_of(key) else key


def number_of(key: str) -> int:
    """Give the number of a prompt about what has a key; 0 is the first."""
    _, mark, number = key.rpartition(NUMBER)
    return int(number) if mark and number.isdecimal() else 0


class Frozen(BaseModel):
    """Values that cannot be changed; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


class Row(Frozen):
    """One row of a data file."""

    key: Key
    study: Study = "vignettes"


class Answer(Frozen):
    """A diagnosis, the other wordings that count as the same answer, and its ICD-11 code where it is known."""

    label: Text
    synonyms: Annotated[tuple[Text, ...], Field(min_length=1)]
    code: Text | None = None


class Vignette(Row):
    """One arm of a pair: a clinical case about a marginalised or a privileged patient.

    The key is `<pair>/<role>`. `spans` are the half-open character ranges of `text` that state demographics; outside
    them the two arms of a pair are identical character for character. `features` names the value of each varied
    dimension in this arm (race: "Black"). `code` and `guideline` are those of the expected answer.

    `stereotyped` is the answer that the pair tests; `components` are those of its other dimensions, where it varies
    several. `grade` says how directly the literature documents the error in this group (`vignettes.schema.Evidence`),
    `reverse` whether the marginalised arm is that of the group that is usually favoured, and `level` how much evidence
    the case gives. Of imported cases they are unknown.
    """

    pair: Text
    role: Role
    tier: Tier
    dimensions: Annotated[tuple[Text, ...], Field(min_length=1)]
    text: Text
    spans: Annotated[tuple[tuple[int, int], ...], Field(min_length=1)]
    features: dict[str, Text]
    expected: Answer
    stereotyped: Answer
    distractors: Annotated[tuple[Answer, ...], Field(min_length=2)]
    components: tuple[Answer, ...] = ()
    grade: Grade | None = None
    reverse: bool = False
    level: Level | None = None
    persona: Text
    presentation: Text
    setting: Text
    code: Text
    guideline: Text
    source: Text
    licence: Text

    @property
    def combination(self) -> str:
        """The varied dimensions joined into one name, such as `race+socioeconomic`."""
        return "+".join(self.dimensions)


def is_panel(vignettes: Iterable[Vignette]) -> bool:
    """Whether vignettes tell stories of a control and of groups, so that there are no pairs of arms among them."""
    return any(row.key == f"{row.pair}/{CONTROL}" for row in vignettes)


class Prompt(Row):
    """The prompt of one case: user turns, and candidate answers whose log-likelihood is read after the last turn.

    The model replies to every turn, but to the first ones, to which the replies `given` stand in the conversation; its
    last reply is forced to begin with `prefix`. `candidates` are in a fixed order
    that does not depend on their role. If `reply` is false, no text is generated after the last turn and only the
    candidates' log-likelihoods are computed. `limit` is the maximum number of tokens of the last reply, where it
    differs from the model's answer limit. With `sentence`, the last reply ends with its first sentence or line. `stem`
    is a prefix of the first turn shared with other prompts, if any: a backend may compute its key-value cache once for
    all of them. `lead` is a longer one, shared with some of these: all that precedes the options of a question, whose
    orders are asked one after the other, the first turn of a prompt that is sampled, or the last reply that is given.
    `sample` is the number of the sample, from 0: the same words with another number are replied to anew.
    """

    system: str
    prefix: str
    turns: Annotated[tuple[Text, ...], Field(min_length=1)]
    given: tuple[str, ...] = ()
    candidates: tuple[Text, ...]
    reply: bool = True
    stem: str = ""
    lead: str = ""
    limit: Annotated[int, Field(ge=1)] | None = None
    sentence: bool = False
    sample: Annotated[int, Field(ge=0)] = 0

    @model_serializer(mode="wrap")
    def _without_empty(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what few prompts ask for, so that the cache keys of the others do not depend on it."""
        row: dict[str, Any] = serialise(self)
        rare = ("given", "lead", "sentence", "sample")
        return {name: value for name, value in row.items() if value or name not in rare}

    @model_validator(mode="after")
    def _last_turn_unanswered(self) -> Self:
        if len(self.given) >= len(self.turns):
            message = f"given has {len(self.given)} replies to {len(self.turns)} turns; leave the last to the model"
            raise ValueError(message)
        return self

    def scored(self) -> Self:
        """Ask for the likelihoods of the candidates alone, of which there are no samples."""
        return self.model_copy(update={"reply": False, "sentence": False, "sample": 0})

    @property
    def n_replies(self) -> int:
        """How many replies the model writes."""
        return len(self.turns) - len(self.given) - (not self.reply)


class Response(Row):
    """A model's raw reply to one prompt, before scoring.

    `replies` holds one text for each turn the model replied to; `finished` says whether each ended with an
    end-of-sequence token (otherwise it was truncated at the token limit). `log_likelihood` is the mean log probability
    per token of each candidate after the last turn, in nats, and `candidate_tokens` the number of tokens in that mean;
    both are empty where the backend returns no likelihoods. Of a server, `endings` and `models` hold for each reply why
    it ended, in the server's words ("stop", "length", "content_filter", "tool_calls", or "empty" where it gave no
    content), and the model that it says replied.
    """

    replies: tuple[str, ...]
    finished: tuple[bool, ...]
    log_likelihood: dict[str, float]
    candidate_tokens: dict[str, int] = {}
    prompt_tokens: int
    generated_tokens: int
    endings: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    @model_serializer(mode="wrap")
    def _without_empty(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what only servers give, where it is empty."""
        row: dict[str, Any] = serialise(self)
        return {name: value for name, value in row.items() if value or name not in ("endings", "models")}


class Reading(Frozen):
    """What a reasoning does with the patient's feature.

    `mentioned` (restated) and `considered` (weighed or dismissed) are two judgements, each with the probability behind
    it; `window` is the sentence or passage that decided. `keyword` is the published baseline: the feature's word occurs
    in the reasoning. `unsure` says that the judge's probability of consideration is too near to its turn to rely on.
    """

    mentioned: bool
    considered: Consideration
    window: str
    p_mentioned: float
    p_weighed: float
    p_dismissed: float
    keyword: bool
    unsure: bool = False

    @property
    def p_considered(self) -> float:
        """The probability that the feature is weighed or dismissed."""
        return self.p_weighed + self.p_dismissed


class Judgement(Reading, Row):
    """One response, read: which answer it gives, and what its reasoning does with the patient's feature.

    `answer` is the reading chosen by `score.answering`, `label` the answer of the case's set that it gives (empty where
    it gives none of them); both readings are given beside it where they exist. `log_odds` is
    log p(stereotyped) - log p(expected), in nats; each is a total, or as `score.length` has it. In
    `log_odds_per_token` each is the mean per token.
    """

    answer: AnswerKind
    label: str
    answer_likelihood: AnswerKind | None
    label_likelihood: str = ""
    answer_generated: AnswerKind
    log_odds: float | None
    log_odds_per_token: float | None = None


class Fidelity(Frozen):
    """Agreement between exported weights and their reference on the probe set.

    `letters` and `tokens` are proportions of agreement; `max_abs_logit` is an upper bound on the absolute difference
    of any logit, as a power of ten.
    """

    probes: int
    letters: float
    tokens: float
    max_abs_logit: float


class Manifest(Frozen):
    """The identity of the model under test: a tracked stand-in for weights too large to track, or for a server.

    `repo` and `revision` give its origin: the hub's id and commit, a package and its version, a server's address and
    the model's name there, or a file of saved answers and its sha256. `weights` and `files` map names to sha256
    digests: of the source's weights, and of the exported files under `.cache/models/<folder>`. `settings` are those of
    its registry entry that affect answers. `versions` lists the versions of the libraries involved.
    """

    model: Text
    backend: Text = "onnx"
    repo: Text
    revision: Text
    licence: Text
    weights: dict[str, str] = {}
    folder: Text | None = None
    files: dict[str, str] = {}
    opset: int | None = None
    precision: Text | None = None
    provider: Text | None = None
    settings: dict[str, Any] = {}
    versions: dict[str, str] = {}
    fidelity: Fidelity | None = None

    @property
    def identity(self) -> str:
        """A digest of everything that affects an answer: the model's part of a cache key."""
        return digest({name: value for name, value in self.written().items() if name != "fidelity"})

    def written(self) -> dict[str, Any]:
        """Serialise the manifest as written to its file: without fields that this kind of model does not use."""
        return self.model_dump(mode="json", exclude_defaults=True)


class Effect(Row):
    """One estimate with its uncertainty: the input of metrics, plots and the report.

    The key is `<study>/<family>/<group>/<measure>`. `family` is the grouping (overall, dimension, tier,
    combination), `group` its member (race). A p-value is stored as -log10, so that small ones survive rounding;
    `neg_log10_p_holm`, `neg_log10_p_bonferroni` and `neg_log10_p_bh` are adjusted over the family. An undefined
    estimate is None, with its `n`. `primary` marks the study's primary endpoint (`metrics.primary`).
    `coverage` is that of the interval, simulated at the figure's own values, where it was.
    """

    family: Text
    group: Text
    measure: Text
    n: int
    estimate: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    neg_log10_p: float | None = None
    neg_log10_p_holm: float | None = None
    neg_log10_p_bonferroni: float | None = None
    neg_log10_p_bh: float | None = None
    primary: bool = False
    coverage: float | None = None


R = TypeVar("R", bound=Row)
M = TypeVar("M", bound=BaseModel)


def canonical(value: Any) -> Any:  # noqa: ANN401  (any JSON value)
    """Round every float of a JSON value to six places; a non-finite float raises a ValueError."""
    match value:
        case float():
            if not math.isfinite(value):
                message = f"non-finite number {value}"
                raise ValueError(message)
            return round(value, DECIMALS) + 0.0  # turns -0.0 into 0.0
        case dict():
            return {name: canonical(item) for name, item in value.items()}
        case list() | tuple():
            return [canonical(item) for item in value]
        case _:
            return value


def dumps(value: Any) -> str:  # noqa: ANN401
    """Serialise a JSON value canonically: sorted keys, rounded floats, no ASCII escapes."""
    return json.dumps(canonical(value), sort_keys=True, ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:  # noqa: ANN401
    """Compute the sha256 of a JSON value's canonical text, in hexadecimal."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()


def sha256(path: Path) -> str:
    """Compute a file's sha256, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically: to a temporary file beside it, flushed to disk, then renamed."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically, as `write_text` does."""
    with _writing(path):
        _replace(path, (content,))


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write rows as canonical JSONL; a duplicate key raises an EquipoiseError, and nothing is written.

    Rows may come in any order, and only one is held at a time: their lines are buffered in an anonymous file and
    sorted from there.
    """
    places: dict[str, int] = {}
    end = 0
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.SpooledTemporaryFile(HELD, dir=str(path.parent)) as waiting:
        for row in rows:
            if row.key in places:
                message = f"{path}: duplicate key {row.key!r}: keys must be unique within a file"
                raise EquipoiseError(message)
            line = f"{dumps(row.model_dump(mode='json'))}\n".encode()
            places[row.key] = end
            with _writing(path):
                end += waiting.write(line)
        with _writing(path):
            _replace(path, (_line_at(waiting, places[key]) for key in sorted(places)))


def _line_at(file: IO[bytes], place: int) -> bytes:
    file.seek(place)
    return file.readline()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn an OSError on writing into one line."""
    try:
        yield
    except OSError as error:
        message = f"{path}: cannot be written ({error.strerror}): free space or fix its permissions, then run again"
        raise EquipoiseError(message) from error


def _replace(path: Path, parts: Iterable[bytes]) -> None:
    """Write a temporary file and rename it; on failure leave nothing behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not of `tempfile`: that would be readable by its owner alone, whatever the user's umask allows.
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with fresh.open("xb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401
    """Write one JSON value with floats rounded and key order kept, indented for reading and for diffs."""
    write_text(path, json.dumps(canonical(value), ensure_ascii=False, allow_nan=False, indent=2) + "\n")


def read_text(path: Path) -> str:
    """Read a UTF-8 text file, without a byte order mark; one that is missing, too large or undecodable is refused."""
    try:
        require_size(path)
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise _missing(path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise _unread(path, error) from error


def require_size(path: Path) -> None:
    """Refuse a file that is larger than memory should be asked to hold."""
    if (size := path.stat().st_size) > LARGEST:
        raise EquipoiseError(f"{path}: {size / 2**30:.1f} GiB, more than the 2 GiB that are read at once: split it")


def _missing(path: Path) -> EquipoiseError:
    restored = "; `dvc repro` restores the output of a stage" if Path(PIPELINE).is_file() else ""
    return EquipoiseError(f"{path}: no such file: check the path{restored}")


def _unread(path: Path, error: Exception) -> EquipoiseError:
    if isinstance(error, IsADirectoryError):
        return EquipoiseError(f"{path}: a folder: name a file")
    return EquipoiseError(f"{path}: cannot be read: {error}")


def fault(error: ValidationError) -> str:
    """Format the first error of a pydantic ValidationError in one line: the field, then the problem."""
    first = error.errors(include_url=False)[0]
    return f"field {'.'.join(map(str, first['loc'])) or '(row)'}: {first['msg']}"


def json_value(where: str, text: str) -> Any:  # noqa: ANN401  (any JSON value)
    """Parse one JSON text; invalid input raises an EquipoiseError that begins with `where`.

    Refused are also what Python's parser takes but JSON does not define, or readers disagree on: a name given twice in
    one object, NaN and infinities, half of a surrogate pair, integers of more digits than Python reads (4,300), and
    values nested deeper than `DEPTH`.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        _require_flat(value, text)
        if ESCAPED.search(text) or SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text.strip() else ""
        problem = f"not JSON ({error.msg} at {line}column {error.colno}): fix or delete the row"
    except RecursionError:
        problem = "nested too deeply: give flatter values"
    except UnicodeEncodeError:
        problem = "half of a surrogate pair (\\ud800 to \\udfff): write the character itself"
    except ValueError as error:
        problem = f"{str(error).partition(';')[0]}: fix the value"
    else:
        return value
    message = f"{where}: {problem}"
    raise EquipoiseError(message)


ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape of half of a surrogate pair: with the other half beside it, it is a character."""
SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which no UTF-8 file can hold."""


def _require_flat(value: Any, text: str) -> None:  # noqa: ANN401  (any JSON value)
    layer: list[Any] = [value] if text.count("[") + text.count("{") > DEPTH else []
    for _ in range(DEPTH):
        layer = [inner for one in layer for inner in (one.values() if isinstance(one, dict) else one)]
        layer = [one for one in layer if isinstance(one, dict | list)]
    if layer:
        raise RecursionError


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        message = f"duplicate name {next(name for name in names if names.count(name) > 1)!r} in one object"
        raise ValueError(message)
    return value


def _no_constant(name: str) -> None:
    message = f"{name} is not JSON: write null for a missing value"
    raise ValueError(message)


def parse(where: str, text: str, kind: type[M]) -> M:
    """Parse one JSON text as a model; invalid input raises an EquipoiseError that begins with `where`."""
    value = json_value(where, text)
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        message = f"{where}: {fault(error)}"
        raise EquipoiseError(message) from error


def read(path: Path, kind: type[R]) -> list[R]:
    """Read a JSONL file as rows of one kind, in file order; an error names the line of an invalid or duplicate row."""
    return list(each(path, kind))


def each(path: Path, kind: type[R]) -> Iterator[R]:
    """Read a JSONL file lazily, row by row, for files too large to hold in memory; otherwise as `read`."""
    seen: dict[str, int] = {}
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        row = parse(f"{path}, row {number}", line, kind)
        if row.key in seen:
            message = f"{path}, row {number}: duplicate key {row.key!r} (first in row {seen[row.key]}): keep one"
            raise EquipoiseError(message)
        seen[row.key] = number
        yield row


def _lines(path: Path) -> Iterator[str]:
    """Read lines lazily; unlike `splitlines`, not split at U+2028 and the like, which JSON leaves unescaped."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for line in file:
                yield line.removesuffix("\n")
    except FileNotFoundError:
        raise _missing(path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise _unread(path, error) from error


def read_one(path: Path, kind: type[M]) -> M:
    """Read a JSON file that holds one object."""
    return parse(str(path), read_text(path), kind)
