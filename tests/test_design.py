"""Designs: multisets of orderings, shared by a cell's items or one for each."""

import numpy as np
import pytest
from hypothesis import given

from optionbias.design import Design
from optionbias.orderings import OrderingError, cyclic
from slow import orderings as slow
from strategies import PROPERTY, TOLERANCE, Cell, cells

AB, BA = [0, 1], [1, 0]


def test_a_shared_design() -> None:
    design = Design.of([AB, BA], [3, 1])
    assert (design.k, design.m, design.is_shared) == (2, 4, True)
    # Content 0 at A in three of four: SD of (3/4, 1/4) is 1/4.
    assert design.shares.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert design.bound == 0.25
    assert not design.is_balanced
    assert not design.is_cyclic
    assert Design.of([AB, BA], [2, 2]).is_balanced
    assert not Design.of([AB, BA], [2, 2]).is_cyclic
    assert Design.of([BA, AB], [1, 1]).is_cyclic


def test_designs_of_different_sizes() -> None:
    design = Design.of([AB, BA], [[1, 0], [2, 2]])
    assert not design.is_shared
    assert (design.sizes.tolist(), design.m) == ([1, 4], 4)
    # The first item sees content 0 at A only; the second is balanced.
    assert design.shares.tolist() == [[[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]]]
    assert design.bound == 0.5
    # One multiplicity for all items over orderings of their own.
    own = Design.of([[AB, BA], [BA, AB], [AB, AB]], [1, 2])
    assert (own.is_shared, own.sizes.tolist(), own.m) == (False, [3, 3, 3], 3)


@pytest.mark.parametrize(
    ("orderings", "counts", "message"),
    [
        ([0, 1], None, "shape"),
        ([[[AB]]], None, "shape"),
        ([[0, 0]], None, "not a permutation"),
        ([AB, BA], [1, 2, 3], r"counts \(3,\) do not fit orderings \(2, 2\)"),
        ([AB, BA], [1, -1], "non-negative"),
        ([AB, BA], [0.5, 1.0], "whole numbers"),
        ([AB, BA], [0, 0], "at least one ordering for every item"),
        ([AB, BA], [[1, 0], [0, 0]], "at least one ordering for every item"),
        ([[AB, BA]] * 3, [[1, 1]] * 2, "do not fit"),
    ],
)
def test_errors(orderings, counts, message: str) -> None:
    with pytest.raises(OrderingError, match=message):
        Design.of(orderings, counts)


@pytest.mark.parametrize("counts", [2, [2], [[1], [2]]])
def test_counts_need_one_entry_for_each_ordering(counts) -> None:
    with pytest.raises(OrderingError):
        Design.of([AB, BA], counts)


def test_columns_are_found_by_permutation() -> None:
    four = cyclic(4)
    design = Design.of(four[[1, 3, 0, 2]])
    assert design.canonical_column() == 2
    assert design.fluctuation_columns() == (2, 3)  # pi_0, and pi_2 = pi_floor(4/2)
    assert design.column_of([3, 2, 1, 0]) is None
    assert Design.of(four[[1, 2, 3]]).fluctuation_columns() is None
    assert Design.of(cyclic(5)).fluctuation_columns() == (0, 2)


def test_an_absent_ordering_is_not_found() -> None:
    design = Design.of([AB, BA], [0, 2])
    assert design.canonical_column() is None
    assert design.column_of(BA) == 1
    assert design.fluctuation_columns() is None


def test_an_ordering_is_found_behind_an_absent_copy() -> None:
    # The first AB has count 0, so it is not in the design; the second is.
    assert Design.of([AB, BA, AB], [0, 1, 1]).canonical_column() == 2


def test_absent_orderings_do_not_make_a_design_less_cyclic() -> None:
    # Only AB and BA are present, each once: exactly the two cyclic orderings.
    assert Design.of([AB, AB, BA], [1, 0, 1]).is_cyclic


@pytest.mark.parametrize("rows", [np.array([True, False, True]), np.array([0, 2])])
def test_take_items(rows: np.ndarray) -> None:
    counts = [[1, 1], [2, 0], [0, 3]]
    shared = Design.of([AB, BA], [2, 1]).take_items(rows)
    assert (shared.orderings.tolist(), shared.sizes.tolist()) == ([AB, BA], 3)
    assert Design.of([AB, BA], counts).take_items(rows).sizes.tolist() == [2, 3]
    own = Design.of([[AB, BA], [AB, AB], [BA, BA]], counts).take_items(rows)
    assert own.orderings.tolist() == [[AB, BA], [BA, BA]]
    assert own.sizes.tolist() == [2, 3]
    both = Design.of([[AB, BA], [AB, AB], [BA, BA]], [1, 2]).take_items(rows)
    assert (both.orderings.tolist(), both.sizes.tolist()) == ([[AB, BA], [BA, BA]], [3, 3])


@PROPERTY
@given(cells())
def test_the_slow_loop_reads_the_same_design(cell: Cell) -> None:
    design = cell.design
    _, literal = cell.literal()
    n = len(literal)
    assert np.broadcast_to(design.sizes, n).tolist() == [len(multiset) for multiset in literal]
    assert design.m == max(len(multiset) for multiset in literal)
    bound = max(slow.M(multiset, design.k) for multiset in literal)
    assert abs(design.bound - bound) <= TOLERANCE
    for q in range(n):
        own = design.shares if design.shares.ndim == 2 else design.shares[q]
        assert np.abs(own - slow.u(literal[q], design.k)).max() <= TOLERANCE
    half = design.take_items(np.arange(n)[::2])
    assert np.broadcast_to(half.sizes, len(literal[::2])).tolist() == [
        len(multiset) for multiset in literal[::2]
    ]
