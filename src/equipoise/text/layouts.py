"""Replies that are laid out as JSON, a table or a ranked list: the one diagnosis that the layout puts first."""

import re
from collections.abc import Iterator, Sequence
from itertools import count
from operator import itemgetter
from typing import NamedTuple

from equipoise.text.conclusions import DECIDES, HEADING
from equipoise.text.naming import VERB
from equipoise.text.patterns import caseless

Value = str | None | list["Value"] | dict[str, "Value"]

MARKS_OF_JSON = re.compile(
    r'"(?:[^"\\]|\\.)*+"?|'
    r"'(?:[^'\\\n]|(?<=\w)'(?=\w))*+'?|[{}\[\]:,]|[^\s{}\[\]:,\"']+",
    re.DOTALL,
)
OPENS = re.compile(r"\{\s*[\"'][^\"'\n]{1,80}[\"']\s*:|\[\s*(?:\{\s*)?\"[^\"\n]{1,80}\"\s*[:,\]]")
"""The start of an object or a list of JSON."""
KEY_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
ANSWERS = frozenset({"diagnosis", "answer", "dx", "impression", "conclusion", "prediction", "condition", "disease"})
LISTS = frozenset({"diagnoses", "differential", "differentials", "conditions", "hypotheses", "candidates", "ranking"})
NAMES = frozenset(
    "condition diagnosis disease disorder dx final label main name primary term text title value".split()  # noqa: SIM905
)
FINAL = frozenset({"final", "revised", "corrected", "updated"})
NOT_FINAL = frozenset(
    """
    alternative alternatives code comorbid confidence differential differentials excluded explanation history icd
    initial next other past previous prior probability rationale reason reasoning rejected ruled score secondary second
    unlikely step notes
    """.split()  # noqa: SIM905  (a list of words, a line of quotation marks shorter)
)
"""Words of a key whose value is not the answer."""

TAGGED = caseless(r"<(?P<tag>(?:final_?)?(?:answer|diagnosis))>(?P<answer>[^<]{1,2000})</(?P=tag)>")
LIST_TAG = caseless(r"<(?P<item>li\b)[^<>]{0,80}>|</?(?:li|ol|ul)\b[^<>]{0,80}>")
ROW = re.compile(r"^[^|\n]*\|[^\n]*$|^[^\t\n]+\t[^\n]*$", re.MULTILINE)
RULE = re.compile(r"[\s|:\-–—+=]+")
NAME_COLUMN = caseless(r"diagnos|condition|cause|disease|disorder|hypothes|candidate|possibilit|explanation|problem")
RANK_COLUMN = caseless(r"^\W*(?:rank\w*|no\.?|number|order|position|priority|place)\W*$|^\s*#?\s*$")
SHARE_COLUMN = caseless(
    r"probab|likel|%|percent|chance|confiden|certain|score|weight|odds|estimate|share|verdict|status|plausib|rating"
    r"|^fit$|^p$"
)
NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
WORDS = (
    (caseless(r"\b(?:exclu\w+|ruled out|very (?:low|unlikely)|least|lowest|negligible|minimal|remote|none)\b"), 1),
    (caseless(r"\b(?:low|less|unlikely|improbable|small|weak|poor)\b"), 2),
    (caseless(r"\b(?:very (?:high|likely|strong)|most|highest|leading|top|best)\b"), 5),
    (caseless(r"\b(?:moderate|medium|intermediate|possible|fair|plausible)\b"), 3),
    (caseless(r"\b(?:high|likely|probable|strong|large|good)\b"), 4),
)
"""Words for how likely a diagnosis is, in the order in which they are tried, from 1 to 5."""

ITEM = re.compile(
    r"(?:(?:^|(?<=[\s:;,.]))(?:\#[ ]?|(?:No\.|rank|choice|option|diagnosis"
    r"|dx)[ ]?)?\(?(?P<number>\d{1,2})[.):](?=[ *_])|(?:^|(?<=[\s;,.]))\#(?P<hash>\d{1,2})\b[.:)]?"
    r"|^[ \t]*(?P<roman>I{1,3}|IV|V)[.)](?=\s)|^[ \t]*(?P<letter>[A-Ha-h])[.)](?=\s)|^[ \t]*(?P<bullet>[-*•–])(?=\s)"
    r"|(?:^|(?<=[\s;,.]))(?P<ordinal>1st|2nd|3rd|4th|first|second|third|fourth)(?:ly)?(?:[ ]choice|[ ]place)?:)[ \t]*",
    re.MULTILINE | re.IGNORECASE,
)
"""The mark of an item of a list: a number, a letter, a bullet or an ordinal."""
IN_ORDER = caseless(
    r"\b(?:most\W{1,3}(?:to )?least|in (?:descending |decreasing )?order|by likelihood|ranked"
    r"|from most likely)\b[^:\n.]{0,60}:[ ]?"
    r"(?P<name>[^,;:\n]{1,80})[,;][^\n]*"
)
"""A sentence that lists diagnoses by rank."""
REVERSED = caseless(r"\bleast to most\b|\b(?:ascending|increasing)\b")
CHAIN = re.compile(r"(?<=\w|\)|%)\s*(?:>{1,2}|≫|→|»)\s*(?!least\b)(?=\w)")
SHARED = re.compile(
    r"(?:^|(?<=[,;:])|(?<= or)|(?<= and))[ \t*•–\-\d.)#]{0,12}(?P<name>[A-Za-z][^:\n,;%|\d(]{0,80}?)[ ]?[*_]{0,3}"
    r"[ ]?[:(=–—\-]{0,3}[ ]?[*_~≈]{0,3}[ ]?(?P<share>\d{1,3}(?:\.\d+)?)[ ]?%[ \t)*_.]{0,8}(?=[,;\n]|$|\b(?:or|and)\b)",
    re.MULTILINE,
)
"""A diagnosis with its share, on a line or in a series."""
FIELD = re.compile(r"^[ \t]*(?P<key>[a-z][a-z_ ]{1,40}):[ \t]*(?P<value>\S[^\n]*)?$", re.MULTILINE)
"""A line of YAML."""
INTRODUCED = caseless(
    r"(?:differential|diagnos[ei]s|likel(?:y|ihood)|probab\w+|ranked|ranking|order|top|list|causes|possibilities)"
)
DISMISSED = caseless(
    r"\b(?:unlikely|improbable|less likely|not likely|least likely|excluded|ruled out|no evidence|does not fit"
    r"|doesn't fit|argues? against|rejected|not supported)\b|❌|✗|✘"
)
CHOSEN = caseless(r"\bmost (?:likely|probable)\b|✅|✓|✔")
DEEPEST = 50
"""Levels of nested JSON that are read."""
LONGEST_ITEM = 14
FEWEST_ITEMS = 2


class _Block(NamedTuple):
    """A layout's characters and the name that it puts first."""

    start: int
    end: int
    name: str


def lay_out(text: str) -> str:
    """Return a reply with its JSON, its table or its ranked list replaced by a heading with the diagnosis put first.

    A statement outside a table or list counts more: the layout is then left as it is.
    """
    numbers = count(1)
    text = LIST_TAG.sub(lambda tag: f"\n{next(numbers)}. " if tag["item"] else "\n", text)
    if tagged := TAGGED.search(text):
        text = f"Diagnosis: {tagged['answer']}"
    if (opened := OPENS.search(text)) is not None:
        found = _from_json(_parse(text[opened.start() :]))
        if found is not None:
            return f"Diagnosis: {found}" if re.search(r"\w", found) else ""
    fields = [(_rank(one["key"]), one["value"]) for one in FIELD.finditer(text)]
    answers = [(rank, value) for rank, value in fields if value and rank in {0, 1}]
    if len(fields) > 1 and answers:
        return f"Diagnosis: {min(reversed(answers), key=itemgetter(0))[1]}"
    for read in (_table, _shares, _ranked):
        block = read(text)
        if block is None:
            continue
        outside = text[: _introduction(text, block.start)], text[block.end :]
        stated = any(pattern.search(part) for pattern in (HEADING, DECIDES) for part in outside)
        if not stated and re.search(r"\w", block.name):
            return f"{outside[0]}\n\nDiagnosis: {block.name.strip(' .')}.\n\n{outside[1]}"
        if read is _table:
            # The head of a column is no heading of a statement.
            return "\n\n".join(outside)
    return text


def _parse(text: str) -> Value:
    """Parse the first value of a text that begins with JSON; what is cut off is closed, single quotes are quotes."""
    root: list[Value] = []
    stack: list[list[Value] | dict[str, Value]] = [root]
    keys: list[str | None] = [None]

    def add(value: Value) -> None:
        top = stack[-1]
        if isinstance(top, list):
            top.append(value)
        elif keys[-1] is None:
            keys[-1] = value if isinstance(value, str) else ""
        else:
            top[keys[-1]], keys[-1] = value, None

    for mark in MARKS_OF_JSON.findall(text):
        if mark in "{[" and len(stack) > DEEPEST:
            break
        if mark in "{[":
            inner: list[Value] | dict[str, Value] = {} if mark == "{" else []
            add(inner)
            stack.append(inner)
            keys.append(None)
        elif mark in "}]":
            stack.pop()
            keys.pop()
            if len(stack) == 1:
                break
        elif mark not in ":,":
            quoted = mark[0] in "\"'"
            add(None if mark in {"null", "None"} else mark.strip("\"'") if quoted else mark)
    return root[0] if root else None


def _from_json(value: Value) -> str | None:
    """Return the diagnosis of a parsed value: of its most final key, else the first of its list; None without one."""
    ranked: dict[int, str] = {}
    waiting: list[Value] = [value]
    if isinstance(value, list):
        return _first_of(value)
    while waiting:
        here = waiting.pop(0)
        if isinstance(here, list):
            waiting += [one for one in here if isinstance(one, dict)]
        if not isinstance(here, dict):
            continue
        for key, inner in here.items():
            rank = _rank(key)
            if rank is not None and (name := _first_of(inner)) is not None:
                ranked.setdefault(rank, name)
            elif not set(_words(key)) & NOT_FINAL:
                waiting.append(inner)
    return ranked[min(ranked)] if ranked else None


def _words(key: str) -> list[str]:
    return [word.lower() for word in KEY_WORD.findall(key)]


def _rank(key: str) -> int | None:
    """Return how final the answer under a key is, 0 the most; None if its value is not an answer."""
    words = set(_words(key))
    if words & FINAL and words & ANSWERS:
        return 0
    if (words & ANSWERS or words >= {"most", "likely"}) and not words & NOT_FINAL:
        return 1
    return 2 if words & LISTS and not words & (NOT_FINAL - LISTS) else None


def _first_of(value: Value) -> str | None:
    """Return the name that a value holds: a text, the name of an object, or that of a list's likeliest item."""
    if value is None:
        return ""
    if isinstance(value, str):
        # The letter of an option names no diagnosis.
        return value if len(value) > 1 else None
    if isinstance(value, dict):
        own = [inner for key, inner in value.items() if set(_words(key)) & NAMES and isinstance(inner, str)]
        return own[0] if own else None
    items = [(name, one) for one in value if (name := _first_of(one))]
    rows = [
        [str(inner) for key, inner in one.items() if SHARE_COLUMN.search(key)] if isinstance(one, dict) else []
        for _, one in items
    ]
    best = _likeliest([" ".join(row) for row in rows])
    ranks = [one.get("rank") if isinstance(one, dict) else None for _, one in items]
    if "1" in ranks:
        best = ranks.index("1")
    return items[best or 0][0] if items else None


def _likeliest(cells: Sequence[str]) -> int | None:
    """Return the first place of the largest share in numbers, words or marks; None if they cannot be compared."""
    numbers = [NUMBER.search(cell) for cell in cells]
    if cells and all(numbers):
        shares = [float(number[0].replace(",", ".")) for number in numbers if number]
    else:
        shares = [float(next((size for word, size in WORDS if word.search(cell)), 0)) for cell in cells]
        shares = shares if all(shares) else [float(len(re.findall(r"[+★⭐●✓]", cell))) for cell in cells]
    return shares.index(max(shares)) if any(shares) else None


def _table(text: str) -> _Block | None:
    """Read the first table with a column of diagnoses and at least one row."""
    lines = list(ROW.finditer(text))
    for place, line in enumerate(lines):
        header = _cells(line[0])
        column = next((at for at, cell in enumerate(header) if NAME_COLUMN.search(cell)), None)
        if column is None:
            continue
        rows, end = [], line.end()
        for below in lines[place + 1 :]:
            if text[end : below.start()].strip(" \t\r") != "\n":
                break
            end = below.end()
            if not RULE.fullmatch(below[0]) and len(cells := _cells(below[0])) > column:
                rows.append([*cells, *[""] * len(header)][: len(header)])
        if len(rows) >= FEWEST_ITEMS:
            name = rows[_first_row(header, rows, column)][column]
            return _Block(line.start(), end, name if len(name.split()) <= LONGEST_ITEM else "")
    return None


def _first_row(header: Sequence[str], rows: Sequence[Sequence[str]], column: int) -> int:
    """Return the row of the first rank, else of the largest share, else the first."""
    for at, cell in enumerate(header):
        if at != column and RANK_COLUMN.match(cell):
            ranks = [NUMBER.search(row[at]) for row in rows]
            if all(ranks):
                values = [float(rank[0]) for rank in ranks if rank]
                return values.index(min(values))
    for at, cell in enumerate(header):
        if at != column and SHARE_COLUMN.search(cell):
            best = _likeliest([row[at] for row in rows])
            if best is not None:
                return best
    return 0


def _cells(line: str) -> list[str]:
    cells = line.split("|") if "|" in line else line.split("\t")
    inner = cells[1 if not cells[0].strip() else 0 : -1 if not cells[-1].strip() else len(cells)]
    return [re.sub(r"[*_`]+", "", cell).strip() for cell in inner]


def _shares(text: str) -> _Block | None:
    """Read lines of diagnoses with their shares: the largest."""
    lines = list(SHARED.finditer(text))
    if len(lines) < FEWEST_ITEMS or text[lines[0].end() : lines[1].start()].strip(" ,;\norand"):
        return None
    inline = "\n" not in text[lines[0].end() : lines[1].start()]
    if inline and not all("(" in line[0] for line in lines) and not INTRODUCED.search(text):
        return None
    best = max(lines, key=lambda line: float(line["share"]))
    return _Block(lines[0].start(), lines[-1].end(), best["name"])


def _ranked(text: str) -> _Block | None:
    """Read a list of names: the item that is called most likely, else the first that is not dismissed."""
    if chain := CHAIN.search(text):
        start, end = text.rfind("\n", 0, chain.start()) + 1, text.find("\n", chain.end())
        first = re.sub(r"^[^:]*:", "", text[start : chain.start()])
        return _Block(start, len(text) if end < 0 else end, first)
    marks = list(_marks(text))
    if len(marks) < FEWEST_ITEMS:
        named = IN_ORDER.search(text)
        return _Block(named.start(), named.end(), named["name"]) if named else None
    ends = [mark.start() for mark in marks[1:]]
    last = re.search(r"\n|$", text[marks[-1].end() :])
    ends.append(marks[-1].end() + (last.start() if last else 0))
    items = [text[mark.end() : end].strip(" ,;\n*_") for mark, end in zip(marks, ends, strict=True)]
    start = _introduction(text, marks[0].start())
    introduced = INTRODUCED.search(text[start : marks[0].start()]) is not None
    if marks[0]["bullet"] and not introduced:
        return None
    names = [_item_name(item) for item in items]
    if not all(names[:2]) or (re.search(r"\w", text[:start]) and not introduced):
        return None
    chosen = [place for place, item in enumerate(items) if CHOSEN.search(item)]
    kept = [place for place, item in enumerate(items) if not DISMISSED.search(item)]
    if REVERSED.search(text, start, marks[0].start()):
        kept.reverse()
    return _Block(start, ends[-1], names[(chosen if len(chosen) == 1 else kept or [0])[0]] or "")


def _marks(text: str) -> Iterator[re.Match[str]]:
    """Yield the marks of the first list, all of one kind; numbers count from one."""
    kind, count = None, 0
    for mark in ITEM.finditer(text):
        own = mark.lastgroup
        first = own == "bullet" or (mark[own or 0].lower() in {"1", "a", "i", "1st", "first"})
        if kind is None and first:
            kind, count = own, 1
            yield mark
        elif own == kind:
            count += 1
            if own in {"number", "hash"} and mark[own] != str(count):
                return
            yield mark


def _introduction(text: str, start: int) -> int:
    """Return where the line that introduces a list begins: one that ends in a colon; else the list's own start."""
    before = text[:start].rstrip(" \t\n*_")
    first = max(before.rfind("\n"), before.rfind(". ")) + 1
    return first if before.endswith((":", ")")) or re.match(r"\s*(?:#|\*\*)", before[first:]) else start


def _item_name(item: str) -> str | None:
    """Return the name that an item begins with; None if it is a sentence."""
    name = re.split(r"\s+[–—-]+\s+|:\s|\n|\*\*|\.\s", item.strip("* "), maxsplit=1)[0].strip(" *_.")
    return None if not name or len(name.split()) > LONGEST_ITEM or VERB.search(name) else name
