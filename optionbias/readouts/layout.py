"""The tokens of a pack in one row, and which of them each token attends to.

Trees are laid out depth first, so everything below a node follows it directly. A token attends to
the stem, to its node's ancestors and to its own node up to itself. Long ancestors are attended to by
all tokens below them in one dense block without a mask; what remains is each node's short path,
gathered and padded. The parts are merged by their log-sum-exp (`tree_attention`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from optionbias.readouts.packing import Pack
from optionbias.readouts.prefix_tree import Node

# An ancestor at least this long, above at least this many tokens, is worth a block of its own.
MIN_BLOCK_KEYS = 48
MIN_BLOCK_QUERIES = 96
# Nodes are padded together while that adds no more than this share of their work.
MOST_PADDING = 0.35


@dataclass(frozen=True)
class Block:
    """Tokens `queries` of the row all attend to all of `keys` (ranges of the row)."""

    queries: slice
    keys: slice


@dataclass(frozen=True)
class Paths:
    """Nodes of similar length that attend to their gathered paths.

    Attributes:
        queries: (B, Lq) index in the row, -1 where padded.
        keys: (B, Lk) index in the row, -1 where padded.
    """

    queries: NDArray[np.int64]
    keys: NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """A pack as one row of tokens.

    Attributes:
        tokens, positions: (T,) token ids and their positions in their prompts.
        ends: (n,) index in the row of the last token of each prompt.
        rows: (n,) which prompt that is.
        blocks, paths: who attends to whom, besides the stem, to which all do.
    """

    tokens: NDArray[np.int64]
    positions: NDArray[np.int64]
    ends: NDArray[np.int64]
    rows: NDArray[np.int64]
    blocks: list[Block]
    paths: list[Paths]


@dataclass
class _Segment:
    """A node in the row: its range, and the ranges of the path that it attends to besides blocks."""

    own: range
    path: list[range] = field(default_factory=list)

    @property
    def reach(self) -> int:
        return sum(map(len, self.path)) + len(self.own)


def lay_out(pack: Pack) -> Layout:
    """Lay out a pack's trees, depth first."""
    tokens: list[int] = []
    positions: list[int] = []
    ends: list[int] = []
    rows: list[int] = []
    blocks: list[Block] = []
    segments: list[_Segment] = []

    def place(node: Node, path: list[range]) -> None:
        own = range(len(tokens), len(tokens) + len(node.tokens))
        tokens.extend(node.tokens)
        positions.extend(range(node.start, node.end))
        segments.append(_Segment(own, path))
        for row in node.rows:
            ends.append(own.stop - 1)
            rows.append(row)
        below = node.size - len(node.tokens)
        if len(own) >= MIN_BLOCK_KEYS and below >= MIN_BLOCK_QUERIES:
            blocks.append(Block(slice(own.stop, own.stop + below), slice(own.start, own.stop)))
        else:
            path = [*path, own]
        for child in node.children:
            place(child, path)

    for tree in pack.trees:
        place(tree, [])
    token_row, position_row, end_row, prompt_row = (
        np.array(a, dtype=np.int64) for a in (tokens, positions, ends, rows)
    )
    paths = [_gather(group) for group in _alike(segments)]
    return Layout(token_row, position_row, end_row, prompt_row, blocks, paths)


def _alike(segments: list[_Segment]) -> list[list[_Segment]]:
    """Groups of segments whose common padding costs little."""
    groups: list[list[_Segment]] = []
    work = longest = reach = 0
    for segment in sorted(segments, key=lambda s: (-len(s.own), -s.reach)):
        own_work = len(segment.own) * segment.reach
        reach = max(reach, segment.reach)
        padded = longest * reach * (len(groups[-1]) + 1) if groups else 0
        if not groups or padded > (1 + MOST_PADDING) * (work + own_work):
            groups.append([])
            work, longest, reach = 0, len(segment.own), segment.reach
        groups[-1].append(segment)
        work += own_work
    return groups


def _gather(group: list[_Segment]) -> Paths:
    queries = np.full((len(group), max(len(s.own) for s in group)), -1, dtype=np.int64)
    keys = np.full((len(group), max(s.reach for s in group)), -1, dtype=np.int64)
    for line, segment in enumerate(group):
        path = [index for part in (*segment.path, segment.own) for index in part]
        keys[line, : len(path)] = path
        queries[line, : len(segment.own)] = segment.own
    return Paths(queries, keys)
