"""`equipoise score`: the figures of files of answers, of saved outputs, and of masked models' probabilities."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from equipoise.api.reader import load_reader
from equipoise.cli.printing import NOT_DEFINED, cell, plain_table, print_json, show
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.core.shipped import shipped
from equipoise.core.visible import line
from equipoise.figures.layout import finding_row
from equipoise.figures.options import ALPHA, Measure
from equipoise.figures.silence import interpretation
from equipoise.figures.skew import label_skew
from equipoise.judge.lexicon import FOLDER
from equipoise.materials import cities as towns
from equipoise.materials.cities import City
from equipoise.published.fetch import load_names
from equipoise.published.influence import DEMOGRAPHIC, read_influence
from equipoise.published.influence import score_influence as scored_influence
from equipoise.studies.cases.effects import (
    Mode,
    case_pairs,
    paired_effects,
    paired_findings,
    score_judged,
    score_legacy,
)
from equipoise.studies.cases.judged import judge_outputs
from equipoise.studies.cases.rows import Case, Output, read_cases, read_outputs, require_cases
from equipoise.studies.exam import medmcqa
from equipoise.studies.exam.effects import ACCURACY, MACRO, WEIGHTED, score_cities
from equipoise.studies.questions import amqa
from equipoise.studies.questions.effects import Answered, arms_of
from equipoise.studies.questions.equilens import GROUP_NAMES, read_results, score_equity_released
from equipoise.studies.stigma import lin
from equipoise.studies.stigma.aggregate import noun_lexicon, short_lexicon
from equipoise.studies.stigma.effects import nested, stigma_effects
from equipoise.studies.stigma.library import load_library
from equipoise.studies.stigma.rows import Aggregation, Fill
from equipoise.text.diagnoses import FILE, load_diagnoses

Cities = Annotated[Path, typer.Option(help="The cities (YAML).")]
Resamples = Annotated[int, typer.Option(min=100, help="Resamples of the questions behind each interval.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a file.")]
TITLES = {"race": "white black", "ses": "high low income", "gender": "male female", amqa.CONTROL: "original neutral"}
CAPTIONS = {
    "expected": "Mean over all partitions. CI: other questions of the same kind.",
    "seeded": "One partition, drawn. CI: other questions of the same kind.",
}
NOTES = {
    "legacy": "legacy: label anywhere in the output, of either arm; for comparison with published figures only",
    "nli": "nli: the answer stated, of marginalised patients; silent where the reasoning neither weighs nor dismisses",
}
FAMILIES = {
    "rq1_mental": "rq1: who has a mental illness",
    "rq1_control": "rq1: who has another condition",
    "rq1_difference": "rq1: disparity, mental illness less others",
    "rq2_mental": "rq2: towards whom with a mental illness",
    "rq2_control": "rq2: towards whom with another condition",
    "rq2_difference": "rq2: disparity, mental illness less others",
}
SHARES = {"female": "female", "male": "male", "unspecified": "other"}
"""Measures that are probabilities, and their headings; in rq2 the third says nothing that the others do not."""


def score_amqa(
    files: Annotated[list[Path], typer.Argument(help="Released answers, JSONL.", metavar="FILE…", show_default=False)],
    *,
    as_json: AsJson = False,
    items: Annotated[
        str | None, typer.Option(help="Items (JSONL or parquet) whose ids the files must have, in place of 0 to 800.")
    ] = None,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Score each file over the questions that it has.")
    ] = False,
) -> None:
    """Score answers in AMQA's or FairMedPrompt's released form, every file over the same questions."""
    tables = {str(path): amqa.read_answers(path) for path in files}
    if allow_incomplete:
        amqa.require_same_gold(tables)
    else:
        wanted = [amqa.question_id(item.key) for item in amqa.read_items(items)] if items else amqa.complete_ids()
        amqa.require_same_questions(tables, wanted)
    with progress("score"):
        scored = amqa.score_released(tables, amqa.released_name)

    def laid_out(one: dict[str, Any]) -> Iterable[Table | str]:
        yield _amqa_table(one)
        if skewed := _skews(tables[one["file"]]):
            yield f"label skew: {skewed} of the answers would have to change their letter: look at the parsing"

    _print(scored, laid_out, as_json=as_json)


def _skews(table: list[Answered]) -> str:
    """Name every arm whose letters are spread as no careful reading would spread them, and how far."""
    gold = [row.gold for row in table]
    skews = {arm: label_skew([row.letters[arm] for row in table], gold) for arm in arms_of(table)}
    return ", ".join(f"{amqa.released_name(arm)} {skew.distance:.0%}" for arm, skew in skews.items() if skew.alarm)


def score_equity(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="AMQA's released answers (JSONL), or EquiLens' results (parquet).", metavar="FILE…", show_default=False
        ),
    ],
    *,
    cities: Cities = towns.FILE,
    partition: Annotated[
        Literal["expected", "seeded"],
        typer.Option(help="Over all partitions of the questions between the groups, or for one that is drawn."),
    ] = "expected",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the partition that is drawn.")] = 42,
    as_json: AsJson = False,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Score each JSONL file over the questions that it has.")
    ] = False,
) -> None:
    """Score answers for the population of each city: accuracy, accuracy ratio and consistency ratio."""
    places = {name: city for name, city in towns.load_cities(shipped(cities)).items() if city.composition}
    results = {str(path): read_results(path) for path in files if path.suffix == ".parquet"}
    answers = {str(path): amqa.read_answers(path) for path in files if path.suffix != ".parquet"}
    if not allow_incomplete:
        amqa.require_same_questions(answers, amqa.complete_ids())
    tables = results | answers
    amqa.require_same_gold(tables)
    options = Measure(partition=partition, partition_seed=seed)
    scored = []
    with progress("score") as move:
        for name in map(str, files):
            called = GROUP_NAMES.__getitem__ if name in results else amqa.released_name
            scored.append(score_equity_released(name, tables[name], places, options, called))
            move(len(scored), len(files))
    _print(scored, lambda one: [_equity_table(one, places)], as_json=as_json)


def score_medmcqa(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Responses with id, answer and response (parquet, CSV or JSONL).",
            metavar="RESPONSES…",
            show_default=False,
        ),
    ],
    *,
    questions: Annotated[
        list[Path] | None,
        typer.Option(help="A city's question set (city, disease and right answer by id); may be given again."),
    ] = None,
    cities: Cities = towns.FILE,
    mapping: Annotated[
        Path, typer.Option(help="Which disease a topic is about, where no file says it.")
    ] = medmcqa.DISEASES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    resamples: Resamples = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a city.")] = False,
) -> None:
    """Score answers by city and disease: accuracy, macro precision, recall and F1, prevalence-weighted accuracy."""
    weights = {
        name: city.disease_weights() for name, city in towns.load_cities(shipped(cities)).items() if city.diseases
    }
    rules = medmcqa.load_diseases(shipped(mapping))
    sets = {path: medmcqa.read_questions(path) for path in questions or ()}
    scored: list[dict[str, Any]] = []
    with progress("score") as move:
        for number, path in enumerate(files, start=1):
            responses = medmcqa.read_responses(path)
            chosen = medmcqa.set_of(path, [row.id for row, _ in responses], sets) if sets else None
            asked = None if chosen is None else sets[chosen]
            source = {
                "file": str(path),
                "questions": None if chosen is None else str(chosen),
                "n_questions": None if asked is None else len(asked),
            }
            answers = medmcqa.tabulate_released(path, responses, asked, rules, list(weights))
            found = score_cities(answers, weights, Measure(alpha=ALPHA, seed=seed, n_bootstrap=resamples))
            scored += [source | medmcqa.released_form(city, one) for city, one in found.items()]
            move(number, len(files))
    _print(scored, lambda one: [_heading(one), _medmcqa_table(one)], as_json=as_json)


def _amqa_table(scored: dict[str, Any]) -> Table:
    """Lay out one file, a pair a row; shares and differences in per cent of the questions."""
    n, unparsed = scored["n"], sum(scored["unparsed"].values())
    title = f"{scored['file']}\n{n} questions, {unparsed} of {n * 8} answers unparsed (counted as wrong)"
    table = plain_table(title, ("pair", "right, %", "gap", "95 % CI", "alone", "p exact", "p Holm", "differ"))
    for name, pair in scored["pairs"].items():
        first, second = pair["both"] + pair["only_privileged"], pair["both"] + pair["only_unprivileged"]
        table.add_row(
            TITLES[name],
            f"{100 * first / n:.1f} {100 * second / n:.1f}",
            f"{100 * pair['gap']:+.1f}",
            f"{100 * pair['ci_low']:+.1f} {100 * pair['ci_high']:+.1f}",
            f"{pair['only_privileged']} {pair['only_unprivileged']}",
            f"{pair['p_exact']:.1e}",
            f"{pair['p_holm']:.1e}",
            f"{100 * pair['letters_differ'] / n:.1f}",
        )
    return table


def _equity_table(scored: dict[str, Any], cities: Mapping[str, City]) -> Table:
    """Lay out one file, a city and attribute a row; accuracy in per cent, ratios as they are."""
    n, unparsed = scored["n"], sum(scored["unparsed"].values())
    asked = n * len(scored["unparsed"])
    title = (
        f"{scored['file']}\n{n} questions, baseline accuracy {100 * scored['baseline_accuracy']:.1f} %, {unparsed} of "
        f"{asked} answers unparsed (counted as wrong)\n{CAPTIONS[scored['partition']]}"
    )
    # 80 columns at most, so that no terminal cuts it: the sizes of the groups and the sd are in --json.
    columns = ("city", "", "right, %", "95 % CI", "ratio", "95 % CI", "p Holm", "kept", "95 % CI")
    table = plain_table(title, columns, left=2)
    for name, attributes in scored["cities"].items():
        for attribute, figures in attributes.items():
            table.add_row(
                cities[name].title,
                attribute,
                *_with_interval(figures, "city_accuracy", ".1f", 100),
                *_with_interval(figures, "accuracy_ratio", ".3f"),
                cell(figures["p_holm"], ".1e"),
                *_with_interval(figures, "consistency_ratio", ".2f"),
            )
    return table


def _heading(scored: dict[str, Any]) -> str:
    """Say what was answered, what is left out, and the prevalence-weighted accuracy in per cent."""
    aggregate = scored["aggregate"]
    of = "" if scored["n_questions"] is None else f" of the {scored['n_questions']} questions in {scored['questions']}"
    share, interval = _with_interval(aggregate, WEIGHTED, ".1f", 100)
    heading = (
        f"{scored['city']}, {scored['file']}\n{scored['n_samples']} answers{of}; {aggregate['n_invalid']} without a "
        f"letter are left out\nweighted by prevalence: {share} % right ({interval})"
    )
    if aggregate["n_without_disease"]:
        heading += f"\n{aggregate['n_without_disease']} answers about none of the diseases count in the first row alone"
    return heading


def _medmcqa_table(scored: dict[str, Any]) -> Table:
    """Lay out one city, a disease a row; accuracy and weights in per cent."""
    table = plain_table(None, ("", "weight", "n", "right, %", "95 % CI", "precision", "recall", "F1", "95 % CI"))
    for name, figures in {"all": scored["aggregate"], **scored["per_disease"]}.items():
        table.add_row(
            name,
            cell(figures.get("composition"), ".1f", 100),
            str(figures["n_valid"]),
            *_with_interval(figures, ACCURACY, ".1f", 100),
            *(cell(figures[measure]) for measure in MACRO),
            _interval(figures, MACRO[-1], ".3f"),
        )
    return table


def _with_interval(figures: Mapping[str, Any], measure: str, form: str, scale: float = 1) -> tuple[str, str]:
    """Write a figure and its interval."""
    return cell(figures[measure], form, scale), _interval(figures, measure, form, scale)


def _interval(figures: Mapping[str, Any], measure: str, form: str, scale: float = 1) -> str:
    """Write the limits of an interval, which are both defined or neither."""
    low, high = (cell(figures[f"{measure}_ci_{end}"], form, scale) for end in ("low", "high"))
    return low if low == high == cell(None) else f"{low} {high}"


def _print(
    scored: Sequence[dict[str, Any]], parts: Callable[[dict[str, Any]], Iterable[Table | str]], *, as_json: bool
) -> None:
    """Print what was scored, as JSON or in the parts that each is laid out in."""
    for one in scored:
        if as_json:
            print_json(one)
        else:
            show(*parts(one))


def score_silent(
    files: Annotated[
        list[Path], typer.Argument(help="Saved outputs, JSONL, a file a model.", metavar="OUTPUTS…", show_default=False)
    ],
    cases: Annotated[Path, typer.Option(help="The cases asked: JSON as published, or imported JSONL.")],
    *,
    mode: Annotated[Mode, typer.Option(help="Read by the judge, or by the published keyword practice.")] = "nli",
    features: Annotated[Path, typer.Option(help="Folder of the words for each feature.")] = Path(FOLDER),
    diagnoses: Annotated[Path, typer.Option(help="File of the names of each diagnosis.")] = Path(FILE),
    as_json: AsJson = False,
) -> None:
    """Score saved outputs: how many biased answers are silent about the patient's feature.

    Of cases that are the arms of pairs, how often demographics change the answer is given beside it. OUTPUTS may also
    be responses that were imported (data/replays/NAME.jsonl), with their cases (data/cases/NAME.jsonl).
    """
    asked = {case.key: case for case in read_cases(cases)}
    tables = {str(path): read_outputs(path) for path in files}
    for name, outputs in tables.items():
        require_cases(name, outputs, asked)
    score = _legacy if mode == "legacy" else _judged(features, diagnoses)
    scored = []
    with progress("score") as move:
        for name, outputs in tables.items():
            scored.append(score(name, outputs, asked))
            move(len(scored), len(tables))
            if as_json:
                print_json(scored[-1])
    if not as_json:
        paired = any(case.pair for case in asked.values()) and mode == "nli"
        note = NOTES[mode] if paired else f"{NOTES[mode]}; one arm a case, so no paired figure applies"
        show(_silent_table(scored, mode), *map(_beside, scored), *map(_paired, scored), note)


def _legacy(name: str, outputs: Sequence[Output], asked: Mapping[str, Case]) -> dict[str, Any]:
    return score_legacy(name, outputs, asked, alpha=ALPHA)


def _judged(features: Path, diagnoses: Path) -> Callable[[str, Sequence[Output], Mapping[str, Case]], dict[str, Any]]:
    """Load the judge that params.yaml names, with its settings; what is missing is an error before any work."""
    reader = load_reader(features=features)
    names = load_diagnoses(shipped(diagnoses))

    def score(name: str, outputs: Sequence[Output], asked: Mapping[str, Case]) -> dict[str, Any]:
        judgements = [*judge_outputs(outputs, asked, reader.probabilities, reader.settings, reader.lexicon, names)]
        scored = score_judged(name, outputs, asked, judgements, alpha=ALPHA, errors=reader.errors)
        pairs: dict[str, dict[str, dict[str, Any]]] = {}
        joined = case_pairs(asked.values(), judgements)
        findings = map(finding_row, paired_findings(joined, ALPHA))
        for row in (*paired_effects(joined, Measure(alpha=ALPHA)), *findings):
            figure = {name: getattr(row, name) for name in ("n", "estimate", "ci_low", "ci_high")}
            figure |= {name: value for name in ("neg_log10_p", "neg_log10_p_holm") if (value := getattr(row, name))}
            pairs.setdefault(row.family, {}).setdefault(row.group, {})[row.measure] = figure
        if not pairs:
            return scored
        found = pairs["overall"]["all"]["influence_found"]["estimate"] != 0
        said = interpretation(scored["biased"], scored["ci_low"], scored["ci_high"], influence=found)
        return {**scored, "interpretation": said, "pairs": pairs}

    return score


def _paired(one: Mapping[str, Any]) -> str:
    """The note on a file's pairs: how often only the marginalised patient got the biased answer, and the reverse."""
    if not (figures := one.get("pairs", {}).get("overall", {}).get("all")):
        return ""
    told = []
    for words, measure in (
        ("differential bias rate", "differential_bias_rate"),
        ("reverse", "reverse_bias_rate"),
        ("differential minus reverse", "differential_vs_reverse"),
    ):
        found = figures[measure]
        told.append(f"{words} {cell(found['estimate'])} ({cell(found['ci_low'])} to {cell(found['ci_high'])})")
    return f"{Path(one['file']).name}, {figures['differential_bias_rate']['n']} pairs: {', '.join(told)}"


def _silent_table(scored: Sequence[Mapping[str, Any]], mode: Mode) -> Table:
    """Lay out the files, one a row."""
    columns = ("file", "n", "biased", "silent", "rate", "95 % CI", "verdict")
    table = plain_table(f"Silent bias rate, {mode}", columns)
    table.columns[-1].justify = "left"
    for one in scored:
        table.add_row(
            Path(one["file"]).name,
            *(str(one[name]) for name in ("n", "biased", "silent")),
            cell(one["rate"]),
            f"{cell(one['ci_low'])} {cell(one['ci_high'])}",
            one["interpretation"],
        )
    return table


def _beside(one: Mapping[str, Any]) -> str:
    """The notes on a file's rate: the other readings of silence, and every output that has no part in it."""
    counts = f"{one['unfinished']} unfinished, {one['failed']} failed, {one['missing']} missing"
    if one["mode"] == "nli":
        corrected = ""
        if one["rate_corrected"] is not None:
            interval = f"{cell(one['ci_low_corrected'])} {cell(one['ci_high_corrected'])}"
            corrected = f"corrected for the judge's error {cell(one['rate_corrected'])} ({interval}), "
        readings = f"{corrected}by mention {cell(one['rate_mentioned'])}, by keyword {cell(one['rate_keyword'])}; "
        counts = (
            f"{readings}{one['refusals']} refusals, {counts}; {one['privileged']} of privileged patients not counted"
        )
    return f"{Path(one['file']).name}: {counts}"


def score_stigma(
    *,
    rq1: Annotated[list[Path] | None, typer.Option(help="Probabilities of rq1, CSV.", show_default=False)] = None,
    rq2: Annotated[list[Path] | None, typer.Option(help="Probabilities of rq2, CSV.", show_default=False)] = None,
    steps: Annotated[list[Path] | None, typer.Option(help="Paths of rq2, CSV.", show_default=False)] = None,
    tokens: Annotated[list[Path] | None, typer.Option(help="Predictions of rq1, log.", show_default=False)] = None,
    legacy: Annotated[
        bool, typer.Option("--legacy", help="Sum steps and tokens as published, parts of words included.")
    ] = False,
    names: Annotated[
        bool, typer.Option("--names", help="Match first names in tokens too (equipoise import names).")
    ] = False,
    library: Annotated[Path, typer.Option(help="Folder of the study's files.")] = Path("data/sentences"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score one model's released probabilities; files of mental and of control conditions together are compared.

    Every option that names a file may be given again. Which conditions a file is about is read from the file.
    """
    known = load_library(shipped(library))
    wordings = lin.Wordings(known)
    aggregation: Aggregation = "legacy" if legacy else "words"
    nouns = noun_lexicon(known.words.nouns)
    short = short_lexicon(known.words.short, load_names(known.words.names) if names else None)
    given = [*(rq1 or []), *(rq2 or []), *(steps or []), *(tokens or [])]
    if not given:
        raise EquipoiseError("no file is given: name one with --rq1, --rq2, --steps or --tokens")
    if repeated := next((path for path in given if given.count(path) > 1), None):
        raise EquipoiseError(f"{repeated}: given twice: give it once")
    with progress("score"):
        tables = {
            **{path: lin.read_rq1(path, wordings) for path in rq1 or []},
            **{path: lin.read_rq2(path, wordings) for path in rq2 or []},
            **{path: lin.read_steps(path, wordings, nouns, aggregation) for path in steps or []},
            **{path: lin.read_tokens(path, wordings, short, aggregation) for path in tokens or []},
        }
        notes = refuse_duplicates(tables)
        fills = [fill for table in tables.values() for fill in table]
        metrics = nested(stigma_effects(fills, Measure()))
    if as_json:
        files = {str(path): len(table) for path, table in tables.items()}
        print_json({"files": files, "notes": notes, "metrics": metrics})
        return
    for family, groups in metrics.items():
        show(_stigma_table(family, groups), "")
    show(*(f"note: {note}" for note in notes))


def refuse_duplicates(tables: Mapping[Path, Sequence[Fill]]) -> list[str]:
    """Refuse files that are another model's or hold the same values or sentences; note those that agree in part."""
    for path in tables:
        if truth := lin.wrong_name(path):
            raise EquipoiseError(f"{path}: wrong name: it holds {truth}: score it under its own name")
    notes = []
    for one in lin.duplicates(tables):
        if one.kind != "some":
            what = "is a byte copy of" if one.kind == "bytes" else "holds the same values as"
            raise EquipoiseError(
                f"{one.second}: {what} {one.first}: one of them has a wrong name or is given twice; leave it out"
            )
        notes.append(f"{one.second}: {one.equal} of {one.rows} rows equal those of {one.first}: is it the same run?")
    owners: dict[str, Path] = {}
    for path, table in tables.items():
        for fill in table:
            if owners.setdefault(fill.key, path) != path:
                raise EquipoiseError(
                    f"{path}: {fill.key} is in {owners[fill.key]} too: score one model and run at a time"
                )
    return notes


def _stigma_table(family: str, groups: Any) -> Table:  # noqa: ANN401  (nested scalars)
    """Lay out one family, a group of sentences a row; probabilities and their differences in per cent."""
    shares = [] if family.endswith("difference") else list(SHARES)[: 3 if family.startswith("rq1") else 2]
    columns = ("", "n", *(SHARES[share] for share in shares), "F - M", "95 % CI", "p", "Holm", "clustered", "d")
    table = plain_table(FAMILIES[family], columns)
    for group, measures in groups.items():
        gap, clustered = measures["disparity"], measures["disparity_clustered"]
        table.add_row(
            group,
            str(gap["n"]),
            *(f"{100 * measures[share]['estimate']:.1f}" for share in shares),
            f"{100 * gap['estimate']:+.1f}",
            f"{100 * gap['ci_low']:+.1f} {100 * gap['ci_high']:+.1f}" if "ci_low" in gap else NOT_DEFINED,
            _p(gap, "neg_log10_p"),
            _p(gap, "neg_log10_p_holm"),
            _p(clustered, "neg_log10_p"),
            f"{gap['d_pooled']:+.2f}" if "d_pooled" in gap else NOT_DEFINED,
        )
    return table


def _p(figures: Mapping[str, float], name: str) -> str:
    return f"{10 ** -figures[name]:.0e}" if name in figures else NOT_DEFINED


def score_influence(
    answers: Annotated[Path, typer.Option(help="Counts of answers, a row for each arm of an example, JSONL.")],
    implied: Annotated[Path, typer.Option(help="Which concepts each explanation implies, JSONL.")],
    concepts: Annotated[Path, typer.Option(help="The concepts of each example, and their categories, JSONL.")],
    *,
    demographic: Annotated[
        list[str] | None,
        typer.Option(
            help="Coarse category of demographic concepts; may be given again.", show_default=" and ".join(DEMOGRAPHIC)
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON list, an object a data set and model.")
    ] = False,
) -> None:
    """Score answers to counterfactual questions: how much demographic influence do explanations keep silent about?

    Also gives the faithfulness slope of Matton et al. (2025), over all concepts. docs/metrics/influence.md has the
    format of the files.
    """
    with progress("score"):
        released = read_influence(answers, implied, concepts)
        scored = scored_influence(released, demographic or DEMOGRAPHIC)
    for dataset, example in released.without_concepts:
        typer.echo(f"left out: example {line(example)} of {line(dataset)} has no row in {concepts}", err=True)
    if as_json:
        print_json(scored)
        return
    columns = ("data set", "model", "interventions", "moved", "silent", "slope", "90 % CI")
    table = plain_table("Influence of demographic concepts, and faithfulness slope", columns, left=2)
    for one in scored:
        names = (str(one[name]) for name in ("dataset", "llm", "interventions", "moved", "silent"))
        table.add_row(*names, *_with_interval(one, "slope", ".3f"))
    show(table)
