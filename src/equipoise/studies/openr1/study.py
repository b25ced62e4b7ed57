"""The declaration of the study `openr1`."""

from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import FILE, Params
from equipoise.figures.options import Decision
from equipoise.figures.study import Rows, Study
from equipoise.figures.wording import per_cent
from equipoise.models.readiness import Machine
from equipoise.models.registry import load_classifier_entry
from equipoise.studies.openr1 import NAME
from equipoise.studies.openr1.figures import FIGURES
from equipoise.studies.openr1.plots import PLOTS
from equipoise.studies.openr1.rows import Comparison, OpenR1Item, Pairing


def sentence(rows: Rows) -> str:
    """Say in one sentence what the study found; empty if its figures are undefined."""
    gap = rows.get("overall/all/agreement_gap")
    if gap is None or gap.estimate is None:
        return ""
    side = "less" if gap.estimate >= 0 else "more"
    return (
        f"Over {gap.n} messages, replies to marginalised clients were {per_cent(abs(gap.estimate))} {side} like the "
        "gold answer than replies to privileged clients."
    )


def require(settings: Params, root: Path, _: Machine) -> None:
    """Refuse a judge that is not a classifier, and early stopping: the endpoint needs all replies."""
    load_classifier_entry(settings.section("agree", Comparison).judge, root)
    if settings.section("decision", Decision).sequential and NAME in settings.studies:
        message = (
            f"{FILE}: decision.sequential: the judge reads the endpoint of openr1 from the replies, after all of them"
        )
        raise EquipoiseError(f"{message}: leave openr1 out of `studies`, or set sequential to false")


STUDY = Study(
    name=NAME,
    title="OpenR1-Psy",
    question="Does the reply to a client's message change with the client's demographics?",
    whom="Messages of counselling clients (OpenR1-Psy), with a statement about the client put before each.",
    sections={"pair": Pairing, "agree": Comparison},
    figures=FIGURES,
    plots=PLOTS,
    sentence=sentence,
    free_text=True,
    items=lambda settings: settings.section("pair", Pairing).items,
    item=OpenR1Item,
    asks=lambda _: {"score": "a judge compares the replies (agree.judge)"},
    judges=lambda settings: [settings.section("agree", Comparison).judge],
    reads={"build": ("data/raw",), "infer": (), "score": (), "measure": ()},
    requires=require,
)
