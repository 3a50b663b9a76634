"""What a closed model's reply says: one letter, or nothing that counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from optionbias.orderings import LETTERS
from optionbias.prompts import CUE

# How a reply ended: with one of the K letters, with anything else, with a refusal, at the limit
# of tokens, empty, or stopped by the server's own filter.
KINDS = ("letter", "other", "refusal", "length", "empty", "filtered")
# A letter alone, or within marks that do not change what it says.
LETTER = re.compile(r"[A-Z][.):]?")
PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("**", "**"), ("`", "`"), ('"', '"'), ("'", "'"))


@dataclass(frozen=True)
class Reply:
    """One reply as the API returned it.

    Attributes:
        text: the message's content, None where it had none.
        finish_reason: why it ended, in the API's words.
        refusal: the API's own refusal, None where there is none.
    """

    text: str | None
    finish_reason: str | None = None
    refusal: str | None = None


def read_reply(reply: Reply, shown: Sequence[str]) -> tuple[int, str]:
    """The chosen position and how the reply ended, one of `KINDS`.

    A reply counts only whole: one that ends at the limit of tokens may be the beginning of a
    sentence. See `read_letter` for what a letter is.

    Args:
        reply: what was returned.
        shown: the K options in presented order.

    Returns:
        The position, -1 for every kind but `letter`.
    """
    if reply.finish_reason == "content_filter":
        return -1, "filtered"
    if reply.refusal:
        return -1, "refusal"
    if reply.finish_reason == "length":
        return -1, "length"
    if reply.text is None or not reply.text.strip():
        return -1, "empty"
    position = read_letter(reply.text, shown)
    return position, "letter" if position >= 0 else "other"


def read_letter(text: str, shown: Sequence[str]) -> int:
    """The position whose letter is all that the text says, -1 if it says anything else.

    Accepted, with blanks at the edges: a capital letter of the K options; it followed by one of
    `.`, `)`, `:`; it within one pair of brackets, quotes, backticks or double asterisks; any of
    these after the prompt's own cue `Answer:`; and the option's line as it was shown, `B. text`.
    Lower case, look-alikes of other scripts, two letters, and words around it are not.
    """
    said = text.strip().removeprefix(CUE).strip()
    for position, option in enumerate(shown):
        line = f"{LETTERS[position]}. {option}"
        if said.split() == line.split():
            return position
    if not LETTER.fullmatch(said):
        said = _within_marks(said.removesuffix("."))
    if not LETTER.fullmatch(said) or said[0] not in LETTERS[: len(shown)]:
        return -1
    return LETTERS.index(said[0])


def _within_marks(said: str) -> str:
    """What stands within one pair of marks, nothing where there is no such pair."""
    for left, right in PAIRS:
        if said.startswith(left) and said.endswith(right):
            return said[len(left) : -len(right)].strip()
    return ""
