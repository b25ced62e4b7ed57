"""Compare the replies to both arms of every message with each other and with the gold answer."""

from pathlib import Path

from equipoise.backends.infer import Infer
from equipoise.core import params, records, stage
from equipoise.judge.kept import kept_probabilities
from equipoise.models import registry
from equipoise.openr1.compare import compare
from equipoise.openr1.rows import Agreement, Message
from equipoise.openr1.settings import Comparison


def main(messages: Path, responses: Path, agreements: Path) -> None:
    """Read the MESSAGES and the RESPONSES; write the AGREEMENTS."""
    settings = params.load()
    asked = records.read(messages, Message)
    rows: list[Agreement] = []
    if asked:
        comparison = settings.section("compare", Comparison)
        cluster = settings.section("infer", Infer).cluster
        with kept_probabilities(comparison.judge, Path(), cluster) as judge, stage.progress("compare") as progress:
            rows = compare(
                asked,
                records.each(responses, records.Response),
                judge,
                threshold=comparison.threshold,
                form=registry.load_entry(settings.model, Path()).reasoning,
                progress=progress,
                where=str(messages),
            )
    records.write(agreements, rows)


if __name__ == "__main__":
    stage.run(main)
