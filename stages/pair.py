"""Tell the messages of OpenR1-Psy in two arms that differ in a demographic statement, and write the prompts."""

from pathlib import Path

from rich.console import Console

from equipoise.core import params, records, stage
from equipoise.openr1.pairs import exclusions, message_prompt, pair_items
from equipoise.openr1.rows import OpenR1Item
from equipoise.openr1.settings import Pairing
from equipoise.vignettes import load_library


def main(items: Path, raw: Path, messages: Path, consultations: Path) -> None:
    """Read the ITEMS, and the personas and contrasts in RAW; write the MESSAGES and their prompts, CONSULTATIONS."""
    settings = params.load().section("pair", Pairing)
    library = load_library(raw)
    personas, contrasts = list(library.personas.values()), list(library.contrasts.values())
    made = pair_items(records.read(items, OpenR1Item), personas, contrasts, settings, str(items))
    records.write(messages, made.messages)
    records.write(consultations, [message_prompt(message, settings) for message in made.messages])
    told = f"{len(made.messages)} messages; left out: {exclusions(made.excluded) or 'none'}"
    with stage.aside():
        Console().print(told, highlight=False)


if __name__ == "__main__":
    stage.run(main)
