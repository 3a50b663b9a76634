"""From files to items and exemplars, and every way in which files are not what they should be."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias import published
from optionbias.benchmarks.source import File, Pool, Row, SourceError, json_lines
from optionbias.item import EXEMPLARS, Item
from optionbias.items import digest
from optionbias.repairs import DEFAULTS
from optionbias.seeds import DEFAULT_SEED
from published_rows import (
    FOLDER,
    OFF,
    PLANTS,
    QUICK,
    benchmark,
    only,
    planted,
    read,
    row_lists,
    sound,
    source,
    with_option,
)

ROWS = [sound(f"r{i}", answer=i % 4) for i in range(6)]
POOL = [sound(f"p{i}", answer=i % 4) for i in range(9)]
WHERE = f"toy: {FOLDER}"


def said(rows: list[Row], **changes: Any) -> str:
    """What is said of rows that are not what their source declares, in one line."""
    with pytest.raises(SourceError) as caught:
        read(rows, **changes)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def drawn(
    pool: list[Row],
    items: list[Item] | None = None,
    switches: dict[str, bool] = DEFAULTS,
    seed: int = DEFAULT_SEED,
    **changes: Any,
) -> list[Item]:
    """Exemplars of a pool."""
    given_items = list(read(ROWS).items) if items is None else items
    given_source = source(ROWS, pool)
    toy = benchmark(given_source, **changes)
    return published.exemplars(toy, given_source, FOLDER, switches, seed, given_items)[0]


# Items


def test_rows_become_items() -> None:
    rows = [sound("r0", passage="Read.", subject="art"), sound("r1", answer=3, passage="")]
    reading = read(rows, OFF)
    assert reading.items == [
        Item("r0", "Which is r0?", rows[0].options, 1, "Read.", "test", "art"),
        Item("r1", "Which is r1?", rows[1].options, 3, None, "test"),
    ]
    assert (reading.rows, reading.kept, reading.dropped) == (rows, rows, {})


def test_rows_without_k_options_or_a_gold_among_them_become_none() -> None:
    rows = [
        sound("r0", options=("a", "b", "c")),
        sound("r1"),
        sound("r2", options=("a", "b", "c", "d", "e"), answer=4),
        sound("r3", answer=None),
        sound("r4", answer=4),
        sound("r5", answer=-1),
    ]
    reading = read(rows)
    assert [item.id for item in reading.items] == ["r1"]
    assert reading.dropped == {
        "not 4 options": ["r0", "r2"],
        "the gold is no option": ["r3", "r4", "r5"],
    }
    assert read([replace(row, answer=0) for row in rows], k=3, gold_first=False).kept[0].id == "r0"


def test_a_row_is_dropped_by_the_last_repair_that_touched_it() -> None:
    """Rows 1 and 3 are stripped first; the repair that strips drops nothing."""
    rows = list(ROWS)
    rows[1] = with_option(rows[1], 0, "  ")
    rows[3] = PLANTS["identical options"](with_option(rows[3], 3, "Grey "))
    rows[5] = PLANTS["stray blanks on options"](rows[5])
    reading = read(rows, only("strip_blanks", "drop_empty", "drop_identical_options"))
    assert reading.touched["strip_blanks"] == ["r1", "r3", "r5"]
    assert reading.dropped == {"drop_empty": ["r1"], "drop_identical_options": ["r3"]}
    assert [item.id for item in reading.items] == ["r0", "r2", "r4", "r5"]
    # Switched off, a repair says what it would touch and drops nothing.
    off = read(rows, only("strip_blanks", "drop_empty"))
    assert off.touched["drop_identical_options"] == ["r3"]
    assert off.dropped == {"drop_empty": ["r1"]}


def test_without_letter_order_items_keep_the_line_as_their_answer() -> None:
    """A, C, B, D with gold B: on, the option after letter B; off, that of line 2, mis-keyed."""
    (row, *_) = planted("mis-keyed when read by line", where=(0,))
    (mended, *_), (plain, *_) = (
        read([row, *ROWS[1:]], only(*on)).items for on in (("letter_order",), ())
    )
    assert mended.options[mended.answer] == row.options[2] == "Blue of r0"
    assert plain.options[plain.answer] == row.options[1] == "Green of r0"


@given(row_lists(), st.sets(st.sampled_from(sorted(OFF))))
@QUICK
def test_every_row_is_an_item_or_dropped_once(rows: list[Row], names: set[str]) -> None:
    k = len(rows[0].options)
    last = sound("last", question="Last?", options=tuple(f"last {i}" for i in range(k)))
    sure = [*rows, last, replace(last, id="odd", options=last.options[:1])]
    first = all(row.answer == 0 for row in sure[:-1])
    reading = read(sure, only(*names), k=k, gold_first=first)
    lost = [i for ids in reading.dropped.values() for i in ids]
    assert sorted([*lost, *(item.id for item in reading.items)]) == sorted(row.id for row in sure)
    assert set(reading.dropped) <= {f"not {k} options", *(n for n in names if n.startswith("drop"))}
    for name, ids in reading.dropped.items():
        assert name.startswith("not ") or ids == reading.touched[name]


# What the source is known to give


def test_a_wrong_count_is_told() -> None:
    rows = [*ROWS, sound("odd", options=("a", "b"))]  # not counted: it has two options
    assert len(read(rows, count=6).items) == 6
    assert said(rows, count=7) == (
        f"{WHERE}: 6 items with the right number of options, here at 1234 gives 7"
    )
    # Repairs that drop do not change the count: it is of the source.
    assert len(read(planted("empty fields"), count=6).items) == 4


def test_a_wrong_digest_is_told_with_both() -> None:
    found, known = digest(read(ROWS).items), "0" * 64
    assert said(ROWS, sha256=known) == (
        f"{WHERE}: the items have SHA-256 {found}, here at 1234 is known to give {known}"
    )
    assert read(ROWS, sha256=found).pinned
    assert not read(ROWS).pinned


def test_a_digest_is_compared_under_the_default_repairs_alone() -> None:
    for name, on in DEFAULTS.items():
        assert not read(ROWS, {**DEFAULTS, name: not on}, sha256="0" * 64).pinned
    # The seed is none of the items' business but where options are shuffled by it.
    assert read(ROWS, seed=1, sha256=digest(read(ROWS).items)).pinned
    first = [replace(row, answer=0) for row in ROWS]
    assert not read(first, seed=1, gold_first=True, sha256="0" * 64).pinned
    assert "known to give" in said(first, gold_first=True, sha256="0" * 64)


def test_a_constant_gold_is_declared_or_an_error() -> None:
    first = [replace(row, answer=0) for row in ROWS]
    odd = sound("odd", options=("a", "b"), answer=1)  # no item: it does not count
    assert said([*first, odd]) == (
        f"{WHERE}: the gold option is the first of all 6 rows, which the source does not declare "
        f"(`gold_first`): positions would be measured on a constant"
    )
    assert said(ROWS, gold_first=True) == (
        f"{WHERE}: the gold option is not always first, as the source declares"
    )
    items = read([*first, odd], gold_first=True).items
    assert len({item.answer for item in items}) > 1
    assert len(read(first[:1]).items) == 1  # a single row is no constant


@pytest.mark.parametrize("switch", [True, False])
def test_a_constant_gold_is_an_error_whatever_is_repaired(switch: bool) -> None:
    first = [replace(row, answer=0) for row in ROWS]
    assert "(`gold_first`)" in said(first, switches=OFF | {"shuffle_gold_first": switch})
    kept = read(first, OFF | {"shuffle_gold_first": switch}, gold_first=True).items
    assert ({item.answer for item in kept} == {0}) == (not switch)


def test_ids_that_occur_twice_are_told() -> None:
    twice = [*ROWS, sound("r3", options=("a", "b"))]  # even where one of them is no item
    assert said(twice) == f"{WHERE}: two rows have the id r3"


def test_nothing_is_left() -> None:
    short = [sound("r", options=("a", "b"))]
    assert said(short) == f"{WHERE}: no item with 4 options is left"
    assert said([]) == f"{WHERE}: no item with 4 options is left"
    assert said([with_option(sound("r"), 0, "")]) == f"{WHERE}: no item with 4 options is left"


# Files of another form


def raising(error: Exception) -> Callable[[Path], list[Row]]:
    def reader(_: Path) -> list[Row]:
        raise error

    return reader


@pytest.mark.parametrize(
    "error",
    [
        *(KeyError("goal"), IndexError("x"), TypeError("x"), ValueError("x"), AttributeError("x")),
        *(EOFError("x"), OSError("Invalid data stream"), RecursionError("x"), csv.Error("x\ny")),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    ],
)
def test_a_file_of_another_form_is_one_line_that_names_it(error: Exception) -> None:
    """... and its source, whatever its reader stumbles over; the pool's as well."""
    told = said(ROWS, read=raising(error))
    kind = type(error).__name__
    assert told.startswith(f"toy: {FOLDER / 'rows.txt'}: not in the form of here at 1234 ({kind}: ")
    pool = Pool((File("pool.txt"),), raising(error))
    with pytest.raises(SourceError) as caught:
        given_source = replace(source(ROWS), pool=pool)
        published.exemplars(benchmark(given_source), given_source, FOLDER, DEFAULTS, 1, [])
    assert str(caught.value) == told.replace("rows.txt", "pool.txt")


def test_a_readers_own_message_is_kept_and_given_the_file() -> None:
    own = f"{FOLDER / 'rows.txt'}, line 3: not JSON"
    assert said(ROWS, read=raising(SourceError(own))) == own
    without = SourceError("r3: two true answers")
    assert said(ROWS, read=raising(without)) == f"{WHERE}/rows.txt: r3: two true answers"


def test_of_many_files_three_are_named() -> None:
    files = tuple(File(f"{name}.csv") for name in "abcde")
    told = said(ROWS, files=files, read=raising(ValueError("x")))
    named = " or ".join(str(FOLDER / f"{name}.csv") for name in "abc")
    assert told.startswith(f"toy: {named} or 2 more: not in the form of")


@pytest.mark.parametrize(
    "changes",
    [{"question": None}, {"question": 3}, {"options": ("a", None, "c", "d")}, {"passage": ["x"]}, {"id": 7}],
)  # fmt: skip
def test_texts_that_are_none_are_told(changes: dict[str, Any]) -> None:
    row = sound("r9", **changes)
    assert said([*ROWS, row]) == f"{WHERE}/rows.txt: {row.id}: a text is missing or is none"


@pytest.mark.parametrize(
    ("line", "fault"),
    [("{not json", "not JSON"), ("[1]", "not a JSON object"), ("", "not JSON")],
)
def test_a_line_that_is_no_object(tmp_path: Path, line: str, fault: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps({'a': 1})}\n{line}\n{json.dumps({'a': 2})}\n")
    with pytest.raises(SourceError, match=re.escape(f"{path}, line 2: {fault}")):
        list(json_lines(path))


# Exemplars


def test_exemplars_are_five_of_the_pool_and_its_digest() -> None:
    given_source = source(ROWS, POOL)
    items = read(ROWS).items
    toy = benchmark(given_source)
    found, pool = published.exemplars(toy, given_source, FOLDER, DEFAULTS, DEFAULT_SEED, items)
    every = [published.item(row) for row in POOL]
    assert len(found) == len(set(found)) == EXEMPLARS
    assert set(found) <= set(every)
    assert pool == digest(every)


@given(st.permutations(POOL), st.sets(st.sampled_from(ROWS)))
@QUICK
def test_exemplars_do_not_depend_on_the_order_of_the_pool_or_on_the_items(
    pool: list[Row], rows: set[Row]
) -> None:
    items = [published.item(row) for row in rows]
    assert drawn(pool, items) == drawn(POOL)
    assert drawn(pool, items, DEFAULTS | {"drop_duplicates": True}) == drawn(POOL)


def test_exemplars_depend_on_the_seed_and_the_benchmark() -> None:
    ids = [[e.id for e in drawn(POOL, seed=seed)] for seed in range(20)]
    assert len({tuple(i) for i in ids}) > 15  # of 9 * 8 * 7 * 6 * 5 ordered draws
    assert {i for draw in ids for i in draw} == {row.id for row in POOL}
    assert drawn(POOL, name="other") != drawn(POOL)


@given(st.sets(st.sampled_from(range(9)), max_size=4), st.integers(0, 999))
@QUICK
def test_an_exemplar_is_never_an_evaluation_item(asked: set[int], seed: int) -> None:
    """Items 0 to 3 of the pool are asked in another order and with blanks: the same items."""
    items = [
        Item(f"i{i}", f"{POOL[i].question} ", tuple(f" {o}" for o in POOL[i].options[::-1]), 0)
        for i in sorted(asked)
    ]
    for switches in (DEFAULTS, OFF):
        found = drawn(POOL, items, switches, seed)
        assert len(found) == EXEMPLARS
        assert not {e.id for e in found} & {f"p{i}" for i in asked}
    # Another passage makes it another item.
    other = [replace(item, passage="Read.") for item in items]
    assert drawn(POOL, other, seed=seed) == drawn(POOL, [], seed=seed)


def test_a_pool_is_repaired_as_items_are() -> None:
    marked = [PLANTS["stray blanks on the gold alone"](row) for row in POOL]
    assert all(o == o.strip() for e in drawn(marked) for o in e.options)
    assert all(any(o != o.strip() for o in e.options) for e in drawn(marked, switches=OFF))
    # Where a pool lists the gold first it is shuffled, declared or not.
    first = [replace(row, answer=0) for row in POOL]
    assert len({e.answer for e in drawn(first)}) > 1
    assert {e.options[e.answer] for e in drawn(first)} <= {row.options[0] for row in first}
    assert {e.answer for e in drawn(first, switches=OFF)} == {0}


def test_a_pool_that_is_too_small_is_told() -> None:
    short = [*POOL[:4], sound("odd", options=("a", "b")), sound("none", answer=None)]
    with pytest.raises(SourceError) as caught:
        drawn(short)
    assert str(caught.value) == f"{WHERE}: the pool gives 4 exemplars, 5 are needed"
    with pytest.raises(SourceError, match="gives 4 exemplars"):
        drawn(POOL[:5], [published.item(POOL[0])])  # one of its five is asked


def test_a_source_without_a_pool_is_told() -> None:
    given_source = source(ROWS)
    with pytest.raises(SourceError) as caught:
        published.exemplars(benchmark(given_source), given_source, FOLDER, DEFAULTS, 1, [])
    assert str(caught.value) == (
        "toy: here at 1234 has no split to draw exemplars from: leave it out of five-shot"
    )


def test_five_exemplars_of_each_subject_of_the_items_in_the_pools_order() -> None:
    """Subjects a and b have seven and five in the pool, c is not asked."""
    subjects = "ababababababcaac"
    pool = [sound(f"p{i}", subject=s) for i, s in enumerate(subjects)]
    items = [Item("i", "Q?", ("1", "2", "3", "4"), 0, subject=s) for s in "ba"]
    found = drawn(pool, items, by_subject=True)
    assert [e.id for e in found] == [
        *("p0", "p2", "p4", "p6", "p8"),
        *("p1", "p3", "p5", "p7", "p9"),
    ]
    assert drawn(pool, items[:1], by_subject=True) == found[5:]
    assert drawn(pool, items, seed=7, by_subject=True) == found  # nothing is drawn
    with pytest.raises(SourceError, match="the pool gives 7 exemplars, 10 are needed"):
        drawn(pool, [*items[:1], replace(items[0], subject="c")], by_subject=True)
