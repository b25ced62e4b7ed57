"""Read responses into judgements: the answer of each, and how its reasoning treats the patient's features."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from equipoise.core.cache import batched
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import DECIMALS
from equipoise.core.prompts import Response
from equipoise.judge.lexicon import Lexicon
from equipoise.judge.reading import (
    TOGETHER,
    Apart,
    Feature,
    Probabilities,
    ReadingSettings,
    nothing_apart,
    read_reasonings,
)
from equipoise.judge.recurring import Recurring, Reply
from equipoise.materials.judgement import PARTS, Judgement, Reading
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import Vignette
from equipoise.models.registry import ReasoningForm
from equipoise.text.answers import (
    Given,
    Length,
    error_probability,
    log_odds,
    read_likelihood,
    wordings_pattern,
)
from equipoise.text.diagnoses import Diagnoses
from equipoise.text.reasoning import detect, remove_tags, split, visible_text
from equipoise.text.written import read_written


class Score(ReadingSettings):
    """The section `score` of params.yaml: how answers are read, which reading counts, and how reasoning is read."""

    answering: Literal["likelihood", "generate"]
    length: Length


def judge_responses(
    vignettes: Sequence[Vignette],
    responses: Iterable[Response],
    *,
    lexicon: Lexicon,
    diagnoses: Diagnoses,
    probabilities: Probabilities,
    settings: Score,
    form: ReasoningForm = "auto",
    apart: Apart = nothing_apart,
) -> Iterator[Judgement]:
    """Read every response to the vignettes as it comes.

    `lexicon` has the words for each feature, `diagnoses` the names of each diagnosis; `probabilities` is the judge, a
    function from (passage, question) pairs to rows of the probabilities of `TREATMENTS`; `form` is the form of the
    model's output, from the registry. The reasoning is the reply to the first turn, including thinking; where there is
    some, it and the text after it are also read each on its own. The answer is the reply to the last turn, without
    thinking. A response without its vignette, or a vignette without its response, raises EquipoiseError after the
    others are read. Each sample is read separately. For case versions other than the arms, only the answer is read; a
    stub has no reply. For a rereading, only the likelihoods are read, or its single reply if there are none. A few
    hundred responses are in memory at once. `apart` finds the sentences to read apart.
    """
    cases = {vignette.key: vignette for vignette in vignettes}
    for chunk in batched(_case_responses(responses, cases), TOGETHER):
        keys = [CaseKey.parse(response.key) for response in chunk]
        matched = [cases[key.case] for key in keys]
        reasonings = [_reasoning(response) for response in chunk]
        features = [_features(case, lexicon) for case in matched]
        parts = [_parts(response) for response in chunk]
        texts = [*zip(reasonings, features, strict=True)]
        texts += [(part, own) for pair, own in zip(parts, features, strict=True) for part in pair]
        readings = iter(read_reasonings(texts, probabilities, settings, apart))
        judged = [
            _judgement(response, case, next(readings), settings, form, diagnoses)
            for response, case in zip(chunk, matched, strict=True)
        ]
        for judgement, pair, response, case in zip(judged, parts, chunk, matched, strict=True):
            admissions: dict[str, Any] = {name: next(readings).admission for name, _ in zip(PARTS, pair, strict=False)}
            yield judgement.model_copy(update=admissions | {"p_expected": _right_probability(response, case)})


def _right_probability(response: Response, vignette: Vignette) -> float | None:
    """Return the probability of the expected answer, as `error_probability` does; never 0, which files leave out."""
    probability = error_probability(response, {"stereotyped": vignette.answers["expected"]})
    return None if probability is None else max(probability, 10.0**-DECIMALS)


def recurring(vignettes: Sequence[Vignette], responses: Iterable[Response], lexicon: Lexicon) -> Recurring:
    """Find what recurs over the reasonings of a run, whose arms are compared by their clinical stories."""
    cases = {vignette.key: vignette for vignette in vignettes}
    arms = ((cases.get(CaseKey.parse(response.key).case), _reasoning(response)) for response in responses)
    replies = (Reply(case.presentation, text, _features(case, lexicon)) for case, text in arms if case and text)
    return Recurring.among(replies, lexicon)


def _reasoning(response: Response) -> str:
    """Return the reasoning about an arm; empty for another version of a case, which is not read."""
    return remove_tags(response.replies[0]) if CaseKey.parse(response.key).is_arm else ""


def _parts(response: Response) -> tuple[str, ...]:
    """Return the thinking and the visible text of the reasoning about an arm; nothing where it does not have both."""
    text = response.replies[0] if CaseKey.parse(response.key).is_arm else ""
    form = detect(text)
    if form == "plain":
        return ()
    parts = split(text, form)
    return (parts.reasoning, parts.answer) if parts.finished and parts.reasoning else ()


def _features(vignette: Vignette, lexicon: Lexicon) -> list[Feature]:
    """Return the features of a case's patient; their words do not count inside the names of the case's answers."""
    diagnoses = wordings_pattern(vignette.answers)
    return [feature._replace(diagnoses=diagnoses) for feature in lexicon.features(vignette.features)]


def _case_responses(responses: Iterable[Response], cases: Mapping[str, Vignette]) -> Iterator[Response]:
    """Yield the responses to the vignettes; raise EquipoiseError at the end if any is missing or unmatched."""
    answered: set[str] = set()
    for response in responses:
        case = CaseKey.parse(response.key).case
        answered.add(case)
        if case in cases:
            yield response
    if unmatched := sorted(cases.keys() ^ answered):
        more = f"{len(unmatched)} in all, first {unmatched[0]!r}"
        raise EquipoiseError(f"vignettes and responses do not belong together ({more}): run `dvc repro infer`")


def _judgement(
    response: Response, vignette: Vignette, reading: Reading, settings: Score, form: ReasoningForm, diagnoses: Diagnoses
) -> Judgement:
    """Combine the reading of one response's reasoning with its answer."""
    answers = vignette.answers
    likeliest = read_likelihood(response, answers, settings.length)
    last, finished = (response.replies[-1], response.finished[-1]) if response.replies else ("", True)
    reply = visible_text(last, form, finished=finished)
    generated = read_written(reply, answers, diagnoses, vignette.features.values())
    answer = generated
    if settings.answering == "likelihood":
        if likeliest is None and not response.at_most:
            message = f"response {response.key!r} has no likelihoods: set score.answering to generate for this model"
            raise EquipoiseError(message)
        # A server that gives some likelihoods alone may leave open which answer is the likeliest.
        answer = likeliest or Given("unparsed")
    return Judgement(
        key=response.key,
        study=response.study,
        answer=answer.kind,
        label=answer.label,
        answer_likelihood=likeliest.kind if likeliest else None,
        label_likelihood=likeliest.label if likeliest else "",
        answer_generated=generated.kind,
        log_odds=log_odds(response, answers, settings.length),
        log_odds_per_token=log_odds(response, answers, "per_token"),
        p_error=error_probability(response, answers),
        **reading.model_dump(),
    )
