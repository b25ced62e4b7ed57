"""Singular they: replace every gendered pronoun with its neutral form, and make the verbs agree with it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from equipoise.text.neutral.lexicon import Edit, Gender, Lexicon, Token, match_case, plural
from equipoise.text.neutral.people import Cast

T = TypeVar("T")

ALTERNATIVE = frozenset({"or", "/"})
SYMBOL_NEIGHBOURS = frozenset({"-", "+"})
"""Marks that make "his" or "he" part of a symbol: His-tag, He-Ne laser."""
CONJUNCTIONS = frozenset({"and", "or", "but", "nor", "yet", "then"})
RELATIVES = frozenset("that which who whom whose because when while whether although though if where".split())  # noqa: SIM905
SUBJECTS = frozenset({"he", "she", "they", "i", "we", "you"})
OBJECTS = frozenset({"his", "her", "him", "himself", "herself", "what", "whether", "how", "why"})
DETERMINERS = frozenset({"the", "a", "an"})
TIMES = frozenset(
    "past last next previous same following first second day week month year night morning few".split()  # noqa: SIM905
)
"""Words after which "the" begins a time, not an object ("chills the past week")."""
CLAUSE_ENDS = frozenset({";", ":", "?", "!", "."})
PARENTHESIS = 9
"""Most tokens between two commas that may separate a subject from its verb."""


@dataclass(frozen=True)
class Reader:
    """A text's tokens with the people its pronouns refer to; `question` is the sentence of the final question."""

    tokens: Sequence[Token]
    cast: Cast
    lexicon: Lexicon
    question: int

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
                edits.append(self._other_form(i, last))
        return edits

    def _is_pronoun(self, i: int) -> bool:
        """Whether a token is a gendered pronoun in running text, not a symbol (HER2, MEN) or the bundle of His."""
        token = self.tokens[i]
        if token.lower not in self.lexicon.pronouns.genders or (len(token.text) > 1 and token.text.isupper()):
            return False
        nearby = [
            t
            for t in (_token_at(self.tokens, i - 1), _token_at(self.tokens, i + 1))
            if t and t.text in SYMBOL_NEIGHBOURS
        ]
        return not any(t.start == token.end or t.end == token.start for t in nearby)

    def _word(self, i: int) -> str:
        token = _token_at(self.tokens, i)
        return token.lower if token else ""

    def _last_of_pair(self, i: int) -> int:
        """Return the last token of "he or she", "his/her"; the token itself if it is not part of a pair."""
        pronouns = self.lexicon.pronouns.genders
        other = pronouns.get(self._word(i + 2))
        paired = self._word(i + 1) in ALTERNATIVE and other and other != pronouns[self._word(i)]
        return i + 2 if paired else i

    def _start_of_pair(self, i: int) -> int:
        """Return where a subject begins: at the s of "s/he" or the bracket of "(s)he", else at the pronoun."""
        if [self._word(k) for k in (i - 2, i - 1)] == ["s", "/"]:
            return i - 2
        return i - 3 if [self._word(k) for k in (i - 3, i - 2, i - 1)] == ["(", "s", ")"] else i

    def _subject(self, start: int, i: int, last: int) -> list[Edit]:
        """Replace a subject with "they" and its verb forms, or with a noun if "they" would suggest somebody else."""
        token, end = self.tokens[start], self.tokens[last].end
        model = token.text if start == i else "A" if self._begins_sentence(start) else "a"
        noun = self._subject_noun(i) if start == last else None
        if noun:
            return [Edit(token.start, end, match_case(model, noun), "pronoun")]
        return [
            Edit(token.start, end, match_case(model, "they"), "pronoun"),
            *agree(self.tokens, i, last, self.lexicon),
        ]

    def _begins_sentence(self, i: int) -> bool:
        return i == 0 or self.tokens[i - 1].sentence != self.tokens[i].sentence

    def _subject_noun(self, i: int) -> str | None:
        """Return a noun for a subject that is another person, or the patient after a plural noun for people."""
        token = self.tokens[i]
        gender = self.lexicon.pronouns.subject[token.lower]
        if token.sentence == self.question or inverted_verb(self.tokens, i, i, self.lexicon):
            return None
        if self._is_other(gender):
            person = self.cast.last_other(i, gender)
            return f"the {person.neutral}" if person else None
        return "the patient" if self._after_plural[i] else None

    def _is_other(self, gender: Gender) -> bool:
        return self.cast.patient is not None and gender != self.cast.patient

    def _other_form(self, i: int, last: int) -> Edit:
        """Replace an object, possessive or reflexive pronoun with its neutral form."""
        token, words = self.tokens[i], self.lexicon.pronouns
        gender = words.object_gender[token.lower]
        owns = token.lower in {"his", "her"} and self._is_possessive(i, last)
        if i + 1 in self.cast.renamed:
            return Edit(token.start, self.tokens[i + 1].end, match_case(token.text, "the patient"), "pronoun")
        if token.lower == "her":
            form = "their" if owns else "them"
        else:
            form = words.object.get(token.lower) or ("their" if owns else "theirs")
        noun = self._other_noun(i, gender)
        if noun and form in {"their", "them"}:
            form = f"the {noun}'s" if form == "their" else f"the {noun}"
        return Edit(token.start, self.tokens[last].end, match_case(token.text, form), "pronoun")

    def _other_noun(self, i: int, gender: Gender) -> str | None:
        """Return the noun for another person, unless the sentence mentioned them last ("his wife and her job")."""
        person = self.cast.last_other(i, gender)
        sentence = self.tokens[i].sentence
        if sentence == self.question or not self._is_other(gender) or not person:
            return None
        return None if self._last_genders[i] == gender else person.neutral

    @cached_property
    def _after_plural(self) -> list[bool]:
        """For each token, whether a plural noun for people precedes it in its sentence."""
        words = self.lexicon.pronouns.plural_people
        return self._carry([True if token.lower in words else None for token in self.tokens], default=False)

    @cached_property
    def _last_genders(self) -> list[Gender | None]:
        """For each token, the gender most recently mentioned earlier in its sentence."""
        genders = self.lexicon.pronouns.genders
        named = [self.cast.genders.get(k) or genders.get(token.lower) for k, token in enumerate(self.tokens)]
        return self._carry(named, default=None)

    def _carry(self, values: Sequence[T | None], *, default: T) -> list[T]:
        """For each token, the most recent value earlier in its sentence that is not None."""
        carried: list[T] = []
        latest, sentence = default, -1
        for token, value in zip(self.tokens, values, strict=True):
            latest = latest if token.sentence == sentence else default
            sentence = token.sentence
            carried.append(latest)
            latest = latest if value is None else value
        return carried

    def _is_possessive(self, i: int, last: int) -> bool:
        """Whether "his" or "her" is a possessive with its noun."""
        words, following = self.lexicon.pronouns, _token_at(self.tokens, last + 1)
        word, before = self._word(last + 1), self._word(i - 1)
        if following is None or following.sentence != self.tokens[i].sentence:
            return False
        if not following.is_word:
            return following.text in "\"“‘'"
        hyphen = _token_at(self.tokens, last + 2)
        if word in words.not_modified and not (hyphen and hyphen.text == "-" and hyphen.start == following.end):
            return False
        if self._word(i) == "his":
            verbs = self.lexicon.verbs
            return before != "of" or word not in (verbs.finite | verbs.irregular.keys()) - {"left"}
        return not self._is_object(before, word, last)

    def _is_object(self, before: str, word: str, last: int) -> bool:
        """Whether "her" between these two words is an object although a noun may follow."""
        words = self.lexicon.pronouns
        if before in words.giving and word not in words.received:
            return True
        if word in words.doings | words.states and before in words.finding | words.giving:
            return True
        if word == "home" and before in words.moving:
            return True
        after = _token_at(self.tokens, last + 2)
        open_end = after is None or not after.is_word or after.lower in words.not_modified
        to_follows = after is not None and after.lower == "to"
        if word.endswith("ed") and (to_follows or (open_end and before in words.finding)):
            return True
        return word.endswith("ly") and word not in words.not_adverbs and open_end


def agree(tokens: Sequence[Token], first: int, last: int, lexicon: Lexicon) -> Iterator[Edit]:
    """Yield the edits of every verb that a subject at tokens `first` to `last` governs."""
    front = inverted_verb(tokens, first, last, lexicon)
    if front is not None:
        yield from _edit(tokens[front], lexicon)
        return
    clitic = _token_at(tokens, last + 1)
    if clitic is not None and clitic.lower == "'s" and clitic.start == tokens[last].end:
        following = _token_at(tokens, last + 2)
        have = following is not None and following.lower in lexicon.verbs.contracted
        yield Edit(clitic.start, clitic.end, clitic.text[0] + ("ve" if have else "re"), "verb")
        yield from _later_edits(tokens, last + 2, lexicon)
        return
    verb = _finite_verb(tokens, last, lexicon)
    if verb is not None:
        yield from _edit(tokens[verb], lexicon)
        yield from _later_edits(tokens, verb + 1, lexicon)


def inverted_verb(tokens: Sequence[Token], first: int, last: int, lexicon: Lexicon) -> int | None:
    """Return the auxiliary before its subject ("Does he smoke"), unless a verb that agrees follows the subject."""
    before = _token_at(tokens, first - 1)
    if before is None or before.lower not in lexicon.verbs.inverted or before.sentence != tokens[first].sentence:
        return None
    cleft = _token_at(tokens, first - 2)
    if cleft is not None and cleft.lower == "it":
        return None
    verb = _finite_verb(tokens, last, lexicon)
    return None if verb is not None and plural(tokens[verb].text, lexicon.verbs) else first - 1


def _token_at(tokens: Sequence[Token], index: int) -> Token | None:
    return tokens[index] if 0 <= index < len(tokens) else None


def _edit(token: Token, lexicon: Lexicon) -> Iterator[Edit]:
    form = plural(token.text, lexicon.verbs)
    if form:
        yield Edit(token.start, token.end, form, "verb")


def _is_adverb(token: Token, lexicon: Lexicon) -> bool:
    word, words = token.lower, lexicon.pronouns
    return word in words.adverbs or (word.endswith("ly") and word not in words.not_adverbs)


def _is_adverb_phrase(token: Token, following: Token | None, lexicon: Lexicon) -> bool:
    return following is not None and f"{token.lower} {following.lower}" in lexicon.pronouns.adverb_phrases


def _finite_verb(tokens: Sequence[Token], last: int, lexicon: Lexicon) -> int | None:
    """Return the index of the verb after a subject, skipping adverbs, "himself", and text between two commas."""
    i = last + 1
    while i < len(tokens) and tokens[i].sentence == tokens[last].sentence:
        token = tokens[i]
        if token.text == ",":
            closing = next((k for k in range(i + 1, min(i + PARENTHESIS, len(tokens))) if tokens[k].text == ","), None)
            if closing is None:
                return None
            i = closing + 1
        elif _is_adverb_phrase(token, _token_at(tokens, i + 1), lexicon):
            i += 2
        elif token.is_word and not _is_adverb(token, lexicon) and token.lower not in lexicon.pronouns.object:
            return i
        elif not token.is_word and token.text not in "'‘“\"":
            return None
        else:
            i += 1
    return None


def _later_edits(tokens: Sequence[Token], start: int, lexicon: Lexicon) -> Iterator[Edit]:
    """Yield the edits of later verbs of the same subject: those directly after a conjunction or comma.

    A verb elsewhere has a subject of its own. Verbs after it do not belong to the pronoun if that subject is a person,
    or if a thing could be their subject.
    """
    joined = relative = thing = person = False
    for i in range(start, len(tokens)):
        token = tokens[i]
        if token.sentence != tokens[start - 1].sentence or token.lower in SUBJECTS or _ends_clause(tokens, i):
            return
        if token.lower in CONJUNCTIONS or token.text == ",":
            joined = True
            continue
        if joined and token.is_word and _is_adverb(token, lexicon):
            continue
        if joined and _is_verb(tokens, i, lexicon):
            if not thing or _is_personal(tokens, i, lexicon):
                yield from _edit(token, lexicon)
        elif joined and _is_of_things(token, lexicon):
            return
        elif _has_subject(tokens, i, lexicon, relative=relative):
            if person:
                return
            thing = True
        relative = relative or token.lower in RELATIVES
        person = person or token.lower in lexicon.nouns.persons
        joined = False


def _is_personal(tokens: Sequence[Token], index: int, lexicon: Lexicon) -> bool:
    """Whether only a person can be a verb's subject; for "does not", the verb after it decides."""
    word, following = tokens[index].lower, _token_at(tokens, index + 2)
    if word in {"does", "doesn't"}:
        following = _token_at(tokens, index + 1) if word == "doesn't" else following
        return following is not None and following.lower in lexicon.verbs.personal
    return word not in lexicon.verbs.impersonal


def _is_of_things(token: Token, lexicon: Lexicon) -> bool:
    """Whether a verb's subject is a thing, not the pronoun ("It comes when he walks, spreads to his arm and goes")."""
    return token.lower in lexicon.verbs.finite and plural(token.text, lexicon.verbs) is not None


def _has_subject(tokens: Sequence[Token], index: int, lexicon: Lexicon, *, relative: bool) -> bool:
    """Whether a token shows that another subject precedes: a verb not joined to the first subject, or "it".

    "It" directly after a verb is its object ("finds it hard"), unless the verb reports ("says it hurts").
    """
    token, words = tokens[index], lexicon.verbs
    if token.lower == "it":
        before = tokens[index - 1].lower
        return before not in words.listed or before in lexicon.pronouns.reporting
    listed = token.lower in words.listed or token.lower.endswith("ed")
    return token.lower in words.irregular or (relative and listed)


def _ends_clause(tokens: Sequence[Token], index: int) -> bool:
    """Whether a mark ends a clause: not the colon of a time (04:00)."""
    following = _token_at(tokens, index + 1)
    inside = following is not None and following.start == tokens[index].end and following.text.isdigit()
    return tokens[index].text in CLAUSE_ENDS and not inside


def _is_verb(tokens: Sequence[Token], index: int, lexicon: Lexicon) -> bool:
    """Whether a word in -s after a conjunction is a verb: listed, or with an object ("and redecorates the flat")."""
    token, following, then = tokens[index], _token_at(tokens, index + 1), _token_at(tokens, index + 2)
    if token.lower in lexicon.verbs.coordinated:
        return True
    if plural(token.text, lexicon.verbs) is None or following is None or token.lower in lexicon.pronouns.not_modified:
        return False
    timed = then is not None and then.lower in TIMES
    return following.lower in OBJECTS or (following.lower in DETERMINERS and not timed)
