"""Table 1: what each statistic reads, and how exactly it does on the cells of this run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optionbias.factors import kl_to_uniform
from optionbias.identities import TOLERANCE
from optionbias.tables import names
from optionbias.tables.inputs import Inputs, floor_note
from optionbias.tables.table import Block, Entry, Table

DEFINITION = "definition"
BALANCED = "under balanced orderings"
LEFT, RIGHT = "mean of the statistic", "mean of the right side"
DIFFERENCE = "largest absolute difference"
VIOLATED = "violated bounds"
CAPTION = (
    "What each statistic reads, on the uncorrected first-token cells. Consistency statistics count "
    "changing answers; the pooled SD, balanced RStd and placement range are the flip rate FL times a "
    "lean of the flipping items, and the forward KL divergence is bounded through it. A is the accuracy "
    "over the orderings, f the letters' shares of all answers, g their shares of flipping items' "
    "answers, h the accuracy of flipping items by the letter of the correct option and b the stable "
    "items' deviation from even shares (zero here). Means are over cells; the last columns give the "
    "largest difference of both sides over cells and the number of cells that break a bound."
)


@dataclass(frozen=True)
class Reading:
    """One statistic of the table.

    Attributes:
        column: its column in `cells`.
        identity: the identity or bound of `identities` that it obeys.
        is_bound: whether that is a bound.
        definition: what it is.
        balanced: its value under balanced orderings.
        right: the right side of that, per cell; FL times a lean is zero where nothing flips.
    """

    column: str
    identity: str
    is_bound: bool
    definition: str
    balanced: str
    right: Callable[[pd.DataFrame], NDArray[np.float64]]


def _flip_rate(cells: pd.DataFrame) -> NDArray[np.float64]:
    return cells["flip_rate"].to_numpy(dtype=np.float64)


def _cap(cells: pd.DataFrame) -> NDArray[np.float64]:
    """min(1, K (1 - A)) (Equation 3)."""
    k, accuracy = (cells[name].to_numpy(dtype=np.float64) for name in ("K", "accuracy"))
    return np.minimum(1.0, k * (1 - accuracy))


def _times(column: str) -> Callable[[pd.DataFrame], NDArray[np.float64]]:
    """FL times a lean of the flipping items, zero where nothing flips (B.1, B.2)."""
    return lambda cells: _flip_rate(cells) * cells[column].fillna(0.0).to_numpy(dtype=np.float64)


def _times_kl(cells: pd.DataFrame) -> NDArray[np.float64]:
    """FL * KL(g || unif) in bits, zero where nothing flips (B.3)."""
    pairs = zip(_flip_rate(cells), cells["g"], strict=True)
    return np.array([fl * float(kl_to_uniform(g)) if fl > 0 else 0.0 for fl, g in pairs])


READINGS: dict[str, Reading] = {
    names.FLIP_RATE: Reading(
        "flip_rate", "flip cap", True,
        "share of items whose chosen option changes between any two orderings",
        "FL, at most min(1, K(1 - A))",
        _cap,
    ),
    "Two-order disagreement": Reading(
        "fluctuation_rate", "two-order disagreement", True,
        "share of items whose chosen option differs between two orderings (here rotations 0 and K/2 "
        "rounded down; bounds are counted over every two orderings)",
        "at most FL",
        _flip_rate,
    ),
    names.POOLED_SD: Reading(
        "pooled_sd", "pooling identity", False, "std(f)", "FL · std(g)", _times("skew"),
    ),
    "Corrected SD": Reading(
        "corrected_sd", "corrected identity", False,
        "std(f - b)", "FL · std(g), under any orderings", _times("skew"),
    ),
    "Balanced RStd": Reading(
        "balanced_rstd", "balanced RStd", False,
        "SD of the accuracies by letter of the correct option", "FL · std(h)", _times("std_h"),
    ),
    "Placement range": Reading(
        "placement_range", "placement range", False,
        "largest minus smallest of the accuracies by letter of the correct option",
        "FL · range(h)", _times("range_h"),
    ),
    "Forward KL": Reading(
        "kl", "divergence bound", True,
        "KL(f || even shares), bits", "at most FL · KL(g || even shares)", _times_kl,
    ),
}  # fmt: skip


def table1(inputs: Inputs) -> Table:
    """Table 1 from the uncorrected first-token cells and the residuals asserted on them."""
    cells, residuals = inputs.first_token, inputs.read("identities")
    kept = (
        (residuals["readout"] == "first-token")
        & (residuals["design"] == "cyclic")
        & (residuals["operation"] == "none")
        & (residuals["subset"] == "all")
    )
    by_identity = residuals[kept].groupby("identity")["residual"]
    found = {str(name): rows.to_numpy(dtype=np.float64) for name, rows in by_identity}
    entries = [
        entry
        for row, reading in READINGS.items()
        for entry in _row(row, reading, cells, found.get(reading.identity, np.empty(0)))
    ]
    # One more digit than a double holds of a share: a rounding error is seen, not set to zero.
    decimals = {LEFT: 4, RIGHT: 4, DIFFERENCE: 18, VIOLATED: 0}
    return Table("1", CAPTION, [Block("", entries)], decimals, corner="Statistic")


def _row(
    row: str, reading: Reading, cells: pd.DataFrame, residuals: NDArray[np.float64]
) -> list[Entry]:
    n, note = len(cells), "" if len(cells) else "no first-token cell"

    def number(column: str, value: float) -> Entry:
        return Entry(row, column, value if n else nan, n=n, note=note)

    left = cells[reading.column].to_numpy(dtype=np.float64)
    if reading.column == "flip_rate":
        note = "; ".join(filter(None, [note, floor_note(cells)]))
    entries = [
        Entry(row, DEFINITION, reading.definition),
        Entry(row, BALANCED, reading.balanced),
        number(LEFT, float(left.mean()) if n else nan),
        number(RIGHT, float(reading.right(cells).mean()) if n else nan),
    ]
    if reading.is_bound:
        return [*entries, number(VIOLATED, int((residuals > TOLERANCE).sum()))]
    return [*entries, number(DIFFERENCE, float(residuals.max(initial=0.0)))]
