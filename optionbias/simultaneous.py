"""Simultaneous bootstrap intervals over several gaps (A.5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from optionbias.resampling import Interval


def simultaneous_intervals(
    values: ArrayLike, draws: ArrayLike, level: float = 0.95
) -> list[Interval]:
    """Intervals that hold jointly over m gaps: studentised max-|t| bootstrap.

    With se_j the standard deviation of the draws of gap j (n - 1 in the denominator) and c the
    `level` quantile over draws of max_j |draw_j - value_j| / se_j, the interval is value_j +- c se_j.

    Args:
        values: (m,) gaps of the sample.
        draws: (draws, m) gaps in each draw; a draw in which any is undefined is left out.
        level: joint coverage.

    Returns:
        An interval per gap; NaN throughout where a gap, or every draw, is undefined.
    """
    gaps = np.asarray(values, dtype=np.float64)
    drawn = np.asarray(draws, dtype=np.float64)
    defined = drawn[~np.isnan(drawn).any(axis=1)]
    left_out = (len(drawn) - len(defined)) / len(drawn) if len(drawn) else 1.0
    if len(defined) < 2 or np.isnan(gaps).any():
        return [Interval(float("nan"), float("nan"), left_out) for _ in gaps]
    errors = defined.std(axis=0, ddof=1)
    # A gap that is the same in every draw is known, and leaves the others' intervals alone.
    varies = errors > 0
    t = np.abs(defined - gaps)[:, varies] / errors[varies]
    reach = np.quantile(t.max(axis=1), level) if varies.any() else 0.0
    return [
        Interval(float(gap - reach * error), float(gap + reach * error), left_out)
        for gap, error in zip(gaps, errors, strict=True)
    ]
