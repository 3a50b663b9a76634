"""Small runs whose cells were answered under all K! orderings."""

from __future__ import annotations

from functools import cache
from typing import Any

from optionbias.orderings import all_orderings
from optionbias.sweep import Sweep
from synthetic import Run, answers, score_run, steady


def everywhere(checkpoint: str, benchmark: str, k: int = 4, n: int = 12, **options: Any) -> Sweep:
    """A sweep of all K! orderings."""
    options = {"readout": "all-orderings", "orderings": all_orderings(k), **options}
    return answers(checkpoint, benchmark, k, n, **options)


@cache
def all_orderings_run() -> Run:
    """Four checkpoints on two benchmarks of four options and one of three.

    One cell misses answers, one stores no probabilities, one never flips, one misses an
    answer on every item and counts nowhere, and one has letters so near that few answers are certified.
    """
    sweeps = []
    for checkpoint, ability in {"A": 0.5, "B": 1.5, "C": 2.5, "D": 4.0}.items():
        for benchmark, n in {"exam": 9, "quiz": 7}.items():
            options: dict[str, Any] = {"ability": ability, "noise": 0.6, "lean": 0.6}
            if (checkpoint, benchmark) == ("A", "exam"):
                options["unanswered"] = [(2, 7), (5, 0)]
            if (checkpoint, benchmark) == ("B", "quiz"):
                options["generated"] = True
            if (checkpoint, benchmark) == ("C", "quiz"):
                options["unanswered"] = [(q, q) for q in range(n)]
            if (checkpoint, benchmark) == ("C", "exam"):
                options |= {"ability": 2e-6, "noise": 1e-6, "lean": 2e-6}
            if (checkpoint, benchmark) == ("D", "quiz"):
                options = {"readout": "all-orderings", "orderings": all_orderings(4)}
                sweeps.append(steady(checkpoint, benchmark, 4, n, **options))
                continue
            sweeps.append(everywhere(checkpoint, benchmark, n=n, **options))
        sweeps.append(everywhere(checkpoint, "three", 3, 8, ability=ability))
    return score_run(sweeps)
