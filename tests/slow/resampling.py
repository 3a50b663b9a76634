"""Weighted statistics by literal replication, and small helpers (spec sections 0 and 2; A.5)."""

import hashlib
import math
from collections.abc import Sequence

NAN = float("nan")


def _replicate(values: Sequence[float], weights: Sequence[int]) -> list[float]:
    """The sample with each value copied as often as its integer weight (section 2)."""
    copies = []
    for value, weight in zip(values, weights, strict=True):
        if weight < 0 or weight != int(weight):
            raise ValueError(f"not a replication weight: {weight}")
        for _ in range(int(weight)):
            copies.append(float(value))
    return copies


def weighted_mean(values: Sequence[float], weights: Sequence[int]) -> float:
    """Mean of the replicated sample; nan if it is empty (section 2)."""
    sample = _replicate(values, weights)
    if len(sample) == 0:
        return NAN
    return math.fsum(sample) / len(sample)


def weighted_median(values: Sequence[float], weights: Sequence[int]) -> float:
    """Median of the replicated sample, the mean of the middle two if even (section 2)."""
    sample = _replicate(values, weights)
    if len(sample) == 0 or any(math.isnan(value) for value in sample):
        return NAN
    sample.sort()
    middle = len(sample) // 2
    if len(sample) % 2 == 1:
        return sample[middle]
    return (sample[middle - 1] + sample[middle]) / 2


def _average_ranks(sample: Sequence[float]) -> list[float]:
    """Ranks from 1, ties sharing the mean of the ranks they cover (section 2)."""
    ranks = []
    for value in sample:
        below = 0
        equal = 0
        for other in sample:
            if other < value:
                below += 1
            elif other == value:
                equal += 1
        ranks.append(below + (equal + 1) / 2)
    return ranks


def weighted_spearman(x: Sequence[float], y: Sequence[float], weights: Sequence[int]) -> float:
    """Pearson correlation of the replicated sample's average ranks, or nan (section 2)."""
    xs = _replicate(x, weights)
    ys = _replicate(y, weights)
    if any(math.isnan(value) for value in xs + ys):
        return NAN
    if len(xs) < 2:
        return NAN
    rank_x = _average_ranks(xs)
    rank_y = _average_ranks(ys)
    centre = (len(xs) + 1) / 2
    sxy = math.fsum((a - centre) * (b - centre) for a, b in zip(rank_x, rank_y, strict=True))
    sxx = math.fsum((a - centre) ** 2 for a in rank_x)
    syy = math.fsum((b - centre) ** 2 for b in rank_y)
    if sxx == 0 or syy == 0:
        return NAN
    return sxy / math.sqrt(sxx * syy)


def percentile(values: Sequence[float], q: float) -> float:
    """The q-th percentile, q in [0, 100], interpolated at (n - 1) q / 100 (section 2)."""
    ordered = sorted(float(value) for value in values)
    if len(ordered) == 0 or any(math.isnan(value) for value in ordered):
        return NAN
    if not 0 <= q <= 100:
        raise ValueError(f"a percentile lies in [0, 100], not {q}")
    place = (len(ordered) - 1) * q / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def spearman_brown(r: float) -> float:
    """Spearman-Brown correction of a split-half correlation, 2r / (1 + r) (table 9)."""
    if r == -1:
        return NAN
    return 2 * r / (1 + r)


def generator_words(name: str) -> tuple[int, ...]:
    """The eight big-endian uint32 words of SHA-256(name), a generator's spawn key (section 0)."""
    digest = hashlib.sha256(name.encode()).digest()
    words = []
    for start in range(0, 32, 4):
        word = 0
        for byte in digest[start : start + 4]:
            word = word * 256 + byte
        words.append(word)
    return tuple(words)
