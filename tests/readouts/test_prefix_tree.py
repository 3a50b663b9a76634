"""Prefix trees and packs: every token of every prompt once, in the right place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.readouts.layout import lay_out
from optionbias.readouts.packing import MIN_STEM, Pack, packs
from optionbias.readouts.prefix_tree import Node, Tokens, prefix_tree, shared_length

PROMPTS = st.lists(
    st.lists(st.integers(0, 2), min_size=1, max_size=12).map(tuple), min_size=1, max_size=8
)


def paths(nodes: Sequence[Node], before: Tokens = ()) -> Iterator[tuple[int, Tokens]]:
    """Every (row, prompt) of trees, walked node by node."""
    for node in nodes:
        assert node.start == len(before)
        whole = before + node.tokens
        yield from ((row, whole) for row in node.rows)
        yield from paths(node.children, whole)


def test_a_tree_by_hand() -> None:
    """1 2 is shared by all, then 3 and 4 part; one prompt is the beginning of another."""
    tree = prefix_tree([(1, 2, 4), (1, 2, 3, 5), (1, 2, 3), (9,)])
    assert tree == (
        Node(0, (1, 2), (), (Node(2, (3,), (2,), (Node(3, (5,), (1,)),)), Node(2, (4,), (0,)))),
        Node(0, (9,), (3,)),
    )
    assert [node.size for node in tree] == [5, 1]


def test_shared_length_by_hand() -> None:
    assert shared_length([1, 2, 3], [1, 2, 4]) == 2
    assert shared_length([1, 2], [1, 2, 3]) == 2
    assert shared_length([], [1]) == 0


@given(PROMPTS)
def test_a_tree_spells_its_prompts_and_shares_every_beginning(prompts: list[Tokens]) -> None:
    """Its size is the number of distinct beginnings: no token is computed twice, none is lost."""
    tree = prefix_tree(prompts)
    assert sorted(paths(tree)) == sorted(enumerate(prompts))
    beginnings = {prompt[:n] for prompt in prompts for n in range(1, len(prompt) + 1)}
    assert sum(node.size for node in tree) == len(beginnings)


@given(PROMPTS, st.permutations(range(8)))
def test_the_order_of_prompts_changes_nothing_but_rows(
    prompts: list[Tokens], order: list[int]
) -> None:
    order = [i for i in order if i < len(prompts)]
    tree, other = prefix_tree(prompts), prefix_tree([prompts[i] for i in order])
    assert {p for _, p in paths(tree)} == {p for _, p in paths(other)}
    assert [n.tokens for n in tree] == [n.tokens for n in other]


def test_a_prompt_needs_a_token_of_its_own() -> None:
    with pytest.raises(ValueError, match="no more than the 2 shared tokens"):
        prefix_tree([(1, 2, 3), (1, 2)], start=2)


def trees_of(lengths: Sequence[int], shared: int, first: int = 0) -> tuple[Node, ...]:
    """A tree: `shared` common tokens, then one branch a length."""
    return prefix_tree([tuple([first] * shared) + (10 + i,) * n for i, n in enumerate(lengths)])


def test_packs_by_hand() -> None:
    """A budget of 100: a tree of 40 + 3 x 30 is cut, its stem runs alone, its branches in two packs;
    whole trees that fit run together before it."""
    big, small = trees_of([30, 30, 30], 40)[0], trees_of([20], 0)[0]
    found = packs([small, small, big], 100)
    assert [(p.size, p.is_stem, len(p.before)) for p in found] == [
        (40, False, 0), (40, True, 0), (90, False, 40),
    ]  # fmt: skip
    found = packs([big], 80)
    assert [(p.size, p.is_stem, len(p.before)) for p in found] == [
        (40, True, 0), (60, False, 40), (30, False, 40),
    ]  # fmt: skip


def test_a_short_stem_is_run_again_in_each_branch() -> None:
    short = trees_of([60, 60], MIN_STEM - 1)[0]
    found = packs([short], 100)
    assert [(p.size, p.is_stem) for p in found] == [(MIN_STEM + 59, False)] * 2


@given(PROMPTS, st.integers(1, 40), st.booleans())
def test_packs_run_every_prompt_after_its_own_stem(
    prompts: list[Tokens], budget: int, long: bool
) -> None:
    """Whatever the budget: each prompt ends in exactly one pack, spelled by its stem and its path."""
    stretched = [tuple(t for t in p for _ in range(20 if long else 1)) for p in prompts]
    ready = {()}
    found: list[tuple[int, Tokens]] = []
    for pack in packs(prefix_tree(stretched), budget):
        assert pack.before in ready
        if pack.is_stem:
            assert len(pack.trees) == 1 and not pack.trees[0].children
            ready.add(pack.before + pack.trees[0].tokens)
        longest = max(len(p) for p in stretched)
        assert pack.size <= max(budget, longest) or pack.is_stem
        found += paths(pack.trees, pack.before)
    assert sorted(found) == sorted(enumerate(stretched))


@given(PROMPTS, st.sampled_from([1, 30]))
def test_a_layout_lets_every_token_see_exactly_its_own_beginning(
    prompts: list[Tokens], stretch: int
) -> None:
    """Blocks and paths together give each token the tokens of its prompt up to itself, each once."""
    stretched = [tuple(t for t in p for _ in range(stretch)) for p in prompts]
    trees = prefix_tree(stretched)
    layout = lay_out(Pack((), trees))
    seen: list[list[int]] = [[] for _ in layout.tokens]
    for block in layout.blocks:
        for query in range(block.queries.start, block.queries.stop):
            seen[query] += range(block.keys.start, block.keys.stop)
    for group in layout.paths:
        for queries, keys in zip(group.queries, group.keys, strict=True):
            at = layout.positions[keys]
            for query in queries[queries >= 0]:
                visible = (keys >= 0) & (at <= layout.positions[query])
                seen[query] += keys[visible].tolist()
    for row, end in zip(layout.rows, layout.ends, strict=True):
        # The last token sees the whole prompt; so does each token before it, as far as itself.
        ordered = sorted(seen[end], key=lambda i: layout.positions[i])
        assert tuple(layout.tokens[ordered]) == stretched[row]
        for index in ordered:
            own = sorted(seen[index], key=lambda i: layout.positions[i])
            assert own == ordered[: layout.positions[index] + 1]
    assert sorted(layout.rows) == list(range(len(prompts)))
    assert np.array_equal(
        np.sort(np.concatenate([g.queries[g.queries >= 0] for g in layout.paths])),
        np.arange(len(layout.tokens)),
    )
