"""Rows of the two parts of ARC, in the form of AI2's release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from optionbias.benchmarks.source import Row, json_lines, letter_index

CITATION = (
    "P. Clark et al. Think you have solved question answering? Try ARC, the AI2 reasoning challenge. "
    "arXiv:1803.05457, 2018."
)
LICENCE = "CC BY-SA 4.0"


def rows(path: Path, split: str) -> list[Row]:
    """Every question of a file of AI2's, with three, four or five options."""
    found = []
    for line in json_lines(path):
        choices = line["question"]["choices"]
        where = f"{path}, {line['id']}"
        letters = tuple("ABCDE"[letter_index(c["label"], where)] for c in choices)
        found.append(
            Row(
                line["id"],
                line["question"]["stem"],
                tuple(c["text"] for c in choices),
                letter_index(line["answerKey"], where),
                split=split,
                letters=letters,
            )
        )
    return found


def without_paragraphs(served: bytes) -> bytes:
    """AI2's file out of a copy that adds a retrieved `para` to every option."""
    return "".join(_compact(json.loads(line)) for line in served.splitlines()).encode()


def _compact(line: dict[str, Any]) -> str:
    for choice in line["question"]["choices"]:
        del choice["para"]
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"
