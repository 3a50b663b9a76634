"""Calibration split, priors and mitigation operations, query by query (spec section 3; paper D.1).

A query's row holds one log-probability per letter, in presented position order.
"""

import hashlib
import itertools
import math
from collections.abc import Sequence

from .orderings import reversal

TIE = 1e-9
FLOOR = 1e-12
OPERATIONS = (
    "none",
    "pride",
    "batch",
    "reversal",
    "pride+reversal",
    "batch+reversal",
    "pride+batch",
    "vote",
)

Row = Sequence[float]
Rows = list[list[list[float]]]


def calibration_ids(seed: int, benchmark: str, ids: Sequence[str]) -> list[str]:
    """The calibration items, in split order: the first 5% by SHA-256, at least one (section 3)."""

    def digest(item_id: str) -> str:
        return hashlib.sha256(f"{seed}|calibration|{benchmark}|{item_id}".encode()).hexdigest()

    # floor(0.05 n + 0.5) = floor((n + 10) / 20)
    size = max(1, (len(ids) + 10) // 20)
    return sorted(ids, key=digest)[:size]


def log_softmax(row: Row) -> list[float]:
    """Log-probabilities renormalised to sum to one (section 3)."""
    top = max(row)
    log_total = math.log(math.fsum(math.exp(value - top) for value in row))
    return [value - top - log_total for value in row]


def _floored(row: Row) -> list[float]:
    """A query's probabilities, floored at 1e-12 and renormalised (section 3)."""
    probabilities = [max(math.exp(value), FLOOR) for value in log_softmax(row)]
    total = math.fsum(probabilities)
    return [p / total for p in probabilities]


def pride_prior(logp_items: Sequence[Sequence[Row]]) -> list[float]:
    """PriDe's prior: mean over items of the normalised geometric mean over orderings (D.1)."""
    per_item = []
    for queries in logp_items:
        rows = [_floored(row) for row in queries]
        K = len(rows[0])
        geometric = []
        for r in range(K):
            geometric.append(math.exp(math.fsum(math.log(row[r]) for row in rows) / len(rows)))
        total = math.fsum(geometric)
        per_item.append([value / total for value in geometric])
    K = len(per_item[0])
    return [math.fsum(item[r] for item in per_item) / len(per_item) for r in range(K)]


def batch_prior(logp_items: Sequence[Sequence[Row]]) -> list[float]:
    """Batch calibration's prior: the mean letter probability over items and orderings (D.1)."""
    rows = []
    for queries in logp_items:
        for row in queries:
            rows.append(_floored(row))
    K = len(rows[0])
    return [math.fsum(row[r] for row in rows) / len(rows) for r in range(K)]


def correct(logp_row: Row, prior: Sequence[float], alpha: float = 1.0) -> list[float]:
    """One query with alpha * log prior subtracted, renormalised (section 3)."""
    pairs = zip(logp_row, prior, strict=True)
    return log_softmax([value - alpha * math.log(p) for value, p in pairs])


def choose(scores: Row) -> int:
    """The lowest index whose score is within 1e-9 of the largest (section 3)."""
    top = max(scores)
    for index in range(len(scores)):
        if top - scores[index] <= TIE:
            return index
    raise ValueError(f"no largest score in {scores}")


def _map_rows(logp: Sequence[Sequence[Row]], prior: Sequence[float], alpha: float) -> Rows:
    """Every query of every item corrected by the same prior."""
    return [[correct(row, prior, alpha) for row in queries] for queries in logp]


def _normalised(logp: Sequence[Sequence[Row]]) -> Rows:
    """Every query of every item renormalised."""
    return [[log_softmax(row) for row in queries] for queries in logp]


def _product(
    forward: Row, backward: Row, pi: Sequence[int], pi_reversed: Sequence[int]
) -> list[float]:
    """Each content's two log-probabilities added, listed in presented position order (D.1)."""
    K = len(pi)
    scores = [0.0] * K
    for content in range(K):
        scores[pi[content]] = forward[pi[content]] + backward[pi_reversed[content]]
    return log_softmax(scores)


def _vote(choice: Sequence[int], orderings: Sequence[Sequence[int]]) -> list[int]:
    """The majority content's position under every ordering, ties by lowest content (D.1)."""
    K = len(orderings[0])
    votes = [0] * K
    for position, pi in zip(choice, orderings, strict=True):
        for content in range(K):
            if pi[content] == position:
                votes[content] += 1
    winner = 0
    for content in range(K):
        if votes[content] > votes[winner]:
            winner = content
    return [pi[winner] for pi in orderings]


def apply(
    operation: str,
    logp: Sequence[Sequence[Row]],
    logp_reversed: Sequence[Sequence[Row]] | None,
    choice: Sequence[Sequence[int]],
    orderings: Sequence[Sequence[int]],
    calibration_indices: Sequence[int],
    alpha: float = 1.0,
) -> tuple[list[list[int]], Rows | None]:
    """Chosen positions and corrected rows of every item under one operation (section 3, D.1).

    `logp[q][s]` is the row under ordering s, `logp_reversed[q][s]` the row under its reversal,
    `choice[q][s]` the stored position. Priors read the calibration items' presented orderings.
    """
    if operation not in OPERATIONS:
        raise ValueError(f"unknown operation {operation}")
    if operation == "vote":
        return [_vote(row, orderings) for row in choice], None
    if operation == "none":
        return [list(row) for row in choice], _normalised(logp)

    steps = operation.split("+")
    forward = _normalised(logp)
    backward = _normalised(logp_reversed) if logp_reversed is not None else None
    for step in steps:
        if step == "reversal":
            if backward is None:
                raise ValueError("the reversal product needs the reversed queries")
            combined = []
            for q in range(len(forward)):
                rows = []
                for s in range(len(orderings)):
                    pi = orderings[s]
                    rows.append(_product(forward[q][s], backward[q][s], pi, reversal(pi)))
                combined.append(rows)
            forward = combined
        else:
            estimate = pride_prior if step == "pride" else batch_prior
            prior = estimate([forward[q] for q in calibration_indices])
            forward = _map_rows(forward, prior, alpha)
            if backward is not None:
                backward = _map_rows(backward, prior, alpha)
    return [[choose(row) for row in queries] for queries in forward], forward


def rank_reversals(correct_counts: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Checkpoint pairs whose difference takes both signs over the orderings, and all pairs.

    `correct_counts[checkpoint][s]` counts correct shared evaluation items; zero is neither sign
    (section 3, D.1).
    """
    reversing = 0
    pairs = 0
    for i in range(len(correct_counts)):
        for j in range(i + 1, len(correct_counts)):
            pairs += 1
            ahead = False
            behind = False
            for a, b in zip(correct_counts[i], correct_counts[j], strict=True):
                if a > b:
                    ahead = True
                if a < b:
                    behind = True
            if ahead and behind:
                reversing += 1
    return reversing, pairs


def permuted_priors(prior: Sequence[float]) -> list[list[float]]:
    """The prior under every non-identity letter permutation, lexicographic (K <= 4, D.1)."""
    K = len(prior)
    if K > 4:
        raise ValueError(f"all letter permutations are listed for K <= 4, not K = {K}")
    found = []
    for permutation in itertools.permutations(range(K)):
        if permutation != tuple(range(K)):
            found.append([prior[letter] for letter in permutation])
    return found
