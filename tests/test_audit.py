"""The data audit: planted faults of each kind are counted exactly, and counts add up."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from optionbias import auditing
from optionbias.audit import COLUMNS, FAULTS, MEANINGS, Audited, audit_rows, csv_text, rows_of_items
from optionbias.benchmarks import registry
from optionbias.benchmarks.source import Row
from optionbias.fetch import Fetched, write_manifest
from optionbias.item import Item
from optionbias.items import digest, write_items
from optionbias.repairs import DEFAULTS, REPAIRS
from optionbias.seeds import DEFAULT_SEED
from published_rows import (
    ENTAILED,
    PLANTS,
    QUICK,
    benchmark,
    only,
    planted,
    read,
    row_lists,
    sound,
    source,
)
from slow import audit as slow


def counted(rows: list[dict[str, object]], section: str) -> dict[str, Any]:
    """name -> count of a section."""
    return {str(row["name"]): row["count"] for row in rows if row["section"] == section}


def listed(rows: list[dict[str, object]], section: str, name: str) -> Any:
    """The ids of one row of the audit."""
    (found,) = [row["ids"] for row in rows if (row["section"], row["name"]) == (section, name)]
    return found


def test_sound_rows_have_no_fault() -> None:
    rows = [sound(f"r{i}") for i in range(6)]
    assert not any(find(rows) for find in FAULTS.values())


@pytest.mark.parametrize("fault", PLANTS)
def test_a_planted_fault_is_found_where_it_is_and_nowhere_else(fault: str) -> None:
    """Rows 2 and 4 of six have it, with the faults that it entails and no other."""
    rows = planted(fault)
    expected = {name: ["r2", "r4"] if name in ENTAILED[fault] else [] for name in FAULTS}
    assert {name: find(rows) for name, find in FAULTS.items()} == expected


def test_a_question_asked_again_with_other_options_is_no_repeated_item() -> None:
    first = sound("r0")
    again = replace(sound("r1"), question=f" {first.question}")
    assert FAULTS["questions asked again"]([first, again]) == ["r1"]
    assert FAULTS["items repeated"]([first, again]) == []


def test_an_item_repeated_in_another_order_counts_but_for_the_first() -> None:
    first = sound("r0")
    rows = [
        first,
        sound("r1"),
        replace(first, id="r2", options=first.options[::-1], answer=2),
        replace(first, id="r3", passage="Read."),  # another passage: another item
        replace(first, id="r4", options=tuple(f"{o} " for o in first.options)),
    ]
    assert FAULTS["items repeated"](rows) == FAULTS["questions asked again"](rows) == ["r2", "r4"]


def test_the_gold_is_always_first_in_all_rows_or_in_none() -> None:
    rows = [sound(f"r{i}", answer=0) for i in range(3)]
    assert FAULTS["gold always first"](rows) == ["r0", "r1", "r2"]
    assert FAULTS["gold always first"]([*rows, sound("r3")]) == []
    assert FAULTS["gold always first"](rows[:1]) == []  # one row has no constant


@given(row_lists())
@QUICK
def test_every_fault_equals_the_slow_count(rows: list[Row]) -> None:
    assert {name: find(rows) for name, find in FAULTS.items()} == slow.faults(rows)


def test_every_fault_has_a_meaning() -> None:
    assert list(MEANINGS) == list(FAULTS)
    assert all(MEANINGS.values())


def test_the_rows_of_an_audit_by_hand() -> None:
    """Six rows: 0 has three options, 1 no gold, 2 an option twice, 5 repeats 3; 4 is sound.

    Read with three of the repairs: 2 and 5 are dropped, 3 and 4 are left, their blanks stripped.
    """
    rows = [
        sound("r0", options=("a", "b", "b ")),  # its faults do not count
        sound("r1", answer=None),
        PLANTS["identical options"](sound("r2")),
        PLANTS["stray blanks on the gold alone"](sound("r3", answer=1)),
        sound("r4", answer=3),
    ]
    rows.append(replace(rows[3], id="r5", options=rows[3].options[::-1], answer=2))
    names = ("strip_blanks", "drop_identical_options", "drop_duplicates")
    found = audit_rows("toy", read(rows, only(*names)), 4)
    assert {tuple(row) for row in found} == {COLUMNS}
    assert {row["benchmark"] for row in found} == {"toy"}
    assert counted(found, "rows") == {
        "read": 6,
        "dropped: not 4 options": 1,
        "dropped: the gold is no option": 1,
        "dropped: drop_identical_options": 1,
        "dropped: drop_duplicates": 1,
        "items": 2,
    }
    # Kept as published: r2 B, r3 B, r4 D, r5 C; items: r3 B, r4 D.
    assert counted(found, "gold") == {
        "published A": 0, "published B": 2, "published C": 1, "published D": 1,
        "items A": 0, "items B": 1, "items C": 0, "items D": 1,
    }  # fmt: skip
    assert {name: n for name, n in counted(found, "fault").items() if n} == {
        "questions asked again": 1,
        "items repeated": 1,
        "identical options": 1,
        "stray blanks on options": 2,
        "stray blanks on the gold": 2,
        "stray blanks on the gold alone": 2,
    }
    assert listed(found, "fault", "items repeated") == ["r5"]
    # Reversed, the gold of r5 is option 2, and the blank still on it.
    assert listed(found, "fault", "stray blanks on the gold alone") == ["r3", "r5"]
    assert listed(found, "repair", "strip_blanks") == ["r3", "r5"]
    assert listed(found, "repair", "drop_duplicates") == ["r5"]
    assert [row["of"] for row in found if row["section"] == "rows"] == [6] * 6
    assert {row["of"] for row in found if row["section"] in ("fault", "repair")} == {4}
    assert {row["of"] for row in found if str(row["name"]).startswith("items ")} == {2, 4}


@given(row_lists())
@QUICK
def test_gold_positions_and_dropped_rows_sum_to_the_rows(rows: list[Row]) -> None:
    sure = [*rows, sound("last", options=tuple(f"last {i}" for i in range(len(rows[0].options))))]
    k, first = len(rows[0].options), all(row.answer == 0 for row in sure)
    reading = read(sure, only("drop_identical_options", "drop_empty"), k=k, gold_first=first)
    found = audit_rows("toy", reading, k)
    golds = counted(found, "gold")
    rest = counted(found, "rows")
    assert sum(n for name, n in golds.items() if name.startswith("items")) == len(reading.items)
    assert sum(n for name, n in golds.items() if name.startswith("published")) == len(sure)
    assert sum(n for name, n in rest.items() if name != "read") == rest["read"] == len(sure)
    for row in found:
        ids = row["ids"]
        assert isinstance(ids, list)
        if row["section"] in ("fault", "repair"):
            assert len(ids) == len(set(ids)) == row["count"]


MENDED = {
    "strip_blanks": ("stray blanks on options", "stray blanks on the gold"),
    "drop_empty": ("empty fields",),
    "drop_identical_options": ("identical options",),
    "drop_duplicates": ("items repeated",),
    "drop_referring_options": ("options that refer to others",),
}


@given(row_lists())
@QUICK
def test_items_show_no_fault_that_a_repair_mended(rows: list[Row]) -> None:
    """Repairs of all of these at once; the last row is sound, so that something is left."""
    k = len(rows[0].options)
    sure = [*rows, sound("last", question="Last?", options=tuple(f"last {i}" for i in range(k)))]
    first = all(row.answer == 0 for row in sure)
    items = read(sure, only(*MENDED), k=k, gold_first=first).items
    for faults in MENDED.values():
        for fault in faults:
            assert FAULTS[fault](rows_of_items(items)) == []


def test_items_as_rows_keep_everything() -> None:
    item = Item("i", "Which?", ("a", "b"), 1, "Read.", "dev", "art")
    assert rows_of_items([item]) == [Row("i", "Which?", ("a", "b"), 1, "Read.", "dev", "art")]


def test_the_table_lists_every_row_and_its_ids() -> None:
    rows = audit_rows("toy", read(planted("markup"), only()), 4)
    audits = {"toy": Audited("Toy", 4, "here", "MIT", "0" * 64, False, rows)}
    table = list(csv.DictReader(io.StringIO(csv_text(audits))))
    assert len(table) == len(rows) == 2 + 8 + len(FAULTS) + len(REPAIRS)
    marked = [r for r in table if r["section"] == "fault" and r["name"] == "markup"]
    assert [(r["count"], r["of"], json.loads(r["ids"])) for r in marked] == [
        ("2", "6", ["r2", "r4"])
    ]


def test_the_audit_of_a_users_own_benchmark(tmp_path: Path) -> None:
    items = [Item(f"i{i}", "Which?", ("a", "b", "All of the above"), i) for i in range(2)]
    write_items(tmp_path / "items" / "exam.parquet", items)
    write_items(tmp_path / "exemplars" / "exam.parquet", items[:1])
    about = {"name": "exam", "title": "Exam", "k": 3, "source": "a book", "licence": "mine"}
    found = auditing.audited({**about, "five_shot": True}, tmp_path, DEFAULTS, 1)
    assert (found.title, found.k, found.origin, found.licence) == ("Exam", 3, "a book", "mine")
    assert (found.digest, found.pinned, found.split, found.subjects) == (
        digest(items),
        False,
        None,
        (),
    )
    assert found.exemplars == (items[:1], None)
    assert counted(found.rows, "repair") == {}
    # Both ask `Which?` with the same options.
    faults = {name: n for name, n in counted(found.rows, "fault").items() if n}
    assert faults == {
        "questions asked again": 1,
        "items repeated": 1,
        "options that refer to others": 2,
    }
    assert auditing.audited({**about, "five_shot": False}, tmp_path, DEFAULTS, 1).exemplars is None


def test_the_audit_of_a_published_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [replace(row, subject="law") for row in planted("markup")]
    given = source(rows, count=6)
    toy = benchmark(given, by_subject=True)
    asked = []
    monkeypatch.setattr(registry, "published", lambda *names: asked.append(names) or toy)
    manifest = tmp_path / "data" / "toy-law" / "items.json"
    manifest.parent.mkdir(parents=True)
    write_manifest(manifest, "toy", [Fetched("rows.txt", digest([]), "there")])
    raw = tmp_path / "mirror" / "toy" / "raw"
    raw.mkdir(parents=True)
    (raw / "rows.txt").write_bytes(b"")  # its digest is that of no items: of nothing
    about = {
        "name": "toy-law", "title": "Toy", "k": 4, "source": "x", "licence": "x", "five_shot": False,
        "published": "toy", "subjects": ["law"],
    }  # fmt: skip
    found = auditing.audited(about, tmp_path, only(), DEFAULT_SEED)
    assert asked == [("toy", ["law"], None)]
    assert (found.origin, found.licence, found.split) == ("here at 1234", "MIT", "test")
    assert found.subjects == ("law",)
    assert counted(found.rows, "repair")["remove_markup"] == 0  # HellaSwag's alone
    assert counted(found.rows, "fault")["markup"] == 2
    assert {row["benchmark"] for row in found.rows} == {"toy-law"}
