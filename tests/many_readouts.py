"""A synthetic run with every readout, so that own and common pools differ."""

from __future__ import annotations

from functools import cache
from typing import Any

from optionbias.orderings import all_orderings, cyclic
from synthetic import Run, answers, score_run

CHECKPOINTS = {"A": 0.3, "B": 1.0, "C": 1.8, "D": 2.6}
# benchmark -> K, items
BENCHMARKS = {"four": (4, 24), "other": (4, 17), "two": (2, 20)}
# (checkpoint, benchmark) -> unanswered queries of the chain of thought. Of 24 items, 21 are below
# nine tenths (21.6) and 22 are above.
UNANSWERED = {
    ("C", "four"): [(0, 0), (3, 1), (9, 3)],
    ("D", "four"): [(0, 0), (3, 1)],
}
FALLBACK = {("A", "four"): 0.51, ("B", "four"): 0.5, ("A", "two"): 0.8, ("D", "other"): 0.1}


@cache
def many_readouts() -> Run:
    """Four checkpoints, three benchmarks; what was run differs between readouts."""
    sweeps = []
    for benchmark, (k, n) in BENCHMARKS.items():
        for checkpoint, ability in CHECKPOINTS.items():
            cell = (checkpoint, benchmark)

            def add(
                readout: str,
                items: int = n,
                lift: float = 0.0,
                cell: tuple[str, str] = cell,
                k: int = k,
                ability: float = ability,
                **options: Any,
            ) -> None:
                sweeps.append(
                    answers(*cell, k, items, ability=ability + lift, readout=readout, **options)
                )

            add("first-token")
            if cell != ("B", "other"):
                add(
                    "chain-of-thought", lift=0.8, lean=0.4, generated=True, orderings=cyclic(k),
                    unanswered=UNANSWERED.get(cell, []), fallback_share=FALLBACK.get(cell),
                )  # fmt: skip
            if benchmark != "two" or checkpoint in "AB":
                add("direct-answer", lift=0.3, generated=True, orderings=cyclic(k))
            if benchmark != "other" and checkpoint != "D":
                add("five-shot", lift=0.5, noise=0.6)
            if benchmark != "two" and checkpoint != "C":
                add("all-orderings", 11, noise=1.0, orderings=all_orderings(k))
    return score_run(sweeps)
