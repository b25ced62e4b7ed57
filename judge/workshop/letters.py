"""Train the reader of facts in letters, and measure it on letters by hands that it was not trained on.

Run `python -m workshop.letters` in the project's root, with judge/ and src/ on the path, after judge/snli/base was
fetched (`judge/snli`). Letters are in judge/letters/*.txt: a line `# STORY HAND`, then chunks of text, each after the
facts that it tells: the number of the fact and k (kept), s (softened) or d (doubted). What no chunk tells is omitted.
Letters of styles.jsonl are whole, and some of the facts of their stories are labelled. frames.yaml has sentences around
a fact that is copied word for word, by what they do with it.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.metrics import cohen_kappa_score

from equipoise.core.yamlfile import read_yaml
from equipoise.judge.model import CrossEncoder
from equipoise.judge.passages import MANNERS, Manner
from equipoise.materials.stories.library import load_library
from equipoise.studies.letters.parts import CLASSES, facts_of
from equipoise.studies.letters.reader import FactReader, passages
from equipoise.text.sentences import sentences_of
from workshop.export import ExportSettings, ship
from workshop.restore import restore
from workshop.snli import Pair
from workshop.training import TrainSettings, train

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = Path("judge/letters")
CHUNK = re.compile(r"\[([^\]]*)\] (.+)")
LISTED = re.compile(r"(?:^| )(?=- )|(?:^|(?<!-) )(?=\*\*\w)")
"""Before an item of a list or a heading, which begin on a line of their own."""
WORD = re.compile(r"[a-z]+|\d+(?:[.,/]\d+)*")
LONG = 4
"""Letters of a word from which it counts."""
NAMES: dict[str, Manner] = {"k": "kept", "s": "softened", "d": "doubted"}
LOST = ("softened", "doubted")
LEFT_OUT = ("otto", "raj", "uma")
"""Hands whose letters the reader is not trained on: they and styles.jsonl choose how it is trained."""
HELD = ("held_out", "unseen", "reserve")
"""Files of the letters on which the reader is measured, and on which nothing is chosen."""
TRAINING = TrainSettings(
    seed=0,
    epochs=4,
    batch_size=16,
    learning_rate=1e-4,
    warmup=0.06,
    weight_decay=0.01,
    max_length=256,
    precision="bfloat16",
    threads=1,
    frozen_layers=2,
)
BEFORE = 0.35
"""Share of facts that are also asked about the sentence before the one that tells them, which does not."""
FRAMES: dict[Manner, float] = {"kept": 0.5, "softened": 0.17, "doubted": 0.33}
"""Share of each manner among the facts that are copied into frames."""
QUOTED = 0.5
"""Least share of framed facts in the patient's own words, where a letter has any."""
FRAMED_EACH = 12
"""Facts in each frame on which the reader is measured."""
FOREIGN = 4
"""Facts of another letter that are asked about each letter in an epoch."""
LONGEST = 512
"""Tokens of a passage and a fact, as in models/judges/minilm_letters.yaml."""
FIDELITY = 0.99
"""Least share of pairs to which the int8 file must give the checkpoint's answer."""


class Letter(NamedTuple):
    """A letter with its facts and their classes, what it does with each, and its chunks with the facts they tell."""

    author: str
    facts: list[str]
    classes: list[str]
    manners: list[Manner]
    chunks: list[tuple[str, dict[int, Manner]]]

    @property
    def text(self) -> str:
        """The letter."""
        return " ".join(chunk for chunk, _ in self.chunks)

    @property
    def sentences(self) -> list[tuple[str, dict[int, Manner]]]:
        """Its sentences, each with the facts that its chunk tells."""
        return [(sentence, tags) for chunk, tags in self.chunks for sentence in sentences_of(chunk.strip())]

    def about(self, facts: list[str]) -> Letter:
        """Return the letter with other facts, none of which it tells."""
        omitted: list[Manner] = ["omitted"] * len(facts)
        return Letter(self.author, facts, [""] * len(facts), omitted, [(text, {}) for text, _ in self.chunks])

    def has_like(self, fact: str) -> bool:
        """Whether it has a fact that shares at least a third of its words, so that it may tell this one too."""
        return any(
            3 * len(words(fact) & words(own)) >= max(1, min(len(words(fact)), len(words(own)))) for own in self.facts
        )


def load(name: str) -> list[Letter]:
    """Read the letters of a file."""
    stories = load_library(Path("data/raw")).presentations
    letters: list[Letter] = []
    for line in filter(None, (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()):
        if line.startswith("# "):
            _, story, author = line.split()
            told = facts_of(stories[story])
            omitted: list[Manner] = ["omitted"] * len(told)
            letters.append(Letter(author, [fact for fact, _ in told], [kind for _, kind in told], omitted, []))
            continue
        match = CHUNK.fullmatch(line)
        if match is None:
            raise ValueError(f"{name}: no chunk: {line}")
        tags = {int(tag[:-1]): NAMES[tag[-1]] for tag in match[1].split()}
        letters[-1].chunks.append((LISTED.sub("\n", match[2]), tags))
        for fact, manner in tags.items():
            letters[-1].manners[fact] = manner
    return letters


def styled() -> list[Letter]:
    """Read the letters in many styles, each a chunk and its style the author, with the facts that are labelled."""
    stories = load_library(Path("data/raw")).presentations
    letters: list[Letter] = []
    for line in (FOLDER / "styles.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        told = facts_of(stories[row["story"]])
        facts, classes = zip(*(told[int(number)] for number in row["labels"]), strict=True)
        letters.append(Letter(row["style"], [*facts], [*classes], [*row["labels"].values()], [(row["letter"], {})]))
    return letters


def load_frames(name: str) -> dict[Manner, list[str]]:
    """Read frames by their manner; each has `{fact}` where the fact belongs."""
    frames: Any = read_yaml(FOLDER / f"{name}.yaml")
    return {manner: list(frames[manner]) for manner in FRAMES}


def framed(letter: Letter, frame: str, manner: Manner, draw: random.Random) -> Letter:
    """Write a letter of three of a letter's facts, word for word: one in a frame, between two as they are.

    Where a letter has facts in the patient's own words, `QUOTED` of the framed facts are among them.
    """
    quoted = [number for number, kind in enumerate(letter.classes) if kind == "report"]
    fact = draw.choice(quoted if quoted and draw.random() < QUOTED else range(len(letter.facts)))
    before, after = draw.sample([number for number in range(len(letter.facts)) if number != fact], 2)
    told: list[tuple[int, str, Manner]]
    told = [(before, "{fact}.", "kept"), (fact, frame, manner), (after, "{fact}.", "kept")]
    chunks = [(text.replace("{fact}", letter.facts[number]), own) for number, text, own in told]
    return Letter(
        manner,
        [letter.facts[number] for number, _, _ in told],
        [letter.classes[number] for number, _, _ in told],
        [own for _, _, own in told],
        [(text, {place: own}) for place, (text, own) in enumerate(chunks)],
    )


def course(letters: Sequence[Letter], frames: dict[Manner, list[str]], epoch: int) -> list[Pair]:
    """List the pairs of an epoch: `lessons` from the letters, and from a fact of each in a frame."""
    draw = random.Random(epoch)  # noqa: S311  (an order, not a secret)
    manners = draw.choices([*FRAMES], [*FRAMES.values()], k=len(letters))
    short = [
        framed(letter, draw.choice(frames[manner]), manner, draw)
        for letter, manner in zip(letters, manners, strict=True)
    ]
    return lessons([*letters, *short], epoch)


def framings(letters: Sequence[Letter], frames: dict[Manner, list[str]]) -> list[Letter]:
    """Put facts of letters into each of the frames."""
    draw = random.Random(0)  # noqa: S311  (an order, not a secret)
    return [
        framed(draw.choice(letters), frame, manner, draw)
        for manner, own in frames.items()
        for frame in own
        for _ in range(FRAMED_EACH)
    ]


def lessons(letters: Sequence[Letter], epoch: int) -> list[Pair]:
    """List the pairs of letters: each fact with the passage that tells it, and with passages that do not.

    The latter are the one with most of its words and one at random, and for some facts the one before it is told. Each
    letter is also asked about facts of the next one.
    """
    draw = random.Random(epoch)  # noqa: S311  (an order, not a secret)
    pairs: list[Pair] = []
    for letter, other in zip(letters, foreign(letters), strict=True):
        sentences, told = zip(*letter.sentences, strict=True)
        read = passages(sentences)
        for number, (fact, manner) in enumerate(zip(letter.facts, letter.manners, strict=True)):
            shared = [len(words(fact) & words(sentence)) for sentence in sentences]
            own = [place for place, tags in enumerate(told) if number in tags]
            rest = sorted({*range(len(read))} - {*own}, key=lambda place: -shared[place] - draw.random())
            asked = [*rest[:1], *draw.sample(rest[1:], len(rest) > 1)]
            if own:
                pairs.append(Pair(read[max(own, key=lambda place: (shared[place], -place))], fact, manner))
                asked += [own[0] - 1] * (own[0] > 0 and draw.random() < BEFORE)
            pairs += [Pair(read[place], fact, "omitted") for place in asked]
        asked_of_other = draw.sample(other.facts, min(FOREIGN, len(other.facts)))
        pairs += [Pair(draw.choice(read), fact, "omitted") for fact in asked_of_other]
    return pairs


def foreign(letters: Sequence[Letter]) -> list[Letter]:
    """Give each letter the facts of the next one, as far as they are unlike all of its own: all are omitted."""
    paired = zip(letters, (*letters[1:], *letters[:1]), strict=True)
    return [letter.about([fact for fact in other.facts if not letter.has_like(fact)]) for letter, other in paired]


def words(text: str) -> frozenset[str]:
    """Give the beginnings of a text's longer words, and its numbers."""
    return frozenset(word[:5] for word in WORD.findall(text.lower()) if len(word) >= LONG or word[0].isdigit())


def agreement(labels: Sequence[Manner], read: Sequence[Manner]) -> dict[str, Any]:
    """Compute Cohen's kappa over all manners, of each against the rest, and of those of both differences."""
    pairs = list(zip(labels, read, strict=True))
    return {
        "n": len(pairs),
        "right": round(float(np.mean([a == b for a, b in pairs])), 3),
        "kappa": _kappa(labels, read),
        "changed": _kappa([label in LOST for label in labels], [manner in LOST for manner in read]),
        "told": _kappa([label == "omitted" for label in labels], [manner == "omitted" for manner in read]),
        "by_manner": {manner: _kappa([a == manner for a in labels], [b == manner for b in read]) for manner in MANNERS},
        "confusion": {
            manner: [sum((a, b) == (manner, other) for a, b in pairs) for other in MANNERS] for manner in MANNERS
        },
    }


def _kappa(labels: Sequence[object], read: Sequence[object]) -> float | None:
    """Compute Cohen's kappa; None where there is one label alone."""
    return round(float(cohen_kappa_score(labels, read)), 3) if len({*labels, *read}) > 1 else None


def measured(letters: Sequence[Letter], reader: FactReader) -> dict[str, Any]:
    """Measure a reader on letters: over all facts, by class of facts and by author."""
    read = reader.read([(letter.text, letter.facts) for letter in letters])
    rows = [
        (letter.author, kind, label, manner)
        for letter, manners in zip(letters, read, strict=True)
        for kind, label, manner in zip(letter.classes, letter.manners, manners, strict=True)
    ]
    groups = {"all": rows}
    groups |= {kind: [row for row in rows if row[1] == kind] for kind in CLASSES}
    groups |= {author: [row for row in rows if row[0] == author] for author in sorted({row[0] for row in rows})}
    return {name: agreement([row[2] for row in own], [row[3] for row in own]) for name, own in groups.items()}


def found(letters: Sequence[Letter], reader: FactReader) -> float:
    """Compute the share of facts that a reader finds in letters about them."""
    read = reader.read([(letter.text, letter.facts) for letter in letters])
    return round(float(np.mean([manner != "omitted" for manners in read for manner in manners])), 3)


def main() -> None:
    """Train the reader, export it, and measure it on hands that it has not seen."""
    hands = load("hands")
    training = load("training") + [letter for letter in hands if letter.author not in LEFT_OUT]
    with tempfile.TemporaryDirectory() as name:
        start, checkpoint = Path(name, "start"), Path(name, "checkpoint")
        restore(Path("judge/snli/weights/model.onnx"), Path("judge/snli/base"), start)
        train(start, partial(course, training, load_frames("frames")), TRAINING, checkpoint, progress, task="facts")
        pairs = [pair[:2] for pair in lessons([letter for letter in hands if letter.author in LEFT_OUT], 0)]
        ship(checkpoint, pairs, FOLDER / "reader", ExportSettings(fidelity=FIDELITY))
    measure()


def measure() -> None:
    """Measure the reader that ships, and write agreement.json."""
    letters = [letter for name in HELD for letter in load(name)]
    # From its files: the registry has the checksums of the reader before it until they are copied.
    reader = FactReader(CrossEncoder(FOLDER / "reader", max_tokens=LONGEST).probabilities)
    told = {"own": found(letters, reader), "other": found(foreign(letters), reader)}
    copied = measured(framings(letters, load_frames("frames_held_out")), reader)
    result = {**measured(letters, reader), "found": told, "styles": measured(styled(), reader), "frames": copied}
    (FOLDER / "agreement.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")


def progress(step: int, steps: int, loss: float) -> None:
    """Tell how far training is."""
    if step % 50 == 0 or step == steps:
        sys.stderr.write(f"step {step} of {steps}, loss {loss:.3f}\n")


if __name__ == "__main__":
    main()
