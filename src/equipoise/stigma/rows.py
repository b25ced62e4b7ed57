"""Row type of the stigma study: how much probability a sentence gives to female, male and other subjects."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from equipoise.core.records import Row, Text

Question = Literal["rq1", "rq2"]
ConditionSet = Literal["mental", "control"]
Scorer = Literal["masked", "causal"]
Probability = Annotated[float, Field(ge=0, le=1 + 1e-6)]


class Fill(Row):
    """One sentence about one condition, with the probability of its subject's gender.

    The key is `<question>/<template>/<condition>`. `group` is the template's phase (rq1: diagnosis, intention, action)
    or its stigma dimension (rq2: anger, …); `polarity` is -1 where the sentence words the dimension's opposite, else 1.
    `female`, `male` and `unspecified` are probabilities; under the causal scorer they add up to 1. `words` holds the
    words behind them with their probabilities, for reading.
    """

    study: Literal["stigma"] = "stigma"
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
