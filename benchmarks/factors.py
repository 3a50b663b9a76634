"""Time the factor statistics of one cell, against the slow loop of the tests, in one run.

    python benchmarks/factors.py [--items 10042] [--repetitions 7]

The cell is synthetic: 10,042 items (HellaSwag's size), K = 4, the four cyclic orderings and their
reversals. Both paths start from the stored float32 log-probabilities and end with every statistic
of every operation; they must agree to 1e-12, with NaN in the same places. The slow loop works in
exact fractions, so much of its time is arithmetic that the fast path does not do: the share of
each of its parts is printed beside the ratio.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from optionbias.cell import answer_cell  # noqa: E402
from optionbias.design import Design  # noqa: E402
from optionbias.factors import cell_statistics, contents_of  # noqa: E402
from optionbias.identities import assert_identities  # noqa: E402
from optionbias.operations import OPERATIONS, needs_prior  # noqa: E402
from optionbias.orderings import cyclic_and_reversals  # noqa: E402
from optionbias.seeds import DEFAULT_SEED, generator  # noqa: E402
from optionbias.sweep import Sweep  # noqa: E402
from slow import factors as slow_factors  # noqa: E402
from slow import operations as slow_operations  # noqa: E402
from slow import orderings as slow_orderings  # noqa: E402

K = 4
BENCHMARK = "synthetic"
Timed = dict[str, float]


def synthetic_sweep(n: int) -> Sweep:
    """A seeded cell: content strengths, a letter preference, and noise of every query."""
    rng = generator(DEFAULT_SEED, "benchmarks/factors")
    orderings = cyclic_and_reversals(K)
    gold = rng.integers(K, size=n)
    strengths = rng.normal(size=(n, K)) + 1.2 * (np.arange(K) == gold[:, None])
    logits = strengths[:, np.argsort(orderings, axis=1)] + [0.5, 0.2, -0.1, -0.6]
    logits += 0.4 * rng.normal(size=logits.shape)
    top = logits.max(axis=-1, keepdims=True)
    logp = logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))
    stored = logp.astype(np.float32)
    return Sweep(
        {"checkpoint": "synthetic", "benchmark": BENCHMARK, "readout": "first-token"},
        np.array([f"item-{i:05d}" for i in range(n)], dtype=object),
        gold.astype(np.int8),
        orderings,
        stored,
        stored.argmax(axis=-1).astype(np.int8),
    )


def fast(sweep: Sweep) -> dict[str, dict[str, Any]]:
    """Every operation's statistics through the package, identities asserted."""
    cell = answer_cell(sweep, BENCHMARK, DEFAULT_SEED)
    assert cell is not None
    design = Design.of(cell.queries.orderings)
    found = {}
    for operation, answers in cell.answers.items():
        contents, gold = contents_of(answers.positions, cell.queries.orderings), cell.gold
        if needs_prior(operation):
            contents, gold = contents[~cell.calibration], gold[~cell.calibration]
        row = cell_statistics(contents, gold, design)
        assert_identities(row, contents, design, operation)
        found[operation] = vars(row)
    return found


def slow(sweep: Sweep) -> tuple[dict[str, dict[str, Any]], Timed]:
    """The same by the slow loop, and the seconds that its parts take."""
    seconds = {"operations": 0.0, "factors": 0.0}
    start = time.perf_counter()
    orderings = slow_orderings.cyclic(K)
    assert sweep.logp is not None
    rows, choice = sweep.logp.tolist(), sweep.choice.tolist()
    presented, mirrored = [row[:K] for row in rows], [row[K:] for row in rows]
    names = sweep.items.tolist()
    held_out = set(slow_operations.calibration_ids(DEFAULT_SEED, BENCHMARK, names))
    calibration = [q for q in range(len(names)) if names[q] in held_out]
    seconds["operations"] += time.perf_counter() - start
    found = {}
    for operation in slow_operations.OPERATIONS:
        start = time.perf_counter()
        positions, _ = slow_operations.apply(
            operation, presented, mirrored, [row[:K] for row in choice], orderings, calibration
        )
        contents, gold = [], []
        for q in range(len(names)):
            if needs_prior(operation) and names[q] in held_out:
                continue
            contents.append([pi.index(p) for pi, p in zip(orderings, positions[q], strict=True)])
            gold.append(int(sweep.gold[q]))
        middle = time.perf_counter()
        found[operation] = slow_factors.statistics(contents, [orderings] * len(gold), gold, K)
        seconds["operations"] += middle - start
        seconds["factors"] += time.perf_counter() - middle
    return found, seconds


def largest_difference(found: dict[str, Any], expected: dict[str, Any]) -> float:
    """Largest absolute difference of one operation's statistics; infinite where NaN disagree."""
    largest = 0.0
    for name, value in expected.items():
        a, b = np.asarray(found[name], dtype=float), np.asarray(value, dtype=float)
        if not (np.isnan(a) == np.isnan(b)).all():
            return float("inf")
        largest = max(largest, float(np.abs(np.nan_to_num(a) - np.nan_to_num(b)).max()))
    return largest


def main() -> None:
    """Time both paths, check that they agree, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=10_042)
    parser.add_argument("--repetitions", type=int, default=7)
    arguments = parser.parse_args()
    sweep = synthetic_sweep(arguments.items)
    print(
        f"one cell: {arguments.items:,} items, K = {K}, {len(sweep.orderings)} orderings, "
        f"{len(OPERATIONS)} operations, seed {DEFAULT_SEED}"
    )

    times = []
    for _ in range(arguments.repetitions):
        start = time.perf_counter()
        found = fast(sweep)
        times.append(time.perf_counter() - start)
    median = statistics.median(times)
    spread = f"{min(times):.4f} to {max(times):.4f}"
    print(f"optionbias: {median:.4f} s (median of {len(times)}, {spread})")

    start = time.perf_counter()
    expected, seconds = slow(sweep)
    total = time.perf_counter() - start
    print(f"slow loop:  {total:.2f} s (once)")
    for part, taken in seconds.items():
        note = " (exact fractions)" if part == "factors" else ""
        print(f"  of which {part}{note}: {taken:.2f} s, {100 * taken / total:.0f}%")

    worst = max(largest_difference(found[op], expected[op]) for op in OPERATIONS)
    print(f"largest difference of a statistic: {worst:.1e}")
    if not worst <= 1e-12:
        raise SystemExit("the two paths disagree by more than 1e-12")
    print(f"ratio: {total / median:.0f}")
    # The fast time whole, the slow time without the module of fractions: a floor of the ratio.
    print(f"without the slow loop's factors: {seconds['operations'] / median:.0f}")


if __name__ == "__main__":
    main()
