"""Orderings, the sets of them that are enumerated, and what a set balances."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias import orderings
from optionbias.orderings import OrderingError
from slow import orderings as slow
from strategies import KINDS, PROPERTY, TOLERANCE, Cell, build_cell, cells


def rows(array: np.ndarray) -> list[tuple[int, ...]]:
    """Rows of an array of orderings as tuples, in their order."""
    return [tuple(pi) for pi in array.tolist()]


def test_cyclic_by_hand() -> None:
    # pi_s[j] = (j + s) mod 3: under s = 1 contents 0, 1, 2 stand at letters B, C, A.
    assert orderings.cyclic(3).tolist() == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    assert orderings.identity(3).tolist() == [0, 1, 2]
    # 2 - pi: the reversal of (1, 2, 0) is (1, 0, 2).
    assert orderings.reversal([1, 2, 0]).tolist() == [1, 0, 2]


@pytest.mark.parametrize("k", [*range(2, 11), 26])
def test_cyclic_and_reversals_of_the_slow_loop(k: int) -> None:
    cyclic = slow.cyclic(k)
    mirrored = [slow.reversal(pi) for pi in cyclic]
    assert rows(orderings.cyclic(k)) == cyclic
    assert rows(orderings.reversal(orderings.cyclic(k))) == mirrored
    # With two options the reversals are the cyclic orderings again, so they are not repeated.
    expected = cyclic if k == 2 else cyclic + mirrored
    assert rows(orderings.cyclic_and_reversals(k)) == expected
    assert len(set(expected)) == len(expected)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_all_orderings(k: int) -> None:
    assert rows(orderings.all_orderings(k)) == slow.all_orderings(k)
    assert len(orderings.all_orderings(k)) == math.factorial(k)


@pytest.mark.parametrize(("k", "sets", "free"), [(2, 1, 0), (3, 2, 2), (4, 24, 12)])
def test_enumerated_sets(k: int, sets: int, free: int) -> None:
    # Latin squares of order K up to the order of rows: 2/2!, 12/3!, 576/4! (E.3); K = 4 has
    # twelve without an ordering and its reversal (E.2).
    found = [rows(s) for s in orderings.latin_square_sets(k)]
    assert found == [list(map(tuple, s)) for s in slow.latin_square_sets(k)]
    assert len(found) == sets
    left = [rows(s) for s in orderings.balanced_reversal_free_sets(k)]
    assert left == [list(map(tuple, s)) for s in slow.balanced_reversal_free_sets(k)]
    assert len(left) == free
    assert free == 0 or sorted(rows(orderings.cyclic(k))) in left


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: orderings.all_orderings(7), "5,040 orderings of K = 7"),
        (lambda: orderings.latin_square_sets(5), "K <= 4, not K = 5"),
        (lambda: orderings.balanced_reversal_free_sets(5), "K <= 4, not K = 5"),
        (lambda: orderings.cyclic(1), "from 2 to 26, not 1"),
        (lambda: orderings.cyclic(27), "from 2 to 26, not 27"),
        (lambda: orderings.cyclic(True), "not True"),
        (lambda: orderings.cyclic(4.0), "not 4.0"),
        (lambda: orderings.as_orderings([[0, 1], [1, 1]]), r"ordering 1 .* \[1, 1\]"),
        (lambda: orderings.as_orderings([1, 2]), r"not a permutation of 0..1: \[1, 2\]"),
        (lambda: orderings.as_orderings([[[0, 1], [-1, 0]]]), r"\[-1, 0\]"),
        (lambda: orderings.as_orderings([[0.0, 1.0]]), "array of integers"),
        (lambda: orderings.as_orderings([[True, False]]), "array of integers"),
        (lambda: orderings.as_orderings(np.zeros((0, 3), dtype=int)), "non-empty"),
        (lambda: orderings.as_orderings(3), "array of integers"),
        (lambda: orderings.position_shares([[0, 1]], [0]), "at least one ordering"),
        (lambda: orderings.position_shares([[0, 1], [1, 0]], [2, -1]), "non-negative"),
    ],
)
def test_errors(call, message: str) -> None:
    with pytest.raises(OrderingError, match=message):
        call()


def test_find_by_permutation() -> None:
    design = [[1, 2, 0], [0, 1, 2], [0, 1, 2]]
    # The first of two equal orderings; -1 where the design lacks one.
    assert orderings.find(design, [0, 1, 2]) == 1
    assert orderings.find(design, orderings.cyclic(3)).tolist() == [1, 0, -1]
    assert orderings.find(design, [[[2, 1, 0]], [[1, 2, 0]]]).tolist() == [[-1], [0]]


def test_is_cyclic_set() -> None:
    four = orderings.cyclic(4)
    assert orderings.is_cyclic_set(four)
    assert orderings.is_cyclic_set(four[[2, 0, 3, 1]])
    assert not orderings.is_cyclic_set(four[[0, 1, 2, 2]])
    assert not orderings.is_cyclic_set(four[:3])
    assert not orderings.is_cyclic_set(np.concatenate([four, four[:1]]))
    assert not orderings.is_cyclic_set(orderings.reversal(four))


def test_position_shares_by_hand() -> None:
    # {AB twice, BA}: content 0 first in two of three; std((2/3, 1/3)) = 1/6.
    assert orderings.position_shares([[0, 1], [1, 0]], [2, 1]) == pytest.approx(
        np.array([[2 / 3, 1 / 3], [1 / 3, 2 / 3]])
    )
    assert orderings.max_position_sd([[0, 1], [1, 0]], [2, 1]) == pytest.approx(1 / 6)
    assert not orderings.is_position_balanced([[0, 1], [1, 0]], [2, 1])
    # Item 0 {AB}, item 1 {AB, BA}: M is the larger of 1/2 and 0.
    own, counts = [[[0, 1], [1, 0]]] * 2, [[1, 0], [1, 1]]
    assert orderings.position_shares(own, counts).tolist() == [[[1, 0], [0, 1]], [[0.5] * 2] * 2]
    assert orderings.max_position_sd(own, counts) == 0.5


@pytest.mark.parametrize("k", [2, 3, 5, 10, 26])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("all", "latin")])
def test_position_shares_of_the_slow_loop(kind: str, k: int) -> None:
    cell = build_cell(kind, k, 4, seed=k)
    design = cell.design
    _, literal = cell.literal()
    shape = np.broadcast_shapes(design.orderings.shape[:-1], np.shape(design.counts))
    shown = np.broadcast_to(design.orderings, (*shape, k))
    shares = orderings.position_shares(shown, design.counts)
    for q, multiset in enumerate(literal):
        own = shares if shares.ndim == 2 else shares[q]
        assert np.abs(own - slow.u(multiset, k)).max() <= TOLERANCE
    bound = max(slow.M(multiset, k) for multiset in literal)
    assert abs(orderings.max_position_sd(shown, design.counts) - bound) <= TOLERANCE


@PROPERTY
@given(cells())
def test_balanced_exactly_where_the_bound_is_zero(cell: Cell) -> None:
    _, literal = cell.literal()
    even = all(
        count * cell.design.k == len(multiset)
        for multiset in literal
        for row in slow.position_counts(multiset, cell.design.k)
        for count in row
    )
    assert cell.design.is_balanced == even
    assert (cell.design.bound == 0) == even


@PROPERTY
@given(st.permutations(range(7)))
def test_reversal_undoes_itself(pi: list[int]) -> None:
    mirrored = orderings.reversal(pi)
    assert orderings.reversal(mirrored).tolist() == pi
    assert (mirrored != pi).sum() == 6  # odd K: the middle letter alone stays
