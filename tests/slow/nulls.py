"""Cap null, simultaneous intervals and variance shares, number by number (paper C.2, C.4, A.5)."""

import math
from collections.abc import Sequence
from fractions import Fraction

from .resampling import percentile, weighted_median, weighted_spearman

NAN = float("nan")


def rank(x: Sequence[float], y: Sequence[float], weights: Sequence[int] | None = None) -> float:
    """Spearman correlation of the replicated pairs that are defined."""
    times = weights if weights is not None else [1] * len(x)
    kept = [(a, b, w) for a, b, w in zip(x, y, times, strict=True) if not math.isnan(a + b)]
    return weighted_spearman(
        [round(a, 12) for a, _, _ in kept],
        [round(b, 12) for _, b, _ in kept],
        [w for _, _, w in kept],
    )


def interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Central percentile interval of the values that are defined."""
    defined = [value for value in values if not math.isnan(value)]
    tail = 100 * (1 - level) / 2
    return percentile(defined, tail), percentile(defined, 100 - tail)


def cap(accuracy: Fraction, K: int) -> Fraction:
    """The largest flip rate that a cell of this accuracy can have (eq. 3)."""
    return min(Fraction(1), K * (1 - accuracy))


def cap_null(
    flip_rates: Sequence[Fraction],
    accuracies: Sequence[Fraction],
    K: int,
    orders: Sequence[Sequence[int]],
) -> dict[str, float]:
    """The cells of one stratum against permuted scaled flip rates (table 11).

    `orders[p][i]` is the cell whose scaled flip rate cell i is given in permutation p. Rates and
    caps are exact, so equal products tie.
    """
    caps = [cap(a, K) for a in accuracies]
    scaled = [f / c for f, c in zip(flip_rates, caps, strict=True)]
    y = [float(a) for a in accuracies]
    observed = weighted_spearman([float(f) for f in flip_rates], y, [1] * len(y))
    null = []
    for order in orders:
        given = [float(scaled[order[i]] * caps[i]) for i in range(len(caps))]
        null.append(weighted_spearman(given, y, [1] * len(y)))
    defined = [r for r in null if not math.isnan(r)]
    reaching = sum(1 for r in defined if abs(r) >= abs(observed) - 1e-12)
    low, high = interval(null)
    known = not math.isnan(observed) and len(defined) > 0
    return {
        "observed": observed,
        "median": weighted_median(defined, [1] * len(defined)),
        "low": low,
        "high": high,
        "P": (1 + reaching) / (1 + len(defined)) if known else NAN,
    }


def simultaneous(
    gaps: Sequence[float], draws: Sequence[Sequence[float]]
) -> list[tuple[float, float]]:
    """Intervals that hold jointly over the gaps: studentised max-|t| (section 2)."""
    defined = [draw for draw in draws if not any(math.isnan(gap) for gap in draw)]
    if len(defined) < 2 or any(math.isnan(gap) for gap in gaps):
        return [(NAN, NAN) for _ in gaps]
    errors = []
    for j in range(len(gaps)):
        mean = math.fsum(draw[j] for draw in defined) / len(defined)
        square = math.fsum((draw[j] - mean) ** 2 for draw in defined)
        errors.append(math.sqrt(square / (len(defined) - 1)))
    largest = []
    for draw in defined:
        t = [abs(d - g) / e for d, g, e in zip(draw, gaps, errors, strict=True) if e > 0]
        largest.append(max(t, default=0.0))
    reach = percentile(largest, 95)
    return [(g - reach * e, g + reach * e) for g, e in zip(gaps, errors, strict=True)]


def shares(
    flip_rates: Sequence[float], skews: Sequence[float], weights: Sequence[int]
) -> tuple[float, float, float]:
    """Shares of log FL, log skew and twice their covariance in var(log FL + log skew) (C.2).

    Cells without positive pooled SD are left out; population moments of the replicated cells.
    """
    x: list[float] = []
    y: list[float] = []
    for flip_rate, skew, weight in zip(flip_rates, skews, weights, strict=True):
        if flip_rate > 0 and skew > 0:
            x += [math.log(flip_rate)] * weight
            y += [math.log(skew)] * weight
    n = len(x)
    if n == 0:
        return NAN, NAN, NAN
    mean_x, mean_y = math.fsum(x) / n, math.fsum(y) / n
    xx = math.fsum((a - mean_x) ** 2 for a in x) / n
    yy = math.fsum((b - mean_y) ** 2 for b in y) / n
    xy = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / n
    total = xx + yy + 2 * xy
    if total <= 1e-12:
        return NAN, NAN, NAN
    return xx / total, yy / total, 2 * xy / total
