"""Table `text`: the numbers of the prose, section by section."""

from __future__ import annotations

from importlib import import_module

from optionbias.catalogue import TEXTS
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table

CAPTION = (
    "Numbers of the prose, by section of the paper. Intervals are 95% checkpoint-block intervals "
    "unless a note says otherwise."
)


def table_text(inputs: Inputs) -> Table:
    """What the functions of `catalogue.TEXTS` return, one block a section, in the paper's order."""
    sections: dict[str, list[Entry]] = {}
    for text in TEXTS:
        module, function = text.split(":")
        found = getattr(import_module(module), function)(inputs)
        for block in [found] if isinstance(found, Block) else found:
            sections.setdefault(block.table, []).extend(block.entries)
    blocks = [
        Block(_heading(name), entries, name)
        for name, entries in sorted(sections.items(), key=lambda item: _order(item[0]))
        if entries
    ]
    return Table("text", CAPTION, blocks, corner="Number", listed=True)


def _heading(table: str) -> str:
    """`Section 5.1` or `Appendix D.2`, from the CSV's `text-5.1`."""
    section = table.removeprefix("text-")
    return f"{'Section' if section[0].isdigit() else 'Appendix'} {section}"


def _order(table: str) -> tuple[bool, str]:
    """Sections before appendices."""
    section = table.removeprefix("text-")
    return section[:1].isalpha(), section
