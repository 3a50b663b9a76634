"""Figure 9: what is drawn, where, and how it is marked."""

import io
import math
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from families import families
from optionbias.figures import changes, changes_data, style
from slow import changes as slow
from slow.tables.changes import DRAWS, comparisons_of
from synthetic import ODD, odd


@pytest.fixture(autouse=True)
def drawn_as_the_rule_draws():
    """The workflow's style, and no figure left open."""
    style.apply()
    yield
    plt.close("all")


def drawn(frame: pd.DataFrame) -> Figure:
    """The figure from the CSV, laid out, with every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = changes.draw(pd.read_csv(io.StringIO(frame.to_csv(index=False))), "synthetic")
        figure.canvas.draw()
    return figure


def points(n: int) -> pd.DataFrame:
    """Any pairs of checkpoints."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, n))
    return pd.DataFrame(
        {
            "base": "a", "release": "b", "benchmark": "x", "x": x, "y": y, "opposite": x * y < 0,
            "resolved": np.abs(x) > 0.5,
        },
        columns=changes_data.COLUMNS,
    )  # fmt: skip


def test_the_pairs_are_those_of_the_slow_loop() -> None:
    frame = changes_data.data(families().inputs(draws=DRAWS))
    assert list(frame.columns) == changes_data.COLUMNS
    assert len(frame) == 6
    pairs = comparisons_of(families()).pairs
    for row in frame.to_dict("records"):
        names = sorted((row["base"], row["release"]))
        found = pairs[row["benchmark"], *names]
        sign = 1 if names[0] == row["base"] else -1
        for axis, statistic in (("x", "flip_rate"), ("y", "pooled_sd")):
            one, other = found[statistic]
            assert row[axis] == pytest.approx(sign * (math.log(other) - math.log(one)), abs=1e-10)
        assert row["opposite"] == slow.is_opposite(found, "pooled_sd")
        assert row["resolved"] == (found["flip_rate_resolved"] and found["pooled_sd_resolved"])


def test_the_figure_shows_its_data() -> None:
    frame = points(80)
    figure = drawn(frame)
    (axis,) = figure.axes
    labels = [t.get_text() for t in figure.legends[0].get_texts()]
    assert labels == [
        "opposite, both resolved", "opposite, not both resolved", "same way, both resolved",
        "same way, not both resolved",
    ]  # fmt: skip
    dark, light = to_rgba(changes.OPPOSITE), to_rgba(changes.SAME)
    assert dark[0] < light[0]
    for collection in axis.collections:
        opposite = collection.get_label().startswith("opposite")
        resolved = not collection.get_label().endswith("not both resolved")
        chosen = frame[(frame["opposite"] == opposite) & (frame["resolved"] == resolved)]
        expected = chosen[["x", "y"]].to_numpy()
        assert len(expected) > 5
        assert np.allclose(np.asarray(collection.get_offsets()), expected, rtol=0, atol=1e-12)
        assert tuple(collection.get_edgecolor()[0]) == (dark if opposite else light)
        faces = collection.get_facecolor()
        assert len(faces) == resolved  # open markers have no face
    # The shaded quadrants are those in which signs differ; nothing is cut off.
    (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
    boxes = [patch.get_bbox() for patch in axis.patches]
    assert {(b.x0, b.x1, b.y0, b.y1) for b in boxes} == {(left, 0, 0, high), (0, right, low, 0)}
    assert frame["x"].between(left, right).all() and frame["y"].between(low, high).all()
    assert figure.get_suptitle() == "Cohort synthetic: 80 pairs"


def test_a_pair_without_a_logarithm_is_said_to_be_missing() -> None:
    frame = points(3)
    frame.loc[1, "y"] = np.nan
    figure = drawn(frame)
    title = figure.get_suptitle().replace("\n", " ")
    assert title == "Cohort synthetic: 3 pairs, 1 without a logarithm not drawn"
    assert sum(len(c.get_offsets()) for c in figure.axes[0].collections) == 2


@pytest.mark.parametrize("n", [0, 1, 2, 500])
def test_any_number_of_pairs_draws(n: int) -> None:
    figure = drawn(points(n))
    box = figure.get_tightbbox()
    assert box.x0 >= -0.01 and box.x1 <= figure.get_size_inches()[0] + 0.01


def test_pairs_that_do_not_move_draw() -> None:
    drawn(points(2).assign(x=0.0, y=0.0))


@pytest.mark.parametrize("name", list(ODD))
def test_odd_cohorts_draw(name: str) -> None:
    figure = drawn(changes_data.data(odd(name).inputs(draws=20)))
    assert "no base checkpoint" in figure.get_suptitle()
