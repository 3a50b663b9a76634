"""The numbers of Tables 3 and 4 and of Sections 1, 4, A.1 and B.3, from the sweeps of a run."""

import math
from collections.abc import Sequence
from typing import Any

from ..cells import Cell, cells_of
from .operations import DRAWS, compared
from .strengths import Key, Value, scaled, with_interval

NAN = float("nan")


def table3(run: Any) -> dict[Key, float]:
    """The parameters, the numbers of Table 3: as the cohort states them."""
    return {
        (c["name"], "parameters"): float(c["params_b"])
        for c in run.cohort["checkpoints"]
        if not c.get("closed")
    }


def modal_items(cells: Sequence[Cell]) -> int:
    """The number of usable items that most cells have, the largest of several."""
    counts = [len(cell.places) for cell in cells]
    most = max(counts.count(n) for n in counts)
    return max(n for n in counts if counts.count(n) == most)


def table4(run: Any) -> dict[Key, float]:
    """Every number of Table 4."""
    cells = cells_of(run, "first-token")
    table: dict[Key, float] = {}
    for benchmark in run.cohort["benchmarks"]:
        row = benchmark.get("title", benchmark["name"])
        here = [cell for cell in cells if cell.benchmark == benchmark["name"]]
        table[row, "K"] = benchmark["K"]
        table[row, "items"] = modal_items(here) if here else NAN
        table[row, "models"] = len(here)
    return table


def text_1(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of Section 1: shares of a mean over cells that operations take away."""
    every = compared(run)
    if not every.found:
        return {}
    fall = "fall of placement range"
    wanted = {
        ("reversal product", "flipping items removed"): ("flip_rate", ["reversal"]),
        ("PriDe", fall): ("placement_range", ["pride"]),
        ("reversal product", fall): ("placement_range", ["reversal"]),
        ("PriDe and reversal product", fall): ("placement_range", ["pride", "reversal"]),
    }
    found: dict[Key, Value] = {}
    for key, (statistic, operations) in wanted.items():

        def removed(
            copies: list[str], statistic: str = statistic, operations: list[str] = operations
        ) -> float:
            before = every.mean(copies, lambda cell: cell["none"][statistic])
            after = [
                every.mean(copies, lambda cell, op=op: cell[op][statistic])  # type: ignore[misc]
                for op in operations
            ]
            return 1 - math.fsum(after) / len(after) / before if before > 0 else NAN

        found[key] = scaled(with_interval(removed, every.checkpoints, draws, DRAWS), 100)
    return found


def text_4(run: Any) -> dict[Key, float]:
    """Every number of Section 4: what was run under the first-token readout."""
    cells = cells_of(run, "first-token")
    checkpoints = {cell.checkpoint for cell in cells}
    families = {c["family"] for c in run.cohort["checkpoints"] if c["name"] in checkpoints}
    return {
        ("panel", "checkpoints"): len(checkpoints),
        ("panel", "families"): len(families),
        ("panel", "benchmarks"): len({cell.benchmark for cell in cells}),
    }


def text_a1(run: Any) -> dict[Key, float]:
    """Every number of A.1; the pool's threshold is a definition."""
    cells = cells_of(run, "first-token")
    checkpoints = {cell.checkpoint for cell in cells}
    everywhere = [
        b
        for b in {cell.benchmark for cell in cells}
        if {cell.checkpoint for cell in cells if cell.benchmark == b} == checkpoints
    ]
    whole = [
        sweep.metadata
        for sweep in run.sweeps
        if sweep.metadata["readout"] == "all-orderings"
        and any(min(chosen) >= 0 for chosen in sweep.choice.tolist())
    ]
    models = len({about["checkpoint"] for about in whole})
    found: dict[Key, float] = {
        ("filtered pool", "smallest share of modal usable items"): 90,
        ("benchmarks run on every checkpoint", "count"): len(everywhere),
        ("all-ordering analyses", "checkpoints"): models,
        ("all-ordering analyses", "benchmarks"): len({about["benchmark"] for about in whole}),
        ("all-ordering item partition", "checkpoints"): models,
    }
    for benchmark in run.cohort["benchmarks"]:
        here = [cell for cell in cells if cell.benchmark == benchmark["name"]]
        if benchmark.get("title") == "MMLU" and here:
            found["MMLU", "items"] = modal_items(here)
    return found


def text_b3(run: Any) -> dict[Key, float]:
    """The number of B.3: cells whose KL(f) is at most FL KL(g), in per cent."""
    held = []
    for cell in cells_of(run, "first-token"):
        flip_rate, g = cell.found["flip_rate"], cell.found["g"]
        bound = 0.0
        if flip_rate > 0:
            bound = flip_rate * math.fsum(x * math.log2(cell.K * x) for x in g if x > 0)
        held.append(cell.found["kl"] <= bound + 1e-12)
    return {("first-token cells", "KL bound holds"): 100 * sum(held) / len(held) if held else NAN}


TABLES = {
    "3": table3,
    "4": table4,
    "text-1": text_1,
    "text-4": text_4,
    "text-A.1": text_a1,
    "text-B.3": text_b3,
}
