"""Malformed inputs: every file that a user supplies, broken in many ways, must be refused in one line that names it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from faults_runs import Draws, Outcome, clone_repository

CHECK = ("python", "stages/check.py", "stages", "data")
EXAMPLES, OUT = "data/examples", ("--out", "data/imported.jsonl")
READERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("params.yaml", "models/smollm2.yaml", "models/judges/minilm_passages.yaml", "data/cities.yaml"), CHECK
    ),
    **{f"data/sentences/{name}.yaml": CHECK for name in ("conditions", "subjects", "templates", "words")},
    **{
        f"data/raw/{name}.yaml": ("python", "stages/build.py", "vignettes", "data")
        for name in ("pairs", "personas", "presentations")
    },
    "data/items/authored.jsonl": ("python", "stages/build.py", "exam", "data"),
    f"{EXAMPLES}/amqa_items.jsonl": ("equipoise", "import", "amqa", f"{EXAMPLES}/amqa_items.jsonl", *OUT),
    f"{EXAMPLES}/medmcqa_questions.jsonl": (
        *("equipoise", "import", "medmcqa", f"{EXAMPLES}/medmcqa_questions.jsonl", *OUT),
    ),
    f"{EXAMPLES}/openr1.json": ("equipoise", "import", "openr1-psy", f"{EXAMPLES}/openr1.json", *OUT),
    f"{EXAMPLES}/cases.json": ("equipoise", "import", "vignettes", f"{EXAMPLES}/cases.json", *OUT),
    f"{EXAMPLES}/outputs.jsonl": (
        *("equipoise", "import", "outputs", f"{EXAMPLES}/outputs.jsonl", "--name", "imported"),
        *("--cases", f"{EXAMPLES}/cases.json"),
    ),
    f"{EXAMPLES}/replies.jsonl": ("equipoise", "parse", f"{EXAMPLES}/replies.jsonl"),
    f"{EXAMPLES}/reasoning.jsonl": ("equipoise", "judge", f"{EXAMPLES}/reasoning.jsonl"),
    f"{EXAMPLES}/amqa_answers.jsonl": ("equipoise", "score", "amqa", f"{EXAMPLES}/amqa_answers.jsonl"),
}
"""The command that reads each file."""
Malform = Callable[[str, random.Random], str]
DEEP, LONG = "[" * 100_000, "9" * 5_000


def insert(text: str, what: str, rng: random.Random) -> str:
    """Insert something anywhere."""
    place = rng.randrange(len(text))
    return text[:place] + what + text[place:]


def insert_in_string(text: str, what: str, rng: random.Random) -> str:
    """Insert something at the beginning of any string of a JSON text that is a value."""
    place = rng.choice([match.end() for match in re.finditer(r'": "', text)])
    return text[:place] + what + text[place:]


def duplicate_key(text: str, rng: random.Random) -> str:
    """Give an object one of its keys twice."""
    return text.replace("{", f"{{{json.dumps(rng.choice(list(json.loads(text))))}: null, ", 1)


BOTH: dict[str, Malform] = {
    "a NUL": lambda text, rng: insert(text, "\0", rng),
    "a byte that is not UTF-8": lambda text, rng: insert(text, "\udcff", rng),
}
JSON: dict[str, Malform] = BOTH | {
    "deep": lambda _, __: DEEP,
    "an integer of 5,000 digits": lambda text, _: text.replace("{", f'{{"extra": {LONG}, ', 1),
    "half a surrogate pair": lambda text, rng: insert_in_string(text, "\\ud800", rng),
    "a key twice": duplicate_key,
    "a list": lambda _, __: "[1, 2]",
    "not a number": lambda text, _: text.replace("{", '{"extra": NaN, ', 1),
    "cut off": lambda text, rng: text[: rng.randrange(1, len(text.strip()) - 1)],
}
YAML: dict[str, Malform] = BOTH | {
    "deep": lambda text, _: f"{text}\nextra: {DEEP}\n",
    "an integer of 5,000 digits": lambda text, _: f"{text}\nextra: {LONG}\n",
    "half a surrogate pair": lambda text, _: f'{text}\nextra: "\\ud800"\n',
    "a key twice": lambda text, rng: f"{text}\n{rng.choice(re.findall(r'^[a-z_]+:', text, re.MULTILINE))} 1\n",
    "a list": lambda _, __: "- 1\n- 2\n",
    "a Python object": lambda text, _: f"{text}\nextra: !!python/object/apply:os.getcwd []\n",
    "cut off": lambda text, _: f"{text}\nextra: {{\n",
}
EMPTY, MARK = "empty", "a byte order mark"


def malformed(name: str, text: str, rng: random.Random) -> tuple[str, str]:
    """Break the text of a file in one way; return a description and the text."""
    ways = YAML if name.endswith(".yaml") else JSON
    way = rng.choice([*ways, EMPTY, MARK])
    if way in {EMPTY, MARK}:
        return way, "" if way == EMPTY else f"\ufeff{text}"
    rows = text.splitlines(keepends=True) if name.endswith(".jsonl") else [text]
    row = rng.randrange(len(rows))
    rows[row] = ways[way](rows[row].rstrip("\n"), rng) + "\n"
    return way, "".join(rows)


def inputs(place: Path, draws: Draws) -> Iterator[Outcome]:
    """Break each file in turn that a user supplies, and run the command that reads it.

    Deep nesting, integers of 5,000 digits, half a surrogate pair, NUL, bytes that are not UTF-8, duplicate keys, a
    list, a truncated row, an empty file, or a byte order mark.

    Exit code 1 and one line that names the file (a byte order mark at the beginning may be accepted).
    """
    clone = clone_repository(place)
    for number, rng in draws:
        name, command = list(READERS.items())[number % len(READERS)]
        path = clone.folder / name
        original = path.read_bytes()
        way, text = malformed(name, original.decode(), rng)
        path.write_bytes(text.encode(errors="surrogateescape"))
        try:
            done = clone.run(*command, PYTHONPATH="src")
        finally:
            path.write_bytes(original)
            clone.run("git", "clean", "--quiet", "-ffdx", "data", "models")
        lines = done.stderr.strip().splitlines()
        problems = []
        # A byte order mark at the beginning may be passed over.
        if not (way == MARK and done.returncode == 0):
            if done.returncode != 1:
                problems.append(f"ended with {done.returncode}")
            if len(lines) != 1:
                problems.append(f"{len(lines)} lines on stderr, the last of them: {lines[-1] if lines else ''}"[:200])
            elif path.name not in lines[0]:
                problems.append(f"the line does not name the file: {lines[0]}"[:200])
        yield Outcome(f"{name}: {way}", problems)
