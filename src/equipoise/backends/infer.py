"""Every prompt answered once: from the cache where it was answered before, else by the model."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from equipoise.backends.ray.cluster import Cluster
from equipoise.core.cache import response_key
from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from equipoise.backends.base import Backend
    from equipoise.core.cache import ResponseCache
    from equipoise.core.records import Manifest, Prompt, Response
    from equipoise.models.registry import Generation


class Infer(BaseModel):
    """The section `infer` of params.yaml: how the model is run; nothing here changes a result."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    batch_size: Annotated[int, Field(ge=1)]
    executor: Literal["local", "ray"]
    address: Annotated[str, Field(pattern=r"^(ray://)?[^\s/:]+:[0-9]{1,5}$")] | None

    @property
    def cluster(self) -> Cluster | None:
        """The Ray cluster on which the prompts are worked on; None where this process does it."""
        return Cluster(self.address) if self.executor == "ray" else None


def answer_all(
    prompts: Sequence[Prompt],
    *,
    manifest: Manifest,
    generation: Generation,
    cache: ResponseCache,
    open_backend: Callable[[], AbstractContextManager[Backend]],
    progress: Callable[[int, int], object],
) -> Iterator[Response]:
    """Answer prompts, asking the model only what the cache does not hold; equal questions are asked once.

    The backend is opened only if something is left to ask. Every answer is kept on disk before the next is waited for.
    `progress` is told how many of how many prompts are answered. When this returns, all are; the responses are read
    from the cache one at a time, in the order of the prompts, as long as it is open.
    """
    keys = {prompt.key: response_key(prompt, manifest, generation) for prompt in prompts}
    open_questions = {
        keys[prompt.key]: prompt for prompt in reversed(prompts) if cache.get(keys[prompt.key], prompt) is None
    }
    asked = sorted(open_questions.values(), key=lambda prompt: prompt.key)
    waiting = Counter(question for question in keys.values() if question in open_questions)
    progress(len(prompts) - waiting.total(), len(prompts))
    if asked:
        with open_backend() as backend:
            for response in backend.answer(asked):
                question = keys[response.key]
                cache.put(question, response)
                del waiting[question]
                progress(len(prompts) - waiting.total(), len(prompts))
    for prompt in prompts:
        if keys[prompt.key] in waiting:
            raise _unanswered(prompt)
    return (_answered(prompt, keys[prompt.key], cache) for prompt in prompts)


def _answered(prompt: Prompt, question: str, cache: ResponseCache) -> Response:
    """Find the answer to a prompt that was answered."""
    response = cache.get(question, prompt)
    if response is None:  # the file was emptied meanwhile
        raise _unanswered(prompt)
    return response


def _unanswered(prompt: Prompt) -> EquipoiseError:
    return EquipoiseError(f"prompt {prompt.key!r} was asked and not answered: run again; finished answers are kept")
