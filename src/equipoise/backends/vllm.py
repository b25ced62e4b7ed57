"""The vLLM backend: hundreds of conversations at once, on one or more GPUs.

vLLM's kernels run in their batch-invariant mode, so that a response depends only on its prompt; on a GPU without that
mode, and with VLLM_BATCH_INVARIANT=0, one request is processed at a time. The code is written for the interface of vLLM
0.23: `LLM`, and `add_request` and `step` of its engine, which return each answer as soon as it is done. The tests run
it on a stand-in with that interface; it has not been run on a GPU.
"""

import math
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from equipoise.backends.base import Backend
from equipoise.backends.conversation import Chat, Likelihood, Talk, Turn, Turned, advance
from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.prompts import Prompt, Response
from equipoise.models.registry import VllmEntry
from equipoise.models.weights import Weights

IN_PROGRESS = 1024
"""Number of requests in progress below which another conversation is begun."""
STEP_TOKENS = 2048
"""Tokens read per step: log probabilities of a prompt need as many rows of the vocabulary's width at once."""
TOKEN_IDS = 128
"""Most tokens for which one request may ask log probabilities."""
AMPERE = 80
"""The compute capability from which vLLM 0.23 has batch-invariant kernels."""

INTERRUPTED = 130
"""The exit code of a process that Ctrl-C ended."""


def open_vllm(weights: Weights, entry: VllmEntry) -> Backend:
    """Open verified weights in vLLM: `data_parallel` copies on `tensor_parallel` GPUs each.

    vLLM's own data parallelism also requires a process per copy, and synchronises them, which copies do not need.

    Raises:
        EquipoiseError: vLLM or a GPU is missing, or vLLM cannot load the weights.
    """
    make = partial(VllmBackend, weights, entry)
    groups = _device_groups(entry)
    return make() if len(groups) == 1 else Replicas(make, groups)


@dataclass
class _Held:
    """A conversation, its turn, and its outcome so far."""

    talk: Talk
    turn: Turn
    open: int = 0
    likelihoods: dict[str, Likelihood] = field(default_factory=dict)
    reply: list[int] = field(default_factory=list)


class VllmBackend(Backend):
    """A model in one engine of vLLM."""

    def __init__(self, weights: Weights, entry: VllmEntry) -> None:
        """Load verified weights (`equipoise.models.weights.locate`). See `open_vllm`."""
        if weights.gguf:
            raise EquipoiseError(
                f"{entry.title}: vLLM is given safetensors alone: set backend: torch or onnx in its registry entry"
            )
        self._entry = entry
        self._llm = _load(weights, entry)
        self._chat = _chat(weights, entry)
        self._ids = map(str, count())
        # Each request in progress: its conversation, and the candidates that it scores (none for the reply).
        self._requests: dict[str, tuple[_Held, tuple[str, ...]]] = {}

    def __exit__(self, *_: object) -> None:
        """Free the engine; its processes end with it."""
        del self._llm

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt, each as soon as it is done. See `Backend.answer`."""
        waiting = iter(prompts)
        try:
            while True:
                while len(self._requests) < IN_PROGRESS and (prompt := next(waiting, None)) is not None:
                    talk = self._chat.hold(prompt)
                    yield from self._ask(talk, next(talk))
                if not self._requests:
                    return
                with self._engine() as engine:
                    outputs = engine.step()
                for output in outputs:
                    if output.finished:
                        yield from self._take(output)
        finally:
            if self._requests:
                with suppress(Exception):  # a failed engine has nothing to stop, and its own error is reported
                    self._llm.llm_engine.abort_request(list(self._requests))
                self._requests.clear()

    def _ask(self, talk: Talk, turn: Turn | Response) -> Iterator[Response]:
        """Send the requests of a turn, for its candidates and its reply; yield the response at the end of a talk.

        Candidates of a single token, such as letters, are read together from the next token's probabilities; every
        other candidate is a request.
        """
        if not isinstance(turn, Turn):
            yield turn
            return
        held = _Held(talk, turn)
        following = {
            name: encoded.tokens[-1]
            for name, encoded in turn.candidates.items()
            if encoded.start == len(turn.tokens) == len(encoded.tokens) - 1
        }
        for first in range(0, len(following), TOKEN_IDS):
            names = tuple(following)[first : first + TOKEN_IDS]
            tokens = sorted({following[name] for name in names})
            self._send(held, names, turn.tokens, max_tokens=1, logprob_token_ids=tokens)
        for name, encoded in turn.candidates.items():
            if name not in following:
                self._send(held, (name,), encoded.tokens, max_tokens=1, prompt_logprobs=0)
        if turn.limit:
            generation, stops = self._entry.generation, sorted(self._chat.stops)
            drawn: dict[str, Any] = {}
            if generation.temperature:
                drawn = {"temperature": generation.temperature, "top_p": generation.top_p, "seed": turn.seed}
            penalty = generation.repetition_penalty
            settings = {"max_tokens": turn.limit, "repetition_penalty": penalty, "stop_token_ids": stops}
            self._send(held, (), turn.tokens, **settings, **drawn)
        if not held.open:
            yield from self._ask(talk, advance(talk, Turned({}, ())))

    def _send(self, held: _Held, names: tuple[str, ...], tokens: Iterable[int], **settings: Any) -> None:  # noqa: ANN401
        """Send one request, greedy unless settings override it; only its final output is returned."""
        from vllm import SamplingParams
        from vllm.inputs import tokens_input
        from vllm.sampling_params import RequestOutputKind

        settings = {"temperature": 0.0, "detokenize": False, "output_kind": RequestOutputKind.FINAL_ONLY} | settings
        params = SamplingParams(**settings)
        request = next(self._ids)
        with self._engine() as engine:
            engine.add_request(request, tokens_input(list(tokens)), params)
        self._requests[request] = held, names
        held.open += 1

    @contextmanager
    def _engine(self) -> Iterator[Any]:
        """Yield the engine; any of its errors becomes one line."""
        try:
            yield self._llm.llm_engine
        except Exception as error:
            message = f"{self._entry.title}: vLLM failed ({one_line(error)}): run again; finished answers are kept"
            raise EquipoiseError(message) from error

    def _take(self, output: Any) -> Iterator[Response]:  # noqa: ANN401
        """Take the outcome of a request; when its turn is complete, continue the conversation."""
        held, names = self._requests.pop(output.request_id)
        held.open -= 1
        if not names:
            held.reply = self._reply(output.outputs[0])
        for name in names:
            tokens, start = held.turn.candidates[name]
            # Log probabilities of the prompt's own tokens, or of the next token to be written.
            places = output.prompt_logprobs or [*[None] * start, *output.outputs[0].logprobs]
            chosen = [places[place][tokens[place]].logprob for place in range(start, len(tokens))]
            held.likelihoods[name] = Likelihood(math.fsum(chosen) / len(chosen), len(chosen))
        if not held.open:
            likelihoods = {name: held.likelihoods[name] for name in held.turn.candidates}
            yield from self._ask(held.talk, advance(held.talk, Turned(likelihoods, held.reply)))

    def _reply(self, completion: Any) -> list[int]:  # noqa: ANN401
        """Return the tokens of a reply without its end token."""
        if completion.finish_reason not in ("stop", "length"):
            raise EquipoiseError(f"{self._entry.title}: vLLM aborted a reply ({completion.finish_reason}): run again")
        reply = list(completion.token_ids)
        return reply[:-1] if reply and reply[-1] in self._chat.stops else reply


def _load(weights: Weights, entry: VllmEntry) -> Any:  # noqa: ANN401  (vLLM need not be installed)
    """Start vLLM's engine, without usage reports, and with answers that do not depend on the rest of a batch."""
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    # Read when vLLM's kernels are imported, below and in the processes that the engine starts.
    invariant = os.environ.setdefault("VLLM_BATCH_INVARIANT", "1") == "1"
    try:
        from vllm import LLM
        from vllm.platforms import current_platform
    except ImportError as error:
        message = f"{entry.title}: vLLM cannot be imported ({error}): run `pip install 'equipoise[vllm]'`"
        raise EquipoiseError(message) from error
    if invariant and not current_platform.has_device_capability(AMPERE):
        os.environ["VLLM_BATCH_INVARIANT"] = "0"
        invariant = False
    try:
        return LLM(
            model=str(weights.folder),
            dtype=entry.dtype,
            tensor_parallel_size=entry.tensor_parallel,
            # A scored text is followed by one token, which is not used.
            max_model_len=min(entry.max_length + 1, entry.context or entry.max_length),
            max_num_batched_tokens=STEP_TOKENS,
            max_num_seqs=None if invariant else 1,
            seed=0,
            load_format="safetensors",
            trust_remote_code=False,
            # Greedy, with our own penalty and stops; no step may begin where another prompt's step ended.
            generation_config="vllm",
            enable_prefix_caching=False,
        )
    except Exception as error:
        fix = "free GPU memory, lower max_length, or, where its kernels have no such mode, set VLLM_BATCH_INVARIANT=0"
        raise EquipoiseError(f"{entry.title}: vLLM cannot start ({one_line(error)}): {fix}") from error


def _chat(weights: Weights, entry: VllmEntry) -> Chat:
    """Open the tokenizer and template of the other backends, so that the model reads the same tokens."""
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    safe = {"trust_remote_code": False, "local_files_only": True}
    try:
        ends = GenerationConfig.from_pretrained(weights.folder, local_files_only=True)
    except OSError:  # the file is not in every repository
        ends = GenerationConfig.from_model_config(AutoConfig.from_pretrained(weights.folder, **safe))
    return Chat(AutoTokenizer.from_pretrained(weights.folder, **safe), ends.eos_token_id, entry)


def _device_groups(entry: VllmEntry) -> list[str]:
    """Divide the visible GPUs among the copies, each group as a value of CUDA_VISIBLE_DEVICES."""
    import torch

    here = torch.cuda.device_count()
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    devices = named.split(",")[:here] if named else [str(number) for number in range(here)]
    size, copies = entry.tensor_parallel, entry.data_parallel
    if len(devices) < size * copies:
        raise EquipoiseError(
            f"{entry.title}: {size * copies} GPUs are asked for (tensor_parallel {size} x data_parallel {copies}), "
            f"{len(devices)} are here: lower them in the registry entry, or run where there are more"
        )
    return [",".join(devices[number * size : (number + 1) * size]) for number in range(copies)]


class Replicas(Backend):
    """As many copies of a backend as there are groups of devices, each in a process; opened when prompts come."""

    def __init__(self, make: Callable[[], Backend], devices: Sequence[str]) -> None:
        """Take the function that opens a copy, and the value of CUDA_VISIBLE_DEVICES for each copy."""
        self._make = make
        self._devices = devices
        self._copies: dict[str, tuple[Connection, BaseProcess]] = {}

    def __exit__(self, *_: object) -> None:
        """End the copies, each of which closes its model."""
        for _pipe, process in self._copies.values():
            process.terminate()
        for pipe, process in self._copies.values():
            process.join()
            pipe.close()
        self._copies.clear()

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt. Raises EquipoiseError if a copy does, or if its process ends prematurely."""
        batch = list(prompts)
        working: dict[Connection, BaseProcess] = {}
        try:
            for number, devices in enumerate(self._devices):
                if share := batch[number :: len(self._devices)]:
                    pipe, process = self._copies.get(devices) or self._start(devices)
                    with suppress(BrokenPipeError):  # a copy that has ended is noticed below
                        pipe.send(share)
                    working[pipe] = process
            while working:
                ready = wait(list(working))
                for pipe in [connection for connection in working if connection in ready]:
                    yield from _receive(pipe, working)
        except BaseException:
            self.__exit__()
            raise

    def _start(self, devices: str) -> tuple[Connection, BaseProcess]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_answer, args=(self._make, devices, theirs))
        process.start()
        theirs.close()
        self._copies[devices] = ours, process
        return ours, process


def _receive(pipe: Connection, working: dict[Connection, BaseProcess]) -> Iterator[Response]:
    """Receive a copy's message: a response, the line of its error, or None at the end of its share."""
    try:
        sent: Response | str | None = pipe.recv()
    except (EOFError, ConnectionResetError):
        process = working[pipe]
        process.join()
        message = f"a replica of the model ended with code {process.exitcode}: run again; finished answers are kept"
        raise EquipoiseError(message) from None
    if isinstance(sent, str):
        raise EquipoiseError(sent)
    if sent is None:
        del working[pipe]
    else:
        yield sent


def _answer(make: Callable[[], Backend], devices: str, pipe: Connection) -> None:
    """Answer one share of the prompts after another, in a process of its own, until it is terminated."""
    os.environ["CUDA_VISIBLE_DEVICES"] = devices
    # The model is closed on exit, and with it the processes that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        # Before the model is opened, so that the others need not wait for this one's to get their shares.
        share: list[Prompt] = pipe.recv()
        with make() as backend:
            while True:
                for response in backend.answer(share):
                    pipe.send(response)
                pipe.send(None)
                share = pipe.recv()
    except EquipoiseError as error:
        pipe.send(str(error))
    except EOFError:  # this program ended
        return
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        pipe.close()
