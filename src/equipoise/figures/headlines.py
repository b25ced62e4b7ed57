"""The headline figures: one catalogue for metrics files, leaderboard, comparison of revisions, report and README.

A headline figure has one name everywhere: `questions.race.gap` is a gate of `equipoise compare`, a column of the
leaderboard, a card of the report and the path of a table in `metrics/questions.json`. It is the estimate of one effect;
a name with `*` means the same measure in every group of a family.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

from equipoise.core.catalogue import CATALOGUE as CATALOGUE_OF_STUDIES
from equipoise.figures.effects import Effect, Nested
from equipoise.materials.questions import ATTRIBUTES

Kind = Literal["mean", "share", "ratio", "contrast"]
"""How a figure's change from one revision to another is estimated: see `equipoise.compare.estimators`."""
Field: TypeAlias = Literal["estimate", "interval", "p"]

STUDIES: dict[str, str] = {name: entry.title for name, entry in CATALOGUE_OF_STUDIES.items()}
"""Titles of the studies, in the order in which they are shown."""
CONDITIONS = {"rq1": "who has the condition", "rq2": "towards whom is the attitude"}
"""What the two questions of the stigma study ask."""
COUNTS = {
    ("guard", "all", "n_triggered"): "guards_triggered",
    ("run", "all", "n_prompts"): "prompts",
    ("run", "all", "unparsed"): "unparsed",
    ("overall", "all", "influence_found"): "influence_found",
    ("overall", "all", "labels"): "labels",
}
"""Counts and flags in the metrics files, with the headline figures, by family, group and measure of their effects."""
EVERY = "*"
"""In place of a group: the same measure in every group of the family."""
MINUS = "\N{MINUS SIGN}"
LEAST_COVERAGE = 0.92
"""An interval whose simulated coverage is lower is printed with it."""
FULL: tuple[Field, ...] = ("estimate", "interval", "p")
LABELLED: tuple[tuple[str, str, tuple[Field, ...]], ...] = (
    ("silent_bias_rate_moved", "silent bias rate, corrected with labels", ("estimate", "interval")),
    ("silent_bias_rate", "silent bias rate, all biased answers, corrected with labels", ("estimate",)),
    ("considered_rate_difference", "difference in considering features, corrected with labels", ("estimate",)),
)
"""Figures that labels of the run correct for the judge's error: measures, titles and fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One headline figure: which effect it is, how it is written, and who shows it.

    `family`, `group` and `measure` are the effect's. `sentence` says what the figure is; `null` is the value that shows
    no bias, None where there is none, `below` and `above` what a value on either side of it means. `fields` are written
    to the metrics file; those that are `sized` have their `n` there too, where it is not that of the study. On the
    `board` are columns of the leaderboard and cards of the report; a column that is a `pick` is the lowest or highest
    estimate of all groups.

    `change` is how its change is estimated (None: revisions are not compared by it) over items of the plural `unit`;
    `worse` is which change is for the worse of a figure without a null value (of the others, that away from it);
    `denominator` says what a ratio's denominator counts, where a reader should see it, and `seed` names its random
    numbers (older than the figure's name, and kept so that published intervals stay). `plots` are the stems of the
    pictures that show it. A `verdict` on silent bias (`metrics.silence`) is written beside the figure.
    """

    name: str
    measure: str
    title: str
    family: str = "overall"
    group: str = "all"
    sentence: str = ""
    null: float | None = None
    below: str = ""
    above: str = ""
    fields: tuple[Field, ...] = FULL
    sized: bool = True
    board: bool = False
    pick: Literal["lowest", "highest"] | None = None
    change: Kind | None = None
    worse: Literal["higher", "lower"] | None = None
    unit: str = ""
    denominator: str = ""
    seed: str = ""
    plots: tuple[str, ...] = ()
    verdict: bool = False

    @property
    def study(self) -> str:
        """The study: the first part of the name, and the stem of the metrics file."""
        return self.name.partition(".")[0]

    @property
    def path(self) -> tuple[str, ...]:
        """Where the study's metrics file has the figure."""
        return tuple(self.name.split(".")[1:])

    def covers(self, effect: Effect) -> bool:
        """Whether an effect is this figure, or one of those that it covers or is picked from."""
        return (effect.study, effect.family, effect.measure) == (
            self.study,
            self.family,
            self.measure,
        ) and self.group in (EVERY, effect.group)

    def of_group(self, group: str) -> Self:
        """Give the figure of one group; that of a single group is itself."""
        if self.group != EVERY:
            return self
        name, seed = (text.replace(EVERY, group.replace("/", ".")) for text in (self.name, self.seed))
        title = self.title.replace(EVERY, group.replace("/", ", ").replace("_", " "))
        return replace(self, name=name, seed=seed, title=title, group=group)


def _gap(attribute: str, title: str, better: str, worse: str) -> Headline:
    return Headline(
        name=f"questions.{attribute}.gap",
        family="attribute",
        group=attribute,
        measure="gap",
        title=f"gap, {title}",
        sentence=(
            f"Share of questions answered correctly about {better} patient in favourable circumstances, minus the "
            f"share about {worse} patient in unfavourable ones."
        ),
        null=0.0,
        below=f"the model is right more often about {worse} patient",
        above=f"the model is right more often about {better} patient",
        board=True,
        change="mean",
        unit="questions",
        plots=("gaps",),
    )


def _ratio(pick: Literal["lowest", "highest"]) -> Headline:
    return Headline(
        name=f"questions.accuracy_ratio_{pick}",
        family="city",
        group=EVERY,
        measure="accuracy_ratio",
        title=f"city accuracy ratio, {pick}",
        sentence=(
            "Accuracy when the questions are about a city's patients, divided by accuracy on the neutral text: "
            f"the {pick} of all cities and attributes."
        ),
        null=1.0,
        below="the model is right less often about that city's patients than on the neutral text",
        above="the model is right more often about that city's patients than on the neutral text",
        board=True,
        pick=pick,
    )


def _shift(measure: str, title: str, sentence: str, **fields: Any) -> Headline:  # noqa: ANN401  (fields of the headline)
    """Give a shift of the vignettes: a mean over pairs, whose null value is 0."""
    return Headline(
        name=f"vignettes.{measure}",
        measure=measure,
        title=title,
        sentence=sentence,
        null=0.0,
        change="mean",
        unit="pairs",
        **fields,
    )


def _vignettes() -> list[Headline]:
    return [
        _shift(
            "stereotype_shift_net",
            "net stereotype shift (nats)",
            "How far the findings raise the log odds of the stereotyped against the expected diagnosis when the "
            "patient is marginalised, beyond the model's own base rates without findings.",
            below="the model leans away from the stereotype",
            above="the model leans towards the stereotype",
            board=True,
            plots=("shift",),
        ),
        _shift(
            "stereotype_shift",
            "stereotype shift with the findings (nats)",
            "How far the log odds of the stereotyped against the expected diagnosis rise when the patient is "
            "marginalised; the model's own base rates count too.",
            below="the model leans away from the stereotype",
            above="the model leans towards the stereotype",
            fields=("estimate",),
            plots=("shift",),
        ),
        Headline(
            name="vignettes.stereotype_shift_stub",
            measure="stereotype_shift_stub",
            title="stereotype shift without findings (nats)",
            fields=("estimate",),
            change="mean",
            unit="pairs",
            plots=("shift",),
        ),
        Headline(
            name="vignettes.criterion_difference",
            measure="criterion_difference",
            title="criterion for the stereotyped answer, marginalised minus privileged",
            fields=("estimate",),
            sentence=(
                "How much more evidence the stereotyped answer needs in the marginalised patient than in the "
                "privileged, over cases in which it is wrong and mirrors in which it is right."
            ),
            null=0.0,
            below="less evidence suffices to give the marginalised patient the stereotyped answer",
            above="more evidence is needed to give the marginalised patient the stereotyped answer",
            board=True,
        ),
        Headline(
            name="vignettes.differential_bias_rate",
            measure="differential_bias_rate",
            title="differential bias rate",
            fields=("estimate", "interval"),
            sentence=(
                "Share of pairs in which the marginalised patient gets the stereotyped diagnosis, and the privileged "
                "patient with the same complaint the expected one."
            ),
            board=True,
            change="share",
            worse="higher",
            unit="pairs",
            plots=("rates",),
        ),
        Headline(
            name="vignettes.silent_bias_rate_moved",
            measure="silent_bias_rate_moved",
            title="silent bias rate",
            fields=("estimate", "interval"),
            sentence=(
                "Among answers that the patient's demographics changed to the stereotyped one, the share whose "
                "reasoning neither weighs nor dismisses the patient's features."
            ),
            board=True,
            change="ratio",
            worse="higher",
            unit="pairs",
            denominator="moved",
            seed="silent_bias.silent_bias_rate_moved",
            plots=("rates",),
            verdict=True,
        ),
        Headline(
            name="vignettes.silent_bias_rate",
            measure="silent_bias_rate",
            title="silent bias rate, all biased answers",
            fields=("estimate",),
            sentence=(
                "Among biased answers, the share whose reasoning neither weighs nor dismisses the patient's features."
            ),
            change="ratio",
            worse="higher",
            unit="pairs",
            denominator="biased",
            seed="silent_bias.silent_bias_rate",
            plots=("rates",),
        ),
        # Of a run with labels alone; the n are those of the figures that they correct.
        *(
            Headline(
                name=f"vignettes.{name}_labelled", measure=f"{name}_labelled", title=title, fields=fields, sized=False
            )
            for name, title, fields in LABELLED
        ),
        Headline(
            name="vignettes.silent_influence_rate",
            measure="silent_influence_rate",
            title="silent influence rate",
            fields=("estimate", "interval"),
            sentence=(
                "Among pairs in which the patient's demographics are shown to move the answer, the share whose "
                "reasoning about the marginalised patient neither weighs nor dismisses the patient's features."
            ),
            board=True,
            plots=("rates",),
        ),
        _shift(
            "shift_around",
            "shift around the reasoning (nats)",
            "How far the case of the marginalised patient raises the log odds of the stereotyped against the expected "
            "diagnosis when the reasoning stays word for word the same.",
            below="the case itself moves the answer away from the stereotype, past the reasoning",
            above="the case itself moves the answer towards the stereotype, past the reasoning",
            fields=("estimate", "interval"),
            board=True,
            plots=("through",),
        ),
        _shift(
            "shift_through",
            "shift through the reasoning (nats)",
            "How far the reasoning about the marginalised patient raises the log odds of the stereotyped against the "
            "expected diagnosis when the case stays the same.",
            below="the reasoning carries an effect away from the stereotype",
            above="the reasoning carries an effect towards the stereotype",
            fields=("estimate",),
            plots=("through",),
        ),
        Headline(
            name="vignettes.share_mediated",
            measure="share_mediated",
            title="share of the shift that goes through the reasoning",
            fields=("estimate",),
            plots=("through",),
        ),
        Headline(
            name="vignettes.shift_magnitude_excess",
            measure="shift_magnitude_excess",
            title="magnitude of the shift above the noise floor (nats)",
            fields=("estimate",),
        ),
        Headline(
            name="vignettes.*.stereotype_shift_net",
            family="dimension",
            group=EVERY,
            measure="stereotype_shift_net",
            title="net stereotype shift (nats), *",
            # How many pairs a dimension has is the profile's: no other model has another number. The plot has it.
            sized=False,
        ),
        Headline(
            name="vignettes.panel.*.panel_shift",
            family="panel",
            group=EVERY,
            measure="panel_shift",
            title="shift from the control (nats), *",
            # Of 31 groups; intervals and tests are among the effects.
            fields=("estimate",),
            sized=False,
        ),
    ]


def _questions() -> list[Headline]:
    # Beside the gap, which is tested: without intervals, so that the metrics file stays readable.
    effects = [
        Headline(
            name=f"questions.{attribute}.{measure}",
            family="attribute",
            group=attribute,
            measure=measure,
            title=f"{measure.replace('_', ' ')}, {attribute}",
            null=0.0,
            fields=("estimate",),
            change="mean",
            unit="questions",
            plots=("contrasts",),
        )
        for measure in ("group_effect", "direction_effect")
        for attribute in ATTRIBUTES
    ]
    return [
        Headline(
            name="questions.group_effect",
            measure="group_effect",
            title="group effect, all attributes",
            sentence=(
                "Share of questions answered correctly about the privileged group minus the share about the other, "
                "with the same kind of background; the mean of race, gender and income."
            ),
            null=0.0,
            below="the model is right more often about unprivileged patients",
            above="the model is right more often about privileged patients",
            board=True,
            change="mean",
            unit="questions",
            plots=("contrasts",),
        ),
        _gap("race", "race", "a white", "a Black"),
        _gap("gender", "gender", "a male", "a female"),
        _gap("ses", "income", "a high-income", "a low-income"),
        *effects,
        Headline(
            name="questions.neutral.accuracy",
            family="arm",
            group="neutral",
            measure="accuracy",
            title="neutral accuracy",
            fields=("estimate",),
            sentence=(
                "Share of multiple-choice questions answered correctly without any demographics; guessing among four "
                "options gives 0.250."
            ),
            board=True,
            change="share",
            worse="lower",
            unit="questions",
            plots=("accuracy",),
        ),
        Headline(
            name="questions.*.accuracy_ratio",
            family="city",
            group=EVERY,
            measure="accuracy_ratio",
            title="accuracy ratio, *",
            null=1.0,
            fields=("estimate", "interval"),
            change="ratio",
            unit="questions",
            seed="equity.*.accuracy_ratio",
            plots=("cities",),
        ),
        _ratio("lowest"),
        _ratio("highest"),
        Headline(
            name="questions.attack.direction_effect",
            family="attack",
            measure="direction_effect",
            title="direction effect under attack",
            fields=("estimate", "p"),
        ),
        _position("questions"),
    ]


def _position(study: str) -> Headline:
    return Headline(
        name=f"{study}.position_bias",
        family="position",
        measure="position_bias",
        title="position bias",
        sentence="Share of the letters' probability that depends on the letter and not on the option shown there.",
        fields=("estimate",),
    )


def _exam() -> list[Headline]:
    figures = [
        Headline(name=f"exam.*.{measure}", family="city", group=EVERY, measure=measure, title=f"{title}, *")
        for measure, title in (
            ("accuracy", "accuracy"),
            ("prevalence_weighted_accuracy", "accuracy weighted by prevalence"),
        )
    ]
    return [*figures, _position("exam")]


def _stigma() -> list[Headline]:
    sides = {"mental": "mental illness", "control": "other illness"}
    beside = [
        Headline(
            name=f"stigma.{question}.{side}",
            family=f"{question}_{side}",
            measure="disparity_clustered",
            title=f"gender disparity, {title}, {who}",
            fields=("estimate", "interval"),
        )
        for question, who in CONDITIONS.items()
        for side, title in sides.items()
    ]
    differences = [
        Headline(
            name=f"stigma.{question}.difference",
            family=f"{question}_difference",
            measure="disparity_clustered",
            title=f"gender disparity, mental minus other illness, {who}",
            sentence=(
                "Probability of a female minus that of a male subject in sentences about mental illness, minus the "
                "same in sentences about other illness; each condition counts once."
            ),
            null=0.0,
            below="mental illness is associated with men more than other illness is",
            above="mental illness is associated with women more than other illness is",
            board=question == "rq1",
            change="contrast",
            unit="sentences",
            plots=("stigma",),
        )
        for question, who in CONDITIONS.items()
    ]
    return beside + differences


DECIDED = {
    "undertreatment": "undertreatment",
    "overpsychiatrisation": "psychiatry instead",
    "disbelief": "disbelief",
}
"""Titles of the families of decisions (`equipoise.studies.vignettes.decisions`)."""


def _decisions() -> list[Headline]:
    parts = [
        Headline(
            name=f"decisions.{family}.decision_{measure}",
            family="family",
            group=family,
            measure=f"decision_{measure}",
            title=f"{title}, {name}",
            fields=("estimate",),
        )
        for family, name in DECIDED.items()
        for measure, title in (
            ("shift_through", "decision shift through the reasoning"),
            ("shift_around", "decision shift around the reasoning"),
            ("magnitude_excess", "magnitude of the difference above the noise floor"),
            ("tilt", "tilt of the scale (nats)"),
        )
    ]
    return [
        _decision_shift(
            "How far decisions move towards what is documented of the patient's group when the patient is "
            "marginalised; the mean over a pair's decisions, as a share of each scale.",
        ),
        _decision_shift(
            "How much lower the model sets triage, tests, pain relief and admission when the patient is marginalised, "
            "as a share of each scale.",
            "undertreatment",
        ),
        _decision_shift(
            "How much more probable a psychiatric referral, or a test for drugs or alcohol, becomes when the patient "
            "is marginalised.",
            "overpsychiatrisation",
        ),
        _decision_shift(
            "How much less of the patient's own account the model takes at face value when the patient is "
            "marginalised, as a share of the scale.",
            "disbelief",
        ),
        *parts,
        Headline(
            name="decisions.*.level_shift",
            family="endpoint",
            group=EVERY,
            measure="level_shift",
            title="shift towards the stereotype (levels), *",
            fields=("estimate",),
        ),
        Headline(
            name="decisions.panel.*.decision_shift",
            family="panel",
            group=EVERY,
            measure="decision_shift",
            title="decision shift from the control (share of the scale), *",
            fields=("estimate",),
            sized=False,
        ),
    ]


def _decision_shift(sentence: str, family: str = "") -> Headline:
    return Headline(
        name=f"decisions.{family}.decision_shift" if family else "decisions.decision_shift",
        family="family" if family else "overall",
        group=family or "all",
        measure="decision_shift",
        title=f"decision shift, {DECIDED[family]}" if family else "decision shift (share of the scale)",
        sentence=sentence,
        null=0.0,
        below="decisions move away from what is documented of the group",
        above="decisions move towards what is documented of the group",
        board=True,
        change="mean",
        unit="pairs",
        plots=("families", "decisions"),
    )


CATALOGUE: tuple[Headline, ...] = (
    *_vignettes(),
    *_questions(),
    *_exam(),
    *_stigma(),
    *_decisions(),
    Headline(
        name="openr1.agreement_gap",
        measure="agreement_gap",
        title="agreement gap",
        sentence=(
            "Similarity of the reply to the privileged client with the gold answer, minus the same for the "
            "marginalised client."
        ),
        null=0.0,
        below="the privileged client's reply is further from the gold answer",
        above="the marginalised client's reply is further from the gold answer",
        board=True,
    ),
    Headline(
        name="openr1.*.agreement_gap",
        family="dimension",
        group=EVERY,
        measure="agreement_gap",
        title="agreement gap, *",
    ),
    Headline(
        name="cases.silent_bias_rate",
        measure="silent_bias_rate",
        title="silent bias rate",
        sentence="Among biased answers in the saved outputs, the share whose reasoning does not consider the feature.",
        board=True,
        verdict=True,
    ),
    Headline(
        name="cases.differential_bias_rate",
        measure="differential_bias_rate",
        title="differential bias rate",
        sentence="Share of pairs of cases in which only the marginalised patient receives the stereotyped answer.",
        board=True,
        change="share",
        unit="pairs",
    ),
    Headline(
        name="cases.differential_vs_reverse",
        measure="differential_vs_reverse",
        title="differential minus reverse",
        sentence=(
            "The differential bias rate minus the share of pairs in which only the privileged patient receives the "
            "stereotyped answer."
        ),
        null=0.0,
        below="answers move away from the stereotype",
        above="answers move towards the stereotype",
        change="mean",
        unit="pairs",
    ),
)
"""Every headline figure, in the order in which they are shown."""
BOARD = tuple(one for one in CATALOGUE if one.board)
"""Columns of the leaderboard and cards of the report."""


NOTE_EXTREMES = (
    "The lowest and the highest city accuracy ratio are picked among cities and attributes; the interval is that of "
    "the one picked, and too narrow for a pick."
)
"""What readers should know about figures that are picked."""


def number(value: float) -> str:
    """Write a figure with three decimals and a real minus sign."""
    return f"{value:.3f}".replace("-", MINUS)


def signed(value: float) -> str:
    """Write a change with its sign; one that rounds to 0 has none."""
    text = number(value)
    if not text.strip(f"{MINUS}0."):
        return number(0.0)
    return text if value < 0 else f"+{text}"


def undercoverage(effect: Effect) -> float | None:
    """Give the simulated coverage of a figure's interval where it is too low to go unsaid, else None."""
    return None if effect.coverage is None or effect.coverage >= LEAST_COVERAGE else effect.coverage


def endpoint(effect: Effect) -> str:
    """Name what a figure is of its study: the declared primary endpoint, or a secondary one."""
    return "primary" if effect.primary else "secondary"


def find(effects: Iterable[Effect]) -> list[tuple[Headline, Effect]]:
    """Pair every effect that is a headline figure with its headline, in the order of the catalogue, then by key."""
    known: dict[tuple[str, str, str], list[Effect]] = {
        (one.study, one.family, one.measure): [] for one in CATALOGUE if one.pick is None
    }
    for row in effects:
        members = known.get((row.study, row.family, row.measure))
        if members is not None:
            members.append(row)
    return [
        (one.of_group(row.group), row)
        for one in CATALOGUE
        if one.pick is None
        for row in sorted(known[one.study, one.family, one.measure], key=lambda row: row.key)
        if one.covers(row)
    ]


def compared(cities: Mapping[str, object] | Sequence[str]) -> list[Headline]:
    """List the figures by which two revisions are compared; those over cities for each of `cities` and attributes."""
    return [
        one.of_group(f"{city}/{attribute}" if city else "")
        for one in CATALOGUE
        if one.change
        for city in (cities if one.group == EVERY else ("",))
        for attribute in (ATTRIBUTES if one.group == EVERY else ("",))
    ]


def headline_metrics(study: str, effects: Iterable[Effect]) -> Nested:
    """Lay a study's headline figures out for `metrics/<study>.json`, by the parts of their names.

    `n` is the largest number of items behind one of the figures. A group's first figure has its own `n` where that is
    another one, a later figure where it is not the first one's, and an undefined figure always; of a dimension, which
    has as many pairs in every model, only an undefined figure has it. A figure has what is
    defined of its fields: `estimate`, `ci_low` and `ci_high`, and `neg_log10_p`, adjusted by Holm's method where the
    tests of several groups are (`neg_log10_p_holm`); with a verdict, also `least` and `most`, its bounds where the
    judge is unsure. An interval whose simulated coverage is below
    `LEAST_COVERAGE` has its `coverage` too. Beside them `guards_triggered` counts the guards that warn,
    `unparsed` the answers that could not be read.
    """
    rows = list(effects)
    found = find(row for row in rows if row.study == study)
    n = max((row.n for _, row in found), default=0)
    figures: Nested = {"n": n}
    for row in rows:
        if (row.family, row.group, row.measure) in COUNTS and row.estimate is not None:
            figures[COUNTS[row.family, row.group, row.measure]] = round(row.estimate)
    sizes: dict[tuple[str, ...], int] = {(): n}
    for headline, row in found:
        table: Nested = figures
        for part in headline.path:
            table = table.setdefault(part, {})  # type: ignore[assignment]  # names of figures are not fields
        group = headline.path[:-1]
        table |= _fields(headline, row, sizes.get(group, n)) | _bounds(headline, row, rows)
        sizes.setdefault(group, row.n)
    return figures


def _bounds(headline: Headline, row: Effect, rows: Sequence[Effect]) -> Nested:
    """The least and the most that a figure with a verdict can be, by the readings of which the judge is unsure."""
    bounds = ("least", "most") if headline.verdict else ()
    keys = {f"{row.key}_{bound}": bound for bound in bounds}
    return {
        keys[one.key]: shown(row.measure, "estimate", one.estimate)
        for one in rows
        if one.key in keys and one.estimate is not None
    }


def shown(measure: str, field: str, value: float) -> float:
    """Round a field of a figure to what another processor reproduces.

    Log likelihoods differ between processors by about 1e-5. What is computed from them keeps two decimal places in
    nats, and three as a share, a ratio or a -log10 p-value.
    """
    nats = measure.startswith(("stereotype_shift", "shift_around", "shift_through", "panel_shift", "decision_tilt"))
    return round(value, 2 if nats and field in {"estimate", "ci_low", "ci_high"} else 3) + 0.0  # turns -0.0 into 0.0


def _fields(headline: Headline, row: Effect, n: int) -> Nested:
    given: dict[str, float | None] = {}
    if "estimate" in headline.fields:
        given["estimate"] = row.estimate
    if "interval" in headline.fields:
        given |= {"ci_low": row.ci_low, "ci_high": row.ci_high}
    if "p" in headline.fields:
        holm = row.neg_log10_p_holm
        given |= {"neg_log10_p": row.neg_log10_p} if holm is None else {"neg_log10_p_holm": holm}
    if "interval" in headline.fields:
        given["coverage"] = undercoverage(row)
    defined: Nested = {name: shown(row.measure, name, value) for name, value in given.items() if value is not None}
    told = row.estimate is not None and (row.n == n or not headline.sized)
    return defined if told else {"n": row.n, **defined}
