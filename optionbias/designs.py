"""Every all-orderings cell under the designs of Appendix E: cyclic, all K!, balanced, random.

The tables 17, 19 and 20 and the numbers of E.1 and E.3 read it. All designs of a cell are scored
on the items answered under all K! orderings, so that they differ by their orderings alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optionbias.analysis import Settings
from optionbias.design import Design
from optionbias.design_draws import gold_sets, own_sets, shared_sets
from optionbias.design_evaluation import (
    STATISTICS,
    AllOrderings,
    evaluate,
    expected_flip_rate,
    item_bounds,
    shared_bounds,
)
from optionbias.factors import cell_statistics
from optionbias.identities import assert_identities
from optionbias.orderings import MAX_K_LATIN, all_orderings, cyclic, find, latin_square_sets
from optionbias.sweep import Sweep

# `expected` is no set of orderings but the exact mean of the flip rate over all subsets of K.
DESIGNS = ("cyclic", "all", "latin", "gold", "shared", "own", "expected")
COLUMNS = ("checkpoint", "benchmark", "readout", "K", "n_items", "design", *STATISTICS)

# (row numbers (designs, m, n or 1), bounds M (designs, n or 1))
Drawn = tuple[NDArray[np.int64], NDArray[np.float64]]


def analyse(benchmark: str, sweeps: Iterable[Sweep], settings: Settings) -> list[dict[str, Any]]:
    """One row per cell and design; the statistics are lists over the design's sets or draws.

    `cyclic` and `all` hold one value, `latin` one for each Latin-square set (none above K = 4),
    `gold`, `shared` and `own` one for each of 100 draws (`design_draws`), `expected` the flip rate
    alone. Cells in which no item was answered under all orderings are left out.

    Raises:
        IdentityError: an identity of Appendix B fails; names the cell, the design and the draw.
        ScoringError: a sweep lacks an ordering.
    """
    rows: list[dict[str, Any]] = []
    drawn: dict[bytes, dict[str, Drawn]] = {}
    for sweep in sweeps:
        cell = AllOrderings.of(sweep)
        if cell is None:
            continue
        golds = sweep.gold.tobytes()
        if golds not in drawn:
            # The checkpoints of a benchmark share its items, so this is done once.
            drawn = {golds: designs_of(sweep.k, sweep.gold, benchmark, settings.seed)}
        key = {
            "checkpoint": str(sweep.metadata["checkpoint"]),
            "benchmark": benchmark,
            "readout": str(sweep.metadata["readout"]),
            "K": sweep.k,
            "n_items": len(cell.gold),
        }
        found = _cell_designs(cell, drawn[golds])
        rows += [{**key, "design": design, **found[design]} for design in DESIGNS]
    return rows


def designs_of(k: int, gold: NDArray[np.int8], benchmark: str, seed: int) -> dict[str, Drawn]:
    """The designs of K orderings for all items of a benchmark, with their bounds M."""
    orderings = all_orderings(k)
    squares = latin_square_sets(k) if k <= MAX_K_LATIN else np.empty((0, k, k), dtype=np.int64)
    shared = {
        "cyclic": find(orderings, cyclic(k))[None, :, None],
        "latin": find(orderings, squares)[..., None],
        "shared": shared_sets(k, seed),
    }
    own = {
        "gold": gold_sets(k, gold, benchmark, seed),
        "own": own_sets(k, len(gold), benchmark, seed),
    }
    return {
        **{name: (rows, shared_bounds(orderings, rows)[:, None]) for name, rows in shared.items()},
        **{name: (rows, item_bounds(orderings, rows)) for name, rows in own.items()},
    }


def _cell_designs(cell: AllOrderings, drawn: Mapping[str, Drawn]) -> dict[str, dict[str, Any]]:
    """Statistics of every design on one cell."""
    found: dict[str, dict[str, Any]] = {"all": _all_orderings(cell)}
    for name, (rows, bounds) in drawn.items():
        if rows.shape[-1] > 1:
            rows, bounds = rows[..., cell.usable], bounds[:, cell.usable]
        found[name] = evaluate(cell, rows, bounds.max(axis=1), name)
    expected = expected_flip_rate(cell.contents, cell.k, cell.k)
    found["expected"] = {name: [np.nan] for name in STATISTICS} | {"flip_rate": [expected]}
    return found


def _all_orderings(cell: AllOrderings) -> dict[str, list[float]]:
    """STATISTICS under all K! orderings."""
    design = Design.of(cell.orderings)
    s = cell_statistics(cell.contents, cell.gold, design)
    assert_identities(s, cell.contents, design, f"{cell.name}/all")
    product = s.flip_rate * s.skew if s.flip_rate else 0.0
    correct = (cell.contents == cell.gold[:, None]).sum(axis=1)
    values = [
        s.flip_rate, s.skew, s.pooled_sd, s.per_item_sd, s.accuracy, s.std_b, s.corrected_sd,
        abs(s.pooled_sd - product), abs(s.corrected_sd - product),
        float(((correct > 0) & (correct < len(cell.orderings))).sum()),
    ]  # fmt: skip
    return {name: [value] for name, value in zip(STATISTICS, values, strict=True)}
