"""Table 6, Figure 4 and the numbers of Sections 6, D.1 and D.2, from the sweeps of a run."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from optionbias.resampling import draw_weights
from optionbias.seeds import generator

from .. import operations, resampling, strengths

NAN = float("nan")
SEED = 20261016
Key = tuple[str, str]
Value = tuple[float, float, float]
NAMES = {
    "none": "Baseline",
    "pride": "PriDe",
    "batch": "Batch calibration",
    "reversal": "Reversal product",
    "pride+reversal": "PriDe then reversal",
    "batch+reversal": "Batch then reversal",
    "pride+batch": "PriDe then batch",
    "vote": "Majority vote",
}
FACTORS = {"flip_rate": "dlog flip rate", "skew": "dlog skew"}
SIX = ("none", "pride", "batch", "reversal", "pride+reversal", "batch+reversal")

_CELLS: dict[int, list[strengths.Cell]] = {}
Changes = dict[tuple[str, str], list[float]]
_CHANGES: dict[tuple[int, float], Changes] = {}


def cells_of(run: Any) -> list[strengths.Cell]:
    """The first-token cells of a run, by checkpoint and benchmark."""
    if id(run) not in _CELLS:
        found = [
            strengths.cell(sweep, SEED)
            for sweep in run.sweeps
            if sweep.metadata["readout"] == "first-token"
        ]
        cells = [c for c in found if c is not None]
        _CELLS[id(run)] = sorted(cells, key=lambda c: (c.checkpoint, c.benchmark))
    return _CELLS[id(run)]


def permuted(prior: Sequence[float]) -> list[list[float]]:
    """The prior under every non-identity permutation, or under 24 drawn by the name of K."""
    K = len(prior)
    if K <= 4:
        return operations.permuted_priors(prior)
    rng = generator(SEED, f"permuted-prior/K{K}")
    chosen: list[list[int]] = []
    while len(chosen) < 24:
        permutation = [int(i) for i in rng.permutation(K)]
        if permutation != list(range(K)) and permutation not in chosen:
            chosen.append(permutation)
    return [[prior[letter] for letter in permutation] for permutation in chosen]


def log_change(values: Sequence[float], before: float) -> list[float] | None:
    """Log-changes from `before`; None unless it and every value are positive."""
    if not (before > 0 and all(value > 0 for value in values)):
        return None
    return [math.log(value) - math.log(before) for value in values]


def changes_of(run: Any, alpha: float) -> Changes:
    """(statistic, prior) -> each cell's change from no correction, nan if it is no common cell."""
    if (id(run), alpha) in _CHANGES:
        return _CHANGES[id(run), alpha]
    found: Changes = {}
    for cell in cells_of(run):
        prior = operations.pride_prior(cell.held_out)
        before = strengths.at(cell, prior, 0)
        own = strengths.at(cell, prior, alpha)
        others = [strengths.at(cell, p, alpha) for p in permuted(prior)]
        for statistic in ("flip_rate", "skew", "accuracy"):
            values = [c[statistic] for c in (own, *others)]
            if statistic == "accuracy":
                changes: list[float] | None = [v - before[statistic] for v in values]
            else:
                changes = log_change(values, before[statistic])
            estimated = control = NAN
            if changes is not None:
                estimated, control = changes[0], math.fsum(changes[1:]) / len(others)
            found.setdefault((statistic, "estimated"), []).append(estimated)
            found.setdefault((statistic, "permuted"), []).append(control)
            found.setdefault((statistic, "difference"), []).append(estimated - control)
    _CHANGES[id(run), alpha] = found
    return found


def copies_of(checkpoints: Sequence[str], draws: int, name: str) -> list[list[str]]:
    """Each draw as a list of checkpoints, as often as it takes them."""
    names = sorted(set(checkpoints))
    return [
        [c for c, weight in zip(names, row, strict=True) for _ in range(weight)]
        for row in draw_weights(len(names), draws, SEED, name).tolist()
    ]


def with_interval(
    statistic: Callable[[list[str]], float], checkpoints: Sequence[str], draws: int, name: str
) -> Value:
    """A statistic of a list of checkpoints, and its 95% interval over replicated lists."""
    value = statistic(sorted(set(checkpoints)))
    if math.isnan(value):
        return NAN, NAN, NAN
    drawn = [statistic(copies) for copies in copies_of(checkpoints, draws, name)]
    defined = [v for v in drawn if not math.isnan(v)]
    return value, resampling.percentile(defined, 2.5), resampling.percentile(defined, 97.5)


def mean_with_interval(
    checkpoints: Sequence[str], values: Sequence[float], draws: int, name: str
) -> Value:
    """Mean over the cells that count, with its checkpoint-block interval."""

    def mean(copies: list[str]) -> float:
        sample = [
            value
            for copy in copies
            for checkpoint, value in zip(checkpoints, values, strict=True)
            if checkpoint == copy and not math.isnan(value)
        ]
        return math.fsum(sample) / len(sample) if sample else NAN

    return with_interval(mean, checkpoints, draws, name)


def scaled(value: Value, scale: float) -> Value:
    """A value and its interval in percent."""
    return (scale * value[0], scale * value[1], scale * value[2])


def by_strength(run: Any, statistic: str, alpha: float, prior: str, draws: int = 40) -> Value:
    """A mean change of Table 6 or Figure 4."""
    checkpoints = [c.checkpoint for c in cells_of(run)]
    values = changes_of(run, alpha)[statistic, prior]
    return mean_with_interval(checkpoints, values, draws, "table6/checkpoints/draws")


def table6(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of Table 6."""
    found = {}
    for statistic, label in {**FACTORS, "accuracy": "d accuracy"}.items():
        for prior in ("estimated", "permuted", "difference"):
            for alpha in (0.5, 1.0):
                value = by_strength(run, statistic, alpha, prior, draws)
                scale = 100.0 if statistic == "accuracy" else 1.0
                found[f"{label}, {prior}", f"alpha={alpha:g}"] = scaled(value, scale)
    return found


def text_d1(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of D.1: batch variants and rank reversals on each pair's own items."""
    cells = cells_of(run)
    found: dict[Key, Value] = {}
    texts = {
        "batch": "batch calibration",
        "mean log-probability": "batch calibration from mean log-probabilities",
        "all test items": "batch calibration from all test items",
    }
    after = [
        {v: strengths.at(c, prior, 1) for v, prior in strengths.variants(c).items()} for c in cells
    ]
    before = [strengths.at(c, [], 0) for c in cells]
    for factor, label in FACTORS.items():
        changes = [
            log_change([a[v][factor] for v in texts], b[factor]) or [NAN] * len(texts)
            for a, b in zip(after, before, strict=True)
        ]
        for i, text in enumerate(texts.values()):
            found["all first-token cells", f"{label}, {text}"] = mean_with_interval(
                [c.checkpoint for c in cells],
                [row[i] for row in changes],
                draws,
                "table6/checkpoints/draws",
            )
    pairs = {
        operation: [
            strengths.shared_pairs([c for c in cells if c.benchmark == benchmark], operation)
            for benchmark in sorted({c.benchmark for c in cells})
        ]
        for operation in NAMES
    }
    members = sorted(
        {c.checkpoint for c in cells if any(item in c.backward for item in c.evaluation)}
    )

    def level(copies: list[str], operation: str) -> float:
        reversing = total = 0
        for a, b in itertools.combinations(copies, 2):
            for benchmark in pairs[operation]:
                shared, reverses = benchmark.get((min(a, b), max(a, b)), (0, False))
                total += shared > 0
                reversing += reverses
        return reversing / total if total else NAN

    wanted: list[tuple[str, str | None]] = [(operation, None) for operation in NAMES]
    wanted += [("pride+reversal", "reversal"), ("batch+reversal", "reversal")]
    for operation, minus in wanted:

        def difference(
            copies: list[str], operation: str = operation, minus: str | None = minus
        ) -> float:
            return level(copies, operation) - (0.0 if minus is None else level(copies, minus))

        column = "rank reversals, " + NAMES[operation]
        column += "" if minus is None else f" minus {NAMES[minus]}"
        value = with_interval(difference, members, draws, "table2/checkpoints/draws")
        found["each pair on the items its two checkpoints share", column] = scaled(value, 100)
    return found


def _mirrored(run: Any) -> list[tuple[strengths.Cell, list[str]]]:
    """Cells of the reversal comparison with the evaluation items usable under every operation."""
    found = []
    for cell in cells_of(run):
        items = [item for item in cell.evaluation if item in cell.backward]
        if items:
            found.append((cell, items))
    return found


def text_d2(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of D.2, and the mean share of Section 6."""
    changes, shares, checkpoints, ks = [], [], [], []
    for cell, items in _mirrored(run):
        skews = {}
        for operation in SIX:
            chosen = strengths.operation_contents(cell, operation)
            z, gold = [chosen[i] for i in items], [cell.gold[i] for i in items]
            skews[operation] = strengths.counted(z, gold, cell.K)["skew"]
        logs = log_change(list(skews.values()), skews["none"])
        changes.append(NAN if logs is None else logs[SIX.index("reversal")])
        shares.append(strengths.symmetric_share(cell.held_out))
        checkpoints.append(cell.checkpoint)
        ks.append(cell.K)
    found: dict[Key, Value] = {}
    name = "table2/checkpoints/draws"
    for group, row in ((0, ""), (4, "K=4 ")):

        def correlation(copies: list[str], group: int = group) -> float:
            kept = [
                (shares[i], changes[i])
                for copy in copies
                for i in range(len(ks))
                if checkpoints[i] == copy
                and group in (0, ks[i])
                and not math.isnan(shares[i] + changes[i])
            ]
            ones = [1] * len(kept)
            return resampling.weighted_spearman([a for a, _ in kept], [b for _, b in kept], ones)

        column = "spearman(std(b_sym)/std(b), change in log skew under reversal)"
        found[f"{row}cells of the reversal comparison", column] = with_interval(
            correlation, checkpoints, draws, name
        )
    four = [share if k == 4 else NAN for share, k in zip(shares, ks, strict=True)]
    found["K=4 cells", "mean std(b_sym)/std(b)"] = mean_with_interval(
        checkpoints, four, draws, name
    )
    return found


def text_6(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of Section 6 that rests on `cells`: each operation on its own usable items."""
    cells = cells_of(run)

    def statistics(cell: strengths.Cell, operation: str) -> strengths.Counted:
        chosen = strengths.operation_contents(cell, operation)
        items = [item for item in cell.evaluation if item in chosen]
        return strengths.counted([chosen[i] for i in items], [cell.gold[i] for i in items], cell.K)

    found: dict[Key, Value] = {}
    mirrored = [cell for cell, _ in _mirrored(run)]
    for operation, text in (
        ("none", "baseline"),
        ("pride", "PriDe"),
        ("reversal", "reversal product"),
    ):
        found["K>=3 cells", f"balanced RStd, {text}"] = mean_with_interval(
            [c.checkpoint for c in mirrored],
            [statistics(c, operation)["balanced_rstd"] for c in mirrored],
            draws,
            "table2/checkpoints/draws",
        )
    texts = {"pride": "PriDe", "batch": "batch calibration", "pride+batch": "PriDe then batch"}
    after = [{op: statistics(c, op) for op in ("none", *texts)} for c in cells]
    checkpoints, name = [c.checkpoint for c in cells], "table6/checkpoints/draws"

    def logs(statistic: str) -> list[dict[str, float]]:
        rows = []
        for a in after:
            change = log_change([a[op][statistic] for op in texts], a["none"][statistic])
            rows.append(dict(zip(texts, change or [NAN] * len(texts), strict=True)))
        return rows

    for statistic, label in FACTORS.items():
        for operation, text in texts.items():
            values = [row[operation] for row in logs(statistic)]
            found["all first-token cells", f"{label}, {text}"] = mean_with_interval(
                checkpoints, values, draws, name
            )
    values = [row["pride+batch"] - row["batch"] for row in logs("pooled_sd")]
    column = "dlog pooled SD, PriDe then batch minus batch calibration"
    found["all first-token cells", column] = mean_with_interval(checkpoints, values, draws, name)
    return found


TABLES = {"6": table6, "text-6": text_6, "text-D.1": text_d1, "text-D.2": text_d2}
