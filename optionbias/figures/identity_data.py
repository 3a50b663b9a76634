"""What Figure 2 draws: the pooling identity on a constructed example, which is checked here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from optionbias.design import Design
from optionbias.factors import cell_statistics, contents_of, flipping
from optionbias.identities import assert_identities
from optionbias.orderings import LETTERS, cyclic
from optionbias.tables.inputs import Inputs

K = 4
GOLD = 0
STABLE_WRONG, FLIPPING = "CDAB", "AABA"
# Ten items with the letters each was answered with under pi_0 to pi_3: four keep the gold option
# (ABCD), two a wrong one, four flip towards early letters.
ITEMS = (
    *["ABCD"] * 4,
    STABLE_WRONG, "DABC",
    FLIPPING, "AABC", "BAAD", "ACAC",
)  # fmt: skip
COLUMNS = ["panel", "row", "column", "value", "label"]


def data(inputs: Inputs) -> pd.DataFrame:
    """What is drawn, one row a mark; reads no statistics.

    Panels: `rotation`, `stable-wrong` and `flipping` (row = ordering, column = position, value = the
    option shown there, label with `gold` and `chosen` where they apply); `stable-wrong shares` and
    `flipping shares` (value = share of the item's answers at the position); `even`, `g` and `f`
    (shares at the positions); `flip_rate`, `skew` and `pooled_sd` (value).
    """
    design = Design.of(cyclic(K))
    positions = np.array([[LETTERS.index(letter) for letter in item] for item in ITEMS])
    z = contents_of(positions, design.orderings)
    s = cell_statistics(z, np.full(len(ITEMS), GOLD), design)
    assert_identities(s, z, design, "the example of Figure 2")
    assert np.abs(s.f - ((1 - s.flip_rate) / K + s.flip_rate * s.g)).max() < 1e-15
    flips = flipping(z, design)
    wrong, flip = ITEMS.index(STABLE_WRONG), ITEMS.index(FLIPPING)
    assert not flips[wrong] and z[wrong, 0] != GOLD and flips[flip]

    shown = np.argsort(design.orderings, axis=1)
    rows: list[dict[str, Any]] = []
    for panel, item in (("rotation", None), ("stable-wrong", wrong), ("flipping", flip)):
        for ordering in range(K):
            for r in range(K):
                content = int(shown[ordering, r])
                marks = []
                if item is not None and content == GOLD:
                    marks.append("gold")
                if item is not None and positions[item, ordering] == r:
                    marks.append("chosen")
                mark = {"row": ordering, "column": r, "value": content, "label": " ".join(marks)}
                rows.append({"panel": panel, **mark})
    shares = {
        "stable-wrong shares": np.bincount(positions[wrong], minlength=K) / K,
        "flipping shares": np.bincount(positions[flip], minlength=K) / K,
        "even": np.full(K, 1 / K),
        "g": s.g,
        "f": s.f,
    }
    for panel, values in shares.items():
        rows += [{"panel": panel, "column": r, "value": values[r]} for r in range(K)]
    rows += [
        {"panel": name, "value": getattr(s, name)} for name in ("flip_rate", "skew", "pooled_sd")
    ]
    return pd.DataFrame(rows, columns=COLUMNS)
