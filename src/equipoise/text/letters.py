"""Read the answer letter from a response to a multiple-choice question.

The reply is rewritten plainly: phrases of other languages in English, no markup, no question that the model goes on
with. Every place where it names an option, by its letter or its words, is marked; then rules are tried in order, and
the first that finds an option decides. If a letter and the words beside it belong to different options, the letter
decides, as in the published gradings. Where no rule is sure, the reply is unread: a wrong letter is worse than none.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from equipoise.text import letter_phrases as phrases
from equipoise.text.conclusions import REFUSAL as REFUSING
from equipoise.text.conclusions import holds
from equipoise.text.languages import to_english
from equipoise.text.letter_marks import DISTINCTIVE, Mark, find_marks, fold, tokens_of
from equipoise.text.own import own_words, shown
from equipoise.text.patterns import end_of_match, normalize_unicode, stars_as_shares
from equipoise.text.reasoning import strip_thinking


class LetterReading(NamedTuple):
    """The option's letter, None if the response gives none, and the name of the rule that decided."""

    letter: str | None
    rule: str


class Reply(NamedTuple):
    """A reply as the rules see it: plain text, the places that name an option, and the options' words."""

    text: str
    marks: Sequence[Mark]
    options: Mapping[str, str]


UNPARSED: Final = "unparsed"
REFUSAL: Final = "refusal"
UNFINISHED: Final = "unfinished_thinking"
NONE: Final = ""
"""What a rule returns if the reply gives no option, whatever the rules after it find."""


def read_letter(response: str, options: Mapping[str, str]) -> LetterReading:
    """Read which of the options (letter to text) a response chooses; None for a refusal or an unclear response.

    Tagged thinking is ignored. Unfinished thinking gives no answer, unless its last words are a marked answer
    ("Answer: B").
    """
    keys = {letter.upper(): letter for letter in options}
    words = {letter.upper(): _plain(text) for letter, text in options.items()}
    visible, cut_off = strip_thinking(stars_as_shares(normalize_unicode(response, "NFKC")))
    for reply in _replies(_shorten_gaps(visible), words):
        letter, rule = _read(reply, words)
        if letter and not _is_own(letter, reply, words):
            letter, rule = None, UNPARSED
        if letter is not None:
            return LetterReading(keys.get(letter), rule)
    if cut_off:
        text = _plain(normalize_unicode(response, "NFKC"))
        for mark in find_marks(text, words)[-1:]:
            if (
                mark.by_letter
                and not re.search(r"\w", text[mark.end :])
                and phrases.COMMITTED.search(text[: mark.start])
            ):
                return LetterReading(keys[mark.letter], "committed_thinking")
        return LetterReading(None, UNFINISHED)
    return LetterReading(None, UNPARSED)


def _is_own(letter: str, raw: str, words: Mapping[str, str]) -> bool:
    """Whether a letter is what the reply says itself, and the text beside JSON gives no other."""
    own = own_words(shown(to_english(raw)))
    beside = phrases.OBJECT.sub("\n", raw)
    changed = own.split() != raw.split() and _read(own, words)[0] != letter
    fields = [(field["key"], field["letter"].upper()) for field in phrases.LETTER_FIELD.finditer(raw)]
    # A list has an object for each option; answers that are rivals are fewer.
    listed = {key for key, _ in fields if [name for name, _ in fields].count(key) > 2}  # noqa: PLR2004
    rivals = {own for key, own in fields if key not in listed and not phrases.OTHER_KEY.search(key)} - {letter}
    is_split = rivals and not any(phrases.FINAL_KEY.search(key) for key, _ in fields)
    return not (changed or is_split) and (beside == raw or _read(beside, words)[0] in {None, letter})


def _read(raw: str, words: Mapping[str, str]) -> tuple[str | None, str]:
    """Read a part of a reply: the letter, empty if it gives none, and the rule; None if no rule decides."""
    if letter := _field(raw, words):
        return letter, "field"
    if not re.search(r"(?<![A-Z])[A-Z](?![A-Z])", raw):
        raw = phrases.SMALL.sub(lambda small: small[0].upper(), raw)
    reply = _marked(phrases.PROBABLY.sub(r"\1.", _plain(to_english(raw))), words)
    for name, rule in RULES:
        letter = rule(reply)
        if letter is not None:
            return (None, UNPARSED) if _is_countered(reply, letter) else (letter, name)
    return None, UNPARSED


def _is_countered(reply: Reply, letter: str) -> bool:
    """Whether the text turns from a letter to another that it gives the patient, or denies it wherever it names it."""
    own = [mark for mark in reply.marks if mark.letter == letter]
    if not own:
        return False
    later = (mark for mark in reply.marks if mark.start > own[0].start and mark.letter != letter)
    others = {match["letter"] for match in phrases.THIS_LETTER.finditer(reply.text, own[0].end)} & reply.options.keys()
    turned = others - {letter} or any(_is_turned_to(reply, mark) for mark in later) or _is_doubted(reply, own[-1])
    return bool(turned) or all(mark.by_letter and phrases.REFUTES.match(reply.text, mark.end) for mark in own)


def _is_doubted(reply: Reply, last: Mark) -> bool:
    """Whether a claim after the last place of a letter gives another, and may or may not be the reply's own."""
    for mark in reply.marks:
        before = reply.text[max(0, mark.start - phrases.LED) : mark.start]
        led = next((led for pattern in phrases.CLAIMS if (led := pattern.search(before))), None)
        if (
            mark.start > last.start
            and led
            and holds(before[: led.start()], reply.text[mark.end : mark.end + phrases.LED]) == "unclear"
        ):
            return True
    return False


def _is_turned_to(reply: Reply, mark: Mark) -> bool:
    """Whether the text turns to an option from what is usual, and does not deny it."""
    text = reply.text
    turned = _is_led_to(text, mark, phrases.TURNED) and phrases.CLAUSE_END.match(text, mark.end)
    begins = phrases.SENTENCE_START.search(text[max(0, mark.start - phrases.NEAR) : mark.start])
    of_this_one = begins and phrases.OF_THIS_ONE.match(text, mark.end)
    return bool(turned or of_this_one) and not _is_denied(reply, mark)


def _marked(text: str, words: Mapping[str, str]) -> Reply:
    return Reply(text, find_marks(text, words), words)


def _plain(text: str) -> str:
    tagged = phrases.ANSWER_TAG.sub("\nFinal answer: ", normalize_unicode(text, "NFKC").replace("’", "'"))
    plain = phrases.VERSUS.sub("vs", _shorten_gaps(phrases.MARKUP.sub("", tagged).strip()))
    for own, name in phrases.ALIKE:
        plain = own.sub(name, plain)
    return plain


def _shorten_gaps(text: str) -> str:
    return phrases.GAP.sub(lambda gap: gap[0][:20] + ("\n" if "\n" in gap[0] else "") + gap[0][-20:], text)


def _replies(text: str, words: Mapping[str, str]) -> Iterator[str]:
    """Yield the reply up to a next question that nobody asked, if there is one, then all of it."""
    for match in islice(phrases.NEXT_QUESTION.finditer(text), 2):
        if re.search(r"\w", text[: match.start()]):
            yield text[: match.start()]
    for match in islice(phrases.SEPARATOR.finditer(text), 2):
        before, after = text[: match.start()], text[match.end() :]
        if (
            phrases.ANSWER_LINE.search(before)
            and phrases.ANSWER_LINE.search(after)
            and not phrases.CHANGED.search(after)
        ):
            yield before
    for match in islice(phrases.NEXT_LIST.finditer(text), 2):
        stem = text.rfind("\n\n", 0, max(0, match.start() - 1))
        if stem > 0 and "?" in text[stem : match.start()] and not _restates(match[0], words):
            yield text[:stem]
    yield text


def _restates(listed: str, words: Mapping[str, str]) -> bool:
    """Whether a list has an option's words."""
    return any(not mark.by_letter for mark in find_marks(_plain(listed), words))


def _field(text: str, words: Mapping[str, str]) -> str | None:
    """Read the field of a JSON object, or of one like it, that holds the answer; the most final of several kinds."""
    if "{" not in text:
        return None
    fields = [(match["key"].lower(), match["value"].strip("\"' \n")) for match in phrases.FIELD.finditer(text)]
    if not fields and (ranks := phrases.RANKED_FIELDS.search(text)):
        return _read(ranks["first"].strip("\"' "), words)[0]
    for kind in ("revised", "updated", "corrected", "new", "final", "answer", ""):
        values = [value for key, value in fields if kind in key]
        letters = {letter for value in values if (letter := _read(value, words)[0]) is not None}
        if len(letters) == 1:
            return letters.pop()
        if len(letters) > 1:
            return None
    return None


def _alone(reply: Reply) -> str | None:
    """The whole text is a letter, or the words of one option, with no more than a hedge."""
    text = reply.text
    first = _first_marks(reply.marks)
    for mark in first:
        before = text[: mark.start]
        opens = phrases.PREFACE.fullmatch(before) and not phrases.NUMBERED.search(before)
        if opens and not re.search(r"\w", text[mark.end :]):
            return mark.letter if not re.match(r"\W*\?", text[mark.end :]) else None
        if opens and mark.by_letter and len(reply.marks) == len(first) and phrases.POSTFACE.fullmatch(text[mark.end :]):
            return mark.letter
    return None


def _changed(reply: Reply) -> str | None:
    """The answer after the last change of mind; none if the change only rejects the answer."""
    text = reply.text
    first = min((mark.start for mark in reply.marks), default=len(text))
    changes = [match for match in phrases.CHANGED.finditer(text) if match.start() > first or not match.start()]
    for match in reversed(changes[-phrases.CHANGES :]):
        if phrases.NOT_CHANGED.search(text[max(0, match.start() - phrases.NEAR) : match.start()]):
            continue
        after = text[match.end() : match.end() + phrases.AFTERTHOUGHT]
        later = _marked(after, reply.options)
        for rule in (_alone, _final, _statement, _concluding, _verdict, _opening, _last_word, _lone_letter):
            letter = rule(later)
            if letter is not None:
                return letter
        if match.start() > first and phrases.REJECTED.match(after):
            return NONE
    return None


def _true_false(reply: Reply) -> str | None:
    """All options but at most one are marked true or false, and one alone is true."""
    signs = {match["letter"].upper(): match["yes"] for match in phrases.TRUE_FALSE.finditer(reply.text)}
    true = [letter for letter, yes in signs.items() if yes and letter in reply.options]
    enough = len(signs) > 1 and len(signs.keys() & reply.options.keys()) >= len(reply.options) - 1
    return true[0] if enough and len(true) == 1 else None


def _two_answers(reply: Reply) -> str | None:
    """Lines that give different answers, without a word on which is meant, give none."""
    if phrases.BARE_LETTERS.fullmatch(reply.text) and len({mark.letter for mark in reply.marks}) > 1:
        return NONE
    given = {match["letter"].upper(): match["final"] for match in phrases.ANSWER_LINE.finditer(reply.text)}
    return NONE if len(given.keys() & reply.options.keys()) > 1 and not any(given.values()) else None


def _undecided(reply: Reply) -> str | None:
    """Several options, and at the end a sentence that leaves the answer open."""
    left = None if REFUSING.search(reply.text) else phrases.UNDECIDED.search(reply.text)
    later = any(left and mark.start >= left.end() for mark in reply.marks)
    return NONE if left and not later and len({mark.letter for mark in reply.marks}) != 1 else None


def _opening(reply: Reply) -> str | None:
    """The text opens with a letter, unless it rejects it, or weighs several options in turn and then decides."""
    text, marks, _ = reply
    first = next((mark for mark in marks if mark.by_letter), None)
    if (
        first is None
        or not phrases.PREFACE.fullmatch(text[: first.start])
        or phrases.NEARLY.search(text[: first.start])
    ):
        return None
    if not (first.followed_by_words or phrases.DELIMITED.match(text, first.end)):
        return None
    if phrases.NAMES.match(text, first.end) and _breaks_off(text) and not _is_judged_right(text, first):
        return None
    rejected = "no" in (_sign_at_once(reply, first), _sign_before(text, first)) or any(
        phrases.DENIED.match(text, end) for end in _ends(reply, first)
    )
    if rejected or phrases.WITHDRAWN.match(text, first.end) or _outweighs(reply, first):
        return None
    if phrases.FOREIGN_NO.match(text, first.end):
        return None
    # 'The answer is A' is a statement, and the last statement decides.
    stated = _statement(reply) if re.search(r"[^\W\d]", text[: first.start]) else None
    return first.letter if stated is None else stated


def _outweighs(reply: Reply, first: Mark) -> bool:
    """Whether what follows counts more than the letter that opens the text."""
    if _final(reply) or _lists_options(reply):
        return True
    decided = _statement(reply) or _weighed(reply)
    if decided and len({mark.letter for mark in _heads(reply)}) > 1:
        return True
    # 'A is a possibility, but …'
    subject = next((match for end in _ends(reply, first) if (match := phrases.SUBJECT.match(reply.text, end))), None)
    if not subject or (_is_judged_right(reply.text, first) and not subject[0].endswith("would")):
        return False
    return any(rule(reply) not in {None, first.letter} for rule in (_statement, _concluding, _verdict, _last_word))


def _lists_options(reply: Reply) -> bool:
    """Whether lines, or at least three clauses, begin with the letters of the first options, in order."""
    listed = [match[1] for match in islice(phrases.LISTED.finditer(reply.text), 2)]
    inline = [match[1] for match in islice(phrases.INLINE.finditer(reply.text), 3)]
    options = list(reply.options)
    in_turn = len(inline) > phrases.FEW and inline[0] == options[0] and inline == sorted({*inline})
    # In '(A). B gives U waves; C does not' the first letter is the answer.
    in_turn = in_turn and not phrases.ANSWER_FIRST.match(reply.text)
    return (len(listed) > 1 and listed == options[:2]) or in_turn


def _announces_list(reply: Reply) -> bool:
    """Whether the text says that it goes through the options, and begins with the first: it may have been cut off."""
    start = phrases.LISTED.search(reply.text)
    if start is None or start[1] != next(iter(reply.options), ""):
        return False
    return phrases.LISTING.search(reply.text[max(0, start.start() - 200) : start.start()].rstrip()) is not None


def _heads(reply: Reply) -> Iterator[Mark]:
    """Yield the letters at the start of a line; "A:" may also announce an answer."""
    text, marks, _ = reply
    places: set[int] = set()
    seen = 0
    for mark in marks:
        if not places or "\n" in text[seen : mark.start]:
            line = text.rfind("\n", 0, mark.start) + 1
            places = {end_of_match(start, text, line, len(text)) for start in (phrases.INDENT, phrases.LINE_START)}
        seen = mark.start
        if (
            mark.by_letter
            and mark.start in places
            and (mark.followed_by_words or phrases.LINE_END.match(text, mark.end))
        ):
            yield mark


def _line(reply: Reply) -> str | None:
    """A single letter begins a line, which neither begins a list of the options nor rejects it."""
    if _announces_list(reply):
        return None
    return _single_letter(mark for mark in _heads(reply) if not _is_denied(reply, mark))


def _last_option(reply: Reply, *patterns: re.Pattern[str]) -> str | None:
    """The last option that follows one of the patterns: a response that thinks aloud decides at the end."""
    last = _last_mark(reply, *patterns)
    return last.letter if last else None


def _last_mark(reply: Reply, *patterns: re.Pattern[str]) -> Mark | None:
    for mark in reversed(reply.marks):
        if any(_is_led_to(reply.text, mark, pattern) for pattern in patterns) and not _has_rival(reply, mark):
            return mark
    return None


def _has_rival(reply: Reply, mark: Mark) -> bool:
    """Whether an option's words are one of two alternatives: 'the diagnosis is angina or asthma'."""
    after = islice(reply.marks, bisect_left(reply.marks, mark.end, key=lambda later: later.start), None)
    other = next((later for later in after if later.letter != mark.letter), None)
    return bool(
        not mark.by_letter
        and other
        and not other.by_letter
        and phrases.RIVAL.fullmatch(reply.text[mark.end : other.start])
    )


def _is_led_to(text: str, mark: Mark, pattern: re.Pattern[str]) -> bool:
    """Whether a pattern leads to a mark, which is meant as the answer and not taken back."""
    before = text[max(0, mark.start - phrases.LED) : mark.start]
    led = pattern.search(before)
    if not led or phrases.WITHDRAWN.match(text, mark.end):
        return False
    if (inner := phrases.INNER.match(led[0])) and holds(before[: led.start() + inner.end()], "") != "yes":
        return False
    if holds(before[: led.start()], text[mark.end : mark.end + phrases.LED]) != "yes":
        return False
    contrasts = phrases.CONTRAST.match(before, led.start()) or phrases.COUNTERED.search(before)
    return bool(contrasts) or not phrases.UNMEANT.search(before[: led.start()])


def _final(reply: Reply) -> str | None:
    return _last_option(reply, phrases.FINAL)


def _statement(reply: Reply) -> str | None:
    """The last option that is stated to be the answer, unless a conclusion counters it: 'I'd say A, but …, so B'."""
    stated = _last_mark(reply, *phrases.CLAIMS)
    if stated is None:
        return None
    line = reply.text[: stated.start]
    if phrases.SUPPOSING.search(line) and phrases.WOULD.search(line, max(0, stated.start - phrases.NEAR)):
        earlier = reply._replace(marks=[mark for mark in reply.marks if mark.start < stated.start])
        stated = _last_mark(earlier, *phrases.CLAIMS) or stated
    for mark in reversed(_concluded(reply)):
        if mark.start > stated.start and mark.letter != stated.letter:
            return mark.letter if phrases.COUNTER.search(reply.text, stated.end, mark.start) else stated.letter
    return stated.letter


def _concluding(reply: Reply) -> str | None:
    """The last letter to which a conclusion leads and with which its clause ends: 'so B.', 'that leaves (C)'."""
    concluded = _concluded(reply)[-1:]
    judged = [mark for mark in reply.marks if _is_judged_right(reply.text, mark)][-1:]
    if not concluded or any(mark.start > concluded[0].start and mark.letter != concluded[0].letter for mark in judged):
        return None
    return concluded[0].letter


def _concluded(reply: Reply) -> list[Mark]:
    """Return the letters to which a conclusion leads, but not the first of a list that the text announces."""
    announced = _announces_list(reply)
    listed = set(_heads(reply)) if announced else set()
    return [
        mark
        for mark in reply.marks
        if mark not in listed
        and not (announced and mark.followed_by_words)
        and _ends_clause(reply.text, mark)
        and _is_led_to(reply.text, mark, phrases.CONCLUDING)
        and _sign_at_once(reply, mark) != "no"
    ]


def _ends_clause(text: str, mark: Mark) -> bool:
    """Whether a capital letter, with the option's words if these follow, ends its clause."""
    capital = mark.by_letter and text[mark.start].isupper()
    return capital and (mark.followed_by_words or phrases.CLAUSE_END.match(text, mark.end) is not None)


def _verdict(reply: Reply) -> str | None:
    """'B is correct', stated about one letter only."""
    return _single_letter(mark for mark in reply.marks if _is_judged_right(reply.text, mark))


def _is_judged_right(text: str, mark: Mark) -> bool:
    return (
        mark.by_letter
        and (phrases.VERDICT.match(text, mark.end) or phrases.FITS.match(text, mark.end)) is not None
        and phrases.SENTENCE_START.search(text[max(0, mark.start - phrases.NEAR) : mark.start]) is not None
        and not phrases.WITHDRAWN.match(text, mark.end)
        and not phrases.IF_OTHER.match(text, mark.end)
        # The letter is the subject here, as 'the answer' is elsewhere.
        and holds(f"{text[max(0, mark.start - phrases.LED) : mark.start]}the ", text[mark.end :]) == "yes"
        and not (
            phrases.WOULD.match(text, mark.end + 1)
            and phrases.UNMEANT.search(text[max(0, mark.start - phrases.LED) : mark.start])
        )
    )


def _weighed(reply: Reply) -> str | None:
    """Options weighed one by one, of which one alone is called right, and another wrong."""
    signs: dict[str, set[str]] = {"yes": set(), "no": set()}
    letters = [mark for mark in reply.marks if mark.by_letter]
    if not letters:
        for mark in reply.marks:
            in_row = phrases.ROW.match(reply.text, mark.end) and _sign_after(reply.text, mark.end, mark.end, mark.start)
            signs.get(in_row or _sign_at_once(reply, mark) or "", set()).add(mark.letter)
    ticks = [_sign_before(reply.text, mark) for mark in letters]
    if ticks[:1] != [None] and {"yes", "no"} <= set(ticks):
        ticked = {mark.letter for mark, tick in zip(letters, ticks, strict=True) if tick == "yes"}
        return ticked.pop() if len(ticked) == 1 else None
    for index, mark in enumerate(letters):
        after = letters[index + 1].start if index + 1 < len(letters) else len(reply.text)
        if sign := _sign_after(reply.text, mark.end, min(after, mark.end + phrases.WEIGHED), mark.start):
            signs[sign].add(mark.letter)
    right = signs["yes"] - signs["no"]
    return right.pop() if len(right) == 1 and signs["no"] else None


def _eliminated(reply: Reply) -> str | None:
    """All options but one, which is named nowhere, are denied."""
    letters = [mark for mark in reply.marks if mark.by_letter] or reply.marks
    left = reply.options.keys() - {mark.letter for mark in letters}
    if len(left) != 1 or len(letters) < phrases.FEW or not all(_is_denied(reply, mark) for mark in letters):
        return None
    (letter,) = left
    return None if letter in phrases.CAPITAL.findall(reply.text) else letter


def _sign_after(text: str, start: int, end: int, letter: int) -> str | None:
    """What the text after a letter makes of it; in a row of a table, the last cell that judges."""
    if row := phrases.ROW.match(text, start):
        signs = (phrases.SIGN.match(cell.strip()) for cell in reversed(row["cells"].split("|")))
        if sign := next(filter(None, signs), None):
            return sign.lastgroup
    elif phrases.STOP.match(text, start) and not phrases.SENTENCE_START.search(
        text[max(0, letter - phrases.NEAR) : letter]
    ):
        return None
    sign = phrases.SIGN.search(text, start, end)
    return sign.lastgroup if sign else None


def _sign_at_once(reply: Reply, mark: Mark) -> str | None:
    """What the text makes of an option, "yes" or "no", directly after its letter, or after its words."""
    ends = _ends(reply, mark)
    for end in ends:
        place = end_of_match(phrases.AT_ONCE, reply.text, end, end + phrases.WEIGHED)
        # 'D: No tests' does not reject D, if these are its words.
        sign = phrases.SIGN.match(reply.text, place) if end == ends[-1] or place >= ends[-1] else None
        # 'Angina; not asthma' does not reject angina.
        if sign and not (sign[0].lower() == "not" and re.search(r"[,;(–—]", reply.text[end:place])):
            return sign.lastgroup
    return None


def _ends(reply: Reply, mark: Mark) -> list[int]:
    """Where a letter ends, and where the option's words after it end."""
    if not mark.followed_by_words:
        return [mark.end]
    following = islice(reply.marks, bisect_left(reply.marks, mark.end, key=lambda later: later.start), None)
    return [mark.end, *islice((later.end for later in following if not later.by_letter), 1)]


def _sign_before(text: str, mark: Mark) -> str | None:
    """What a tick, cross or box before an option makes of it."""
    tick = phrases.TICK.search(text[max(0, mark.start - 12) : mark.start])
    return tick.lastgroup if tick else None


def _ranked(reply: Reply) -> str | None:
    """The first of a ranking: 'C > A > B', or a list in order of likelihood."""
    items = _items(reply)
    start = min((place for place, _, _ in items), default=0)
    introduced = phrases.RANKS.search(reply.text[:start].rstrip().rpartition("\n")[2])
    if len(items) > phrases.FEW and (introduced or any(medal for _, _, medal in items)):
        backwards = introduced and phrases.REVERSED.search(introduced.string)
        return items[-1 if backwards else 0][1]
    if ranking := phrases.RANKING.search(reply.text):
        return ranking[1] if ranking[1] in reply.options else None
    chains = [
        first.letter
        for first, second in zip(reply.marks, reply.marks[1:], strict=False)
        if re.fullmatch(r"[)\s\"']*>{1,3}[(\s\"']*", reply.text[first.end : second.start])
    ]
    return chains[0] if chains else None


def _items(reply: Reply) -> list[tuple[int, str, bool]]:
    """Return the place of each item of a numbered list, the option that it names first, and whether it has a medal."""
    places = {mark.start: mark for mark in reversed(reply.marks)}
    items = [
        (match, places.get(match.end()) or places.get(match.end() + 1)) for match in phrases.ITEM.finditer(reply.text)
    ]
    return [(match.start(), mark.letter, bool(match["medal"])) for match, mark in items if mark]


def _tabled(reply: Reply) -> str | None:
    """The one option with a yes in the column of a table whose head asks for a verdict, or that alone has ticks."""
    rows = [re.sub(r"^\s*\||\|\s*$", "", line).split("|") for line in reply.text.split("\n") if "|" in line]
    lines = [[cell.strip() for cell in row] for row in rows]
    heads = (
        [at for at, cell in enumerate(lines[0]) if phrases.VERDICTS.search(cell)] if len(lines) > phrases.FEW else []
    )
    if not heads:
        return None
    signs: dict[str, set[str]] = {"yes": set(), "no": set()}
    for line in lines[1:]:
        cell = line[heads[-1]] if len(line) > heads[-1] else ""
        others = [other for at, other in enumerate(line) if at != heads[-1]]
        letters = [head["letter"] for other in others if (head := phrases.CELL.match(other))]
        letters += [mark.letter for mark in find_marks(" | ".join(others), reply.options)]
        sign = phrases.SIGN.match(cell)
        right = sign.lastgroup == "yes" if sign else phrases.YES_CELL.match(cell)
        signs["yes" if right else "no"].update(letters[:1])
    return next(iter(signs["yes"])) if len(signs["yes"]) == 1 and signs["no"] else None


def _likeliest(reply: Reply) -> str | None:
    """The letter with the largest share, where most options have one."""
    if any(re.match(r"\W*\d|.*%", words) for words in reply.options.values()):
        return None
    shares: dict[str, float] = {}
    ends = {mark.start: mark.end for mark in reply.marks if not mark.by_letter}
    for mark in reply.marks:
        place = end_of_match(phrases.AT_ONCE, reply.text, mark.end, mark.end + phrases.WEIGHED)
        place = end_of_match(phrases.AT_ONCE, reply.text, ends.get(place, place), place + 2 * phrases.WEIGHED)
        share = phrases.SHARE.match(reply.text, place) if mark.by_letter else None
        if share := share or phrases.SHARE_OF.match(reply.text, mark.end):
            shares.setdefault(mark.letter, float(share[1]))
    best = [letter for letter, share in shares.items() if share == max(shares.values())]
    return best[0] if len(shares) > len(reply.options) / 2 and len(best) == 1 else None


def _last_word(reply: Reply) -> str | None:
    """A letter alone is the last sentence or line, but not the next of a list that was cut off."""
    text = reply.text
    last = next((mark for mark in reversed(reply.marks) if mark.by_letter), None)
    if (
        last is None
        or re.search(r"\w|\?", phrases.AFTER_LAST.sub("", text[last.end :], count=1))
        or not phrases.NEW_SENTENCE.search(text[: last.start][-phrases.NEAR :])
        or phrases.UNMEANT.search(text[: last.start][-4 * phrases.NEAR :])
    ):
        return None
    order = "".join(reply.options)
    heads = {mark.letter for mark in _heads(reply) if mark != last}
    listed = last.letter not in heads and any(order.find(head) + 1 == order.find(last.letter) for head in heads)
    is_next = (
        listed
        and not text[last.end :].strip(" )")
        and not phrases.ANNOUNCED.search(text[: last.start][-phrases.NEAR :])
    )
    return None if is_next else last.letter


def _lone_letter(reply: Reply) -> str | None:
    """A short text names no other option, and ends a clause with the letter."""
    text = reply.text
    if len(text) > phrases.SHORT / 2 or _announces_list(reply):
        return None
    if _breaks_off(text):
        return None
    capitals = {match[0] for match in phrases.CAPITAL.finditer(text)} & set(reply.options) - {"A", "I"}
    if len({mark.letter for mark in reply.marks} | capitals) != 1:
        return None
    return _single_letter(
        mark
        for mark in reply.marks
        if (
            _ends_clause(text, mark)
            or (len(text) <= phrases.SHORTEST and phrases.CAPITAL.findall(text) == [mark.letter])
        )
        and (not phrases.UNMEANT.search(text[: mark.start].rstrip(" :(")) or phrases.CONFIDENCE.search(text))
        and not text.startswith(("\n", ":"), mark.end)
        and not _is_denied(reply, mark)
        and not phrases.FOREIGN_DENIAL.search(_clause(text, mark))
        and not phrases.FOREIGN_NO.match(text, mark.end)
        and not any(end < len(text) and phrases.UNSETTLED.match(text, end) for end in _ends(reply, mark))
    )


def _clause(text: str, mark: Mark) -> str:
    """Give the clause of a letter, without the letter."""
    before, after = re.split(r"[.!?;:\n]", text[: mark.start])[-1], re.split(r"[.!?;:,\n]", text[mark.end :])[0]
    return f"{before} {after}"


def _opening_words(reply: Reply) -> str | None:
    """The text opens with the words of an option, and does not reject them."""
    text = reply.text
    for mark in _first_marks(reply.marks):
        before = text[: mark.start]
        if mark.by_letter or phrases.ASKING.match(text, mark.end) or not phrases.WORDS_PREFACE.fullmatch(before):
            continue
        plain = phrases.PREFACE.fullmatch(before) is not None
        if _is_rivalled(reply, mark, plain=plain) or (not plain and _breaks_off(text)):
            return None
        if not phrases.DENIED.match(text, mark.end) and _sign_at_once(reply, mark) != "no":
            return mark.letter
    return None


def _is_rivalled(reply: Reply, mark: Mark, *, plain: bool) -> bool:
    """Whether the words of another option, which is not denied, are set beside those that open the text."""
    other = next((later for later in reply.marks if later.start > mark.start and later.letter != mark.letter), None)
    if other is None:
        return False
    between = reply.text[mark.end : other.start]
    rivals = (
        phrases.SUBJECT.match(reply.text, mark.end)
        or phrases.COUNTER.search(between)
        or not (plain or re.search(r"[.;\n]", between))
    )
    return phrases.EITHER.fullmatch(between) is not None or (bool(rivals) and not _is_denied(reply, other))


def _mention(reply: Reply) -> str | None:
    """Exactly one letter is named as an option ("option B") or in brackets, and not rejected."""
    text = reply.text
    if _announces_list(reply):
        return None
    named = [
        mark
        for mark in reply.marks
        if mark.by_letter
        and (
            phrases.NAMED.search(text[max(0, mark.start - phrases.NEAR) : mark.start])
            or (text[mark.start - 1 : mark.start] == "(" and text[mark.end : mark.end + 1] == ")")
        )
        and not _is_denied(reply, mark)
    ]
    chosen = _single_letter(named)
    # Where another letter stands unrejected, as in 'C comes next; a scan (B) may follow', it may be the one meant.
    rivals = (mark for mark in reply.marks if mark.by_letter and mark.letter != chosen and not _is_denied(reply, mark))
    return None if any(_is_unsettled(reply, mark) for mark in named) or any(rivals) else chosen


def _is_unsettled(reply: Reply, mark: Mark) -> bool:
    """Whether the text breaks off after an option, before it says what it makes of the option."""
    if not mark.by_letter and mark.end == len(reply.text):
        return False
    broken = _breaks_off(reply.text) and _sign_at_once(reply, mark) != "yes"
    return any(
        phrases.UNSETTLED.match(reply.text, end) or (broken and phrases.NAMES.match(reply.text, end))
        for end in _ends(reply, mark)
    )


def _words(reply: Reply) -> str | None:
    """A short text names exactly one option by its words, and does not reject them."""
    text = reply.text
    if len(text) > phrases.SHORT or _announces_list(reply):
        return None
    named = [mark for mark in reply.marks if _is_named(reply, mark)]
    if _breaks_off(text) and not any(_sign_at_once(reply, mark) == "yes" for mark in named):
        return None
    if (
        any(phrases.BETWEEN.search(text[max(0, mark.start - phrases.NEAR) : mark.start]) for mark in named)
        or any(_is_unsettled(reply, mark) for mark in named)
        or any(phrases.EITHER_END.search(reply.text[max(0, mark.start - phrases.NEAR) : mark.start]) for mark in named)
    ):
        return None
    return _single_letter(named)


def _is_named(reply: Reply, mark: Mark) -> bool:
    """Whether the text names an option by its words, and neither asks for it nor denies it."""
    return bool(
        not (mark.by_letter or phrases.ASKING.match(reply.text, mark.end))
        and (mark.distinctive or phrases.RESULT.search(reply.text[max(0, mark.start - phrases.NEAR) : mark.start]))
        and not _is_denied(reply, mark)
        and not _shares_denial(reply, mark)
        and not phrases.CONDITIONAL.match(reply.text, mark.end)
    )


def _concluded_words(reply: Reply) -> str | None:
    """A conclusion in the last sentence leads to the words of one option: "hence pneumothorax"."""
    text = reply.text
    if _breaks_off(text):
        return None
    last = max((match.end() for match in phrases.SENTENCE.finditer(text)), default=0)
    named = [mark for mark in reply.marks if mark.start >= last and not _is_denied(reply, mark)]
    leads = {
        mark: lead.start()
        for mark in named
        if not mark.by_letter
        and (lead := phrases.CONCLUDED_WORDS.search(text, max(last, mark.start - phrases.WEIGHED), mark.start))
    }
    named = [mark for mark in named if leads and mark.start >= min(leads.values())]
    if any(_is_unsettled(reply, mark) or phrases.IF_OTHER.match(text, mark.end) for mark in named):
        return None
    return _single_letter(named)


def _position(reply: Reply) -> str | None:
    """An option is named by its place, in the list of the reply or else of the question, after any other names."""
    if "?" in reply.text:
        return None
    first = max((mark.start for mark in reply.marks if mark.by_letter), default=0)
    first = max(first, min((mark.start for mark in reply.marks), default=0))
    own = [letter for _, letter, _ in _items(reply)]
    order = own if len({*own}) == len(own) > phrases.FEW else list(reply.options)
    places = {
        _place(match["place"].lower())
        for pattern in phrases.POSITIONS
        for match in pattern.finditer(reply.text)
        if match.start() >= first
        and not phrases.UNMEANT.search(reply.text[max(0, match.start() - phrases.LED) : match.start()])
    }
    index = places.pop() if len(places) == 1 else len(order)
    return order[index] if -len(order) <= index < len(order) else None


def _place(name: str) -> int:
    """Return the index, from the end if negative, that an ordinal or 'number two' names."""
    if name in phrases.ORDINALS:
        return phrases.ORDINALS.index(name)
    if name in {"last", "top"}:
        return -1 if name == "last" else 0
    number = fold(name.removeprefix("number").removeprefix("no.").strip("# ").replace("one", "1"))
    return int(number) - 1 if number.isdigit() else -2


def _covered(reply: Reply) -> str | None:
    """The clauses of a short text that assert something have the words of one option, in whatever order."""
    text = reply.text
    if len(text) > phrases.SHORT or _announces_list(reply) or _breaks_off(text):
        return None
    contents = {letter: _content(words) for letter, words in reply.options.items()}
    covered: dict[bool, set[str]] = {False: set(), True: set()}
    start = 0
    for end in [*(match.end() for match in phrases.CLAUSE_BREAK.finditer(text)), len(text)]:
        clause = text[start:end]
        asserts = phrases.ASSERTING.search(clause) is not None
        if not phrases.UNASSERTED.search(clause):
            marks = [mark for mark in reply.marks if start <= mark.start < end and not mark.by_letter]
            hits = {mark.letter for mark in marks if _is_named(reply, mark) and not _is_unsettled(reply, mark)}
            if not marks and (asserts or clause == text):
                hits = {letter for letter in contents if _has_content(clause, letter, contents)}
            covered[asserts] |= hits
        start = end
    rivals = {mark.letter for mark in reply.marks if mark.by_letter and not _is_denied(reply, mark)}
    for hits in (covered[True] | covered[False], covered[True]):
        if len(hits) == 1 and rivals <= hits:
            return hits.copy().pop()
    return None


def _content(words: str) -> set[str]:
    """Return the stems of an option's words that matter; none if these depend on their order."""
    stems = _stems(words)
    return set() if len(stems & GENERAL) > 1 else stems


def _stems(text: str) -> set[str]:
    """Return the stems of a text's words that matter; a letter or number belongs to the word before: 'type A'."""
    words = [token.word for token in tokens_of(text)]
    joined = {
        f"{first} {second}"
        for first, second, third in zip(words, words[1:], [*words[2:], ""], strict=False)
        if (len(second) == 1 and not third[:1].isdigit()) or (len(first) == 1 and second[0].isdigit())
    }
    return joined | {_stem(word) for word in words if len(word) > 1 and word not in phrases.FILLERS}


def _has_content(clause: str, letter: str, contents: Mapping[str, set[str]]) -> bool:
    """Whether a clause has an option's words but for one of four, and one among them that no other option has."""
    own = contents[letter]
    shared = own & _stems(clause)
    if own & REVERSING > shared:
        return False
    others = set().union(*(stems for other, stems in contents.items() if other != letter))
    tells = any(len(word) >= DISTINCTIVE for word in shared - others - GENERAL if word[0].isalpha())
    missing = own - shared
    enough = len(missing) <= len(own) // DISTINCTIVE or (
        len(missing) == 1 and len(own) > phrases.FEW and missing <= others
    )
    return tells and enough and not any(word[0].isdigit() for word in missing)


def _stem(word: str) -> str:
    """Return a word without the ending by which it is another part of speech: dissect(ion), increase(d)."""
    return phrases.DOUBLED.sub(r"\1", phrases.ENDING.sub("", word)) if len(word) > DISTINCTIVE + 1 else word


GENERAL = frozenset(map(_stem, phrases.GENERAL))
REVERSING = frozenset(map(_stem, phrases.REVERSING))


def _part(reply: Reply) -> str | None:
    """A short text, or its last sentence, is a part of one option's words, or its initials, and names no other."""
    text = reply.text
    if len(text) > phrases.SHORT or "?" in text or any(not _is_denied(reply, mark) for mark in reply.marks):
        return None
    last = max((match.end() for match in phrases.SENTENCE.finditer(text)), default=0)
    result = max((match.end() for match in phrases.RESULT_OF.finditer(text, last)), default=last)
    ends = [phrases.CLAUSE.fullmatch(text[start:].strip(" .!")) for start in (last, result)]
    clauses = [phrases.CLAUSE.match(text), *(ends if not _lists_options(reply) else [])]
    return next((letter for clause in clauses if clause and (letter := _part_of(clause[0], reply.options))), None)


def _part_of(clause: str, options: Mapping[str, str]) -> str | None:
    """The option whose words include those of a clause, with a word that no other option has."""
    stems = {_stem(token.word) for token in tokens_of(clause) if token.word not in phrases.FILLERS}
    abbreviations = {word.lower() for word in re.findall(r"\b[A-Z]{2,5}\b", clause)}
    shares = {
        letter: {_stem(token.word) for token in tokens_of(words)} | (abbreviations & _initials(words))
        for letter, words in options.items()
    }
    fitting = [letter for letter, words in shares.items() if stems and stems <= words]
    if len(fitting) != 1:
        return None
    share = shares[fitting[0]]
    others = set().union(*(words for letter, words in shares.items() if letter != fitting[0]))
    own = {
        word
        for word in stems - others - GENERAL
        if len(word) >= DISTINCTIVE or word in abbreviations or (word[0].isdigit() and len(share) < DISTINCTIVE - 1)
    }
    return fitting[0] if own and not (share & REVERSING) - stems else None


def _initials(words: str) -> set[str]:
    """Return the initials of each run of an option's words."""
    first = "".join(word[0] for word in re.findall(r"[^\W\d_]+", words)).lower()
    return {first[start:end] for start in range(len(first)) for end in range(start + 2, min(len(first), start + 5) + 1)}


def _several(reply: Reply) -> str | None:
    """The answer is several letters."""
    return NONE if phrases.JOINT_ANSWER.search(reply.text) else None


def _no_such_option(reply: Reply) -> str | None:
    """The answer is a letter that no option has."""
    stated = [match["letter"] for match in phrases.NO_SUCH_OPTION.finditer(reply.text)]
    return NONE if stated and stated[-1] not in reply.options else None


def _breaks_off(text: str) -> bool:
    """Whether a text was cut off in the middle of a sentence."""
    return phrases.BROKEN_OFF.search(text[-phrases.NEAR :]) is not None


def _first_marks(marks: Sequence[Mark]) -> list[Mark]:
    return [mark for mark in marks if mark.start == marks[0].start]


def _is_denied(reply: Reply, mark: Mark) -> bool:
    text = reply.text
    before = text[max(0, mark.start - 200) : mark.start]
    return bool(
        (phrases.NEGATION.search(before) and not phrases.COUNTERED.search(before))
        or phrases.DENIED.match(text, mark.end)
        or phrases.WITHDRAWN.match(text, mark.end)
        or "no" in (_sign_at_once(reply, mark), _sign_before(text, mark))
    )


def _shares_denial(reply: Reply, mark: Mark) -> bool:
    """Whether the option is joined to one before it that is denied: 'vaccinated against A and B'."""
    before = (other for other in reply.marks if other.end <= mark.start and other.letter != mark.letter)
    return any(
        phrases.EITHER.fullmatch(reply.text[other.end : mark.start]) and _is_denied(reply, other) for other in before
    )


def _single_letter(marks: Iterable[Mark]) -> str | None:
    letters = {mark.letter for mark in marks}
    return letters.pop() if len(letters) == 1 else None


RULES: tuple[tuple[str, Callable[[Reply], str | None]], ...] = (
    ("alone", _alone),
    ("changed", _changed),
    ("true_false", _true_false),
    ("two_answers", _two_answers),
    ("undecided", _undecided),
    ("likeliest", _likeliest),
    ("opening", _opening),
    ("final", _final),
    ("statement", _statement),
    ("no_such_option", _no_such_option),
    ("position", _position),
    ("ranked", _ranked),
    ("tabled", _tabled),
    ("weighed", _weighed),
    ("eliminated", _eliminated),
    ("concluding", _concluding),
    ("verdict", _verdict),
    ("last_word", _last_word),
    ("line", _line),
    ("several", _several),
    (REFUSAL, lambda reply: NONE if REFUSING.search(reply.text) else None),
    (
        "no_option",
        lambda reply: NONE if phrases.NONE_OF_THEM.match(phrases.STRICT_PREFACE.sub("", reply.text, count=1)) else None,
    ),
    ("opening_words", _opening_words),
    ("mention", _mention),
    ("concluded_words", _concluded_words),
    ("words", _words),
    ("lone_letter", _lone_letter),
    ("part", _part),
    ("covered", _covered),
)
"""The rules by name, in the order in which they are tried; an empty letter means that no option is chosen."""
