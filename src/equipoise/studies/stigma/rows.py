"""The row type and the settings of the stigma study (the section `fill` of params.yaml)."""

from typing import Annotated, Literal

from pydantic import Field

from equipoise.core.params import Count, Name
from equipoise.core.row import Frozen, Row, Text
from equipoise.studies.stigma import NAME

Question = Literal["rq1", "rq2"]
ConditionSet = Literal["mental", "control"]
Scorer = Literal["masked", "causal"]
Length = Literal["total", "per_token"]
Aggregation = Literal["words", "legacy"]
Probability = Annotated[float, Field(ge=0, le=1 + 1e-6)]


class Fill(Row):
    """One sentence about one condition, with the probability of its subject's gender.

    The key is `<question>/<template>/<condition>`. `group` is the template's phase (rq1: diagnosis, intention, action)
    or its stigma dimension (rq2: anger, …); `polarity` is -1 where the sentence words the dimension's opposite, else 1.
    `female`, `male` and `unspecified` are probabilities; under the causal scorer they add up to 1. `words` holds the
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
    """How the subjects of the sentences are filled in.

    `scorer` is causal (the model under test scores whole sentences), masked (a masked model of the registry fills the
    mask).

    Of the causal scorer: `instruction` is what the model is asked before the sentence, which is its reply; `length` is
    whether a sentence counts by its total log probability or by the mean per token. Of the masked scorer: `masked` is
    a file of models/masked, `aggregation` matches whole words or, as published, parts of them; `top_k` words above
    `threshold` count in rq1; rq2 follows `beam` words through `steps` masks. `batch_size` is how many sequences are
    processed at once, and changes no result.
    """

    scorer: Scorer = "causal"
    instruction: Text = "Write one sentence."
    length: Length = "total"
    masked: Name = "roberta_large"
    aggregation: Aggregation = "words"
    top_k: Count = 100
    threshold: Annotated[float, Field(ge=0, lt=1)] = 0.01
    beam: Count = 10
    steps: Count = 3
    batch_size: Count = 64
