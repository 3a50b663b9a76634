"""Standalone letters of a text, by looking at one character after the other; no patterns."""

from __future__ import annotations

NOT_AFTER_THE_ARTICLE = set(
    "is isn't was wasn't has had does doesn't can cannot can't could would should must may might will"
    " and or but because since as if seems says states gives makes means matches fits refers describes".split()
)


def last_letter(text: str, k: int) -> int:
    """Position of the last valid standalone letter, -1 without one."""
    for i in range(len(text) - 1, -1, -1):
        if text[i] in "ABCD"[: min(k, 4)] and alone(text, i) and not article(text, i):
            return "ABCD".index(text[i])
    return -1


def part_of_word(text: str, i: int) -> bool:
    return 0 <= i < len(text) and text[i].isalnum()


def alone(text: str, i: int) -> bool:
    """Whether a capital is no part of a word, an abbreviation, a name or a unit."""
    before, after = text[i - 1 : i], text[i + 1 : i + 2]
    if part_of_word(text, i - 1) or part_of_word(text, i + 1):
        return False
    if before in ("°", "º") and before:
        return False
    if before and before in "-.'’" and part_of_word(text, i - 2):
        return False
    if after and after in "'’+#-" and part_of_word(text, i + 2):
        return False
    if after in ("+", "#"):
        return False
    capital = i + 2 < len(text) and "A" <= text[i + 2] <= "Z"
    return not (after == "." and capital and not part_of_word(text, i + 3))


def article(text: str, i: int) -> bool:
    """Whether the capital A begins a sentence and is followed by a word that no option letter has."""
    if text[i] != "A":
        return False
    j = i - 1
    while j >= 0 and text[j] in " \t\"'“‘*_":
        j -= 1
    if j >= 0 and text[j] not in ".!?:\n-([{":
        return False
    j = i + 1
    while j < len(text) and text[j] in " \t":
        j += 1
    if j == i + 1 or j == len(text) or text[j] not in "abcdefghijklmnopqrstuvwxyz0123456789":
        return False
    word = ""
    while j < len(text) and (text[j].isalnum() or text[j] in "_'’"):
        word, j = word + text[j], j + 1
    return word not in NOT_AFTER_THE_ARTICLE
