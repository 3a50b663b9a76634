"""Prompts of random tokens, as the readers take them."""

from __future__ import annotations

import numpy as np

from optionbias.readouts.forward import Asked

LETTERS = [70, 71, 72, 73]


def chunk(seed: int, head: int = 0, items: int = 3, stem: int = 60) -> list[Asked]:
    """Items whose prompts share a head, a stem of their own and, two by two, a first option."""
    rng = np.random.default_rng(seed)

    def tokens(n: int) -> tuple[int, ...]:
        return tuple(rng.integers(3, 300, n).tolist())

    shared, found = tokens(head), []
    for _ in range(items):
        own = shared + tokens(stem)
        options = [own + tokens(n) for n in (12, 50, 9)]
        found.append(
            Asked(
                [options[i % 3] + tokens(n) for i, n in enumerate((20, 20, 23, 1, 20, 31))], shared
            )
        )
    return found
