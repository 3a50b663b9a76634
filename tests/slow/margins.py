"""Canonical margins and priors, item by item and pair by pair (spec tables 5, 7 and 10, figure 7).

A cell is plain lists: item ids, gold contents, the chosen content under each cyclic ordering (the
canonical one first) and the stored canonical row of log-probabilities.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from .operations import log_softmax
from .resampling import weighted_median

NAN = float("nan")
BINS = 20


@dataclass(frozen=True)
class Item:
    """One usable item of a cell."""

    gold: int
    contents: list[int]
    canonical: list[float]

    @property
    def probabilities(self) -> list[float]:
        """Letter probabilities under the canonical ordering, largest first (section 3)."""
        return [math.exp(v) for v in log_softmax(sorted(self.canonical, reverse=True))]

    @property
    def gap(self) -> float:
        """Difference of the two largest canonical probabilities."""
        return self.probabilities[0] - self.probabilities[1]

    @property
    def entropy(self) -> float:
        """Entropy in bits of the canonical probabilities."""
        return math.fsum(-p * math.log2(p) for p in self.probabilities if p > 0)

    @property
    def flips(self) -> bool:
        """Whether the answers disagree."""
        return len(set(self.contents)) > 1

    @property
    def others_flip(self) -> bool:
        """Whether the answers other than the canonical one disagree."""
        return len(set(self.contents[1:])) > 1

    @property
    def right(self) -> int:
        """How many answers are correct."""
        return sum(1 for content in self.contents if content == self.gold)

    @property
    def canonical_right(self) -> bool:
        """Whether the canonical answer is correct."""
        return self.contents[0] == self.gold

    @property
    def state(self) -> str:
        """Stable-correct, flipping or stable-wrong."""
        if self.flips:
            return "flipping"
        return "stable_correct" if self.canonical_right else "stable_wrong"


Cell = Mapping[str, Item]


def pairs(marked: Sequence[float], others: Sequence[float]) -> tuple[Fraction, int]:
    """Pairs in which the marked score is larger, ties half, and all pairs."""
    won = Fraction(0)
    for a in marked:
        for b in others:
            if a > b:
                won += 1
            elif a == b:
                won += Fraction(1, 2)
    return won, len(marked) * len(others)


def auc(marked: Sequence[float], others: Sequence[float]) -> float:
    """Share of pairs in which the marked score is larger; nan if there is no pair."""
    won, count = pairs(marked, others)
    return float(won / count) if count else NAN


def aucs(cell: Cell) -> dict[str, float]:
    """Every AUC that a cell gives by itself (tables 5 and 7)."""
    items = list(cell.values())

    def gap(marked: str, chosen: Sequence[Item]) -> float:
        """A smaller gap speaks for being marked."""
        yes = [-i.gap for i in chosen if getattr(i, marked)]
        no = [-i.gap for i in chosen if not getattr(i, marked)]
        return auc(yes, no)

    flipping = [i.entropy for i in items if i.flips]
    return {
        "auc_gap": gap("flips", items),
        "auc_entropy": auc(flipping, [i.entropy for i in items if not i.flips]),
        "auc_stable_correct": gap("flips", [i for i in items if i.state != "stable_wrong"]),
        "auc_stable_wrong": gap("flips", [i for i in items if i.state != "stable_correct"]),
        "auc_left_out": gap("others_flip", items),
        "auc_left_out_correct": gap("others_flip", [i for i in items if i.canonical_right]),
        "auc_left_out_wrong": gap("others_flip", [i for i in items if not i.canonical_right]),
        "auc_always_wrong": gap("flips", [i for i in items if i.right == 0]),
    }


def stratified(name: str, cells: Mapping[str, Cell]) -> float:
    """The peer-stratified AUC of one checkpoint's cell among all cells of a benchmark (table 7).

    Peer accuracy is the mean over the other checkpoints of their cyclic accuracy on the item.
    """
    strata: dict[tuple[bool, int], list[Item]] = {}
    for item_id, item in cells[name].items():
        accuracies = [
            Fraction(cell[item_id].right, len(item.contents))
            for other, cell in cells.items()
            if other != name and item_id in cell
        ]
        if len(accuracies) < 3:
            continue
        mean = sum(accuracies, Fraction(0)) / len(accuracies)
        strata.setdefault((item.canonical_right, min(4, math.floor(5 * mean))), []).append(item)
    won, count = Fraction(0), 0
    for items in strata.values():
        yes = [-i.gap for i in items if i.others_flip]
        more, these = pairs(yes, [-i.gap for i in items if not i.others_flip])
        won, count = won + more, count + these
    return float(won / count) if count else NAN


def shares(cell: Cell, state: str) -> list[float]:
    """Share of the cell's items in a state and in each bin of the gap (figure 7)."""
    counts = [0] * BINS
    for item in cell.values():
        if item.state == state:
            counts[min(BINS - 1, int(item.gap * BINS))] += 1
    return [count / len(cell) for count in counts]


def cosine(g: Sequence[float], prior: Sequence[float]) -> float:
    """Cosine of two distributions, each minus uniform; nan where one is uniform."""
    K = len(g)
    a, b = [x - 1 / K for x in g], [x - 1 / K for x in prior]
    lengths = [math.sqrt(math.fsum(x * x for x in v)) for v in (a, b)]
    if min(lengths) <= 1e-12:
        return NAN
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / (lengths[0] * lengths[1])


def permuted_cosine(
    g: Sequence[float], prior: Sequence[float], permutations: Sequence[Sequence[int]] | None
) -> float:
    """Median cosine over permuted priors: those given, or all but the identity."""
    K = len(prior)
    if permutations is None:
        permutations = list(itertools.permutations(range(K)))[1:]
    values = [cosine(g, [prior[letter] for letter in p]) for p in permutations]
    return weighted_median(values, [1] * len(values))


def _ranks(sample: Sequence[float]) -> list[float]:
    return [
        sum(1 for other in sample if other < value)
        + (sum(1 for other in sample if other == value) + 1) / 2
        for value in sample
    ]


def _residuals(y: Sequence[float], x: Sequence[float]) -> list[float]:
    """What a least-squares line through x leaves of y."""
    n = len(x)
    mx, my = math.fsum(x) / n, math.fsum(y) / n
    sxx = math.fsum((v - mx) ** 2 for v in x)
    sxy = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    return [b - my - sxy / sxx * (a - mx) for a, b in zip(x, y, strict=True)]


def partial_spearman(
    x: Sequence[float], y: Sequence[float], given: Sequence[float], weights: Sequence[int]
) -> float:
    """Correlation of the ranks' residuals on the rank of a third (C.3), of the replicated sample."""
    rows = zip(x, y, given, weights, strict=True)
    sample = [(a, b, c) for a, b, c, w in rows if not math.isnan(a + b + c) for _ in range(int(w))]
    if not sample:
        return NAN
    a, b, c = (_ranks([row[i] for row in sample]) for i in range(3))
    if any(min(ranks) == max(ranks) for ranks in (a, b, c)):
        return NAN
    left, right = _residuals(a, c), _residuals(b, c)
    ss = [math.fsum(v * v for v in r) for r in (left, right)]
    if min(ss) <= 1e-9:
        return NAN
    return math.fsum(u * v for u, v in zip(left, right, strict=True)) / math.sqrt(ss[0] * ss[1])
