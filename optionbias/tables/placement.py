"""The numbers of B.2 and B.4: how the placement of correct answers goes with the skew."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from optionbias.factors import population_sd
from optionbias.resampling import spearman
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry

# Factors are sums of shares: equal ones may differ by rounding, which must neither break a tie of
# ranks nor look like a change.
DECIMALS = 12
FALLS_WHILE_RISES = "cells where skew falls while placement range rises"
TOO_FEW = "undefined: too few cells, or equal ranks"
NO_CELL = "no first-token cell to compare"


def text_b2(inputs: Inputs) -> Block:
    """Spearman correlation of std(h) and std(g) over first-token cells, all items (B.2)."""
    cells = inputs.first_token
    h, g = (_rounded(cells[c]) for c in ("std_h", "skew"))
    entry = _correlation("all cells", "spearman(std h, std g)", h, g)
    return Block("Appendix B.2", [entry], "text-B.2")


def text_b4(inputs: Inputs) -> Block:
    """How g and h, and changes of the skew and of range(h), go together (B.4).

    All on evaluation items. The first three are means over the four-option cells that flip; the
    others compare two operations on each cell with at least three options that has both. A cell
    whose skew is undefined under either cannot be correlated and does not fall, but is in the
    denominator of the shares.
    """
    c = inputs.cells
    rows = c[
        (c["readout"] == "first-token")
        & (c["design"] == "cyclic")
        & (c["subset"] == "evaluation")
        & (c["K"] >= 3)
    ]
    entries = _alignment(rows[(rows["K"] == 4) & (rows["operation"] == "none")])
    after, before = _paired(rows, "pride+reversal", "reversal")
    row = "K>=3, reversal vs PriDe then reversal"
    skew, spread = (_change(after, before, s) for s in ("skew", "range_h"))
    column = "spearman(change in skew, change in range h)"
    entries.append(_correlation(row, column, skew, spread))
    entries.append(_opposite(row, after, before))
    entries.append(_opposite("K>=3, PriDe vs none", *_paired(rows, "pride", "none")))
    return Block("Appendix B.4", entries, "text-B.4")


def centred_cosine(g: ArrayLike, h: ArrayLike) -> float:
    """Cosine of two vectors, each minus its own mean; NaN where either is constant.

    The mean of g is 1/K, so this is the cosine of g - 1/K and centred h.
    """
    if population_sd(g) == 0 or population_sd(h) == 0:
        return float("nan")
    a, b = (x - x.mean() for x in (np.asarray(v, dtype=np.float64) for v in (g, h)))
    return float(np.clip(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), -1, 1))


def _alignment(cells: pd.DataFrame) -> list[Entry]:
    """Mean over cells of cos(g, h) and of the SDs over letters of h - g and h."""
    pairs = [
        (np.asarray(g, dtype=np.float64), np.asarray(h, dtype=np.float64))
        for g, h in zip(cells["g"], cells["h"], strict=True)
    ]
    flipping = [(g, h) for g, h in pairs if np.isfinite(g).all()]
    row = "K=4 cells"
    return [
        _mean(
            f"{row}, evaluation items",
            "mean cosine(centred g, centred h)",
            [centred_cosine(g, h) for g, h in flipping],
        ),
        _mean(row, "sd across letters of h-g", [population_sd(h - g) for g, h in flipping]),
        _mean(row, "sd across letters of h", [population_sd(h) for _, h in flipping]),
    ]


def _mean(row: str, column: str, values: list[float]) -> Entry:
    defined = [v for v in values if not np.isnan(v)]
    if not defined:
        return Entry(row, column, None, n=0, note="no four-option cell with flipping items")
    return Entry(row, column, float(np.mean(defined)), n=len(defined))


def _correlation(row: str, column: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> Entry:
    r = spearman(x, y)
    n = int((~np.isnan(x + y)).sum())
    return Entry(row, column, r, n=n, note=TOO_FEW if np.isnan(r) else "")


def _paired(rows: pd.DataFrame, after: str, before: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of two operations on the cells that have both, in the same order."""
    by = ["checkpoint", "benchmark"]
    one, other = (rows[rows["operation"] == op].set_index(by) for op in (after, before))
    both = one.index.intersection(other.index)
    return one.loc[both], other.loc[both]


def _change(after: pd.DataFrame, before: pd.DataFrame, statistic: str) -> NDArray[np.float64]:
    return _rounded(
        after[statistic].to_numpy(dtype=float) - before[statistic].to_numpy(dtype=float)
    )


def _opposite(row: str, after: pd.DataFrame, before: pd.DataFrame) -> Entry:
    """Share of cells where the skew falls and the placement range rises."""
    if len(after) == 0:
        return Entry(row, FALLS_WHILE_RISES, None, unit="%", n=0, note=NO_CELL)
    falls = _change(after, before, "skew") < 0
    rises = _change(after, before, "placement_range") > 0
    share = 100 * float((falls & rises).mean())
    return Entry(row, FALLS_WHILE_RISES, share, unit="%", n=len(after))


def _rounded(values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(np.round(np.asarray(values), DECIMALS), dtype=np.float64)
