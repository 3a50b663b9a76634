"""Figures 3 and 5: what is drawn, by hand and by a slow loop; files that draw the same twice."""

import io
import math
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from optionbias.figures import (
    factor_plane,
    factor_plane_data,
    operation_moves,
    operation_moves_data,
    style,
)
from optionbias.figures.factor_plane_data import opposite_pair
from optionbias.operation_effects import operation_effects
from slow import resampling as slow
from strategies import SEED
from synthetic import DRAWS, FEW, NAN, ODD, comparison, odd, random_comparison, standard

FIGURES = {
    "3": (factor_plane, factor_plane_data),
    "5": (operation_moves, operation_moves_data),
}
ENDINGS = ("pdf", "png", "svg")


@pytest.fixture(autouse=True)
def drawn_as_the_rule_draws():
    """The workflow's style, and no figure left open."""
    style.apply()
    yield
    plt.close("all")


def through_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame as the drawing script reads it."""
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)))


def drawn(number: str, frame: pd.DataFrame) -> Figure:
    """The figure, laid out, with every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = FIGURES[number][0].draw(through_csv(frame), "synthetic")
        figure.canvas.draw()
    return figure


def cells_of(
    flips: list[float], skews: list[float], accuracies: list[float] | None = None, k: int = 4
) -> pd.DataFrame:
    """First-token cells as figure 3 reads them."""
    n = len(flips)
    flip_rate, skew = np.array(flips), np.array(skews)
    return pd.DataFrame(
        {
            "checkpoint": [f"m{i}" for i in range(n)], "benchmark": "x", "K": k,
            "flip_rate": flip_rate, "skew": skew,
            "pooled_sd": np.where(flip_rate > 0, flip_rate * skew, 0.0),
            "accuracy": accuracies or np.linspace(0.9, 0.2, n),
        }
    )  # fmt: skip


def plane(cells: pd.DataFrame) -> pd.DataFrame:
    """Figure 3's data from cells."""
    return factor_plane_data.data(SimpleNamespace(first_token=cells))


def moves(frame: pd.DataFrame, draws: int = DRAWS) -> pd.DataFrame:
    """Figure 5's data from a comparison."""
    return operation_moves_data.data(SimpleNamespace(comparison=frame, draws=draws, seed=SEED))


def many_cells(n: int) -> pd.DataFrame:
    """Any cells, some of which never flip."""
    rng = np.random.default_rng(5)
    flips = np.where(rng.random(n) < 0.02, 0.0, rng.uniform(0.02, 1, n))
    skews = np.where(flips > 0, rng.uniform(0.001, 0.4, n), NAN)
    cells = cells_of(flips.tolist(), skews.tolist(), rng.uniform(0.1, 0.95, n).tolist())
    return cells.assign(K=rng.choice([2, 3, 4, 5, 10], n))


# --- figure 3 --------------------------------------------------------------------------------


def test_the_labelled_pair_by_hand() -> None:
    # Pooled SDs 0.100, 0.101, 0.100, 0.05, 0.0502: 0 and 1 lie within 2% (FL 0.5 and 0.25: log 2),
    # 0 and 2 too (0.5 and 0.2: log 2.5), 1 and 2 (log 1.25), and 3 and 4 (0.1 and 0.9: log 9).
    flips = [0.5, 0.25, 0.2, 0.9, 0.1]
    cells = cells_of(flips, [0.1 / 0.5, 0.101 / 0.25, 0.1 / 0.2, 0.05 / 0.9, 0.0502 / 0.1])
    # The smaller flip rate comes first.
    assert opposite_pair(cells) == (4, 3)
    # Without cell 3 the next widest pair is 2 and 0.
    assert opposite_pair(cells.drop(3).reset_index(drop=True)) == (2, 0)
    frame = plane(cells)
    labelled = frame[frame["label"] != ""]
    assert set(labelled.loc[labelled["label"] == "A", "cell"]) == {"m4, x"}
    assert set(labelled.loc[labelled["label"] == "B", "cell"]) == {"m3, x"}
    # In each of the four panels.
    assert labelled["panel"].value_counts().to_dict() == dict.fromkeys(
        ("plane", "flip_rate", "skew", "pooled_sd"), 2
    )


@pytest.mark.parametrize(
    ("flips", "skews"),
    [
        ([], []),
        ([0.5], [0.1]),
        ([0.5, 0.2], [0.1, 0.1]),  # SDs too far apart
        ([0.5, 0.5], [0.1, 0.1]),  # not from opposite factors
        ([0.5, 0.0], [0.1, NAN]),  # a cell that never flips has no log
        ([0.5, 0.25], [0.0, 0.0]),  # equal pooled SDs of zero
    ],
)
def test_no_pair_to_label(flips: list[float], skews: list[float]) -> None:
    assert opposite_pair(cells_of(flips, skews)) is None


def test_nearly_equal_is_less_than_two_percent_of_the_larger() -> None:
    # 0.09802 is 1.98% below 0.1 (and 0.1 is 2.02% above it); 0.0979 is 2.1% below.
    assert opposite_pair(cells_of([0.5, 0.2], [0.1 / 0.5, 0.09802 / 0.2])) == (1, 0)
    assert opposite_pair(cells_of([0.5, 0.2], [0.1 / 0.5, 0.0979 / 0.2])) is None


@FEW
@given(st.integers(0, 10_000), st.integers(0, 12))
def test_the_labelled_pair_is_the_slow_loops(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    flips = (rng.integers(0, 11, n) / 10).tolist()
    skews = [rng.choice([0.0, *np.arange(1, 13) / 48]) if f else NAN for f in flips]
    cells = cells_of(flips, skews)
    best, found = 0.0, None
    for i in range(n):
        for j in range(n):
            if not (0 < flips[i] < flips[j] and skews[i] > 0 and skews[j] > 0):
                continue
            one, other = cells["pooled_sd"][i], cells["pooled_sd"][j]
            if abs(one - other) < 0.02 * max(one, other):
                distance = math.log(flips[j]) - math.log(flips[i])
                if distance > best + 1e-12:
                    best, found = distance, (i, j)
    pair = opposite_pair(cells)
    if found is None:
        assert pair is None
        return
    assert math.isclose(math.log(flips[pair[1]]) - math.log(flips[pair[0]]), best)
    sds = cells["pooled_sd"][list(pair)]
    assert sds.max() - sds.min() < 0.02 * sds.max()


def test_every_cell_is_drawn_and_correlated() -> None:
    cells = standard().inputs().first_token
    frame = factor_plane_data.data(standard().inputs())
    assert list(frame.columns) == ["panel", "series", "x", "y", "label", "cell", "n"]
    axes = {"plane": ("flip_rate", "skew")} | {
        s: ("accuracy", s) for s in ("flip_rate", "skew", "pooled_sd")
    }
    for panel, (x, y) in axes.items():
        rows = frame[(frame["panel"] == panel) & (frame["series"] != "spearman")]
        assert np.array_equal(rows["x"], cells[x])
        assert np.array_equal(rows["y"], cells[y], equal_nan=True)
        assert rows["series"].tolist() == [f"K={k}" for k in cells["K"]]
        if panel == "plane":
            continue
        kept = cells[cells[y].notna()]
        ones = [1] * len(kept)
        r = slow.weighted_spearman(kept[y].tolist(), kept["accuracy"].tolist(), ones)
        (row,) = frame[(frame["panel"] == panel) & (frame["series"] == "spearman")].to_dict(
            "records"
        )
        assert row["y"] == pytest.approx(r, abs=1e-12)
        assert row["n"] == len(kept)


def test_figure_3_shows_its_data() -> None:
    frame = factor_plane_data.data(standard().inputs())
    figure = drawn("3", frame)
    left, *others = figure.axes
    assert [a.get_ylabel() for a in others] == ["Flip rate", "Positional skew", "Pooled SD"]
    for axis, panel in zip(figure.axes, ("plane", "flip_rate", "skew", "pooled_sd"), strict=True):
        rows = frame[(frame["panel"] == panel) & (frame["series"] != "spearman")]
        points = np.concatenate([c.get_offsets() for c in axis.collections])
        expected = rows[["x", "y"]].dropna().to_numpy()
        shown = points[~np.isnan(np.ma.filled(points, np.nan)).any(axis=1)]
        assert sorted(map(tuple, np.asarray(shown))) == sorted(map(tuple, expected))
        letters = sorted(t.get_text() for t in axis.texts if t.get_text() in ("A", "B"))
        assert letters == ["A", "B"]
    titles = [a.get_title() for a in others]
    values = frame.loc[frame["series"] == "spearman", "y"]
    for title, r in zip(titles, values, strict=True):
        assert f"{r:.2f}".replace("-", "\u2212") in title
        assert "-" not in title
    assert "(19 cells)" in titles[0]
    assert "(17 cells)" in titles[1]
    legend = [t.get_text() for t in figure.legends[0].get_texts()]
    assert legend == ["K = 2", "K = 4", "K = 10"]
    assert "synthetic" in figure.get_suptitle()
    # Along a dashed curve the flip rate times the skew is one number.
    for line in left.lines:
        product = np.asarray(line.get_xdata()) * np.asarray(line.get_ydata())
        assert np.ptp(product) < 1e-12


# --- figure 5 --------------------------------------------------------------------------------


def test_the_moves_are_the_log_changes() -> None:
    inputs = standard().inputs()
    effects = operation_effects(inputs.comparison, inputs.draws, inputs.seed)
    frame = operation_moves_data.data(inputs).set_index("operation")
    assert frame["parent"].to_dict() == {
        "pride": "none", "batch": "none", "reversal": "none", "pride+reversal": "pride",
        "batch+reversal": "batch", "pride+batch": "pride",
    }  # fmt: skip
    for operation, row in frame.iterrows():
        for axis, factor in (("x", "flip_rate"), ("y", "skew")):
            e = effects.log_change(factor, operation)
            found = [row[axis], row[f"{axis}_low"], row[f"{axis}_high"], row[f"n_{axis}"]]
            assert found == [e.value, e.interval.low, e.interval.high, e.n]
    assert set(frame["checkpoints"]) == {5}


def test_figure_5_shows_its_data() -> None:
    frame = operation_moves_data.data(standard().inputs())
    figure = drawn("5", frame)
    axis = figure.axes[0]
    legend = [t.get_text() for t in figure.legends[0].get_texts()]
    assert legend == [
        "no operation", "PriDe", "Batch calibration", "Reversal product", "PriDe then reversal",
        "Batch then reversal", "PriDe then batch",
    ]  # fmt: skip
    ends = {row["operation"]: (row["x"], row["y"]) for _, row in frame.iterrows()}
    ends["none"] = (0.0, 0.0)
    arrows = {(tuple(map(float, t.xyann)), tuple(map(float, t.xy))) for t in axis.texts}
    assert arrows == {(ends[r["parent"]], ends[r["operation"]]) for _, r in frame.iterrows()}
    assert "cells of 5 checkpoints" in figure.get_suptitle()


def test_a_parent_that_is_undefined_draws_no_arrow() -> None:
    # The reversal product ends every flip, so PriDe has no common cell; PriDe then batch, which
    # starts its arrow at PriDe, has its own.
    cells = [("A", "x"), ("B", "x")]
    gone = {(*c, "reversal"): {"flip_rate": 0.0, "skew": NAN} for c in cells}
    frame = moves(comparison(gone, cells))
    both = frame.set_index("operation")["x"]
    assert math.isnan(both["pride"])
    assert both["pride+batch"] == 0
    drawn("5", frame)


# --- any size, any cohort --------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 500])
def test_figure_3_draws_any_number_of_cells(n: int) -> None:
    figure = drawn("3", plane(many_cells(n)))
    texts = [t for t in figure.axes[0].texts if t.get_text() in ("A", "B")]
    assert len(texts) == (2 if n == 500 else 0)


@pytest.mark.parametrize(("seed", "size", "n"), [(0, (1, 2), 2), (1, (45, 14), 506)])
def test_figure_5_draws_any_number_of_cells(seed: int, size: tuple[int, int], n: int) -> None:
    cells = random_comparison(seed, *size)
    assert len(cells) == 8 * n
    drawn("5", moves(cells, draws=20))


def test_operations_that_change_nothing_draw() -> None:
    frame = moves(comparison({}, [("A", "x"), ("B", "x")]))
    assert (frame[["x", "y"]] == 0).all(axis=None)
    drawn("5", frame)


@pytest.mark.parametrize("name", list(ODD))
@pytest.mark.parametrize("number", list(FIGURES))
def test_odd_cohorts_draw(number: str, name: str) -> None:
    drawn(number, FIGURES[number][1].data(odd(name).inputs()))


def test_marks_tell_option_counts_apart() -> None:
    ks = style.k_styles([2, 4, 10])
    assert len(set(ks.values())) == 3
    # What a K looks like does not depend on the others.
    assert style.k_styles([4, 7]) == {4: ks[4], 7: style.k_styles([7])[7]}
    assert len(set(style.k_styles([2, 3, 4, 5, 8, 10]).values())) == 6
    assert len({marker for _, marker in style.OPERATION_STYLES.values()}) == 7
    assert len({to_rgba(colour) for colour, _ in style.OPERATION_STYLES.values()}) == 7
    sizes = [style.marker_size(n) for n in (0, 1, 2, 20, 100, 500, 10_000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 7
    assert sizes[0] == 26


@pytest.mark.parametrize("number", list(FIGURES))
def test_files_drawn_twice_are_the_same_bytes(number: str, tmp_path: Path) -> None:
    module, data = FIGURES[number]
    frame = data.data(standard().inputs())
    for folder in ("a", "b"):
        style.apply()
        figure = module.draw(through_csv(frame), "synthetic")
        paths = [tmp_path / folder / f"figure{number}.{ending}" for ending in ENDINGS]
        style.save(figure, paths, f"Figure {number}. {module.TITLE}")
    assert not plt.get_fignums()
    names = sorted(f"figure{number}.{ending}" for ending in ENDINGS)
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == names
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    pdf = (tmp_path / "a" / f"figure{number}.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"/Type3" not in pdf
    # Every font that is named comes with its outlines.
    fonts = set(re.findall(rb"/FontName /(\S+)", pdf))
    assert fonts
    assert pdf.count(b"/FontFile2") >= len(fonts)
    assert b"/CreationDate" not in pdf
    svg = (tmp_path / "a" / f"figure{number}.svg").read_text(encoding="utf-8")
    # Letters are drawn as paths: no reader needs the font.
    assert "<text" not in svg
    assert "<dc:date>" not in svg
    assert module.TITLE in svg


@pytest.mark.parametrize("width", [style.ONE_COLUMN, style.TWO_COLUMNS])
def test_a_long_heading_stays_inside_the_figure(width: float) -> None:
    figure, _ = plt.subplots(figsize=(width, 2))
    style.heading(figure, "Simulated-72B-" * 5, "first-token readout of many cells and checkpoints")
    figure.canvas.draw()
    box = figure._suptitle.get_window_extent()
    assert 0 <= box.x0 and box.x1 <= figure.bbox.x1
