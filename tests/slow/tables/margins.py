"""Tables 5, 7 and 10, the numbers of 5.1 and 5.2 and Figure 7, from the sweeps of a run."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optionbias.resampling import draw_weights
from optionbias.seeds import generator

from .. import factors, margins, operations, orderings, resampling

NAN = float("nan")
SEED = 20261016
Key = tuple[str, str]
Value = tuple[float, float, float]


@dataclass(frozen=True)
class Cell:
    """Everything the tables read of a first-token cell."""

    checkpoint: str
    benchmark: str
    K: int
    accuracy: float
    flip_rate: float
    skew: float
    prior_sd: dict[str, float]
    cosine: float
    permuted_cosine: float
    auc: dict[str, float]


def items_of(sweep: Any) -> dict[str, tuple[margins.Item, list[list[float]]]]:
    """Each usable item of a sweep, with its cyclic rows of stored log-probabilities."""
    stored = [tuple(pi) for pi in sweep.orderings.tolist()]
    pis = orderings.cyclic(sweep.k)
    columns = [stored.index(pi) for pi in pis]
    choice, logp = sweep.choice.tolist(), sweep.logp.tolist()
    found = {}
    for q, item_id in enumerate(sweep.items.tolist()):
        if min(choice[q][s] for s in columns) < 0:
            continue
        contents = [pi.index(choice[q][s]) for s, pi in zip(columns, pis, strict=True)]
        rows = [logp[q][s] for s in columns]
        found[item_id] = (margins.Item(int(sweep.gold[q]), contents, rows[0]), rows)
    return found


def permutations_of(K: int) -> list[list[int]] | None:
    """Letter permutations of the permuted prior; None stands for all but the identity."""
    if K <= 4:
        return None
    rng = generator(SEED, f"permuted-prior/K{K}")
    chosen: list[list[int]] = []
    while len(chosen) < 24:
        permutation = [int(i) for i in rng.permutation(K)]
        if permutation != list(range(K)) and permutation not in chosen:
            chosen.append(permutation)
    return chosen


def _cell(sweep: Any, auc: dict[str, float]) -> Cell:
    benchmark, K = str(sweep.metadata["benchmark"]), sweep.k
    found = items_of(sweep)
    held_out = set(operations.calibration_ids(SEED, benchmark, list(found)))

    def statistics(ids: Sequence[str]) -> dict[str, Any]:
        z = [found[i][0].contents for i in ids]
        gold = [found[i][0].gold for i in ids]
        return factors.statistics(z, [orderings.cyclic(K)] * len(ids), gold, K)

    whole = statistics(list(found))
    rest = statistics([i for i in found if i not in held_out])
    rows = [found[i][1] for i in found if i in held_out]
    priors = {"pride": operations.pride_prior(rows), "batch": operations.batch_prior(rows)}
    flips, pride = rest["flip_rate"] > 0, priors["pride"]
    return Cell(
        str(sweep.metadata["checkpoint"]),
        benchmark,
        K,
        whole["accuracy"],
        whole["flip_rate"],
        rest["skew"],
        {
            name: math.sqrt(math.fsum((p - 1 / K) ** 2 for p in prior) / K)
            for name, prior in priors.items()
        },
        margins.cosine(rest["g"], pride) if flips else NAN,
        margins.permuted_cosine(rest["g"], pride, permutations_of(K)) if flips else NAN,
        auc,
    )


def first_token(run: Any) -> dict[str, dict[str, Any]]:
    """Benchmark -> checkpoint -> first-token sweep with at least two usable items."""
    found: dict[str, dict[str, Any]] = {}
    for sweep in run.sweeps:
        m = sweep.metadata
        if m["readout"] == "first-token" and len(items_of(sweep)) >= 2:
            found.setdefault(m["benchmark"], {})[m["checkpoint"]] = sweep
    return found


# The run is kept beside its cells, so that no other takes its id.
_CELLS: dict[int, tuple[Any, list[Cell]]] = {}


def cells_of(run: Any) -> list[Cell]:
    """The first-token cells of a run, by checkpoint and benchmark."""
    if id(run) not in _CELLS:
        found = []
        for sweeps in first_token(run).values():
            items = {c: {i: x[0] for i, x in items_of(s).items()} for c, s in sweeps.items()}
            for checkpoint, sweep in sweeps.items():
                auc = margins.aucs(items[checkpoint])
                auc["auc_left_out_stratified"] = margins.stratified(checkpoint, items)
                found.append(_cell(sweep, auc))
        _CELLS[id(run)] = run, sorted(found, key=lambda c: (c.checkpoint, c.benchmark))
    return _CELLS[id(run)][1]


def _median(values: Sequence[float], weights: Sequence[int]) -> float:
    kept = [(v, w) for v, w in zip(values, weights, strict=True) if not math.isnan(v)]
    return resampling.weighted_median([v for v, _ in kept], [w for _, w in kept])


def _spearman(x: Sequence[float], y: Sequence[float], weights: Sequence[int]) -> float:
    rows = zip(x, y, weights, strict=True)
    kept = [(a, b, w) for a, b, w in rows if not math.isnan(a + b)]
    columns = [[row[i] for row in kept] for i in range(3)]
    return resampling.weighted_spearman(columns[0], columns[1], [int(w) for w in columns[2]])


def _with_interval(
    statistic: Callable[[Sequence[int]], float], draws: Sequence[Sequence[int]], n: int
) -> Value:
    value = statistic([1] * n)
    drawn = [statistic(weights) for weights in draws]
    defined = [v for v in drawn if not math.isnan(v)]
    if math.isnan(value):
        return NAN, NAN, NAN
    return value, resampling.percentile(defined, 2.5), resampling.percentile(defined, 97.5)


def _block_draws(cells: Sequence[Cell], draws: int, name: str) -> list[list[int]]:
    checkpoints = sorted({c.checkpoint for c in cells})
    return [
        [row[checkpoints.index(c.checkpoint)] for c in cells]
        for row in draw_weights(len(checkpoints), draws, SEED, name).tolist()
    ]


def _table5_rows() -> dict[str, tuple[str, str]]:
    """Row -> (what is summarised, which cells)."""
    gap = "auc_gap"
    return {
        "Top-two gap, all cells": (gap, "all"),
        "Top-two gap, least accurate third": (gap, "0"),
        "Top-two gap, middle accurate third": (gap, "1"),
        "Top-two gap, most accurate third": (gap, "2"),
        "Entropy, all cells": ("auc_entropy", "all"),
        "Top-two gap, flipping against stable-correct": ("auc_stable_correct", "all"),
        "Top-two gap, flipping against stable-wrong": ("auc_stable_wrong", "all"),
        "Cosine of g and prior, all cells": ("cosine", "all"),
        "Cosine of g and prior, K=4": ("cosine", "K=4"),
        "Cosine of g and letter-permuted prior, all cells": ("permuted_cosine", "all"),
        "Cosine of g and letter-permuted prior, K=4": ("permuted_cosine", "K=4"),
    }


def table5(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of Table 5."""
    cells = cells_of(run)
    weights = _block_draws(cells, draws, "table5/checkpoints/draws")
    order = sorted(range(len(cells)), key=lambda i: cells[i].accuracy)
    # Thirds of sizes that differ by one at most, the larger ones first.
    n = len(cells)
    sizes = [n // 3 + (1 if part < n % 3 else 0) for part in range(3)]
    groups: dict[str, set[int]] = {"all": set(order)}
    groups["K=4"] = {i for i in order if cells[i].K == 4}
    for part in range(3):
        groups[str(part)] = set(order[sum(sizes[:part]) : sum(sizes[: part + 1])])
    found: dict[Key, Value] = {}
    for row, (what, group) in _table5_rows().items():
        values = [
            (c.auc[what] if what.startswith("auc") else getattr(c, what))
            if i in groups[group]
            else NAN
            for i, c in enumerate(cells)
        ]

        def statistic(w: Sequence[int], values: Sequence[float] = values) -> float:
            return _median(values, w)

        auc = what.startswith("auc")
        column = "canonical-order AUC, flipping against stable" if auc else "estimate"
        found[row, column] = _with_interval(statistic, weights, n)

    def partial(w: Sequence[int]) -> float:
        sds = [c.prior_sd["pride"] for c in cells]
        accuracies = [c.accuracy for c in cells]
        return margins.partial_spearman([c.skew for c in cells], sds, accuracies, w)

    found["Partial Spearman, skew and std(prior)", "estimate"] = _with_interval(partial, weights, n)
    return found


VARIANTS: Mapping[str, str] = {
    "All K answers": "auc_gap",
    "Canonical answer left out": "auc_left_out",
    "Left out; canonical answer correct": "auc_left_out_correct",
    "Left out; canonical answer wrong": "auc_left_out_wrong",
    "All K answers; items wrong under every ordering": "auc_always_wrong",
    "Left out; stratified by own and peer accuracy": "auc_left_out_stratified",
}


def table7(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of Table 7."""
    cells = [c for c in cells_of(run) if c.K >= 3]
    weights = _block_draws(cells, draws, "table7/checkpoints/draws")
    found: dict[Key, Value] = {}
    for row, name in VARIANTS.items():
        values = [c.auc[name] for c in cells]

        def statistic(w: Sequence[int], values: Sequence[float] = values) -> float:
            return _median(values, w)

        found[row, "median AUC"] = _with_interval(statistic, weights, len(cells))
    return found


def table10(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of Table 10."""
    found: dict[Key, Value] = {}
    everything = cells_of(run)
    groups = {"All": (everything, "table10/cells/draws")}
    for K in sorted({c.K for c in everything}):
        groups[f"K={K}"] = ([c for c in everything if c.K == K], f"table10/cells/K{K}/draws")
    for column, (cells, name) in groups.items():
        weights = draw_weights(len(cells), draws, SEED, name).tolist()
        x, y = [c.prior_sd["batch"] for c in cells], [c.skew for c in cells]
        z = [c.accuracy for c in cells]

        def plain(w: Sequence[int], x: Sequence[float] = x, y: Sequence[float] = y) -> float:
            return _spearman(x, y, w)

        def partial(
            w: Sequence[int],
            x: Sequence[float] = x,
            y: Sequence[float] = y,
            z: Sequence[float] = z,
        ) -> float:
            return margins.partial_spearman(x, y, z, w)

        n = len(cells)
        found["Prior and skew, Spearman", column] = _with_interval(plain, weights, n)
        found["Prior and skew, given accuracy", column] = _with_interval(partial, weights, n)
    return found


def text(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of the prose of Sections 5.1 and 5.2."""
    cells = cells_of(run)
    by_cell = draw_weights(len(cells), draws, SEED, "table9/cells/draws").tolist()

    def tracked(w: Sequence[int]) -> float:
        return _spearman([c.flip_rate for c in cells], [c.accuracy for c in cells], w)

    five = table5(run, draws)
    auc = "canonical-order AUC, flipping against stable"
    return {
        ("all cells", "spearman(flip rate, accuracy)"): _with_interval(
            tracked, by_cell, len(cells)
        ),
        ("all cells", "median AUC top-two gap, flipping vs stable"): five[
            "Top-two gap, all cells", auc
        ],
        ("K=4 cells", "median centred cosine(g, prior)"): five[
            "Cosine of g and prior, K=4", "estimate"
        ],
        ("K=4 cells", "median centred cosine(g, permuted prior)"): five[
            "Cosine of g and letter-permuted prior, K=4", "estimate"
        ],
    }


def figure7(run: Any) -> dict[tuple[int, str], float]:
    """(bin, state) -> share of the bin's items, each of weight 1/N of its cell; nan if empty."""
    states = ("stable_correct", "flipping", "stable_wrong")
    weight = {(b, s): 0.0 for b in range(margins.BINS) for s in states}
    for sweeps in first_token(run).values():
        for sweep in sweeps.values():
            cell = {i: x[0] for i, x in items_of(sweep).items()}
            for state in states:
                for b, share in enumerate(margins.shares(cell, state)):
                    weight[b, state] += share
    found = {}
    for (b, state), w in weight.items():
        total = math.fsum(weight[b, s] for s in states)
        found[b, state] = w / total if total else NAN
    return found


TABLES = {"5": table5, "7": table7, "10": table10, "text-5": text}
