"""The held-out calibration split of a cell (Appendix D.1)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SHARE = 0.05


@lru_cache(maxsize=200_000)
def _digest(seed: int, benchmark: str, item: str) -> bytes:
    # The cells of a benchmark share most items, if not all: both are asked for again and again.
    return hashlib.sha256(f"{seed}|calibration|{benchmark}|{item}".encode()).digest()


def calibration_rank(seed: int, benchmark: str, items: Sequence[str]) -> list[str]:
    """`items` sorted by SHA-256(`seed|calibration|benchmark|item id`).

    The order depends on the item alone, so checkpoints with the same items share the split.
    """
    return list(_ranked(seed, benchmark, tuple(items)))


@lru_cache(maxsize=4)
def _ranked(seed: int, benchmark: str, items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(items, key=lambda item: _digest(seed, benchmark, item)))


def calibration_size(n: int) -> int:
    """max(1, floor(0.05 n + 0.5)) calibration items out of n usable ones."""
    return max(1, math.floor(SHARE * n + 0.5))


def calibration_mask(seed: int, benchmark: str, items: Sequence[str]) -> NDArray[np.bool_]:
    """Which of a cell's usable `items` are calibration items; the rest are evaluation items."""
    chosen = set(calibration_rank(seed, benchmark, items)[: calibration_size(len(items))])
    return np.array([item in chosen for item in items], dtype=bool)
