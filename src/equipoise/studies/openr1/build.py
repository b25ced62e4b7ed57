"""Write the messages of OpenR1-Psy in two arms that differ in a demographic statement, and their prompts."""

from rich.console import Console

from equipoise.core import jsonl, stage
from equipoise.materials.stories.library import load_library
from equipoise.pipeline.phantoms import tell
from equipoise.pipeline.run import Run
from equipoise.studies.openr1.facts import facts
from equipoise.studies.openr1.pairs import exclusions, message_prompt, pair_items
from equipoise.studies.openr1.rows import OpenR1Item, Pairing


def build(run: Run) -> None:
    """Write the messages of OpenR1-Psy in two arms that differ in a demographic statement, and their prompts."""
    settings = run.settings.section("pair", Pairing)
    authored = load_library(run.data / "raw")
    personas, contrasts = list(authored.personas.values()), list(authored.contrasts.values())
    items = run.data / "items" / f"{settings.items}.jsonl"
    paired = pair_items(jsonl.read(items, OpenR1Item), personas, contrasts, settings, str(items))
    jsonl.write(run.built("messages"), paired.messages)
    jsonl.write(run.built("prompts"), [message_prompt(message, settings) for message in paired.messages])
    tell(run, facts)
    with stage.aside():
        left_out = exclusions(paired.excluded) or "none"
        Console().print(f"{len(paired.messages)} messages; left out: {left_out}", highlight=False)
