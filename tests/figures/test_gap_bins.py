"""Figure 7: what is drawn, by hand and by the slow loop; any cohort draws."""

import io
import warnings
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from optionbias.figures import gap_bins, gap_bins_data, style
from slow.tables.margins import figure7
from synthetic import ODD, odd, standard

BINS = 20
STATES = ["stable-correct", "flipping", "stable-wrong"]


@pytest.fixture(autouse=True)
def drawn_as_the_rule_draws():
    """The workflow's style, and no figure left open."""
    style.apply()
    yield
    plt.close("all")


def drawn(frame: pd.DataFrame) -> Figure:
    """The figure, laid out from its CSV, with every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = gap_bins.draw(pd.read_csv(io.StringIO(frame.to_csv(index=False))), "synthetic")
        figure.canvas.draw()
    return figure


def shares(frame: pd.DataFrame) -> np.ndarray:
    """(bins, states) shares."""
    return frame.pivot(index="low", columns="state", values="share")[STATES].to_numpy()


def in_bin(**filled: float) -> list[float]:
    """Shares of a cell's items by bin."""
    return [filled.get(f"b{b}", 0.0) for b in range(BINS)]


def test_cells_weigh_equally_by_hand() -> None:
    # Two cells, whatever their sizes. Bin 0 holds half of the first cell, flipping, and a quarter
    # of the second, stable-wrong: of weight 3/4, two thirds flip. Bin 19 holds the rest,
    # 1/2 + 3/4, stable-correct. Bin 0 has (1/2 + 1/4) / 2 of all items.
    margins = pd.DataFrame(
        {
            "stable_correct": [in_bin(b19=0.5), in_bin(b19=0.75)],
            "flipping": [in_bin(b0=0.5), in_bin()],
            "stable_wrong": [in_bin(), in_bin(b0=0.25)],
        }
    )
    frame = gap_bins_data.data(SimpleNamespace(read=lambda name: margins))
    found = shares(frame)
    assert found[0] == pytest.approx([0, 2 / 3, 1 / 3])
    assert found[19] == pytest.approx([1, 0, 0])
    assert np.isnan(found[1:19]).all()
    items = frame.groupby("low")["items"].first()
    assert items.iloc[[0, 19]].tolist() == [0.375, 0.625]
    assert set(frame["cells"]) == {2}
    ends = frame[["low", "high"]].drop_duplicates().to_numpy()
    assert ends == pytest.approx(np.column_stack([np.arange(20) / 20, np.arange(1, 21) / 20]))


def test_every_share_is_the_slow_loops() -> None:
    frame = gap_bins_data.data(standard().inputs())
    expected = figure7(standard())
    assert len(frame) == len(expected) == 60
    for row in frame.to_dict("records"):
        value = expected[round(row["low"] * BINS), row["state"].replace("-", "_")]
        assert row["share"] == pytest.approx(value, abs=1e-12, nan_ok=True)


def test_shares_add_up_and_give_back_the_mean_flip_rate() -> None:
    inputs = standard().inputs()
    frame = gap_bins_data.data(inputs)
    assert np.nansum(shares(frame), axis=1) == pytest.approx(np.ones(BINS))
    weight = frame["share"].fillna(0) * frame["items"]
    cells = inputs.first_token
    for state, column in (
        ("flipping", "flip_rate"),
        ("stable-correct", "stable_correct"),
        ("stable-wrong", "stable_wrong"),
    ):
        assert weight[frame["state"] == state].sum() == pytest.approx(cells[column].mean())


def test_the_figure_shows_its_data() -> None:
    frame = gap_bins_data.data(standard().inputs())
    figure = drawn(frame)
    above, axis = figure.axes
    heights = np.array([[bar.get_height() for bar in bars] for bars in axis.containers]).T
    assert heights == pytest.approx(100 * shares(frame))
    # Stacked: each begins where the one below ends.
    starts = np.array([[bar.get_y() for bar in bars] for bars in axis.containers]).T
    assert starts[:, 1:] == pytest.approx(np.cumsum(heights, axis=1)[:, :2])
    counts = [bar.get_height() for bar in above.containers[0]]
    assert sum(counts) == pytest.approx(100)
    legend = [t.get_text() for t in figure.legends[0].get_texts()]
    assert legend == STATES
    assert figure.get_suptitle() == "Cohort synthetic: 19 first-token cells"
    # Nothing sticks out of the page.
    page = figure.bbox
    for text in [figure._suptitle, *figure.legends[0].get_texts()]:
        box = text.get_window_extent()
        assert page.x0 <= box.x0 < box.x1 <= page.x1


def test_states_are_told_apart_in_grey() -> None:
    lightness = [
        (round(sum(np.array([0.299, 0.587, 0.114]) * to_rgb(colour)), 1), hatch)
        for colour, hatch in gap_bins.STATES.values()
    ]
    assert len(set(lightness)) == 3
    assert list(gap_bins.STATES) == STATES


@pytest.mark.parametrize("name", list(ODD))
def test_odd_cohorts_draw(name: str) -> None:
    frame = gap_bins_data.data(odd(name).inputs())
    figure = drawn(frame)
    assert ("no first-token cell" in figure.get_suptitle()) == (len(frame) == 0)
