"""Small synthetic sweeps with known shapes, scored into a statistics folder as the rules do it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import settings as hypothesis_settings

from optionbias.analysis import Settings, as_frame, cells_of
from optionbias.catalogue import ANALYSES
from optionbias.frames import gather, write_parquet, write_scores
from optionbias.operations import OPERATIONS
from optionbias.orderings import all_orderings, cyclic, cyclic_and_reversals
from optionbias.scoring import score_benchmark
from optionbias.sweep import Sweep
from optionbias.tables.inputs import Inputs
from strategies import PROPERTY, SEED, build_sweep, letter_logits

# The texts of the reported values, stated here apart from the code.
OPERATION_TEXTS = {
    "none": "Baseline",
    "pride": "PriDe",
    "batch": "Batch calibration",
    "reversal": "Reversal product",
    "pride+reversal": "PriDe then reversal",
    "batch+reversal": "Batch then reversal",
    "pride+batch": "PriDe then batch",
    "vote": "Majority vote",
}
FEW = hypothesis_settings(PROPERTY, max_examples=30)
DRAWS = 60
REPETITIONS = 6
NAN = float("nan")
# Removed when the tests end.
_KEPT: list[TemporaryDirectory] = []


@dataclass(frozen=True)
class Run:
    """A scored run: its sweeps, its statistics folder and its cohort as the workflow writes it."""

    sweeps: list[Sweep]
    folder: Path
    cohort: dict[str, Any]

    def inputs(self, draws: int = DRAWS) -> Inputs:
        """What tables and figures read of the run."""
        return AnalysedInputs(self.folder, self.cohort, draws, SEED, self)

    def analysis(self, name: str, draws: int = DRAWS) -> pd.DataFrame:
        """An analysis of the run, as its rule writes and its readers read it."""
        path = self.folder / f"{name}-{draws}.parquet"
        if not path.exists():
            analyse = import_module(ANALYSES[name].module).analyse
            wanted = cells_of(name, self.cohort)
            benchmarks = tuple(sorted({cell[1] for cell in wanted}))
            settings = Settings(SEED, draws, REPETITIONS, benchmarks)
            rows: list[dict[str, Any]] = []
            for benchmark in benchmarks:
                mine = [s for s in self.sweeps if key_of(s) in wanted and key_of(s)[1] == benchmark]
                rows += analyse(benchmark, mine, settings)
            write_parquet(path, as_frame(name, rows))
        return pd.read_parquet(path)


@dataclass(frozen=True)
class AnalysedInputs(Inputs):
    """Inputs whose analyses are carried out when they are first read."""

    made_from: Run

    def read(self, name: str) -> pd.DataFrame:
        """As `Inputs.read`."""
        if name in ANALYSES:
            return self.made_from.analysis(name, self.draws)
        return super().read(name)


def key_of(sweep: Sweep) -> tuple[str, str, str]:
    """(readout, benchmark, checkpoint) of a sweep."""
    m = sweep.metadata
    return str(m["readout"]), str(m["benchmark"]), str(m["checkpoint"])


def rng_of(*names: object) -> np.random.Generator:
    """A generator that belongs to the names."""
    return np.random.default_rng(list("/".join(map(str, names)).encode()))


def answers(
    checkpoint: str,
    benchmark: str,
    k: int,
    n: int = 30,
    ability: float = 1.0,
    lean: float = 0.7,
    noise: float = 0.8,
    orderings: np.ndarray | None = None,
    **options: Any,
) -> Sweep:
    """A sweep: utilities (higher for the correct content), a letter preference, noise.

    Gold contents belong to the benchmark, everything else to the checkpoint on it.
    """
    pi = cyclic_and_reversals(k) if orderings is None else orderings
    gold = rng_of(benchmark).integers(k, size=n)
    rng = rng_of(checkpoint, benchmark)
    strengths = rng.normal(size=(n, k)) * min(1.0, noise + lean)
    strengths[np.arange(n), gold] += ability
    logits = letter_logits(strengths, pi, lean * rng_of(checkpoint, k).normal(size=k))
    logits = logits + noise * rng.normal(size=logits.shape)
    named = {"checkpoint": checkpoint, "benchmark": benchmark, "revision": "r1", **options}
    return build_sweep(pi, logits, gold, **named)


def steady(checkpoint: str, benchmark: str, k: int, n: int = 30, **options: Any) -> Sweep:
    """A sweep that never flips: every answer is the correct content."""
    return answers(checkpoint, benchmark, k, n, ability=9.0, lean=0.0, noise=0.0, **options)


def _cohort(sweeps: Sequence[Sweep], details: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    checkpoints = sorted({str(s.metadata["checkpoint"]) for s in sweeps})
    benchmarks = {str(s.metadata["benchmark"]): s.k for s in sweeps}
    plain = {"family": "Fam", "params_b": 1.0, "training": "base"}
    return {
        "name": "synthetic",
        "checkpoints": [{"name": c, **plain, **details.get(c, {})} for c in checkpoints],
        "benchmarks": [
            {"name": b, "K": benchmarks[b], **details.get(b, {})} for b in sorted(benchmarks)
        ],
        "cells": sorted(list(key_of(s)) for s in sweeps),
    }


def score_run(
    sweeps: Sequence[Sweep], details: Mapping[str, Mapping[str, Any]] | None = None
) -> Run:
    """Score sweeps benchmark by benchmark and gather the tables, as the workflow's rules do."""
    _KEPT.append(TemporaryDirectory(prefix="optionbias-"))
    folder = Path(_KEPT[-1].name)
    benchmarks = sorted({str(s.metadata["benchmark"]) for s in sweeps})
    for benchmark in benchmarks:
        mine = [s for s in sweeps if s.metadata["benchmark"] == benchmark]
        write_scores(folder / benchmark, score_benchmark(benchmark, mine, SEED, REPETITIONS))
    gather([folder / b for b in benchmarks], folder)
    return Run(list(sweeps), folder, _cohort(sweeps, details or {}))


ABILITIES = {"Alpha-1B": 0.4, "Alpha-1B-it": 1.2, "Beta_2B": 1.6, "Gamma.8B": 2.2, "Zeta-70B": 3.0}
BENCHMARKS = {"four": (4, 40), "other": (4, 26), "ten": (10, 22), "two": (2, 30)}
DETAILS: dict[str, dict[str, Any]] = {
    "Alpha-1B": {"family": "Alpha", "params_b": 1.0},
    "Alpha-1B-it": {
        "family": "Alpha",
        "params_b": 1.0,
        "training": "post",
        "base": "Alpha-1B",
    },
    "Beta_2B": {"family": "Beta", "params_b": 2.5},
    "Gamma.8B": {"family": "Beta", "params_b": 0.25},
    "Zeta-70B": {"family": "Zeta", "params_b": 70.0},
    "four": {"title": "Four & more", "split": "test", "source": "a book", "licence": "MIT"},
}


def revision(checkpoint: str) -> str:
    """A made-up commit."""
    return f"{checkpoint.lower():0<20}"


@cache
def standard() -> Run:
    """Five checkpoints on K = 2, 4, 4, 10 with the corners that real runs have.

    One cell was not run, one never flips, one flips only without the reversals, three miss answers
    (under cyclic orderings, reversals or both), and there are sweeps of two other readouts that
    no first-token table may count.
    """
    sweeps = []
    for benchmark, (k, n) in BENCHMARKS.items():
        for checkpoint, ability in ABILITIES.items():
            if (checkpoint, benchmark) == ("Beta_2B", "other"):
                continue
            options: dict[str, Any] = {"revision": revision(checkpoint)}
            if benchmark == "other" and checkpoint == "Alpha-1B":
                options["unanswered"] = [(3, 1), (7, 6)]
            if benchmark == "four" and checkpoint == "Gamma.8B":
                options["unanswered"] = [(11, 5), (12, 0), (30, 7)]
            if benchmark == "ten" and checkpoint == "Zeta-70B":
                options["unanswered"] = [(5, 15)]
            if (checkpoint, benchmark) == ("Zeta-70B", "four"):
                sweeps.append(steady(checkpoint, benchmark, k, n, **options))
                continue
            if (checkpoint, benchmark) == ("Gamma.8B", "other"):
                options |= {"ability": 3.5, "noise": 0.5, "lean": 1.5}
            sweeps.append(answers(checkpoint, benchmark, k, n, **{"ability": ability, **options}))
    other = {"readout": "five-shot", "revision": revision("Alpha-1B")}
    sweeps.append(answers("Alpha-1B", "four", 4, 20, 0.4, **other))
    other = {"readout": "all-orderings", "revision": revision("Beta_2B")}
    sweeps.append(answers("Beta_2B", "four", 4, 12, orderings=all_orderings(4), **other))
    return score_run(sweeps, DETAILS)


# Cohorts that leave statistics undefined, by what is odd about them.
ODD: dict[str, Callable[[], list[Sweep]]] = {
    "two options only": lambda: [answers(c, "two", 2) for c in ("A", "B", "C")],
    "no reversals": lambda: [answers(c, "four", 4, orderings=cyclic(4)) for c in ("A", "B", "C")],
    "one checkpoint": lambda: [answers("A", "four", 4), answers("A", "ten", 10)],
    "one cell": lambda: [answers("A", "four", 4)],
    "no cell flips": lambda: [steady(c, "four", 4) for c in ("A", "B", "C")],
    "no first-token readout": lambda: [
        answers(c, "four", 4, readout="five-shot") for c in ("A", "B", "C")
    ],
    "cells of one item": lambda: [answers(c, "four", 4, n=1) for c in ("A", "B")],
}


@cache
def odd(name: str) -> Run:
    """A scored cohort of ODD."""
    return score_run(ODD[name]())


def comparison(
    effects: Mapping[tuple[str, str, str], Mapping[str, Any]],
    cells: Iterable[tuple[str, str]],
    k: int = 4,
) -> pd.DataFrame:
    """Rows of `comparison`, every operation on each cell, with plain values where none are given.

    Args:
        effects: (checkpoint, benchmark, operation) -> columns that differ from the plain ones.
        cells: (checkpoint, benchmark) of each cell.
    """
    plain = {
        "K": k, "n_items": 10, "accuracy": 0.5, "flip_rate": 0.5, "skew": 0.1, "pooled_sd": 0.05,
        "placement_range": 0.2, "stable_wrong": 0.1, "n_shared": 10, "shared_correct": [5] * k,
    }  # fmt: skip
    rows = []
    for checkpoint, benchmark in cells:
        for operation in OPERATIONS:
            key = {"checkpoint": checkpoint, "benchmark": benchmark, "operation": operation}
            rows.append({**key, **plain, **effects.get((checkpoint, benchmark, operation), {})})
    return pd.DataFrame(rows)


def random_comparison(seed: int, checkpoints: int, benchmarks: int) -> pd.DataFrame:
    """Any comparison: factors that are often zero or undefined, some cells not run."""
    rng = np.random.default_rng(seed)
    names = [f"m{i}" for i in range(checkpoints)]
    cells = [
        (c, f"b{j}")
        for i, c in enumerate(names)
        for j in range(benchmarks)
        if i == j == 0 or rng.random() < 0.8
    ]
    effects = {}
    for checkpoint, benchmark in cells:
        for operation in OPERATIONS:
            flips = 0.0 if operation == "vote" or rng.random() < 0.08 else rng.integers(1, 20) / 20
            effects[checkpoint, benchmark, operation] = {
                "flip_rate": flips,
                # A skew may be zero although items flip; where none flips it is undefined.
                "skew": (rng.random() < 0.9) * rng.integers(1, 9) / 32 if flips else NAN,
                "placement_range": rng.integers(0, 9) / 8,
                "accuracy": rng.integers(0, 33) / 32,
                "stable_wrong": rng.integers(0, 9) / 16,
                "shared_correct": rng.integers(3, 8, size=4).tolist(),
            }
    return comparison(effects, cells)
