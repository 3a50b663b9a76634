"""A table: tidy rows, and the same rows laid out for Markdown, LaTeX and Typst."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from optionbias.atomic import write_text
from optionbias.resampling import Estimate
from optionbias.stamp import with_comment

LONG = 40
ROUNDING = ("residual", "difference")  # columns of rounding errors, printed as powers of ten
COLUMNS = ("table", "row", "column", "value", "ci_low", "ci_high", "unit", "n", "note")


@dataclass(frozen=True)
class Entry:
    """One value of a table; `value` is a number or a text, intervals are optional."""

    row: str
    column: str
    value: Any
    ci_low: float = math.nan
    ci_high: float = math.nan
    unit: str = ""
    n: int | None = None
    note: str = ""

    @classmethod
    def of(
        cls, row: str, column: str, e: Estimate, unit: str = "", scale: float = 1.0, note: str = ""
    ) -> Entry:
        """An estimate with its interval; `scale` is 100 where the unit is % or pp."""
        noted = "; ".join(filter(None, [note, e.interval.note]))
        low, high = scale * e.interval.low, scale * e.interval.high
        return cls(row, column, scale * e.value, low, high, unit, e.n, noted)


@dataclass(frozen=True)
class Block:
    """Rows that are laid out under one heading with the same columns.

    `table` replaces the table's number in the CSV (`text-5.1` for numbers of the prose).
    """

    heading: str
    entries: list[Entry]
    table: str = ""


@dataclass(frozen=True)
class Table:
    """A finished table.

    Attributes:
        number: its number in the paper, or `text`.
        caption: what it shows, one or two sentences.
        blocks: its parts, top to bottom.
        decimals: column -> decimals (2 unless said).
        note: what is to be said of every value.
        corner: heading of the first column.
        simulated: whether its data are; then caption and every row say so.
        listed: whether it is laid out as a list of numbers, a line each, not as a grid.
    """

    number: str
    caption: str
    blocks: list[Block]
    decimals: dict[str, int] = field(default_factory=dict)
    corner: str = ""
    note: str = ""
    simulated: bool = False
    listed: bool = False

    @property
    def full_caption(self) -> str:
        """The caption as it is printed."""
        return f"Simulated data. {self.caption}" if self.simulated else self.caption

    def tidy(self) -> pd.DataFrame:
        """The rows with the columns that every table's CSV promises."""
        said = "; ".join(filter(None, ["simulated data" * self.simulated, self.note]))
        rows = [
            {
                "table": block.table or self.number,
                **vars(e),
                "note": "; ".join(filter(None, [said, e.note])),
            }
            for block in self.blocks
            for e in block.entries
        ]
        return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"n": "Int64"})

    def printed(self) -> Table:
        """The table as it is laid out: a listed one as a grid of one column, a line a number."""
        if not self.listed:
            return self
        blocks = [
            Block(
                block.heading,
                [
                    Entry(
                        f"{e.row}: {_with_unit(e.column, e.unit)}",
                        "value",
                        self.text(e),
                        note=e.note,
                    )
                    for e in block.entries
                ],
            )
            for block in self.blocks
        ]
        return replace(self, blocks=blocks, listed=False)

    def notes(self) -> list[str]:
        """What the table and its entries note, each once; an entry's own note says whose it is."""
        noted: dict[str, list[Entry]] = {}
        for entry in (e for b in self.blocks for e in b.entries if e.note):
            noted.setdefault(entry.note, []).append(entry)
        own = []
        for note, entries in noted.items():
            columns = {e.column for e in entries}
            if len(entries) == 1 and len(noted) > 1:
                note = f"{entries[0].row}, {entries[0].column}: {note}"
            elif len(entries) > 1 and len(columns) == 1:
                note = f"{columns.pop()}: {note}"
            own.append(note)
        return [self.note, *own] if self.note else own

    def text(self, entry: Entry | None) -> str:
        """An entry as it is printed: value and interval; empty where undefined."""
        if entry is None or entry.value is None:
            return ""
        if isinstance(entry.value, str):
            return entry.value
        digits = self.decimals.get(entry.column, 2)
        if any(word in entry.column for word in ROUNDING) and 0 < abs(entry.value) < 1e-6:
            return f"{entry.value:.1e}"
        if entry.value == 0 and digits > 6:
            return "0"  # of decimals that are there for rounding errors
        if self.listed:  # numbers of all kinds
            digits = 0 if isinstance(entry.value, int) else 1 if entry.unit else 3
        value = _number(entry.value, digits)
        if value and math.isfinite(entry.ci_low):
            return f"{value} [{_number(entry.ci_low, digits)}, {_number(entry.ci_high, digits)}]"
        return value


def _number(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return ""
    text = f"{value:,.{digits}f}"
    # A rounded zero has no sign.
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text


def _heads(block: Block) -> list[tuple[str, str]]:
    """(column, column with its unit) in order of first appearance."""
    units = {e.column: e.unit for e in reversed(block.entries)}
    columns = dict.fromkeys(e.column for e in block.entries)
    return [(c, _with_unit(c, units[c])) for c in columns]


def _with_unit(column: str, unit: str) -> str:
    return f"{column} ({unit})" if unit else column


def _texts(block: Block) -> list[bool]:
    """Which columns hold texts alone: those are set flush left."""
    return [
        all(isinstance(e.value, str) for e in block.entries if e.column == column)
        for column, _ in _heads(block)
    ]


def _grid(table: Table, block: Block) -> tuple[list[str], list[list[str]]]:
    heads = _heads(block)
    cells = {(e.row, e.column): e for e in block.entries}
    rows = list(dict.fromkeys(e.row for e in block.entries))
    body = [[row, *(table.text(cells.get((row, c))) for c, _ in heads)] for row in rows]
    return [table.corner, *(title for _, title in heads)], body


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _markdown_text(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#&~$])", r"\\\1", _one_line(text))


def markdown(table: Table) -> str:
    """The table as GitHub Markdown."""
    lines = [f"**Table {table.number}.** {_markdown_text(table.full_caption)}", ""]
    for block in table.blocks:
        heads, body = _grid(table, block)
        if block.heading:
            lines += [f"*{_markdown_text(block.heading)}*", ""]
        titles, *rows = [[_markdown_text(c) for c in row] for row in [heads, *body]]
        lines.append("| " + " | ".join(titles) + " |")
        rule = ["---" if texts else "---:" for texts in _texts(block)]
        lines.append("|" + "|".join(["---", *rule]) + "|")
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        lines.append("")
    lines += [f"Note: {_markdown_text(note)}.\n" for note in table.notes()]
    return "\n".join(lines).rstrip() + "\n"


_TEX = {
    "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}",
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    # After a line break these would be read as an argument or a star.
    "[": "{[}", "*": "{*}", "\u2212": "$-$",
}  # fmt: skip


def _tex_text(text: str) -> str:
    return "".join(_TEX.get(ch, ch) for ch in _typographic(_one_line(text)))


def _wrapped(block: Block, column: str) -> str:
    """LaTeX column of texts: one that holds sentences has a width, so that they wrap."""
    return r"p{0.25\linewidth}" if _is_long(block, column) else "l"


def _is_long(block: Block, column: str) -> bool:
    """Whether a column holds sentences."""
    texts = [e.value for e in block.entries if e.column == column and isinstance(e.value, str)]
    return max(map(len, texts), default=0) > LONG


def latex(table: Table) -> str:
    """The table as a LaTeX float with booktabs rules."""
    width = max(len(_heads(b)) for b in table.blocks) + 1
    lines = [r"\begin{table}", r"\centering", r"\small"]
    widest = max(table.blocks, key=lambda b: len(_heads(b)))
    columns = "l" + "".join(
        (_wrapped(widest, column) if texts else "r")
        for texts, (column, _) in zip(_texts(widest), _heads(widest), strict=True)
    )
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    for i, block in enumerate(table.blocks):
        heads, body = _grid(table, block)
        if i:
            lines.append(r"\midrule")
        if block.heading:
            heading = rf"\emph{{{_tex_text(block.heading)}}}"
            lines.append(rf"\multicolumn{{{width}}}{{l}}{{{heading}}} \\")
        lines.append(" & ".join(_tex_text(h) for h in heads) + r" \\")
        lines.append(r"\midrule")
        lines += [" & ".join(_tex_text(c) for c in row) + r" \\" for row in body]
    lines += [r"\bottomrule", r"\end{tabular}"]
    caption = " ".join([table.full_caption, *(f"Note: {n}." for n in table.notes())])
    lines += [
        rf"\caption{{{_tex_text(caption)}}}",
        rf"\label{{tab:{table.number}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def typst(table: Table) -> str:
    """The table as a Typst figure that carries the paper's number."""

    def cell(text: str) -> str:
        # No line break inside an interval.
        text = re.sub(
            r"(\[[^\[\] ]+), ([^\[\] ]+\])", "\\1,\u00a0\\2", _typographic(_one_line(text))
        )
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'[#"{quoted}"]' if text else "[]"

    widest = max(table.blocks, key=lambda b: len(_heads(b)))
    width = len(_heads(widest)) + 1
    align = ["left", *("left" if texts else "right" for texts in _texts(widest))]
    caption = " ".join([table.full_caption, *(f"Note: {n}." for n in table.notes())])
    lines = [
        f"#figure(kind: table, numbering: none, caption: [*Table {table.number}.* #{cell(caption)}],"
    ]
    long = [_is_long(widest, column) for column, _ in _heads(widest)]
    # Where a column holds sentences, all share the width of the page.
    widths = (
        ["1fr", *("3fr" if wide else "1fr" for wide in long)] if any(long) else ["auto"] * width
    )
    lines.append(
        f"  table(columns: ({', '.join(widths)}), align: ({', '.join(align)}), stroke: none,"
    )
    for i, block in enumerate(table.blocks):
        heads, body = _grid(table, block)
        # The heading of an only block is repeated on every page that the table runs over.
        repeat = str(len(table.blocks) == 1).lower()
        first = f"  table.header(repeat: {repeat}, table.hline(),"
        lines.append(first if i == 0 else "  table.hline(stroke: 0.5pt),")
        if block.heading:
            lines.append(f"  table.cell(colspan: {width}, align: left, emph{cell(block.heading)}),")
        for row in [heads, *body]:
            padded = row + [""] * (width - len(row))
            lines.append("  " + ", ".join(cell(c) for c in padded) + ",")
            if row is heads:
                lines.append("  table.hline(stroke: 0.5pt)," + ")," * (i == 0))
    lines += ["  table.hline(),", f")) <table-{table.number}>"]
    return "\n".join(lines) + "\n"


def _typographic(text: str) -> str:
    """Hyphens before numbers as minus signs."""
    return re.sub(r"(^|[ \[])-(?=\d)", "\\1\u2212", text)


WRITERS: dict[str, Callable[[Table], str]] = {"md": markdown, "tex": latex, "typ": typst}


def write_table(
    table: Table, paths: Sequence[str | Path], stamp: Mapping[str, Any] | None = None
) -> None:
    """Write a table to each path, in the format its ending names (csv, md, tex, typ), atomically.

    All but the CSV, which holds its promised columns and nothing else, end with the stamp.
    """
    for path in map(Path, paths):
        ending = path.suffix.removeprefix(".")
        if ending == "csv":
            write_text(path, table.tidy().to_csv(index=False, lineterminator="\n"))
        else:
            text = WRITERS[ending](table.printed())
            write_text(path, with_comment(text, stamp, ending) if stamp else text)
