"""Repairs of published rows: each a named switch that the config sets.

A repair is on by default where a fault changes what is measured (a leak, a wrong key, a gold
option that is always first) and off where repairing would leave the published benchmark. The paper
mentions no repair, so its presumable setting of each is what its text implies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from optionbias import faults
from optionbias.benchmarks.source import Row
from optionbias.orderings import LETTERS
from optionbias.seeds import generator

_MARK = re.compile(r"\[.*?\]")


@dataclass(frozen=True)
class Context:
    """What a repair may need of the benchmark: its name, its source's fault, the seed."""

    benchmark: str
    gold_first: bool
    seed: int


@dataclass(frozen=True)
class Repair:
    """One repair.

    Attributes:
        fault: what it mends, as the audit prints it.
        ours: its default.
        paper: what the paper presumably did.
        apply: rows -> rows; a changed or missing row is one that the repair touches.
    """

    fault: str
    ours: bool
    paper: bool
    apply: Callable[[Sequence[Row], Context], list[Row]]


def _each(change: Callable[[Row], Row]) -> Callable[[Sequence[Row], Context], list[Row]]:
    return lambda rows, _: [change(row) for row in rows]


def _dropping(bad: Callable[[Row], bool]) -> Callable[[Sequence[Row], Context], list[Row]]:
    return lambda rows, _: [row for row in rows if not bad(row)]


def _texts(change: Callable[[str], str]) -> Callable[[Row], Row]:
    """A change of every text that is shown."""

    def changed(row: Row) -> Row:
        passage = None if row.passage is None else change(row.passage)
        options = tuple(change(option) for option in row.options)
        return replace(row, question=change(row.question), options=options, passage=passage)

    return changed


def _without_markup(text: str) -> str:
    """`[header] How to [title] Put off [step] Wait` -> `How to. Put off Wait`."""
    plain = _MARK.sub("", text.strip().replace(" [title]", ". "))
    return plain.replace("  ", " ")


def remove_markup(rows: Sequence[Row], context: Context) -> list[Row]:
    """HellaSwag's marks; brackets are part of the text everywhere else."""
    if context.benchmark != "hellaswag":
        return list(rows)
    return [_texts(_without_markup)(row) if faults.has_markup(row) else row for row in rows]


def _with_letters_back(row: Row) -> Row:
    """Options whose letter was moved into their text get it back: `City A.B was` -> `City B was`."""
    if row.letters is None or None not in row.letters:
        return row
    options, letters = list(row.options), list(row.letters)
    lost = [letter for letter in LETTERS[: len(options)] if letter not in letters]
    for i, letter in enumerate(letters):
        found = [x for x in lost if letter is None and f"{x}." in options[i]]
        if len(found) == 1:
            options[i] = options[i].replace(f"{found[0]}.", "", 1)
            letters[i] = found[0]
            lost.remove(found[0])
    return replace(row, options=tuple(options), letters=tuple(letters))


def _in_letter_order(row: Row) -> Row:
    if not faults.out_of_letter_order(row) or row.letters is None:
        return row
    order = sorted(range(len(row.options)), key=lambda i: str(row.letters and row.letters[i]))
    return replace(
        row,
        options=tuple(row.options[i] for i in order),
        letters=tuple(row.letters[i] for i in order),
    )


def shuffle_gold_first(rows: Sequence[Row], context: Context) -> list[Row]:
    """Options in a random order, each item's own stream, where the source lists the gold first."""
    if not context.gold_first:
        return list(rows)
    return [_shuffled(row, context) for row in rows]


def _shuffled(row: Row, context: Context) -> Row:
    stream = generator(context.seed, f"shuffle/{context.benchmark}/{row.id}")
    order = stream.permutation(len(row.options)).tolist()
    answer = None if row.answer is None else order.index(row.answer)
    return replace(row, options=tuple(row.options[i] for i in order), answer=answer)


def _without_mojibake(text: str) -> str:
    import ftfy

    return ftfy.fix_encoding(text)


def drop_duplicates(rows: Sequence[Row], _: Context) -> list[Row]:
    """All but the first of items with the same passage, question and set of options."""
    first = {faults.content(row): row.id for row in reversed(rows)}
    return [row for row in rows if first[faults.content(row)] == row.id]


# In the order in which they are applied.
REPAIRS: dict[str, Repair] = {
    "remove_markup": Repair(
        "marks such as [header] in HellaSwag's published rows", True, True, remove_markup
    ),
    "moved_letters": Repair(
        "option letters that machine translation moved into the text (LogiQA)",
        True,
        False,
        _each(_with_letters_back),
    ),
    "letter_order": Repair(
        "options that are not listed in the order of their letters (LogiQA)",
        True,
        False,
        _each(_in_letter_order),
    ),
    "strip_blanks": Repair(
        "blanks at the edges of questions, passages and options; on a gold option they give it away",
        True,
        False,
        _each(_texts(str.strip)),
    ),
    "fix_mojibake": Repair(
        "texts in a wrong encoding, as far as it can be undone",
        False,
        False,
        _each(_texts(_without_mojibake)),
    ),
    "shuffle_gold_first": Repair(
        "the gold option listed first in every row (TruthfulQA); by chance some keep their order",
        True,
        False,
        shuffle_gold_first,
    ),
    "drop_empty": Repair(
        "items with an empty question or option", True, True, _dropping(faults.has_empty_field)
    ),
    "drop_identical_options": Repair(
        "items that list the same option twice",
        False,
        False,
        _dropping(faults.has_identical_options),
    ),
    "drop_duplicates": Repair(
        "items that repeat another's passage, question and options", False, False, drop_duplicates
    ),
    "drop_referring_options": Repair(
        "items with an option that, by the patterns of that fault, refers to others (`all of the above`)",
        False,
        False,
        _dropping(faults.has_referring_option),
    ),
}

DEFAULTS: dict[str, bool] = {name: repair.ours for name, repair in REPAIRS.items()}


def repaired(
    rows: Sequence[Row], switches: Mapping[str, bool], context: Context
) -> tuple[list[Row], dict[str, list[str]]]:
    """Apply the repairs that are switched on, in order.

    Returns:
        the rows, and for every repair the ids of the rows that it touches; of one that is
        switched off, those that it would touch.
    """
    touched: dict[str, list[str]] = {}
    now = list(rows)
    for name, repair in REPAIRS.items():
        after = {row.id: row for row in repair.apply(now, context)}
        touched[name] = [row.id for row in now if after.get(row.id) != row]
        if switches[name]:
            now = list(after.values())
    return now, touched
