"""The prompt of Appendix A.2: one fixed body for every model, benchmark and ordering."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from optionbias.item import EXEMPLARS, Item
from optionbias.orderings import LETTERS

CUE = "Answer:"
PASSAGE = "Passage: {passage}\n"
QUESTION = "Question: {question}\n"
OPTION = "{letter}. {option}\n"
SEPARATOR = "\n\n"
# A.3, with a plain apostrophe and plain quotation marks.
STEP_BY_STEP = (
    'Let\'s think step by step, then provide your final answer as "The answer is [X]" where '
    "{letters}."
)
COT_LETTERS = 4


def template_digest() -> str:
    """SHA-256 of everything that shapes a prompt, kept with each sweep."""
    parts = [PASSAGE, QUESTION, OPTION, CUE, " {letter}", SEPARATOR]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def chain_of_thought_digest() -> str:
    """The same for the chain-of-thought prompt."""
    return hashlib.sha256(f"{template_digest()}\x1f{STEP_BY_STEP}".encode()).hexdigest()


def shown(options: Sequence[str], pi: ArrayLike) -> list[str]:
    """The options in presented order: option j at position pi[j]."""
    return [options[j] for j in np.argsort(np.asarray(pi))]


def prompt(item: Item, pi: ArrayLike, exemplars: Sequence[Item] = ()) -> str:
    """The prompt of `item` under ordering `pi`, ending in `Answer:` with no trailing blank.

    No system prompt and no chat template. A passage precedes the question. Exemplars come
    first, in the same format with their answers, in their own canonical order, so the same text
    stands before every item and ordering.
    """
    return exemplar_text(exemplars) + _body(item, pi)


def exemplar_text(exemplars: Sequence[Item]) -> str:
    """What stands before an item's own part of its prompt; empty without exemplars."""
    return "".join(
        f"{_body(e, range(e.n_options))} {LETTERS[e.answer]}{SEPARATOR}" for e in exemplars
    )


def chain_of_thought_prompt(item: Item, pi: ArrayLike) -> str:
    """The prompt with its cue replaced, after a blank line, by the sentence of A.3."""
    sentence = STEP_BY_STEP.format(letters=named_letters(item.n_options))
    return f"{_question(item, pi)}\n{sentence}"


def cot_letters(k: int) -> int:
    """How many letters are valid in a generated answer: the first four at most (A.3)."""
    return min(k, COT_LETTERS)


def named_letters(k: int) -> str:
    """The part of the sentence that names the valid letters: `X is A, B, C, or D`."""
    *first, last = list(LETTERS[: cot_letters(k)])
    return f"X is {', '.join(first)}{',' if len(first) > 1 else ''} or {last}"


def exemplars_of(item: Item, exemplars: Sequence[Item]) -> list[Item]:
    """The exemplars that stand before an item: the five, or, of more, those of its subject.

    Raises:
        ValueError: none of the exemplars is of the item's subject.
    """
    if len(exemplars) <= EXEMPLARS:
        return list(exemplars)
    own = [exemplar for exemplar in exemplars if exemplar.subject == item.subject]
    if not own:
        raise ValueError(f"item {item.id}: no exemplars of its subject, {item.subject}")
    return own


def _body(item: Item, pi: ArrayLike | range) -> str:
    return _question(item, pi) + CUE


def _question(item: Item, pi: ArrayLike | range) -> str:
    passage = PASSAGE.format(passage=item.passage) if item.passage else ""
    lines = "".join(
        OPTION.format(letter=LETTERS[position], option=option)
        for position, option in enumerate(shown(item.options, np.asarray(pi)))
    )
    return passage + QUESTION.format(question=item.question) + lines
