"""What each operation does to items: flips that stop and start, what the product settles on (D.4).

One row per cell and operation, on the evaluation items that are usable under the cyclic orderings
and their reversals: the items of `scoring`'s comparison of operations. Read by Tables 14 and 15.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optionbias.analysis import Settings
from optionbias.cell import answer_cell
from optionbias.evaluation import EvaluationItems
from optionbias.factors import contents_of, flipping, histograms, positions_of
from optionbias.operations import correction_shift, mirrored_shift, product_scores
from optionbias.orderings import reversal
from optionbias.priors import Prior
from optionbias.shifted_choices import TIE_TOLERANCE, shifted_choices
from optionbias.short_axis import last_max, last_sum, log_softmax
from optionbias.sweep import Sweep

OPERATIONS = (
    "none", "pride", "batch", "pride+batch", "reversal", "pride+reversal", "batch+reversal",
)  # fmt: skip
COUNTS = ("n_items", "n_flipping", "n_stopped", "n_started", "n_stopped_wrong")
SETTLED = (
    "unique_most_frequent", "tied_most_frequent", "unique_most_frequent_cyclic",
    "tied_most_frequent_cyclic", "in_every_top_two", "wrong_under_every_cyclic",
    "gap_settled_wrong", "gap_settled_correct", "gap_stable_wrong",
)  # fmt: skip
COLUMNS = ("checkpoint", "benchmark", "operation", "K", *COUNTS, "favoured_share", *SETTLED)

NAN = float("nan")


def analyse(benchmark: str, sweeps: Iterable[Sweep], settings: Settings) -> list[dict[str, Any]]:
    """Rows of every cell of a benchmark that has reversed queries; see `cell_transitions`."""
    rows: list[dict[str, Any]] = []
    for sweep in sweeps:
        cell = answer_cell(sweep, benchmark, settings.seed, operations=())
        items = None if cell is None else EvaluationItems.of(cell)
        if items is not None:
            key = {"checkpoint": str(sweep.metadata["checkpoint"]), "benchmark": benchmark}
            rows += [{**key, **row} for row in cell_transitions(items)]
    return rows


def cell_transitions(items: EvaluationItems) -> list[dict[str, Any]]:
    """A row per operation: what it does to the evaluation items of a cell.

    - `n_flipping`: items that flip under none; `n_stopped` and `n_started`: items that flip under
      none alone, and under the operation alone; `n_stopped_wrong`: those of `n_stopped` that the
      operation keeps on a wrong content.
    - `favoured_share`: among items that flip under none, the share of their K answers under the
      operation at the PriDe prior's top letter (the lowest on ties); NaN where none flips.
    - the entries of SETTLED on the reversal product's row, NaN elsewhere: see `_settled`.
    """
    positions, favoured = _answers(items)
    contents = {op: contents_of(p, items.design.orderings) for op, p in positions.items()}
    flips = {op: flipping(z, items.design) for op, z in contents.items()}
    before = flips["none"]
    n_answers = int(before.sum()) * items.design.k
    rows = []
    for operation in OPERATIONS:
        stopped = before & ~flips[operation]
        on_favoured = int((positions[operation][before] == favoured).sum())
        rows.append(
            {
                "operation": operation,
                "K": items.design.k,
                "n_items": len(before),
                "n_flipping": int(before.sum()),
                "n_stopped": int(stopped.sum()),
                "n_started": int((~before & flips[operation]).sum()),
                "n_stopped_wrong": int((stopped & (contents[operation][:, 0] != items.gold)).sum()),
                "favoured_share": on_favoured / n_answers if n_answers else NAN,
                **dict.fromkeys(SETTLED, NAN),
            }
        )
    resolved = before & ~flips["reversal"]
    settled = np.where(resolved, contents["reversal"][:, 0], -1)
    rows[OPERATIONS.index("reversal")] |= _settled(items, contents["none"], settled)
    return rows


def _answers(items: EvaluationItems) -> tuple[dict[str, NDArray[np.int64]], int]:
    """The positions (n, K) that each of OPERATIONS chooses, and the PriDe prior's top letter."""
    shifts: dict[str, NDArray[np.float64]] = {}
    priors: dict[str, Prior] = {}
    for corrections in ("pride", "batch", "pride+batch"):
        shifts[corrections], found = correction_shift(corrections.split("+"), items.calibration)
        priors |= found
    product = product_scores(items.logp, items.reversed_logp)
    mirrored = {
        "reversal": np.zeros(items.design.k),
        "pride+reversal": mirrored_shift(shifts["pride"]),
        "batch+reversal": mirrored_shift(shifts["batch"]),
    }
    answers = {"none": items.choice}
    for scores, asked in ((items.logp, shifts), (product, mirrored)):
        positions, _ = shifted_choices(scores, list(asked.values()))
        answers |= {op: p.T.astype(np.int64) for op, p in zip(asked, positions, strict=True)}
    return answers, int(priors["pride"].argmax())


def _settled(
    items: EvaluationItems, cyclic_contents: NDArray[np.int64], settled: NDArray[np.int64]
) -> dict[str, float]:
    """What the product settles on where it makes a flipping item stable-wrong (Table 15).

    Shares of those items:
    - `unique_most_frequent`, `tied_most_frequent`: the content they settle on was chosen most often
      over the item's 2K cyclic and reversed queries, alone or with others; `_cyclic`: over the K
      cyclic ones;
    - `in_every_top_two`: in each of the 2K queries at most one letter scores more than the tie
      tolerance above that content;
    - `wrong_under_every_cyclic`: no cyclic ordering was answered correctly before the product.

    Mean gaps between the two largest letter probabilities under pi_0: of those items, of flipping
    items that the product settles correctly, and of items that are stable-wrong without it. NaN
    where a cell has no such items.

    Args:
        items: the evaluation items.
        cyclic_contents: (n, K) contents chosen under none.
        settled: (n,) the content that the product keeps on items whose flip it resolves, -1 on others.
    """
    wrong = (settled >= 0) & (settled != items.gold)
    # A content shared by all cyclic orderings is the one that a stable item keeps.
    stable = ~flipping(cyclic_contents, items.design)
    gap = _canonical_gap(items)
    found = {
        "gap_settled_wrong": _mean(gap[wrong]),
        "gap_settled_correct": _mean(gap[settled == items.gold]),
        "gap_stable_wrong": _mean(gap[stable & (cyclic_contents[:, 0] != items.gold)]),
    }
    own, chosen, logp, mirrored = (
        x[wrong] for x in (settled, cyclic_contents, items.logp, items.reversed_logp)
    )
    cyclic, turned = items.design.orderings, reversal(items.design.orderings)
    # A stored choice is the argmax of its query, exact ties to the lowest letter.
    reversed_chosen = contents_of(mirrored.argmax(axis=-1), turned)
    all_chosen = np.concatenate([chosen, reversed_chosen], axis=1)
    for suffix, contents in (("", all_chosen), ("_cyclic", chosen)):
        counts = histograms(contents, items.design)
        most = counts == last_max(counts)[:, None]
        leads, leaders = most[np.arange(len(own)), own], last_sum(most)
        found[f"unique_most_frequent{suffix}"] = _mean(leads & (leaders == 1))
        found[f"tied_most_frequent{suffix}"] = _mean(leads & (leaders > 1))
    scores = np.concatenate([logp, mirrored], axis=1)
    both = np.concatenate([cyclic, turned])
    at = positions_of(np.repeat(own[:, None], len(both), axis=1), both)
    score = np.take_along_axis(scores, at[..., None], axis=-1)
    likelier = last_sum(scores > score + TIE_TOLERANCE)
    found["in_every_top_two"] = _mean(np.asarray(last_max(likelier) <= 1))
    right = last_sum(chosen == items.gold[wrong, None])
    found["wrong_under_every_cyclic"] = _mean(np.asarray(right == 0))
    return found


def _canonical_gap(items: EvaluationItems) -> NDArray[np.float64]:
    """The difference of the two largest letter probabilities under pi_0, (n,)."""
    column = items.design.canonical_column()
    if column is None:
        raise ValueError("the cyclic orderings hold pi_0")
    ordered = np.sort(np.exp(log_softmax(items.logp[:, int(column)])), axis=-1)
    return ordered[:, -1] - ordered[:, -2]


def _mean(values: NDArray[Any]) -> float:
    """The mean, NaN of nothing."""
    return float(values.mean()) if len(values) else NAN
