"""Take race, gender and socioeconomic terms out of the questions, and keep out those that they decide."""

from pathlib import Path

from equipoise.core import params, records, stage
from equipoise.questions.neutral.lexicon import load_lexicon
from equipoise.questions.neutral.neutralise import Neutralize, neutralise_items
from equipoise.questions.rows import Item


def main(items: Path, lexicon: Path, neutralised: Path) -> None:
    """Read the ITEMS and the LEXICON; write them NEUTRALISED, with the rule that excludes an item, if any."""
    limit = params.load().section("neutralize", Neutralize).limit
    rows = records.read(items, Item)
    with stage.progress("neutralize") as progress:
        made = neutralise_items(rows[:limit] if limit else rows, load_lexicon(lexicon), progress)
    records.write(neutralised, made)


if __name__ == "__main__":
    stage.run(main)
