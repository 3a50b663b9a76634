"""The generated benchmarks: groups of K questions that share one set of K options.

A group is K facts of one relation and one level whose values are distinct and fit exactly one
of its keys. It yields K items, one per fact, each with the K values as options, so each option
is correct exactly once per group: a rule that reads only the set of options scores exactly 1/K.
The correct option also takes each of the K canonical positions exactly once per group. For
K = 2 these two properties leave no choice: both items of a group list the options in the same
order.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Sequence

from optionbias.benchmarks.facts import LEVELS, Fact, Relation, fold, relations
from optionbias.item import Item
from optionbias.seeds import generator

BENCHMARKS: dict[str, int] = {"facts_k2": 2, "facts_k4": 4, "facts_k10": 10}

# Evaluation groups per level: 306, 312 and 300 items.
GROUPS_PER_LEVEL: dict[str, int] = {"facts_k2": 51, "facts_k4": 26, "facts_k10": 10}

# A relation gives a development group only at a level that has this many groups or more.
MIN_GROUPS_FOR_DEVELOPMENT = 3

Group = tuple[Fact, ...]


def generate(benchmark: str, seed: int) -> tuple[list[Item], list[Item]]:
    """Return the evaluation and the development items of a benchmark.

    The development split is one group of each relation that has enough facts at some level.
    No key of it occurs in an evaluation item, whatever the relation.

    Args:
        benchmark: a name in `BENCHMARKS`.
        seed: the configured seed.
    """
    held_out = _held_out(benchmark, seed)
    keys = {fold(fact.key) for _, _, group in held_out for fact in group}
    evaluation: list[Item] = []
    cells = {
        (relation.name, level): _groups(benchmark, seed, relation, level, keys)
        for relation in relations()
        for level in LEVELS
    }
    taken = _spread(cells, GROUPS_PER_LEVEL[benchmark])
    for relation in relations():
        for level in LEVELS:
            groups = cells[relation.name, level][: taken[relation.name, level]]
            evaluation += _items(benchmark, seed, (relation, level), groups, "evaluation")
    development = [
        item
        for relation, level, group in held_out
        for item in _items(benchmark, seed, (relation, level), [group], "dev")
    ]
    return evaluation, development


def exemplars(benchmark: str, seed: int, n: int = 5) -> list[Item]:
    """Return `n` development items for a few-shot prompt.

    For `n` up to the number of relations of the development split, every exemplar has another
    relation and the correct positions are spread as evenly as `n` allows.

    Args:
        benchmark: a name in `BENCHMARKS`.
        seed: the configured seed.
        n: the number of exemplars.
    """
    k = BENCHMARKS[benchmark]
    groups: dict[str, list[Item]] = {}
    for item in generate(benchmark, seed)[1]:
        groups.setdefault(str(item.subject), []).append(item)
    if n > k * len(groups):
        raise ValueError(f"{benchmark} has only {k * len(groups)} development items")
    rng = generator(seed, f"benchmarks/{benchmark}/exemplars")
    subjects = [sorted(groups)[i] for i in rng.permutation(len(groups))]
    positions = [int(position) for position in rng.permutation(k)]
    # A new pass over the subjects starts one position on, so that no item comes twice.
    chosen = []
    for i in range(n):
        subject = subjects[i % len(subjects)]
        left = [item for item in groups[subject] if item not in chosen]
        order = positions[i % k :] + positions[: i % k]
        chosen.append(min(left, key=lambda item: order.index(item.answer)))
    return chosen


def has_cue(relation: Relation, key: str, value: str) -> bool:
    """Tell whether the strings alone link the question about `key` to `value`.

    They do when key and value contain one another, when a word of the value occurs in the
    question, or when two words of four or more letters contain one another or begin alike: by
    four letters for any word of the question, by three for a word of the key. Case and accents
    do not count.
    """
    return _cued(relation.question(key), key, value)


@functools.cache
def _cued(question: str, key: str, value: str) -> bool:
    if _contained(key, value):
        return True
    offered = _words(value)
    return any(_alike(a, b, 4) for a in _words(question) for b in offered) or any(
        _alike(a, b, 3) for a in _words(key) for b in offered
    )


@functools.cache
def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", fold(text))


def _alike(a: str, b: str, letters: int) -> bool:
    if a == b:
        return True
    if min(len(a), len(b)) < 4 or a.isdigit() or b.isdigit():
        return False
    return a[:letters] == b[:letters] or a in b or b in a


def _contained(a: str, b: str) -> bool:
    a, b = fold(a), fold(b)
    return a in b or b in a


def _digits(value: str) -> int:
    return len(value) if value.isdigit() else 0


def _compatible(relation: Relation, a: Fact, b: Fact) -> bool:
    """Tell whether two facts may share a group."""
    if a.key == b.key or _contained(a.value, b.value) or _digits(a.value) != _digits(b.value):
        return False
    if b.value in a.valid or a.value in b.valid:
        return False
    return not has_cue(relation, a.key, b.value) and not has_cue(relation, b.key, a.value)


def _groups(
    benchmark: str, seed: int, relation: Relation, level: str, without: Collection[str] = ()
) -> list[Group]:
    """Return disjoint groups of the facts of one level, built greedily from a drawn order."""
    k = BENCHMARKS[benchmark]
    facts = [
        fact
        for fact in relation.facts
        if fact.level == level
        and fold(fact.key) not in without
        and not has_cue(relation, fact.key, fact.value)
    ]
    rng = generator(seed, f"benchmarks/{benchmark}/{relation.name}/{level}/facts")
    pool = [facts[i] for i in rng.permutation(len(facts))]
    groups: list[Group] = []
    while len(pool) >= k:
        group: list[Fact] = []
        for fact in pool:
            if all(_compatible(relation, fact, other) for other in group):
                group.append(fact)
            if len(group) == k:
                break
        if len(group) == k:
            groups.append(tuple(group))
            used = {fact.key for fact in group}
            pool = [fact for fact in pool if fact.key not in used]
        else:
            pool = pool[1:]
    return groups


def _held_out(benchmark: str, seed: int) -> list[tuple[Relation, str, Group]]:
    """Draw the development groups: per relation one group, of a drawn level."""
    rng = generator(seed, f"benchmarks/{benchmark}/held-out")
    held_out = []
    for relation in relations():
        levels = [LEVELS[i] for i in rng.permutation(len(LEVELS))]
        number = int(rng.integers(2**31))
        for level in levels:
            groups = _groups(benchmark, seed, relation, level)
            if len(groups) >= MIN_GROUPS_FOR_DEVELOPMENT:
                held_out.append((relation, level, groups[number % len(groups)]))
                break
    return held_out


def _spread(
    cells: dict[tuple[str, str], list[Group]], per_level: int
) -> dict[tuple[str, str], int]:
    """Return how many groups to take of each relation and level: as even as facts allow."""
    taken = dict.fromkeys(cells, 0)
    for level in LEVELS:
        left = per_level
        while left:
            open_cells = [c for c in cells if c[1] == level and taken[c] < len(cells[c])]
            if not open_cells:
                raise ValueError(f"too few facts for {per_level} groups of level {level}")
            for cell in open_cells[:left]:
                taken[cell] += 1
            left -= min(left, len(open_cells))
    return taken


def _items(
    benchmark: str,
    seed: int,
    cell: tuple[Relation, str],
    groups: Iterable[Group],
    split: str,
) -> list[Item]:
    """Return the items of groups, with drawn option orders and balanced correct positions."""
    k = BENCHMARKS[benchmark]
    relation, level = cell
    rng = generator(seed, f"benchmarks/{benchmark}/{relation.name}/{level}/orders/{split}")
    prefix = f"{benchmark}-dev" if split == "dev" else benchmark
    items = []
    for number, group in enumerate(groups, start=1):
        answers = [int(position) for position in rng.permutation(k)]
        for i, (fact, answer) in enumerate(zip(group, answers, strict=True)):
            others = [other.value for other in group if other is not fact]
            options = _shuffled(others, rng.permutation(k - 1).tolist())
            options.insert(answer, fact.value)
            items.append(
                Item(
                    id=f"{prefix}-{relation.name}-{level}-{number:03d}-{i + 1}",
                    question=relation.question(fact.key),
                    options=tuple(options),
                    answer=answer,
                    split=split,
                    subject=f"{relation.name}/{level}",
                )
            )
    return items


def _shuffled(values: Sequence[str], order: Sequence[int]) -> list[str]:
    return [values[i] for i in order]
