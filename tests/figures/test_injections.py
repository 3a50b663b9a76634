"""Figure 6: what is drawn, by hand and by a slow loop; any cohort, and files that do not change."""

import io
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from optionbias.figures import injections, injections_data, style
from optionbias.injections import ALPHAS, COLUMNS, OPERATIONS, SHAPES
from slow.tables import transitions as slow
from strategies import SEED
from synthetic import NAN, ODD, answers, odd, score_run, standard

DRAWS = 40
ZERO = ALPHAS.index(0.0)
NAMES = ["Baseline", "PriDe", "Batch calibration", "Reversal product", "PriDe then reversal"]
TITLES = ["(a) Front to back", "(b) Alternating", "(c) Outer versus inner", "(d) Letter A alone"]


@pytest.fixture(autouse=True)
def drawn_as_the_rule_draws():
    style.apply()
    yield
    plt.close("all")


def through_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame as the drawing script reads it."""
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)))


def drawn(frame: pd.DataFrame) -> Figure:
    """The figure, laid out, with every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = injections.draw(through_csv(frame), "synthetic")
        figure.canvas.draw()
    return figure


def inputs_of(cells: dict[tuple[str, str], list[float]], draws: int = 200) -> Any:
    """Cells by (checkpoint, benchmark), all shapes and operations with the same placement ranges."""
    frame = pd.DataFrame(
        [
            {
                "checkpoint": c, "benchmark": b, "shape": shape, "operation": operation,
                "mmlu": b.startswith("mmlu"), "n_items": 10, "placement_range": ranges,
                "ties": [1] * len(ALPHAS),
            }
            for (c, b), ranges in cells.items()
            for shape in SHAPES
            for operation in OPERATIONS
        ],
        columns=list(COLUMNS),
    )  # fmt: skip
    return SimpleNamespace(read=lambda name: {"injections": frame}[name], draws=draws, seed=SEED)


def ranges(at_zero: float, change: float) -> list[float]:
    """Placement ranges that change by as much at every strength but zero."""
    return [at_zero + (alpha != 0) * change for alpha in ALPHAS]


def test_what_is_drawn_by_hand() -> None:
    # Changes of 10, 20 and 60 pp: mean 30, and two checkpoints, so draws hold both, or one twice:
    # A alone 15, B alone 60.
    cells = {("A", "x"): ranges(0.5, 0.1), ("A", "y"): ranges(0.1, 0.2), ("B", "x"): ranges(0, 0.6)}
    frame = injections_data.data(inputs_of(cells))
    assert list(frame.columns) == injections_data.COLUMNS
    assert len(frame) == 4 * 5 * 9
    for _, row in frame.iterrows():
        expected = [0, 0, 0] if row["alpha"] == 0 else [30, 15, 60]
        assert row[["y", "y_low", "y_high"]].tolist() == pytest.approx(expected)
    assert set(frame["ties"]) == {3}
    assert frame[["n", "checkpoints", "mmlu"]].drop_duplicates().values.tolist() == [[3, 2, False]]


def test_mmlu_alone_is_drawn_where_there_is_some() -> None:
    cells = {("A", "x"): ranges(0, 0.1), ("B", "x"): ranges(0, 0.1), ("B", "mmlu"): ranges(0, 0.4)}
    frame = injections_data.data(inputs_of(cells))
    assert frame.loc[frame["alpha"] != 0, "y"].tolist() == pytest.approx([40] * 160)
    assert frame[["n", "checkpoints", "mmlu"]].drop_duplicates().values.tolist() == [[1, 1, True]]
    title = drawn(frame).get_suptitle()
    assert title.startswith("Cohort synthetic: MMLU, 1 four-option cell of 1 checkpoint;")
    # Of the reversal product alone, four shapes at nine strengths.
    assert "36 ties of the reversal product" in title


def test_every_point_is_the_slow_loops() -> None:
    run = score_run(
        [answers(c, b, 4, n=8) for c, b in (("A", "mmlu_x"), ("B", "mmlu_x"), ("B", "other"))]
    )
    frame = injections_data.data(run.inputs(DRAWS)).set_index(["shape", "operation", "alpha"])
    expected = slow.figure6(run, DRAWS)
    assert set(frame.index) == set(expected)
    for key, values in expected.items():
        found = frame.loc[key, ["y", "y_low", "y_high"]].astype(float)
        assert np.allclose(found, values, rtol=0, atol=1e-10), key


def test_figure_6_shows_its_data() -> None:
    frame = injections_data.data(standard().inputs(DRAWS))
    figure = drawn(frame)
    assert [axis.get_title() for axis in figure.axes] == TITLES
    for axis, shape in zip(figure.axes, SHAPES, strict=True):
        lines = {line.get_label(): line for line in axis.lines if line.get_marker() != "None"}
        assert list(lines) == NAMES
        for name, operation in zip(NAMES, OPERATIONS, strict=True):
            rows = frame[(frame["shape"] == shape) & (frame["operation"] == operation)]
            assert lines[name].get_xdata() == pytest.approx(rows["alpha"].to_numpy())
            assert lines[name].get_ydata() == pytest.approx(rows["y"].to_numpy())
        bands = [band.get_paths()[0].vertices for band in axis.collections]
        assert len(bands) == len(OPERATIONS)
        shown = frame[frame["shape"] == shape]
        highest = max(band[:, 1].max() for band in bands)
        assert highest == pytest.approx(shown["y_high"].max())
    assert [t.get_text() for t in figure.legends[0].get_texts()] == NAMES
    assert "no MMLU but 9 four-option cells of 5 checkpoints" in figure.get_suptitle()
    # Told apart without colour.
    first = [line for line in figure.axes[0].lines if line.get_marker() != "None"]
    assert len({line.get_marker() for line in first}) == len(OPERATIONS)


def test_texts_are_legible_and_apart() -> None:
    figure = drawn(injections_data.data(standard().inputs(DRAWS)))
    texts = [t for t in figure.findobj(plt.Text) if t.get_text() and t.get_visible()]
    assert min(t.get_fontsize() for t in texts) >= 5.5
    page = figure.bbox
    (legend,) = figure.legends
    boxes = [axis.get_tightbbox() for axis in figure.axes] + [legend.get_window_extent()]
    for box in boxes:
        assert page.x0 <= box.x0 < box.x1 <= page.x1
        assert page.y0 <= box.y0 < box.y1 <= page.y1
    for axis in figure.axes:
        assert not axis.get_tightbbox().overlaps(legend.get_window_extent())


def test_nothing_that_changes_draws_a_flat_line() -> None:
    figure = drawn(injections_data.data(inputs_of({("A", "mmlu"): ranges(0.1 + 0.2, 0)})))
    low, high = figure.axes[0].get_ylim()
    assert low <= -1
    assert high >= 1


@pytest.mark.parametrize("n", [1, 500])
def test_any_number_of_cells(n: int) -> None:
    rng = np.random.default_rng(n)
    cells = {(f"m{i}", "x"): rng.random(len(ALPHAS)).tolist() for i in range(n)}
    drawn(injections_data.data(inputs_of(cells, draws=20)))


@pytest.mark.parametrize("name", list(ODD))
def test_odd_cohorts_draw(name: str) -> None:
    frame = injections_data.data(odd(name).inputs(DRAWS))
    figure = drawn(frame)
    nothing = "no four-option cell" in figure.get_suptitle()
    assert nothing == frame.empty
    assert bool(figure.legends) != frame.empty
    assert not frame[["y", "y_low", "y_high"]].isin([NAN]).any(axis=None)


def test_a_file_drawn_twice_is_the_same_bytes(tmp_path: Path) -> None:
    frame = injections_data.data(inputs_of({("A", "mmlu"): ranges(0.1, 0.2)}))
    paths = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for path in paths:
        style.apply()
        style.save(injections.draw(through_csv(frame), "synthetic"), [path], injections.TITLE)
    assert paths[0].read_bytes() == paths[1].read_bytes()
