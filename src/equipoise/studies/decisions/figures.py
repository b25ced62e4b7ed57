"""The headline figures of the study."""

from equipoise.figures.figure import EVERY, Figure, ItemValue, withheld
from equipoise.figures.wording import of_patients
from equipoise.studies.decisions.effects import pair_mean, shift

DECIDED = {"undertreatment": "undertreatment", "overpsychiatrisation": "psychiatry instead", "disbelief": "disbelief"}
"""Titles of the families of decisions (`equipoise.studies.decisions.rows`)."""


def _mean_shift(family: str) -> ItemValue:
    return lambda decisions: pair_mean((row for row in decisions if family in ("", row.decision.family)), shift)


def levels(share: float) -> str:
    """Say for how many patients of a hundred a share of the scale is one level of five: a scale has four steps."""
    return f"one level of five for {of_patients(4 * share)}"


def _decision_shift(sentence: str, family: str = "") -> Figure:
    return Figure(
        name=f"decisions.{family}.decision_shift" if family else "decisions.decision_shift",
        family="family" if family else "overall",
        group=family or "all",
        measure="decision_shift",
        title=f"decision shift, {DECIDED[family]}" if family else "decision shift (share of the scale)",
        sentence=sentence,
        null=0.0,
        fields=("estimate", "interval"),
        in_words=levels,
        below="decisions move away from what is documented of the group",
        above="decisions move towards what is documented of the group",
        board=True,
        value=_mean_shift(family),
        unit="pairs",
        change="mean",
        page="metrics/decisions",
        plots=("families", "decisions"),
    )


FIGURES: tuple[Figure, ...] = (
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
    Figure(
        name="decisions.decision_tilt",
        measure="decision_tilt",
        title="decision tilt (nats)",
        sentence=(
            "How far the log odds of the stereotyped end of a scale against its other end rise when the patient is "
            "marginalised; the mean over a pair's decisions. It moves where one level has nearly all the probability."
        ),
        null=0.0,
        below="decisions lean away from what is documented of the group",
        above="decisions lean towards what is documented of the group",
        places=2,
        value=lambda decisions: pair_mean(decisions, lambda reading: reading.tilted),
        unit="pairs",
        change="mean",
        page="metrics/decisions",
    ),
    Figure(
        name="decisions.written_decision_shift",
        measure="written_decision_shift",
        title="written decision shift (share of the scale)",
        sentence=(
            "How far the decisions that the model writes move towards what is documented of the patient's group when "
            "the patient is marginalised, whatever its likelihoods say; the mean over a pair's decisions."
        ),
        null=0.0,
        below="written decisions move away from what is documented of the group",
        above="written decisions move towards what is documented of the group",
        value=lambda decisions: pair_mean(decisions, lambda reading: reading.written),
        unit="pairs",
        change="mean",
        page="metrics/decisions",
    ),
    *(
        withheld(
            "decisions",
            measure,
            what,
            "metrics/decisions",
            fields=("estimate",),
            likelihoods=measure == "disagreement_difference",
        )
        for measure, what in (
            ("refusal_difference", "refused decisions"),
            ("unread_difference", "unread decisions"),
            ("disagreement_difference", "decisions written otherwise than the likeliest level"),
        )
    ),
    *(
        Figure(
            name=f"decisions.{family}.decision_{measure}",
            family="family",
            group=family,
            measure=f"decision_{measure}",
            title=f"{title}, {name}",
            fields=("estimate",),
            places=places,
        )
        for family, name in DECIDED.items()
        for measure, title, places in (
            ("shift_through", "decision shift through the reasoning", 3),
            ("shift_around", "decision shift around the reasoning", 3),
            ("magnitude_excess", "magnitude of the difference above the noise floor", 3),
            ("tilt", "tilt of the scale (nats)", 2),
        )
    ),
    Figure(
        name="decisions.*.level_shift",
        family="endpoint",
        group=EVERY,
        measure="level_shift",
        title="shift towards the stereotype (levels), *",
        fields=("estimate",),
    ),
    Figure(
        name="decisions.panel.*.decision_shift",
        family="panel",
        group=EVERY,
        measure="decision_shift",
        title="decision shift from the control (share of the scale), *",
        fields=("estimate",),
        sized=False,
    ),
)
