"""Prompts as a prefix tree: tokens that several prompts start with are one node, to be run once.

The orderings of an item share its passage, its question and the option lines that they start
with; items share a passage or their exemplars. The tree is found over token ids of whole prompts,
never over pieces of text, whose tokens need not be those of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """A run of tokens that the same prompts share.

    Attributes:
        start: position in those prompts of its first token.
        tokens: its tokens, at least one.
        rows: the prompts that end with its last token.
        children: what follows it in the other prompts; they start with different tokens.
        size: tokens of the node and everything below it.
    """

    start: int
    tokens: Tokens
    rows: tuple[int, ...] = ()
    children: tuple[Node, ...] = ()
    size: int = field(init=False)

    def __post_init__(self) -> None:
        below = sum(child.size for child in self.children)
        object.__setattr__(self, "size", len(self.tokens) + below)

    @property
    def end(self) -> int:
        """The position after its last token."""
        return self.start + len(self.tokens)


def shared_length(a: Sequence[int], b: Sequence[int]) -> int:
    """Number of tokens that two prompts start with."""
    for position, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return position
    return min(len(a), len(b))


def prefix_tree(prompts: Sequence[Sequence[int]], start: int = 0) -> tuple[Node, ...]:
    """The trees of prompts that share their first `start` tokens, without these tokens.

    Equal prompts are one path with several rows. Trees are in lexicographic order of their
    tokens, so the result depends on the prompts alone.

    Raises:
        ValueError: a prompt has no token after the shared ones.
    """
    rows = sorted(range(len(prompts)), key=lambda row: tuple(prompts[row]))
    if any(len(prompt) <= start for prompt in prompts):
        raise ValueError(f"a prompt has no more than the {start} shared tokens")
    return _grow([tuple(prompts[row]) for row in rows], rows, start)


def _grow(prompts: list[Tokens], rows: list[int], depth: int) -> tuple[Node, ...]:
    """Nodes of sorted prompts that share `depth` tokens and have more."""
    nodes, first = [], 0
    for last in range(1, len(prompts) + 1):
        if last < len(prompts) and prompts[last][depth] == prompts[first][depth]:
            continue
        group = prompts[first:last]
        # Sorted: what the first and the last share, all between them share.
        end = shared_length(group[0], group[-1])
        ended = sum(len(prompt) == end for prompt in group)
        nodes.append(
            Node(
                depth,
                group[0][depth:end],
                tuple(rows[first : first + ended]),
                _grow(group[ended:], rows[first + ended : last], end),
            )
        )
        first = last
    return tuple(nodes)
