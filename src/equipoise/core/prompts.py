"""A prompt to a model, and the response to it."""

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from equipoise.core.row import Row, Sparse, Text


class Prompt(Sparse, Row):
    """The prompt of one case: user turns, and candidate answers whose log-likelihood is read after the last turn.

    The model replies to every turn, but to the first ones, to which the replies `given` stand in the conversation; its
    last reply is forced to begin with `prefix`. `candidates` are in a fixed order
    that does not depend on their role. If `reply` is false, no text is generated after the last turn and only the
    candidates' log-likelihoods are computed. `limit` is the maximum number of tokens of the last reply, where it
    differs from the model's answer limit. With `sentence`, the last reply ends with its first sentence or line. `stem`
    is a prefix of the first turn shared with other prompts, if any: a backend may compute its key-value cache once for
    all of them. `lead` is a longer one, shared with some of these. It ends before the options of a question, which is
    asked in several orders; or it is the whole first turn, to which other prompts give a reply or have further samples;
    or it is the last reply that is given.
    `sample` is the number of the sample, from 0: the same words with another number are replied to anew.
    """

    rare: ClassVar = ("given", "lead", "sentence", "sample")

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

    @model_validator(mode="after")
    def _last_turn_unanswered(self) -> Self:
        if len(self.given) >= len(self.turns):
            message = f"given has {len(self.given)} replies to {len(self.turns)} turns; leave the last to the model"
            raise ValueError(message)
        return self

    def scored(self) -> Self:
        """Ask only for the likelihoods of the candidates, which are not sampled."""
        return self.model_copy(update={"reply": False, "sentence": False, "sample": 0})

    @property
    def n_replies(self) -> int:
        """How many replies the model writes."""
        return len(self.turns) - len(self.given) - (not self.reply)


class Response(Sparse, Row):
    """A model's raw reply to one prompt, before scoring.

    `replies` holds one text for each turn the model replied to; `finished` says whether each ended with an
    end-of-sequence token (otherwise it was truncated at the token limit). `log_likelihood` is the mean log probability
    per token of each candidate after the last turn, in nats, and `candidate_tokens` the number of tokens in that mean;
    both are empty where the backend returns no likelihoods. A candidate whose likelihood a server does not give has in
    `at_most` the highest log probability that it can have, in nats, 0 if nothing is known about it. For a server,
    `endings` and `models` hold for each reply why it ended, in the server's words ("stop", "length", "content_filter",
    "tool_calls", or "empty" where it gave no content), and the model that it says replied.
    """

    rare: ClassVar = ("at_most", "endings", "models")

    replies: tuple[str, ...]
    finished: tuple[bool, ...]
    log_likelihood: dict[str, float]
    candidate_tokens: dict[str, int] = {}
    at_most: dict[str, float] = {}
    prompt_tokens: int
    generated_tokens: int
    endings: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
