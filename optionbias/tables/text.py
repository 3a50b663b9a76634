"""Table `text`: the numbers of the prose, section by section."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from optionbias.catalogue import TEXTS
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Table

CAPTION = (
    "Numbers of the prose, by section of the paper. Intervals are 95% checkpoint-block intervals "
    "unless a note says otherwise."
)


def table_text(inputs: Inputs) -> Table:
    """Every block that the functions of `catalogue.TEXTS` return, in their order."""
    blocks: list[Block] = []
    for text in TEXTS:
        module, function = text.split(":")
        found = getattr(import_module(module), function)(inputs)
        blocks += [found] if isinstance(found, Block) else found
    named = [replace(b, heading=_heading(b)) for b in blocks if b.entries]
    return Table("text", CAPTION, named, corner="Number", listed=True)


def _heading(block: Block) -> str:
    """`Section 5.1` or `Appendix D.2`, from the CSV's `text-5.1`."""
    section = block.table.removeprefix("text-")
    return f"{'Section' if section[0].isdigit() else 'Appendix'} {section}"
