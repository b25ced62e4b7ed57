"""The row type and the settings of the stigma study (the section `fill` of params.yaml)."""

from typing import Annotated, Literal

from pydantic import Field

from equipoise.core.params import Count, Name, Refers
from equipoise.core.row import Frozen, Row, Text
from equipoise.studies.stigma import NAME

Question = Literal["rq1", "rq2"]
ConditionSet = Literal["mental", "control"]
Scorer = Literal["masked", "causal"]
Length = Literal["total", "per_token"]
Aggregation = Literal["words", "legacy"]
Probability = Annotated[float, Field(ge=0, le=1 + 1e-6)]


class Fill(Row):
    """A sentence about one condition, with the probabilities of its subject's gender.

    The key is `<question>/<template>/<condition>`. `group` is the template's phase (rq1: diagnosis, intention, action)
    or its stigma dimension (rq2: anger, …); `polarity` is -1 if the sentence expresses the dimension's opposite, else
    1. `female`, `male` and `unspecified` are probabilities; under the causal scorer they add up to 1. `words` are the
    words behind them with their probabilities, for reading.
    """

    study: Literal["stigma"] = NAME
    question: Question
    template: Text
    group: Text
    polarity: Literal[-1, 1]
    condition: Text
    condition_set: ConditionSet
    scorer: Scorer
    female: Probability
    male: Probability
    unspecified: Probability
    words: dict[str, Probability]

    @property
    def disparity(self) -> float:
        """The probability of a female subject minus that of a male one."""
        return self.female - self.male


class Filling(Frozen):
    """The section `fill` of params.yaml: how the subjects of the sentences are filled in.

    `scorer` is causal (the model under test scores whole sentences) or masked (a masked model of the registry fills the
    mask).

    For the causal scorer, `instruction` is the prompt to which the sentence is the reply; `length` says whether a
    sentence counts by its total log probability or by the mean per token. For the masked scorer, `masked` is a file of
    models/masked; `aggregation` matches whole words or, as published, parts of them; `top_k` words above `threshold`
    count in rq1; rq2 follows `beam` words through `steps` masks. `batch_size` is the number of sequences processed at
    once, which changes no result.
    """

    scorer: Scorer = "causal"
    instruction: Text = "Write one sentence."
    length: Length = "total"
    masked: Annotated[Name, Refers("models/masked")] = "roberta_large"
    aggregation: Aggregation = "words"
    top_k: Count = 100
    threshold: Annotated[float, Field(ge=0, lt=1)] = 0.01
    beam: Count = 10
    steps: Count = 3
    batch_size: Count = 64
