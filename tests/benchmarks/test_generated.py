"""Tests of the generated benchmarks: what makes their items fair, and their exact content."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import pytest

from optionbias.benchmarks.facts import LEVELS, fold, relations, roman
from optionbias.benchmarks.generated import BENCHMARKS, exemplars, generate, has_cue
from optionbias.item import Item
from optionbias.seeds import DEFAULT_SEED

ROOT = Path(__file__).resolve().parents[2]
COUNTS = {"facts_k2": (306, 40), "facts_k4": (312, 80), "facts_k10": (300, 110)}
SHA256 = {
    "facts_k2": "6f60aee4c222c40160c94b3aa9848ab8a2d7f709642331833e95d8548c24e2f7",
    "facts_k4": "ab72f47972c8b4d387c7c32462fd36ad9f0c61aa02930e64b18d864ff6faae3d",
    "facts_k10": "4fef66d8e636f73ac1d6156cee30ebd06880fa4b79b91d84b6fec5e688d664c9",
}

# Every question with its key and the set of its valid values.
QUESTIONS = {
    (relation.name, relation.question(fact.key)): (relation, fact.key, fact.valid)
    for relation in relations()
    for fact in relation.facts
}

SPLITS = {name: generate(name, DEFAULT_SEED) for name in BENCHMARKS}
EVERY = pytest.mark.parametrize("name", BENCHMARKS)


def both(name: str) -> list[Item]:
    """Return the evaluation and the development items of a benchmark."""
    return [*SPLITS[name][0], *SPLITS[name][1]]


def relation_name(item: Item) -> str:
    """Return the relation of an item."""
    return str(item.subject).split("/")[0]


def groups(items: list[Item]) -> list[list[Item]]:
    """Return the groups of items: those whose ids agree up to the last number."""
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(item.id.rsplit("-", 1)[0], []).append(item)
    return list(found.values())


def words(text: str) -> list[str]:
    """Return the words of a text without case and accents."""
    return re.findall(r"[^\W_]+", fold(text))


def digest(name: str, seed: int) -> str:
    """Return the SHA-256 of the canonical JSON of all items of a benchmark."""
    items = [asdict(item) for part in generate(name, seed) for item in part]
    text = json.dumps(items, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@EVERY
def test_counts(name: str) -> None:
    evaluation, development = SPLITS[name]
    assert (len(evaluation), len(development)) == COUNTS[name]
    assert {item.n_options for item in both(name)} == {BENCHMARKS[name]}
    assert {item.split for item in evaluation} == {"evaluation"}
    assert {item.split for item in development} == {"dev"}
    levels = Counter(str(item.subject).split("/")[1] for item in evaluation)
    assert levels == dict.fromkeys(LEVELS, len(evaluation) // 3)
    assert len({relation_name(item) for item in evaluation}) >= 15


@EVERY
def test_texts(name: str) -> None:
    items = both(name)
    assert len({item.id for item in items}) == len(items)
    assert len({item.question for item in items}) == len(items)
    for item in items:
        assert item.id.startswith(f"{name}-")
        assert all(text == text.strip() != "" for text in (item.question, *item.options))
        assert all(text.isascii() for text in (item.question, *item.options))
        assert len(set(map(fold, item.options))) == item.n_options


@EVERY
def test_group_shares_its_options_and_makes_each_the_answer_once(name: str) -> None:
    k = BENCHMARKS[name]
    for group in groups(both(name)):
        assert len(group) == k
        assert len({frozenset(item.options) for item in group}) == 1
        assert len({item.subject for item in group}) == 1
        assert {item.options[item.answer] for item in group} == set(group[0].options)
    used = Counter(frozenset(item.options) for item in both(name))
    assert all(count % k == 0 for count in used.values())


@EVERY
def test_answers_take_every_position_equally_often(name: str) -> None:
    k = BENCHMARKS[name]
    for group in groups(both(name)):
        assert sorted(item.answer for item in group) == list(range(k))
    evaluation = SPLITS[name][0]
    counts = Counter(item.answer for item in evaluation)
    assert counts == dict.fromkeys(range(k), len(evaluation) // k)


@EVERY
def test_exactly_one_option_is_valid(name: str) -> None:
    for item in both(name):
        _, _, valid = QUESTIONS[relation_name(item), item.question]
        assert valid & set(item.options) == {item.options[item.answer]}


@EVERY
def test_options_of_an_item_are_of_one_form(name: str) -> None:
    for item in both(name):
        assert len({len(text) if text.isdigit() else 0 for text in item.options}) == 1
        for a in item.options:
            assert not any(fold(a) in fold(b) for b in item.options if b != a)


# Rules that read the set of options only. Ties go to the alphabetically first.
SET_RULES: dict[str, Callable[[Item], str]] = {
    "longest": lambda item: min(item.options, key=lambda text: (-len(text), text)),
    "shortest": lambda item: min(item.options, key=lambda text: (len(text), text)),
    "most words": lambda item: min(item.options, key=lambda text: (-len(text.split()), text)),
    "alphabetical first": lambda item: min(item.options),
    "alphabetical last": lambda item: max(item.options),
    "largest number": lambda item: max(item.options, key=lambda text: (text.isdigit(), text)),
}


@EVERY
@pytest.mark.parametrize("rule", SET_RULES)
def test_rules_on_the_option_set_score_exactly_chance(name: str, rule: str) -> None:
    evaluation = SPLITS[name][0]
    hits = sum(SET_RULES[rule](item) == item.options[item.answer] for item in evaluation)
    assert Fraction(hits, len(evaluation)) == Fraction(1, BENCHMARKS[name])


@EVERY
def test_most_and_least_frequent_options_score_exactly_chance(name: str) -> None:
    evaluation = SPLITS[name][0]
    seen = Counter(text for item in evaluation for text in item.options)
    correct = Counter(item.options[item.answer] for item in evaluation)
    assert {text: count * BENCHMARKS[name] for text, count in correct.items()} == seen
    for sign in (1, -1):
        hits = sum(
            min(item.options, key=lambda text: (sign * seen[text], text))
            == item.options[item.answer]
            for item in evaluation
        )
        assert Fraction(hits, len(evaluation)) == Fraction(1, BENCHMARKS[name])


@EVERY
def test_fixed_positions_score_exactly_chance(name: str) -> None:
    evaluation = SPLITS[name][0]
    for position in range(BENCHMARKS[name]):
        hits = sum(item.answer == position for item in evaluation)
        assert Fraction(hits, len(evaluation)) == Fraction(1, BENCHMARKS[name])


@EVERY
def test_longest_with_ties_by_position_stays_within_its_bound(name: str) -> None:
    # Of a group only the items whose answer is one of the t longest can be hit: t of K.
    for group in groups(SPLITS[name][0]):
        longest = max(map(len, group[0].options))
        tied = sum(len(text) == longest for text in group[0].options)
        hits = sum(
            max(item.options, key=len) == item.options[item.answer] for item in group
        )  # `max` takes the first of equals
        assert hits <= tied
        assert tied > 1 or hits == 1


@EVERY
def test_any_rule_on_the_ordered_options_scores_half_with_two_options(name: str) -> None:
    if BENCHMARKS[name] == 2:
        for first, second in groups(both(name)):
            assert first.options == second.options
            assert {first.answer, second.answer} == {0, 1}


@EVERY
def test_no_option_shares_a_string_with_its_question(name: str) -> None:
    for item in both(name):
        relation, key, _ = QUESTIONS[relation_name(item), item.question]
        asked = words(item.question)
        for option in item.options:
            assert not has_cue(relation, key, option)
            assert fold(option) not in fold(key)
            assert fold(key) not in fold(option)
            for word in words(option):
                assert word not in asked
                if len(word) >= 4 and not word.isdigit():
                    assert not any(other[:4] == word[:4] for other in asked)
                    long = [other for other in words(key) if len(other) >= 4]
                    assert not any(other[:3] == word[:3] for other in long)


@pytest.mark.parametrize(
    ("key", "value", "cue"),
    [
        ("Mexico", "Mexico City", True),
        ("Algeria", "Algiers", True),
        ("Brazil", "Brasilia", True),
        ("Perú", "PERU", True),
        ("the United States", "Washington", False),
        ("Chad", "N'Djamena", False),
        ("Oman", "Romania", True),
        ("Peru", "the capital", True),
    ],
)
def test_has_cue(key: str, value: str, cue: bool) -> None:
    (capital,) = (relation for relation in relations() if relation.name == "capital")
    assert has_cue(capital, key, value) is cue


@EVERY
def test_no_key_of_an_evaluation_item_is_in_the_development_split(name: str) -> None:
    evaluation, development = (
        {fold(QUESTIONS[relation_name(item), item.question][1]) for item in part}
        for part in SPLITS[name]
    )
    assert not evaluation & development


@EVERY
def test_exemplars(name: str) -> None:
    k = BENCHMARKS[name]
    for seed in (DEFAULT_SEED, 1, 2):
        chosen = exemplars(name, seed)
        development = generate(name, seed)[1]
        assert len(chosen) == 5
        assert all(item in development for item in chosen)
        assert len({relation_name(item) for item in chosen}) == 5
        counts = Counter(item.answer for item in chosen)
        assert len(counts) == min(k, 5)
        assert max(counts.values()) == -(-5 // k)
        assert chosen == exemplars(name, seed)
    everything = exemplars(name, DEFAULT_SEED, n=COUNTS[name][1])
    assert sorted(item.id for item in everything) == sorted(item.id for item in SPLITS[name][1])
    with pytest.raises(ValueError, match="development items"):
        exemplars(name, DEFAULT_SEED, n=COUNTS[name][1] + 1)


@EVERY
def test_same_items_again_and_others_under_another_seed(name: str) -> None:
    assert generate(name, DEFAULT_SEED) == SPLITS[name]
    assert generate(name, 1) != SPLITS[name]


@EVERY
def test_items_are_pinned(name: str) -> None:
    assert digest(name, DEFAULT_SEED) == SHA256[name]


def test_items_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "import hashlib\n"
        "from optionbias.benchmarks.generated import BENCHMARKS, exemplars, generate\n"
        f"seed = {DEFAULT_SEED}\n"
        "made = [(generate(b, seed), exemplars(b, seed)) for b in BENCHMARKS]\n"
        "print(hashlib.sha256(repr(made).encode()).hexdigest())\n"
    )
    made = [(SPLITS[name], exemplars(name, DEFAULT_SEED)) for name in BENCHMARKS]
    expected = hashlib.sha256(repr(made).encode()).hexdigest()
    for hash_seed in ("1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected


def test_facts_are_stated_once() -> None:
    assert len({relation.name for relation in relations()}) == len(relations())
    for relation in relations():
        stated = [(fact.key, fact.value) for fact in relation.facts]
        assert len(set(stated)) == len(stated)
        assert {fact.level for fact in relation.facts} <= set(LEVELS)
        for fact in relation.facts:
            assert fact.value not in fact.also
            # A key has one level and one set of valid values.
            same = [other for other in relation.facts if other.key == fact.key]
            assert {(other.level, other.valid) for other in same} == {(fact.level, fact.valid)}


def test_number_facts_are_true() -> None:
    by_name = {relation.name: relation for relation in relations()}
    for fact in by_name["sum"].facts:
        a, b = map(int, fact.key.split(" + "))
        assert int(fact.value) == a + b
    for fact in by_name["product"].facts:
        a, b = map(int, fact.key.split(" times "))
        assert int(fact.value) == a * b
    numerals = {"X": 10, "L": 50, "C": 100, "V": 5, "I": 1}
    for number in range(1, 100):
        text = [numerals[letter] for letter in roman(number)]
        pairs = zip(text, [*text[1:], 0], strict=True)
        assert sum(-here if here < after else here for here, after in pairs) == number
    elements = {fact.key: fact.value for fact in by_name["element"].facts}
    known = {"neon": 10, "iron": 26, "silver": 47, "iodine": 53, "tungsten": 74, "radon": 86}
    assert all(elements[element] == str(number) for element, number in known.items())
    assert len(elements) == 77


def test_borders_hold_both_ways() -> None:
    (relation,) = (relation for relation in relations() if relation.name == "neighbour")
    valid = {fact.key.removeprefix("the "): fact.valid for fact in relation.facts}
    for key, values in valid.items():
        for value in values & set(valid):
            assert key in valid[value]
