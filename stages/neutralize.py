"""Take race, gender and socioeconomic terms out of the questions, and keep out those that they decide."""

from pathlib import Path

from equipoise import params, records, stage
from equipoise.adversarial.rows import Item
from equipoise.neutral.items import Neutralize, neutralise_items
from equipoise.neutral.lexicon import load_lexicon


def main(items: Path, lexicon: Path, neutralised: Path) -> None:
    """Read the ITEMS and the LEXICON; write them NEUTRALISED, with the rule that excludes an item, if any."""
    limit = params.load().section("neutralize", Neutralize).limit
    rows = records.read(items, Item)
    with stage.progress("neutralize") as progress:
        made = neutralise_items(rows[:limit] if limit else rows, load_lexicon(lexicon), progress)
    records.write(neutralised, made)


if __name__ == "__main__":
    stage.run(main)
