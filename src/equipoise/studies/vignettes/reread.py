"""The answer read again after other reasoning: the prompts that split an effect into through and around the reasoning.

An arm's own answer follows its own reasoning. Here the question for the answer is asked again with something else where
the reasoning stood, word for word:

- `swapped`: the reasoning about the other arm;
- `blinded`, `blinded-swapped`: the own and the other's, in which demographics are neutral and words for the varied
  features are masked: texts that the model did not write (off-policy);
- `unreasoned`: none, in one turn;
- `early-25`, `early-50`, `early-75`: its beginning, by words, after Lanham et al. 2023 (arXiv:2307.13702), section 2.3.

Where a text comes out as the arm's own, nothing is asked: the answer to it is known. That makes the swap of identical
reasonings exact.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

from equipoise.core.prompts import Prompt, Response
from equipoise.judge.lexicon import Lexicon, load_lexicon
from equipoise.judge.reading import SAME, WRAPPED, plain_text
from equipoise.materials.versions import EARLY, CaseKey
from equipoise.materials.vignette import OTHER, ROLES, Vignette
from equipoise.studies.vignettes.profiles import Rereading
from equipoise.text.answers import answer_set, wordings_pattern
from equipoise.text.neutral.lexicon import Lexicon as Terms
from equipoise.text.neutral.lexicon import load_lexicon as load_terms
from equipoise.text.neutral.neutralize import neutralize
from equipoise.text.reasoning import remove_tags

MASK = "[redacted]"


class Blind(Protocol):
    """Takes the demographics of both arms of a pair out of a reasoning."""

    def __call__(self, text: str, arms: Sequence[Vignette]) -> str:
        """Give the text without them."""
        ...


def rereadings(
    vignettes: Sequence[Vignette],
    prompts: Sequence[Prompt],
    responses: Sequence[Response],
    kinds: Sequence[Rereading],
    blind: Blind,
    *,
    likelihoods: bool = True,
) -> Iterator[Prompt]:
    """Ask for the answer of every arm again after other reasoning, of the given kinds.

    `prompts` and `responses` are those of the study; of other tellings than `vignettes` none is asked again. The
    likelihoods of the candidates are all that is asked for; of a model without `likelihoods`, a reply. Keys are those
    of the arms with the reading before the number: `race-01/privileged/swapped#2`.
    """
    cases = {row.key: row for row in vignettes}
    said = {one.key: one for one in responses}

    @cache
    def blinded(text: str, pair: str) -> str:
        # Each arm's reasoning stands in the place of the other's too.
        return blind(text, [cases[f"{pair}/{role}"] for role in ROLES])

    for prompt in prompts:
        key = CaseKey.parse(prompt.key)
        case = cases.get(key.case)
        if case is None:
            continue
        other = key._replace(version=OTHER[case.role])
        own, others = (said[str(arm)].replies[0] for arm in (key, other))
        asked = prompt.scored() if likelihoods else prompt
        for name, text in _texts(own, others, kinds, partial(blinded, pair=case.pair)).items():
            if text != own:
                yield _reread(asked, str(key._replace(rereading=name)), case, text)


def _texts(own: str, other: str, kinds: Sequence[Rereading], blind: Callable[[str], str]) -> dict[str, str | None]:
    """Give what stands where the reasoning stood, by the name of the reading; None for nothing."""
    found: dict[str, str | None] = {}
    if "swapped" in kinds:
        found["swapped"] = other
    if "blinded" in kinds:
        found |= {"blinded": blind(own), "blinded-swapped": blind(other)}
    if "unreasoned" in kinds:
        found["unreasoned"] = None
    if "early" in kinds:
        found |= {f"early-{share}": beginning(own, share) for share in EARLY}
    return found


def _reread(prompt: Prompt, key: str, case: Vignette, text: str | None) -> Prompt:
    """Ask for the answer after a text in the place of the reasoning; the case is read once for all of them."""
    asked: dict[str, Any] = {"key": key, "lead": "", "stem": case.text}
    if text is None:
        asked["turns"] = (f"{case.text}\n\n{prompt.turns[-1]}",)
    elif prompt.turns[0].startswith(case.text):
        asked |= {"given": (text,), "lead": prompt.turns[0]}
    else:
        asked |= {"given": (text,), "stem": prompt.turns[0]}
    return prompt.model_copy(update=asked)


def beginning(text: str, share: int) -> str:
    """Give the first words of a text, `share` per cent of them, at least one; without the tags of thinking."""
    text = remove_tags(text)
    words = list(re.finditer(r"\S+", text))
    return text[: words[max(1, round(len(words) * share / 100)) - 1].end()] if words else text


def blinder(data: Path) -> Blind:
    """Load what takes demographics out of reasoning, from the lexicons under `data`."""
    return partial(_blinded, terms=load_terms(data / "lexicon"), features=load_lexicon(data / "features"))


def _blinded(text: str, arms: Sequence[Vignette], terms: Terms, features: Lexicon) -> str:
    """Neutralise gender, race and means in a text, then mask the words for the features in which the arms differ."""
    named: dict[str, list[str]] = {}
    for arm in arms:
        for dimension, words in arm.features.items():
            named.setdefault(dimension, []).append(words)
    neutral = neutralize(text, terms).text
    plain, places = plain_text(neutral), _places(neutral)
    taken = bytearray(len(neutral))
    for dimension, wordings in named.items():
        for words in wordings:
            (feature,) = features.features({dimension: words})
            for start, end in feature.named.places(plain) if feature.named else ():
                first, last = places[start], places[end - 1] + 1
                taken[first:last] = b"\1" * (last - first)
    for match in wordings_pattern(answer_set(arms[0])).finditer(plain):
        # To speak of alcohol withdrawal is not to speak of the patient.
        for place in places[slice(*match.span())]:
            taken[place] = 0
    return _masked(neutral, taken)


def _places(text: str) -> list[int]:
    """Give the place in a text of each character of its plain form (`plain_text`)."""
    kept = [place for place, mark in enumerate(text) if mark.translate(SAME)]
    found, at = [], 0
    for gap in WRAPPED.finditer(text.translate(SAME)):
        found += kept[at : gap.start() + 1]
        at = gap.end()
    return found + kept[at:]


def _masked(text: str, taken: bytes | bytearray) -> str:
    """Put the mask in the place of each run of characters that are taken."""
    pieces, at = [], 0
    for match in re.finditer(rb"\x01+", taken):
        pieces += [text[at : match.start()], MASK]
        at = match.end()
    return "".join([*pieces, text[at:]])
