"""Cells, queries and sweeps that the tests draw or build, and the comparison with the slow loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import ArrayLike, NDArray

from optionbias.design import Design
from optionbias.factors import CellStatistics, cell_statistics
from optionbias.orderings import (
    all_orderings,
    cyclic,
    cyclic_and_reversals,
    latin_square_sets,
)
from optionbias.scoring import BenchmarkScores, score_benchmark
from optionbias.shifted_choices import shifted_choices
from optionbias.sweep import Sweep
from slow import factors as slow_factors

TOLERANCE = 1e-12
SEED = 20261016
# Statistics of single orderings of a design; the others do not care which orderings it names.
SINGLE = ("canonical_accuracy", "fluctuation_rate", "flip_cap", "scaled_flip_rate")

PROPERTY = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)

BALANCED = ("cyclic", "shuffled", "all", "latin", "own-balanced")
UNBALANCED = ("multiset", "weighted", "own", "own-counts")
KINDS = BALANCED + UNBALANCED


@dataclass(frozen=True)
class Cell:
    """Contents chosen by N items under a design, and their correct contents."""

    contents: NDArray[np.int64]
    gold: NDArray[np.int64]
    design: Design

    @property
    def fast(self) -> CellStatistics:
        """The statistics under test."""
        return cell_statistics(self.contents, self.gold, self.design)

    def literal(self) -> tuple[list[list[int]], list[list[tuple[int, ...]]]]:
        """Contents and orderings of every item with each multiplicity written out."""
        n, m = self.contents.shape
        rows = np.broadcast_to(self.design.orderings, (n, m, self.design.k))
        given = 1 if self.design.counts is None else self.design.counts
        counts = np.broadcast_to(given, (n, m))
        contents, orderings = [], []
        for q in range(n):
            present = [s for s in range(m) for _ in range(counts[q, s])]
            contents.append([int(self.contents[q, s]) for s in present])
            orderings.append([tuple(rows[q, s].tolist()) for s in present])
        return contents, orderings

    @property
    def slow(self) -> dict[str, Any]:
        """The same statistics by the slow loop."""
        contents, orderings = self.literal()
        return slow_factors.statistics(contents, orderings, self.gold.tolist(), self.design.k)


def differences(
    found: CellStatistics, expected: Mapping[str, Any], leave_out: Iterable[str] = ()
) -> list[str]:
    """Statistics that differ by more than 1e-12, or are NaN in one and not in the other."""
    wrong = []
    for name in sorted(set(expected) - set(leave_out)):
        a, b = (np.asarray(x, dtype=float) for x in (getattr(found, name), expected[name]))
        both = np.isnan(a) & np.isnan(b)
        if a.shape != b.shape or not ((np.abs(a - b) <= TOLERANCE) | both).all():
            wrong.append(f"{name}: {a} against {b}")
    return wrong


def build_design(kind: str, k: int, n: int, rng: np.random.Generator) -> Design:
    """A design of one of KINDS for `n` items."""
    if kind in ("cyclic", "shuffled"):
        return Design.of(cyclic(k) if kind == "cyclic" else rng.permutation(cyclic(k)))
    if kind == "all":
        return Design.of(all_orderings(k))
    if kind == "latin":
        sets = latin_square_sets(k)
        return Design.of(sets[rng.integers(len(sets))])
    if kind == "own-balanced":
        # Each item relabels the cyclic set and repeats it: balanced, in sizes K, 2K or 3K.
        own = cyclic(k)[:, rng.permuted(np.tile(np.arange(k), (n, 1)), axis=1)].transpose(1, 0, 2)
        return Design.of(own, np.tile(rng.integers(1, 4, size=(n, 1)), (1, k)))
    m = int(rng.integers(2, 7))
    rows = rng.permuted(np.tile(np.arange(k), (m, 1)), axis=1)
    if kind == "multiset":
        return Design.of(rows[rng.integers(m, size=m + 2)])
    counts = rng.integers(0, 3, size=m if kind == "weighted" else (n, m))
    counts[..., rng.integers(m)] += 1
    if kind == "own":
        rows = rng.permuted(np.tile(np.arange(k), (n, m, 1)), axis=-1)
    return Design.of(rows, counts)


def build_cell(kind: str, k: int, n: int, seed: int) -> Cell:
    """A random cell: items that are stable, that stick to a letter, and that choose at random."""
    rng = np.random.default_rng(seed)
    design = build_design(kind, k, n, rng)
    m = design.orderings.shape[-2]
    rows = np.broadcast_to(design.orderings, (n, m, k))
    contents = rng.integers(k, size=(n, m))
    for q in range(n):
        behaviour = rng.random()
        if behaviour < 0.4:
            contents[q] = rng.integers(k)
        elif behaviour < 0.7:
            letter = int(rng.integers(k) * rng.random())
            contents[q] = [pi.tolist().index(letter) for pi in rows[q]]
    return Cell(contents, rng.integers(k, size=n), design)


@st.composite
def cells(draw: st.DrawFn, kinds: Sequence[str] = KINDS, ks: Sequence[int] = (2, 3, 4, 5)) -> Cell:
    """Cells of any contents under any design of `kinds`."""
    kind = draw(st.sampled_from(kinds))
    k = draw(st.sampled_from([k for k in ks if k <= {"all": 4, "latin": 4}.get(kind, 26)]))
    n = draw(st.integers(1, 8))
    design = build_design(kind, k, n, np.random.default_rng(draw(st.integers(0, 999))))
    option = st.integers(0, k - 1)
    contents = draw(arrays(np.int64, (n, design.orderings.shape[-2]), elements=option))
    stable = draw(arrays(np.bool_, n))
    contents[stable] = contents[stable][:, :1]
    return Cell(contents, draw(arrays(np.int64, n, elements=option)), design)


def log_softmax(logits: ArrayLike) -> NDArray[np.float64]:
    """Rows of log-probabilities, written out apart from the package's own."""
    x = np.asarray(logits, dtype=np.float64)
    top = x.max(axis=-1, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(axis=-1, keepdims=True))


def letter_logits(
    strengths: ArrayLike, orderings: ArrayLike, letters: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """Logits (N, M, K) in presented order: content strengths (N, K) plus a letter preference."""
    inverse = np.argsort(np.asarray(orderings), axis=-1)
    return np.asarray(strengths, dtype=np.float64)[:, inverse] + np.asarray(letters)


def random_logits(
    rng: np.random.Generator, n: int, orderings: ArrayLike, noise: float = 0.7
) -> NDArray[np.float64]:
    """Logits with content strengths, one letter preference and noise of every query."""
    pi = np.asarray(orderings)
    k = pi.shape[-1]
    plain = letter_logits(rng.normal(size=(n, k)), pi, rng.normal(size=k) * 0.6)
    return plain + rng.normal(size=plain.shape) * noise


def build_sweep(
    orderings: ArrayLike,
    logits: ArrayLike,
    gold: ArrayLike,
    unanswered: Iterable[tuple[int, int]] = (),
    generated: bool = False,
    mass: ArrayLike | None = None,
    **metadata: Any,
) -> Sweep:
    """A sweep of stored float32 log-probabilities; `unanswered` lists (item, ordering) pairs."""
    pi = np.asarray(orderings)
    logp = log_softmax(logits).astype(np.float32)
    choice = logp.argmax(axis=-1).astype(np.int8)
    for q, s in unanswered:
        logp[q, s], choice[q, s] = np.nan, -1
    entries = {"checkpoint": "model", "benchmark": "toy", "readout": "first-token", **metadata}
    return Sweep(
        {**entries, "format": 1, "K": pi.shape[1], "orderings": pi.tolist()},
        np.array([f"q{i:03d}" for i in range(len(logp))], dtype=object),
        np.asarray(gold, dtype=np.int8),
        pi,
        None if generated else logp,
        choice,
        None if mass is None else np.asarray(mass, dtype=np.float32),
        "here.parquet",
    )


def sweep_of(
    name: str, k: int = 4, n: int = 40, orderings: np.ndarray | None = None, **options: Any
) -> Sweep:
    """A first-token sweep whose answers belong to the checkpoint's name."""
    pi = cyclic_and_reversals(k) if orderings is None else orderings
    rng = np.random.default_rng(sum(name.encode()))
    logits = random_logits(rng, n, pi)
    gold = np.random.default_rng(7).integers(k, size=n)
    return build_sweep(pi, logits, gold, checkpoint=name, **options)


def score(*sweeps: Sweep, repetitions: int = 3) -> BenchmarkScores:
    """Scores of the benchmark `toy`."""
    return score_benchmark("toy", sweeps, SEED, repetitions)


def pick(rows: Iterable[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    """The rows with the wanted entries."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def choose(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What queries (..., K) choose by the tie rule, and which of them it decided, (...) each."""
    *shape, k = scores.shape
    positions, tied = shifted_choices(scores.reshape(1, -1, k), np.zeros((1, k)))
    return positions[0].astype(np.int64).reshape(shape), tied[0].reshape(shape)
