"""Does the skew follow the option-symbol prior? (Section 5.2, Appendices C.1 and C.3).

The prior comes from calibration items, the skew and g from evaluation items, so the two share no
item; accuracy is over all items. Reads the rows of `cells` and `priors`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from optionbias.factors import population_sd
from optionbias.priors import permuted_priors
from optionbias.resampling import (
    Estimate,
    percentile_interval,
    spearman,
    weighted_partial_spearman,
    weighted_spearman,
)

UNIFORM_WITHIN = 1e-12


def aligned(cells: pd.DataFrame, priors: pd.DataFrame, prior: str) -> pd.DataFrame:
    """First-token cells with their prior beside the skew and g of their evaluation items.

    Args:
        cells: rows of `cells`.
        priors: rows of `priors`.
        prior: `pride` or `batch`.

    Returns:
        checkpoint, benchmark, K, accuracy (all items), skew, g, prior, prior_sd, one row per
        first-token cell, sorted by checkpoint and benchmark; NaN where a cell lacks one.
    """
    key = ["checkpoint", "benchmark"]
    uncorrected = cells[
        (cells["readout"] == "first-token")
        & (cells["design"] == "cyclic")
        & (cells["operation"] == "none")
    ]
    whole = uncorrected.loc[uncorrected["subset"] == "all", [*key, "K", "accuracy"]]
    held_out = uncorrected.loc[uncorrected["subset"] == "evaluation", [*key, "skew", "g"]]
    wanted = priors[(priors["readout"] == "first-token") & (priors["prior"] == prior)]
    estimated = wanted[[*key, "values"]].rename(columns={"values": "prior"})
    frame = whole.merge(held_out, on=key, how="left").merge(estimated, on=key, how="left")
    frame["prior_sd"] = [
        population_sd(values) if isinstance(values, np.ndarray | list) else np.nan
        for values in frame["prior"]
    ]
    return frame.sort_values(key, kind="stable", ignore_index=True)


def centred_cosines(g: ArrayLike, priors: ArrayLike) -> NDArray[np.float64]:
    """Cosines of g - 1/K (K,) with each prior - 1/K, shape (n,) for priors (n, K).

    NaN where either is uniform, which has no direction.
    """
    direction, vectors = np.asarray(g, dtype=np.float64), np.atleast_2d(priors)
    k = len(direction)
    direction, vectors = direction - 1 / k, vectors - 1 / k
    lengths = np.linalg.norm(vectors, axis=1)
    length = np.linalg.norm(direction)
    cosines = np.full(len(vectors), np.nan)
    if length > UNIFORM_WITHIN:
        some = lengths > UNIFORM_WITHIN
        cosines[some] = vectors[some] @ direction / (lengths[some] * length)
    return cosines


def cosines(frame: pd.DataFrame, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each cell's cosine of g with its prior, and its median cosine over letter-permuted priors.

    Args:
        frame: rows of `aligned`.
        seed: the configured seed (permutations for K >= 5).
    """
    plain, permuted = (np.full(len(frame), np.nan) for _ in range(2))
    for i, (g, prior) in enumerate(zip(frame["g"], frame["prior"], strict=True)):
        if not (isinstance(g, np.ndarray | list) and isinstance(prior, np.ndarray | list)):
            continue
        plain[i] = centred_cosines(g, prior)[0]
        permuted[i] = np.median(centred_cosines(g, permuted_priors(prior, seed)))
    return plain, permuted


def rank_correlation(frame: pd.DataFrame, weights: NDArray[np.int64]) -> Estimate:
    """Spearman correlation of the skew with std(prior), under weights (draws, cells)."""
    skew, sd, _ = _ranked(frame)
    return Estimate(
        spearman(skew, sd),
        percentile_interval(weighted_spearman(skew, sd, weights)),
        int((~np.isnan(skew + sd)).sum()),
    )


def partial_rank_correlation(frame: pd.DataFrame, weights: NDArray[np.int64]) -> Estimate:
    """Partial Spearman correlation of the skew with std(prior) given accuracy rank."""
    skew, sd, accuracy = _ranked(frame)
    once = np.ones((1, len(frame)), dtype=np.int64)
    return Estimate(
        float(weighted_partial_spearman(skew, sd, accuracy, once)[0]),
        percentile_interval(weighted_partial_spearman(skew, sd, accuracy, weights)),
        int((~np.isnan(skew + sd + accuracy)).sum()),
    )


def _ranked(frame: pd.DataFrame) -> list[NDArray[np.float64]]:
    return [frame[name].to_numpy(dtype=np.float64) for name in ("skew", "prior_sd", "accuracy")]
