"""Prior correction at several strengths, by the estimated prior and by letter-permuted ones.

One row a first-token cell, two options included: factors and accuracy on its evaluation items
(Section 5, Table 6, Figure 4), variants of batch calibration (D.1), and the share of the letter
preference that mirroring keeps (D.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.analysis import Settings
from optionbias.cell import ScoredCell, answer_cell
from optionbias.factors import population_sd, row_sd
from optionbias.identities import TOLERANCE, IdentityError
from optionbias.priors import Prior, batch_prior, floored, permuted_priors, pride_prior
from optionbias.shifted_choices import Positions, shifted_choices
from optionbias.short_axis import log_softmax
from optionbias.sweep import Sweep

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
STATISTICS = ("flip_rate", "skew", "accuracy")
# Estimates that divide out at full strength: the operation itself and what D.1 tries instead.
BATCH_VARIANTS = ("batch", "mean log-probability", "all test items")

# Lists: `estimated_*` one entry an alpha of ALPHAS; `permuted_*` one a permutation within each
# alpha; `batch_*` one a variant of BATCH_VARIANTS. At alpha 0 all are the stored answers.
COLUMNS = (
    "checkpoint", "benchmark", "K", "n_items",
    "estimated_flip_rate", "estimated_skew", "estimated_accuracy",
    "permuted_flip_rate", "permuted_skew", "permuted_accuracy",
    "batch_flip_rate", "batch_skew", "batch_accuracy", "symmetric_share",
)  # fmt: skip


def analyse(benchmark: str, sweeps: Iterable[Sweep], settings: Settings) -> list[dict[str, Any]]:
    """One row of COLUMNS a cell with log-probabilities and at least two usable items.

    Raises:
        IdentityError: the pooling identity or the flip cap fails on a cell.
    """
    rows = []
    for sweep in sweeps:
        cell = answer_cell(sweep, benchmark, settings.seed, operations=(), reversals=False)
        if cell is not None and cell.queries.logp is not None:
            checkpoint = str(sweep.metadata["checkpoint"])
            name = f"first-token/{benchmark}/{checkpoint}"
            found = _measure(cell, cell.queries.logp, settings.seed, name)
            rows.append({"checkpoint": checkpoint, "benchmark": benchmark, **found})
    return rows


def _measure(cell: ScoredCell, logp: NDArray[np.floating], seed: int, name: str) -> dict[str, Any]:
    """A cell's entries of COLUMNS; `logp` (N, K, K) are its cyclic queries."""
    held_out, evaluation = logp[cell.calibration], ~cell.calibration
    k = logp.shape[-1]
    prior = pride_prior(held_out)
    log_priors = np.log(np.vstack([prior, permuted_priors(prior, seed)]))
    variants = np.log([batch_prior(held_out), log_batch_prior(held_out), batch_prior(logp)])
    strengths = np.array(ALPHAS[1:])[:, None, None] * log_priors
    positions, _ = shifted_choices(
        logp[evaluation], np.concatenate([strengths.reshape(-1, k), variants])
    )
    stored = cell.queries.choice[evaluation].T.astype(np.uint8)
    measured = factors(np.concatenate([stored[None], positions]), cell.gold[evaluation], name)
    found: dict[str, Any] = {"K": k, "n_items": int(evaluation.sum())}
    for statistic, values in zip(STATISTICS, measured, strict=True):
        at_zero = np.repeat(values[0], len(log_priors))
        by_alpha = np.concatenate([at_zero, values[1 : -len(variants)]]).reshape(len(ALPHAS), -1)
        found[f"estimated_{statistic}"] = by_alpha[:, 0].tolist()
        found[f"permuted_{statistic}"] = by_alpha[:, 1:].ravel().tolist()
        found[f"batch_{statistic}"] = values[-len(variants) :].tolist()
    return {**found, "symmetric_share": symmetric_share(letter_preference(held_out))}


def factors(
    positions: Positions, gold: NDArray[np.int8], name: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Flip rates, skews (NaN where nothing flips) and accuracies, as `cell_statistics` has them.

    Args:
        positions: (C, K, N) chosen positions of C ways to answer, ordering s of Equation 1 in row s.
        gold: (N,) correct contents.
        name: the cell, for the error.

    Returns:
        (C,) each.

    Raises:
        IdentityError: std(f) is not FL std(g), or FL exceeds its cap.
    """
    c, k, n = positions.shape
    # Position r of ordering s shows content (r - s) mod K; unsigned numbers wrap round below zero.
    before = positions - np.arange(k, dtype=np.uint8)[:, None]
    contents = np.minimum(before, before + np.uint8(k))
    flips = (contents[:, 1:] != contents[:, :1]).any(axis=1)
    correct = np.array([np.count_nonzero(z == gold) for z in contents])
    codes = (positions + np.uint8(k) * flips[:, None, :]).reshape(c, -1)
    landed = np.array([np.bincount(row, minlength=2 * k) for row in codes]).reshape(c, 2, k)
    n_flips = flips.sum(axis=1)
    flip_rate, accuracy = n_flips / n, correct / (n * k)
    with np.errstate(invalid="ignore"):
        skew = row_sd(landed[:, 1] / (n_flips[:, None] * k))
    pooled_sd = row_sd(landed.sum(axis=1) / (n * k))
    residuals = {
        # At FL = 0 the identity has g uniform.
        "pooling identity": np.abs(pooled_sd - flip_rate * np.where(n_flips > 0, skew, 0.0)),
        "flip cap": flip_rate - np.minimum(1.0, k * (1 - accuracy)),
    }
    for identity, residual in residuals.items():
        if not (residual <= TOLERANCE).all():
            raise IdentityError(
                f"{name}: {identity} fails by {residual.max():.3g} (at most {TOLERANCE:g})"
            )
    return flip_rate, skew, accuracy


def log_batch_prior(logp: ArrayLike) -> Prior:
    """The prior from mean log-probabilities over items and orderings, normalised (D.1).

    Args:
        logp: (n, K, K) log-probabilities of the calibration items.
    """
    return np.asarray(np.exp(log_softmax(np.log(floored(logp)).mean(axis=(0, 1)))))


def letter_preference(logp: ArrayLike) -> NDArray[np.float64]:
    """b (D.2): mean log-probability of each letter over items (n, K, K) and cyclic orderings.

    A query's logits differ from its log-probabilities by a constant, which no SD over letters sees.
    """
    return np.asarray(np.asarray(logp, dtype=np.float64).mean(axis=(0, 1)))


def symmetric_share(b: ArrayLike) -> float:
    """std(b_sym) / std(b) with b_sym,i = (b_i + b_{K-1-i}) / 2 (D.2).

    The share of a letter preference (K,) that the reversal product keeps; NaN for a preference that
    is flat but for rounding (SD up to 1e-12) or holds an impossible letter.
    """
    preference = np.asarray(b, dtype=np.float64)
    if not np.isfinite(preference).all():
        return float("nan")
    spread = population_sd(preference)
    if spread <= TOLERANCE:
        return float("nan")
    return population_sd((preference + preference[::-1]) / 2) / spread
