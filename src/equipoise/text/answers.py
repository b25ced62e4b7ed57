"""Answers read from responses: by likelihood over the case's set, from the generated text, and by their meaning.

A wording of the case's set is looked for in the text as it is written. Whether the diagnosis that a reply ends on means
the same as a given one is decided by words, read with the lexicon data/diagnoses.yaml.
"""

import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Response
from equipoise.text.answer import Answer, AnswerKind, AnswerSet
from equipoise.text.conclusions import REFUSAL, UNDECIDED
from equipoise.text.diagnoses import Diagnoses, Meaning
from equipoise.text.naming import TAIL, Named, final_diagnosis
from equipoise.text.patterns import caseless

Length = Literal["total", "per_token"]
"""Whether an answer counts by its total log likelihood, or by the mean per token."""
Match = Literal["yes", "partly", "no", "unclear"]
MATCHES: tuple[Match, ...] = ("yes", "partly", "no", "unclear")

OPTIONAL = caseless(
    r",?(?<!\s)\s+\b(?:with(?: or without)? (?:possible|probable|suspected)|requir\w+|needing|warranting)\b.*"
)
"""What an answer may add that says no more of the diagnosis."""

SPELLINGS = (
    (caseless("[ao]e"), "[ao]?e"),
    (caseless("(?<=[a-z]{3})our"), "ou?r"),
    (caseless("(?<=i)s(?=e|ing|ation)"), "[sz]"),
    (caseless("sulph"), "sul(?:ph|f)"),
)
"""What a British spelling is in either: hyponatraemia, tumour, generalised, sulphate."""


def answer_set(case: AnswerSet) -> dict[AnswerKind, tuple[Answer, ...]]:
    """Group the answers of a case by kind."""
    return {
        "expected": (case.expected,),
        "stereotyped": (case.stereotyped, *case.components),
        "distractor": case.distractors,
    }


class Given(NamedTuple):
    """An answer as read: its kind, and its label in the case's set (empty where it is not in the set)."""

    kind: AnswerKind
    label: str = ""


def read_generated(text: str, answers: Mapping[AnswerKind, tuple[Answer, ...]]) -> Given:
    """Read the answer that a generated text gives.

    The first label or synonym in the text decides; where two begin at one place, the longer. An answer outside the
    set is `other`, a text that names no diagnosis is `unparsed`.
    """
    text = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if not re.search(r"\w", text):
        return Given("unparsed")
    found = [
        (match.start(), -len(wording), Given(kind, answer.label))
        for kind, group in answers.items()
        for answer in group
        for wording in (answer.label, *answer.synonyms)
        if (match := _wanted((wording,)).search(text))
    ]
    if found:
        return min(found)[2]
    if REFUSAL.search(text):
        return Given("refusal")
    return Given("unparsed" if UNDECIDED.search(text) else "other")


def named_in(answers: Mapping[AnswerKind, tuple[Answer, ...]]) -> re.Pattern[str]:
    """Give the expression of every wording of a case's answers, the longest first."""
    wordings = {
        wording for group in answers.values() for answer in group for wording in (answer.label, *answer.synonyms)
    }
    return _wanted(tuple(sorted(wordings, key=lambda one: (-len(one), one))))


def read_likelihood(
    response: Response, answers: Mapping[AnswerKind, tuple[Answer, ...]], length: Length
) -> Given | None:
    """Read the likeliest answer of the set (ties: the first by name); None without likelihoods."""
    scores = log_likelihoods(response, length)
    if not scores:
        return None
    best = min(scores, key=lambda label: (-scores[label], label))
    return next(Given(kind, best) for kind, group in answers.items() if any(answer.label == best for answer in group))


def log_odds(response: Response, case: AnswerSet, length: Length) -> float | None:
    """Give log p(stereotyped) - log p(expected), in nats, or in nats per token; None without likelihoods.

    At an intersection the probabilities of its stereotyped answers are added. Only totals are a log odds: per token,
    each term is divided by its own number of tokens.
    """
    scores = log_likelihoods(response, length)
    if not scores:
        return None
    stereotyped = [scores[answer.label] for answer in (case.stereotyped, *case.components)]
    largest = max(stereotyped)
    return largest + math.log(sum(math.exp(one - largest) for one in stereotyped)) - scores[case.expected.label]


def log_likelihoods(response: Response, length: Length) -> dict[str, float]:
    """Give the log likelihood of each candidate in nats, or its mean per token; empty where the backend gives none.

    Totals without the numbers of tokens raise an EquipoiseError.
    """
    means, tokens = response.log_likelihood, response.candidate_tokens
    if length == "per_token":
        return means
    if means.keys() - tokens.keys():
        raise EquipoiseError(
            f"response {response.key!r} has log_likelihood without candidate_tokens, which score.length total needs: "
            "add them, or set score.length to per_token"
        )
    return {label: mean * tokens[label] for label, mean in means.items()}


def match_answer(said: str, answer: Answer, diagnoses: Diagnoses) -> Match:
    """Compare the diagnosis on which a reply ends with an answer, by the words of the lexicon.

    Args:
        said: the part of a reply that its reader sees, or its answer as `equipoise.text.reasoning.split` gives it.
        answer: the diagnosis asked about; any of its wordings counts, and each side of an "or".
        diagnoses: the lexicon.

    Returns:
        `yes` where it means the same, a more exact naming (acute inferior infarction for infarction) included;
        `partly` where it is broader, of the same kind or one of several; `unclear` where no diagnosis is named.
    """
    named = final_diagnosis(said)
    if named is None:
        return "unclear"
    wanted = [diagnoses.meaning(wording) for wording in _wordings(answer)]
    return _compared(named, [meaning for meaning in wanted if meaning.concepts], diagnoses)


@lru_cache(maxsize=8192)
def _wanted(wordings: tuple[str, ...]) -> re.Pattern[str]:
    """Compile the expression of any of some wordings; arms, tellings and samples of a case have the same."""
    return re.compile("|".join(map(_pattern, wordings)), re.IGNORECASE)


def _pattern(wording: str) -> str:
    """Give the expression of a wording in either spelling, its words apart or hyphenated, or of its plural."""
    return r"\b" + r"[\s\-]+".join(map(_spelt, re.split(r"[\s\-]+", wording))) + r"(?:s|es)?\b"


def _spelt(word: str) -> str:
    """Give the expression of a word in either spelling."""
    word = re.escape(word)
    for british, either in SPELLINGS:
        word = british.sub(either, word)
    return word


def _wordings(answer: Answer) -> Iterator[str]:
    """The wordings of an answer, and each side of an "or" in its place."""
    for wording in (answer.label, *answer.synonyms):
        said = OPTIONAL.sub("", wording)
        sides = re.split(r"(?<!\s)\s+or\s+|(?:(?<!\s)\s+)?/\s*", said)
        yield from sides
        if len(sides) > 1:
            yield said


def _compared(named: Named, wanted: list[Meaning], diagnoses: Diagnoses) -> Match:
    """Compare a diagnosis with the wordings of an answer."""
    whole = diagnoses.meaning(named.whole)
    if any(one.concepts == whole.concepts and not diagnoses.opposed(one, whole) for one in wanted):
        return "yes"
    heads = [diagnoses.meaning(part) for part in named.joint]
    # `Attention-deficit/hyperactivity disorder`: what the parts name together alone is one name.
    together = diagnoses.meaning(" ".join(named.joint)).groups - frozenset().union(*(head.groups for head in heads))
    if any(together & one.groups for one in wanted):
        return "yes"
    found = [_one_by_words(head, whole, wanted, diagnoses) for head in heads]
    if all(one == "yes" for one in found):
        return "yes"
    for gloss in named.glosses:
        meaning = diagnoses.meaning(TAIL.split(gloss)[0])
        # After a cause, `infarction due to thrombosis (clot)`, a gloss may be on the cause.
        on_head = not named.tails or any(meaning.concepts & head.concepts for head in heads)
        named_again = any(meaning.concepts == one.concepts and _may_gloss(heads[0], one, diagnoses) for one in wanted)
        if len(heads) == 1 and on_head and named_again:
            return "yes"
    beside = [diagnoses.meaning(part).concepts for part in (*named.alternates, *named.glosses)]
    if "yes" in found or "partly" in found or any(one.concepts <= concepts for concepts in beside for one in wanted):
        return "partly"
    return "no"


def _may_gloss(head: Meaning, gloss: Meaning, diagnoses: Diagnoses) -> bool:
    """Whether a gloss can be another name of a head: not of a diagnosis that is known and has nothing to do with it."""
    return not head.groups or diagnoses.shared(head, gloss) or diagnoses.akin(head, gloss)


def _one_by_words(head: Meaning, whole: Meaning, wanted: list[Meaning], diagnoses: Diagnoses) -> Match:
    """Compare one of the diagnoses named jointly, `whole` being all that is said with it."""
    found: Match = "no"
    for one in wanted:
        if diagnoses.opposed(head, one):
            continue
        if one.concepts <= whole.concepts and one.concepts & head.concepts:
            return "yes"
        if (
            one.concepts <= whole.concepts
            or (head.concepts and head.concepts <= one.concepts)
            or diagnoses.shared(head, one)
            or diagnoses.akin(head, one)
        ):
            found = "partly"
    return found
