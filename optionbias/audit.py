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

Finder = Callable[[Sequence[Row]], list[str]]
# Fault -> ids of the rows that have it, in the order in which the page shows them.
FAULTS: dict[str, Finder] = {}
# Fault -> what is counted, as the page explains it.
MEANINGS: dict[str, str] = {}


def _fault(name: str, meaning: str, find: Finder) -> None:
    FAULTS[name], MEANINGS[name] = find, meaning


def _each(predicate: Callable[[Row], bool]) -> Finder:
    return lambda rows: [row.id for row in rows if predicate(row)]


def _gold_always_first(rows: Sequence[Row]) -> list[str]:
    first = len(rows) > 1 and all(row.answer == 0 for row in rows)
    return [row.id for row in rows] if first else []


_fault(
    "questions asked again",
    "passage and question of an earlier row, whatever the options; the first is not counted",
    faults.duplicated_questions,
)
_fault(
    "items repeated",
    "passage, question and options of an earlier row, in any order; the first is not counted",
    faults.duplicated_items,
)
_fault(
    "identical options",
    "an option that is listed twice, blanks at its edges aside",
    _each(faults.has_identical_options),
)
_fault("stray blanks on options", "a blank at an edge of any option", _each(faults.stray_blank))
_fault(
    "stray blanks on the gold",
    "one on the gold option, whether or not others have one",
    _each(faults.stray_blank_on_gold),
)
_fault(
    "stray blanks on the gold alone",
    "one on the gold option and on no other, which gives it away",
    _each(faults.stray_blank_on_gold_alone),
)
_fault(
    "options out of letter order",
    "letters printed before the options that do not run A, B, C, ...",
    _each(faults.out_of_letter_order),
)
_fault(
    "mis-keyed when read by line",
    "of those, rows whose gold letter stands on another line than its number",
    _each(faults.miskeyed_by_line),
)
_fault(
    "options that lost their letter",
    "an option without the letter that the source prints before options",
    _each(faults.lost_letter),
)
_fault(
    "gold always first",
    "the gold option is the first of every row, so that its position is a constant",
    _gold_always_first,
)
_fault(
    "mojibake",
    "text that looks decoded in a wrong encoding (a heuristic of ftfy), or a replacement character",
    _each(faults.has_mojibake),
)
_fault("empty fields", "an empty question, option or passage", _each(faults.has_empty_field))
_fault(
    "options that refer to others",
    "phrases such as `all of the above` and `both A and C`, found by a list of patterns",
    _each(faults.has_referring_option),
)
_fault("markup", "marks such as `[header]` and `[step]`", _each(faults.has_markup))


@dataclass(frozen=True)
class Audited:
    """A benchmark's audit.

    Attributes:
        origin, licence: where it comes from; of a user's own, what its cohort file says.
        digest: SHA-256 of the items.
        pinned: the digest is the one that the source is known to give.
        exemplars: the exemplars and the digest of their pool, None without five-shot.
        split: that is evaluated, None of a user's own or a generated one.
        citation: of a published benchmark, None of any other.
        subjects: that a published benchmark was asked for by, none where it has none to choose.
    """

    title: str
    k: int
    origin: str
    licence: str
    digest: str
    pinned: bool
    rows: list[dict[str, object]]
    exemplars: tuple[list[Item], str | None] | None = None
    split: str | None = None
    subjects: tuple[str, ...] = ()
    citation: str | None = None


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
