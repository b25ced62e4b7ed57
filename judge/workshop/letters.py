"""Fit the reader of facts in letters, and measure it on letters by authors that it was not fitted on.

Run `python -m workshop.letters` in the project's root, with judge/ and src/ on the path. Letters are in
judge/letters/*.txt: a line `# STORY AUTHOR`, then chunks of text, each after the facts that it tells: the number of the
fact and k (kept), s (softened) or d (doubted). What no chunk tells is omitted.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score
from sklearn.preprocessing import StandardScaler

from equipoise.judge.located import Probabilities, cached_probabilities
from equipoise.judge.rubric import MANNERS, Manner
from equipoise.materials.stories.library import load_library
from equipoise.studies.letters.parts import CLASSES, facts_of
from equipoise.studies.letters.reader import FactReader, Head, Layer, candidates, features, stems
from equipoise.studies.letters.rows import HEAD

FOLDER = Path("judge/letters")
CHUNK = re.compile(r"\[([^\]]*)\] (.+)")
NAMES: dict[str, Manner] = {"k": "kept", "s": "softened", "d": "doubted"}
TOLD, MANNER = 0.1, 0.1
"""Inverse strengths of the penalties, chosen with `THRESHOLD` by leaving out one author of the training letters."""
LOST = ("softened", "doubted")
THRESHOLD = 0.2


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
        letters[-1].chunks.append((match[2], tags))
        for fact, manner in tags.items():
            letters[-1].manners[fact] = manner
    return letters


def labelled(letters: Sequence[Letter], inference: Probabilities) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Compute the features of the candidates of letters, and the label of each: the column of `MANNERS`."""
    listed, labels = [], []
    for letter in letters:
        for one in candidates(letter.text, letter.facts):
            told = {
                tag for chunk, tags in letter.chunks if chunk in one.texts[0] or one.texts[0] in chunk for tag in tags
            }
            manner = letter.manners[one.fact] if one.fact in told else "omitted"
            listed.append(one)
            labels.append(MANNERS.index(manner))
    return features(listed, inference), np.array(labels)


def foreign(letters: Sequence[Letter]) -> list[Letter]:
    """Give each letter the facts of the next one, as far as they are unlike all of its own: all are omitted."""
    paired = zip(letters, (*letters[1:], letters[0]), strict=True)
    return [_about(letter, [one for one in other.facts if not _told(one, letter)]) for letter, other in paired]


def _about(letter: Letter, facts: list[str]) -> Letter:
    """Give a letter facts of which it tells none."""
    manners: list[Manner] = ["omitted"] * len(facts)
    return Letter(letter.author, facts, [""] * len(facts), manners, [(text, {}) for text, _ in letter.chunks])


def _told(fact: str, letter: Letter) -> bool:
    return any(_alike(fact, other) for other in letter.facts)


def _alike(fact: str, other: str) -> bool:
    """Whether two facts share at least a third of their words, so that a letter that tells one may tell the other."""
    first, second = stems(fact), stems(other)
    return 3 * len(first & second) >= max(1, min(len(first), len(second)))


def fit(rows: NDArray[np.float64], labels: NDArray[np.int64]) -> Head:
    """Fit both regressions."""
    tells = labels < MANNERS.index("omitted")
    told = _regression(rows, tells.astype(int), TOLD)
    return Head(told=told, manner=_regression(rows[tells], labels[tells], MANNER), threshold=THRESHOLD)


def _regression(rows: NDArray[np.float64], labels: NDArray[np.int64], penalty: float) -> Layer:
    """Fit on standardised features; the weights returned are those of the features as they are."""
    scaler = StandardScaler().fit(rows)
    model = LogisticRegression(C=penalty, max_iter=5000).fit(scaler.transform(rows), labels)
    weights, constants = model.coef_ / scaler.scale_, model.intercept_
    if len(weights) == 1:  # two labels: the first has the logit 0
        weights, constants = np.vstack([0 * weights, weights]), np.array([0.0, *constants])
    constants = constants - weights @ scaler.mean_
    return Layer(weights=np.round(weights, 6).tolist(), constants=np.round(constants, 6).tolist())


def agreement(labels: Sequence[Manner], read: Sequence[Manner]) -> dict[str, Any]:
    """Compute Cohen's kappa over all manners, of each against the rest, and of those of both differences."""
    pairs = list(zip(labels, read, strict=True))
    return {
        "n": len(pairs),
        "right": round(float(np.mean([a == b for a, b in pairs])), 3),
        "kappa": _kappa(labels, read),
        "changed": _kappa([one in LOST for one in labels], [one in LOST for one in read]),
        "told": _kappa([one == "omitted" for one in labels], [one == "omitted" for one in read]),
        "by_manner": {one: _kappa([a == one for a in labels], [b == one for b in read]) for one in MANNERS},
        "confusion": {one: [sum((a, b) == (one, other) for a, b in pairs) for other in MANNERS] for one in MANNERS},
    }


def _kappa(labels: Sequence[object], read: Sequence[object]) -> float | None:
    """Compute Cohen's kappa; None where there is one label alone."""
    return round(float(cohen_kappa_score(labels, read)), 3) if len({*labels, *read}) > 1 else None


def measured(letters: Sequence[Letter], reader: FactReader) -> dict[str, Any]:
    """Measure a reader on letters: over all facts, by class of facts and by author."""
    read = reader.read([(letter.text, letter.facts) for letter in letters])
    rows = [
        (letter.author, kind, label, one)
        for letter, manners in zip(letters, read, strict=True)
        for kind, label, one in zip(letter.classes, letter.manners, manners, strict=True)
    ]
    groups = {"all": rows}
    groups |= {kind: [row for row in rows if row[1] == kind] for kind in CLASSES}
    groups |= {author: [row for row in rows if row[0] == author] for author in sorted({row[0] for row in rows})}
    return {name: agreement([row[2] for row in own], [row[3] for row in own]) for name, own in groups.items()}


def left_out(letters: Sequence[Letter], inference: Probabilities) -> dict[str, Any]:
    """Measure on the letters of each training author a reader that was fitted on those of the others."""
    rows: list[tuple[Manner, Manner]] = []
    for author in sorted({letter.author for letter in letters}):
        own = [letter for letter in letters if letter.author == author]
        rest = [letter for letter in letters if letter.author != author]
        head = fit(*labelled([*rest, *foreign(rest)], inference))
        read = FactReader(inference, head).read([(letter.text, letter.facts) for letter in own])
        rows += [pair for letter, one in zip(own, read, strict=True) for pair in zip(letter.manners, one, strict=True)]
    return agreement([label for label, _ in rows], [one for _, one in rows])


def found(letters: Sequence[Letter], reader: FactReader) -> float:
    """Compute the share of facts that a reader finds in letters about them."""
    read = reader.read([(letter.text, letter.facts) for letter in letters])
    return round(float(np.mean([manner != "omitted" for manners in read for manner in manners])), 3)


def main() -> None:
    """Fit the head on the training letters, write it, and measure it on those held out."""
    training, held_out = load("training"), load("held_out")
    with cached_probabilities("minilm_snli", Path(), "inference") as inference:
        head = fit(*labelled([*training, *foreign(training)], inference))
        Path(HEAD).write_text(json.dumps(head.model_dump()) + "\n", "utf-8")
        reader = FactReader(inference, head)
        result = {
            "left_out": left_out(training, inference),
            **measured(held_out, reader),
            "found": {"own": found(held_out, reader), "other": found(foreign(held_out), reader)},
        }
    (FOLDER / "agreement.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
