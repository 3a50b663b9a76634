"""The identities and bounds that the paper proves, asserted on every cell that is computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.design import Design
from optionbias.factors import CellStatistics, kl_to_uniform

TOLERANCE = 1e-12


class IdentityError(AssertionError):
    """A proven identity fails on a cell: the answers, the design or the code are wrong."""


def residuals(statistics: CellStatistics, contents: ArrayLike, design: Design) -> dict[str, float]:
    """How far each identity or bound of Appendix B is from holding on one cell.

    Equalities give |left - right|, bounds give max(0, left - right). At FL = 0 the identities
    use g = unif and h = 0 (B.1, B.2), so both products are zero.

    Returns:
        identity name -> residual; the last four only on position-balanced designs.
    """
    s = statistics
    skew, std_h, range_h = (0.0 if s.flip_rate == 0 else x for x in (s.skew, s.std_h, s.range_h))
    product = s.flip_rate * skew
    cap = np.minimum(1.0, s.m * (1 - s.accuracy))
    found = {
        "flip cap": _excess(s.flip_rate, cap),
        "two-order disagreement": _excess(_largest_disagreement(contents, design), s.flip_rate),
        "corrected identity": abs(s.corrected_sd - product),
        "deviation bound": _excess(abs(s.pooled_sd - product), s.std_b),
        "design bound": _excess(s.std_b, (1 - s.flip_rate) * s.design_bound),
    }
    if design.is_balanced:
        kl_g = 0.0 if s.flip_rate == 0 else float(kl_to_uniform(s.g))
        found |= {
            "pooling identity": abs(s.pooled_sd - product),
            "balanced RStd": abs(s.balanced_rstd - s.flip_rate * std_h),
            "placement range": abs(s.placement_range - s.flip_rate * range_h),
            "divergence bound": _excess(s.kl, s.flip_rate * kl_g),
        }
    return found


def _excess(left: float, right: float) -> float:
    """How far `left <= right` is from holding; NaN where either side is undefined."""
    return float(np.maximum(0.0, left - right))


def assert_identities(
    statistics: CellStatistics, contents: ArrayLike, design: Design, cell: str
) -> dict[str, float]:
    """Return `residuals`, or raise `IdentityError` naming `cell` if one exceeds 1e-12."""
    found = residuals(statistics, contents, design)
    for name, residual in found.items():
        if not residual <= TOLERANCE:
            raise IdentityError(f"{cell}: {name} fails by {residual:.3g} (at most {TOLERANCE:g})")
    return found


def _largest_disagreement(contents: ArrayLike, design: Design) -> float:
    """The largest share of items that two orderings of a shared design answer differently (B.2)."""
    z = np.asarray(contents)
    if not design.is_shared:
        return 0.0
    if design.counts is not None:
        z = z[:, design.counts > 0]
    agreeing: NDArray[np.float64] = np.zeros((z.shape[1], z.shape[1]))
    for content in range(design.k):
        chosen = (z == content).astype(np.float32)
        agreeing += chosen.T @ chosen
    return float((len(z) - agreeing.min()) / len(z))
