"""Table 21: the definition of every per-cell statistic, as the code's own docstring states it."""

from __future__ import annotations

import inspect
import re

from optionbias.factors import CellStatistics
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table

# Statistic -> the published measure that the paper sets beside it (Table 21, Appendix F).
RELATED = {
    "flip_rate": "ReCon (Cocchieri et al., 2026)",
    "fluctuation_rate": "Fluctuation rate (Wei et al., 2024)",
    "kl": "CKLD (Choi et al., 2025)",
    "pooled_sd": "RStd (Zheng et al., 2024)",
}
CAPTION = (
    "Definitions of the per-cell statistics, under the names of their columns in the table of cells. A "
    "related measure is not the same number: ReCon spans format variants, the published fluctuation "
    "rate compares an ordering with its reversal, and RStd and CKLD read gold labels."
)


def table21(inputs: Inputs) -> Table:
    """Table 21; reads no statistics."""
    entries = []
    for row, text in definitions().items():
        related = [RELATED[name] for name in row.split(", ") if name in RELATED]
        entries += [
            Entry(row, "definition", text),
            Entry(row, "related measure", "; ".join(related)),
        ]
    return Table("21", CAPTION, [Block("", entries)], corner="Statistic")


def definitions() -> dict[str, str]:
    """Fields of `CellStatistics` (`std_h, range_h`) -> their definition, from the docstring.

    An entry under its `Attributes:` starts four blanks in, `name, name: text.`, and may run over
    deeper lines.
    """
    section = (inspect.getdoc(CellStatistics) or "").partition("Attributes:\n")[2]
    entries = re.findall(r"^ {4}(?! )(.*(?:\n {8}.*)*)", section, re.MULTILINE)
    split = [" ".join(entry.split()).removesuffix(".").partition(": ") for entry in entries]
    return {fields: text for fields, _, text in split}
