"""Table 16 and the numbers of Section D.5: comparisons read off the pooled SD and the flip rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optionbias.opposite import (
    Share,
    both_resolved,
    change,
    checkpoint_pairs,
    corrected_cells,
    flip_rate_share,
    median,
    moves_opposite,
    opposite,
    post_training_pairs,
    scale_trends,
)
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table

POOLED_SD = "pooled SD opposite"
PER_ITEM_KL = "per-item KL opposite"
IF_RESOLVED = "opposite if resolved"
POST_TRAINING = "Post-training pairs"
PAIRS = "Checkpoint pairs"
TRENDS = "Scale trends"
PRIDE = "PriDe cells"
LOWERS = "cells where PriDe lowers pooled SD"
RAISES = "cells where PriDe raises pooled SD"
NOT_RESOLVED = "no comparison with both changes resolved"
NO_COMPARISON = {
    POST_TRAINING: "no base checkpoint and its release with a shared benchmark",
    PAIRS: "no two checkpoints with a shared benchmark",
    TRENDS: "no group of checkpoints of three sizes",
    PRIDE: "no first-token cell with log-probabilities",
}
CAPTION = (
    "Share of comparisons in which the pooled SD, or the per-item KL, moves opposite to the flip "
    "rate, first-token cells. A change that is zero or undefined is not opposite but is counted. "
    "Pairs are compared on the items that both answered, PriDe on evaluation items. Scale trends "
    "are rank correlations with the parameter count within a scale group, training status and "
    "benchmark, three sizes or more. The last column keeps comparisons whose changes of flip rate "
    "and pooled SD both have 95% item-bootstrap intervals that exclude zero."
)


@dataclass(frozen=True)
class Shares:
    """One row of Table 16; `resolved` is None where comparisons have no intervals."""

    pooled_sd: Share
    per_item_kl: Share
    resolved: Share | None

    @classmethod
    def of(cls, changes: pd.DataFrame) -> Shares:
        """The shares of comparisons given as rows of `changes`."""
        sd = opposite(changes, "pooled_sd")
        return cls(
            Share.of(sd),
            Share.of(opposite(changes, "per_item_kl")),
            Share.of(sd[both_resolved(changes)]),
        )

    @classmethod
    def of_trends(cls, trends: pd.DataFrame) -> Shares:
        """The shares of scale trends."""
        sd, kl = (
            moves_opposite(trends["flip_rate"], trends[statistic])
            for statistic in ("pooled_sd", "per_item_kl")
        )
        return cls(Share.of(sd), Share.of(kl), None)


def table16(inputs: Inputs) -> Table:
    """Table 16 from the changes between cells and the uncorrected first-token cells."""
    changes = inputs.read("changes")
    rows = {
        POST_TRAINING: Shares.of(post_training_pairs(changes, inputs.cohort)),
        PAIRS: Shares.of(checkpoint_pairs(changes)),
        TRENDS: Shares.of_trends(scale_trends(inputs.first_token, inputs.cohort)),
        PRIDE: Shares.of(corrected_cells(changes)),
    }
    entries = []
    for row, shares in rows.items():
        entries += [
            _entry(row, POOLED_SD, shares.pooled_sd, NO_COMPARISON[row]),
            _entry(row, PER_ITEM_KL, shares.per_item_kl, NO_COMPARISON[row]),
        ]
        if shares.resolved is not None:
            entries.append(_entry(row, IF_RESOLVED, shares.resolved, NOT_RESOLVED))
    decimals = dict.fromkeys((POOLED_SD, PER_ITEM_KL, IF_RESOLVED), 1)
    return Table("16", CAPTION, [Block("", entries)], decimals, corner="Comparison")


def text_d5(inputs: Inputs) -> Block:
    """Section D.5: which factor PriDe's change of the pooled SD runs through."""
    changes = inputs.read("changes")
    cells = corrected_cells(changes)
    sd = change(cells, "pooled_sd")
    lower, higher = cells[sd < 0], cells[sd > 0]
    skew_share, flip_share = 1 - flip_rate_share(lower), flip_rate_share(higher)
    stays = Share.of(change(lower, "flip_rate") >= 0)
    pairs = Shares.of(post_training_pairs(changes, inputs.cohort)).resolved
    assert pairs is not None
    return Block(
        "D.5 PriDe on all cells and checkpoint comparisons",
        [
            _median(LOWERS, "median skew share of log reduction", skew_share),
            _entry(LOWERS, "share of cells whose flip rate does not fall", stays, "no such cell"),
            _median(RAISES, "median flip-rate share of log increase", flip_share),
            _entry(POST_TRAINING, IF_RESOLVED, pairs, NOT_RESOLVED),
        ],
        table="text-D.5",
    )


def _entry(row: str, column: str, share: Share, note: str) -> Entry:
    """A share in per cent; the note says why there is none."""
    return Entry(row, column, 100 * share.value, unit="%", n=share.n, note="" if share.n else note)


def _median(row: str, column: str, shares: NDArray[np.float64]) -> Entry:
    n = int((~np.isnan(shares)).sum())
    note = "" if n else "no such cell that flips and has a pooled SD before and after"
    return Entry(row, column, median(shares), n=n, note=note)
