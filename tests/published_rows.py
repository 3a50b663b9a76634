"""Rows as a source might publish them, faults planted in them, and sources that give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from optionbias import published
from optionbias.benchmarks.source import Benchmark, File, Pool, Row, Source
from optionbias.published import Reading
from optionbias.repairs import DEFAULTS, REPAIRS
from optionbias.seeds import DEFAULT_SEED
from strategies import PROPERTY

QUICK = settings(PROPERTY, max_examples=40)
OFF: dict[str, bool] = dict.fromkeys(REPAIRS, False)
FOLDER = Path("folder-of-files")


def only(*names: str) -> dict[str, bool]:
    """Every repair off but these."""
    return OFF | dict.fromkeys(names, True)


def sound(name: str, **changes: Any) -> Row:
    """A row of four options without a fault; the gold is the second."""
    options = tuple(f"{word} of {name}" for word in ("Red", "Green", "Blue", "Grey"))
    return replace(Row(name, f"Which is {name}?", options, 1, split="test"), **changes)


def with_option(row: Row, index: int, text: str) -> Row:
    """The row with one option replaced."""
    return replace(row, options=(*row.options[:index], text, *row.options[index + 1 :]))


# How each fault of a single row is planted in a sound one (the gold is option 1).
PLANTS: dict[str, Callable[[Row], Row]] = {
    "identical options": lambda row: with_option(row, 2, row.options[0]),
    "stray blanks on options": lambda row: with_option(row, 3, row.options[3] + " "),
    "stray blanks on the gold": lambda row: with_option(
        with_option(row, 1, f"\t{row.options[1]}"), 0, row.options[0] + "\n"
    ),
    "stray blanks on the gold alone": lambda row: with_option(row, 1, row.options[1] + " "),
    # The gold letter is B: on line 2 in the first, on line 3 in the second.
    "options out of letter order": lambda row: replace(row, letters=("A", "B", "D", "C")),
    "mis-keyed when read by line": lambda row: replace(row, letters=("A", "C", "B", "D")),
    "options that lost their letter": lambda row: replace(
        with_option(row, 2, f"Blue C.of {row.id}"), letters=("A", "B", None, "D")
    ),
    "mojibake": lambda row: replace(row, question=f"{row.question} The cafÃ©'s."),
    "empty fields": lambda row: with_option(row, 0, ""),
    "options that refer to others": lambda row: with_option(row, 3, "All of the above."),
    "markup": lambda row: with_option(row, 0, f"Wait. [step] {row.options[0]}"),
}
# Every fault that a planted one entails, itself included.
ENTAILED: dict[str, set[str]] = {name: {name} for name in PLANTS} | {
    "stray blanks on the gold": {"stray blanks on options", "stray blanks on the gold"},
    "stray blanks on the gold alone": {
        "stray blanks on options",
        "stray blanks on the gold",
        "stray blanks on the gold alone",
    },
    "mis-keyed when read by line": {
        "options out of letter order",
        "mis-keyed when read by line",
    },
}


def planted(fault: str, where: Sequence[int] = (2, 4), n: int = 6) -> list[Row]:
    """`n` sound rows r0, r1, ... but for the planted ones."""
    rows = [sound(f"r{i}") for i in range(n)]
    return [PLANTS[fault](row) if i in where else row for i, row in enumerate(rows)]


def source(rows: Sequence[Row], pool: Sequence[Row] | None = None, **changes: Any) -> Source:
    """A source that gives these rows, whatever its folder holds."""
    given = None if pool is None else Pool((File("pool.txt"),), lambda _: list(pool))
    plain = Source("here at 1234", "test", (File("rows.txt"),), lambda _: list(rows), given)
    return replace(plain, **changes)


def benchmark(of: Source, **changes: Any) -> Benchmark:
    """A benchmark of four options with this source alone."""
    plain = Benchmark("toy", "Toy", 4, "MIT", "A. Author. 2020.", {"official": of})
    return replace(plain, **changes)


def read(
    rows: Sequence[Row],
    switches: Mapping[str, bool] = DEFAULTS,
    seed: int = DEFAULT_SEED,
    name: str = "toy",
    k: int = 4,
    **changes: Any,
) -> Reading:
    """What becomes of these rows."""
    given = source(rows, **changes)
    return published.read(benchmark(given, name=name, k=k), given, FOLDER, switches, seed)


REFERRING = (
    "All of the above", "all of the above.", "None of the above", "None of the above.",
    "NONE OF THE ABOVE", "all the above", "All of above", "Both of the above", "both of these",
    "Neither of these.", "Any of these", "Either of these", "All of these", "none of these",
    "None of these answers is correct", "None of the options are correct.", "Both of them are true.",
    "All of these about equally.", "None of the other answers", "None of the given options",
    "All of the answer choices", "More than one of the above", "Two of these", "none above",
    "all of the above except B and A.", "Some of the above statements", "All of the statements above",
    "A and B", "both A and B", "Both A and B.", "Both A & B", "both a and b.", "Neither (a) nor (b).",
    "either A or B", "(A) and (B)", "Only A and B", "A and B only", "A , B", "B and A are correct",
    "All of A and B",
)  # fmt: skip
NOT_REFERRING = (
    "All of the students went home early", "above", "Above all", "above all, it is a game",
    "All the answers that he had given before", "None of the statements are true", "none", "Both",
    "Both Ann and Bob", "both accurate and precise", "neither ants nor bees", "I and II", "II only",
    "A", "B.", "A and A", "a and b", "AB", "A B", "Vitamin A and B", "A and B lie", "Both A and B lie",
    "A-B", "A and Z", "Y or Z", "the above", "They are all of the same size", "Some other options",
    "one of the above-mentioned kings of the three realms", "All of them must try their best today",
    "answers", "Option A", "B and the other one", "All", "Neither is",
)  # fmt: skip


@st.composite
def row_lists(draw: st.DrawFn, max_size: int = 8) -> list[Row]:
    """Rows of two to ten options with faults of every kind, many of them at once, or none."""
    k = draw(st.sampled_from([2, 3, 4, 10]))
    first = draw(st.booleans())
    return [draw(_rows(f"r{i}", k, first)) for i in range(draw(st.integers(1, max_size)))]


@st.composite
def _rows(draw: st.DrawFn, name: str, k: int, first: bool) -> Row:
    blanks = st.sampled_from(["", "", "", "", " ", "\t", "\N{NO-BREAK SPACE}"])
    odd = st.sampled_from(
        [
            "",
            "same",
            "Wait [header] here",
            "[note] x",
            "cafÃ©",
            "café",
            "itâ€™s",
            "\ufffd",
            "D.e B.f",
        ]
    )
    options = [f"option {i}" for i in draw(st.permutations(range(k)))]
    for i in draw(st.lists(st.integers(0, k - 1), max_size=3)):
        kinds = (odd, st.sampled_from(REFERRING), st.sampled_from(NOT_REFERRING))
        options[i] = draw(st.one_of(*kinds, st.just(options[i])))
        options[i] = draw(blanks) + options[i] + draw(blanks)
    letters: list[str | None] = list("ABCDEFGHIJ"[:k])
    if draw(st.booleans()):
        i, j = draw(st.integers(0, k - 1)), draw(st.integers(0, k - 1))
        letters[i], letters[j] = letters[j], letters[i]
    for i in draw(st.lists(st.integers(0, k - 1), max_size=2)) if draw(st.booleans()) else []:
        letters[i] = None
    question = draw(
        st.sampled_from(["Which?", "Which? ", "Who?", "Who [title]?", "", "naïve – «so»?"])
    )
    return Row(
        name,
        question,
        tuple(options),
        0 if first else draw(st.integers(0, k - 1)),
        draw(st.sampled_from([None, None, "Read.", " Read.", "", "It is [step] long.", "âœ“ so"])),
        letters=tuple(letters) if draw(st.booleans()) else None,
    )
