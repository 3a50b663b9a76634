"""Figures 1 and 2: the constructed examples by hand, the measured moves, files of any cohort."""

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

from optionbias.figures import identity, identity_data, overview, overview_data, style
from strategies import SEED
from synthetic import NAN, ODD, comparison, odd, random_comparison, standard

FIGURES = {"1": (overview, overview_data), "2": (identity, identity_data)}
FIVE = ("pride", "batch", "reversal", "pride+reversal", "batch+reversal")


@pytest.fixture(autouse=True)
def drawn_as_the_rule_draws():
    """The workflow's style, and no figure left open."""
    style.apply()
    yield
    plt.close("all")


def drawn(number: str, frame: pd.DataFrame, cohort: str = "synthetic") -> plt.Figure:
    """The figure from its CSV, laid out, with every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
        figure = FIGURES[number][0].draw(read, cohort)
        figure.canvas.draw()
    return figure


def moves(frame: pd.DataFrame) -> pd.DataFrame:
    """Panel (c) of Figure 1 from a comparison."""
    data = overview_data.data(SimpleNamespace(comparison=frame, draws=10, seed=SEED))
    return data[data["panel"] == "c"].set_index("series")


def texts(figure: plt.Figure) -> str:
    """Everything that the figure says."""
    found = [t.get_text() for t in figure.findobj(lambda o: hasattr(o, "get_text"))]
    return "\n".join(found)


# --- figure 1 --------------------------------------------------------------------------------


def test_two_models_of_one_pooled_sd_by_hand() -> None:
    x, y = overview_data.constructed().values()
    # X: 9 of 12 questions flip, 36 answers of which 15 on A and 7 on each other letter:
    # deviations 15/36 - 9/36 = 1/6 and 7/36 - 9/36 = -1/18, SD sqrt((1/36 + 3/324) / 4).
    assert x.flip_rate == 9 / 12
    assert (36 * x.g).tolist() == [15, 7, 7, 7]
    assert x.skew == pytest.approx(math.sqrt((1 / 36 + 3 / 324) / 4), abs=1e-15)
    # Y: 3 of 12 flip, 12 answers of which 9 on A: deviations 1/2 and -1/6, three times X's.
    assert y.flip_rate == 3 / 12
    assert (12 * y.g).tolist() == [9, 1, 1, 1]
    assert y.skew == pytest.approx(3 * x.skew, abs=1e-15)
    # All 48 answers: 18 on A and 10 on each other letter, for both.
    assert (48 * x.f).tolist() == (48 * y.f).tolist() == [18, 10, 10, 10]
    assert x.pooled_sd == y.pooled_sd == pytest.approx(x.flip_rate * x.skew, abs=1e-15)


def test_a_flip_by_hand() -> None:
    frame = overview_data.data(standard().inputs())
    chosen = frame[(frame["panel"] == "a") & (frame["label"] == "chosen")]
    option, letter = (chosen[chosen["series"] == s] for s in ("option", "letter"))
    # One option, once on every letter; one letter, every option once.
    assert option["value"].tolist() == [1] * 4 and option["column"].tolist() == [1, 2, 3, 0]
    assert letter["column"].tolist() == [0] * 4 and letter["value"].tolist() == [0, 3, 2, 1]
    # Every row and column of the grid holds every option once.
    grid = frame[(frame["panel"] == "a") & (frame["series"] == "letter")]
    square = grid.pivot(index="row", columns="column", values="value").to_numpy()
    assert all(sorted(line) == [0, 1, 2, 3] for line in [*square, *square.T])


def test_the_moves_by_hand() -> None:
    # Flip rates 0.4 and 0.9 (geometric mean 0.6) halve under PriDe on one cell alone: 0.6/sqrt 2.
    cells = [("A", "x"), ("B", "x"), ("C", "x")]
    effects = {("A", "x", op): {"flip_rate": 0.4, "skew": 0.2} for op in ("none", *FIVE)}
    effects |= {("B", "x", op): {"flip_rate": 0.9, "skew": 0.2} for op in ("none", *FIVE)}
    effects["A", "x", "pride"] = {"flip_rate": 0.2, "skew": 0.05}
    # C does not flip under the reversal product: it is no common cell.
    effects["C", "x", "reversal"] = {"flip_rate": 0.0, "skew": NAN}
    found = moves(comparison(effects, cells))
    assert list(found.index) == ["none", *FIVE]
    assert found.loc["none", ["x", "y"]].tolist() == pytest.approx([0.6, 0.2], abs=1e-15)
    expected = [0.6 / math.sqrt(2), 0.2 / 2]
    assert found.loc["pride", ["x", "y"]].tolist() == pytest.approx(expected, abs=1e-15)
    assert set(found["n"]) == {2}


def test_the_moves_of_the_standard_run_are_geometric_means() -> None:
    rows = standard().inputs().comparison
    found = moves(rows)
    for axis, factor in (("x", "flip_rate"), ("y", "skew")):
        cells: dict[tuple[str, str], dict[str, float]] = {}
        for row in rows.to_dict("records"):
            key = row["checkpoint"], row["benchmark"]
            cells.setdefault(key, {})[row["operation"]] = row[factor]
        common = [c for c in cells.values() if all(c[op] > 0 for op in ("none", *FIVE))]
        for operation in ("none", *FIVE):
            logs = [math.log(c[operation]) for c in common]
            expected = math.exp(math.fsum(logs) / len(logs))
            assert found[axis][operation] == pytest.approx(expected, abs=1e-12)


def test_figure_1_shows_its_data() -> None:
    frame = overview_data.data(standard().inputs())
    figure = drawn("1", frame)
    check_texts(figure)
    said = texts(figure)
    assert "0.75 × 0.096 = 0.072" in said and "0.25 × 0.289 = 0.072" in said
    assert "cohort synthetic" in said and "geometric means, 12 cells, K" in said
    axis = figure.subfigs[2].axes[0]
    points = frame[frame["panel"] == "c"]
    drawn_points = np.concatenate([c.get_offsets() for c in axis.collections])
    assert np.allclose(drawn_points, points[["x", "y"]].to_numpy(dtype=float))
    arrows = {tuple(t.xyann) for t in axis.texts if t.arrow_patch is not None}
    assert arrows == {tuple(drawn_points[0])}
    # Along the dashed curve the pooled SD is the baseline's.
    (curve,) = axis.lines
    product = np.asarray(curve.get_xdata()) * np.asarray(curve.get_ydata())
    assert np.allclose(product, np.prod(drawn_points[0]), rtol=1e-12)
    labels = [t.get_text() for t in figure.subfigs[2].legends[0].get_texts()]
    assert labels[:2] == ["equal pooled SD", "Baseline"] and len(labels) == 7


@pytest.mark.parametrize("name", list(ODD))
def test_odd_cohorts_say_what_they_lack(name: str) -> None:
    frame = overview_data.data(odd(name).inputs())
    empty = (frame["panel"] != "c").all()
    assert empty == (name not in ("one checkpoint", "one cell", "no cell flips"))
    if empty and name != "no reversals":
        return  # the same picture
    said = texts(drawn("1", frame))
    assert ("no cell with reversed" in said) == empty
    assert ("no cell with both factors" in said) == (name == "no cell flips")


def test_figure_1_draws_many_cells_and_a_long_name() -> None:
    inputs = SimpleNamespace(comparison=random_comparison(1, 45, 14), draws=10, seed=SEED)
    check_texts(
        drawn("1", overview_data.data(inputs), "a-cohort-with-a-name-of-some-forty-letters")
    )


def test_operations_that_change_nothing_draw() -> None:
    inputs = SimpleNamespace(comparison=comparison({}, [("A", "x")]), draws=10, seed=SEED)
    assert "geometric means, 1 cell, K" in texts(drawn("1", overview_data.data(inputs)))


# --- figure 2 --------------------------------------------------------------------------------


def test_the_identity_by_hand() -> None:
    frame = identity_data.data(None)
    values = {name: rows["value"].tolist() for name, rows in frame.groupby("panel")}
    # Four of ten items flip. AABA, AABC, BAAD, ACAC: 9 A, 3 B, 3 C, 1 D of 16 answers.
    assert values["flip_rate"] == [0.4]
    assert values["g"] == [9 / 16, 3 / 16, 3 / 16, 1 / 16]
    # f = 0.6 / 4 + 0.4 g.
    assert values["f"] == pytest.approx([0.375, 0.225, 0.225, 0.175], abs=1e-15)
    # Deviations of g from 1/4: 5, -1, -1, -3 sixteenths: SD sqrt(36 / 4) / 16 = 3/16.
    assert values["skew"] == pytest.approx([3 / 16], abs=1e-15)
    assert values["pooled_sd"] == pytest.approx([0.4 * 3 / 16], abs=1e-15)
    assert values["stable-wrong shares"] == [0.25] * 4
    assert values["flipping shares"] == [0.75, 0.25, 0, 0]
    wrong = frame[frame["panel"] == "stable-wrong"]
    assert wrong.loc[wrong["label"] == "chosen", "value"].tolist() == [2] * 4
    assert wrong.loc[wrong["label"] == "gold", "column"].tolist() == [0, 1, 2, 3]
    flip = frame[frame["panel"] == "flipping"]
    chosen = flip[flip["label"].str.contains("chosen")]
    assert chosen["value"].tolist() == [0, 3, 3, 1]
    assert flip.loc[flip["label"] == "gold chosen", "row"].tolist() == [0]


def test_figure_2_shows_its_data() -> None:
    frame = identity_data.data(None)
    figure = drawn("2", frame)
    check_texts(figure)
    said = texts(figure)
    for text in ("0.60 ×", "0.40 ×", "0.075 = 0.40 × 0.188", "Stable-wrong item", "Flipping item"):
        assert text in said
    bars = {
        name: [p.get_height() for p in axis.patches]
        for name, axis in zip(("even", "g", "f"), figure.subfigs[2].axes, strict=True)
    }
    for name, heights in bars.items():
        assert heights == pytest.approx(frame.loc[frame["panel"] == name, "value"].tolist())
    # No bar is cut off.
    for axis in figure.findobj(plt.Axes):
        tops = [p.get_y() + p.get_height() for p in axis.patches]
        assert not tops or max(tops) <= max(axis.get_ylim())


# --- both ------------------------------------------------------------------------------------


def check_texts(figure: plt.Figure) -> None:
    """Every text at least 5.5 points, and nothing beyond the page."""
    assert figure.get_size_inches()[0] == style.TWO_COLUMNS
    shown = [t for t in figure.findobj(plt.Text) if t.get_text().strip()]
    assert min(t.get_fontsize() for t in shown) >= 5.5
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert box.x0 >= -0.01 and box.x1 <= width + 0.01
    assert box.y0 >= -0.01 and box.y1 <= height + 0.01


@pytest.mark.parametrize("number", list(FIGURES))
def test_files_drawn_twice_are_the_same_bytes(number: str, tmp_path: Path) -> None:
    module, data = FIGURES[number]
    frame = data.data(standard().inputs())
    for folder in ("a", "b"):
        style.apply()
        paths = [tmp_path / folder / f"figure.{ending}" for ending in ("pdf", "svg")]
        read = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
        style.save(module.draw(read, "synthetic"), paths, f"Figure {number}. {module.TITLE}")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name
    svg = (tmp_path / "a" / "figure.svg").read_text(encoding="utf-8")
    assert not re.search(r"<text|<dc:date>", svg)
