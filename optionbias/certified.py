"""Which answers are certified: those that rounding of the stored probabilities cannot change.

An answer is certified if it stays the same while each stored probability moves by at most 5e-7,
half a unit of the sixth decimal (Appendix E.2). The scores of `none`, of a prior correction with
its prior held fixed, and of the reversal product are sums of log-probabilities of one position
each, so that the lowest score of the chosen position against the highest of every other settles it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.shifted_choices import TIE_TOLERANCE
from optionbias.short_axis import last_max

ENVELOPE = 5e-7


@dataclass(frozen=True)
class Bounds:
    """Lowest and highest log scores, both (..., K) in presented order; up to one constant a row."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __getitem__(self, queries: Any) -> Bounds:
        """The bounds of some queries, taken as from an array."""
        return Bounds(self.low[queries], self.high[queries])

    def less(self, shift: NDArray[np.float64]) -> Bounds:
        """Bounds of the scores less a shift (K,): the log prior that a correction subtracts."""
        return Bounds(self.low - shift, self.high - shift)


def log_bounds(logp: ArrayLike) -> Bounds:
    """Bounds of the log-probabilities (..., K) when each probability moves by at most 5e-7.

    Probabilities stay within 0 and 1; a probability that may vanish has no lower bound (-inf).
    """
    p = np.exp(np.asarray(logp, dtype=np.float64))
    with np.errstate(divide="ignore"):
        low = np.log(np.maximum(p - ENVELOPE, 0.0))
    return Bounds(low, np.log(np.minimum(p + ENVELOPE, 1.0)))


def product(presented: Bounds, reversed_: Bounds) -> Bounds:
    """Bounds of the reversal product; each argument in the letter order of its own presentation."""
    return Bounds(
        presented.low + reversed_.low[..., ::-1], presented.high + reversed_.high[..., ::-1]
    )


def certified(positions: ArrayLike, bounds: Bounds) -> NDArray[np.bool_]:
    """Which answers (...) at `positions` hold wherever the scores lie within their bounds.

    The chosen position must stay ahead of every other by more than the tolerance of a tie.
    """
    chosen = np.asarray(positions)[..., None]
    own = np.take_along_axis(bounds.low, chosen, axis=-1)[..., 0]
    others = bounds.high.copy()
    np.put_along_axis(others, chosen, -np.inf, axis=-1)
    return np.asarray(own - last_max(others) > TIE_TOLERANCE)
