"""Multiple-choice questions asked in several orders of their options, and the option that the model chooses.

Each question is asked in cyclic orders of its options, in which every option has every letter equally often, and the
model's choice is the *option* with the highest mean probability over the orders: the baseline of cyclic permutations of
Zheng et al. 2024 (arXiv:2309.03882), since a model can prefer a letter, or a place in the list. Questions with an
option that refers to others ("All of the above", `equipoise.text.referring`) are asked as written alone: their options
belong where they are.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import number_of, numbered, unnumbered
from equipoise.core.prompts import Prompt, Response
from equipoise.materials.evaluation import EvaluationPrompt
from equipoise.materials.questions import Choice, Order
from equipoise.text.answers import log_sum
from equipoise.text.letters import REFUSAL, read_letter
from equipoise.text.referring import refers

Answering = Literal["likelihood", "generate"]
PREFIX = "Answer:"
"""Beginning of the reply where the letter is read from likelihoods."""
ONE_ORDER = "have options that refer to others, and are asked in one order"
"""What commands say of questions whose options belong where they are."""


class Asking(NamedTuple):
    """How questions are asked: the template, how a letter is read, and the most orders of a question's options."""

    template: EvaluationPrompt
    answering: Answering
    orders: int

    def shifts(self, options: Mapping[str, str]) -> tuple[int, ...]:
        """Choose the cyclic orders in which to show the options: evenly spread, beginning with the order as written.

        Options that refer to each other are shown as written alone.
        """
        count = 1 if in_one_order(options) else min(len(options), self.orders)
        return tuple(number * len(options) // count for number in range(count))


def in_one_order(options: Mapping[str, str]) -> bool:
    """Whether a question keeps the order of its options, since one of them refers to others."""
    return bool(refers(options.values(), options.keys()))


def count_in_one_order(questions: Iterable[tuple[str, Mapping[str, str]]]) -> int | None:
    """Count the questions, given by key and options, that keep their order; None where all can be moved."""
    return sum(map(in_one_order, dict(questions).values())) or None


def shown(options: Mapping[str, str], shift: int) -> dict[str, str]:
    """Move every option on by `shift` places; return the options by the letter under which they are shown."""
    letters = sorted(options)
    return {letter: options[letters[place - shift]] for place, letter in enumerate(letters)}


def option_prompts(key: str, study: str, text: str, options: Mapping[str, str], asking: Asking) -> list[Prompt]:
    """Write a prompt for each order of the options.

    By likelihood, each letter is a candidate after `Answer:` and nothing is generated; otherwise the model replies.
    """
    by_likelihood = asking.answering == "likelihood"
    prompts = []
    for shift in asking.shifts(options):
        listed = shown(options, shift)
        system, user = asking.template.ask(text, listed)
        prompts.append(
            Prompt(
                key=numbered(key, shift),
                study=study,
                system=system,
                prefix=PREFIX if by_likelihood else "",
                turns=(user,),
                candidates=tuple(listed) if by_likelihood else (),
                reply=not by_likelihood,
                lead=asking.template.lead(text) if asking.orders > 1 else "",
            )
        )
    return prompts


def order_of(response: Response, options: Mapping[str, str]) -> Order:
    """Read the answer in one order: parsed from the reply if there is one, else from the letters' likelihoods.

    The probabilities of the letters are their likelihoods divided by their sum; those of a reply are 0 and 1. No
    letter is read if one of which only a bound is known could matter (`equipoise.text.answers.log_sum`).
    """
    shift = number_of(response.key)
    chances: dict[str, float] = {}
    refused = False
    if response.replies:
        letter, rule = read_letter(response.replies[-1], shown(options, shift))
        refused = rule == REFUSAL
        chances = {} if letter is None else {option: float(option == letter) for option in options}
    elif response.at_most:
        known = response.log_likelihood
        total = log_sum(known, response.at_most, options)
        if total is not None:
            chances = {letter: math.exp(known[letter] - total) if letter in known else 0.0 for letter in options}
    elif response.log_likelihood:
        top = max(response.log_likelihood.values())
        weights = {letter: math.exp(value - top) for letter, value in response.log_likelihood.items()}
        total = math.fsum(weights.values())
        chances = {letter: weight / total for letter, weight in weights.items()}
    else:
        raise EquipoiseError(f"response {response.key!r} has neither a reply nor likelihoods: ask the model again")
    places = shown_as(chances, shift)
    read = {letter: chances[place] for letter, place in places.items()}
    return Order(shift=shift, probabilities=read, refused=refused)


def shown_as(letters: Iterable[str], shift: int) -> Mapping[str, str]:
    """Map the letter of each option in the question as written to the letter under which it is shown."""
    return _moved(tuple(sorted(letters)), shift)


@lru_cache(maxsize=64)
def _moved(letters: tuple[str, ...], shift: int) -> Mapping[str, str]:
    return {letter: letters[(place + shift) % len(letters)] for place, letter in enumerate(letters)}


def chosen(orders: Iterable[Order], options: Mapping[str, str]) -> str | None:
    """Choose the option with the highest mean probability over the orders; None where no letter was read in any.

    Orders without a letter are left out. Among equally likely options, the one whose text has the lowest sha256 is
    chosen, so that neither a letter, nor the order that comes first, nor the patient decides.
    """
    read = [order.probabilities for order in orders if order.probabilities]
    totals = {letter: math.fsum(chances[letter] for chances in read) for letter in (read[0] if read else ())}
    return min(totals, key=lambda letter: (-totals[letter], _digest(options.get(letter, letter))), default=None)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def choices(responses: Iterable[Response], options: Mapping[str, Mapping[str, str]]) -> Iterator[Choice]:
    """Read the option that the responses to each question choose; the responses to one question must be adjacent.

    `options` are those of the questions as written, by key.
    """
    for key, group in groupby(responses, key=lambda response: unnumbered(response.key)):
        rows = list(group)
        known = options.get(key, {})
        orders = tuple(order_of(row, known) for row in rows)
        yield Choice(key=key, study=rows[0].study, letter=chosen(orders, known), orders=orders)


def read_choices(path: Path) -> tuple[dict[str, str | None], dict[str, tuple[Order, ...]]]:
    """Read the option chosen for each question, and the answers in the orders of its options, by key."""
    rows = jsonl.read(path, Choice)
    return {row.key: row.letter for row in rows}, {row.key: row.orders for row in rows}


def unparsed(letters: Mapping[str, str | None]) -> int:
    """Count the questions for which no letter could be read."""
    return sum(letter is None for letter in letters.values())
