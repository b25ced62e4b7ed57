"""`equipoise judge --benchmark`: a reader of reasoning compared with annotated passages."""

from pathlib import Path
from time import perf_counter
from typing import Any

from equipoise.core import params
from equipoise.core.jsonl import canonical, sha256
from equipoise.core.printing import print_json, show
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.passages import read_passages
from equipoise.judge.rating.comparison import (
    BASELINES,
    draw_passages,
    first_questions,
    panel_agreement,
    reader_figures,
    suite,
)
from equipoise.judge.reading import ask_about, read_reasonings
from equipoise.judge.score import Score
from equipoise.materials.judgement import Reading


def benchmark(name: str, judge_name: str | None, features: Path, limit: int | None, *, as_json: bool) -> None:
    """Read each passage for its first feature, and print how far that agrees with the annotations."""
    path = suite(name)
    passages = draw_passages(read_passages([path]), limit)
    chosen = params.load()
    judge = judge_name or chosen.judge
    questions = first_questions(passages, load_lexicon(features))
    figures: dict[str, Any] = {"benchmark": name, "sha256": sha256(path), "judge": judge}
    start = perf_counter()
    if judge in BASELINES:
        readings = [BASELINES[judge](text, feature) for text, feature in questions]
        speed: float | None = len(questions) / (perf_counter() - start)
        more: dict[str, Any] = {}
    else:
        readings, speed, more = _judged(judge, questions, chosen.section("score", Score))
    figures |= reader_figures(passages, readings) | {"passages_per_second": speed and round(speed, 1)} | more
    if as_json:
        print_json(canonical(figures))
    else:
        _show(figures)


def _judged(judge: str, questions: Any, settings: Score) -> tuple[list[Reading], float | None, dict[str, Any]]:  # noqa: ANN401
    from equipoise.judge.readers import open_reader

    with open_reader(judge, Path()) as reader:
        start = perf_counter()
        readings = read_reasonings([(text, [feature]) for text, feature in questions], reader.probabilities, settings)
        seconds = perf_counter() - start
        speed = reader.computed() / seconds if reader.computed() else None
        more: dict[str, Any] = {}
        if (tally := reader.tally()).asked:
            more["replies"] = tally._asdict()
        if votes := reader.votes([ask_about(text, feature) for text, feature in questions]):
            more["panel"] = panel_agreement(votes)
    return readings, speed, more


def _show(figures: dict[str, Any]) -> None:
    """Print the figures of a reader: by class, then as a whole."""
    from rich.table import Table

    title = f"{figures['benchmark']}: {figures['n']} passages; judge {figures['judge']}"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    for column in ("class", "n", "right", "95 % interval"):
        table.add_column(column, justify="left" if column == "class" else "right")
    for name, share in figures["classes"].items():
        interval = f"{share['ci_low']:.2f} to {share['ci_high']:.2f}"
        table.add_row(name, str(share["n"]), f"{share['estimate']:.2f}", interval)
    lines = [
        f"{label}: {kappa['estimate']:z.3f} ({kappa['ci_low']:z.3f} to {kappa['ci_high']:z.3f})"
        for label, kappa in (
            ("κ, considered or not", figures["considered"]["kappa"]),
            ("κ, three ways", figures["three_way"]["kappa"]),
        )
    ]
    speed = figures["passages_per_second"]
    lines.append(f"{speed} passages a second" if speed else "speed: not measured, since all answers were in the cache")
    lines += [
        ", ".join(f"{name} {value}" for name, value in figures[key].items())
        for key in ("replies", "panel")
        if key in figures
    ]
    show(table, *lines)
