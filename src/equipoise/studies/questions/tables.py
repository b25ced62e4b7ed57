"""DataFrames of answers that `equipoise.compare` takes, as tables: those in AMQA's form."""

from equipoise.core.tables import Table
from equipoise.studies.questions.amqa import read_answers, require_same_gold
from equipoise.studies.questions.effects import Answered


def is_answers(table: Table) -> bool:
    """Whether a table holds answers in AMQA's form."""
    return bool(table.rows) and "question_id" in table.rows[0]


def items(base: Table, head: Table) -> tuple[dict[str, Answered], dict[str, Answered]]:
    """Read the answers of both tables by question; where their right letters differ is an EquipoiseError."""
    before, after = read_answers(base), read_answers(head)
    require_same_gold({base.name: before, head.name: after})
    return {row.question: row for row in before}, {row.question: row for row in after}
