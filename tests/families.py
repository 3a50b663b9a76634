"""A run with families of several sizes, post-training pairs and closed models that ask twice."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from optionbias.orderings import cyclic
from optionbias.sweep import Sweep
from synthetic import Run, answers, rng_of, score_run, steady

# Releases are named before and after their bases.
DETAILS: dict[str, dict[str, Any]] = {
    "Fern-1B": {"family": "Fern", "params_b": 1.0},
    "Fern-3B": {"family": "Fern", "params_b": 3.0},
    "Fern-8B": {"family": "Fern", "params_b": 8.0},
    "Fern-8B-it": {"family": "Fern", "params_b": 8.0, "training": "post", "base": "Fern-8B"},
    "Chat-Fern": {"family": "Fern", "params_b": 3.0, "training": "post", "base": "Fern-3B"},
    # Trained from Fern-1B but no release of it; grouped by its name.
    "Moss-Distill": {"family": "Moss", "params_b": 2.0, "scale_group": "Fern"},
    "Oracle": {"family": "Oracle", "params_b": 100.0, "training": "post"},
    "Sibyl": {"family": "Sibyl", "params_b": 100.0, "training": "post"},
}
CLOSED = ("Oracle", "Sibyl")
BENCHMARKS = {"four": (4, 36), "ten": (10, 18), "two": (2, 24)}


def asked_twice(
    checkpoint: str, benchmark: str, k: int = 4, n: int = 30, drift: float = 0.2, lean: float = 0.1
) -> Sweep:
    """A closed model's sweep: cyclic orderings, ordering 0 again at the end, letters alone.

    A call changes its mind with probability `drift`, and picks the first letter with `lean`.
    """
    orderings = np.concatenate([cyclic(k), cyclic(k)[:1]])
    rng = rng_of("closed", checkpoint, benchmark)
    contents = np.repeat(rng.integers(k, size=n)[:, None], k + 1, axis=1)
    changed = rng.random(contents.shape) < drift
    contents[changed] = rng.integers(k, size=int(changed.sum()))
    choice = np.take_along_axis(np.broadcast_to(orderings, (n, k + 1, k)), contents[..., None], 2)
    choice = choice[..., 0].astype(np.int8)
    choice[rng.random(choice.shape) < lean] = 0
    choice[2, 1], choice[4, k] = -1, -1  # unanswered: under an ordering, and the second time
    metadata = {
        "format": 1, "checkpoint": checkpoint, "benchmark": benchmark, "readout": "closed", "K": k,
        "orderings": orderings.tolist(), "repeats": {str(k): 0},
    }  # fmt: skip
    items = np.array([f"q{i:03d}" for i in range(n)], dtype=object)
    gold = rng_of(benchmark).integers(k, size=n).astype(np.int8)
    return Sweep(metadata, items, gold, orderings, None, choice)


@cache
def families() -> Run:
    """The run: three benchmarks, cells that miss items or never flip, two closed models."""
    sweeps: list[Sweep] = []
    for benchmark, (k, n) in BENCHMARKS.items():
        for i, checkpoint in enumerate(name for name in DETAILS if name not in CLOSED):
            cell = (checkpoint, benchmark)
            options: dict[str, Any] = {"ability": 0.4 + 0.3 * i, "lean": 1.2 - 0.15 * i}
            if cell == ("Fern-3B", "four"):
                options["unanswered"] = [(3, 1), (9, 2)]
            if cell == ("Fern-8B", "four"):
                options["unanswered"] = [(3, 0), (20, 3)]
            if cell == ("Moss-Distill", "ten"):
                sweeps.append(steady(*cell, k, n))
                continue
            sweeps.append(answers(*cell, k, n, **options))
    sweeps += [asked_twice("Oracle", "four"), asked_twice("Sibyl", "four", drift=0.02, lean=0.5)]
    return score_run(sweeps, DETAILS)
