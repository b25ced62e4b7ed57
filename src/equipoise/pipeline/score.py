"""The step `score` of each study: the responses read, by rules, by the judge or by a masked model."""

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path

from equipoise.backends.base import Cluster, Infer
from equipoise.core import jsonl
from equipoise.core.prompts import Response
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.located import Probabilities, kept_probabilities
from equipoise.judge.readers import Reader, open_reader
from equipoise.judge.score import Score, judge_responses
from equipoise.materials.asked import choices
from equipoise.materials.vignette import Vignette
from equipoise.models.registry import ReasoningForm
from equipoise.pipeline.run import Run
from equipoise.studies.cases.rows import Case, outputs_of
from equipoise.studies.cases.score import judge_outputs
from equipoise.studies.exam.asked import EXAM
from equipoise.studies.exam.subsets import Sampled
from equipoise.studies.openr1 import agree
from equipoise.studies.openr1.rows import Comparison, Message
from equipoise.studies.questions.rows import Variant
from equipoise.studies.stigma.causal import causal_fills
from equipoise.studies.stigma.library import load_library
from equipoise.studies.stigma.rows import Filling
from equipoise.studies.vignettes.decisions import Asked, decision_of, is_decision, read_decision
from equipoise.text.diagnoses import load_diagnoses
from equipoise.text.reasoning import read_by_user


def vignettes(run: Run, judge: Probabilities | None = None) -> None:
    """Read which diagnosis each response gives, and what its reasoning does with the patient's feature.

    `judge` takes the place of the run's own.
    """
    own = open_reader(run.settings.judge, Path(), _cluster(run))
    with nullcontext(Reader(judge, lambda: 0)) if judge else own as reader:
        told = (run.rows(name, Vignette) for name in ("vignettes", "tellings"))
        rows = judge_responses(
            list(chain.from_iterable(told)),
            _responses(run),
            lexicon=load_lexicon(run.data / "features"),
            diagnoses=load_diagnoses(run.data / "diagnoses.yaml"),
            probabilities=reader.probabilities,
            settings=run.settings.section("score", Score),
            form=run.entry.reasoning,
        )
        jsonl.write(run.judgements, rows)


def decisions(run: Run) -> None:
    """Read which level of each end-point each response chooses, and how likely the model finds every level."""
    known = {row.key: row for row in jsonl.each(run.built("decisions"), Asked)}
    form, rows = run.entry.reasoning, (one for one in _responses(run) if is_decision(one.key))
    read = (read_decision(one, known[decision_of(one.key)], _said(one, form)) for one in rows)
    jsonl.write(run.judgements, read)


def _said(response: Response, form: ReasoningForm) -> str:
    """Give what the last reply says to its reader; nothing where there is no reply."""
    replied = zip(response.replies[-1:], response.finished[-1:], strict=True)
    return "".join(read_by_user(reply, form, finished=finished) for reply, finished in replied)


def questions(run: Run) -> None:
    """Read the option that is chosen over all orders in which a question was asked."""
    files = run.built("variants"), run.built("attacks")
    options = {row.key: row.options for file in files for row in jsonl.each(file, Variant)}
    jsonl.write(run.judgements, choices(_responses(run), options))


def exam(run: Run) -> None:
    """Read the option that is chosen over all orders in which a question was asked."""
    options = {f"{row.item}{EXAM}": row.options for row in jsonl.each(run.built("subsets"), Sampled)}
    jsonl.write(run.judgements, choices(_responses(run), options))


def stigma(run: Run) -> None:
    """Compute how much probability each sentence gives to female, male and other subjects."""
    settings, sentences = run.settings.section("fill", Filling), load_library(run.data / "sentences")
    if settings.scorer == "masked":
        from equipoise.studies.stigma.masked import masked_fills

        jsonl.write(run.judgements, masked_fills(sentences, settings, Path(), progress=run.progress))
    else:
        jsonl.write(run.judgements, causal_fills(sentences, _responses(run), settings))


def openr1(run: Run) -> None:
    """Compare the replies to both arms of every message with each other and with the gold answer."""
    settings = run.settings.section("agree", Comparison)
    messages = run.built("messages")
    with kept_probabilities(settings.judge, Path(), "inference", _cluster(run)) as judge:
        rows = agree.agreements(
            jsonl.read(messages, Message),
            _responses(run),
            judge,
            threshold=settings.threshold,
            form=run.entry.reasoning,
            progress=run.progress,
            where=str(messages),
        )
    jsonl.write(run.judgements, rows)


def cases(run: Run) -> None:
    """Read the diagnosis of each saved output, and what the reasoning of a biased one does with the feature."""
    known = {case.key: case for case in jsonl.read(run.built("cases"), Case)}
    lexicon, names = load_lexicon(run.data / "features"), load_diagnoses(run.data / "diagnoses.yaml")
    settings = run.settings.section("score", Score)
    with open_reader(run.settings.judge, Path(), _cluster(run)) as judge:
        jsonl.write(
            run.judgements,
            judge_outputs(outputs_of(_responses(run)), known, judge.probabilities, settings, lexicon, names),
        )


def _cluster(run: Run) -> Cluster | None:
    """The Ray cluster that the judge's pairs are shared out over; None where this process judges them."""
    return run.settings.section("infer", Infer).cluster


def _responses(run: Run) -> Iterator[Response]:
    return jsonl.each(run.responses, Response)
