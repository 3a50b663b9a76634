"""Small files in the form of the published benchmarks' origins."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from optionbias.benchmarks import mmlu_pro

SEPARATOR = "\u2028"


def write(folder: Path, name: str, content: str | bytes) -> None:
    """A file of a benchmark, its folder made."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def lines(*objects: dict[str, Any]) -> str:
    """JSON lines, characters as they are."""
    return "".join(json.dumps(o, ensure_ascii=False) + "\n" for o in objects)


def parquet(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / name)


def piqa(folder: Path, labels: str = "1\n0\n") -> None:
    goals = [
        {"goal": f"open a {SEPARATOR} jar ", "sol1": "Twist the lid.", "sol2": "Hit it. "},
        {"goal": "warm up", "sol1": "Run.", "sol2": "Sit."},
    ]
    write(folder, "valid.jsonl", lines(*goals))
    write(folder, "valid-labels.lst", labels)


def arc_line(name: str, key: str, labels: str, **more: str) -> dict[str, Any]:
    choices = [{"text": f"text {label}", "label": label, **more} for label in labels]
    return {"id": name, "question": {"stem": "Why?", "choices": choices}, "answerKey": key}


OPENBOOK = "ID\tQuestion Stem\tChoices\tComplete Question\tAnswer Key\n"


LOGIQA = [
    *("", "b", "A passage.", "Which?", "A.one", "C. three", "B.two", "D.four"),
    *("", "a", "Another.", "Who? ", "Ann A.x", "b?two", "C three", "D.four "),
]


ENTRY = {"question_id": 70, "question": "Q?", "options": [*"abcdefghij"], "answer": "J", "answer_index": 9, "category": "law"}  # fmt: skip


def archive(folder: Path, *entries: dict[str, Any], files: tuple[str, ...] = ("x.json",)) -> None:
    with zipfile.ZipFile(folder / mmlu_pro.DUMP.name, "w") as packed:
        for name in files:
            packed.writestr(name, json.dumps(entries))
