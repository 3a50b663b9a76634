"""Figure 4: what is drawn, by a slow loop, and how it is drawn."""

import io
import math
import warnings
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from optionbias.figures import strengths, strengths_data, style
from optionbias.tables.strengths import table6
from slow import strengths as slow
from slow.tables.strengths import by_strength
from synthetic import ODD, Run, answers, odd, score_run, standard

LABELS = {"skew": "dlog skew", "flip_rate": "dlog flip rate"}


@pytest.fixture(autouse=True)
def drawn_as_the_rule_draws():
    """The workflow's style, and no figure left open."""
    style.apply()
    yield
    plt.close("all")


@cache
def small() -> Run:
    """Three checkpoints on four and two options."""
    sweeps = [answers(c, "four", 4, 14) for c in ("A", "B", "C")]
    return score_run([*sweeps, answers("A", "two", 2, 16), answers("C", "two", 2, 16)])


def drawn(run: Run) -> tuple[Figure, pd.DataFrame]:
    """The figure of a run as the drawing script makes it, laid out, with warnings as errors."""
    text = strengths_data.data(run.inputs(20)).to_csv(index=False)
    frame = pd.read_csv(io.StringIO(text))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = strengths.draw(frame, "synthetic")
        figure.canvas.draw()
    return figure, frame


def test_every_point_is_the_slow_loops() -> None:
    frame = strengths_data.data(small().inputs(draws=15)).set_index(["panel", "series", "x"])
    keys = [
        (panel, series, alpha)
        for panel in ("skew", "flip_rate")
        for series in ("estimated", "permuted")
        for alpha in slow.ALPHAS
    ]
    assert list(frame.index) == keys
    assert (frame["checkpoints"] == 3).all()
    for panel, series, alpha in keys:
        expected = by_strength(small(), panel, alpha, series, draws=15)
        found = frame.loc[(panel, series, alpha), ["y", "y_low", "y_high"]].astype(float)
        assert np.allclose(found, expected, rtol=0, atol=1e-10), (panel, series, alpha)


def test_the_points_are_those_of_table_6() -> None:
    frame = strengths_data.data(standard().inputs()).set_index(["panel", "series", "x"])
    tidy = table6(standard().inputs()).tidy().set_index(["row", "column"])
    for panel, label in LABELS.items():
        for series in ("estimated", "permuted"):
            for alpha in (0.5, 1.0):
                entry = tidy.loc[(f"{label}, {series}", f"alpha={alpha:g}")]
                point = frame.loc[(panel, series, alpha)]
                assert [entry["value"], entry["ci_low"], entry["ci_high"], entry["n"]] == [
                    point["y"], point["y_low"], point["y_high"], point["n"],
                ]  # fmt: skip


def test_the_lines_hold_the_points() -> None:
    figure, frame = drawn(standard())
    for axis, panel in zip(figure.axes, ("skew", "flip_rate"), strict=True):
        lines = {line.get_label(): line for line in axis.get_lines()}
        for series, label in (
            ("estimated", "estimated prior"),
            ("permuted", "letter-permuted prior"),
        ):
            rows = frame[(frame["panel"] == panel) & (frame["series"] == series)]
            assert np.allclose(lines[label].get_xydata(), rows[["x", "y"]])
        # Told apart without colour.
        kinds = {(lines[n].get_marker(), lines[n].get_linestyle()) for n in lines if " " in n}
        assert len(kinds) == 2
        assert len(axis.collections) == 2
    assert figure.get_suptitle() == "Cohort synthetic: 16 to 17 cells of 5 checkpoints"


@pytest.mark.parametrize("name", list(ODD))
def test_odd_cohorts_are_drawn(name: str) -> None:
    figure, frame = drawn(odd(name))
    said = figure.get_suptitle()
    if name in ("no first-token readout", "cells of one item"):
        assert frame.empty
        assert said == "Cohort synthetic: no first-token cell"
    if name == "one cell":
        assert said == "Cohort synthetic: 1 cell of 1 checkpoint"
    assert all(math.isfinite(v) for axis in figure.axes for v in axis.get_ylim())
    assert figure.axes[0].get_ylim()[1] - figure.axes[0].get_ylim()[0] > 0.01
