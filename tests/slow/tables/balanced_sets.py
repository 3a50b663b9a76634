"""Table 18 and the numbers of E.2, from the sweeps of a run."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from .. import designs as slow
from ..operations import calibration_ids, log_softmax, pride_prior
from ..orderings import Ordering, all_orderings, balanced_reversal_free_sets, cyclic
from .designs import NAN, SEED, Entries, K, _mean, _sweeps, _with_interval

OPERATIONS = {
    "PriDe": "pride",
    "Reversal product": "reversal",
    "PriDe then reversal": "pride+reversal",
}
ROWS = [
    ("PriDe", ""),
    ("Reversal product", ""),
    ("PriDe then reversal", ""),
    ("PriDe", ", cyclic prior"),
    ("PriDe then reversal", ", cyclic prior"),
]
# Flip rate, placement range (12 each), share of cyclic-stable items that flip (11 others).
Levels = tuple[list[float], list[float], list[float]]


@cache
def twelve() -> list[list[Ordering]]:
    """The balanced sets without a reversal pair, the cyclic one first."""
    sets = balanced_reversal_free_sets(K)
    return sorted(sets, key=lambda some: (sorted(some) != sorted(cyclic(K)), sets.index(some)))


def levels(chosen: list[list[list[int]]], gold: list[int]) -> Levels:
    """What the contents `chosen[set][item]` give."""
    found = [
        slow.balanced_set(z, gold, some) if gold else (NAN, NAN, [])
        for z, some in zip(chosen, twelve(), strict=True)
    ]
    steady = [q for q, flips in enumerate(found[0][2]) if not flips]
    elsewhere = [_mean([float(flips[q]) for q in steady]) for _, _, flips in found[1:]]
    return [x[0] for x in found], [x[1] for x in found], elsewhere


def _operate(sweep: Any, operation: str, cyclic_prior: bool) -> tuple[Levels, Levels, float]:
    """Levels under an operation, those of the stored answers to its items, share certified."""
    ids, gold, items, kept = slow.cell(sweep)
    stored = [tuple(pi) for pi in sweep.orderings.tolist()]
    logp = [
        {pi: log_softmax(sweep.logp[q][stored.index(pi)].tolist()) for pi in all_orderings(K)}
        for q in kept
    ]
    held_out = set(calibration_ids(SEED, str(sweep.metadata["benchmark"]), ids))
    evaluation = [i for i, item in enumerate(ids) if item not in held_out]
    priors = []
    for some in twelve():
        shown = cyclic(K) if cyclic_prior else some
        queries = [[logp[i][pi] for pi in shown] for i, item in enumerate(ids) if item in held_out]
        priors.append(pride_prior(queries) if "pride" in operation else None)
    certified = [
        i
        for i in evaluation
        if all(
            slow.is_certified(operation, logp[i], pi, prior)
            for some, prior in zip(twelve(), priors, strict=True)
            for pi in some
        )
    ]
    after = [
        [[slow.answer(operation, logp[i], pi, prior) for pi in some] for i in certified]
        for some, prior in zip(twelve(), priors, strict=True)
    ]
    before = [[[items[i][pi] for pi in some] for i in certified] for some in twelve()]
    right = [gold[i] for i in certified]
    return levels(after, right), levels(before, right), len(certified) / len(evaluation)


_SETS: dict[int, Any] = {}


def _sets(
    run: Any,
) -> tuple[list[str], list[Levels], list[dict[tuple[str, str], Any]], list[Levels]]:
    """Checkpoints and uncorrected levels of all cells; of unrounded ones operations and levels."""
    if id(run) in _SETS:
        return _SETS[id(run)][1]
    sweeps = [s for s in _sweeps(run) if slow.cell(s)[0]]
    plain = []
    for sweep in sweeps:
        _, gold, items, _ = slow.cell(sweep)
        plain.append(
            levels([[[item[pi] for pi in some] for item in items] for some in twelve()], gold)
        )
    operated = [
        {(op, prior): _operate(sweep, OPERATIONS[op], prior != "") for op, prior in ROWS}
        for sweep in sweeps
        if sweep.logp is not None
    ]
    unrounded = [x for x, sweep in zip(plain, sweeps, strict=True) if sweep.logp is not None]
    names = [str(s.metadata["checkpoint"]) for s in sweeps]
    _SETS[id(run)] = run, (names, plain, operated, unrounded)
    return names, plain, operated, unrounded


def _by_set(cells: Sequence[Sequence[float]]) -> list[float]:
    """Mean over cells on each set."""
    return [_mean(column) for column in zip(*cells, strict=True)]


def _shown(row: str, title: str, by_set: list[float]) -> Entries:
    """The cyclic set, and mean and range over the others."""
    others = [100 * x for x in by_set[1:]]
    return {
        (row, f"{title}, cyclic set"): 100 * by_set[0],
        (row, f"{title}, other sets"): (_mean(others), min(others), max(others)),
    }


def table18(run: Any) -> Entries:
    """Every number of Table 18."""
    names, plain, operated, unrounded = _sets(run)
    table: Entries = {}
    elsewhere = "cyclic-stable items flipping elsewhere"
    titles = ((0, "flip rate"), (1, "placement range"))
    for label, cells in (("All cells", plain), ("Unrounded cells", unrounded)):
        for part, title in titles:
            row = f"{label}, uncorrected, level"
            table |= _shown(row, title, _by_set([c[part] for c in cells]))
        shares = [_mean(c[2]) for c in cells]
        table[row, elsewhere] = 100 * _mean(_by_set([c[2] for c in cells]))
        if label == "All cells":

            def of_draw(taken: Sequence[int], shares: list[float] = shares) -> float:
                return 100 * _mean([shares[i] for i in taken])

            table[row, elsewhere] = _with_interval(of_draw, names, "table18/checkpoints/draws")
    for operation, suffix in ROWS:
        found = [cell[operation, suffix] for cell in operated]
        row = f"Unrounded cells, {operation}, change{suffix}"
        for part, title in titles:
            changes = [
                [a - b for a, b in zip(after[part], before[part], strict=True)]
                for after, before, _ in found
            ]
            table |= _shown(row, title, _by_set(changes))
        table[row, "items certified"] = 100 * _mean([kept for _, _, kept in found])
        row = f"Unrounded cells, {operation}, level{suffix}"
        table[row, elsewhere] = 100 * _mean(_by_set([after[2] for after, _, _ in found]))
    return table


def text_e2(run: Any) -> Entries:
    """Every number of E.2."""
    _, plain, operated, _ = _sets(run)
    table: Entries = {
        ("K=4", "balanced sets without an ordering and its reversal"): float(len(twelve())),
        ("all-K! cells, uncorrected", "cyclic-stable items flipping on a given other set"): 100
        * _mean(_by_set([c[2] for c in plain])),
    }
    for operation, suffix in ROWS:
        kept = [cell[operation, suffix][2] for cell in operated]
        table[f"unrounded cells, {operation}{suffix}", "items certified"] = 100 * _mean(kept)
    row, found = "unrounded cells, Reversal product", [c["Reversal product", ""] for c in operated]
    changes = [_mean(after[0]) - _mean(before[0]) for after, before, _ in found]
    table[row, "change in flip rate"] = 100 * _mean(changes)
    after, before = (_mean(_by_set([cell[part][2] for cell in found])) for part in (0, 1))
    column = "cyclic-stable items flipping elsewhere against uncorrected"
    table[row, column] = after / before
    return table


TABLES = {"18": table18, "text-E.2": text_e2}
