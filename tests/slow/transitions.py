"""What operations do to items and what the product settles on, item by item (paper D.4)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .operations import TIE, apply, calibration_ids, log_softmax, pride_prior
from .orderings import Ordering, cyclic, reversal

NAN = float("nan")
SEED = 20261016
OPERATIONS = (
    "none",
    "pride",
    "batch",
    "pride+batch",
    "reversal",
    "pride+reversal",
    "batch+reversal",
)

Rows = list[list[float]]


@dataclass(frozen=True)
class Queries:
    """A cell's usable items with their stored rows, and which of them count.

    Attributes:
        pis: the cyclic orderings.
        gold, choice, forward, backward: per item its correct content, chosen positions, and rows of
            log-probabilities under each ordering and under its reversal.
        calibration, evaluated: indices of the calibration items, and of the other items that were
            answered under every reversal too.
    """

    pis: list[Ordering]
    gold: list[int]
    choice: list[list[int]]
    forward: list[Rows]
    backward: list[Rows]
    calibration: list[int]
    evaluated: list[int]


def queries_of(sweep: Any, seed: int = SEED) -> Queries | None:
    """The queries of a sweep; None where no evaluation item has reversed queries."""
    pis = cyclic(sweep.k)
    stored = [tuple(pi) for pi in sweep.orderings.tolist()]
    if sweep.k == 2 or any(reversal(pi) not in stored for pi in pis):
        return None
    columns = [stored.index(pi) for pi in pis]
    mirrored = [stored.index(reversal(pi)) for pi in pis]
    choice, logp = sweep.choice.tolist(), sweep.logp.tolist()
    kept = [q for q in range(len(choice)) if min(choice[q][s] for s in columns) >= 0]
    if len(kept) < 2:
        return None
    ids = [str(sweep.items[q]) for q in kept]
    held_out = calibration_ids(seed, str(sweep.metadata["benchmark"]), ids)
    calibration = [i for i, item in enumerate(ids) if item in held_out]
    whole = [min(choice[q][s] for s in mirrored) >= 0 for q in kept]
    evaluated = [i for i in range(len(kept)) if whole[i] and i not in calibration]
    if not evaluated:
        return None
    # An item without reversed answers is never evaluated: any rows will do.
    return Queries(
        pis,
        [int(sweep.gold[q]) for q in kept],
        [[choice[q][s] for s in columns] for q in kept],
        [[logp[q][s] for s in columns] for q in kept],
        [
            [logp[q][s] for s in (mirrored if full else columns)]
            for q, full in zip(kept, whole, strict=True)
        ],
        calibration,
        evaluated,
    )


@dataclass(frozen=True)
class Item:
    """An evaluation item: its correct content, its rows, and what each operation answers."""

    gold: int
    forward: Rows
    backward: Rows
    positions: dict[str, list[int]]
    contents: dict[str, list[int]]

    def flips(self, operation: str) -> bool:
        """Whether the answers disagree."""
        return len(set(self.contents[operation])) > 1

    def ends_wrong(self, operation: str) -> bool:
        """Whether every answer is the same wrong content."""
        return not self.flips(operation) and self.contents[operation][0] != self.gold

    @property
    def gap(self) -> float:
        """Difference of the two largest canonical probabilities."""
        ordered = sorted(math.exp(v) for v in log_softmax(self.forward[0]))
        return ordered[-1] - ordered[-2]


@dataclass(frozen=True)
class Cell:
    """The evaluation items of a cell and the top letter of its PriDe prior (lowest on ties)."""

    pis: list[Ordering]
    favoured: int
    items: list[Item]


def cell_of(queries: Queries) -> Cell:
    """Every operation on the evaluation items."""
    q = queries
    positions = {
        operation: apply(operation, q.forward, q.backward, q.choice, q.pis, q.calibration)[0]
        for operation in OPERATIONS
    }
    prior = pride_prior([q.forward[i] for i in q.calibration])
    items = []
    for i in q.evaluated:
        mine = {operation: found[i] for operation, found in positions.items()}
        contents = {
            operation: [pi.index(letter) for letter, pi in zip(letters, q.pis, strict=True)]
            for operation, letters in mine.items()
        }
        items.append(Item(q.gold[i], q.forward[i], q.backward[i], mine, contents))
    return Cell(q.pis, prior.index(max(prior)), items)


def share(part: int, whole: int) -> float:
    """A share, nan of nothing."""
    return part / whole if whole else NAN


def mean(values: Sequence[float]) -> float:
    """A mean, nan of nothing."""
    return math.fsum(values) / len(values) if values else NAN


def moves(cell: Cell, operation: str) -> dict[str, float]:
    """A row of Table 14 within one cell, and the counts behind it."""
    n = len(cell.items)
    before = [item for item in cell.items if item.flips("none")]
    stopped = [item for item in before if not item.flips(operation)]
    started = [x for x in cell.items if x.flips(operation) and not x.flips("none")]
    wrong = [item for item in stopped if item.ends_wrong(operation)]
    letters = [letter for item in before for letter in item.positions[operation]]
    return {
        "n_items": n,
        "n_flipping": len(before),
        "n_stopped": len(stopped),
        "n_started": len(started),
        "n_stopped_wrong": len(wrong),
        "stop": share(len(stopped), n),
        "start": share(len(started), n),
        "settle_wrong": share(len(wrong), len(stopped)),
        "favoured_share": share(letters.count(cell.favoured), len(letters)),
    }


def _leads(content: int, chosen: Sequence[int]) -> str:
    """How a content fares among those chosen: most often alone, with others, or less often."""
    counts = [list(chosen).count(other) for other in range(max(*chosen, content) + 1)]
    if counts[content] < max(counts):
        return "less"
    return "unique" if counts.count(max(counts)) == 1 else "tied"


def _in_top_two(item: Item, content: int, pis: Sequence[Ordering]) -> bool:
    """Whether at most one letter beats the content in each of the item's 2K queries."""
    shown = [*zip(item.forward, pis, strict=True)]
    shown += [(row, reversal(pi)) for row, pi in zip(item.backward, pis, strict=True)]
    for stored, pi in shown:
        row = log_softmax(stored)
        own = row[pi[content]]
        if sum(1 for score in row if score > own + TIE) > 1:
            return False
    return True


def settled(cell: Cell) -> dict[str, float]:
    """What Table 15 says within one cell."""
    resolved = [x for x in cell.items if x.flips("none") and not x.flips("reversal")]
    wrong = [item for item in resolved if item.ends_wrong("reversal")]
    right = [item for item in resolved if not item.ends_wrong("reversal")]
    found: dict[str, list[bool]] = {}
    for item in wrong:
        content = item.contents["reversal"][0]
        backward = [
            reversal(pi).index(row.index(max(row)))
            for row, pi in zip(item.backward, cell.pis, strict=True)
        ]
        every = _leads(content, item.contents["none"] + backward)
        cyclic_alone = _leads(content, item.contents["none"])
        described = {
            "unique_most_frequent": every == "unique",
            "tied_most_frequent": every == "tied",
            "unique_most_frequent_cyclic": cyclic_alone == "unique",
            "tied_most_frequent_cyclic": cyclic_alone == "tied",
            "in_every_top_two": _in_top_two(item, content, cell.pis),
            "wrong_under_every_cyclic": item.gold not in item.contents["none"],
        }
        for name, holds in described.items():
            found.setdefault(name, []).append(holds)
    names = (
        "unique_most_frequent",
        "tied_most_frequent",
        "unique_most_frequent_cyclic",
        "tied_most_frequent_cyclic",
        "in_every_top_two",
        "wrong_under_every_cyclic",
    )
    return {
        **{name: share(sum(found.get(name, [])), len(wrong)) for name in names},
        "gap_settled_wrong": mean([item.gap for item in wrong]),
        "gap_settled_correct": mean([item.gap for item in right]),
        "gap_stable_wrong": mean([item.gap for item in cell.items if item.ends_wrong("none")]),
    }
