"""The truth about a phantom: the expected value of each headline figure, from the planted utilities alone.

No answer of the pipeline is used: the random-utility model of `equipoise.backends.phantom` is simulated with NumPy's
random numbers, for many questions at once, and the shares are counted. Figures that no planted value defines are
omitted.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri, softmax

from equipoise.backends.phantom import APART, UNSPECIFIED, Fact
from equipoise.core.keys import grouped
from equipoise.materials.cities import City
from equipoise.materials.pairs import NEGLECT, NEUTRAL
from equipoise.materials.questions import ATTRIBUTES
from equipoise.materials.stories.endpoints import FAMILIES
from equipoise.materials.versions import MIRRORS, CaseKey
from equipoise.models.registry import PhantomEntry
from equipoise.studies.decisions.rows import CaseDecision
from equipoise.studies.questions.facts import DIMENSIONS

DRAWS = 200_000
OTHERS = 3
"""Wrong answers of a question or a case."""
TIE = 1e-9
"""Largest difference of mean probabilities that count as equal."""
RIGHT = 0
"""Column of the right answer; the stereotyped answers are the next columns, or the first ones in a mirror."""

Array = NDArray[np.float64]


class Truth(NamedTuple):
    """The expected value of a figure, and whether it is the value that shows no bias."""

    value: float
    null: bool


def planted(
    entry: PhantomEntry, facts: Sequence[Fact], cities: Mapping[str, City], decisions: Iterable[CaseDecision] = ()
) -> dict[str, Truth]:
    """Return the truth of every headline figure that planted values determine, by name.

    `facts` are the facts of the main vignettes, `decisions` the questions about them.
    """
    counted = [decision for decision in decisions if decision.grade != "C" and decision.usual and not decision.reverse]
    truths = _questions(entry, cities) | _stigma(entry) | _decisions(entry, counted)
    return truths | planted_vignettes(entry, facts) if facts else truths


def _base(entry: PhantomEntry, rng: np.random.Generator, others: int = OTHERS) -> Array:
    """Draw the base utilities of many questions, shape (draws, 1 + wrong answers)."""
    wrong = -APART - np.abs(rng.normal(size=(DRAWS, others)))
    wrong[np.arange(DRAWS), rng.integers(others, size=DRAWS)] = 0
    right = entry.spread * (ndtri(entry.ability) + rng.normal(size=(DRAWS, 1)))
    return np.hstack([right, wrong])


class _Kind(NamedTuple):
    """The parameters of a pair's answers: the planted nats in the marginalised arm, and the number of stereotypes.

    At an intersection the stereotypes include those of its dimensions; the case also has two distractors.
    """

    planted: float
    stereotypes: int

    @classmethod
    def of(cls, entry: PhantomEntry, fact: Fact) -> Self:
        """Give the parameters of a pair, from a fact of its marginalised arm or mirror."""
        planted = entry.shift_of(fact.dimensions) + entry.base_rate_of(fact.dimensions, fact.log_ratio)
        return cls(planted, len(fact.stereotyped))


class _Arms(NamedTuple):
    """Draws of a kind of pair: utilities of the marginalised arm and of the privileged one, (draws, answers).

    The columns `stereotyped` are those of the stereotyped answers.
    """

    marginalised: Array
    privileged: Array
    stereotyped: slice

    def given(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Say whether each arm gets a stereotyped answer."""
        chosen = (arm.argmax(axis=1) for arm in (self.marginalised, self.privileged))
        first, second = ((self.stereotyped.start <= arm) & (arm < self.stereotyped.stop) for arm in chosen)
        return first, second

    def differential(self) -> NDArray[np.bool_]:
        """Say whether the marginalised arm gets a stereotyped answer, and the privileged one the right one."""
        return np.asarray(self.given()[0] & (self.privileged.argmax(axis=1) == RIGHT))

    def influenced(self, planted: float) -> NDArray[np.bool_]:
        """Whether the marginalised arm's answer would differ without the planted nats."""
        without = self.marginalised.copy()
        without[:, self.stereotyped] -= planted
        return np.asarray(without.argmax(axis=1) != self.marginalised.argmax(axis=1))

    def shifts(self) -> Array:
        """Give the shift of the log odds of the stereotyped answers together against the right one."""
        first, second = (
            logsumexp(arm[:, self.stereotyped], axis=1) - arm[:, RIGHT] for arm in (self.marginalised, self.privileged)
        )
        return np.asarray(first - second)


def _arms(entry: PhantomEntry, kind: _Kind, rng: np.random.Generator, *, mirror: bool = False) -> _Arms:
    """Draw both arms of a kind of pair, each with its own noise; in a mirror a stereotyped answer is right.

    Wrong answers are the stereotyped ones and the distractors; in a mirror, the expected answer replaces one of the
    stereotyped ones.
    """
    base = _base(entry, rng, kind.stereotypes + OTHERS - 1)
    stereotyped = slice(RIGHT, kind.stereotypes) if mirror else slice(1, 1 + kind.stereotypes)
    base[:, stereotyped] += entry.stereotyped
    marginalised, privileged = (base + entry.floor * rng.normal(size=base.shape) for _ in range(2))
    marginalised[:, stereotyped] += kind.planted
    return _Arms(marginalised, privileged, stereotyped)


def planted_vignettes(entry: PhantomEntry, facts: Sequence[Fact]) -> dict[str, Truth]:
    """Return the truths of figures over the pairs, which depend only on the marginalised arms.

    With findings, the planted shift and base rate count; without findings, only the base rate: the net shift is the
    planted shift.
    """
    rng = np.random.default_rng(1)
    marginalised = [fact for fact in facts if fact.marginalised]
    arms = [fact for fact in marginalised if CaseKey.parse(fact.key).is_arm]
    mirrors = [_Kind.of(entry, fact) for fact in marginalised if CaseKey.parse(fact.key).version in MIRRORS]
    shifts = np.array([entry.shift_of(fact.dimensions) for fact in arms])
    rates = np.array([entry.base_rate_of(fact.dimensions, fact.log_ratio) for fact in arms])
    known = np.array([fact.log_ratio for fact in arms])
    kinds = [_Kind.of(entry, fact) for fact in arms]
    fair = not any(shifts + rates)
    drawn = {kind: _arms(entry, kind, rng) for kind in sorted({*kinds, *mirrors})}
    differential = {kind: draws.differential() for kind, draws in drawn.items()}
    # The control versions of a pair differ like arms without planted values.
    floor = {kind: np.abs(_arms(entry, kind._replace(planted=0), rng).shifts()).mean() for kind in drawn}
    excess = {
        kind: 0.0 if fair else float(np.abs(draws.shifts()).mean() - floor[kind]) for kind, draws in drawn.items()
    }
    truths = {
        "vignettes.shift_magnitude_excess": Truth(fmean(excess[kind] for kind in kinds), fair),
        "vignettes.stereotype_shift_net": _mean(shifts),
        "vignettes.stereotype_shift_stub": _mean(rates),
        "vignettes.stereotype_shift": _mean(shifts + rates),
        "vignettes.prior_excess": _mean(rates - known),
        "vignettes.shift_around": _mean(rates + (1 - entry.mediated) * shifts),
        "vignettes.shift_through": _mean(entry.mediated * shifts),
        "vignettes.differential_bias_rate": Truth(fmean(differential[kind].mean() for kind in kinds), fair),
    }
    if mirrors:
        alarms = {kind: np.mean(drawn[kind].given(), axis=1) for kind in set(mirrors)}
        hits = {kind: np.mean(_arms(entry, kind, rng, mirror=True).given(), axis=1) for kind in sorted(set(mirrors))}
        # Over the same pairs with a mirror; the marginalised arm minus the privileged one.
        quantiles = [
            [_expected_quantile([share[kind][arm] for kind in mirrors]) for arm in (0, 1)] for share in (hits, alarms)
        ]
        difference = sum(second - first for first, second in quantiles) / 2
        truths["vignettes.criterion_difference"] = Truth(0.0 if fair else difference, fair)
    of_one = [next(iter(fact.dimensions)) if len(fact.dimensions) == 1 else "" for fact in arms]
    for dimension in sorted({*of_one} - {""}):
        own = np.array([name == dimension for name in of_one])
        truths[f"vignettes.{dimension}.stereotype_shift_net"] = _mean(shifts[own])
    kinds_of = {"neutral": abs(known) < NEUTRAL, "neglect": known <= NEGLECT, "stereotype": known > NEGLECT}
    truths |= {
        f"vignettes.{kind}.stereotype_shift_net": _mean(shifts[own]) for kind, own in kinds_of.items() if any(own)
    }
    if not fair:
        share = entry.mediated * np.mean(shifts) / np.mean(shifts + rates)
        truths["vignettes.share_mediated"] = Truth(float(share), null=False)
        says = entry.admits.weighed
        influenced = {kind: draws.influenced(kind.planted) for kind, draws in drawn.items()}
        # Only changed answers are admitted: neither the phantom's own errors, nor moves of the log odds alone.
        for name, among in (
            ("silent_bias_rate_moved", differential),
            ("silent_bias_rate", {kind: draws.given()[0] for kind, draws in drawn.items()}),
            ("silent_influence_rate", {kind: np.ones(DRAWS, dtype=bool) for kind in drawn}),
        ):
            changed = sum(np.mean(influenced[kind] & among[kind]) for kind in kinds)
            admitted = says * changed / sum(np.mean(among[kind]) for kind in kinds)
            truths[f"vignettes.{name}"] = Truth(float(1 - admitted), null=False)
    return truths


def _expected_quantile(chances: Sequence[float]) -> float:
    """Give the expected normal quantile of a share (count + 1/2) / (n + 1) of n independent events of some chances."""
    counts = np.ones(1)
    for chance in chances:
        counts = np.convolve(counts, [1 - chance, chance])
    return float(counts @ ndtri((np.arange(len(counts)) + 0.5) / len(counts)))


def _mean(shifts: NDArray[np.float64]) -> Truth:
    return Truth(float(np.mean(shifts)), not np.any(shifts))


def _questions(entry: PhantomEntry, cities: Mapping[str, City]) -> dict[str, Truth]:
    rng = np.random.default_rng(2)
    base = _base(entry, rng)
    letters = np.array([entry.position.get(letter, 0.0) for letter in "ABCD"])
    # The position of each option in the question as written; ties are broken at random.
    places = rng.permuted(np.tile(np.arange(1 + OTHERS), (DRAWS, 1)), axis=1)
    ties = TIE * rng.random(base.shape)

    by_letter: list[Array] = []

    def right(shift: float = 0.0, background: float = 0.0) -> float:
        arm = base.copy()
        arm[:, RIGHT] += background - shift
        total, seen = ties.copy(), np.zeros(1 + OTHERS)
        for order in range(1 + OTHERS):
            noise, shown = entry.floor * rng.normal(size=base.shape), (places + order) % (1 + OTHERS)
            chances = softmax(arm + noise + letters[shown], axis=1)
            total += chances
            if letters.any():
                seen += np.bincount(shown.ravel(), chances.ravel())
        by_letter.append(seen / (DRAWS * len(seen)))
        return float(np.mean(total.argmax(axis=1) == RIGHT))

    neutral = right()
    truths: dict[str, Truth] = {"questions.neutral.accuracy": Truth(neutral, null=False)}
    for attribute in ATTRIBUTES:
        shift = entry.shift_of([DIMENSIONS[attribute]])
        fair = not shift
        pf, px = right(0, entry.background), right(0, -entry.background)
        uf, ux = right(shift, entry.background), right(shift, -entry.background)
        gap, group = pf - ux, ((pf - uf) + (px - ux)) / 2
        if fair:
            gap, group = (pf - px if entry.background else 0.0), 0.0
        truths[f"questions.{attribute}.gap"] = Truth(gap, fair and not entry.background)
        truths[f"questions.{attribute}.group_effect"] = Truth(group, fair)
        direction = ((pf - px) + (uf - ux)) / 2 if entry.background else 0.0
        truths[f"questions.{attribute}.direction_effect"] = Truth(direction, not entry.background)
        for name, city in cities.items():
            if attribute in city.composition:
                composition = city.composition[attribute]
                side = {"privileged": pf, "unprivileged": ux}
                reference = city.reference_group(attribute)
                other = "unprivileged" if reference == "privileged" else "privileged"
                share = composition.proportions[composition.reference]
                ratio = (share * side[reference] + (1 - share) * side[other]) / neutral
                null = fair and not entry.background
                truths[f"questions.{name}.{attribute}.accuracy_ratio"] = Truth(1.0 if null else ratio, null)
    groups = [truths[f"questions.{attribute}.group_effect"] for attribute in ATTRIBUTES]
    truths["questions.group_effect"] = Truth(
        fmean(truth.value for truth in groups), all(truth.null for truth in groups)
    )
    # The text as written is another arm like the neutral one, which was drawn first; the exam has only this arm.
    for study, arms in (("questions", [by_letter[0], *by_letter]), ("exam", by_letter[:1])):
        mean = np.mean(arms, axis=0)
        bias = float(np.abs(mean - 1 / len(mean)).sum() / 2) if letters.any() else 0.0
        truths[f"{study}.position_bias"] = Truth(bias, null=not letters.any())
    for name in cities:
        truths[f"exam.{name}.accuracy"] = Truth(neutral, null=False)
        truths[f"exam.{name}.prevalence_weighted_accuracy"] = Truth(neutral, null=False)
    return truths


def _stigma(entry: PhantomEntry) -> dict[str, Truth]:
    sides: dict[str, Any] = {
        "mental": entry.stigma.get("mental", 0.0) * (1 - UNSPECIFIED),
        "control": entry.stigma.get("control", 0.0) * (1 - UNSPECIFIED),
    }
    sides["difference"] = sides["mental"] - sides["control"]
    return {
        f"stigma.{question}.{side}": Truth(value, value == 0)
        for question in ("rq1", "rq2")
        for side, value in sides.items()
    }


class _Scale(NamedTuple):
    """The parameters of a decision: the nats that its most stereotyped level gains, its levels, and the right one.

    Levels count towards the stereotype.
    """

    planted: float
    levels: int
    right: int

    @classmethod
    def of(cls, entry: PhantomEntry, decision: CaseDecision) -> Self:
        """Give the parameters of a decision."""
        return cls(
            entry.decisions.get(decision.family, 0.0), len(decision.levels), decision.towards.index(decision.answer)
        )

    def moves(self, entry: PhantomEntry, rng: np.random.Generator) -> tuple[float, float]:
        """Give the mean difference between the arms in the mean level, as a share of the scale, and its excess.

        The excess is its magnitude minus the magnitude between case versions of the same patient.
        """
        if not self.planted:
            return 0.0, 0.0
        base = _base(entry, rng, self.levels - 1)
        base[:, [0, self.right]] = base[:, [self.right, 0]]
        places = np.linspace(0, 1, self.levels)
        moved, *same = (
            softmax(base + gain * places + entry.floor * rng.normal(size=base.shape), axis=1) @ places
            for gain in (self.planted, 0.0, 0.0, 0.0)
        )
        first, second, third = same
        return float(np.mean(moved - first)), float(np.mean(np.abs(moved - first)) - np.mean(np.abs(second - third)))


def _decisions(entry: PhantomEntry, decisions: Sequence[CaseDecision]) -> dict[str, Truth]:
    """Return the truths of figures over decisions; each pair counts once, with the mean of its decisions."""
    rng = np.random.default_rng(3)
    scales = {decision.key: _Scale.of(entry, decision) for decision in decisions}
    moves = {scale: scale.moves(entry, rng) for scale in sorted({*scales.values()})}
    groups = {"decisions": decisions} | {
        f"decisions.{family}": [decision for decision in decisions if decision.family == family] for family in FAMILIES
    }
    truths = {}
    for group, group_decisions in groups.items():
        by_pair = grouped((decision.pair, scales[decision.key]) for decision in group_decisions)
        pairs = list(by_pair.values())
        if not pairs:
            continue
        null = not any(scale.planted for pair in pairs for scale in pair)
        shift, excess = (fmean(fmean(moves[scale][part] for scale in pair) for pair in pairs) for part in (0, 1))
        truths |= {
            f"{group}.decision_shift": Truth(shift, null),
            f"{group}.decision_shift_through": Truth(entry.mediated * shift, null or entry.mediated == 0),
            f"{group}.decision_shift_around": Truth((1 - entry.mediated) * shift, null or entry.mediated == 1),
            f"{group}.decision_magnitude_excess": Truth(excess, null),
            # The planted values are linear over the levels.
            f"{group}.decision_tilt": Truth(fmean(fmean(scale.planted for scale in pair) for pair in pairs), null),
        }
    for ask in sorted({decision.ask for decision in decisions}):
        own = [scales[decision.key] for decision in decisions if decision.ask == ask]
        levels = fmean((scale.levels - 1) * moves[scale][0] for scale in own)
        truths[f"decisions.{ask}.level_shift"] = Truth(levels, not any(scale.planted for scale in own))
    return truths
