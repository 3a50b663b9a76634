"""What Figure 1 draws: a flip, two constructed models of one pooled SD, and the measured moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optionbias.design import Design
from optionbias.factors import CellStatistics, cell_statistics, contents_of, flipping
from optionbias.operation_effects import COMMON, Effects, operation_effects
from optionbias.orderings import LETTERS, cyclic
from optionbias.tables.inputs import Inputs

K = 4
COLUMNS = ["panel", "series", "label", "row", "column", "value", "x", "y", "n"]
# Twelve questions each; a question's letters under the orderings pi_0 to pi_3. Questions that
# keep an option spell a rotation of ABCD. Each model's flipping answers lean to A.
MODEL_X = (
    "AABC", "ACAD", "BAAD", "AACB", "ADAC", "DAAB", "ABBC", "ACCD", "DABD",
    "ABCD", "CDAB", "DABC",
)  # fmt: skip
MODEL_Y = (
    "AAAB", "AACA", "ADAA",
    "ABCD", "BCDA", "CDAB", "DABC", "ABCD", "CDAB", "BCDA", "DABC", "CDAB",
)  # fmt: skip
# Panel (a): one question whose answer stays on an option, one whose answer stays on a letter.
STAYS = {"option": "BCDA", "letter": "AAAA"}


def letters(answers: tuple[str, ...]) -> NDArray[np.int64]:
    """Chosen positions, shape (questions, K), of answers spelt as letters."""
    return np.array([[LETTERS.index(letter) for letter in row] for row in answers])


def constructed() -> dict[str, CellStatistics]:
    """The two models, checked: one pooled SD, and the factors differ in opposite directions.

    X flips on 9 of 12 questions, their 36 answers falling (15, 7, 7, 7) on the letters; Y on 3 of
    12, their 12 answers (9, 1, 1, 1): a third of the flips with three times the deviation from 1/4.
    """
    x, y = (model_statistics(model) for model in (MODEL_X, MODEL_Y))
    assert abs(x.pooled_sd - y.pooled_sd) < 1e-15
    assert x.flip_rate > 2 * y.flip_rate and y.skew > 2 * x.skew
    return {"X": x, "Y": y}


def model_statistics(answers: tuple[str, ...]) -> CellStatistics:
    """The statistics of constructed answers; the option kept by the last question is the gold."""
    z = contents_of(letters(answers), cyclic(K))
    return cell_statistics(z, np.full(len(z), z[-1, 0]), Design.of(cyclic(K)))


def data(inputs: Inputs) -> pd.DataFrame:
    """What is drawn, one row a mark.

    Panels: `a` (series option, letter; row = ordering, column = position, value = the option shown
    there, label `chosen` or empty); `questions` (series X, Y; row = question, column = position,
    value = share of its answers, label flipping or stable); `shares` (label flipped, all; value =
    share of those answers at the position); `statistics` (label = the statistic's name); `c`
    (series = operation, x = flip rate, y = skew, n = cells of the smaller common set).
    """
    rows = (
        _flip() + _models() + _moves(operation_effects(inputs.comparison, 1, inputs.seed), inputs)
    )
    return pd.DataFrame(rows, columns=COLUMNS)


def _flip() -> list[dict[str, Any]]:
    shown = np.argsort(cyclic(K), axis=1)
    rows = []
    for series, spelt in STAYS.items():
        chosen = letters((spelt,))[0]
        flips = bool(flipping(contents_of(chosen[None], cyclic(K)), Design.of(cyclic(K)))[0])
        assert flips == (series == "letter")
        rows += [
            {
                "panel": "a", "series": series, "row": s, "column": r, "value": shown[s, r],
                "label": "chosen" if chosen[s] == r else "",
            }
            for s in range(K) for r in range(K)
        ]  # fmt: skip
    return rows


def _models() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    statistics = constructed()
    for series, model in (("X", MODEL_X), ("Y", MODEL_Y)):
        positions, s = letters(model), statistics[series]
        flips = flipping(contents_of(positions, cyclic(K)), Design.of(cyclic(K)))
        for question, row in enumerate(positions):
            for r in range(K):
                state = "flipping" if flips[question] else "stable"
                rows.append(
                    {
                        "panel": "questions", "series": series, "label": state, "row": question,
                        "column": r, "value": float((row == r).mean()),
                    }
                )  # fmt: skip
        for label, shares in (("flipped", s.g), ("all", s.f)):
            rows += [
                {
                    "panel": "shares",
                    "series": series,
                    "label": label,
                    "column": r,
                    "value": shares[r],
                }
                for r in range(K)
            ]
        rows += [
            {"panel": "statistics", "series": series, "label": name, "value": getattr(s, name)}
            for name in ("flip_rate", "skew", "pooled_sd")
        ]
    return rows


def _moves(effects: Effects | None, inputs: Inputs) -> list[dict[str, Any]]:
    """Geometric mean of both factors under each operation, over each factor's common cells."""
    if effects is None:
        return []
    none = inputs.comparison[inputs.comparison["operation"] == "none"]
    none = none.set_index(["checkpoint", "benchmark"]).loc[effects.cells]
    rows = []
    for operation in COMMON:
        point: dict[str, Any] = {"panel": "c", "series": operation}
        counts = []
        for axis, factor in (("x", "flip_rate"), ("y", "skew")):
            change = effects.values[factor][operation]
            common = ~np.isnan(change)
            logs = np.log(none[factor].to_numpy(dtype=np.float64)[common]) + change[common]
            point[axis] = float(np.exp(logs.mean())) if len(logs) else np.nan
            counts.append(len(logs))
        rows.append(point | {"n": min(counts)})
    return rows
