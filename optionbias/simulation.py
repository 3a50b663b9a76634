"""Simulated checkpoints: sweeps from a generative model whose truth is known.

They prove the statistics at full scale and are never evidence about models. Everything is named:
the same cohort entry gives the same numbers whatever else the cohort holds.

For checkpoint c, benchmark B (K options, difficulty D_B), item q, content j, letter r, ordering pi:

    ability       theta_c = GROWTH log10(params_b) + POST [post-trained] + N(0, FAMILY^2) by family
                            + N(0, OWN^2)
    item          d_q     ~ N(D_B, DIFFICULTY^2),  gold c_q uniform over the contents
    utility       u_cqj   = sharpness_c (log(1 + exp(theta_c - d_q)) [j = c_q] + SHARED a_qj + PRIVATE e_cqj)
                            with a_qj, e_cqj ~ N(0, 1): distractors that all checkpoints feel, and
                            the checkpoint's own; sharpness_c = exp(SHARPENING theta_c)
    preference    b_cr    = lean_cB v_cBr, v centred with unit SD over the letters: a family's,
                            a checkpoint's and a cell's part; lean_cB = LEAN (K/4)^LEAN_BY_K
                            exp(LEAN_FALL theta_c + N(0, LEAN_SPREAD^2))
                  b_cqr   = b_cr + PREFERENCE_SPREAD lean_cB N(0, 1), one draw an item and letter
    query         x_r     = u_cq,content(r) + b_cqr + NOISE N(0, 1), one draw an ordering and letter
    stored        logp    = log softmax_r x_r,  choice = argmax

`truth` gives theta_c and b_cr of a cell. Other readouts change the ability and the preference by
`READOUT` and, where answers are generated, store the choice alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optionbias.orderings import all_orderings, cyclic, cyclic_and_reversals, identity
from optionbias.seeds import generator
from optionbias.short_axis import log_softmax
from optionbias.sweep import Sweep, letter_argmax

GROWTH, POST, FAMILY, OWN = 1.1, 0.35, 0.25, 0.12
DIFFICULTY, SHARED, PRIVATE = 1.0, 0.6, 0.5
SHARPENING = 0.35
LEAN, LEAN_FALL, LEAN_SPREAD, PREFERENCE_SPREAD = 0.35, -0.9, 0.8, 1.0
LEAN_BY_K = 1.0
NOISE = 0.6


@dataclass(frozen=True)
class Shift:
    """How a readout differs from first-token: added ability, factor of the preference."""

    ability: float
    lean: float
    generated: bool = False


READOUT = {
    "first-token": Shift(0.0, 1.0),
    "all-orderings": Shift(0.0, 1.0),
    "five-shot": Shift(0.15, 0.7),
    "direct-answer": Shift(-0.1, 0.9, generated=True),
    "chain-of-thought": Shift(0.3, 0.5, generated=True),
    "closed": Shift(0.0, 0.15, generated=True),
}
CLOSED_ABILITY = 2.2
# Share of a generated readout's queries without a valid answer: most checkpoints none, some many.
UNANSWERED = 0.02


@dataclass(frozen=True)
class Truth:
    """What a cell was made from: the ability theta_c and the letter preference b_cr (log scores)."""

    ability: float
    preference: NDArray[np.float64]


def _normal(seed: int, name: str, *shape: int) -> NDArray[np.float32]:
    return generator(seed, f"simulation/{name}").standard_normal(shape, dtype=np.float32)


def ability(checkpoint: dict[str, Any], seed: int) -> float:
    """theta_c of a checkpoint's cohort entry."""
    family, own = (
        float(_normal(seed, f"ability/{kind}/{checkpoint[key]}", 1)[0])
        for kind, key in (("family", "family"), ("checkpoint", "name"))
    )
    size = (
        CLOSED_ABILITY / GROWTH if checkpoint.get("closed") else math.log10(checkpoint["params_b"])
    )
    post = POST if checkpoint["training"] == "post" and not checkpoint.get("closed") else 0.0
    return GROWTH * size + post + FAMILY * family + OWN * own


def truth(checkpoint: dict[str, Any], benchmark: dict[str, Any], readout: str, seed: int) -> Truth:
    """The known truth of a cell, from its entries in the cohort."""
    k, shift = benchmark["K"], READOUT[readout]
    theta = ability(checkpoint, seed)
    name, cell = checkpoint["name"], f"{checkpoint['name']}/{benchmark['name']}"
    shape = (
        _normal(seed, f"preference/family/{checkpoint['family']}/{k}", k)
        + _normal(seed, f"preference/checkpoint/{name}/{k}", k)
        + _normal(seed, f"preference/cell/{cell}", k)
    ).astype(np.float64)
    shape = (shape - shape.mean()) / shape.std()
    spread = float(_normal(seed, f"lean/{cell}", 1)[0])
    lean = LEAN * (k / 4) ** LEAN_BY_K * math.exp(LEAN_FALL * theta + LEAN_SPREAD * spread)
    return Truth(theta + shift.ability, shift.lean * lean * shape)


def known_prior(known: Truth, seed: int, items: int = 20_000) -> NDArray[np.float64]:
    """The prior that PriDe estimates: the mean over items of the softmax of their preferences.

    The geometric mean over the cyclic orderings of an item's letter probabilities is the softmax of
    its preference b_cqr (each content adds the same to every letter) but for the mean query noise,
    which is of SD NOISE / sqrt(K).
    """
    k = len(known.preference)
    draws = generator(seed, f"simulation/known-prior/{k}").standard_normal((items, 2, k))
    spread = PREFERENCE_SPREAD * np.std(known.preference)
    item = known.preference + spread * draws[:, 0] + NOISE / math.sqrt(k) * draws[:, 1]
    return np.asarray(np.exp(log_softmax(item)).mean(axis=0))


def simulated_sweep(
    checkpoint: dict[str, Any], benchmark: dict[str, Any], readout: str, seed: int
) -> Sweep:
    """The sweep of a cell.

    Args:
        checkpoint: its cohort entry (name, family, params_b, training, closed).
        benchmark: its cohort entry (name, K, size, difficulty).
        readout: a readout of the file format; it decides the orderings that are stored.
        seed: the configured seed.
    """
    k, n = benchmark["K"], benchmark["size"]
    b, cell = benchmark["name"], f"{checkpoint['name']}/{benchmark['name']}"
    known = truth(checkpoint, benchmark, readout, seed)
    gold = generator(seed, f"simulation/gold/{b}").integers(0, k, n, dtype=np.int8)
    difficulty = benchmark["difficulty"] + DIFFICULTY * _normal(seed, f"difficulty/{b}", n)
    utility = SHARED * _normal(seed, f"attraction/{b}", n, k)
    utility += PRIVATE * _normal(seed, f"private/{cell}", n, k)
    utility[np.arange(n), gold] += np.logaddexp(0, np.float32(known.ability) - difficulty)
    utility *= np.float32(math.exp(SHARPENING * known.ability))
    lean = np.float32(np.std(known.preference))
    preference = known.preference.astype(np.float32)
    letters = preference + PREFERENCE_SPREAD * lean * _normal(seed, f"letters/{cell}", n, k)
    pi = _orderings(readout, k)
    logits = np.empty((n, len(pi), k), dtype=np.float32)
    calls: dict[tuple[int, ...], int] = {}
    for s, ordering in enumerate(pi):
        call = calls[tuple(ordering)] = calls.get(tuple(ordering), -1) + 1
        # The all-orderings sweep repeats the queries of the first-token one.
        group = "first-token" if readout == "all-orderings" else readout
        label = f"query/{group}/{cell}/{'-'.join(map(str, ordering))}/{call}"
        logits[:, s] = utility[:, np.argsort(ordering)] + letters
        logits[:, s] += np.float32(NOISE) * _normal(seed, label, n, k)
    logp = log_softmax(logits.astype(np.float64)).astype(np.float32)
    choice = letter_argmax(logp)
    metadata: dict[str, Any] = {
        "checkpoint": checkpoint["name"],
        "benchmark": b,
        "readout": readout,
        "simulated": True,
        "backend": "simulation",
        "revision": f"seed {seed}",
    }
    if readout == "closed":
        metadata["repeats"] = {str(k): 0}
    if READOUT[readout].generated and readout != "closed":
        _leave_out(choice, metadata, cell, readout, seed)
    items = np.array([f"{b}-{i:05d}" for i in range(n)], dtype=object)
    stored = None if READOUT[readout].generated else logp
    return Sweep(metadata, items, gold, pi, stored, choice)


def _orderings(readout: str, k: int) -> NDArray[np.int64]:
    if readout == "first-token":
        return cyclic_and_reversals(k)
    if readout == "all-orderings":
        return all_orderings(k)
    if readout == "closed":
        return np.concatenate([cyclic(k), identity(k)[None]])
    return cyclic(k)


def _leave_out(
    choice: NDArray[np.int8], metadata: dict[str, Any], cell: str, readout: str, seed: int
) -> None:
    """Generated answers that could not be extracted, and the share read by the fallback rule."""
    rng = generator(seed, f"simulation/unanswered/{readout}/{cell}")
    # Squared twice: most cells lose next to nothing, a few fail the 90% filter.
    share = UNANSWERED * rng.standard_normal() ** 4
    choice[rng.random(choice.shape, dtype=np.float32) < min(share, 0.5)] = -1
    metadata["fallback_share"] = round(float(rng.beta(1, 4)), 4)
