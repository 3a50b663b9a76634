"""The prior against the skew: by hand, and what must hold of centred cosines."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from optionbias.prior_alignment import (
    aligned,
    centred_cosines,
    cosines,
    partial_rank_correlation,
    rank_correlation,
)
from optionbias.priors import letter_permutations, permuted_priors
from slow import margins as slow
from strategies import PROPERTY, SEED
from synthetic import standard

NAN = float("nan")
KEY = {"checkpoint": "A", "benchmark": "x", "readout": "first-token"}
ONCE = {n: np.ones((1, n), dtype=np.int64) for n in range(1, 6)}


def test_cosines_by_hand() -> None:
    # g - 1/4 = (.25, 0, 0, -.25); the same direction, its opposite, one at 60 degrees
    # ((.1, -.1, 0, 0): .025 / (.3536 * .1414) = 1/2), and no direction.
    g = [0.5, 0.25, 0.25, 0.0]
    priors = [[0.3, 0.25, 0.25, 0.2], [0, 0.25, 0.25, 0.5], [0.35, 0.15, 0.25, 0.25], [0.25] * 4]
    found = centred_cosines(g, priors)
    assert found[:3] == pytest.approx([1, -1, 0.5])
    assert math.isnan(found[3])
    assert np.isnan(centred_cosines([0.25] * 4, priors)).all()


def test_permuted_cosine_by_hand() -> None:
    # K = 3, g - 1/3 along (1, 0, -1) and the prior too. Its five permutations lie along (1, -1, 0),
    # (0, 1, -1), (0, -1, 1), (-1, 1, 0) and (-1, 0, 1): cosines 1/2, 1/2, -1/2, -1/2, -1.
    frame = pd.DataFrame({"g": [[0.6, 1 / 3, 1 / 15]], "prior": [[0.5, 1 / 3, 1 / 6]]})
    plain, permuted = cosines(frame, SEED)
    assert plain == pytest.approx([1])
    assert permuted == pytest.approx([-0.5])


def test_cells_without_a_prior_or_a_flip_have_no_cosine() -> None:
    frame = pd.DataFrame({"g": [[NAN] * 2, [0.4, 0.6]], "prior": [[0.4, 0.6], None]})
    assert np.isnan(cosines(frame, SEED)).all()


def test_alignment_joins_the_right_rows() -> None:
    cell = {**KEY, "design": "cyclic", "operation": "none", "K": 2, "skew": 9.0, "g": [1.0, 0.0]}
    cells = pd.DataFrame(
        [
            {**cell, "subset": "all", "accuracy": 0.7},
            # Skew and g are the evaluation items', accuracy is not.
            {**cell, "subset": "evaluation", "accuracy": 0.1, "skew": 0.2, "g": [0.7, 0.3]},
            {**cell, "subset": "evaluation", "operation": "pride", "accuracy": 0.2},
            {**cell, "subset": "all", "readout": "five-shot", "accuracy": 0.3},
            {**cell, "subset": "all", "design": "all", "accuracy": 0.4},
            {**cell, "subset": "all", "checkpoint": "B", "accuracy": 0.5},
        ]
    )
    priors = pd.DataFrame(
        [
            {**KEY, "prior": "pride", "values": np.array([0.9, 0.1])},
            {**KEY, "prior": "batch", "values": np.array([0.6, 0.4])},
            {**KEY, "readout": "five-shot", "prior": "batch", "values": np.array([0.5, 0.5])},
        ]
    )
    frame = aligned(cells, priors, "batch")
    assert frame["checkpoint"].tolist() == ["A", "B"]
    a, b = frame.to_dict("records")
    assert (a["accuracy"], a["skew"], list(a["g"])) == (0.7, 0.2, [0.7, 0.3])
    # Population SD of (.6, .4).
    assert (list(a["prior"]), a["prior_sd"]) == ([0.6, 0.4], pytest.approx(0.1))
    assert b["accuracy"] == 0.5
    assert math.isnan(b["skew"])
    assert math.isnan(b["prior_sd"])


def test_correlations_by_hand() -> None:
    # Ranks of skew 1 2 3 4, of the SD 1 3 2 4: r = 1 - 6 * 2 / (4 * 15) = 0.8. Accuracy ranks
    # 4 1 3 2: with skew 1 - 6 (9 + 1 + 0 + 4) / 60 = -0.4, with the SD 1 - 6 (9+4+1+4) / 60
    # = -0.8. Partial: (.8 - .32) / sqrt((1 - .16)(1 - .64)).
    frame = pd.DataFrame(
        {
            "skew": [0.1, 0.2, 0.3, 0.4, NAN],
            "prior_sd": [0.1, 0.3, 0.2, 0.4, 0.9],
            "accuracy": [0.9, 0.3, 0.7, 0.5, 0.1],
        }
    )
    plain, partial = (f(frame, ONCE[5]) for f in (rank_correlation, partial_rank_correlation))
    assert (plain.value, plain.n) == (pytest.approx(0.8), 4)
    assert (partial.value, partial.n) == (pytest.approx(0.48 / math.sqrt(0.84 * 0.36)), 4)


def test_permuted_priors_of_ten_options_are_the_named_ones() -> None:
    frame = aligned(standard().inputs().cells, standard().inputs().read("priors"), "pride")
    ten = frame[(frame["K"] == 10) & (frame["skew"] > 0)]
    assert len(ten) == 5
    _, permuted = cosines(ten, SEED)
    named = letter_permutations(10, SEED).tolist()
    for found, g, prior in zip(permuted, ten["g"], ten["prior"], strict=True):
        assert found == pytest.approx(slow.permuted_cosine(g.tolist(), prior.tolist(), named))


# --- properties ------------------------------------------------------------------------------


@st.composite
def directions(draw: st.DrawFn, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """g and a prior over K letters, neither uniform."""
    k = k or draw(st.sampled_from([2, 3, 4]))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    counts = rng.integers(0, 9, k)
    assume(counts.min() < counts.max())
    return counts / counts.sum(), rng.dirichlet(np.ones(k))


@PROPERTY
@given(directions())
def test_cosines_over_all_permutations_cancel(pair) -> None:
    # The K! permutations of a centred vector add up to nothing, so those other than the identity
    # add up to minus the prior itself: the control is centred near zero.
    g, prior = pair
    total = centred_cosines(g, permuted_priors(prior, SEED)).sum()
    assert total == pytest.approx(-centred_cosines(g, prior)[0], abs=1e-9)


@PROPERTY
@given(directions())
def test_flattening_the_prior_keeps_its_direction(pair) -> None:
    g, prior = pair
    k = len(g)
    found = centred_cosines(g, [prior, 0.3 * prior + 0.7 / k, 2 / k - prior])
    assert found == pytest.approx(found[0] * np.array([1, 1, -1]), abs=1e-9)
    assert abs(found[0]) <= 1 + 1e-12


@PROPERTY
@given(directions(k=2))
def test_with_two_options_a_direction_is_a_sign(pair) -> None:
    g, prior = pair
    expected = 1 if (g[0] > g[1]) == (prior[0] > prior[1]) else -1
    assert centred_cosines(g, prior) == pytest.approx([expected])
    assert centred_cosines(g, permuted_priors(prior, SEED)) == pytest.approx([-expected])
