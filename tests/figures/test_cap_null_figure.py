"""Figure 8: what is drawn is Table 11, at any number of strata."""

import io
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from optionbias.figures import cap_null, cap_null_data, style
from optionbias.tables.cap_null import table11
from synthetic import ODD, odd, standard


@pytest.fixture(autouse=True)
def drawn_as_the_rule_draws():
    """The workflow's style, and no figure left open."""
    style.apply()
    yield
    plt.close("all")


def drawn(frame: pd.DataFrame) -> Figure:
    """The figure as the drawing script makes it, laid out, with every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = cap_null.draw(pd.read_csv(io.StringIO(frame.to_csv(index=False))), "synthetic")
        figure.canvas.draw()
    return figure


def test_the_data_are_table_11() -> None:
    inputs = standard().inputs()
    frame = cap_null_data.data(inputs)
    assert list(frame.columns) == cap_null_data.COLUMNS
    tidy = table11(inputs).tidy().set_index(["row", "column"])
    rows = [f"K={r['K']}, {r['stratum']}" for r in frame.to_dict("records")]
    cells = tidy.xs("cells", level="column")["value"]
    assert rows == [row for row in cells.index if cells[row] > 0]
    for row, entry in zip(rows, frame.to_dict("records"), strict=True):
        assert entry["n"] == cells[row]
        null = tidy.loc[(row, "null median")]
        expected = [
            tidy.loc[(row, "observed spearman"), "value"],
            *null[["value", "ci_low", "ci_high"]],
        ]
        found = [entry[x] for x in ("observed", "null_median", "null_low", "null_high")]
        assert np.array_equal(found, np.array(expected, dtype=float), equal_nan=True)


def test_the_figure_shows_its_data() -> None:
    frame = cap_null_data.data(standard().inputs())
    figure = drawn(frame)
    axis = figure.axes[0]
    labels = [t.get_text() for t in axis.get_yticklabels()]
    assert labels[:3] == [
        "K = 2, all (4 cells)",
        "K = 2, cap binds (4 cells)",
        "K = 4, all (8 cells)",
    ]
    points = np.concatenate([c.get_offsets() for c in axis.collections])
    assert sorted(points[:, 0]) == pytest.approx(sorted(frame["observed"].dropna()))
    bars = [line.get_xdata() for line in axis.lines if line.get_linewidth() == 5]
    assert np.allclose(bars, frame[["null_low", "null_high"]].dropna())
    ticks = [line.get_xdata()[0] for line in axis.lines if line.get_marker() == "|"]
    assert np.allclose(ticks, frame["null_median"].dropna())
    legend = [t.get_text() for t in figure.legends[0].get_texts()]
    assert sorted(legend) == [
        "null median", "null, central 95%", "observed, K = 10", "observed, K = 2", "observed, K = 4",
    ]  # fmt: skip
    # Rows run down, option counts apart.
    places = axis.get_yticks()
    assert axis.get_ylim()[0] > axis.get_ylim()[1]
    assert sorted(set(np.diff(places))) == [1, 1.5]


@pytest.mark.parametrize("name", list(ODD))
def test_odd_cohorts_draw(name: str) -> None:
    frame = cap_null_data.data(odd(name).inputs())
    axis = drawn(frame).axes[0]
    undefined = frame[["observed", "null_median"]].isna().all(axis=1).sum()
    assert [t.get_text() for t in axis.texts] == ["undefined"] * undefined


def test_many_option_counts_draw() -> None:
    rng = np.random.default_rng(1)
    rows = [
        [k, name, *np.sort(rng.uniform(-1, 1, 4))[[3, 1, 0, 2]], 300]
        for k in (2, 3, 4, 5, 8, 10)
        for name in ("all", "binding", "cap equal to one")
    ]
    figure = drawn(pd.DataFrame(rows, columns=cap_null_data.COLUMNS))
    boxes = [t.get_window_extent() for t in figure.axes[0].get_yticklabels()]
    # No two labels overlap, and none is cut off.
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    assert min(b.x0 for b in boxes) >= 0
