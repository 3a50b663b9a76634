"""Adding a known letter preference to every stored query of four-option cells (Figure 6, D.3).

A preference of a known shape and strength alpha is added to the letters' logits under all cyclic
and reversed orderings; queries are renormalised, priors estimated anew on the calibration items,
and every operation answers the evaluation items again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optionbias.analysis import Settings
from optionbias.cell import answer_cell
from optionbias.evaluation import EvaluationItems
from optionbias.factors import positions_of
from optionbias.operations import correction_shift, mirrored_shift, product_scores
from optionbias.shifted_choices import shifted_choices
from optionbias.short_axis import log_softmax
from optionbias.sweep import Sweep

K = 4
SMALL = 1_000
SHAPES: dict[str, tuple[int, ...]] = {
    "front-back": (1, 1, -1, -1),
    "alternating": (1, -1, 1, -1),
    "outer-inner": (1, -1, -1, 1),
    "letter A": (1, 0, 0, 0),
}
# Opposite on mirrored letters, so the reversal product must not notice them.
CANCELLED = ("front-back", "alternating")
ALPHAS = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0)
OPERATIONS = ("none", "pride", "batch", "reversal", "pride+reversal")
COLUMNS = (
    "checkpoint", "benchmark", "shape", "operation", "mmlu", "n_items", "placement_range", "ties",
)  # fmt: skip


class InjectionError(AssertionError):
    """The reversal product noticed a preference that mirroring cancels; the message says where."""


def direction(shape: str) -> NDArray[np.float64]:
    """A shape of SHAPES centred on zero with a root mean square of one logit, (K,)."""
    centred = np.array(SHAPES[shape], dtype=np.float64)
    centred -= centred.mean()
    return centred / np.sqrt((centred**2).mean())


def is_mmlu(benchmark: str) -> bool:
    """Whether a benchmark is MMLU or a part of it, by its name."""
    return benchmark.lower().startswith("mmlu")


def analyse(benchmark: str, sweeps: Iterable[Sweep], settings: Settings) -> list[dict[str, Any]]:
    """One row per cell, shape and operation, for benchmarks of four options.

    MMLU is injected; other benchmarks where there is no MMLU and none of their sweeps has more
    than 1,000 items.
    `placement_range` and `ties` (answers decided by the tie rule) are lists over ALPHAS.

    Raises:
        InjectionError: see `injected_cell`.
    """
    mmlu = is_mmlu(benchmark)
    if not mmlu and any(map(is_mmlu, settings.benchmarks)):
        return []
    rows: list[dict[str, Any]] = []
    for sweep in sweeps:
        if sweep.k != K or (not mmlu and len(sweep.items) > SMALL):
            return []
        cell = answer_cell(sweep, benchmark, settings.seed, operations=())
        items = None if cell is None else EvaluationItems.of(cell)
        if items is not None:
            checkpoint = str(sweep.metadata["checkpoint"])
            key = {"checkpoint": checkpoint, "benchmark": benchmark, "mmlu": mmlu}
            rows += [{**key, **row} for row in injected_cell(items, f"{checkpoint}, {benchmark}")]
    return rows


def injected_cell(items: EvaluationItems, name: str) -> list[dict[str, Any]]:
    """A row per shape and operation with lists over ALPHAS; alpha 0 is answered once for all.

    Raises:
        InjectionError: an answer of the reversal product changes under a shape of CANCELLED.
    """
    strengths = [alpha for alpha in ALPHAS if alpha]
    added = [alpha * direction(shape) for shape in SHAPES for alpha in strengths]
    answers = _answers(items, np.array([np.zeros(K), *added]))
    # Where each (shape, alpha) is found among the variants.
    index = {
        (shape, alpha): 1 + i * len(strengths) + strengths.index(alpha) if alpha else 0
        for i, shape in enumerate(SHAPES)
        for alpha in ALPHAS
    }
    product, _ = answers["reversal"]
    for shape in CANCELLED:
        for alpha in ALPHAS:
            changed = int((product[index[shape, alpha]] != product[0]).sum())
            if changed:
                raise InjectionError(
                    f"{name}: {changed} answers of the reversal product change under the shape "
                    f"{shape} at alpha = {alpha:g}, which mirroring cancels"
                )
    rows = []
    for operation, (positions, tied) in answers.items():
        ranges, ties = placement_ranges(positions, items), tied.sum(axis=(1, 2))
        for shape in SHAPES:
            chosen = [index[shape, alpha] for alpha in ALPHAS]
            rows.append(
                {
                    "shape": shape,
                    "operation": operation,
                    "n_items": len(items.gold),
                    "placement_range": ranges[chosen].tolist(),
                    "ties": ties[chosen].tolist(),
                }
            )
    return rows


def _answers(
    items: EvaluationItems, added: NDArray[np.float64]
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Positions (V, n, K), and which of them are ties, by each of OPERATIONS.

    What is added to every query is a shift of the letters like a prior's, of the opposite sign;
    the priors are estimated on the calibration queries after the addition.

    Args:
        items: the evaluation items.
        added: (V, K) what each of V variants adds to the letters' logits.
    """
    calibration = [log_softmax(items.calibration + row) for row in added]
    pride, batch = (
        np.array([correction_shift([name], queries)[0] for queries in calibration]) - added
        for name in ("pride", "batch")
    )
    product = product_scores(items.logp, items.reversed_logp)
    asked = {
        "none": (items.logp, -added),
        "pride": (items.logp, pride),
        "batch": (items.logp, batch),
        "reversal": (product, mirrored_shift(-added)),
        "pride+reversal": (product, mirrored_shift(pride)),
    }
    answers = {}
    for operation, (scores, shifts) in asked.items():
        positions, tied = shifted_choices(scores, shifts)
        swapped = positions.transpose(0, 2, 1).astype(np.int64)
        answers[operation] = swapped, tied.transpose(0, 2, 1)
    return answers


def placement_ranges(positions: NDArray[np.int64], items: EvaluationItems) -> NDArray[np.float64]:
    """max A_j - min A_j of each variant's answers (V, n, K), shape (V,) (Equation 7)."""
    # Exactly one cyclic ordering shows an item's correct content at letter j.
    gold = np.repeat(items.gold[:, None], K, axis=1)
    showing = np.argsort(positions_of(gold, items.design.orderings), axis=1)
    at_letter = np.take_along_axis(positions, showing[None], axis=-1)
    correct = (at_letter == np.arange(K)).sum(axis=1)
    return (correct.max(axis=1) - correct.min(axis=1)) / len(gold)
