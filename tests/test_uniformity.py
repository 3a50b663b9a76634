"""The test of uniform position choice and Holm's procedure."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.uniformity import holm, p_values
from slow import changes as slow
from strategies import PROPERTY
from synthetic import standard


def cells(*rows: tuple[int, int, list[float]]) -> pd.DataFrame:
    """Cells of (K, N, f)."""
    return pd.DataFrame(rows, columns=["K", "n_items", "f"])


def test_p_values_by_hand() -> None:
    # t = 0.6 - 0.5 = 0.1: 4 exp(-2 * 200 * 0.01) = 4 exp(-4). With K = 4, t = 0.25 - 0.05 = 0.2:
    # 8 exp(-2 * 100 * 0.04) = 8 exp(-8). A uniform cell: 8 exp(0), at most one.
    p = p_values(
        cells(
            (2, 200, [0.4, 0.6]), (4, 100, [0.05, 0.35, 0.3, 0.3]), (4, 10, [0.25, 0.25, 0.25, 0.25])
        )
    )  # fmt: skip
    assert p.tolist() == pytest.approx([4 * math.exp(-4), 8 * math.exp(-8), 1], rel=1e-12)
    assert p_values(cells()).shape == (0,)


def test_p_values_are_the_slow_loops() -> None:
    frame = standard().inputs().first_token
    found = dict(
        zip(zip(frame["checkpoint"], frame["benchmark"], strict=True), p_values(frame), strict=True)
    )
    sweeps = [s for s in standard().sweeps if s.metadata["readout"] == "first-token"]
    assert len(found) == len(sweeps)
    for sweep in sweeps:
        items = list(slow.items_of(sweep).values())
        key = (sweep.metadata["checkpoint"], sweep.metadata["benchmark"])
        assert found[key] == pytest.approx(slow.uniformity_p(items, sweep.k), abs=1e-10)


def test_holm_by_hand() -> None:
    # 0.01 * 4, then 0.02 * 3 = 0.06, 0.03 * 2 = 0.06, and 0.04 * 1 is raised to 0.06.
    assert holm([0.03, 0.01, 0.04, 0.02]).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])
    # At most one; equal hypotheses alike.
    assert holm([0.5, 0.9, 0.5]).tolist() == [1, 1, 1]
    assert holm([]).tolist() == []


P = st.lists(st.sampled_from([0, 1e-4, 0.01, 0.0125, 0.02, 0.03, 0.05, 0.2, 1]), max_size=9)


@PROPERTY
@given(P)
def test_holm_is_the_step_by_step_procedure(p: list[float]) -> None:
    adjusted = holm(p)
    assert adjusted.tolist() == pytest.approx(slow.holm_adjusted(p), abs=1e-12)
    clear = np.abs(adjusted - 0.05) > 1e-9  # a product may round across the level itself
    rejected = np.array(slow.holm_rejects(p), dtype=bool)
    assert np.array_equal((adjusted <= 0.05)[clear], rejected[clear])


@PROPERTY
@given(P)
def test_holm_keeps_order_and_lies_between_no_correction_and_bonferroni(p: list[float]) -> None:
    adjusted, plain = holm(p), np.array(p)
    assert (adjusted >= plain).all()
    assert (adjusted <= np.minimum(1, len(p) * plain) + 1e-15).all()
    order = np.argsort(plain, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()
