"""Answers of awkward texts, each worked out by hand from the rule of A.3."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optionbias.item import Item
from optionbias.prompts import chain_of_thought_prompt, named_letters
from optionbias.readouts.extraction import KINDS, chain_of_thought, direct_answer, extract
from slow.extraction import last_letter

E, O, F, N = "explicit", "opening", "fallback", "none"  # noqa: E741

# (trace, K, letter or "", kind): chain of thought
TRACES: list[tuple[str, int, str, str]] = [
    # Explicit answers and their mark-up.
    ("2 + 2 is 4. The answer is [B].", 4, "B", E),  # as the prompt asks for it
    ("The answer is B", 4, "B", E),  # without brackets
    ("The answer is (C)", 4, "C", E),  # round brackets
    ("the answer is: **D**", 4, "D", E),  # colon and bold
    ("**The answer is [A]**", 4, "A", E),  # all bold
    ("**Answer:** C", 4, "C", E),  # the colon within the bold
    ("__Answer__: C", 4, "C", E),  # underscores are no part of a word
    ("ANSWER: D", 4, "D", E),  # capitals
    ("ANSWER IS B", 4, "B", E),  # capitals, with a verb
    ('The answer is "B".', 4, "B", E),  # quotation marks
    ("The answer is “B”.", 4, "B", E),  # typographic ones
    ("The answer is `B`.", 4, "B", E),  # code
    (r"The answer is $\boxed{B}$.", 4, "B", E),  # TeX
    (r"\[ \boxed{\text{(C)}} \]", 4, "C", E),  # TeX in TeX, without the word answer
    (r"So \boxed{A dog}.", 4, "", N),  # a box with a text: its A is an article of no letter
    ("Final answer: option C", 4, "C", E),  # option
    ("The correct option is B because it is warm.", 4, "B", E),  # `option` is what is
    ("So the best choice is the letter D.", 4, "D", E),  # choice, the letter
    ("The answer is therefore, clearly, (A).", 4, "A", E),  # words between
    ("The answer to question 3 is D.", 4, "D", E),  # words between answer and is
    ("The answer must be C.", 4, "C", E),  # must be
    ("The answer is\n\nB", 4, "B", E),  # on a line of its own
    ("The answer is B. Paris", 4, "B", E),  # with the option's text
    ("The answer is B.Paris", 4, "B", E),  # without a blank: B.P is no abbreviation of capitals
    ("The answer is B: Paris", 4, "B", E),  # colon behind
    ("The answer → C", 4, "C", E),  # an arrow
    ("B is the correct answer.", 4, "B", E),  # the other way round
    ("Option (C) is correct, as shown.", 4, "C", E),  # the other way round, bracketed
    ("**D** is clearly the best choice", 4, "D", E),  # the other way round, bold
    ("The answer is A", 4, "A", E),  # A at the end is a letter
    ("The answer is A because it rains.", 4, "A", E),  # A before `because` is a letter
    ("Answer: A and not B", 4, "A", E),  # A before `and`, the rest in lower case
    # The latest valid one.
    ("The answer is A. Wait. The answer is [C].", 4, "C", E),  # a change of mind
    ("The answer is [B]. A, C and D are wrong.", 4, "B", E),  # later letters are not explicit
    ("The answer is [B]. Not D!", 4, "B", E),  # nor is this
    ("The answer is C. The answer is E.", 5, "C", E),  # E is never valid: the earlier one counts
    ("The answer is C. The answer is E.", 10, "C", E),  # nor with ten options
    ("The answer is B. The answer is D.", 3, "B", E),  # D is not valid with three options
    ("The answer is C.", 2, "", N),  # C is not valid with two options
    ("The answer is E.", 5, "", N),  # E alone
    ("The answer is E, not B.", 5, "B", F),  # no explicit valid one: the last letter
    ("B is the correct answer. So the answer is C.", 4, "C", E),  # two patterns, the later wins
    ("So the answer is C. B is the correct answer!", 4, "B", E),  # the same, turned
    ("The answer is [B].\n\nQuestion: x\nA. p\nB. q\nAnswer: A", 4, "A", E),  # went on: literal rule
    ("The answer is [B].\n\nQuestion: x\nA. p\nB. q\nC. r\nD. s\n", 4, "B", E),  # went on, no answer
    # Not said, or taken back.
    ("The answer is not B.", 4, "B", F),  # no explicit answer: only a letter
    ("The answer isn't B. The answer is C.", 4, "C", E),  # the second
    ("The answer is C. The answer is definitely not D.", 4, "C", E),  # the first
    ("The answer cannot be A. C fits.", 4, "C", F),  # cannot be
    ("The answer could be A. It rains, so B.", 4, "B", F),  # could be is no answer
    ("I don't think the answer is B. So: C", 4, "C", F),  # taken back
    ("I do not think that the correct answer is B. D fits.", 4, "D", F),  # taken back, longer
    ("If the answer is A, pigs fly. Hence D.", 4, "D", F),  # a condition
    ("We ask whether B is correct. C fits.", 4, "C", F),  # a question
    ("B is not correct. C", 4, "C", F),  # the other way round, negated
    ("A is the wrong answer. D", 4, "D", F),  # the wrong answer is not the answer
    ("The answer is A or B.", 4, "B", F),  # two letters are no answer: the last letter
    ("The answer is A, B, C, or D.", 4, "D", F),  # a list is none either
    ("The answer is [B]. The answer is A or C.", 4, "B", E),  # so the earlier one counts
    ("The answer is B, A is wrong.", 4, "B", E),  # a clause of its own is no list
    # The prompt's own sentence.
    ('"The answer is [X]" where X is A, B, C, or D.', 4, "", N),  # an echo says nothing
    ('"The answer is [X]" where X is A or B.', 2, "", N),  # of two options
    ('"The answer is [X]" where X is A, B, C, or D. B it is', 4, "B", F),  # an echo, then a letter
    ('"The answer is [X]" where X is A, B, C, or D.\nThe answer is [C]', 4, "C", E),  # then an answer
    # Standalone letters.
    ("I would go with C", 4, "C", F),  # the last letter
    ("B, since C is cold", 4, "C", F),  # literally the last one, whatever it says
    ("A: no. B: no. C: yes!", 4, "C", F),  # a list
    ("(d)", 4, "", N),  # lower case never counts
    ("The answer is a noun.", 4, "", N),  # the article
    ("The answer is b.", 4, "", N),  # lower case never counts, explicit or not
    ("A dog barks.", 4, "", N),  # the article at the beginning of a sentence
    ("B fits. A dog barks.", 4, "B", F),  # the article does not hide the letter before
    ('C fits. "A dog barks."', 4, "C", F),  # the article in quotation marks
    ("Answer: A dog barks", 4, "", N),  # the article after a colon is no explicit answer
    ("We say A dog barks", 4, "A", F),  # a capital within a sentence is the letter
    ("A is warm.", 4, "A", F),  # no article before a verb
    ("C fits. An Apple Best Called Dog", 4, "C", F),  # letters within words
    ("ABCD", 4, "", N),  # a word
    ("Vitamin B12 and C4 and 4D", 4, "", N),  # names with digits
    ("C++ and C# and B+", 4, "", N),  # names with signs
    ("an A-level, a B-cell, X-A", 4, "", N),  # hyphens
    ("D'Arcy and A’s", 4, "", N),  # apostrophes
    ("Washington D.C. and the U.S.A", 4, "", N),  # abbreviations
    ("It is 25 °C or 25°C", 4, "", N),  # degrees
    ("Ça, Bär, Été Ä", 4, "", N),  # letters of other scripts are parts of words
    ("А В С Ｄ", 4, "", N),  # Cyrillic and full-width look-alikes
    ("Ответ: B", 4, "B", F),  # another language: the letter alone
    ("答案是B", 4, "", N),  # a letter within a run of letters of any script
    ("答案是 B。", 4, "B", F),  # apart from it
    ("<b>B</b>", 4, "B", F),  # a tag is no letter
    ("$B$ and $$", 4, "B", F),  # TeX
    ("option_B", 4, "B", F),  # an underscore parts words
    ("D is not an option here", 2, "", N),  # not valid with two options
    ("", 4, "", N),  # nothing
    (" \n\t ", 4, "", N),  # blanks
    ("\x00\ufffd B", 4, "B", F),  # what decoders leave
    ("the answer the answer " * 400, 4, "", N),  # a loop: quick, and no letter
    ("The answer is " * 400 + "B", 4, "B", E),  # a loop that ends
]  # fmt: skip

# The same for direct answers.
DIRECT: list[tuple[str, int, str, str]] = [
    (" B", 4, "B", O),  # what a prompt that ends in `Answer:` is answered with
    ("B. Paris\n\nQuestion: x\nAnswer: C", 4, "B", O),  # what comes after does not matter
    (" (C) because", 4, "C", O),  # bracket
    ("**D**", 4, "D", O),  # bold
    (r"\boxed{A}", 4, "A", O),  # TeX
    ("\n\nA\n", 4, "A", O),  # blank lines
    ("A is wrong, the answer is B", 4, "A", O),  # literally: it opens with A
    ("A dog. The answer is B", 4, "B", E),  # an article opens it: the rule for traces
    ("A", 4, "A", O),  # the letter alone
    ("A. A dog", 4, "A", O),  # letter, then article
    ("Apple. B", 4, "B", F),  # a word
    ("D", 3, "", N),  # not valid
    ("E. x\nThe answer is C", 5, "C", E),  # not valid, the rule for traces
    ("Answer: C", 4, "C", E),  # no letter opens it
    ("b", 4, "", N),  # lower case
    ("B-cells", 4, "", N),  # a name
    ("I think C", 4, "C", F),  # no letter opens it
    ("", 4, "", N),  # nothing
]


def expected(letter: str, kind: str) -> tuple[int, str]:
    return ("ABCD".index(letter) if letter else -1, kind)


@pytest.mark.parametrize(("trace", "k", "letter", "kind"), TRACES)
def test_traces(trace: str, k: int, letter: str, kind: str) -> None:
    found = chain_of_thought(trace, k)
    assert (found.position, found.kind) == expected(letter, kind)
    assert extract("chain-of-thought", trace, k) == found


@pytest.mark.parametrize(("text", "k", "letter", "kind"), DIRECT)
def test_direct_answers(text: str, k: int, letter: str, kind: str) -> None:
    found = direct_answer(text, k)
    assert (found.position, found.kind) == expected(letter, kind)
    assert extract("direct-answer", text, k) == found


TEXT = st.lists(
    st.sampled_from(
        ["A", "B", "C", "D", "E", "a", " ", "\n", ". ", ", ", "answer", "The answer is ", "not", "if ",
         "is", "correct", "or", "[", "]", "(", ")", "**", "\\boxed{", "}", "X", "dog", "’", "-", ":"]
    )
    | st.characters(),
    max_size=40,
).map("".join)  # fmt: skip


@given(TEXT, st.integers(2, 10), st.data())
def test_a_closing_statement_is_the_answer(text: str, k: int, data: st.DataObject) -> None:
    letter = data.draw(st.sampled_from("ABCD"[: min(k, 4)]))
    assert chain_of_thought(f"{text}\n\nThe answer is [{letter}].", k).kind == "explicit"
    found = chain_of_thought(f"{text}\n\nSo. The answer is [{letter}].", k)
    assert found.position == "ABCD".index(letter)


@given(TEXT, st.integers(2, 10))
def test_an_answer_is_valid_or_none(text: str, k: int) -> None:
    for found in (chain_of_thought(text, k), direct_answer(text, k)):
        assert -1 <= found.position < min(k, 4)
        assert found.kind in KINDS and (found.kind == "none") == (found.position < 0)
    # Without any valid letter there is no answer.
    bare = "".join(c for c in text if c not in "ABCD")
    assert chain_of_thought(bare, k).kind == "none"


@given(TEXT, st.integers(2, 4))
def test_fewer_options_only_take_letters_away(text: str, k: int) -> None:
    """An answer that is valid with fewer options stays a candidate with more: same kind or better."""
    fewer, more = chain_of_thought(text, k), chain_of_thought(text, 10)
    assert not (fewer.kind == "explicit" and more.kind != "explicit")
    assert not (fewer.kind == "fallback" and more.kind == "none")


LETTER_TEXT = st.text(
    st.sampled_from("ABCDEabe is because dog  \t\n.,:;!?-'’“\"*_()[]{}+#°º25é中$")
    | st.characters(),
    max_size=60,
)


@settings(max_examples=1000)
@given(LETTER_TEXT, st.integers(2, 10))
def test_the_last_standalone_letter_by_a_slow_scan(text: str, k: int) -> None:
    found = chain_of_thought(text, k)
    if found.kind != "explicit":  # `B: correct` and the like
        assert found.position == last_letter(text, k)


# Sentences whose part in the rule is known: (template, does it state an answer, does it name one).
SENTENCES = [
    ("The answer is [{}].", True, True), ("**Final answer: {}**", True, True),
    ("So option {} is the correct choice.", True, True), ("\\boxed{{{}}}", True, True),
    ("The answer is not {}.", False, True), ("I don't think the answer is {}.", False, True),
    ("If the answer is {}, then so be it.", False, True), ("Look at {} again.", False, True),
    ("A dog barks.", False, False), ("It is 25 °C in Washington D.C.", False, False),
    ("\"The answer is [X]\"", False, False),
]  # fmt: skip


@given(
    st.lists(st.tuples(st.sampled_from(SENTENCES), st.sampled_from("ABCDE")), max_size=8),
    st.integers(2, 10),
)
def test_sentences_of_known_kinds(said: list[tuple[tuple[str, bool, bool], str]], k: int) -> None:
    """The rule of A.3 over sentences: the last that states a valid letter, else that names one."""
    valid = [(s, letter) for s, letter in said if letter in "ABCD"[: min(k, 4)]]
    stated = [letter for (_, states, _), letter in valid if states]
    named = [letter for (_, _, names), letter in valid if names]
    found = chain_of_thought("\n".join(s[0].format(letter) for s, letter in said), k)
    expected = stated or named
    assert found.position == ("ABCD".index(expected[-1]) if expected else -1)
    assert found.kind == ("explicit" if stated else "fallback" if named else "none")


@pytest.mark.parametrize("k", [2, 3, 4, 5, 10])
def test_the_prompt_itself_holds_no_explicit_answer(k: int) -> None:
    item = Item("i", "Which?", tuple(f"o{j}" for j in range(k)), 0)
    asked = chain_of_thought_prompt(item, range(k))
    assert asked.endswith(f'"The answer is [X]" where {named_letters(k)}.')
    assert chain_of_thought(asked, k).kind == "fallback"  # the letters of its option lines
