"""Designs: which orderings the answers of a cell were given under."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.orderings import (
    OrderingError,
    as_orderings,
    cyclic,
    find,
    identity,
    position_shares,
)


@dataclass(frozen=True)
class Design:
    """A multiset of orderings, one for the cell or one per item.

    Attributes:
        orderings: (m, K) shared by all items, or (N, m, K), one set per item.
        counts: None (each ordering once), or non-negative multiplicities of shape (m,) or
            (N, m); an entry with count 0 is absent, so per-item sets may differ in size.
    """

    orderings: NDArray[np.int64]
    counts: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, orderings: ArrayLike, counts: ArrayLike | None = None) -> Design:
        """Check and build a design; raises `OrderingError` on anything that is not one."""
        rows = as_orderings(orderings)
        if rows.ndim not in (2, 3):
            raise OrderingError("a design has shape (m, K) or (N, m, K)")
        if counts is None:
            return cls(rows)
        weights = np.asarray(counts)
        if weights.ndim not in (1, 2) or weights.shape[-1] != rows.shape[-2]:
            raise OrderingError(f"counts {weights.shape} do not fit orderings {rows.shape}")
        if not np.issubdtype(weights.dtype, np.integer) or (weights < 0).any():
            raise OrderingError("the counts of a design are non-negative whole numbers")
        try:
            wide = np.broadcast_shapes(weights.shape, rows.shape[:-1])
        except ValueError as error:
            raise OrderingError(f"counts {weights.shape} do not fit {rows.shape}") from error
        if (np.broadcast_to(weights, wide).sum(axis=-1) == 0).any():
            raise OrderingError("a design needs at least one ordering for every item")
        return cls(rows, weights.astype(np.int64))

    @property
    def k(self) -> int:
        """K, the number of options."""
        return int(self.orderings.shape[-1])

    @property
    def is_shared(self) -> bool:
        """Whether every item has the same multiset."""
        return self.orderings.ndim == 2 and (self.counts is None or self.counts.ndim == 1)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """m with multiplicity, shape () when shared, else (N,)."""
        if self.counts is None:
            shape = self.orderings.shape[:-2]
            return np.full(shape, self.orderings.shape[-2], dtype=np.int64)
        wide = np.broadcast_shapes(self.counts.shape, self.orderings.shape[:-1])
        return np.broadcast_to(self.counts, wide).sum(axis=-1)

    @property
    def m(self) -> int:
        """The largest number of orderings an item has, with multiplicity."""
        return int(self.sizes.max())

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """u_j(r) (Equation 8), shape (K, K) or (N, K, K)."""
        if self.counts is None:
            return position_shares(self.orderings)
        wide = np.broadcast_shapes(self.counts.shape, self.orderings.shape[:-1])
        return position_shares(np.broadcast_to(self.orderings, (*wide, self.k)), self.counts)

    @cached_property
    def bound(self) -> float:
        """M(S) = max_j std(u_j), over items too for per-item designs."""
        return float(self.shares.std(axis=-1).max())

    @cached_property
    def is_balanced(self) -> bool:
        """Whether every content is shown equally often at every position (for every item)."""
        return bool(np.abs(self.shares - 1 / self.k).max() <= 1e-12)

    @property
    def _present(self) -> NDArray[np.bool_]:
        """Which entries of the design are there, shape (m,) or (N, m)."""
        shape = self.orderings.shape[:-1] if self.counts is None else self.counts.shape
        return np.ones(shape, dtype=bool) if self.counts is None else self.counts > 0

    @cached_property
    def is_cyclic(self) -> bool:
        """Whether every item's orderings are exactly the K cyclic ones, each once."""
        found = find(cyclic(self.k), self.orderings)
        counts = np.ones(found.shape, dtype=np.int64) if self.counts is None else self.counts
        shape = np.broadcast_shapes(found.shape, counts.shape)
        found, counts = np.broadcast_to(found, shape), np.broadcast_to(counts, shape)
        each = [np.where(found == s, counts, 0).sum(axis=-1) for s in range(self.k)]
        foreign = np.where(found < 0, counts, 0).sum(axis=-1)
        return bool((np.array(each) == 1).all() and (foreign == 0).all())

    def column_of(self, pi: ArrayLike) -> NDArray[np.int64] | None:
        """Column that holds ordering `pi` (its first copy), for each item or shared.

        Returns shape () for a shared design, else (N,); None if any item lacks it.
        """
        holds = (self.orderings == np.asarray(pi)).all(axis=-1) & self._present
        return holds.argmax(axis=-1) if holds.any(axis=-1).all() else None

    def canonical_column(self) -> NDArray[np.int64] | None:
        """Column of pi_0, None if the design does not hold it for every item."""
        return self.column_of(identity(self.k))

    def fluctuation_columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Columns of the rotations pi_0 and pi_floor(K/2) (Appendix F), None if either is absent."""
        rotations = cyclic(self.k)
        first, second = (self.column_of(rotations[s]) for s in (0, self.k // 2))
        return None if first is None or second is None else (first, second)

    def take_items(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Design:
        """The design of a subset of items (a mask or indices)."""
        orderings = self.orderings if self.orderings.ndim == 2 else self.orderings[rows]
        counts = self.counts
        if counts is not None and counts.ndim == 2:
            counts = counts[rows]
        return Design(orderings, counts)
