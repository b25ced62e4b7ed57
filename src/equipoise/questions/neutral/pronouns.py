"""Singular they: every gendered pronoun in its neutral form, and the verbs that agree with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise.questions.neutral.agreement import agree, inverted_verb
from equipoise.questions.neutral.edits import Edit
from equipoise.questions.neutral.tokens import match_case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.questions.neutral.lexicon import Gender, Lexicon
    from equipoise.questions.neutral.people import Cast
    from equipoise.questions.neutral.tokens import Token

ALTERNATIVE = frozenset({"or", "/"})
SYMBOL_NEIGHBOURS = frozenset({"-", "+"})
"""Marks that make "his" or "he" part of a symbol: His-tag, He-Ne laser."""


@dataclass(frozen=True)
class Reader:
    """A text's tokens with what their pronouns stand for; `asked` is the sentence of the final question."""

    tokens: Sequence[Token]
    cast: Cast
    lexicon: Lexicon
    asked: int

    def edits(self) -> list[Edit]:
        """Replace every gendered pronoun and make its verbs agree."""
        edits: list[Edit] = []
        skip = -1
        for i, token in enumerate(self.tokens):
            if i <= skip or not self._is_pronoun(i):
                continue
            last = self._last_of_pair(i)
            skip = last
            start = self._start_of_pair(i)
            if token.lower in self.lexicon.pronouns.subject:
                edits += self._subject(start, i, last)
            else:
                edits.append(self._other(i, last))
        return edits

    def _is_pronoun(self, i: int) -> bool:
        """Whether a token is a gendered pronoun in running text, not a symbol (HER2, MEN) or a bundle of His."""
        token = self.tokens[i]
        words = self.lexicon.pronouns
        if token.lower not in words.subject and token.lower not in words.object_gender:
            return False
        if len(token.text) > 1 and token.text.isupper():
            return False
        nearby = [t for t in (self._at(i - 1), self._at(i + 1)) if t and t.text in SYMBOL_NEIGHBOURS]
        return not any(t.start == token.end or t.end == token.start for t in nearby)

    def _at(self, i: int) -> Token | None:
        return self.tokens[i] if 0 <= i < len(self.tokens) else None

    def _word(self, i: int) -> str:
        token = self._at(i)
        return token.lower if token else ""

    def _last_of_pair(self, i: int) -> int:
        """The last token of "he or she", "his/her"; the token itself where it stands alone."""
        pronouns = self.lexicon.pronouns.subject | self.lexicon.pronouns.object_gender
        other = pronouns.get(self._word(i + 2))
        paired = self._word(i + 1) in ALTERNATIVE and other and other != pronouns[self._word(i)]
        return i + 2 if paired else i

    def _start_of_pair(self, i: int) -> int:
        """Where a subject begins: at the s of "s/he" or the bracket of "(s)he", else at the pronoun."""
        if [self._word(k) for k in (i - 2, i - 1)] == ["s", "/"]:
            return i - 2
        return i - 3 if [self._word(k) for k in (i - 3, i - 2, i - 1)] == ["(", "s", ")"] else i

    def _subject(self, start: int, i: int, last: int) -> list[Edit]:
        """Put they with its verb, or a noun where they would be taken for somebody else."""
        token, end = self.tokens[start], self.tokens[last].end
        model = token.text if start == i else "A" if self._begins_sentence(start) else "a"
        noun = self._noun_instead(i) if start == last else None
        if noun:
            return [Edit(token.start, end, match_case(model, noun), "pronoun")]
        return [
            Edit(token.start, end, match_case(model, "they"), "pronoun"),
            *agree(self.tokens, i, last, self.lexicon),
        ]

    def _begins_sentence(self, i: int) -> bool:
        return i == 0 or self.tokens[i - 1].sentence != self.tokens[i].sentence

    def _noun_instead(self, i: int) -> str | None:
        """The noun for a subject: another person of the other gender, or the patient after a plural noun for people."""
        token = self.tokens[i]
        gender = self.lexicon.pronouns.subject[token.lower]
        if token.sentence == self.asked or inverted_verb(self.tokens, i, i, self.lexicon):
            return None
        if self._is_other(gender):
            person = self.cast.before(i, gender)
            return f"the {person.neutral}" if person else None
        earlier = (t for t in self.tokens[:i] if t.sentence == token.sentence)
        return "the patient" if any(t.lower in self.lexicon.pronouns.plural_people for t in earlier) else None

    def _is_other(self, gender: Gender) -> bool:
        return self.cast.patient is not None and gender != self.cast.patient

    def _other(self, i: int, last: int) -> Edit:
        """Put the neutral form of an object, possessive or reflexive pronoun."""
        token, words = self.tokens[i], self.lexicon.pronouns
        gender = words.object_gender[token.lower]
        owns = token.lower in {"his", "her"} and self._owns(i, last)
        if any(person.again and person.index == i + 1 for person in self.cast.persons):
            return Edit(token.start, self.tokens[i + 1].end, match_case(token.text, "the patient"), "pronoun")
        if token.lower == "her":
            form = "their" if owns else "them"
        else:
            form = words.object.get(token.lower) or ("their" if owns else "theirs")
        noun = self._other_instead(i, gender)
        if noun and form in {"their", "them"}:
            form = f"the {noun}'s" if form == "their" else f"the {noun}"
        return Edit(token.start, self.tokens[last].end, match_case(token.text, form), "pronoun")

    def _other_instead(self, i: int, gender: Gender) -> str | None:
        """The noun for another person, unless the sentence spoke of them last ("his wife and her job")."""
        person = self.cast.before(i, gender)
        sentence = self.tokens[i].sentence
        if sentence == self.asked or not self._is_other(gender) or not person:
            return None
        pronouns = self.lexicon.pronouns.subject | self.lexicon.pronouns.object_gender
        named = {p.index: p.gender for p in self.cast.persons if p.gender}
        earlier = (k for k in range(i - 1, -1, -1) if self.tokens[k].sentence == sentence)
        last = next((found for k in earlier if (found := named.get(k) or pronouns.get(self._word(k)))), None)
        return None if last == gender else person.neutral

    def _owns(self, i: int, last: int) -> bool:
        """Whether "his" or "her" is a possessive with its noun."""
        words, following = self.lexicon.pronouns, self._at(last + 1)
        word, before = self._word(last + 1), self._word(i - 1)
        if following is None or following.sentence != self.tokens[i].sentence:
            return False
        if not following.is_word:
            return following.text in "\"“‘'"
        hyphen = self._at(last + 2)
        if word in words.not_modified and not (hyphen and hyphen.text == "-" and hyphen.start == following.end):
            return False
        if self._word(i) == "his":
            verbs = self.lexicon.verbs
            return before != "of" or word not in (verbs.finite | verbs.irregular.keys()) - {"left"}
        return not self._is_object(before, word, last)

    def _is_object(self, before: str, word: str, last: int) -> bool:
        """Whether "her" between these two words is an object although a noun might follow."""
        words = self.lexicon.pronouns
        if before in words.giving and word not in words.received:
            return True
        if word in words.doings | words.states and before in words.finding | words.giving:
            return True
        if word == "home" and before in words.moving:
            return True
        after = self._at(last + 2)
        open_end = after is None or not after.is_word or after.lower in words.not_modified
        to_follows = after is not None and after.lower == "to"
        if word.endswith("ed") and (to_follows or (open_end and before in words.finding)):
            return True
        return word.endswith("ly") and word not in words.not_adverbs and open_end
