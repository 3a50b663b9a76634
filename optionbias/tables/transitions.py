"""Tables 14 and 15 and the numbers of D.4: flips that stop and start, and where the product settles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optionbias.resampling import (
    Estimate,
    Weights,
    block_weights,
    percentile_interval,
    weighted_mean,
)
from optionbias.tables import names
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table
from optionbias.transitions import OPERATIONS

OPERATION_ROWS = {op: names.OPERATION_NAMES[op] for op in OPERATIONS} | {"batch": "Batch"}
CORRECTIONS = ("pride", "batch", "pride+batch")
STOP, START = "stop flipping", "start flipping"
SETTLE_WRONG = "resolved flips settling wrong"
FAVOURED = "former flips on favoured letter"
NET_CHANGE = "net change of flip rate"
SHARE, GAP = "share", "mean canonical gap"
SETTLED_SHARES = {
    "unique_most_frequent": "Unique most frequent option",
    "tied_most_frequent": "Tied most frequent option",
    "unique_most_frequent_cyclic": "Unique most frequent option, cyclic queries",
    "tied_most_frequent_cyclic": "Tied most frequent option, cyclic queries",
    "in_every_top_two": "In the top two in every query",
    "wrong_under_every_cyclic": "Already wrong under every cyclic ordering",
}
SETTLED_GAPS = {
    "gap_settled_wrong": "Items settled wrong",
    "gap_settled_correct": "Items settled correctly",
    "gap_stable_wrong": "Items stable-wrong from the start",
}
NO_CELL = "no first-token cell with at least three options and reversed orderings"
NO_ITEM = "no cell holds such items"
CAPTION_14 = (
    "Flips that stop and start under each operation, on the evaluation items of the cells with at "
    "least three options: shares of items that stop or start flipping, the share of resolved flips "
    "that become stable-wrong, and the share of the answers of previously flipping items on the "
    "PriDe prior's top letter. Shares within a cell, averaged over cells, with 95% checkpoint-block "
    "intervals."
)
CAPTION_15 = (
    "Items that flip without aggregation and become stable-wrong under the reversal product, by the "
    "wrong content they settle on, counted over the item's cyclic and reversed queries except where "
    "a row says cyclic. Shares and mean gaps between the two largest letter probabilities under the "
    "canonical ordering within a cell, averaged over cells, with 95% checkpoint-block intervals; the "
    "last two rows give the gap for comparison groups."
)


@dataclass(frozen=True)
class Transitions:
    """Rows of `transitions` as columns over cells, sorted by checkpoint and benchmark.

    Attributes:
        values: operation -> column -> (cells,).
        weights: (draws, cells) checkpoint-block weights, shared by everything of D.4.
        few: what to say of few checkpoints.
    """

    values: dict[str, dict[str, NDArray[np.float64]]]
    weights: Weights
    few: str

    @classmethod
    def of(cls, inputs: Inputs) -> Transitions | None:
        """Gather the rows; None where no cell has reversed queries."""
        frame = inputs.read("transitions")
        if frame.empty:
            return None
        frame = frame.sort_values(["checkpoint", "benchmark"], kind="stable")
        checkpoints = frame.loc[frame["operation"] == "none", "checkpoint"].tolist()
        weights = block_weights(checkpoints, inputs.draws, inputs.seed, "table14/checkpoints/draws")
        values = {str(op): _columns(rows) for op, rows in frame.groupby("operation")}
        return cls(values, weights, inputs.few_checkpoints_note(checkpoints))

    def share(self, operation: str, part: str, whole: str) -> NDArray[np.float64]:
        """A ratio of two counts within each cell, NaN where there is nothing to take a share of."""
        counts = self.values[operation]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(counts[whole] > 0, counts[part] / counts[whole], np.nan)

    def net_change(self, operation: str) -> NDArray[np.float64]:
        """Change of the flip rate from none within each cell."""
        stopped, started = (self.share(operation, c, "n_items") for c in ("n_stopped", "n_started"))
        return started - stopped

    def mean(self, values: NDArray[np.float64]) -> Estimate:
        """Mean over the cells that have the value."""
        defined = values[~np.isnan(values)]
        return Estimate(
            float(defined.mean()) if len(defined) else nan,
            percentile_interval(weighted_mean(values, self.weights)),
            len(defined),
        )

    def mean_by_resolved(self, operation: str) -> Estimate:
        """Share of resolved flips that end stable-wrong, cells weighted by their resolved share."""
        resolved = self.share(operation, "n_stopped", "n_items")
        wrong = self.share(operation, "n_stopped_wrong", "n_items")
        with np.errstate(invalid="ignore", divide="ignore"):
            draws = (self.weights @ wrong) / (self.weights @ resolved)
        value = float(wrong.sum() / resolved.sum()) if resolved.any() else nan
        return Estimate(value, percentile_interval(draws), int((resolved > 0).sum()))

    def mean_magnitude(self, operations: tuple[str, ...]) -> Estimate:
        """Mean over operations of the magnitude of each one's mean net change of the flip rate."""
        changes = [self.net_change(operation) for operation in operations]
        magnitudes = [np.abs(weighted_mean(change, self.weights)) for change in changes]
        value = float(np.mean([abs(change.mean()) for change in changes]))
        return Estimate(value, percentile_interval(np.mean(magnitudes, axis=0)), len(changes[0]))


def _columns(rows: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    kept = rows.drop(columns=["checkpoint", "benchmark", "operation"])
    return {str(c): kept[c].to_numpy(dtype=np.float64) for c in kept.columns}


def _entry(row: str, column: str, estimate: Estimate, unit: str = "%") -> Entry:
    if estimate.n == 0:
        return Entry(row, column, None, unit=unit, n=0, note=NO_ITEM)
    return Entry.of(row, column, estimate, unit, 100.0 if unit else 1.0)


def table14(inputs: Inputs) -> Table:
    """Table 14 from the `transitions` rows: a row per operation and one for the baseline."""
    found = Transitions.of(inputs)
    if found is None:
        return _empty("14", CAPTION_14, OPERATION_ROWS["none"], FAVOURED)
    entries = []
    for operation, row in OPERATION_ROWS.items():
        favoured = found.mean(found.values[operation]["favoured_share"])
        if operation == "none":
            # The baseline changes nothing, by definition.
            n = len(found.values["none"]["n_items"])
            entries += [Entry(row, column, 0.0, unit="%", n=n) for column in (STOP, START)]
            note = "the baseline resolves no flip"
            entries.append(Entry(row, SETTLE_WRONG, None, unit="%", n=0, note=note))
        else:
            counted = {
                STOP: ("n_stopped", "n_items"),
                START: ("n_started", "n_items"),
                SETTLE_WRONG: ("n_stopped_wrong", "n_stopped"),
            }
            entries += [
                _entry(row, column, found.mean(found.share(operation, *pair)))
                for column, pair in counted.items()
            ]
        entries.append(_entry(row, FAVOURED, favoured))
    decimals = dict.fromkeys((STOP, START, SETTLE_WRONG, FAVOURED), 1)
    return Table(
        "14", CAPTION_14, [Block("", entries)], decimals, corner="Operation", note=found.few
    )


def table15(inputs: Inputs) -> Table:
    """Table 15 from the reversal product's `transitions` rows."""
    found = Transitions.of(inputs)
    if found is None:
        return _empty("15", CAPTION_15, SETTLED_SHARES["unique_most_frequent"], SHARE)
    product = found.values["reversal"]
    shares = [_entry(row, SHARE, found.mean(product[name])) for name, row in SETTLED_SHARES.items()]
    gaps = [_entry(row, GAP, found.mean(product[name]), "") for name, row in SETTLED_GAPS.items()]
    blocks = [
        Block("Content settled on", shares),
        Block("Gap between the two largest probabilities", gaps),
    ]
    decimals = {SHARE: 1, GAP: 3}
    return Table("15", CAPTION_15, blocks, decimals, corner="Settled item", note=found.few)


def _empty(number: str, caption: str, row: str, column: str) -> Table:
    return Table(
        number, caption, [Block("", [Entry(row, column, None, unit="%", n=0, note=NO_CELL)])]
    )


def text_d4(inputs: Inputs) -> Block:
    """The numbers of D.4's prose: what the product settles on, and net changes of the flip rate."""
    heading, table = "Appendix D.4", "text-D.4"
    found = Transitions.of(inputs)
    settled, corrections = "newly stable-wrong items", "K>=3, corrections"
    product = "K>=3, reversal product"
    if found is None:
        return Block(
            heading, [Entry(product, SETTLE_WRONG, None, unit="%", n=0, note=NO_CELL)], table
        )
    described = {
        "settled option is the unique most frequent": "unique_most_frequent",
        "settled option in the top two in every query": "in_every_top_two",
        "already wrong under every cyclic ordering": "wrong_under_every_cyclic",
    }
    entries = [
        _entry(settled, column, found.mean(found.values["reversal"][name]))
        for column, name in described.items()
    ]
    magnitude = found.mean_magnitude(CORRECTIONS)
    entries.append(_entry(corrections, f"{NET_CHANGE}, magnitude", magnitude, "pp"))
    entries += [
        _entry(f"K>=3, {OPERATION_ROWS[op]}", NET_CHANGE, found.mean(found.net_change(op)), "pp")
        for op in CORRECTIONS
    ]
    wrong = found.share("reversal", "n_stopped_wrong", "n_stopped")
    entries += [
        _entry(product, NET_CHANGE, found.mean(found.net_change("reversal")), "pp"),
        _entry(product, SETTLE_WRONG, found.mean(wrong)),
        _entry(
            product,
            f"{SETTLE_WRONG}, cells weighted by their share of resolved items",
            found.mean_by_resolved("reversal"),
        ),
    ]
    # A block has no note of its own.
    noted = [replace(e, note="; ".join(filter(None, [found.few, e.note]))) for e in entries]
    return Block(heading, noted, table)
