"""Items files: what they hold, and that every faulty row of a user's file is named at once."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optionbias.item import Item
from optionbias.items import (
    ItemsError,
    read_user_items,
)

Row = dict[str, Any]


def row(**changes: Any) -> Row:
    """A sound row of three options; `...` leaves an entry out."""
    sound = {"question": "Which?", "options": ["red", "green", "blue"], "answer": 1, **changes}
    return {name: value for name, value in sound.items() if value is not ...}


def write_jsonl(path: Path, rows: list[Row]) -> None:
    """One object a line."""
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8")


def write_csv(path: Path, rows: list[Row]) -> None:
    """Options as a JSON list, line ends as the csv module writes them (CRLF)."""
    names = list(dict.fromkeys(name for r in rows for name in r))
    text = io.StringIO()
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    for r in rows:
        options = r.get("options")
        given = {"options": json.dumps(options)} if isinstance(options, list) else {}
        writer.writerow({**r, **given})
    path.write_bytes(text.getvalue().encode())


def write_parquet(path: Path, rows: list[Row]) -> None:
    """Columns typed by their first row."""
    pq.write_table(pa.Table.from_pylist(rows), path)


WRITERS: dict[str, Callable[[Path, list[Row]], None]] = {
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
}
# The number under which the first row is reported: a CSV has its header on line 1.
FIRST = {"jsonl": 1, "csv": 2, "parquet": 1}

# What is changed in a sound row, and what is said of it, in every format.
FAULTS: dict[str, tuple[Row, list[str]]] = {
    "empty question": ({"question": "  "}, ["the question is empty"]),
    "one option": (
        {"options": ["red"], "answer": 0},
        ["1 option, at least two are needed"],
    ),
    "no options": ({"options": []}, ["0 options, at least two are needed"]),
    "too few options": ({"options": ["red", "green"]}, ["2 options where K is 3"]),
    "too many options": (
        {"options": ["red", "green", "blue", "grey"]},
        ["4 options where K is 3"],
    ),
    "empty option": ({"options": ["red", " ", "blue"]}, ["option B is missing"]),
    "missing option": ({"options": ["red", "green", None]}, ["option C is missing"]),
    "repeated option": ({"options": ["red", "blue", "red "]}, ["option 'red' is repeated"]),
    "answer too large": ({"answer": 3}, ["is out of range: 3 options are 0..2 or A..C"]),
    "answer negative": ({"answer": -1}, ["answer"]),
    "two faults": (
        {"question": "", "answer": 7},
        ["the question is empty", "is out of range"],
    ),
}


def faults_of(path: Path, k: int = 3) -> list[str]:
    """The listed faults of a file that is rejected, after checking the heading."""
    with pytest.raises(ItemsError) as raised:
        read_user_items(path, "toy", k)
    heading, *listed = str(raised.value).split("\n")
    assert heading.startswith(f"benchmark toy: {path}: ")
    faults = [fault.strip() for fault in listed]
    if path.suffix == ".parquet":
        # A Parquet file has rows, not lines; below both are compared as lines.
        assert not any(fault.startswith("line ") for fault in faults)
        faults = [re.sub(r"\brow (\d)", r"line \1", fault) for fault in faults]
    return faults


@pytest.mark.parametrize("kind", WRITERS)
def test_a_sound_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"exam.{kind}"
    rows = [row(), row(answer=0, question=" Und «jetzt»? "), row(answer=2, question="So?")]
    WRITERS[kind](path, rows)
    first = FIRST[kind]
    assert read_user_items(path, "toy", 3) == [
        Item(f"toy-{first:06d}", "Which?", ("red", "green", "blue"), 1),
        Item(f"toy-{first + 1:06d}", "Und «jetzt»?", ("red", "green", "blue"), 0),
        Item(f"toy-{first + 2:06d}", "So?", ("red", "green", "blue"), 2),
    ]


@pytest.mark.parametrize("kind", WRITERS)
def test_optional_columns(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"exam.{kind.upper()}"
    optional = {"id": "x1", "passage": "Read.", "split": "test", "subject": "art"}
    without = {"id": "x2", "passage": "", "split": "", "subject": ""}
    WRITERS[kind](path, [row(**optional), row(**without)])
    first, second = read_user_items(path, "toy", 3)
    assert first == Item("x1", "Which?", ("red", "green", "blue"), 1, "Read.", "test", "art")
    assert (second.passage, second.split, second.subject) == (None, None, None)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault(tmp_path: Path, kind: str, fault: str) -> None:
    path = tmp_path / f"exam.{kind}"
    changes, messages = FAULTS[fault]
    WRITERS[kind](path, [row(), row(**changes), row()])
    found = faults_of(path)
    assert all(text.startswith(f"line {FIRST[kind] + 1}: ") for text in found)
    for message in messages:
        assert any(message in text for text in found), found


@pytest.mark.parametrize("kind", WRITERS)
def test_all_faults_in_one_error(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"exam.{kind}"
    WRITERS[kind](path, [row()] + [row(**changes) for changes, _ in FAULTS.values()])
    found = faults_of(path)
    for number, (_, messages) in enumerate(FAULTS.values(), FIRST[kind] + 1):
        own = [text for text in found if text.startswith(f"line {number}: ")]
        assert all(any(message in text for text in own) for message in messages), own


@pytest.mark.parametrize("kind", WRITERS)
def test_ids_that_occur_twice(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"exam.{kind}"
    WRITERS[kind](path, [row(id="a"), row(id="b"), row(id="a")])
    first = FIRST[kind]
    assert faults_of(path) == [f"line {first + 2}: id 'a' is already on line {first}"]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("column", ["question", "options", "answer"])
def test_a_column_that_is_not_there(tmp_path: Path, kind: str, column: str) -> None:
    path = tmp_path / f"exam.{kind}"
    WRITERS[kind](path, [row(**{column: ...})] * 2)
    others = sorted({"question", "options", "answer"} - {column})
    assert faults_of(path) == [
        f"no column {column}: its columns are {', '.join(others)}; needed are question, options, answer"
    ]


def test_a_key_that_one_row_lacks(tmp_path: Path) -> None:
    path = tmp_path / "exam.jsonl"
    write_jsonl(path, [row(), row(question=...), row(answer=...)])
    assert faults_of(path) == ["line 2: no `question`", "line 3: no `answer`"]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"question": {"stem": "x"}}, "line 1: the question is \"{'stem': 'x'}\", not a text"),
        ({"question": True}, "line 1: the question is 'True', not a text"),
        ({"options": [["a"], "b", "c"]}, "line 1: option 1 is \"['a']\", not a text"),
        ({"options": ["a", "b\0", "c"]}, "line 1: option 2 holds half a character or a NUL"),
        (
            {"answer": "9" * 5000},
            "line 1: answer '9999999999999999999999999999999999999999' is neither an index nor a letter",
        ),
    ],
)
def test_values_that_are_no_text(tmp_path: Path, changes: Row, fault: str) -> None:
    path = tmp_path / "exam.jsonl"
    write_jsonl(path, [row(**changes)])
    assert faults_of(path)[0] == fault


def test_half_a_character_and_a_repeated_key(tmp_path: Path) -> None:
    path = tmp_path / "exam.jsonl"
    half = json.dumps(row()).replace("Which?", "\\ud800")
    twice = json.dumps(row()).replace('"answer"', '"question"')
    path.write_text("\n".join([json.dumps(row()), half, twice, "[" * 100_000]))
    assert [fault.split(" (")[0] for fault in faults_of(path)] == [
        "line 2: the question holds half a character or a NUL",
        "line 3: not JSON",
        "line 4: not JSON",
    ]


def test_bytes_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "exam.parquet"
    write_parquet(path, [row(question=b"Which?"), row(question=b"\xff")])
    assert faults_of(path) == ["line 2: the question is not UTF-8"]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    ("answer", "index"),
    [
        *(("A", 0), ("b", 1), (" C ", 2), ("0", 0), ("2", 2), ("1.0", 1)),
        *((text, None) for text in ("D", "3", "-1", "1.5", "AB", "", "?")),
    ],
)
def test_answers_as_text(tmp_path: Path, kind: str, answer: str, index: int | None) -> None:
    path = tmp_path / f"exam.{kind}"
    WRITERS[kind](path, [row(answer=answer)])
    if index is None:
        assert [text[:14] for text in faults_of(path)] == [f"line {FIRST[kind]}: answer"]
    else:
        assert read_user_items(path, "toy", 3)[0].answer == index


@pytest.mark.parametrize(
    ("answer", "index"),
    [
        (2.0, 2),
        *((no, None) for no in (1.5, True, None, [1], float("nan"), float("inf"), 10**30)),
    ],
)
def test_answers_of_other_types(tmp_path: Path, answer: Any, index: int | None) -> None:
    path = tmp_path / "exam.jsonl"
    write_jsonl(path, [row(answer=answer)])
    if index is None:
        assert [text[:14] for text in faults_of(path)] == ["line 1: answer"]
    else:
        assert read_user_items(path, "toy", 3)[0].answer == index


@pytest.mark.parametrize("options", ["red; green; blue", "{}", '"red"', 3, None])
@pytest.mark.parametrize("kind", WRITERS)
def test_options_that_are_no_list(tmp_path: Path, kind: str, options: Any) -> None:
    path = tmp_path / f"exam.{kind}"
    WRITERS[kind](path, [row(options=options)])
    assert f"line {FIRST[kind]}: `options` is not a list" in faults_of(path)


def test_twenty_six_options_have_letters(tmp_path: Path) -> None:
    path = tmp_path / "exam.jsonl"
    options = [f"option {i}" for i in range(26)]
    write_jsonl(path, [row(options=options, answer="Z"), row(options=[*options, "27"], answer=26)])
    assert [text[:20] for text in faults_of(path, 26)][:1] == ["line 2: 27 options w"]
    write_jsonl(path, [row(options=options, answer="Z")])
    assert read_user_items(path, "toy", 26)[0].answer == 25


def test_lines_of_jsonl(tmp_path: Path) -> None:
    path = tmp_path / "exam.jsonl"
    sound = json.dumps(row())
    # BOM, CRLF, a blank line that keeps its number, a separator that is no line end.
    lines = [sound, "", "{not json", "[1]", '"text"', sound.replace("Which", "Wh\u2028ich"), ""]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode() + b"\xff\xfe\n")
    found = faults_of(path)
    assert [text.split(" (")[0] for text in found] == [
        "line 3: not JSON",
        "line 4: not a JSON object",
        "line 5: not a JSON object",
        "line 7: not UTF-8",
    ]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([lines[0], "", lines[5]]).encode())
    items = read_user_items(path, "toy", 3)
    assert [item.id for item in items] == ["toy-000001", "toy-000003"]
    assert items[1].question == "Wh\u2028ich?"


HEADER = "question,options,answer"
OPTIONS = '"[""red"", ""green"", ""blue""]"'


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_csv_marks_and_line_ends(tmp_path: Path, end: str, mark: bytes) -> None:
    path = tmp_path / "exam.csv"
    path.write_bytes(mark + end.join([HEADER, f"Which?,{OPTIONS},B", ""]).encode())
    assert read_user_items(path, "toy", 3) == [
        Item("toy-000002", "Which?", ("red", "green", "blue"), 1)
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_fields_of_several_lines(tmp_path: Path, end: str) -> None:
    # Lines 2 to 4 are one row, so the faulty rows stand on lines 5 and 6.
    path = tmp_path / "exam.csv"
    lines = [HEADER, '"Which', "", f'one?",{OPTIONS},1', f"Which?,{OPTIONS},9", f",{OPTIONS},0", ""]
    path.write_bytes(end.join(lines).encode())
    assert [text.split(" (")[0] for text in faults_of(path)] == [
        "line 5: answer '9' is out of range: 3 options are 0..2 or A..C",
        "line 6: the question is empty",
    ]
    path.write_bytes(end.join([*lines[:4], f"Next?,{OPTIONS},0", ""]).encode())
    first, second = read_user_items(path, "toy", 3)
    assert first.question.splitlines() == ["Which", "", "one?"]
    assert (first.id, second.id) == ("toy-000002", "toy-000005")


def test_csv_rows_after_a_blank_line_keep_their_number(tmp_path: Path) -> None:
    path = tmp_path / "exam.csv"
    path.write_text("\n".join([HEADER, f"Which?,{OPTIONS},1", "", "", f"Which?,{OPTIONS},9", ""]))
    assert [text.split(": ")[0] for text in faults_of(path)] == ["line 5"]


def test_csv_rows_of_other_lengths(tmp_path: Path) -> None:
    path = tmp_path / "exam.csv"
    rows = [f"Which?,{OPTIONS},1", f"Which?,{OPTIONS}", f"Which?,{OPTIONS},1,more", "Which?"]
    path.write_text("\n".join([HEADER, *rows, ""]))
    assert faults_of(path) == [
        f"line {number}: {fields} fields where the header has 3"
        for number, fields in ((3, 2), (4, 4), (5, 1))
    ]


def test_csv_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "exam.csv"
    path.write_bytes(f"{HEADER}\nWhich?,{OPTIONS},1\nSchön?,{OPTIONS},1\n".encode("latin-1"))
    assert faults_of(path) == ["line 3: not UTF-8"]


@pytest.mark.parametrize("fault", ["a stray\rcarriage return", "long " * 40_000])
def test_csv_that_the_csv_module_rejects(tmp_path: Path, fault: str) -> None:
    # A bare carriage return outside quotes, or a field of 200,000 characters.
    path = tmp_path / "exam.csv"
    path.write_bytes(f"{HEADER}\nWhich?,{OPTIONS},1\n{fault},{OPTIONS},1\n".encode())
    try:
        items = read_user_items(path, "toy", 3)
    except ItemsError as error:
        assert f"benchmark toy: {path}" in str(error)
        assert "line 3" in str(error)
    else:
        assert len(items) == 2


@pytest.mark.parametrize("name", ["exam.jsonl", "exam.csv"])
@pytest.mark.parametrize("content", ["", "\n\n", HEADER + "\n"])
def test_nothing_in_the_file(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    found = faults_of(path)
    assert found == ["no items"] or (name == "exam.jsonl" and content.startswith(HEADER))


def test_no_rows_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "exam.parquet"
    pq.write_table(pa.table({"question": pa.array([], pa.string())}), path)
    assert faults_of(path) == ["no items"]


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ItemsError, match=r"benchmark toy: .* does not exist"):
        read_user_items(tmp_path / "exam.csv", "toy", 3)
    (tmp_path / "exam.xlsx").write_text("x")
    with pytest.raises(ItemsError, match=r"exam.xlsx: items are .jsonl, .csv or .parquet files"):
        read_user_items(tmp_path / "exam.xlsx", "toy", 3)
    broken = tmp_path / "exam.parquet"
    write_parquet(broken, [row()] * 9)
    broken.write_bytes(broken.read_bytes()[:-20])
    with pytest.raises(ItemsError, match=r"exam.parquet: cannot be read as Parquet"):
        read_user_items(broken, "toy", 3)


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "exam.jsonl"
    write_jsonl(path, [row(answer=5)] * 53)
    found = faults_of(path)
    assert (len(found), found[-1]) == (51, "... and 3 more")
