"""Table 8 and the prose of A.3 and A.5: how the factors share the variance of the log pooled SD."""

from __future__ import annotations

import pandas as pd

from optionbias.block_draws import BlockDraws, rank_correlation
from optionbias.leave_one_out import Refits, leave_one_out
from optionbias.pools import Pools
from optionbias.tables import names, undefined
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table
from optionbias.variance_shares import skew_and_accuracy, skew_share, variance_shares

READOUTS = ("first-token", "five-shot", "chain-of-thought", "direct-answer")
SKEW_SHARE = "skew share"
SKEW_AND_ACCURACY = "spearman(skew, accuracy)"
FLIP_RATE_AND_ACCURACY = "spearman(flip rate, accuracy)"
INTERVAL = "97.5% interval"
MOST_FALLBACK = 0.5
CAPTION = (
    "Shares of the variance of the log pooled SD. Top: over the first-token cells with positive pooled "
    "SD, the shares of the log flip rate, the log skew and twice their covariance, which sum to one; "
    "97.5% intervals that resample cells. Bottom: the skew's share (97.5%) and its Spearman correlation "
    "with accuracy under the same readout (95%), on each readout's own pool and on the cells run "
    "under the first-token, chain-of-thought and direct-answer readouts; intervals resample checkpoints."
)


def table8(inputs: Inputs) -> Table:
    """Table 8 from the uncorrected cells of four readouts."""
    cells = inputs.first_token
    columns = {"All cells": cells}
    columns |= {f"K={k}": cells[cells["K"] == k] for k in sorted(cells["K"].unique())}
    top = [entry for column, rows in columns.items() for entry in _shares(inputs, column, rows)]
    pools = Pools.of(inputs.cells)
    bottom = [
        entry
        for readout in READOUTS
        for label, rows in _pools(pools, readout)
        for entry in _readout(inputs, f"{readout.capitalize()}, {label}", rows)
    ]
    blocks = [
        Block("Share of the variance of the log pooled SD", top),
        Block("The skew under each readout", bottom),
    ]
    return Table("8", CAPTION, blocks, corner="Term")


def text_a3(inputs: Inputs) -> Block:
    """A.3: the skew without chain-of-thought cells whose answers are mostly fallback answers.

    A cell that does not record its fallback share is kept.
    """
    entries = []
    for label, cells in _pools(Pools.of(inputs.cells), "chain-of-thought"):
        fallback = cells["fallback_share"].to_numpy(dtype=float) > MOST_FALLBACK
        row = f"Chain-of-thought, {label}, at most half fallback answers"
        entries += _readout(inputs, row, cells[~fallback])
        entries.append(Entry(row, "cells dropped", int(fallback.sum()), n=len(cells)))
    return Block("A.3 Fallback answers", entries, table="text-A.3")


def text_a5(inputs: Inputs) -> Block:
    """A.5: ranges over refits that leave one checkpoint, or one benchmark, out."""
    cells = inputs.first_token
    entries = []
    for by in ("checkpoint", "benchmark"):
        row = f"leave one {by} out"
        for column, statistic, reason in (
            (FLIP_RATE_AND_ACCURACY, _flip_rate_and_accuracy, undefined.CORRELATION),
            (SKEW_AND_ACCURACY, _skew_and_accuracy, undefined.CORRELATION),
            (SKEW_SHARE, skew_share, undefined.SHARE),
        ):
            refits = leave_one_out(cells, by, statistic)
            note = "; ".join(filter(None, [undefined.why(refits.value, reason), _range(refits)]))
            entries.append(
                Entry(row, column, refits.value, refits.low, refits.high, n=len(cells), note=note)
            )
    return Block("A.5 Leave-one-out refits", entries, table="text-A.5")


def _pools(pools: Pools, readout: str) -> list[tuple[str, pd.DataFrame]]:
    return [("own pool", pools.own(readout)), ("common pool", pools.common(readout))]


def _shares(inputs: Inputs, column: str, cells: pd.DataFrame) -> list[Entry]:
    # Cells are sorted, so their numbers stand for their names.
    name = f"table8/cells/{'' if column == 'All cells' else column + '/'}draws"
    draws = BlockDraws.of(range(len(cells)), inputs.draws, inputs.seed, name)
    shares = variance_shares(cells, draws)
    reason = undefined.why(shares.skew.value, undefined.SHARE)
    note = "; ".join(filter(None, [reason, INTERVAL]))
    return [
        Entry.of(row, column, share, note=note)
        for row, share in (
            (f"{names.FLIP_RATE} share", shares.flip_rate),
            ("Skew share", shares.skew),
            ("Twice covariance", shares.covariance),
        )
    ]


def _readout(inputs: Inputs, row: str, cells: pd.DataFrame) -> list[Entry]:
    """The skew's share and correlation with accuracy on one pool, with the same draws."""
    if not len(cells):
        note = "no such cell"
        return [
            Entry(row, column, None, n=0, note=note) for column in (SKEW_SHARE, SKEW_AND_ACCURACY)
        ]
    blocks = cells["checkpoint"].to_list()
    draws = BlockDraws.of(blocks, inputs.draws, inputs.seed, "table8/checkpoints/draws")
    share, correlation = variance_shares(cells, draws).skew, skew_and_accuracy(cells, draws)
    few = inputs.few_checkpoints_note(blocks)
    notes = {
        SKEW_SHARE: [undefined.why(share.value, undefined.SHARE), few, INTERVAL],
        SKEW_AND_ACCURACY: [undefined.why(correlation.value, undefined.CORRELATION), few],
    }
    return [
        Entry.of(row, column, estimate, note="; ".join(filter(None, notes[column])))
        for column, estimate in ((SKEW_SHARE, share), (SKEW_AND_ACCURACY, correlation))
    ]


def _range(refits: Refits) -> str:
    """What the interval of a leave-one-out entry is."""
    noun = "refit" if refits.refits == 1 else "refits"
    said = f"range over {refits.refits} {noun}"
    missing = refits.refits - refits.defined
    return f"{said}, undefined in {missing}" if missing else said


def _flip_rate_and_accuracy(cells: pd.DataFrame) -> float:
    return rank_correlation(*_columns(cells, "flip_rate"))


def _skew_and_accuracy(cells: pd.DataFrame) -> float:
    return rank_correlation(*_columns(cells, "skew"))


def _columns(cells: pd.DataFrame, factor: str) -> list[list[float]]:
    return [cells[name].astype(float).to_list() for name in (factor, "accuracy")]
