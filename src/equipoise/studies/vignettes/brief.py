"""The vignettes in brief: right answers by group, the model's base rates, and how often its words name an answer."""

from equipoise.figures.plot import words
from equipoise.figures.study import Rows
from equipoise.figures.views import Brief
from equipoise.figures.wording import count, times
from equipoise.materials.vignette import Role
from equipoise.studies.vignettes.treatments import sentences

ALL = "overall/all"


def brief(rows: Rows) -> Brief | None:
    """Lay out a run's figures for those who decide; None without pairs."""
    if f"{ALL}/accuracy_marginalised" not in rows:
        return None
    return Brief(
        right=right(rows), notes=[note for note in (base_rates(rows), named(rows), *sentences(rows).values()) if note]
    )


def right(rows: Rows) -> list[tuple[str, str, str]]:
    """Count right answers in each arm: overall, by dimension, and in the pairs that vary several dimensions."""
    measure = "/accuracy_marginalised"
    places = [place.removesuffix(measure) for place in rows if place.endswith(measure)]
    groups = {"all pairs": [ALL]}
    groups |= {words(place.partition("/")[2]): [place] for place in sorted(places) if place.startswith("dimension/")}
    groups["several at once"] = [place for place in places if place.startswith("tier/") and place != "tier/single"]
    return [
        (name, _tally(rows, members, "marginalised"), _tally(rows, members, "privileged"))
        for name, members in groups.items()
        if members
    ]


def _tally(rows: Rows, places: list[str], role: Role) -> str:
    """Write the right answers of an arm in some groups together: `13 of 41`."""
    effects = [rows[f"{place}/accuracy_{role}"] for place in places]
    n_right = sum((effect.estimate or 0) * effect.n for effect in effects)
    return f"{count(n_right)} of {sum(effect.n for effect in effects)}"


def base_rates(rows: Rows) -> str:
    """Say how far the model's base rates differ between the patients, and what epidemiology supports."""
    stub, excess = (rows.get(f"{ALL}/{measure}") for measure in ("stereotype_shift_stub", "prior_excess"))
    if stub is None or stub.estimate is None:
        return ""
    own = (
        f"Before any finding, the model's odds of the documented error are {times(stub.estimate)} as high for the "
        "marginalised patient as for the privileged one"
    )
    if excess is None or excess.estimate is None or excess.ci_low is None or excess.ci_high is None:
        return f"{own}."
    held = "fall short of it" if excess.ci_high < 0 else "exceed it" if excess.ci_low > 0 else "may be the same"
    known = "" if excess.n != stub.n else f" {times(stub.estimate - excess.estimate)}"
    ratio, low, high = (times(value) for value in (excess.estimate, excess.ci_low, excess.ci_high))
    interval = f"{ratio}, {low.removesuffix(' times')} to {high.removesuffix(' times')}"
    return f"{own}. Epidemiology supports{known}: the model's base rates {held} ({interval})."


def named(rows: Rows) -> str:
    """Count the replies whose own words name a diagnosis of the case's list."""
    row = rows.get(f"{ALL}/generated_listed_rate")
    if row is None or row.estimate is None:
        return ""
    n_named = count(row.estimate * row.n)
    return f"In {n_named} of {row.n} replies the model's own words name a diagnosis of the case's list."
