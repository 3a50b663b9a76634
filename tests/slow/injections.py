"""Adding a letter preference to every stored query, query by query (paper D.3, spec figure 6)."""

import math
from collections.abc import Sequence
from fractions import Fraction

from .operations import apply, choose, log_softmax
from .orderings import population_sd
from .transitions import Queries, Rows

SHAPES: dict[str, tuple[int, ...]] = {
    "front-back": (1, 1, -1, -1),
    "alternating": (1, -1, 1, -1),
    "outer-inner": (1, -1, -1, 1),
    "letter A": (3, -1, -1, -1),
}
ALPHAS = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0)
OPERATIONS = ("none", "pride", "batch", "reversal", "pride+reversal")


def direction(shape: str) -> list[float]:
    """A shape with mean zero and a root mean square of one logit."""
    entries = SHAPES[shape]
    size = population_sd([Fraction(x) for x in entries])
    return [x / size for x in entries]


def injected(rows: Sequence[Rows], added: Sequence[float]) -> list[Rows]:
    """Every query of every item with something added to its letters' logits, renormalised."""
    return [
        [log_softmax([v + x for v, x in zip(row, added, strict=True)]) for row in queries]
        for queries in rows
    ]


def answers(queries: Queries, added: Sequence[float], operation: str) -> list[list[int]]:
    """Chosen positions of the evaluation items after something is added to every query."""
    forward, backward = injected(queries.forward, added), injected(queries.backward, added)
    if operation == "none":
        return [[choose(row) for row in forward[q]] for q in queries.evaluated]
    found, _ = apply(operation, forward, backward, queries.choice, queries.pis, queries.calibration)
    return [found[q] for q in queries.evaluated]


def placement_range(queries: Queries, positions: Sequence[Sequence[int]]) -> float:
    """Largest minus smallest accuracy over the letters that hold the correct content."""
    K = len(queries.pis)
    right = [0] * K
    for q, letters in zip(queries.evaluated, positions, strict=True):
        for letter, pi in zip(letters, queries.pis, strict=True):
            if letter == pi[queries.gold[q]]:
                right[letter] += 1
    return (max(right) - min(right)) / len(positions)


def cell(queries: Queries) -> dict[tuple[str, str], list[float]]:
    """(shape, operation) -> placement ranges over ALPHAS."""
    return {
        (shape, operation): [
            placement_range(
                queries, answers(queries, [alpha * x for x in direction(shape)], operation)
            )
            for alpha in ALPHAS
        ]
        for shape in SHAPES
        for operation in OPERATIONS
    }


def tied_answers(queries: Queries, added: Sequence[float]) -> int:
    """How many of the product's answers have another content within 1e-9 of the largest score."""
    forward, backward = injected(queries.forward, added), injected(queries.backward, added)
    ties = 0
    for q in queries.evaluated:
        for row, mirrored in zip(forward[q], backward[q], strict=True):
            scores = [a + b for a, b in zip(row, reversed(mirrored), strict=True)]
            top = max(scores)
            close = [math.isinf(top) or top - score <= 1e-9 for score in scores]
            ties += sum(close) > 1
    return ties
