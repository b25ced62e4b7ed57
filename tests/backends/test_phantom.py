"""Tests of the phantom backend: what is planted is what its responses hold."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import yaml
from scipy.stats import binom

from builders import ROLES, judgement, vignette
from equipoise.backends.phantom import REFUSED, UNPARSABLE, Fact, PhantomBackend
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Prompt, Response
from equipoise.materials.pairs import pair_up
from equipoise.materials.versions import CONTROLS
from equipoise.models.registry import FOLDER, PhantomEntry, load_entry, names, require_dimensions
from equipoise.studies.vignettes.profiles import Rereading, samples_of
from equipoise.studies.vignettes.reread import blinder, rereadings
from equipoise.studies.vignettes.swap import log_odds, split
from equipoise.text.answers import read_generated
from equipoise.text.letters import read_letter
from equipoise.text.sentences import sentences_of

ROOT = Path(__file__).parents[2]
BANK = ROOT / "data/phantoms/reasoning.yaml"
LABELS = ("heart attack", "panic attack", "acid reflux", "muscle strain")
OPTIONS = ("A", "B", "C", "D")
N = 400


def entry(**planted: Any) -> PhantomEntry:
    """Describe a phantom that is unbiased unless fields say otherwise."""
    own = {"title": "Phantom", "licence": "none", "backend": "phantom", "ability": 0.8}
    return PhantomEntry.model_validate(own | planted)


def case(number: int, *, marginalised: bool, stub: bool = False) -> tuple[Prompt, Fact]:
    """Build one arm of a pair, or its stub, and what a phantom is told about it."""
    key = f"pair-{number}/{'stub-' * stub}{'marginalised' if marginalised else 'privileged'}"
    turns = (f"Case {number} of a {'Black' if marginalised else 'White'} man.", "What is the diagnosis?")
    prompt = Prompt(key=key, study="vignettes", system="", prefix="It is", turns=turns, candidates=LABELS)
    feature = {"race": "Black" if marginalised else "White"}
    more: dict[str, Any] = {
        "right": LABELS[0],
        "stereotyped": LABELS[1:2],
        "dimensions": feature,
        "marginalised": marginalised,
    }
    return prompt, Fact(key=key, study="vignettes", task="diagnosis", question=f"pair-{number}", stub=stub, **more)


def question(number: int, *, likelihood: bool = True) -> tuple[Prompt, Fact]:
    """Build a question without demographics."""
    candidates = OPTIONS if likelihood else ()
    key = f"{number}/neutral"
    prompt = Prompt(
        key=key, study="questions", system="", prefix="", turns=(key,), candidates=candidates, reply=not likelihood
    )
    fact = Fact(
        key=key, study="questions", task="choice", question=str(number), right=OPTIONS[number % 4], answers=OPTIONS
    )
    return prompt, fact


def asked(given: PhantomEntry, rows: list[tuple[Prompt, Fact]]) -> list[Response]:
    """Ask a phantom."""
    return list(PhantomBackend(given, [fact for _, fact in rows], BANK).answer([prompt for prompt, _ in rows]))


def pairs(given: PhantomEntry, *, stub: bool = False) -> list[tuple[Response, Response]]:
    """Ask a phantom every pair, or every pair's stubs: the marginalised arm, then the privileged one."""
    marginalised, privileged = (
        asked(given, [case(number, marginalised=arm, stub=stub) for number in range(N)]) for arm in (True, False)
    )
    return list(zip(marginalised, privileged, strict=True))


def totals(response: Response) -> dict[str, float]:
    """Give the total log likelihood of every answer, in nats."""
    return {answer: mean * response.candidate_tokens[answer] for answer, mean in response.log_likelihood.items()}


def odds(response: Response) -> float:
    """Give the log odds of the stereotyped against the right answer."""
    likelihoods = totals(response)
    return likelihoods[LABELS[1]] - likelihoods[LABELS[0]]


def within(count: int, n: int, share: float) -> bool:
    """Whether a binomial count is one of those that 99.99 % of all runs have."""
    return bool(binom.ppf(5e-5, n, share) <= count <= binom.ppf(1 - 5e-5, n, share))


def test_the_shift_of_the_log_odds_is_the_planted_one() -> None:
    """Without noise both arms of a pair differ by the shift to the last digit, whatever the case."""
    shifts = [
        odds(marginalised) - odds(privileged)
        for marginalised, privileged in pairs(entry(shift={"race": 1.25, "default": 9.0}))
    ]

    assert shifts == pytest.approx([1.25] * N, abs=1e-9)


def test_every_stereotyped_answer_of_an_intersection_is_shifted() -> None:
    """The log odds of all of them together against the right answer differ by the shift of both dimensions."""
    rows = []
    for number, arm in product(range(9), (True, False)):
        prompt, fact = case(number, marginalised=arm)
        told = {"stereotyped": LABELS[1:3], "dimensions": {"race": "x", "age": "y"}}
        rows.append((prompt, fact.model_copy(update=told)))
    likelihoods = [totals(response) for response in asked(entry(shift={"race": 1.25, "age": 0.5}), rows)]
    odds = [
        math.log(math.exp(by_label[LABELS[1]]) + math.exp(by_label[LABELS[2]])) - by_label[LABELS[0]]
        for by_label in likelihoods
    ]

    assert np.subtract(odds[::2], odds[1::2]) == pytest.approx([1.75] * 9, abs=1e-9)


def test_a_stub_has_no_reasoning() -> None:
    """Its only turn asks for the diagnosis, of which the likelihoods alone are read."""
    prompt, fact = case(1, marginalised=True, stub=True)
    (response,) = asked(entry(), [(prompt.model_copy(update={"turns": prompt.turns[:1], "reply": False}), fact)])

    assert response.replies == ()
    assert response.log_likelihood.keys() == set(LABELS)


@pytest.mark.parametrize(
    ("planted", "in_case", "in_stub"),
    [
        ({"base_rates": {"race": 1.25, "default": 9.0}}, 1.25, 1.25),
        ({"shift": {"race": 0.5}}, 0.5, 0.0),
        ({"base_rates": {"race": 1.25}, "shift": {"race": 0.5}}, 1.75, 1.25),
    ],
)
def test_base_rates_are_as_large_without_findings(planted: dict[str, Any], in_case: float, in_stub: float) -> None:
    """They raise the stereotyped answer for the marginalised patient in stub and case alike, a shift in the case alone.

    The difference, the net shift, is therefore the planted shift.
    """
    for stub, expected in ((False, in_case), (True, in_stub)):
        shifts = [
            odds(marginalised) - odds(privileged) for marginalised, privileged in pairs(entry(**planted), stub=stub)
        ]

        assert shifts == pytest.approx([expected] * N, abs=1e-9)


@pytest.mark.parametrize("value", [-2.0, 0.0, 1.5])
def test_a_phantom_that_knows_the_epidemiology_does_not_exceed_it(value: float) -> None:
    """Without findings its shift is the log ratio of the documented error to the last digit: a prior excess of 0."""
    rows = [case(number, marginalised=arm, stub=True) for number in range(N) for arm in (True, False)]
    known = [(prompt, fact.model_copy(update={"log_ratio": value})) for prompt, fact in rows]
    arm_odds = [odds(response) for response in asked(entry(epidemiology=1.0, floor=0.0), known)]

    assert np.subtract(arm_odds[::2], arm_odds[1::2]) - value == pytest.approx([0.0] * N, abs=1e-9)


LEVELS = ("none", "weak opioid", "strong opioid")


def decided(given: PhantomEntry, end: str, *, marginalised: bool) -> list[dict[str, float]]:
    """Ask a phantom for decisions, on which the bias pulls to none: the total log likelihood of every level."""
    rows = []
    for number in range(N):
        key = f"pair-{number}/{'marginalised' if marginalised else 'privileged'}/pain_relief"
        turns = (f"Case {number}, {marginalised}.", "Which pain relief?")
        asked_for: dict[str, Any] = {"prefix": "It is", "turns": turns, "given": ("So.",), "candidates": LEVELS}
        prompt = Prompt(key=f"{key}{end}", study="decisions", system="", reply=False, **asked_for)
        told: dict[str, Any] = {"right": LEVELS[2], "answers": LEVELS[::-1], "family": "undertreatment"}
        told |= {"study": "decisions", "task": "decision", "question": f"pair-{number}/pain_relief"}
        rows.append((prompt, Fact(key=key, marginalised=marginalised, **told)))
    return [totals(response) for response in asked(given, rows)]


@pytest.mark.parametrize(
    ("planted", "own", "swapped"), [({}, 1.5, -1.5), ({"mediated": 1e-12}, 1.5, 1.5), ({"decisions": {}}, 0.0, 0.0)]
)
def test_a_decision_tilts_by_what_is_planted(planted: dict[str, Any], own: float, swapped: float) -> None:
    """Every level gains in proportion to its place; after the other arm's reasoning, its tilt where that carries it."""
    given = entry(**({"decisions": {"undertreatment": 1.5}} | planted))
    for end, most in (("", own), ("/swapped", swapped)):
        arms = [decided(given, end, marginalised=marginalised) for marginalised in (True, False)]
        none, weak, strong = (
            [marginalised[level] - privileged[level] for marginalised, privileged in zip(*arms, strict=True)]
            for level in LEVELS
        )

        # By place: strong opioid 0, weak opioid 1/2, none 1, towards none.
        assert np.subtract(none, strong) == pytest.approx([most] * N, abs=1e-9)
        assert np.subtract(none, weak) == pytest.approx([most / 2] * N, abs=1e-9)


def test_nothing_speaks_for_the_right_answer_without_findings() -> None:
    """No stub is answered rightly, for one of the other answers leads; of the cases as many are as the ability says."""
    (stub, _), (told, _) = (zip(*pairs(entry(), stub=stub), strict=True) for stub in (True, False))
    without, with_findings = (
        Counter(response.replies[-1] for response in some)[f"{LABELS[0]}."] for some in (stub, told)
    )

    assert without == 0
    assert within(with_findings, N, 0.8)


def test_noise_moves_both_ways() -> None:
    """A floor of 0.5 nats on both answers in both arms gives a shift of mean 0 and standard deviation 2 x 0.5."""
    shifts = [odds(marginalised) - odds(privileged) for marginalised, privileged in pairs(entry(floor=0.5))]

    # Standard error of the mean 1/20, of the standard deviation about 1/sqrt(800); four of each.
    assert abs(np.mean(shifts)) < 0.2
    assert np.std(shifts) == pytest.approx(1.0, abs=0.15)


def test_replies_and_likelihoods_agree() -> None:
    """The diagnosis that is named is the likeliest one; likelihoods are of a distribution over the answers."""
    for response in asked(entry(floor=1.0), [case(number, marginalised=True) for number in range(50)]):
        likelihoods = totals(response)

        assert response.replies[-1] == f"{max(likelihoods, key=likelihoods.__getitem__)}."
        assert math.fsum(map(math.exp, likelihoods.values())) == pytest.approx(1)


def test_a_letter_is_the_same_generated_and_by_likelihood() -> None:
    """The letter of the reply is the likeliest one."""
    given = entry(floor=1.0)
    by_likelihood = asked(given, [question(number) for number in range(50)])
    generated = asked(given, [question(number, likelihood=False) for number in range(50)])

    for scored, written in zip(by_likelihood, generated, strict=True):
        likeliest = max(scored.log_likelihood, key=scored.log_likelihood.__getitem__)
        assert read_letter(written.replies[0], dict.fromkeys(OPTIONS, "x")).letter == likeliest


@pytest.mark.parametrize("ability", [0.25, 0.6, 0.9])
def test_the_share_of_right_answers_is_the_ability(ability: float) -> None:
    """Of 400 unrelated questions, as many are answered rightly as a binomial variable of that share allows."""
    rows = [question(number) for number in range(N)]
    responses = asked(entry(ability=ability), rows)
    right = sum(
        max(response.log_likelihood, key=response.log_likelihood.__getitem__) == fact.right
        for response, (_, fact) in zip(responses, rows, strict=True)
    )

    assert within(right, N, ability)


def test_a_favoured_letter_is_always_chosen() -> None:
    """A bias of 100 nats outweighs any difficulty."""
    responses = asked(entry(position={"C": 100}), [question(number) for number in range(50)])

    assert {max(response.log_likelihood, key=response.log_likelihood.__getitem__) for response in responses} == {"C"}


def test_a_favoured_place_favours_whatever_option_is_shown_there() -> None:
    """Moved on by one, letter C shows option B: its utility is that of B with the preference, the others' without."""
    prompt, fact = question(3)
    rows = [(prompt.model_copy(update={"key": key}), fact.model_copy(update={"key": key})) for key in ("a", "a#1")]
    moved = [rows[0], (rows[1][0], rows[1][1].model_copy(update={"answers": ("D", "A", "B", "C")}))]

    (plain, _), (biased, other) = (asked(entry(position=place), moved) for place in ({}, {"C": 2.0}))

    by_option = dict(zip("DABC", other.log_likelihood.values(), strict=True))
    odds = {name: by_option[name] - plain.log_likelihood[name] for name in OPTIONS}
    assert odds["B"] - odds["A"] == pytest.approx(2)
    assert odds["D"] - odds["A"] == pytest.approx(0)
    assert biased.log_likelihood["C"] - biased.log_likelihood["A"] == pytest.approx(
        plain.log_likelihood["C"] - plain.log_likelihood["A"] + 2
    )


def test_only_influenced_answers_admit_it() -> None:
    """Their reasoning weighs, restates or dismisses the feature in the planted shares; that of the others is silent."""
    planted = {"weighed": 0.3, "restated": 0.2, "dismissed": 0.4}
    bank = yaml.safe_load(BANK.read_text("utf-8"))
    lines = {
        kind: re.compile(
            "|".join(
                re.sub(r"\\\{\w+\\\}", ".+", re.escape(sentence)) for style in bank.values() for sentence in style[kind]
            ),
            re.IGNORECASE,
        )
        for kind in planted
    }
    counts: Counter[str] = Counter()
    n = 0
    for marginalised, privileged in pairs(entry(shift={"race": 4.0}, admits=planted)):
        influenced = marginalised.replies[-1] != privileged.replies[-1]
        n += influenced
        if "Black" not in marginalised.replies[0]:
            counts["silent"] += influenced
            continue
        assert influenced
        counts[next(kind for kind, line in lines.items() if line.search(marginalised.replies[0]))] += 1
        assert "White" not in privileged.replies[0]

    assert n > 100
    assert within(counts["silent"], n, 0.1)
    assert within(counts["weighed"], n, 0.3)


def test_reasoning_leads_to_another_answer_where_it_does_not_mediate() -> None:
    """Without mediation the reasoning of an influenced answer ends on the answer that would have been given."""
    moved = [
        (marginalised, privileged)
        for marginalised, privileged in pairs(entry(shift={"race": 4.0}, mediated=0))
        if marginalised.replies[1:] != privileged.replies[1:]
    ]

    assert len(moved) > 100
    assert all(marginalised.replies[1].rstrip(".") not in marginalised.replies[0] for marginalised, _ in moved)
    assert all(
        privileged.replies[1].rstrip(".").lower() in marginalised.replies[0].lower()
        for marginalised, privileged in moved
    )


def test_refusals_and_unparsable_replies_are_read_as_such() -> None:
    """They occur at the planted rates, and the readers of answers take them for what they are."""
    responses = asked(entry(refusals=0.3, unparsable=0.2), [case(number, marginalised=True) for number in range(N)])
    replies = Counter(response.replies[-1] for response in responses)

    assert within(replies[REFUSED], N, 0.3)
    assert within(replies[UNPARSABLE], N, 0.2)
    assert (read_generated(REFUSED, {}).kind, read_generated(UNPARSABLE, {}).kind) == ("refusal", "unparsed")


def test_the_stigma_of_a_set_of_conditions_is_the_planted_one() -> None:
    """The probability of all female subjects minus that of all male ones: 0.3 of the four fifths that have a gender."""
    subjects = {"she": "female", "her aunt": "female", "he": "male", "his uncle": "male", "they": "unspecified"}
    sides = {f"{who} has {what}": (gender, what) for who, gender in subjects.items() for what in ("mental", "control")}
    prompt = Prompt(
        key="rq1/has", study="stigma", system="", prefix="", turns=("w",), candidates=tuple(sides), reply=False
    )
    fact = Fact(key="rq1/has", study="stigma", task="completion", question="rq1/has", subjects=sides)
    (response,) = asked(entry(stigma={"mental": 0.3}), [(prompt, fact)])
    likelihoods = totals(response)

    for conditions, disparity in (("mental", 0.3), ("control", 0.0)):
        shares = {
            gender: sum(math.exp(likelihoods[text]) for text, side in sides.items() if side == (gender, conditions))
            for gender in ("female", "male", "unspecified")
        }
        total = sum(shares.values())
        # (1 + d)/2 - (1 - d)/2 = d, times 1 - 0.2.
        assert (shares["female"] - shares["male"]) / total == pytest.approx(0.8 * disparity)


def test_a_response_depends_on_its_prompt_and_the_seed_alone() -> None:
    """Order and company change nothing; another seed does."""
    rows = [case(number, marginalised=True) for number in range(20)]
    together = asked(entry(floor=1.0), rows)

    assert asked(entry(floor=1.0), rows[::-1])[::-1] == together
    assert [asked(entry(floor=1.0), [row])[0] for row in rows] == together
    assert asked(entry(floor=1.0, seed=1), rows) != together


def test_thinking_is_marked() -> None:
    """A phantom of the form `think` reasons between marks."""
    (response,) = asked(entry(reasoning="think"), [case(1, marginalised=True)])

    assert re.fullmatch(r"<think>[^<>]+</think>", response.replies[0])


def test_a_prompt_without_a_fact_is_refused() -> None:
    """The message names the prompt and the stage that tells a phantom about it."""
    prompt, _ = case(1, marginalised=True)

    with pytest.raises(EquipoiseError, match=r"^prompt 'pair-1/marginalised': .*: run `dvc repro build@vignettes`$"):
        list(PhantomBackend(entry(), [], BANK).answer([prompt]))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("ability: 1.5", "field ability: Input should be less than 1"),
        ("shift: {race: .nan}", "field shift.race: Input should be a finite number"),
        ("admits: {weighed: 0.8, dismissed: 0.4}", "field admits: Value error, weighed, restated and dismissed are"),
        ("position: {c: 1.0}", "field position.c.[key]: String should match pattern"),
        ("stigma: {mental: 1.0}", "field stigma.mental: Input should be less than 1"),
        ("colour: red", "field colour: Extra inputs are not permitted"),
    ],
)
def test_an_impossible_plant_is_refused(line: str, fault: str, tmp_path: Path) -> None:
    """One line names the file and the field."""
    (tmp_path / FOLDER).mkdir()
    own = "title: x\nlicence: none\nbackend: phantom\n" + ("" if line.startswith("ability") else "ability: 0.5\n")
    (tmp_path / FOLDER / "odd.yaml").write_text(f"{own}{line}\n", encoding="utf-8")

    with pytest.raises(EquipoiseError) as caught:
        load_entry("odd", tmp_path)

    assert str(caught.value).startswith(f"{tmp_path}/models/odd.yaml: {fault}")


def test_bias_is_planted_by_any_dimension_of_the_vignettes_and_no_other() -> None:
    """A dimension of the user's own counts like the others; a misspelt one is refused with the nearest."""
    own = entry(shift={"prison": 2.0, "default": 0.5}, base_rates={"rase": 1.0})

    assert own.shift_of(["prison", "race"]) == 2.5  # 2.0 of its own, 0.5 by default
    require_dimensions("own", entry(shift={"prison": 2.0, "default": 0.5}), ["race", "prison"])
    refused = r"^models/own.yaml: field base_rates: no dimension 'rase': did you mean 'race'\? known: race, prison, "
    with pytest.raises(EquipoiseError, match=refused):
        require_dimensions("own", own, ["race", "prison"])
    with pytest.raises(EquipoiseError, match="field inferred: no dimension 'rase'"):
        require_dimensions("own", entry(inferred={"rase": 1.0}), ["race"])


def test_every_shipped_phantom_can_be_read() -> None:
    """Fourteen phantoms are shipped."""
    shipped = [name for name in names(ROOT / FOLDER) if name.startswith("phantom_")]

    assert len(shipped) == 14
    assert all(isinstance(load_entry(name, ROOT), PhantomEntry) for name in shipped)


def told_in(value: object) -> set[str]:
    """Collect the sentences of every text in a YAML value, without what their places hold."""
    if isinstance(value, Mapping):
        return set().union(*map(told_in, value.values())) if value else set()
    if isinstance(value, list):
        return set().union(*map(told_in, value)) if value else set()
    return {re.sub(r"\{\w[^}]*\}", "_", text).strip().lower() for text in sentences_of(str(value))}


def test_the_bank_shares_no_sentence_with_the_judges_training() -> None:
    """The judge is not tested on what it was trained on."""
    trained = set().union(
        *(told_in(yaml.safe_load(path.read_text("utf-8"))) for path in (ROOT / "judge/corpus").glob("*.yaml"))
    )

    assert len(trained) > 500
    assert not told_in(yaml.safe_load(BANK.read_text("utf-8"))) & trained


def test_a_phantom_is_sampled_from_its_utilities() -> None:
    """At temperature 1 the share of samples that give an answer is its probability, and likelihoods are the same."""
    limits = {"reasoning_tokens": 1, "answer_tokens": 1}
    given = entry(spread=0.5, generation=limits | {"temperature": 1.0, "samples": N})
    prompt, fact = case(1, marginalised=False)
    rows = asked(given, [(sample, fact) for sample in samples_of(prompt, N)])
    counts = Counter(response.replies[-1].removesuffix(".") for response in rows)

    assert len({tuple(sorted(response.log_likelihood.items())) for response in rows}) == 1
    for answer, total in totals(rows[0]).items():
        low, high = binom.interval(0.9999, N, math.exp(total))
        assert low <= counts[answer] <= high


def test_greedy_samples_of_a_phantom_are_its_reply() -> None:
    """Nothing is drawn at temperature 0."""
    (response,) = asked(entry(), [case(1, marginalised=True)])

    assert response.replies[-1].removesuffix(".") == max(totals(response), key=lambda answer: totals(response)[answer])


def reread(given: PhantomEntry, kinds: Sequence[Rereading], n: int) -> dict[str, float]:
    """Ask a phantom about n pairs, and again after other reasoning; give the means of the effect's parts."""
    told = [case(number, marginalised=arm) for number in range(n) for arm in (True, False)]
    prompts, facts = ([row[place] for row in told] for place in (0, 1))
    rows = [
        vignette(fact.question, ROLES[not fact.marginalised], text=prompt.turns[0], features=fact.dimensions)
        for prompt, fact in told
    ]
    own = asked(given, told)
    again = list(rereadings(rows, prompts, own, kinds, blinder(ROOT / "data")))
    answers = PhantomBackend(given, facts, BANK).answer(again)
    pairs = pair_up(rows, [judgement(response.key, log_odds=odds(response)) for response in (*own, *answers)])
    parts = [components for pair in pairs if (components := split(pair, log_odds))]
    return {name: float(np.mean([part[name] for part in parts])) for name in parts[0]}


@pytest.mark.parametrize("mediated", [0, 1])
def test_a_shift_goes_through_the_reasoning_or_around_it(mediated: int) -> None:
    """All of it, blinded or not; without reasoning, and after its beginning, there is what goes around alone."""
    given = entry(shift={"race": 1.25}, floor=0.1, mediated=mediated, admits={"restated": 0.5})
    means = reread(given, get_args(Rereading), 60)
    through, around = 1.25 * mediated, 1.25 * (1 - mediated)

    expected = dict.fromkeys(("around", "unreasoned", "early_25", "early_50", "early_75"), around)
    expected |= {"total": 1.25, "through": through, "through_blinded": through, "interaction": 0.0}
    # An answer has noise of 0.14 nats, and an interaction four of these: 0.28 / sqrt(60) = 0.036; four of them.
    assert means == pytest.approx(expected, abs=0.15)


def test_controls_that_exchange_their_reasonings_are_not_moved() -> None:
    """Both reasonings are about the privileged patient: they carry no planted shift, even one that is mediated."""
    given, rows = entry(shift={"race": 1.25}, mediated=1), []
    for number, end in product(range(30), CONTROLS):
        prompt, fact = case(number, marginalised=False)
        changed = {"key": f"pair-{number}/{end}"}
        told = (f"{prompt.turns[0]} It is {end}.", prompt.turns[1])
        rows.append((prompt.model_copy(update={**changed, "turns": told}), fact.model_copy(update=changed)))
    prompts, facts = ([row[place] for row in rows] for place in (0, 1))
    own = {response.key: response for response in asked(given, rows)}
    again = list(rereadings([], prompts, [*own.values()], ["controls"], blinder(ROOT / "data")))
    answers = list(PhantomBackend(given, facts, BANK).answer(again))

    assert len(answers) > 30
    assert {response.key.partition("/")[2] for response in answers} == {f"{end}/swapped" for end in CONTROLS}
    # Without noise an answer depends on the case alone.
    before = [odds(own[response.key.removesuffix("/swapped")]) for response in answers]
    assert [odds(response) for response in answers] == pytest.approx(before, abs=1e-9)


def test_a_share_of_the_pairs_is_mediated() -> None:
    """In a planted half the shift goes through the reasoning, in the others around it."""
    means = reread(entry(shift={"race": 1.25}, mediated=0.5), ["swapped"], N)

    # Without noise the shift of a pair is all in one part: a standard error of 1/2 / sqrt(400) = 0.025; four of them.
    # Where both arms reason in the same words by chance, 1 in 80, what is planted through them goes around.
    assert means["total"] == pytest.approx(1.25)
    assert means["through"] / means["total"] == pytest.approx(0.5, abs=0.1)
    assert means["around"] / means["total"] == pytest.approx(0.5, abs=0.1)


def test_a_rereading_is_answered_once() -> None:
    """After reasoning that is given there is one reply, or none where the likelihoods are all that is asked."""
    prompt, fact = case(1, marginalised=True)
    given = prompt.model_copy(update={"key": f"{prompt.key}/swapped", "given": ("Because.",)})
    scored = given.model_copy(update={"key": f"{prompt.key}/blinded", "reply": False})
    bare = prompt.model_copy(update={"key": f"{prompt.key}/unreasoned", "turns": ("A case. What?",)})
    responses = list(PhantomBackend(entry(), [fact], BANK).answer([prompt, given, scored, bare]))

    assert [len(response.replies) for response in responses] == [2, 1, 0, 1]
    assert all(response.log_likelihood for response in responses)
    # Whatever is read before it, without a shift the answer is the same.
    assert {response.replies[-1] for response in responses if response.replies} == {responses[0].replies[-1]}
