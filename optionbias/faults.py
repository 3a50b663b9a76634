"""What can be wrong with a published row: one predicate a fault.

Faults are looked for in rows as published, before any repair.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from optionbias.benchmarks.source import Row
from optionbias.orderings import LETTERS

_MARK = re.compile(r"\[(?:header|title|step|substeps|sub-steps|substep)\]")
_OTHERS = r"(?:above|these|those|them|options|choices|answers|statements above|others|preceding|foregoing)"
# `all of the above`, `none of these answers`, `Both of them are true.`, `all of these except B`
_REFERRING = re.compile(
    r"^(?:all|none|both|neither|any|either|some|two|three|more than one) of (?:the )?"
    rf"(?:given |listed |other |answer )?{_OTHERS}(?:(?: \w+){{0,3}}| except .+)\W*$"
    r"|^(?:all|none|both|neither) (?:the )?above\b",
    re.IGNORECASE,
)
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def content(row: Row) -> tuple[str, str, frozenset[str]]:
    """What makes two items the same: passage, question and the set of options, edges stripped."""
    options = frozenset(option.strip() for option in row.options)
    return (row.passage or "").strip(), row.question.strip(), options


def texts(row: Row) -> list[str]:
    """Every text of a row that is shown."""
    return [*([] if row.passage is None else [row.passage]), row.question, *row.options]


def has_markup(row: Row) -> bool:
    """Marks such as `[header]`."""
    return any(_MARK.search(text) for text in texts(row))


def lost_letter(row: Row) -> bool:
    """An option stands without the letter that the source prints before options."""
    return row.letters is not None and None in row.letters


def out_of_letter_order(row: Row) -> bool:
    """All letters are there, but not in the order A, B, C, ..."""
    if row.letters is None or None in row.letters:
        return False
    return list(row.letters) != list(LETTERS[: len(row.letters)])


def miskeyed_by_line(row: Row) -> bool:
    """The gold letter names another option than the line of the same number."""
    if not out_of_letter_order(row) or row.letters is None or row.answer is None:
        return False
    return row.letters[row.answer] != LETTERS[row.answer]


def stray_blank(row: Row) -> bool:
    """A blank at the edge of an option."""
    return any(option != option.strip() for option in row.options)


def gold_line(row: Row) -> int | None:
    """Index of the gold option in `options`: by its letter where that is printed, else by number."""
    if row.answer is None or row.letters is None or LETTERS[row.answer] not in row.letters:
        return row.answer
    return row.letters.index(LETTERS[row.answer])


def stray_blank_on_gold(row: Row) -> bool:
    """A blank at the edge of the gold option."""
    gold = gold_line(row)
    return gold is not None and row.options[gold] != row.options[gold].strip()


def stray_blank_on_gold_alone(row: Row) -> bool:
    """... and of no other option: it gives the answer away."""
    marked = [i for i, option in enumerate(row.options) if option != option.strip()]
    return marked == [gold_line(row)]


def has_empty_field(row: Row) -> bool:
    """An empty question or option, or a passage that is there but empty."""
    return not all(text.strip() for text in texts(row))


def has_identical_options(row: Row) -> bool:
    """Two options with the same text, edges stripped."""
    return len({option.strip() for option in row.options}) < len(row.options)


def has_mojibake(row: Row) -> bool:
    """A text that was decoded in a wrong encoding, or holds a replacement character."""
    from ftfy.badness import is_bad

    return any(_REPLACEMENT in text or is_bad(text) for text in texts(row))


def has_referring_option(row: Row) -> bool:
    """An option that names other options or their letters, so that reordering changes its meaning."""
    letters = LETTERS[: len(row.options)]
    stripped = [option.strip() for option in row.options]
    return any(_REFERRING.search(option) or _lists_letters(option, letters) for option in stripped)


def _lists_letters(option: str, letters: str) -> bool:
    """`A and B`, `Both (A) and (C)`, `A, B, and C only`, `neither a nor b`: of different options."""
    letter = rf"\(?[{letters}]\)?"
    several = rf"{letter}(?:(?: ?,? (?:and|or|nor|&) | ?, ){letter})+"
    found = re.fullmatch(
        rf"(?i:(?:both|either|neither) (?P<after>{several})|(?:only |all of )?(?-i:(?P<alone>{several})))"
        r"(?i: only| both| are(?: both| all)? (?:correct|true|right))?\.?",
        option,
    )
    if found is None:
        return False
    listed = re.findall(rf"\b[{letters}]\b", (found["after"] or found["alone"]).upper())
    return len(set(listed)) == len(listed)


def duplicated_questions(rows: Sequence[Row]) -> list[str]:
    """Ids of rows whose passage and question an earlier row has, whatever the options."""
    return _repeats(rows, [content(row)[:2] for row in rows])


def duplicated_items(rows: Sequence[Row]) -> list[str]:
    """Ids of rows whose passage, question and set of options an earlier row has."""
    return _repeats(rows, [content(row) for row in rows])


def _repeats(rows: Sequence[Row], keys: Sequence[object]) -> list[str]:
    seen: Counter[object] = Counter()
    found = []
    for row, key in zip(rows, keys, strict=True):
        if seen[key]:
            found.append(row.id)
        seen[key] += 1
    return found
