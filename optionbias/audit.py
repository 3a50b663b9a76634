"""The data audit: what is wrong with each benchmark as published, and what the repairs touch.

Rows are tidy: benchmark, section, name, count, ids. Sections: `rows` (how many, and what became of
them), `gold` (how often the gold option stands at each position, before and after repairs),
`fault` (rows as published that have it) and `repair` (items that it touches, or would).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from optionbias import faults
from optionbias.benchmarks.source import Row
from optionbias.item import Item
from optionbias.orderings import LETTERS
from optionbias.published import Reading

COLUMNS = ("benchmark", "section", "name", "count", "of", "ids")

# Fault -> ids of the rows that have it, in the order in which the page shows them.
FAULTS: dict[str, Callable[[Sequence[Row]], list[str]]] = {}


def _fault(name: str, predicate: Callable[[Row], bool]) -> None:
    FAULTS[name] = lambda rows: [row.id for row in rows if predicate(row)]


FAULTS["questions asked again"] = faults.duplicated_questions
FAULTS["items repeated"] = faults.duplicated_items
_fault("identical options", faults.has_identical_options)
_fault("stray blanks on options", faults.stray_blank)
_fault("stray blanks on the gold", faults.stray_blank_on_gold)
_fault("stray blanks on the gold alone", faults.stray_blank_on_gold_alone)
_fault("options out of letter order", faults.out_of_letter_order)
_fault("mis-keyed when read by line", faults.miskeyed_by_line)
_fault("options that lost their letter", faults.lost_letter)
FAULTS["gold always first"] = lambda rows: (
    [row.id for row in rows] if len(rows) > 1 and all(row.answer == 0 for row in rows) else []
)
_fault("mojibake", faults.has_mojibake)
_fault("empty fields", faults.has_empty_field)
_fault("options that refer to others", faults.has_referring_option)
_fault("markup", faults.has_markup)


@dataclass(frozen=True)
class Audited:
    """A benchmark's audit.

    Attributes:
        origin, licence: where it comes from; of a user's own, what its cohort file says.
        digest: SHA-256 of the items.
        pinned: the digest is the one that the source is known to give.
        exemplars: ids of the exemplars and the digest of their pool, None without five-shot.
    """

    title: str
    k: int
    origin: str
    licence: str
    digest: str
    pinned: bool
    rows: list[dict[str, object]]
    exemplars: tuple[list[str], str | None] | None = None


def rows_of_items(items: Iterable[Item]) -> list[Row]:
    """Items of a user's or a generated benchmark as rows: they have no other form."""
    return [
        Row(i.id, i.question, i.options, i.answer, i.passage, i.split, i.subject) for i in items
    ]


def audit_rows(benchmark: str, reading: Reading, k: int) -> list[dict[str, object]]:
    """The tidy rows of one benchmark."""
    found: list[dict[str, object]] = []
    kept = len(reading.kept)

    def add(section: str, name: str, count: int, of: int, ids: Sequence[str] = ()) -> None:
        found.append(
            dict(zip(COLUMNS, (benchmark, section, name, count, of, list(ids)), strict=True))
        )

    total = len(reading.rows)
    add("rows", "read", total, total)
    for reason, ids in reading.dropped.items():
        add("rows", f"dropped: {reason}", len(ids), total, ids)
    add("rows", "items", len(reading.items), total)
    for name, answers in (
        ("published", [row.answer for row in reading.kept]),
        ("items", [item.answer for item in reading.items]),
    ):
        counts = Counter(answers)
        for position in range(k):
            add("gold", f"{name} {LETTERS[position]}", counts[position], len(answers))
    for name, find in FAULTS.items():
        ids = find(reading.kept)
        add("fault", name, len(ids), kept, ids)
    for name, ids in reading.touched.items():
        add("repair", name, len(ids), kept, ids)
    return found


def csv_text(audits: Mapping[str, Audited]) -> str:
    """Every row of every benchmark; ids as a JSON list."""
    import pandas as pd

    rows = [{**row, "ids": json.dumps(row["ids"])} for a in audits.values() for row in a.rows]
    return pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(index=False, lineterminator="\n")
