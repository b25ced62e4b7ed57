"""Replies that are laid out as JSON, a table or a ranked list: the one diagnosis that the layout puts first."""

import re
from collections.abc import Sequence
from itertools import count
from operator import itemgetter
from typing import NamedTuple

from equipoise.text.conclusions import DECIDES, HEADING, NAME
from equipoise.text.naming import VERB
from equipoise.text.patterns import caseless, stars_as_shares

Value = str | None | list["Value"] | dict[str, "Value"]

MARKS_OF_JSON = re.compile(
    r'"(?:[^"\\]|\\.)*+"?|'
    r"'(?:[^'\\\n]|(?<=\w)'(?=\w))*+'?|[{}\[\]:,]|[^\s{}\[\]:,\"']+",
    re.DOTALL,
)
OPENS = re.compile(r"\{\s*[\"'][^\"'\n]{1,80}[\"']\s*:|\[\s*(?:\{\s*)?\"[^\"\n]{1,80}\"\s*[:,\]]")
"""The start of an object or a list of JSON."""
RANK = caseless(r"#?(\d{1,2})(?:st|nd|rd|th|\.)?")
"""A key that is a place in a ranking."""
KEY_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
CODES = caseless(r"[(\[][^)\]]*\b(?:icd|snomed|dsm|codes?)\b[^)\]]*[)\]]")
"""Brackets in a key that name a coding system: `diagnosis (ICD-10)`."""
ANSWERS = frozenset({"diagnosis", "answer", "dx", "impression", "conclusion", "prediction", "condition", "disease"})
LISTS = frozenset({"diagnoses", "differential", "differentials", "conditions", "hypotheses", "candidates", "ranking"})
NAMES = frozenset(
    "condition diagnosis disease disorder dx final label main name primary term text title value".split()  # noqa: SIM905
)
FINAL = frozenset({"final", "revised", "corrected", "updated"})
NOT_FINAL = frozenset(
    """
    alternative alternatives code comorbid confidence differential differentials excluded explanation history icd
    against considered dismissed initial less next not other past previous prior probability rationale reason reasoning
    rejected ruled runner score secondary second third unlikely step notes
    """.split()  # noqa: SIM905  (a list of words, a line of quotation marks shorter)
)
"""Words of a key whose value is not the answer."""

LIKELIEST = frozenset(
    "best chosen favored favoured leading likeliest likely main primary top verdict working".split()  # noqa: SIM905
)
"""Words of a key that alone tell that its value is the answer, where no other key does."""
SOAP = re.compile(
    r"(?:^|(?<=[.;\n] )|(?<=\n))[ *_#]*(?P<key>S|O|A|P|A/P|(?i:subjective|objective|assessment|impression|imp|plan|exam"
    r"|history|hx|findings|investigations|situation|background|recommendation))[ *_]*(?::|\n|[–—-]\s)[ *_]*"
)
"""The head of a part of a clinical note."""
TAGGED = caseless(
    r"<(?P<tag>(?:(?:final|primary|most_?likely)_?)?(?:answer|diagnosis)|primary|most_?likely)>"
    r"(?P<answer>[^<]{1,2000})</(?P=tag)>"
)
LIST_TAG = caseless(r"<(?P<item>li\b)[^<>]{0,80}>|</?(?:li|ol|ul)\b[^<>]{0,80}>")
ROW = re.compile(r"^[^|\n]*\|[^\n]*$|^[^\t\n]+\t[^\n]*$", re.MULTILINE)
CSV = caseless(
    r"^(?=[^\n]*(?:diagnos|condition|cause|disease))[a-z ]+,[a-z ,]+\n(?:[^,\n]+,[ ]?[\d.]+[ ]?%?[ ]*(?:\n|\Z)){2,}",
    re.MULTILINE,
)
"""Rows of diagnoses and their shares that are separated by commas."""
FRAME = re.compile(r"^[ \t]*\+[-=+]+[ \t]*(?:\n|\Z)", re.MULTILINE)
RULE = re.compile(r"[\s|:\-–—+=]+")
NAME_COLUMN = caseless(r"diagnos|condition|cause|disease|disorder|hypothes|candidate|possibilit|explanation|problem")
RANK_COLUMN = caseless(r"^\W*(?:rank\w*|no\.?|number|order|position|priority|place)\W*$|^\s*#?\s*$")
SHARE_COLUMN = caseless(
    r"probab|likel|%|percent|chance|confiden|certain|score|weight|odds|estimate|share|verdict|status|plausib|rating"
    r"|decision|conclusion|outcome|chosen|selected|^fit$|^p$|match|strength|support"
)
ADVERSE_COLUMN = caseless(
    r"against|contra|missing|absent|danger|severity|urgen|prevalen|common|frequency|risk|exclu|ruled"
)
"""The head of a column whose largest word is not that of the likeliest diagnosis."""
ENTRY = caseless(rf"(?:{NAME})\W*")
"""The first cell of a row whose second cell is the diagnosis."""
OTHER_ENTRY = caseless(
    r"^\W*(?:alternativ|also|other|differential|next|plan|treatment|management|confiden|certain|probab|likel|reason"
    r"|rational|evidence|support|key|findings?|against|for\b|excluded|ruled|secondary|less|comment|notes?|urgen|action"
    r"|icd|recommend|investig|tests?\b|work-?up|age|patient|complaint|step)"
)
"""The first cell of another row of such a table."""
RATING = re.compile(r"\(\d+%\)")
"""Stars in a cell, as `stars_as_shares` writes them."""
NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
WORDS = (
    (
        caseless(
            r"\b(?:exclu\w+|ruled out|very (?:low|unlikely)|least|lowest|negligible|minimal|remote|none|no|not"
            r"|reject\w*|dismiss\w*|discard\w*)\b|[✗✘❌🚫❎]"
        ),
        1,
    ),
    (caseless(r"\b(?:low|less|unlikely|improbable|small|weak|poor|doubtful|partial\w*)\b"), 2),
    (
        caseless(
            r"\b(?:(?:very|highly|extremely) (?:high|likely|strong|probable)|most|highest|leading|top|best|yes"
            r"|accept\w*|confirm\w*|chosen|select\w*|favou?red|correct|certain|definite)\b|[✓✔✅☑]"
        ),
        5,
    ),
    (caseless(r"\b(?:moderate|medium|intermediate|possible|fair|plausible)\b"), 3),
    (caseless(r"\b(?:high|likely|probable|strong|large|good)\b"), 4),
)
"""Words for how likely a diagnosis is, in the order in which they are tried, from 1 to 5."""

ITEM = re.compile(
    r"(?:(?:^|(?<=[\s:;,.]))(?:\#[ ]?|(?:No\.|rank|choice|option|diagnosis"
    r"|dx)[ ]?)?\(?(?P<number>\d{1,2})[.):](?=[ *_])|(?:^|(?<=[\s;,.]))\#(?P<hash>\d{1,2})\b[.:)]?"
    r"|^[ \t]*(?P<roman>I{1,3}|IV|V)[.)](?=\s)|^[ \t]*(?P<letter>[A-Ha-h])[.)](?=\s)|^[ \t]*(?P<bullet>[-*•–])(?=\s)"
    r"|(?:^[ \t]*|(?<=[;,.:][ ])(?:and[ ]|then[ ])?)[*_]{0,2}(?:in[ ])?"
    r"(?:number[ ])?(?P<ordinal>1st|2nd|3rd|4th|first|second|third|fourth|one|two|three)(?:ly)?[*_]{0,2}(?:[ ](?:choice"
    r"|place|on[ ](?:the|my)[ ]list))?(?:(?:[ ]?[:,–—]|[ ](?:is|comes|would[ ]be|I[ ](?:put|place|rank)))|(?=[ ]))"
    r"[*_]{0,2})[ \t]*",
    re.MULTILINE | re.IGNORECASE,
)
"""The mark of an item of a list: a number, a letter, a bullet or an ordinal."""
ORDINAL = caseless(
    r"^(?:1st|2nd|3rd|4th|first|second|third|fourth|(?:most|next most|second most|less|least)? ?(?:likely|probable))"
    r"(?:ly)?(?: (?:choice|place))?[*_]*\s*[:–—-][\s*_]*"
)
"""A rank before the name of an item."""
IN_ORDER = caseless(
    r"\b(?:(?:most|least|lowest|highest)(?: likely| probable| probability| likelihood)?\W{1,3}(?:to )?(?:the )?"
    r"(?:most|least|lowest|highest)|(?:most|least) (?:likely |probable )?first"
    r"|in (?:descending |decreasing |ascending |increasing )?order(?! of (?!likel|probab|plausib))|(?:descending"
    r"|decreasing|ascending|increasing) \w+|by (?:likelihood|probability)|ranked|ranking|from (?:most"
    r"|least) likely)\b[^:\n.]{0,60}?(?::| (?:is|are|would be)\b)[ ]?"
    r"(?P<name>[^,;:\n]{1,80})[,;](?P<others>[^\n.]*)[^\n]*"
)
"""A sentence that lists diagnoses by rank."""
PLACED = caseless(
    r"(?:^|(?<=[:.] ))[ \t*_-]{0,9}(?:(?:I|we)(?:'d| would|'ll| will)? (?:put|place|rank|list) )?"
    r"(?P<name>\w[^,;:.\n]{1,60}?),? "
    r"(?:comes? |is )?(?:\(?(?:1st|first|#1|no\.? 1)\)?|in first place|at the top|on top)"
    r"(?:[,;.]| and| then| with| followed by) [^,;:\n]{2,60} \(?(?:2nd|second|#2|no\.? 2|below|after)\b[^\n]*",
    re.MULTILINE,
)
"""Diagnoses with their place behind them: `PE first, anxiety second`."""
AS_LISTED = caseless(
    r"^[ \t*_-]{0,9}(?P<name>\w[^;,\n]{1,60})[;,][^\n]{2,200}"
    r"\bin (?:this|that|descending|decreasing) order\b[^\n]*",
    re.MULTILINE,
)
POINTER = caseless(
    r"\b(?:answer|pick|choice|option|diagnosis|choose|go for|go with|(?:most (?:likely|probable)|likeliest)(?: one)?)\b"
    r"(?: is)?[\s:*_]{1,4}(?:\(?(?P<letter>[A-H])|(?:#|no\.?|number)\s?(?P<number>\d{1,2}))\b(?![)'’]?[ \t]*\w)"
)
"""Words that point to an item by its letter or its number."""
UNPOINTED = caseless(
    r"\b(?:not|never|\w+n't|than|over|against|consider\w*|exclu\w+|reject\w*|eliminat\w+|rul\w+ out"
    r"|runner-up|second|next|many|most|some|others|people)\b[^.;:!?\n]{0,40}\Z"
)
"""Words before them by which the item is not the answer."""
REVERSED = caseless(
    r"\b(?:least|lowest)\b[^:\n]{0,30}\b(?:to|first)\b|\b(?:ascending|increasing)\b|\bmost (?:likely"
    r"|probable) (?:last|at the (?:end|bottom))\b"
)
UNORDERED = caseless(
    r"\b(?:no (?:particular|specific|set|fixed) order|not (?:ranked|ordered|in (?:any )?order)|unranked|unordered"
    r"|(?:arbitrary|random|alphabetical)(?:ly)?|in any order|equally (?:likely|probable|plausible))\b"
)
"""Words of a list that puts no diagnosis first."""
CHAIN = re.compile(r"(?<=\w|\)|%)\s*(?:>{1,2}|≫|→|»)\s*(?!least\b)(?=\w)")
SHARED = re.compile(
    r"(?:^|(?<=[,;:])|(?<= or)|(?<= and))[ \t*•–\-\d.)#]{0,12}(?P<name>[A-Za-z][^:\n,;%|\d(]{0,80}?)[ ]?[*_]{0,3}"
    r"[ ]?[:(=–—\-]{0,3}[ ]?[*_~≈]{0,3}[ ]?(?P<share>\d{1,3}(?:\.\d+)?)[ ]?%"
    r"(?:[ ](?:probability|likelihood|chance|confidence))?[ \t)*_.]{0,8}(?=[,;\n]|$|\b(?:or|and)\b)",
    re.MULTILINE,
)
"""A diagnosis with its share, on a line or in a series."""
GRADED = caseless(
    r"(?:^|(?<=[,;.]))[ \t*•–\-\d.)#]{0,12}(?P<name>[A-Za-z][^:\n,;%(]{1,60}?)[ *_]{0,4}[:(=–—\-]{1,3}[ *_]{0,4}"
    r"(?P<share>(?:(?:very|most|least|highly|less) )?(?:high|low|moderate|medium|intermediate|likely|unlikely|probable"
    r"|improbable|possible)|[✓✔✅☑✗✘❌])(?: (?:likelihood|probability|suspicion))?[ \t)*_.]{0,8}(?=[,;.\n]|$)",
    re.MULTILINE,
)
"""A diagnosis with a word for how likely it is, on a line or in a series."""
FIELD = re.compile(r"^[ \t]*(?P<key>[a-z][a-z_ ]{1,40}):[ \t]*(?P<value>\S[^\n]*)?$", re.MULTILINE)
"""A line of YAML."""
FIELDS = re.compile(rf"{FIELD.pattern}(?:\n[ \t]*[-*•][ ][^\n]*)*", re.MULTILINE)
"""The same, with the list below it."""
INTRODUCED = caseless(
    r"(?:differential|diagnos[ei]s|likel(?:y|ihood)|probab\w+|ranked|ranking|order|top|list|causes|possibilities)"
)
DISMISSED = caseless(
    r"\b(?:unlikely|improbable|less likely|not likely|least likely|excluded|ruled out|no evidence|does not fit"
    r"|doesn't fit|argues? against|rejected|not supported)\b|❌|✗|✘"
)
CHOSEN = caseless(r"\bmost (?:likely|probable)\b|✅|✓|✔")
SURE = 4
"""The word from which an answer is put first beside cells without such words."""
DEEPEST = 50
"""Levels of nested JSON that are read."""
LONGEST_ITEM = 14
LEADS = 60
"""Characters before a pointer that may deny it."""
LONGEST_INTRODUCTION = 80
LONGEST_GRADE = 3
FEWEST_ITEMS = 2
WHOLE = (95, 105)
"""Range of the sum of shares in percent that leave nothing over."""
FIRST = frozenset({"1", "a", "i", "1st", "first", "one"})


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
    text = LIST_TAG.sub(lambda tag: f"\n{next(numbers)}. " if tag["item"] else "\n", stars_as_shares(text))
    if tagged := TAGGED.search(text):
        text = f"Diagnosis: {tagged['answer']}"
    if (opened := OPENS.search(text)) is not None:
        diagnosis = _from_json(_parse(text[opened.start() :])[0])
        if diagnosis is not None:
            return f"Diagnosis: {diagnosis}" if re.search(r"\w", diagnosis) else ""
    text = _assessment(FRAME.sub("", text))
    if (pointed := _pointed(text)) is not None:
        return f"Diagnosis: {pointed}"
    text = CSV.sub(lambda rows: rows[0].replace(",", " | "), text)
    fields = [(_rank(field["key"]), field["value"]) for field in FIELD.finditer(text)]
    answers = [(rank, value) for rank, value in fields if value and rank in {0, 1}]
    if len(fields) > 1 and answers:
        return f"Diagnosis: {min(reversed(answers), key=itemgetter(0))[1]}"
    for read in (_table, _shares, _grades, _ranked):
        block = read(text)
        if block is None:
            continue
        block = block._replace(name="") if UNORDERED.search(text[: block.start + LONGEST_INTRODUCTION]) else block
        outside = text[: _introduction(text, block.start)], text[block.end :]
        stated = any(pattern.search(part) for pattern in (HEADING, DECIDES) for part in outside)
        if not stated and re.search(r"\w", block.name):
            return f"{outside[0]}\n\nDiagnosis: {block.name.strip(' .')}.\n\n{outside[1]}"
        if read is _table or not block.name:
            # The head of a column is not the heading of a statement, and a list without an order states nothing.
            return "\n\n".join(outside)
    return text


def outside(text: str) -> str:
    """Return what a text says beside the tags, the JSON or the lines of YAML that hold its answer; empty without."""
    if tagged := TAGGED.search(text):
        return f"{text[: tagged.start()]}\n\n{text[tagged.end() :]}"
    if opened := OPENS.search(text):
        value, length = _parse(text[opened.start() :])
        if _from_json(value) is not None:
            return f"{text[: opened.start()]}\n\n{text[opened.start() + length :]}"
    fields = [_rank(field["key"]) for field in FIELD.finditer(text)]
    return FIELDS.sub("", text) if len(fields) > 1 and {0, 1} & {*fields} else ""


def _assessment(text: str) -> str:
    """Return a clinical note's assessment under a heading; other texts as they are."""
    heads = list(SOAP.finditer(text))
    own = next(
        (at for at, head in enumerate(heads) if head["key"][0].lower() == "a" or head["key"][:3].lower() == "imp"), None
    )
    if own is None or len(heads) < FEWEST_ITEMS or HEADING.search(text, 0, heads[0].start()):
        return text
    ends = [head.start() for head in heads[own + 1 :]]
    assessed = text[heads[own].end() : min(ends, default=len(text))].strip()
    return text if HEADING.search(assessed) else f"Diagnosis: {lay_out(assessed).removeprefix('Diagnosis: ')}"


def _parse(text: str) -> tuple[Value, int]:
    """Parse the first value of a text that begins with JSON, and say where it ends.

    What is cut off is closed, and single quotes are quotes.
    """
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

    end = len(text)
    for match in MARKS_OF_JSON.finditer(text):
        mark = match[0]
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
                end = match.end()
                break
        elif mark not in ":,":
            quoted = mark[0] in "\"'"
            add(None if mark in {"null", "None"} else mark.strip("\"'") if quoted else mark)
    return (root[0] if root else None), end


def _from_json(value: Value) -> str | None:
    """Return the diagnosis of a parsed value: of its most final keys, else the first of its list; None without one."""
    ranked: dict[tuple[int, int], dict[str, bool]] = {}
    waiting: list[tuple[int, Value]] = [(0, value)]
    if isinstance(value, list) or _numbered(value):
        return _first_of(value)
    while waiting:
        depth, here = waiting.pop(0)
        if isinstance(here, list):
            waiting += [(depth + 1, entry) for entry in here if isinstance(entry, dict)]
        if not isinstance(here, dict):
            continue
        for key, inner in here.items():
            rank = _rank(key)
            if rank is not None and (name := _first_of(inner)) is not None:
                ranked.setdefault((rank, depth), {})[name] = bool({"diagnosis", "dx"} & set(_words(key)))
            elif not set(_words(key)) & NOT_FINAL:
                waiting.append((depth + 1, inner))
    # Keys of one rank and depth that hold different diagnoses leave it open which is meant: each has its heading.
    names = ranked[min(ranked)] if ranked else {}
    return "\nDiagnosis: ".join(sorted(names, key=names.__getitem__)) if names else None


def _words(key: str) -> list[str]:
    return [word.lower() for word in KEY_WORD.findall(CODES.sub("", key))]


def _rank(key: str) -> int | None:
    """Return how final the answer under a key is, 0 the most; None if its value is not an answer."""
    words, number = set(_words(key)), NUMBER.search(CODES.sub("", key))
    if number and number[0] != "1" and not ("top" in words and words & LISTS):
        return None
    if words & FINAL and words & ANSWERS:
        return 0
    if (words & ANSWERS or words >= {"most", "likely"}) and not words & NOT_FINAL:
        return 1
    if words & LIKELIEST and not words & (NOT_FINAL | LISTS):
        return 3
    return 2 if words & LISTS and not words & (NOT_FINAL - LISTS) else None


def _first_of(value: Value) -> str | None:
    """Return the name that a value holds: a text, the name of an object, or that of a list's likeliest item."""
    if value is None:
        return ""
    if isinstance(value, str):
        # The letter of an option names no diagnosis.
        return value if len(value) > 1 else None
    if numbered := _numbered(value):
        return _first_of(numbered)
    if isinstance(value, dict):
        own = [inner for key, inner in value.items() if set(_words(key)) & NAMES and isinstance(inner, str)]
        return own[0] if own else None
    items = [(name, entry) for entry in value if (name := _first_of(entry))]
    rows = [
        [str(inner) for key, inner in entry.items() if SHARE_COLUMN.search(key)] if isinstance(entry, dict) else []
        for _, entry in items
    ]
    best = _likeliest([" ".join(row) for row in rows])
    ranks = [entry.get("rank") if isinstance(entry, dict) else None for _, entry in items]
    if "1" in ranks:
        best = ranks.index("1")
    return items[best or 0][0] if items else None


def _numbered(value: Value) -> list[Value]:
    """Return the values of an object with the keys 1, 2 and so on as a list in their order; empty for others."""
    if not isinstance(value, dict) or len(value) < FEWEST_ITEMS:
        return []
    ranks = {match[1]: inner for key, inner in value.items() if (match := RANK.fullmatch(key))}
    ordered = [ranks.get(str(place)) for place in range(1, len(value) + 1)]
    return [] if None in ordered else ordered


def _likeliest(cells: Sequence[str]) -> int | None:
    """Return the first place of the largest share in numbers, words or marks; None if they cannot be compared."""
    numbers = [NUMBER.search(cell) for cell in cells]
    if cells and all(numbers):
        shares = [float(number[0].replace(",", ".")) for number in numbers if number]
    else:
        shares = [float(next((size for word, size in WORDS if word.search(cell)), 0)) for cell in cells]
        if not all(shares) and max(shares, default=0) < SURE:
            shares = [float(len(re.findall(r"[+]", cell))) for cell in cells]
    return shares.index(max(shares)) if any(shares) else None


def _table(text: str) -> _Block | None:
    """Read the first table with a column of diagnoses and at least one row."""
    lines = list(ROW.finditer(text))
    for place, line in enumerate(lines):
        header = _cells(line[0])
        if not header:
            continue
        rows, end = [], line.end()
        for below in lines[place + 1 :]:
            if text[end : below.start()].strip(" \t\r") != "\n":
                break
            end = below.end()
            if not RULE.fullmatch(below[0]):
                rows.append([*_cells(below[0]), *[""] * len(header)][: len(header)])
        if (entry := _entry([header, *rows])) is not None:
            return _Block(line.start(), end, entry)
        if (across := _across(header, rows)) is not None:
            return _Block(line.start(), end, across)
        column = _name_column(header)
        if column is not None and len(rows) >= FEWEST_ITEMS:
            first = _first_row(header, rows, column)
            name = "" if first is None else rows[first][column]
            return _Block(line.start(), end, name if len(name.split()) <= LONGEST_ITEM else "")
    return None


def _entry(rows: Sequence[Sequence[str]]) -> str | None:
    """Return the diagnosis of a table of two columns with an entry in each row; None for other tables."""
    if any(len(row) != FEWEST_ITEMS for row in rows) or not any(OTHER_ENTRY.match(row[0]) for row in rows):
        return None
    named = [row for row in rows if ENTRY.fullmatch(row[0])]
    # A column of diagnoses has the heads of both columns in its first row.
    if not named or (named == [rows[0]] and SHARE_COLUMN.search(named[0][1])):
        return None
    return next((row[1] for row in named if "final" in row[0].lower()), named[-1][1])


def _across(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    """Return the likeliest diagnosis of a table with a column for each; None for other tables."""
    if any(column.search(cell) for cell in header for column in (NAME_COLUMN, SHARE_COLUMN, ADVERSE_COLUMN)):
        return None
    shares = next((row[1:] for row in rows if SHARE_COLUMN.search(row[0])), [])
    best = _likeliest(shares) if len(shares) >= FEWEST_ITEMS else None
    return None if best is None else header[best + 1]


def _name_column(header: Sequence[str]) -> int | None:
    """Return the place of the column of diagnoses: by its head, else the first beside a rank or a share."""
    named = next((at for at, cell in enumerate(header) if NAME_COLUMN.search(cell)), None)
    others = [at for at, cell in enumerate(header) if not RANK_COLUMN.match(cell) and not SHARE_COLUMN.search(cell)]
    return others[0] if named is None and others and len(others) < len(header) else named


def _first_row(header: Sequence[str], rows: Sequence[Sequence[str]], column: int) -> int | None:
    """Return the row of the first rank, else of the largest share, else the first; None if two shares are largest."""
    for at, cell in enumerate(header):
        if at != column and RANK_COLUMN.match(cell):
            ranks = [NUMBER.search(row[at]) for row in rows]
            if all(ranks):
                values = [float(rank[0]) for rank in ranks if rank]
                return values.index(min(values))
    for at, cell in enumerate(header):
        cells = [row[at] for row in rows]
        if at != column and (SHARE_COLUMN.search(cell) or all(RATING.fullmatch(share) for share in cells)):
            best = _likeliest(cells)
            if best is not None:
                is_tied = NUMBER.search(cells[best]) is not None and cells.count(cells[best]) > 1
                return None if is_tied else best
    for at in reversed(range(len(header))):
        grades = [_grade(row[at]) for row in rows]
        if at != column and all(grades) and len(set(grades)) > 1 and not ADVERSE_COLUMN.search(header[at]):
            return grades.index(max(grades))
    return 0


def _grade(cell: str) -> int:
    """Return how likely a short cell is, up to its reasons, from 1 to 5; 0 for other cells."""
    words = re.split(r"\s*[–—,;(:]|\s-", cell.strip(), maxsplit=1)[0]
    return next((size for word, size in WORDS if word.search(words)), 0) if len(words.split()) <= LONGEST_GRADE else 0


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
    shares = [float(line["share"]) for line in lines]
    is_whole = WHOLE[0] <= sum(shares) <= WHOLE[1]
    if inline and not is_whole and not all("(" in line[0] for line in lines) and not INTRODUCED.search(text):
        return None
    return _Block(lines[0].start(), lines[-1].end(), _leading(lines, shares))


def _grades(text: str) -> _Block | None:
    """Read lines of diagnoses with a word for how likely each is."""
    lines = list(GRADED.finditer(text))
    if len(lines) < FEWEST_ITEMS or text[lines[0].end() : lines[1].start()].strip(" ,;.\nand"):
        return None
    sizes = [next((size for word, size in WORDS if word.search(line["share"])), 0) for line in lines]
    return _Block(lines[0].start(), lines[-1].end(), _leading(lines, sizes))


def _leading(lines: Sequence[re.Match[str]], sizes: Sequence[float]) -> str:
    """Return the name with the largest size; empty if two have it."""
    largest = max(sizes)
    return lines[sizes.index(largest)]["name"] if sizes.count(largest) == 1 else ""


def _ranked(text: str) -> _Block | None:
    """Read a list of names: the item that is called most likely, else the first that is not dismissed."""
    if chain := CHAIN.search(text):
        start, end = text.rfind("\n", 0, chain.start()) + 1, text.find("\n", chain.end())
        first = re.sub(r"^[^:]*:", "", text[start : chain.start()])
        return _Block(start, len(text) if end < 0 else end, first)
    if placed := PLACED.search(text) or AS_LISTED.search(text):
        return _Block(placed.start(), placed.end(), placed["name"])
    marks = _marks(text)
    if not marks:
        return _in_order(text)
    ends = [mark.start() for mark in marks[1:]]
    last = re.search(r"\n|$", text[marks[-1].end() :])
    ends.append(marks[-1].end() + (last.start() if last else 0))
    items = [text[mark.end() : end].strip(" ,;\n*_") for mark, end in zip(marks, ends, strict=True)]
    start = _introduction(text, marks[0].start())
    introduced = INTRODUCED.search(text[start : marks[0].start()]) is not None
    if marks[0]["bullet"] and not introduced:
        return None
    names = [_item_name(item) for item in items]
    around = text[:start] + (text[ends[-1] :] if marks[0]["ordinal"] else "")
    if not all(names[:2]) or (re.search(r"\w", around) and not introduced):
        return None
    chosen = [place for place, item in enumerate(items) if CHOSEN.search(item)]
    kept = [place for place, item in enumerate(items) if not DISMISSED.search(item)]
    if REVERSED.search(text, start, marks[0].start()):
        kept.reverse()
    return _Block(start, ends[-1], names[(chosen if len(chosen) == 1 else kept or [0])[0]] or "")


def _pointed(text: str) -> str | None:
    """Return the name of the only item of a list to whose letter or number the text points; None without."""
    items = {mark[mark.lastgroup or 0].upper(): mark for mark in _marks(text)}
    pointers = [pointer for pointer in POINTER.finditer(text) if not _is_set_aside(text, pointer.start())]
    pointed = {(pointer["letter"] or pointer["number"]).upper() for pointer in pointers}
    mark = items.get(pointed.pop()) if len(pointed) == 1 else None
    return _item_name(text[mark.end() :].split("\n", 1)[0]) if mark else None


def _is_set_aside(text: str, start: int) -> bool:
    """Whether what stands right before a pointer denies it."""
    return UNPOINTED.search(text, max(0, start - LEADS), start) is not None


def _in_order(text: str) -> _Block | None:
    """Read a sentence that lists diagnoses by rank."""
    named = IN_ORDER.search(text)
    if named is None:
        return None
    last = re.split(r"[,;]|\b(?:and|then|finally)\b", named["others"], flags=re.IGNORECASE)[-1]
    return _Block(named.start(), named.end(), last if REVERSED.search(text, named.start()) else named["name"])


def _marks(text: str) -> Sequence[re.Match[str]]:
    """Return the marks of the first list of at least two, all of one kind; numbers count from one."""
    candidates = list(ITEM.finditer(text))
    for kind in dict.fromkeys(mark.lastgroup or "" for mark in candidates):
        marks: list[re.Match[str]] = []
        for mark in candidates:
            if mark.lastgroup != kind or not (marks or kind == "bullet" or mark[kind].lower() in FIRST):
                continue
            if kind in {"number", "hash"} and mark[kind] != str(len(marks) + 1):
                break
            marks.append(mark)
        if len(marks) >= FEWEST_ITEMS:
            return marks
    return []


def _introduction(text: str, start: int) -> int:
    """Return where the line that introduces a list begins: one that ends in a colon; else the list's own start."""
    before = text[:start].rstrip(" \t\n*_")
    first = max(before.rfind("\n"), before.rfind(". ")) + 1
    return first if before.endswith((":", ")")) or re.match(r"\s*(?:#|\*\*)", before[first:]) else start


def _item_name(item: str) -> str | None:
    """Return the name that an item begins with; None if it is a sentence."""
    item = ORDINAL.sub("", item.strip("* "))
    name = re.split(r"\s+[–—-]+\s+|:\s|\n|\*\*|\.\s|,\s+(?:because|since|as|if|given|due)\b", item, maxsplit=1)[
        0
    ].strip(" *_.")
    return None if not name or len(name.split()) > LONGEST_ITEM or VERB.search(name) else name
