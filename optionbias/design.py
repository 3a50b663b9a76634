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
    is_cyclic_set,
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

    @cached_property
    def is_cyclic(self) -> bool:
        """Whether the design is exactly the K cyclic orderings, each once."""
        return (
            self.is_shared
            and (self.counts is None or bool((self.counts == 1).all()))
            and is_cyclic_set(self.orderings)
        )

    def column_of(self, pi: ArrayLike) -> int | None:
        """Column of a shared design that holds ordering `pi`, None where it is absent."""
        if not self.is_shared:
            return None
        column = int(find(self.orderings, pi))
        if column < 0 or (self.counts is not None and self.counts[column] == 0):
            return None
        return column

    def canonical_column(self) -> int | None:
        """Column of pi_0, None if the design does not hold it."""
        return self.column_of(identity(self.k))

    def fluctuation_columns(self) -> tuple[int, int] | None:
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
