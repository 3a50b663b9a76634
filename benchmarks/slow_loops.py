"""Every number of every table against the slow loops of tests/slow, on a small cohort.

Prints, table by table, how many numbers were compared and the largest difference.

Usage: python benchmarks/slow_loops.py
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import slow.tables  # noqa: E402
from optionbias.catalogue import TABLES  # noqa: E402
from optionbias.tables.table import Table  # noqa: E402
from synthetic import standard  # noqa: E402

DRAWS = 40


def slow_tables() -> dict[str, list[Callable[..., Any]]]:
    """Table number -> the slow functions that recompute its numbers."""
    found: dict[str, list[Callable[..., Any]]] = {}
    for module in pkgutil.iter_modules(slow.tables.__path__):
        for number, function in importlib.import_module(
            f"slow.tables.{module.name}"
        ).TABLES.items():
            found.setdefault(number.split("/")[0], []).append(function)
    return found


def numbers(value: Any) -> Iterator[float]:
    """The numbers of a slow entry: a value, or value, low and high."""
    yield from (float(v) for v in (value if isinstance(value, tuple | list) else (value,)))


def largest_difference(table: Table, expected: dict[tuple[str, str], Any]) -> tuple[int, float]:
    """Compared numbers and the largest difference between a table and its slow numbers."""
    entries = {(e.row, e.column): e for block in table.blocks for e in block.entries}
    compared, largest = 0, 0.0
    for key, value in expected.items():
        if isinstance(value, str) or value is None:
            continue
        e = entries[key]
        for ours, theirs in zip((e.value, e.ci_low, e.ci_high), numbers(value), strict=False):
            ours = math.nan if ours is None else float(ours)
            if math.isnan(ours) != math.isnan(theirs):
                raise SystemExit(f"table {table.number}, {key}: {ours} against {theirs}")
            compared += 1
            largest = max(largest, 0.0 if math.isnan(ours) else abs(ours - theirs))
    return compared, largest


def main() -> None:
    run = standard()
    loops = slow_tables()
    for number, (name, _) in TABLES.items():
        module, function = name.split(":")
        table = getattr(importlib.import_module(module), function)(run.inputs(DRAWS))
        expected: dict[tuple[str, str], Any] = {}
        for slow_table in loops.get(number, []):
            expected |= slow_table(run)
        compared, largest = largest_difference(table, expected)
        total = sum(1 for b in table.blocks for e in b.entries if isinstance(e.value, float | int))
        print(
            f"table {number:>4}: {compared:4d} numbers compared ({total} entries), largest difference {largest:.2g}",
            flush=True,
        )


main()
