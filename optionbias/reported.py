"""Agreement with the paper's reported values: both values side by side, and a verdict for each.

A verdict is given on the paper's own cohort alone. On any other cohort (simulated, small, a
user's own) other checkpoints answered other items, so near values would mean nothing.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from optionbias.catalogue import TABLES
from optionbias.tables.table import Block, Entry, Table, markdown

COLUMNS = ("paper", "table", "row", "column", "value", "ci_low", "ci_high", "unit", "note")
AGREEMENT_COLUMNS = (
    "table", "row", "column", "reported", "reported_low", "reported_high", "unit", "note",
    "ours", "ours_low", "ours_high", "n", "verdict",
)  # fmt: skip
PAPER = "two-factors"
PAPER_COHORT = "paper"
PROSE = "text-"
KEY = ["table", "row", "column"]
NUMBERS = ("value", "ci_low", "ci_high")
REPORTED = ("reported", "reported_low", "reported_high")
OURS = ("ours", "ours_low", "ours_high")
# Units in which one whole is 100; every other unit counts wholes as 1.
HUNDREDTHS = ("%", "pp")
IN_WORDS = "in words"
# note of a reported value -> how its number reads
WORDS = {"approximate": "about", "upper bound": "at most"}
OWN_COHORT = (
    "This cohort is marked as the paper's: the same checkpoints, benchmarks and readouts. Each verdict is "
    "about one value and says no more than its meaning below; intervals that overlap do not make two "
    "values equal."
)
OTHER_COHORT = (
    "**This cohort is not the paper's.** Other checkpoints, benchmarks or readouts were run, or the answers "
    "were made up, so nothing on this page supports or contradicts the paper, whether values are near or "
    "far; it shows only which of the paper's quantities this run measures."
)
CAPTION = "Reported values and those of this run."
VERDICTS = {
    "inside": "our value lies inside the reported interval or, where none is reported, equals the "
    "reported value to its printed digits",
    "intervals overlap": "not inside, but our interval and the reported interval (the reported "
    "value, where no interval is reported) have values in common",
    "same sign": "neither, but both values lie on the same side of zero, as any two values of a quantity "
    "that cannot be negative do",
    "differs": "none of these",
    IN_WORDS: "the paper gives words or a bound: both are stated, and nothing is scored",
    "other cohort": "not the paper's cohort: both are stated, and nothing is compared",
    "not run": "this run has no such value, or it is undefined here",
}


class ReportedError(ValueError):
    """A file of reported values, or a table to compare, that cannot be used; one line."""


class Value(NamedTuple):
    """A number with its interval, NaN where there is none."""

    value: float
    low: float = nan
    high: float = nan

    @property
    def has_interval(self) -> bool:
        """Whether both ends are there."""
        return math.isfinite(self.low) and math.isfinite(self.high)


def read_reported(path: Path) -> pd.DataFrame:
    """The reported values, every column as the text that the file holds.

    Raises:
        ReportedError: naming the file and, for each fault, its line and column.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            header, *rows = [*csv.reader(file, strict=True)] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReportedError(f"{path}: cannot be read: {error}") from error
    if tuple(header) != COLUMNS:
        raise ReportedError(f"{path}: the header must be {','.join(COLUMNS)}")
    faults: list[str] = []
    seen: dict[tuple[str, ...], int] = {}
    for line, fields in enumerate(rows, start=2):
        if len(fields) != len(COLUMNS):
            faults.append(f"line {line}: {len(fields)} fields instead of {len(COLUMNS)}")
            continue
        row = dict(zip(COLUMNS, fields, strict=True))
        faults += [f"line {line}: {fault}" for fault in _faults(row)]
        key = tuple(row[name] for name in KEY)
        if key in seen:
            faults.append(f"line {line}: the same table, row and column as line {seen[key]}")
        seen.setdefault(key, line)
    if faults:
        raise ReportedError(f"{path}: {'; '.join(faults)}")
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=str)


def _faults(row: Mapping[str, str]) -> Iterator[str]:
    if row["paper"] != PAPER:
        yield f"`paper` is {row['paper']!r}, not {PAPER}"
    if not is_table(row["table"]):
        yield f"`table` is {row['table']!r}, neither 1 to 21 nor text- and a section"
    for name in ("row", "column"):
        if not row[name].strip():
            yield f"`{name}` is empty"
    wrong = [name for name in NUMBERS if row[name] and not _is_number(row[name])]
    for name in wrong:
        yield f"`{name}` is not a number: {row[name]!r}"
    if wrong:
        return
    if not row["value"] and (row["ci_low"] or row["ci_high"] or not row["note"].strip()):
        yield "`value` is empty: then the note alone is the reported word"
    if bool(row["ci_low"]) != bool(row["ci_high"]):
        yield "`ci_low` and `ci_high` go together"
    elif row["ci_low"] and float(row["ci_low"]) > float(row["ci_high"]):
        yield "`ci_low` is larger than `ci_high`"


def is_table(name: str) -> bool:
    """Whether a name is a table of the paper or a section of its prose (`text-5.1`)."""
    section = name.removeprefix(PROSE)
    return name in TABLES.keys() - {"text"} or (section != name and bool(section.strip()))


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _decimals(text: str) -> int:
    """Digits after the point of a number as it is written; 17 of 5.5e-16."""
    exponent = Decimal(text).as_tuple().exponent
    assert isinstance(exponent, int)  # finite
    return max(0, -exponent)


def printed_decimals(rows: pd.DataFrame) -> list[int]:
    """To how many decimals each reported value was printed (rows of `agreement`).

    The file does not keep trailing zeros, so the decimals of a column of a table are the most
    that its values and interval ends have. Values in words have no printed digits, and values
    in powers of ten have their own.
    """
    records = rows.to_dict("records")
    columns: dict[tuple[str, str], int] = {}
    for row in records:
        if _words(row["note"]) is None:
            key = (row["table"], row["column"])
            texts = [row[name] for name in REPORTED if _is_number(row[name])]
            plain = [_decimals(text) for text in texts if "e" not in text.lower()]
            columns[key] = max([columns.get(key, 0), *plain])
    return [
        _decimals(row["reported"])
        if _is_number(row["reported"]) and (_words(row["note"]) or "e" in row["reported"].lower())
        else columns.get((row["table"], row["column"]), 0)
        for row in records
    ]


def read_tables(folder: Path) -> pd.DataFrame:
    """The rows of every table's CSV in a folder, every column as text.

    Raises:
        ReportedError: no table there.
    """
    paths = sorted(folder.glob("table*.csv"))
    if not paths:
        raise ReportedError(f"{folder}: no table{{N}}.csv to compare")
    frames = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in paths]
    return pd.concat(frames, ignore_index=True)


def is_papers(cohort: Mapping[str, Any]) -> bool:
    """Whether a described cohort is the paper's: named `paper`, and marked as replicating it."""
    return cohort["name"] == PAPER_COHORT and cohort.get("replicates") is True


def agreement(
    reported: pd.DataFrame, tables: pd.DataFrame, cohort: Mapping[str, Any]
) -> pd.DataFrame:
    """One row per reported value, in the file's order, with the columns `AGREEMENT_COLUMNS`.

    Args:
        reported: what `read_reported` gives.
        tables: what `read_tables` gives.
        cohort: the described cohort (`results/cohort.json`).

    Our numbers are written in the reported unit: a share beside a percentage becomes one. A
    reported word (yes, no) stands in `reported` itself.

    Raises:
        ReportedError: the tables give one value twice, differently.
    """
    wanted = {tuple(row) for row in reported[KEY].to_numpy()}
    ours: dict[tuple[str, ...], Mapping[Any, str]] = {}
    for row in tables.to_dict("records"):
        key = tuple(row[name] for name in KEY)
        if key in wanted and row != ours.setdefault(key, row):
            raise ReportedError(f"two different values of table {', '.join(key)}")
    rows = [
        _beside(row, ours.get(tuple(row[name] for name in KEY), {}))
        for row in reported.to_dict("records")
    ]
    frame = pd.DataFrame(rows, columns=[c for c in AGREEMENT_COLUMNS if c != "verdict"])
    papers = is_papers(cohort)
    frame["verdict"] = [
        _verdict(row, decimals, papers)
        for row, decimals in zip(frame.to_dict("records"), printed_decimals(frame), strict=True)
    ]
    return frame.astype({"n": "Int64"})


def _beside(reported: Mapping[Any, str], ours: Mapping[Any, str]) -> dict[str, Any]:
    """A reported value as its file writes it and ours in the same unit."""
    row: dict[str, Any] = {name: reported[name] for name in (*KEY, "unit", "note")}
    row["n"] = int(ours["n"]) if ours.get("n") else None
    if not reported["value"]:
        word = {"reported": reported["note"], "reported_low": "", "reported_high": "", "note": ""}
        return row | word | {"ours": ours.get("value", ""), "ours_low": nan, "ours_high": nan}
    scale = _scale(reported["unit"], ours.get("unit", ""))
    for name, theirs, own in zip(NUMBERS, REPORTED, OURS, strict=True):
        row |= {theirs: reported[name], own: scale * _float(ours.get(name, ""))}
    return row


def _verdict(row: Mapping[Any, Any], decimals: int, papers: bool) -> str:
    """The verdict on a row of `agreement`."""
    ours = row["ours"]
    if ours == "" or ours != ours:
        return "not run"
    if not papers:
        return "other cohort"
    if isinstance(ours, str):
        # A word has neither digits nor a sign.
        return "inside" if ours == row["reported"] else "differs"
    reported = Value(*(_float(row[name]) for name in REPORTED))
    return verdict(reported, Value(*(row[name] for name in OURS)), decimals, row["note"])


def _float(text: str) -> float:
    return float(text) if text and _is_number(text) else nan


def _scale(unit: str, own: str) -> float:
    """What turns a number in our unit into the reported unit: a percentage is a share times 100."""
    theirs, ours = unit.startswith(HUNDREDTHS), own.startswith(HUNDREDTHS)
    return 1.0 if theirs == ours else 100.0 if theirs else 0.01


def _words(note: str) -> str | None:
    """How a value reads that the paper gives in words; None where it is a printed number."""
    return next((text for start, text in WORDS.items() if note.startswith(start)), None)


def verdict(reported: Value, ours: Value, decimals: int, note: str = "") -> str:
    """The verdict on one value of the paper's cohort, a key of `VERDICTS` or a text that starts so.

    Args:
        reported, ours: in one unit.
        decimals: how finely the reported value and interval were printed: a printed number
            stands for all that round to it, half a unit of the last decimal to either side.
        note: the reported value's note.
    """
    words = _words(note)
    if words is not None:
        return f"{IN_WORDS}: reported {words} {reported.value:g}, ours {ours.value:.3g}"
    half = 0.5 * 10.0**-decimals * (1 + 1e-9)
    ends = reported[1:] if reported.has_interval else (reported.value, reported.value)
    low, high = ends[0] - half, ends[1] + half
    if low <= ours.value <= high:
        return "inside"
    if ours.has_interval and ours.low <= high and low <= ours.high:
        return "intervals overlap"
    return "same sign" if reported.value * ours.value > 0 else "differs"


def page(rows: pd.DataFrame, cohort: Mapping[str, Any]) -> str:
    """The agreement as a page of Markdown: what may be concluded, counts, and every value."""
    kinds = rows["verdict"].str.partition(":")[0]
    counts = kinds.value_counts()
    lines = [
        f"# Agreement with the paper's reported values: cohort `{cohort.get('label', cohort['name'])}`",
        "",
        OWN_COHORT if is_papers(cohort) else OTHER_COHORT,
        "",
        f"Of {len(rows)} reported values, {int((kinds != 'not run').sum())} have a value of this "
        "run beside them.",
        "",
        "| verdict | values | meaning |",
        "|---|---:|---|",
        *(f"| {v} | {counts[v]} | {meaning} |" for v, meaning in VERDICTS.items() if v in counts),
        "",
        "Brackets hold intervals. Where the reported values come from and what their notes mean is "
        "in `paper/reported/README.md`; the rows below, unrounded and with their notes, are in "
        "`results/agreement.csv`.",
        "",
    ]
    entries: dict[str, list[Entry]] = {}
    for row, decimals in zip(rows.to_dict("records"), printed_decimals(rows), strict=True):
        entries.setdefault(row["table"], []).extend(_entries(row, decimals))
    numbers = sorted((t for t in entries if not t.startswith(PROSE)), key=int)
    tables = [Table(t, CAPTION, [Block("", entries[t])], corner="value") for t in numbers]
    sections = sorted(t for t in entries if t.startswith(PROSE))
    blocks = [Block(f"Section {t.removeprefix(PROSE)}", entries[t]) for t in sections]
    if blocks:
        tables.append(Table("text", f"Numbers of the prose. {CAPTION}", blocks, corner="value"))
    return "\n".join([*lines, *map(markdown, tables)])


def _entries(row: Mapping[Any, Any], decimals: int) -> list[Entry]:
    """One line of the page: the row and column of a value, both numbers, the verdict."""
    label = f"{row['row']}: {row['column']}" + f" ({row['unit']})" * bool(row["unit"])
    shown = {
        "reported": _shown(row, REPORTED, decimals),
        "this run": _shown(row, OURS, decimals),
        "verdict": row["verdict"],
        "note": row["note"],
    }
    return [Entry(label, column, text) for column, text in shown.items()]


def _shown(row: Mapping[Any, Any], names: tuple[str, ...], decimals: int) -> str:
    """A value and its interval to the printed digits of the reported one."""

    def text(number: float) -> str:
        if "e" in row["reported"].lower():
            return f"{number:.3g}"
        # A rounded zero has no sign.
        return f"{round(number, decimals) + 0.0:.{decimals}f}"

    value, low, high = (_float(str(row[name])) for name in names)
    if math.isnan(value):
        return str(row[names[0]]) if isinstance(row[names[0]], str) else ""
    return f"{text(value)} [{text(low)}, {text(high)}]" if math.isfinite(low) else text(value)
