"""Table 1 from the stored answers, cell by cell in plain Python (paper 3.3, B.1 to B.3)."""

import itertools
import math
from typing import Any

from ..factors import statistics
from ..orderings import cyclic

TOLERANCE = 1e-12
# row -> (statistic, what bounds or equals it, the column of the last number)
ROWS = {
    "Flip rate": ("flip_rate", "cap", "violated bounds"),
    "Two-order disagreement": ("fluctuation_rate", "flip_rate", "violated bounds"),
    "Pooled SD": ("pooled_sd", "skew", "largest absolute difference"),
    "Corrected SD": ("corrected_sd", "skew", "largest absolute difference"),
    "Balanced RStd": ("balanced_rstd", "std_h", "largest absolute difference"),
    "Placement range": ("placement_range", "range_h", "largest absolute difference"),
    "Forward KL": ("kl", "kl_g", "violated bounds"),
}


def cell(sweep: Any) -> dict[str, float]:
    """Both sides of every row for one sweep, its items answered under all cyclic orderings."""
    k = int(sweep.k)
    stored = [tuple(pi) for pi in sweep.orderings.tolist()]
    pis = cyclic(k)
    columns = [stored.index(pi) for pi in pis]
    z, gold = [], []
    for chosen, c in zip(sweep.choice.tolist(), sweep.gold.tolist(), strict=True):
        letters = [chosen[s] for s in columns]
        if min(letters) >= 0:
            z.append([pi.index(letter) for letter, pi in zip(letters, pis, strict=True)])
            gold.append(c)
    s = statistics(z, [pis] * len(z), gold, k)
    fl = s["flip_rate"]
    leans = {"skew": s["skew"], "std_h": s["std_h"], "range_h": s["range_h"], "kl_g": 0.0}
    if fl > 0:
        leans["kl_g"] = math.fsum(x * math.log2(k * x) for x in s["g"] if x > 0)
    found = {f"right/{name}": fl * lean if fl > 0 else 0.0 for name, lean in leans.items()}
    found["right/cap"] = min(1.0, k * (1 - s["accuracy"]))
    found["right/flip_rate"] = fl
    # The bound on two orderings is checked for every two of them.
    found["disagreement"] = max(
        sum(row[a] != row[b] for row in z) / len(z) for a, b in itertools.combinations(range(k), 2)
    )
    for name in ("flip_rate", "fluctuation_rate", "pooled_sd", "corrected_sd", "kl"):
        found[name] = s[name]
    found["balanced_rstd"], found["placement_range"] = s["balanced_rstd"], s["placement_range"]
    return found


def table1(run: Any) -> dict[tuple[str, str], float]:
    """Every number of Table 1."""
    sweeps = [s for s in run.sweeps if s.metadata["readout"] == "first-token"]
    cells = [cell(sweep) for sweep in sweeps]
    table: dict[tuple[str, str], float] = {}
    for row, (name, right, last) in ROWS.items():
        lefts = [c[name] for c in cells]
        rights = [c[f"right/{right}"] for c in cells]
        table[row, "mean of the statistic"] = math.fsum(lefts) / len(cells)
        table[row, "mean of the right side"] = math.fsum(rights) / len(cells)
        if last == "violated bounds":
            checked = [c["disagreement"] for c in cells] if name == "fluctuation_rate" else lefts
            pairs = zip(checked, rights, strict=True)
            table[row, last] = sum(left > bound + TOLERANCE for left, bound in pairs)
        else:
            differences = [abs(a - b) for a, b in zip(lefts, rights, strict=True)]
            table[row, last] = max(differences)
    return table


TABLES = {"1": table1}
