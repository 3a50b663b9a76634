"""Table 18 and the prose of E.2: the operations on every balanced set of four orderings."""

from __future__ import annotations

from dataclasses import replace
from math import isnan

import pandas as pd

from optionbias.balanced_sets import OPERATIONS, twelve_sets
from optionbias.operations import needs_prior
from optionbias.set_effects import SetEffects, Values, other_sets
from optionbias.tables import names
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table

NO_CELL = "no cell with four options was run under all orderings"
NO_UNROUNDED = "no such cell with stored probabilities"
NOT_LEFT = "undefined: no certified evaluation item, or none that is stable on the cyclic set"
OVER_SETS = "range over sets"
ALL_CELLS, UNROUNDED = "All cells", "Unrounded cells"
ELSEWHERE = "cyclic-stable items flipping elsewhere"
SHOWN = {"flip_rate": "flip rate", "placement_range": "placement range"}
CAPTION = (
    "The operations on the twelve sets of four orderings of four options that show every content "
    "once at every position and hold no ordering with its reversal, on the cells run under all "
    "orderings. Means over cells; for the other eleven sets the mean and, in brackets, the range "
    "over sets; the share of items stable on the cyclic set that flip on another is the mean over "
    "the other sets (top row: 95% checkpoint-block interval). Operation rows use the evaluation items "
    "whose answer under the operation is certified at every ordering used, and give changes from "
    "the uncorrected answers on those items; priors come from the calibration items under each "
    "set's own orderings or, where a row says so, under the cyclic ones."
)


def table18(inputs: Inputs) -> Table:
    """Table 18 from the balanced sets of every all-orderings cell of four options."""
    rows = inputs.read("balanced_sets")
    row = f"{ALL_CELLS}, uncorrected, level"
    if rows.empty:
        missing = Entry(row, "flip rate, cyclic set", None, unit="%", n=0, note=NO_CELL)
        return Table("18", CAPTION, [Block("", [missing])])
    everything = SetEffects.of(rows, "none")
    elsewhere = everything.flips_elsewhere(inputs.draws, inputs.seed)
    few = inputs.few_checkpoints_note(everything.checkpoints)
    note = "; ".join(filter(None, ["95% checkpoint-block interval", few]))
    top = [
        *_levels(row, everything),
        _noted(Entry.of(row, ELSEWHERE, elsewhere, "%", 100, note)),
    ]
    bottom = _unrounded(rows[rows["unrounded"].astype(bool)])
    decimals = dict.fromkeys((e.column for e in [*top, *bottom]), 1)
    blocks = [
        Block("All cells, uncorrected answers", top),
        Block("Cells with unrounded option probabilities", bottom),
    ]
    return Table("18", CAPTION, blocks, decimals, corner="Answers")


def text_e2(inputs: Inputs) -> Block:
    """E.2: how many sets there are, how many items are certified, what the product does."""
    rows = inputs.read("balanced_sets")
    entries = [
        Entry("K=4", "balanced sets without an ordering and its reversal", len(twelve_sets()))
    ]
    cells = "all-K! cells, uncorrected"
    column = "cyclic-stable items flipping on a given other set"
    if rows.empty:
        missing = Entry(cells, column, None, unit="%", n=0, note=NO_CELL)
        return Block("E.2 Other balanced sets", [*entries, missing], table="text-E.2")
    everything = SetEffects.of(rows, "none")
    entries.append(_elsewhere(cells, everything, column))
    unrounded = rows[rows["unrounded"].astype(bool)]
    for operation, prior, suffix in _operations():
        row = f"unrounded cells, {names.OPERATION_NAMES[operation]}{suffix}"
        entries.append(_certified(row, SetEffects.of(unrounded, operation, prior)))
    effects = SetEffects.of(unrounded, "reversal")
    row = f"unrounded cells, {names.OPERATION_NAMES['reversal']}"
    n = effects.cells("flip_rate")
    change = float(100 * effects.change("flip_rate").mean())
    note = "mean over the twelve sets"
    entries.append(_noted(Entry(row, "change in flip rate", change, unit="pp", n=n, note=note)))
    column = "cyclic-stable items flipping elsewhere against uncorrected"
    after = other_sets(effects.level("flips_elsewhere")).value
    before = other_sets(effects.uncorrected_level("flips_elsewhere")).value
    ratio = after / before if before > 0 else float("nan")
    n, note = effects.cells("flips_elsewhere"), "of the means, on the same items"
    entries.append(_noted(Entry(row, column, ratio, unit="ratio", n=n, note=note)))
    return Block("E.2 Other balanced sets", entries, table="text-E.2")


def _unrounded(rows: pd.DataFrame) -> list[Entry]:
    """The level and the operations on the cells with stored probabilities."""
    row = f"{UNROUNDED}, uncorrected, level"
    if rows.empty:
        return [Entry(row, "flip rate, cyclic set", None, unit="%", n=0, note=NO_UNROUNDED)]
    uncorrected = SetEffects.of(rows, "none")
    entries = [*_levels(row, uncorrected), _elsewhere(row, uncorrected)]
    for operation, prior, suffix in _operations():
        effects = SetEffects.of(rows, operation, prior)
        row = f"{UNROUNDED}, {names.OPERATION_NAMES[operation]}"
        for statistic, title in SHOWN.items():
            changes, n = effects.change(statistic), effects.cells(statistic)
            entries += _over_sets(f"{row}, change{suffix}", title, changes, n, "pp")
        entries.append(_certified(f"{row}, change{suffix}", effects))
        entries.append(_elsewhere(f"{row}, level{suffix}", effects))
    return entries


def _operations() -> list[tuple[str, str, str]]:
    """(operation, prior, suffix of its rows): the sets' own priors first, then the cyclic one."""
    own = [(op, "set" if needs_prior(op) else "", "") for op in OPERATIONS]
    return own + [(op, "cyclic", ", cyclic prior") for op in OPERATIONS if needs_prior(op)]


def _levels(row: str, effects: SetEffects) -> list[Entry]:
    return [
        entry
        for statistic, unit in (("flip_rate", "%"), ("placement_range", "pp"))
        for entry in _over_sets(
            row, SHOWN[statistic], effects.level(statistic), effects.cells(statistic), unit
        )
    ]


def _over_sets(row: str, title: str, by_set: Values, n: int, unit: str) -> list[Entry]:
    """The cyclic set, and the mean and range over the others."""
    cyclic = Entry(row, f"{title}, cyclic set", 100 * float(by_set[0]), unit=unit, n=n)
    e = replace(other_sets(by_set), n=n)
    return [
        _noted(cyclic),
        _noted(Entry.of(row, f"{title}, other sets", e, unit, 100, OVER_SETS)),
    ]


def _elsewhere(row: str, effects: SetEffects, column: str = ELSEWHERE) -> Entry:
    """Items stable on the cyclic set that flip on another, mean over the other sets."""
    share = 100 * other_sets(effects.level("flips_elsewhere")).value
    return _noted(Entry(row, column, share, unit="%", n=effects.cells("flips_elsewhere")))


def _certified(row: str, effects: SetEffects) -> Entry:
    """The share of evaluation items whose answer is certified at every ordering used."""
    n = len(effects.kept)
    return _noted(Entry(row, "items certified", 100 * effects.share_kept, unit="%", n=n))


def _noted(entry: Entry) -> Entry:
    """The entry with a note where it is undefined."""
    if not isnan(entry.value):
        return entry
    return replace(entry, note=NOT_LEFT)
