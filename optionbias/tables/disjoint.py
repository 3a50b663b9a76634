"""Table 12: the flip rate against accuracy that is measured on other items, benchmarks or orderings."""

from __future__ import annotations

from optionbias.disjoint import (
    Scope,
    benchmark_disjoint,
    item_disjoint,
    ordering_disjoint,
    own_orderings,
)
from optionbias.tables import names, undefined
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table

ROWS = {
    "flip_rate": names.FLIP_RATE,
    "fluctuation_rate": "Fluctuation rate",
    "pairwise_disagreement": "Pairwise disagreement",
    "choice_entropy": "Choice entropy",
    "per_item_kl": "Per-item KL to uniform",
    "per_item_sd": "Per-item selection-rate SD",
    "kl": "Pooled KL to uniform",
    "pooled_sd": names.POOLED_SD,
}
IN_GAPS = {
    "flip_rate": "Flip rate",
    "per_item_kl": "Per-item KL",
    "per_item_sd": "Per-item SD",
    "kl": "pooled KL",
    "pooled_sd": "pooled SD",
}
OTHER_COUNTS = ("fluctuation_rate", "pairwise_disagreement", "choice_entropy")
COLUMNS = (
    "item-disjoint",
    "benchmark-disjoint",
    "ordering-disjoint",
    "ordering-disjoint cells, own cyclic orderings",
)
CAPTION = (
    "Spearman correlations with accuracy measured on disjoint data: on held-out item folds (first-token "
    "cells, mean of five rotations), on the other benchmarks run on every checkpoint (mean of the "
    "within-benchmark correlations), and on the orderings that are not cyclic (all-orderings cells, which "
    "the last column scores on their own cyclic orderings). Intervals are 95% checkpoint-block intervals. "
    "Gaps are differences of magnitudes; their intervals hold simultaneously over a column's two gaps."
)


def table12(inputs: Inputs) -> Table:
    """Table 12 from the uncorrected first-token cells and the `folds` rows."""
    made = inputs.draws, inputs.seed
    folds = inputs.read("folds")
    scopes = dict(
        zip(
            COLUMNS,
            (
                item_disjoint(folds, *made),
                benchmark_disjoint(inputs.first_token, *made),
                ordering_disjoint(folds, *made),
                own_orderings(folds, *made),
            ),
            strict=True,
        )
    )
    blocks = [
        Block("Correlation with accuracy", _correlations(inputs, scopes)),
        Block("Gap in magnitude", _gaps(inputs, scopes)),
    ]
    return Table("12", CAPTION, blocks, dict.fromkeys(COLUMNS, 3), corner="Statistic")


def _correlations(inputs: Inputs, scopes: dict[str, Scope]) -> list[Entry]:
    entries = [
        Entry.of(
            row,
            column,
            scope.correlations[statistic],
            note=_note(inputs, scope, scope.correlations[statistic].value),
        )
        for statistic, row in ROWS.items()
        for column, scope in scopes.items()
    ]
    for row, end in (("lowest", min), ("highest", max)):
        for column, scope in scopes.items():
            others = [scope.correlations[statistic] for statistic in OTHER_COUNTS]
            defined = [e.value for e in others if e.value == e.value]
            value = end(defined) if defined else float("nan")
            note = undefined.why(value, undefined.CORRELATION)
            entries.append(
                Entry(
                    f"Other count-based statistics, {row}", column, value, n=others[0].n, note=note
                )
            )
    return entries


def _gaps(inputs: Inputs, scopes: dict[str, Scope]) -> list[Entry]:
    return [
        Entry.of(
            f"{IN_GAPS[a]} minus {IN_GAPS[b]}",
            column,
            gap,
            note="; ".join(
                filter(None, [_note(inputs, scope, gap.value), "95% simultaneous interval"])
            ),
        )
        for column, scope in scopes.items()
        for (a, b), gap in scope.gaps.items()
    ]


def _note(inputs: Inputs, scope: Scope, value: float) -> str:
    few = inputs.few_checkpoints_note(scope.checkpoints)
    return "; ".join(filter(None, [undefined.why(value, undefined.CORRELATION), few]))
