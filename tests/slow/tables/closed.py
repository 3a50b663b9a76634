"""Table 13 and the numbers of C.2 and C.5 from the sweeps of a run, in plain Python."""

from typing import Any

from optionbias.resampling import draw_weights

from .. import changes as slow
from ..factors import statistics
from ..orderings import cyclic
from ..resampling import percentile

SEED = 20261016
DRAWS = 40
NAN = float("nan")
Key = tuple[str, str]
Value = float | tuple[float, float, float]


def table13(run: Any) -> dict[Key, Value]:
    """Every number of Table 13, with DRAWS draws; one benchmark, so rows are checkpoints."""
    closed = [s for s in run.sweeps if s.metadata["readout"] == "closed"]
    closed.sort(key=lambda s: s.metadata["checkpoint"])
    tests = [slow.uniformity_p(list(slow.items_of(s).values()), s.k) for s in closed]
    table: dict[Key, Value] = {}
    excludes = 0
    for sweep, p in zip(closed, slow.holm_adjusted(tests), strict=True):
        row, k = str(sweep.metadata["checkpoint"]), int(sweep.k)
        items = slow.items_of(sweep)
        gold = dict(zip(sweep.items.tolist(), sweep.gold.tolist(), strict=True))
        contents = [contents for contents, _ in items.values()]
        s = statistics(contents, [cyclic(k)] * len(items), [gold[name] for name in items], k)
        for column, name in (
            ("accuracy", "accuracy"), ("flip rate", "flip_rate"), ("skew", "skew"),
            ("pooled SD", "pooled_sd"),
        ):  # fmt: skip
            table[row, column] = s[name]
        asked = list(slow.disagreements(sweep).values())

        def shares(taken: list[tuple[int, int]], k: int = k) -> tuple[float, float]:
            repeat = sum(again for again, _ in taken) / len(taken)
            return repeat, sum(others for _, others in taken) / (len(taken) * (k - 1))

        repeat, reorder = shares(asked)
        name = f"table13/items/{sweep.metadata['benchmark']}/draws"
        drawn = []
        for weights in draw_weights(len(asked), DRAWS, SEED, name).tolist():
            one, other = shares([asked[i] for i, w in enumerate(weights) for _ in range(w)])
            drawn.append(other - one)
        low, high = percentile(drawn, 2.5), percentile(drawn, 97.5)
        excludes += low > 0 or high < 0
        table[row, "repeat disagreement"], table[row, "reorder disagreement"] = repeat, reorder
        table[row, "reorder minus repeat"] = (reorder - repeat, low, high)
        table[row, "uniformity P after Holm"] = p
    column = "models whose reorder minus repeat interval excludes zero"
    table["closed models", column] = excludes if closed else NAN
    return table


def text_c2(run: Any) -> dict[Key, float]:
    """The shares of cells and the models that the uniformity test rejects, Holm for each readout."""
    rejected: dict[str, list[bool]] = {}
    for readout in ("first-token", "closed"):
        sweeps = [s for s in run.sweeps if s.metadata["readout"] == readout]
        cells = [(list(slow.items_of(s).values()), s.k) for s in sweeps]
        tests = [slow.uniformity_p(items, k) for items, k in cells if len(items) > 1]
        rejected[readout] = slow.holm_rejects(tests)
    share, models = rejected["first-token"], rejected["closed"]
    return {
        ("first-token cells", "uniform position choice rejected after Holm"): (
            100 * sum(share) / len(share) if share else NAN
        ),
        ("closed models", "models with a detected positional skew"): (
            sum(models) if models else NAN
        ),
    }


TABLES = {"13": table13}
TEXTS = {"text-C.2": text_c2}
