"""The prompt of Appendix A.2."""

from __future__ import annotations

from optionbias.item import Item
from optionbias.orderings import cyclic, identity, reversal
from optionbias.prompts import prompt

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
