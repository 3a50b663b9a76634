"""Table 16 and the numbers of D.5 from the sweeps of a run, in plain Python."""

import math
from itertools import combinations
from typing import Any

from optionbias.resampling import draw_weights

from .. import changes as slow
from ..resampling import weighted_median, weighted_spearman

SEED = 20261016
DRAWS = 40
NAN = float("nan")
Key = tuple[str, str]


class Comparisons:
    """Every change of a run, by what is compared."""

    def __init__(self, run: Any) -> None:
        sweeps = [s for s in run.sweeps if s.metadata["readout"] == "first-token"]
        self.k = {str(s.metadata["benchmark"]): int(s.k) for s in sweeps}
        self.cells: dict[tuple[str, str], dict[str, slow.Item]] = {}
        self.pride: dict[tuple[str, str], dict[str, Any]] = {}
        for sweep in sweeps:
            key = (str(sweep.metadata["benchmark"]), str(sweep.metadata["checkpoint"]))
            items = slow.items_of(sweep)
            if len(items) < 2:
                continue
            self.cells[key] = items
            sides = slow.pride_sides(sweep, SEED)
            self.pride[key] = self.change(*sides, key[0], "evaluation-items")
        self.pairs: dict[tuple[str, str, str], dict[str, Any]] = {}
        for (b, one), (other_b, other) in combinations(sorted(self.cells), 2):
            if b == other_b:
                sides = self.cells[b, one], self.cells[b, other]
                self.pairs[b, one, other] = self.change(*sides, b, "items")
        self.cohort = run.cohort

    def change(self, before: Any, after: Any, benchmark: str, which: str) -> dict[str, Any]:
        """One change with its draws."""

        def weights_of(n: int) -> list[list[int]]:
            name = f"table16/{which}/{benchmark}/draws"
            return draw_weights(n, DRAWS, SEED, name).tolist()

        return slow.change(before, after, self.k[benchmark], weights_of)

    def post_training(self) -> list[dict[str, Any]]:
        """The changes between a base checkpoint and its release."""
        related = {
            tuple(sorted((c["base"], c["name"])))
            for c in self.cohort["checkpoints"]
            if c.get("base")
        }
        return [found for (_, *pair), found in self.pairs.items() if tuple(pair) in related]

    def trends(self) -> list[dict[str, float]]:
        """Rank correlations with the parameter count in every group of three sizes."""
        groups: dict[tuple[str, str, str], list[tuple[float, str]]] = {}
        for c in self.cohort["checkpoints"]:
            for benchmark, checkpoint in self.cells:
                if checkpoint == c["name"]:
                    key = (c.get("scale_group", c["family"]), c["training"], benchmark)
                    groups.setdefault(key, []).append((c["params_b"], checkpoint))
        found = []
        for (_, _, b), members in groups.items():
            if len({size for size, _ in members}) < 3:
                continue
            sizes = [size for size, _ in members]
            cells = [list(self.cells[b, name].values()) for _, name in members]
            columns = {
                "flip_rate": [slow.flip_rate(items) for items in cells],
                "pooled_sd": [slow.pooled_sd(items, self.k[b]) for items in cells],
                "per_item_kl": [slow.per_item_kl(items, self.k[b]) for items in cells],
            }
            ones = [1] * len(sizes)
            found.append(
                {
                    name: weighted_spearman([round(v, 12) for v in values], sizes, ones)
                    for name, values in columns.items()
                }
            )
        return found


_MADE: dict[str, Comparisons] = {}


def comparisons_of(run: Any) -> Comparisons:
    """The comparisons of a run, made once: they take seconds."""
    folder = str(run.folder)
    if folder not in _MADE:
        _MADE[folder] = Comparisons(run)
    return _MADE[folder]


def percentage(which: list[bool]) -> float:
    """Share of true entries, in per cent."""
    return 100 * sum(which) / len(which) if which else NAN


def resolved_opposite(changes: list[dict[str, Any]]) -> float:
    """Share of opposite ones among the changes that are both resolved."""
    kept = [c for c in changes if c["flip_rate_resolved"] and c["pooled_sd_resolved"]]
    return percentage([slow.is_opposite(c, "pooled_sd") for c in kept])


def table16(run: Any) -> dict[Key, float]:
    """Every number of Table 16, with DRAWS draws."""
    comparisons = comparisons_of(run)
    table: dict[Key, float] = {}
    for row, changes in {
        "Post-training pairs": comparisons.post_training(),
        "Checkpoint pairs": list(comparisons.pairs.values()),
        "PriDe cells": list(comparisons.pride.values()),
    }.items():
        for column, statistic in (("pooled SD", "pooled_sd"), ("per-item KL", "per_item_kl")):
            opposite = [slow.is_opposite(c, statistic) for c in changes]
            table[row, f"{column} opposite"] = percentage(opposite)
        table[row, "opposite if resolved"] = resolved_opposite(changes)
    trends = comparisons.trends()
    for column, statistic in (("pooled SD", "pooled_sd"), ("per-item KL", "per_item_kl")):
        opposite = [t["flip_rate"] * t[statistic] < 0 for t in trends]
        table["Scale trends", f"{column} opposite"] = percentage(opposite)
    return table


def text_d5(run: Any) -> dict[Key, float]:
    """Every number of D.5, with DRAWS draws."""
    comparisons = comparisons_of(run)
    skew_shares, flip_shares, stays = [], [], []
    for c in comparisons.pride.values():
        whole = slow.difference(c, "pooled_sd")
        if whole < 0:
            stays.append(slow.difference(c, "flip_rate") >= 0)
        if whole == 0 or min(*c["pooled_sd"], *c["flip_rate"]) <= 0:
            continue
        skews = [sd / flips for sd, flips in zip(c["pooled_sd"], c["flip_rate"], strict=True)]
        logs = [math.log(b) - math.log(a) for a, b in (skews, c["flip_rate"], c["pooled_sd"])]
        if whole < 0:
            skew_shares.append(logs[0] / logs[2])
        else:
            flip_shares.append(logs[1] / logs[2])
    lowers, raises = (f"cells where PriDe {verb} pooled SD" for verb in ("lowers", "raises"))
    return {
        (lowers, "median skew share of log reduction"): _median(skew_shares),
        (lowers, "share of cells whose flip rate does not fall"): percentage(stays),
        (raises, "median flip-rate share of log increase"): _median(flip_shares),
        ("Post-training pairs", "opposite if resolved"): resolved_opposite(
            comparisons.post_training()
        ),
    }


def _median(values: list[float]) -> float:
    return weighted_median(values, [1] * len(values))


TABLES = {"16": table16}
TEXTS = {"text-D.5": text_d5}
