"""The prompt of Appendix A.2."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from optionbias.item import EXEMPLARS, Item
from optionbias.orderings import cyclic, identity, reversal
from optionbias.prompts import (
    chain_of_thought_digest,
    chain_of_thought_prompt,
    exemplars_of,
    prompt,
    template_digest,
)

# The paper's own example (A.2): an ARC-Easy item in canonical order, and rotated by one.
RADIATOR = Item(
    "radiator",
    "Which type of energy does a radiator give off ?",
    ("heat", "light", "solar", "electrical"),
    0,
)


def test_canonical_order_is_the_papers_text() -> None:
    assert prompt(RADIATOR, identity(4)) == (
        "Question: Which type of energy does a radiator give off ?\n"
        "A. heat\nB. light\nC. solar\nD. electrical\nAnswer:"
    )


def test_rotation_moves_the_gold_to_the_next_letter() -> None:
    """Under pi_1, pi_2, pi_3 position A holds electrical, solar, light in turn (A.2)."""
    first = [prompt(RADIATOR, pi).splitlines()[1] for pi in cyclic(4)]
    assert first == ["A. heat", "A. electrical", "A. solar", "A. light"]
    gold = [prompt(RADIATOR, pi).index("heat") for pi in cyclic(4)]
    assert gold == sorted(gold)


def test_reversal_reads_the_options_backwards() -> None:
    lines = prompt(RADIATOR, reversal(identity(4))).splitlines()[1:5]
    assert lines == ["A. electrical", "B. solar", "C. light", "D. heat"]


def test_a_passage_precedes_the_question() -> None:
    item = Item("p", "Who?", ("Ann", "Bob"), 1, passage="Bob did it.")
    assert prompt(item, identity(2)) == (
        "Passage: Bob did it.\nQuestion: Who?\nA. Ann\nB. Bob\nAnswer:"
    )


def test_exemplars_end_in_their_answers_and_never_move() -> None:
    exemplar = Item("e", "1 + 1?", ("3", "2"), 1)
    texts = [prompt(RADIATOR, pi, [exemplar]) for pi in cyclic(4)]
    head = "Question: 1 + 1?\nA. 3\nB. 2\nAnswer: B\n\nQuestion: Which"
    assert all(text.startswith(head) for text in texts)
    assert all(text.endswith("\nAnswer:") for text in texts)


def test_no_prompt_ends_in_a_blank() -> None:
    """`Answer: ` would end in a lone space token, and ` A` could not follow."""
    assert not prompt(RADIATOR, identity(4)).endswith(" ")


def shown(*subjects: str | None) -> list[Item]:
    """One exemplar of each of these subjects, e0, e1, ..."""
    return [
        Item(f"e{i}", f"{i} + 1?", ("a", "b"), i % 2, subject=subject)
        for i, subject in enumerate(subjects)
    ]


@pytest.mark.parametrize("subject", [None, "law", "art"])
def test_five_exemplars_stand_before_every_item(subject: str | None) -> None:
    """Whatever subjects they and the item have: they are the benchmark's own five."""
    five = shown("law", "law", None, "art", "art")
    assert len(five) == EXEMPLARS
    assert exemplars_of(replace(RADIATOR, subject=subject), five) == five
    assert exemplars_of(RADIATOR, five[:2]) == five[:2]
    assert exemplars_of(RADIATOR, ()) == []


def test_of_more_than_five_those_of_the_items_subject_in_their_order() -> None:
    exemplars = shown(*("law", "art") * EXEMPLARS)
    for subject, first in (("law", 0), ("art", 1)):
        own = exemplars_of(replace(RADIATOR, subject=subject), exemplars)
        assert [e.id for e in own] == [f"e{i}" for i in range(first, 2 * EXEMPLARS, 2)]
        text = prompt(RADIATOR, identity(4), own)
        assert [f"{i} + 1?" in text for i in range(10)] == [i % 2 == first for i in range(10)]


@pytest.mark.parametrize("subject", ["botany", None])
def test_an_item_of_a_subject_without_exemplars_is_told(subject: str | None) -> None:
    exemplars = shown(*("law",) * EXEMPLARS, "art")
    with pytest.raises(ValueError, match=f"item radiator: no exemplars of its subject, {subject}"):
        exemplars_of(replace(RADIATOR, subject=subject), exemplars)


@pytest.mark.parametrize(
    ("k", "named"),
    [(2, "A or B"), (3, "A, B, or C"), (4, "A, B, C, or D"), (5, "A, B, C, or D")],
)
def test_chain_of_thought_replaces_the_cue_after_a_blank_line(k: int, named: str) -> None:
    """The sentence of A.3; beyond four options only the first four letters are valid."""
    item = Item("i", "Which?", tuple(f"o{j}" for j in range(k)), 0)
    base = prompt(item, range(k))
    assert chain_of_thought_prompt(item, range(k)) == base.removesuffix("Answer:") + (
        "\nLet's think step by step, then provide your final answer as "
        f'"The answer is [X]" where X is {named}.'
    )
    assert chain_of_thought_digest() != template_digest()


def test_the_digest_of_the_plain_prompt_is_not_changed_by_other_prompts() -> None:
    """Sweeps of earlier versions carry it."""
    parts = ["Passage: {passage}\n", "Question: {question}\n", "{letter}. {option}\n", "Answer:"]
    text = "\x1f".join([*parts, " {letter}", "\n\n"])
    assert template_digest() == hashlib.sha256(text.encode()).hexdigest()
