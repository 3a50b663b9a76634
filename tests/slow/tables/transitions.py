"""Tables 14 and 15, Figure 6 and the numbers of B.2, B.4 and D.4, from the sweeps of a run."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from optionbias.resampling import draw_weights

from .. import factors, injections, operations, orderings, resampling, transitions

NAN = float("nan")
SEED = 20261016
Key = tuple[str, str]
Value = tuple[float, float, float]

ROWS = {
    "none": "Baseline",
    "pride": "PriDe",
    "batch": "Batch",
    "pride+batch": "PriDe then batch",
    "reversal": "Reversal product",
    "pride+reversal": "PriDe then reversal",
    "batch+reversal": "Batch then reversal",
}
COLUMNS = {
    "stop": "stop flipping",
    "start": "start flipping",
    "settle_wrong": "resolved flips settling wrong",
    "favoured_share": "former flips on favoured letter",
}
SHARES = {
    "unique_most_frequent": "Unique most frequent option",
    "tied_most_frequent": "Tied most frequent option",
    "unique_most_frequent_cyclic": "Unique most frequent option, cyclic queries",
    "tied_most_frequent_cyclic": "Tied most frequent option, cyclic queries",
    "in_every_top_two": "In the top two in every query",
    "wrong_under_every_cyclic": "Already wrong under every cyclic ordering",
}
GAPS = {
    "gap_settled_wrong": "Items settled wrong",
    "gap_settled_correct": "Items settled correctly",
    "gap_stable_wrong": "Items stable-wrong from the start",
}

_CELLS: dict[int, list[tuple[str, str, transitions.Queries, transitions.Cell]]] = {}


def cells_of(run: Any) -> list[tuple[str, str, transitions.Queries, transitions.Cell]]:
    """(checkpoint, benchmark, queries, answers) of the first-token cells with reversed queries."""
    if id(run) not in _CELLS:
        found = []
        for sweep in run.sweeps:
            m = sweep.metadata
            if m["readout"] == "first-token":
                queries = transitions.queries_of(sweep)
                if queries is not None:
                    cell = transitions.cell_of(queries)
                    found.append((str(m["checkpoint"]), str(m["benchmark"]), queries, cell))
        _CELLS[id(run)] = sorted(found, key=lambda c: c[:2])
    return _CELLS[id(run)]


def _copies(checkpoints: Sequence[str], draws: int, name: str) -> list[list[int]]:
    """Of each draw the indices of the cells it holds, a cell once for each copy of its checkpoint."""
    distinct = sorted(set(checkpoints))
    return [
        [i for i, c in enumerate(checkpoints) for _ in range(row[distinct.index(c)])]
        for row in draw_weights(len(distinct), draws, SEED, name).tolist()
    ]


def _value(
    statistic: Callable[[Sequence[int]], float], n: int, copies: Sequence[Sequence[int]]
) -> Value:
    """A statistic of a list of cells: of all once, and its percentiles over draws."""
    drawn = [v for v in map(statistic, copies) if not math.isnan(v)]
    return (
        statistic(range(n)),
        resampling.percentile(drawn, 2.5),
        resampling.percentile(drawn, 97.5),
    )


def _mean_of(values: Sequence[float], scale: float) -> Callable[[Sequence[int]], float]:
    """The mean over some cells of the values that are defined."""

    def statistic(cells: Sequence[int]) -> float:
        return scale * transitions.mean([values[i] for i in cells if not math.isnan(values[i])])

    return statistic


def table14(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of Table 14."""
    cells = cells_of(run)
    copies = _copies([c[0] for c in cells], draws, "table14/checkpoints/draws")
    found: dict[Key, Value] = {}
    for operation, row in ROWS.items():
        moves = [transitions.moves(cell, operation) for *_, cell in cells]
        for name, column in COLUMNS.items():
            if operation == "none" and name != "favoured_share":
                moved = NAN if name == "settle_wrong" or not cells else 0.0
                found[row, column] = (moved, NAN, NAN)
                continue
            statistic = _mean_of([m[name] for m in moves], 100)
            found[row, column] = _value(statistic, len(cells), copies)
    return found


def table15(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of Table 15."""
    cells = cells_of(run)
    copies = _copies([c[0] for c in cells], draws, "table14/checkpoints/draws")
    settled = [transitions.settled(cell) for *_, cell in cells]
    found: dict[Key, Value] = {}
    for names, column, scale in ((SHARES, "share", 100), (GAPS, "mean canonical gap", 1)):
        for name, row in names.items():
            statistic = _mean_of([s[name] for s in settled], scale)
            found[row, column] = _value(statistic, len(cells), copies)
    return found


def text_d4(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of the prose of D.4."""
    cells, fifteen = cells_of(run), table15(run, draws)
    copies = _copies([c[0] for c in cells], draws, "table14/checkpoints/draws")
    n = len(cells)
    new = "newly stable-wrong items"
    names = {
        "settled option is the unique most frequent": "unique_most_frequent",
        "settled option in the top two in every query": "in_every_top_two",
        "already wrong under every cyclic ordering": "wrong_under_every_cyclic",
    }
    found = {(new, column): fifteen[SHARES[name], "share"] for column, name in names.items()}
    net = {
        operation: [
            m["start"] - m["stop"]
            for m in (transitions.moves(cell, operation) for *_, cell in cells)
        ]
        for operation in ("pride", "batch", "pride+batch", "reversal")
    }
    column = "net change of flip rate"
    for operation, values in net.items():
        row = "reversal product" if operation == "reversal" else ROWS[operation]
        found[f"K>=3, {row}", column] = _value(_mean_of(values, 100), n, copies)

    def magnitude(chosen: Sequence[int]) -> float:
        corrections = [_mean_of(net[op], 100)(chosen) for op in ("pride", "batch", "pride+batch")]
        return math.fsum(abs(v) for v in corrections) / 3

    found["K>=3, corrections", f"{column}, magnitude"] = _value(magnitude, n, copies)
    moves = [transitions.moves(cell, "reversal") for *_, cell in cells]

    def weighted(chosen: Sequence[int]) -> float:
        kept = [moves[i] for i in chosen if moves[i]["n_stopped"] > 0]
        total = math.fsum(m["stop"] for m in kept)
        return 100 * math.fsum(m["stop"] * m["settle_wrong"] for m in kept) / total if kept else NAN

    row = "K>=3, reversal product"
    wrong = COLUMNS["settle_wrong"]
    found[row, wrong] = table14(run, draws)["Reversal product", wrong]
    by_share = f"{wrong}, cells weighted by their share of resolved items"
    found[row, by_share] = _value(weighted, n, copies)
    return found


_STATISTICS: dict[tuple[int, str | None], dict[str, Any] | None] = {}


def _statistics(sweep: Any, operation: str | None) -> dict[str, Any] | None:
    """As `_computed`, each once."""
    key = (id(sweep), operation)
    if key not in _STATISTICS:
        _STATISTICS[key] = _computed(sweep, operation)
    return _STATISTICS[key]


def _computed(sweep: Any, operation: str | None) -> dict[str, Any] | None:
    """Statistics of the evaluation items under an operation, or of all usable items uncorrected."""
    pis = orderings.cyclic(sweep.k)
    stored = [tuple(pi) for pi in sweep.orderings.tolist()]
    columns = [stored.index(pi) for pi in pis]
    choice, logp = sweep.choice.tolist(), sweep.logp.tolist()
    kept = [q for q in range(len(choice)) if min(choice[q][s] for s in columns) >= 0]
    if len(kept) < 2:
        return None
    positions = [[choice[q][s] for s in columns] for q in kept]
    ids = [str(sweep.items[q]) for q in kept]
    counted = list(range(len(kept)))
    if operation is not None:
        held_out = operations.calibration_ids(SEED, str(sweep.metadata["benchmark"]), ids)
        calibration = [i for i in counted if ids[i] in held_out]
        counted = [i for i in counted if i not in calibration]
        backward = None
        if "reversal" in operation:
            if any(orderings.reversal(pi) not in stored for pi in pis):
                return None
            mirrored = [stored.index(orderings.reversal(pi)) for pi in pis]
            whole = [min(choice[q][s] for s in mirrored) >= 0 for q in kept]
            counted = [i for i in counted if whole[i]]
            backward = [
                [logp[q][s] for s in (mirrored if full else columns)]
                for q, full in zip(kept, whole, strict=True)
            ]
        forward = [[logp[q][s] for s in columns] for q in kept]
        positions, _ = operations.apply(operation, forward, backward, positions, pis, calibration)
    contents = [
        [pi.index(letter) for letter, pi in zip(positions[i], pis, strict=True)] for i in counted
    ]
    gold = [int(sweep.gold[kept[i]]) for i in counted]
    return factors.statistics(contents, [pis] * len(counted), gold, sweep.k) if counted else None


def _first_token(run: Any) -> list[Any]:
    return [s for s in run.sweeps if s.metadata["readout"] == "first-token"]


def _spearman(x: Sequence[float], y: Sequence[float]) -> float:
    # Values that differ in the last digits alone are equal ones that were summed differently.
    kept = [
        (round(a, 12), round(b, 12)) for a, b in zip(x, y, strict=True) if not math.isnan(a + b)
    ]
    return resampling.weighted_spearman([a for a, _ in kept], [b for _, b in kept], [1] * len(kept))


def text_b2(run: Any) -> dict[Key, float]:
    """The number of the prose of B.2."""
    found = [s for s in (_statistics(sweep, None) for sweep in _first_token(run)) if s]
    r = _spearman([s["std_h"] for s in found], [s["skew"] for s in found])
    return {("all cells", "spearman(std h, std g)"): r}


def text_b4(run: Any) -> dict[Key, float]:
    """Every number of the prose of B.4."""
    four = [_statistics(s, "none") for s in _first_token(run) if s.k == 4]
    pairs = [(s["g"], s["h"]) for s in four if s and s["flip_rate"] > 0]
    cosines, difference, own = [], [], []
    for g, h in pairs:
        mean = math.fsum(h) / 4
        a, b = [x - 1 / 4 for x in g], [x - mean for x in h]
        lengths = math.fsum(x * x for x in a) * math.fsum(x * x for x in b)
        if lengths > 0:
            cosines.append(math.fsum(x * y for x, y in zip(a, b, strict=True)) / lengths**0.5)
        own.append(math.sqrt(math.fsum(x * x for x in b) / 4))
        # g and h differ by their means too, which an SD does not see.
        difference.append(math.sqrt(math.fsum((y - x) ** 2 for x, y in zip(a, b, strict=True)) / 4))
    column = "cells where skew falls while placement range rises"
    found = {
        ("K=4 cells, evaluation items", "mean cosine(centred g, centred h)"): cosines,
        ("K=4 cells", "sd across letters of h-g"): difference,
        ("K=4 cells", "sd across letters of h"): own,
    }
    numbers = {key: transitions.mean(values) for key, values in found.items()}
    for row, before, after in (
        ("K>=3, reversal vs PriDe then reversal", "reversal", "pride+reversal"),
        ("K>=3, PriDe vs none", "none", "pride"),
    ):
        changes = []
        for sweep in _first_token(run):
            if sweep.k >= 3:
                old, new = _statistics(sweep, before), _statistics(sweep, after)
                if old and new:
                    names = ("skew", "range_h", "placement_range")
                    changes.append({name: new[name] - old[name] for name in names})
        falls = [c["skew"] < -1e-12 and c["placement_range"] > 1e-12 for c in changes]
        numbers[row, column] = 100 * transitions.share(sum(falls), len(falls))
        if before == "reversal":
            r = _spearman([c["skew"] for c in changes], [c["range_h"] for c in changes])
            numbers[row, "spearman(change in skew, change in range h)"] = r
    return numbers


def figure6(run: Any, draws: int = 40) -> dict[tuple[str, str, float], Value]:
    """(shape, operation, alpha) -> mean change in placement range in pp, with its band."""
    cells = [c for c in cells_of(run) if len(c[2].pis) == 4]
    mmlu = [c for c in cells if c[1].lower().startswith("mmlu")]
    cells = mmlu or cells
    copies = _copies([c[0] for c in cells], draws, "figure6/checkpoints/draws")
    ranges = [injections.cell(queries) for _, _, queries, _ in cells]
    found = {}
    for shape in injections.SHAPES:
        for operation in injections.OPERATIONS:
            for i, alpha in enumerate(injections.ALPHAS):
                zero = injections.ALPHAS.index(0.0)
                mine = [r[shape, operation] for r in ranges]
                statistic = _mean_of([values[i] - values[zero] for values in mine], 100)
                found[shape, operation, alpha] = _value(statistic, len(cells), copies)
    return found


TABLES = {
    "14": table14,
    "15": table15,
    "text-B.2": text_b2,
    "text-B.4": text_b4,
    "text-D.4": text_d4,
}
