"""Every number of every table against the slow loops of tests/slow, on the runs of the tests.

Prints, table by table, how many numbers were compared over all runs, the largest difference, and
the entries that no slow loop computes; ends with the largest difference of all. Exits with 1 if it
exceeds 1e-10, if a number is undefined on one side alone, or if one was not compared.

Usage: python benchmarks/slow_loops.py
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import slow.tables  # noqa: E402
from all_orderings import all_orderings_run  # noqa: E402
from families import families  # noqa: E402
from many_readouts import many_readouts  # noqa: E402
from optionbias.catalogue import TABLES  # noqa: E402
from optionbias.tables.table import Entry, Table  # noqa: E402
from synthetic import Run, standard  # noqa: E402

# The slow loops' own number of draws and permutations.
DRAWS = 40
TOLERANCE = 1e-10
RUNS = {
    "standard": standard,
    "families": families,
    "many readouts": many_readouts,
    "all orderings": all_orderings_run,
}
PARTS = ("value", "ci_low", "ci_high")
Key = tuple[str, str]
SlowTable = Callable[[Run], dict[Key, Any]]


@dataclass
class Comparison:
    """What was compared of one table, over all runs."""

    compared: int = 0
    largest: float = 0.0
    problems: list[str] = field(default_factory=list)

    def compare(self, where: str, entry: Entry | None, expected: Any) -> None:
        """Compare an entry (None: the table has none) with a slow value or (value, low, high)."""
        ours = numbers(tuple(getattr(entry, part) for part in PARTS) if entry else None)
        for part, one, other in zip(PARTS, ours, numbers(expected), strict=True):
            if math.isnan(one) and math.isnan(other):
                continue
            self.compared += 1
            if math.isnan(one) or math.isnan(other):
                self.problems.append(f"{where}, {part}: {one:.6g} against {other:.6g}")
            else:
                self.largest = max(self.largest, abs(one - other))


def numbers(value: Any) -> list[float]:
    """Value, low and high; NaN for what is undefined, a text or not there."""
    parts = list(value) if isinstance(value, tuple | list) else [value]
    parts += [None] * (len(PARTS) - len(parts))
    return [math.nan if part is None or isinstance(part, str) else float(part) for part in parts]


def slow_tables() -> Iterator[tuple[str, SlowTable]]:
    """The slow functions with the table, or the section of the prose, that they recompute."""
    for module in pkgutil.iter_modules(slow.tables.__path__):
        found = importlib.import_module(f"slow.tables.{module.name}")
        yield from {**found.TABLES, **getattr(found, "TEXTS", {})}.items()


def fast_table(number: str, run: Run) -> Table:
    """A table of the catalogue."""
    module, function = TABLES[number][0].split(":")
    table: Table = getattr(importlib.import_module(module), function)(run.inputs(DRAWS))
    return table


def in_section(section: str, entries: dict[tuple[str, Key], Entry], key: Key) -> list[Any]:
    """Where a slow number belongs: its section (`text-5` holds `text-5.1`), else wherever it is."""
    places = [place for place in entries if place[1] == key]
    own = [p for p in places if p[0] == section or p[0].startswith(f"{section}.")]
    return own or places


def compare_run(name: str, run: Run, loops: list[tuple[str, SlowTable]]) -> dict[str, Comparison]:
    """Every table of a run against the slow loops."""
    comparisons = {}
    for number in TABLES:
        found = comparisons[number] = Comparison()
        entries = {
            (block.table or number, (e.row, e.column)): e
            for block in fast_table(number, run).blocks
            for e in block.entries
        }
        covered, failed = set(), ""
        for section, slow_table in loops:
            if ("text" if section.startswith("text-") else section) != number:
                continue
            try:
                numbers_of = slow_table(run)
            except (ArithmeticError, LookupError, ValueError) as error:
                # Written for runs that have its cells; on others the table must have no number.
                failed += f" ({section}: {type(error).__name__}: {error})"
                continue
            for key, expected in numbers_of.items():
                places = in_section(section, entries, key)
                covered.update(places)
                for place in places or [(section, key)]:
                    where = f"{name}: {place[0]}, {' | '.join(key)}"
                    found.compare(where, entries.get(place), expected)
        for place, entry in entries.items():
            if place not in covered and not math.isnan(numbers(entry.value)[0]):
                where = f"{place[0]}, {' | '.join(place[1])}"
                found.problems.append(f"{name}: not compared: {where}{failed}")
    return comparisons


def main() -> int:
    """Compare and print; returns the exit status."""
    loops = list(slow_tables())
    by_run = [compare_run(name, make(), loops) for name, make in RUNS.items()]
    worst, problems, compared = 0.0, 0, 0
    for number in TABLES:
        parts = [comparisons[number] for comparisons in by_run]
        total, largest = sum(p.compared for p in parts), max(p.largest for p in parts)
        print(f"table {number:>4}: {total:5d} numbers compared, largest difference {largest:.2g}")
        for problem in (problem for p in parts for problem in p.problems):
            print(f"    {problem}")
            problems += 1
        worst, compared = max(worst, largest), compared + total
    print(
        f"all tables: {compared} numbers compared on {len(RUNS)} runs, largest difference {worst:.2g}"
    )
    return int(problems > 0 or worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
