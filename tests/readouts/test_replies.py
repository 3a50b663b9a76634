"""What counts as a one-letter reply: a table by hand, and properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.orderings import LETTERS
from optionbias.readouts.replies import PAIRS, Reply, read_letter, read_reply

SHOWN = ["heat", "light", "solar  wind", "A"]
# Reply -> the letter it says, None for none; K = 4 with the options above.
TABLE = [
    ("A", "A"), ("B", "B"), ("C", "C"), ("D", "D"),
    (" B", "B"), ("B\n", "B"), ("\n\t B \n", "B"),
    ("B.", "B"), ("B)", "B"), ("B:", "B"), ("(B)", "B"), ("[B]", "B"), ("{B}", "B"),
    ("(B).", "B"), ("**B**", "B"), ("**B.**", "B"), ("**B**.", "B"), ("`B`", "B"), ('"B"', "B"),
    ("'B'", "B"), ("( B )", "B"),
    ("Answer: B", "B"), ("Answer:B", "B"), ("Answer: (B)", "B"), ("Answer: B. light", "B"),
    ("B. light", "B"), ("B.  light", "B"), ("C. solar wind", "C"), ("D. A", "D"),
    # Nothing that counts.
    ("", None), ("   ", None), ("Answer:", None), (".", None), ("()", None), ("****", None),
    ("E", None), ("E. light", None), ("Z", None), ("1", None), ("b", None), ("(b)", None),
    ("AB", None), ("A B", None), ("A, B", None), ("A or B", None), ("A/B", None), ("BB", None),
    ("B. heat", None), ("B. Light", None), ("B light", None), ("light", None), ("A. light", None),
    ("The answer is B", None), ("Option B", None), ("B is right", None), ("B because", None),
    ("I", None), ("None", None), ("B..", None), ("B?", None), ("(B", None), ("B]", None),
    ("((B))", None), ("answer: B", None), ("Answer: Answer: B", None), ("B\nC", None),
    ("\u0412", None),  # a Cyrillic letter that looks like B
    ("\uff22", None),  # a full-width B
    ("<think>hm</think>B", None), ("\u200bB", None), ("A. heat\nB. light", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "letter"), TABLE)
def test_by_hand(text: str, letter: str | None) -> None:
    assert read_letter(text, SHOWN) == (-1 if letter is None else LETTERS.index(letter))


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply("B", "stop"), "letter"),
        (Reply("B"), "letter"),
        (Reply("B", "eos"), "letter"),
        (Reply("Perhaps", "stop"), "other"),
        (Reply("B", "length"), "length"),
        (Reply("", "length"), "length"),
        (Reply(None, "stop"), "empty"),
        (Reply(" \n", "stop"), "empty"),
        (Reply(None, None), "empty"),
        (Reply(None, "stop", "I will not"), "refusal"),
        (Reply("B", "stop", "I will not"), "refusal"),
        (Reply("B", "content_filter"), "filtered"),
    ],
)
def test_how_a_reply_ended(reply: Reply, kind: str) -> None:
    position, found = read_reply(reply, SHOWN)
    assert found == kind
    assert position == (1 if kind == "letter" else -1)


options = st.lists(st.text(max_size=8), min_size=2, max_size=10)


@given(options, st.data(), st.sampled_from(["", " ", "\n", "\t \n"]))
def test_a_letter_in_any_marks_is_that_letter(
    shown: list[str], data: st.DataObject, blank: str
) -> None:
    position = data.draw(st.integers(0, len(shown) - 1))
    letter = LETTERS[position]
    left, right = data.draw(st.sampled_from([*PAIRS, ("", "")]))
    cue = data.draw(st.sampled_from(["", "Answer:", "Answer: "]))
    said = (
        f"{blank}{cue}{left}{letter}{data.draw(st.sampled_from(['', '.', ')', ':']))}{right}{blank}"
    )
    assert read_letter(said, shown) == position
    assert read_letter(f"{letter}. {shown[position]}", shown) == position


@given(options, st.text(max_size=12))
def test_nothing_but_a_letter_is_one(shown: list[str], text: str) -> None:
    """Whatever is accepted holds exactly one capital letter, of the K, or is a line as shown."""
    position = read_letter(text, shown)
    assert -1 <= position < len(shown)
    if position >= 0:
        said = text.strip().removeprefix("Answer:")
        lines = {" ".join(f"{LETTERS[i]}. {o}".split()) for i, o in enumerate(shown)}
        alone = [c for c in said if c.isalnum()] == [LETTERS[position]]
        assert alone or " ".join(said.split()) in lines


@given(options, st.text(max_size=12), st.sampled_from(["length", "content_filter"]))
def test_a_reply_that_was_cut_never_counts(shown: list[str], text: str, reason: str) -> None:
    assert read_reply(Reply(text, reason), shown)[0] == -1
