"""`equipoise show`: a pair of vignettes with the model's replies, side by side, and which pairs are worth a look."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from equipoise.core import jsonl, printing
from equipoise.core.errors import EquipoiseError
from equipoise.core.printing import print_json
from equipoise.core.shipped import shipped
from equipoise.judge.lexicon import FOLDER, load_lexicon
from equipoise.studies.vignettes import completing, shown
from equipoise.studies.vignettes.shown import ShownPair
from equipoise.studies.vignettes.terminal import answers_split, split_table


def show(
    key: Annotated[
        str | None,
        typer.Argument(
            help="A pair, such as race-01, or one of its arms.",
            show_default="list all",
            autocompletion=completing.pairs,
        ),
    ] = None,
    *,
    biased: Annotated[
        bool, typer.Option("--biased", help="List marginalised patients who were given the documented error.")
    ] = False,
    silent: Annotated[
        bool, typer.Option("--silent", help="List moved answers whose reasoning gives no feature as a reason.")
    ] = False,
    dimension: Annotated[
        str | None,
        typer.Option(
            help="List pairs that vary this dimension, such as race or race+gender.",
            autocompletion=completing.dimensions,
        ),
    ] = None,
    unsure: Annotated[
        bool, typer.Option("--unsure", help="List the 20 pairs that the judge was least sure of.")
    ] = False,
    data: Annotated[Path, typer.Option(help="Folder of vignettes, responses and judgements.")] = Path("data/vignettes"),
    features: Annotated[Path, typer.Option(help="Folder of the word lists for each feature.")] = Path(FOLDER),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per pair.")] = False,
) -> None:
    """Show both arms of a pair and how the model's replies were read; without KEY, list the pairs.

    A pair is biased if the marginalised patient was given the documented error, and moved if the privileged one was not
    (see docs/metrics/silent_bias_rate.md). Its reasoning gives the patient's features as a reason (admitted), says that
    they do not count (denied), or neither.
    """
    if key is not None and (biased or silent or unsure or dimension is not None):
        raise EquipoiseError(f"{key!r} is one pair, which no filter applies to: give a KEY or filters")
    pairs = shown.read_pairs(data)
    if key is not None:
        _show_one(shown.find(pairs, key), features, as_json=as_json)
        return
    chosen = pairs if dimension is None else shown.of_dimension(pairs, dimension)
    chosen = [pair for pair in chosen if pair.pair.biased or not biased]
    chosen = [pair for pair in chosen if (pair.pair.moved and pair.pair.silent) or not silent]
    chosen = shown.unsure(chosen) if unsure else chosen
    _list(chosen, len(pairs), margins=unsure, as_json=as_json)


def _show_one(pair: ShownPair, features: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(jsonl.canonical(shown.whole(pair) | {"reread": answers_split(pair.pair)}))
        return
    from equipoise.studies.vignettes.terminal import card
    from equipoise.studies.vignettes.view import pair_view

    console = printing.PlainConsole()
    console.print(card(pair_view(pair, load_lexicon(shipped(features))), console.width))
    if reread := split_table(pair.pair):
        console.print("", reread, sep="\n")


def _list(pairs: Sequence[ShownPair], of: int, *, margins: bool, as_json: bool) -> None:
    if as_json:
        for pair in pairs:
            print_json(jsonl.canonical(shown.summary(pair, margins=margins)))
        return
    from equipoise.studies.vignettes.terminal import listing, totals

    printing.show(*([listing(pairs, margins=margins)] if pairs else []), totals(pairs, of))
