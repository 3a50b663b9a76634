"""Which nodes of the prefix trees run together in one forward pass, under a budget of tokens.

A pack is one forward pass over whole trees that follow the same stem. A tree larger than the budget
is cut: its root is a stem, run alone, whose keys and values are kept for the packs of its children.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from optionbias.readouts.prefix_tree import Node, Tokens

# A shorter stem is not worth a forward pass of its own: its tokens are run again in each child.
MIN_STEM = 32


@dataclass(frozen=True)
class Pack:
    """One forward pass.

    Attributes:
        before: all tokens that precede the trees: the stem whose keys and values they read.
        trees: what is run; for a stem a single node without its children.
        is_stem: whether its keys and values are kept.
    """

    before: Tokens
    trees: tuple[Node, ...]
    is_stem: bool = False

    @property
    def size(self) -> int:
        """Tokens of the forward pass."""
        return sum(tree.size for tree in self.trees)


def packs(trees: Sequence[Node], budget: int, before: Tokens = ()) -> list[Pack]:
    """Packs that run all nodes once, in an order in which each stem precedes what follows it.

    A pack exceeds the budget only where a single prompt's own tokens do.
    """
    small: list[Node] = []
    cut: list[Node] = []
    for tree in _without_short_stems(trees, budget):
        (small if tree.size <= budget or not tree.children else cut).append(tree)
    found = [Pack(before, group) for group in _fill(small, budget)]
    for tree in cut:
        found.append(Pack(before, (replace(tree, children=()),), is_stem=True))
        found += packs(tree.children, budget, before + tree.tokens)
    return found


def _without_short_stems(trees: Sequence[Node], budget: int) -> list[Node]:
    """Trees whose root is too short to be cut off carry its tokens in each of their children."""
    found: list[Node] = []
    for tree in trees:
        if tree.size <= budget or not tree.children or len(tree.tokens) >= MIN_STEM:
            found.append(tree)
            continue
        longer = [
            replace(child, start=tree.start, tokens=tree.tokens + child.tokens)
            for child in tree.children
        ]
        if tree.rows:  # prompts that end here remain a tree of their own
            longer.insert(0, replace(tree, children=()))
        found += _without_short_stems(longer, budget)
    return found


def _fill(trees: Sequence[Node], budget: int) -> list[tuple[Node, ...]]:
    """Consecutive trees in groups of about equal size, as few as the budget allows."""
    if not trees:
        return []
    total = sum(tree.size for tree in trees)
    target = total / math.ceil(total / budget)
    groups: list[list[Node]] = [[]]
    held = 0
    for tree in trees:
        full = held + tree.size > budget or held + tree.size / 2 > target
        if groups[-1] and full:
            groups.append([])
            held = 0
        groups[-1].append(tree)
        held += tree.size
    return [tuple(group) for group in groups]
