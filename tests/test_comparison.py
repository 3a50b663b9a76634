"""Operations on the same items: what a cell keeps for it, and counts on shared items by hand."""

from typing import Any

import numpy as np
import pytest

from optionbias.cell import ScoredCell, answer_cell
from optionbias.comparison import ComparedCell, comparison_rows
from optionbias.design import Design
from optionbias.factors import CellStatistics, cell_statistics
from optionbias.operations import OPERATIONS
from optionbias.orderings import cyclic
from slow import factors as slow
from slow import orderings as slow_orderings
from strategies import SEED, differences, sweep_of

# Statistics on an operation's own items, which no comparison may look into.
OWN: dict[str, Any] = {operation: object() for operation in OPERATIONS}
# Item 3 lacks an answer under pi_1, items 5 and 8 under a reversal alone.
GAPS = [(3, 1), (5, 6), (8, 4)]


def scored(unanswered: list[tuple[int, int]], k: int = 4, n: int = 40) -> ScoredCell:
    """A cell of the benchmark `toy`."""
    cell = answer_cell(sweep_of("alpha", k, n, unanswered=unanswered), "toy", SEED)
    assert cell is not None
    return cell


def direct(cell: ScoredCell, operation: str, kept: list[int]) -> dict[str, Any]:
    """The slow loop on the answers of an operation to some items."""
    pis = slow_orderings.cyclic(cell.queries.orderings.shape[1])
    positions = cell.answers[operation].positions.tolist()
    return slow.statistics(
        [[pi.index(p) for pi, p in zip(pis, positions[q], strict=True)] for q in kept],
        [pis] * len(kept),
        [int(cell.gold[q]) for q in kept],
        len(pis),
    )


def test_without_gaps_the_cells_own_statistics_are_kept() -> None:
    # Item 3 is no item of the cell, so nothing is missing under the reversals.
    for unanswered in ([], GAPS[:1]):
        cell = scored(unanswered)
        compared = ComparedCell.of(cell, OWN)
        assert compared is not None
        assert compared.statistics == OWN
        assert compared.items.tolist() == cell.items[~cell.calibration].tolist()


@pytest.mark.parametrize(("k", "n"), [(4, 40), (10, 14)])
def test_with_gaps_they_are_those_of_the_items_that_all_operations_answer(k: int, n: int) -> None:
    cell = scored([(3, 1), (5, k + 2), (8, k)], k, n)
    names = [f"q{i:03d}" for i in range(n)]
    held_out = set(cell.items[cell.calibration])
    assert not held_out & {"q005", "q008"}
    items = [name for name in names if name not in {"q003", "q005", "q008"} | held_out]
    compared = ComparedCell.of(cell, OWN)
    assert compared is not None
    assert compared.items.tolist() == items
    kept = [cell.items.tolist().index(name) for name in items]
    assert set(compared.statistics) == set(compared.correct) == set(OPERATIONS)
    for operation in OPERATIONS:
        expected = direct(cell, operation, kept)
        found = compared.statistics[operation]
        assert isinstance(found, CellStatistics), operation
        assert differences(found, expected) == []
        # Correct answers per ordering: their share over all answers is the accuracy.
        correct = compared.correct[operation]
        assert correct.shape == (k, len(items))
        assert correct.mean() == pytest.approx(expected["accuracy"], abs=1e-12)
        assert correct[0].mean() == pytest.approx(expected["canonical_accuracy"], abs=1e-12)


def test_a_gap_of_a_calibration_item_leaves_every_evaluation_item() -> None:
    whole = scored([])
    q = int(whole.calibration.argmax())
    cell = scored([(q, 5)])
    assert (cell.calibration == whole.calibration).all()
    compared = ComparedCell.of(cell, OWN)
    assert compared is not None
    kept = np.flatnonzero(~cell.calibration).tolist()
    assert compared.items.tolist() == cell.items[kept].tolist()
    for operation in OPERATIONS:
        assert differences(compared.statistics[operation], direct(cell, operation, kept)) == []


@pytest.mark.parametrize(
    ("unanswered", "k"), [([], 2), ([(q, 4) for q in range(40)], 4)], ids=["K = 2", "no reversal"]
)
def test_nothing_to_compare(unanswered: list[tuple[int, int]], k: int) -> None:
    assert ComparedCell.of(scored(unanswered, k), OWN) is None


# --- rows ------------------------------------------------------------------------------------


def by_hand(items: str, correct: list[str]) -> ComparedCell:
    """A cell of two orderings; `correct` has a 1 an item where the answer is correct.

    The majority vote is correct everywhere; all other operations answer as `correct` says.
    """
    rows = np.array([[c == "1" for c in line] for line in correct])
    gold = np.zeros(len(items), dtype=np.int8)
    statistics = cell_statistics((~rows.T).astype(np.int64), gold, Design.of(cyclic(2)))
    return ComparedCell(
        np.array([f"q{c}" for c in items], dtype=object),
        {op: rows | (op == "vote") for op in OPERATIONS},
        dict.fromkeys(OPERATIONS, statistics),
    )


def test_shared_correct_answers_by_hand() -> None:
    # a and b share q1 and q3. There a is correct on (q1, q3) under ordering 0 and on q3 under 1,
    # b (whose items come in another order) on q3 under 0 and on neither under 1.
    cells = {"a": by_hand("0123", ["1101", "0011"]), "b": by_hand("431", ["110", "100"])}
    rows = comparison_rows("x", cells)
    assert [(r["checkpoint"], r["operation"]) for r in rows] == [
        (c, op) for c in "ab" for op in OPERATIONS
    ]
    counts = {"a": [2, 1], "b": [1, 0]}
    for row in rows:
        expected = [2, 2] if row["operation"] == "vote" else counts[row["checkpoint"]]
        assert row["shared_correct"] == expected
        assert row["n_shared"] == 2
        assert (row["benchmark"], row["K"]) == ("x", 2)
    # The factors are those of each cell's own items: a is right 5 of 8 times, b 3 of 6.
    assert [(r["n_items"], r["accuracy"]) for r in rows if r["operation"] == "none"] == [
        (4, 5 / 8),
        (3, 3 / 6),
    ]


def test_a_checkpoint_that_shares_no_item_leaves_none() -> None:
    cells = {"a": by_hand("01", ["11", "10"]), "b": by_hand("01", ["01", "11"])}
    assert comparison_rows("x", cells)[0]["shared_correct"] == [2, 1]
    rows = comparison_rows("x", {**cells, "c": by_hand("2", ["1", "1"])})
    assert {r["n_shared"] for r in rows} == {0}
    assert all(r["shared_correct"] == [0, 0] for r in rows)
    assert len(rows) == 3 * len(OPERATIONS)


def test_no_checkpoint() -> None:
    assert comparison_rows("x", {}) == []
