"""Files that are not in their origin's form: one line that names the file, whatever is wrong."""

from __future__ import annotations

import bz2
import json
from pathlib import Path
from typing import Any

import pytest

from optionbias import published
from optionbias.benchmarks import arc_challenge, bbh_mc, hellaswag, mmlu_pro, registry
from optionbias.benchmarks.source import SourceError
from optionbias.repairs import DEFAULTS
from upstream_files import ENTRY, LOGIQA, OPENBOOK, arc_line, archive, lines, piqa, write

RACE = {"example_id": "m", "article": "a", "question": "q", "options": [], "answer": "A"}
WINOGRANDE = {"qID": "x", "sentence": "_", "option1": "a", "option2": "b", "answer": "1"}
ALGEBRA = "test/abstract_algebra_test.csv"
NO_LIST = json.dumps({"examples": [{"input": "no list", "target": "(A)"}]})

# What is wrong -> benchmark, file, content.
BROKEN: dict[str, tuple[str, str, str | bytes]] = {
    "no key": ("winogrande", "dev.jsonl", '{"qID": "x"}\n'),
    "no text": ("winogrande", "dev.jsonl", lines({**WINOGRANDE, "sentence": None})),
    "no answer": ("winogrande", "dev.jsonl", lines({**WINOGRANDE, "answer": ""})),
    "no JSON": ("race_middle", "test_middle.jsonl", lines(RACE) + "x\n"),
    "a number for a letter": ("race_middle", "test_middle.jsonl", lines({**RACE, "answer": 3})),
    "no object": ("arc_challenge", arc_challenge.TEST.name, "[]\n"),
    "no letter": ("arc_challenge", arc_challenge.TEST.name, lines(arc_line("a", "?", "ABCD"))),
    "no bzip2": ("hellaswag", hellaswag.CLEANED.name, "plain"),
    "half a bzip2": ("hellaswag", hellaswag.CLEANED.name, bz2.compress(b"x" * 999)[:-9]),
    "five lines": ("hellaswag", hellaswag.CLEANED.name, bz2.compress(b"1\n" * 5)),
    "two fields": ("mmlu_five_subjects", ALGEBRA, "a,b\n"),
    "not UTF-8": ("mmlu_five_subjects", ALGEBRA, b"\xff,1,2,3,4,A\n"),
    "three choices": ("openbookqa", "Main/test.tsv", OPENBOOK + "1\tx\t(A) a (B) b (C) c\tx\tA\n"),
    "a short line": ("openbookqa", "Main/test.tsv", OPENBOOK + "1\tx\n"),
    "seven lines": ("logiqa", "Test.txt", "\n".join(LOGIQA[:7])),
    "another gold": ("logiqa", "Test.txt", "\n".join(["", "?", *LOGIQA[2:8]])),
    "no archive": ("mmlu_pro", mmlu_pro.DUMP.name, "plain"),
    "half a list": ("bbh_mc", "ruin_names.json", '{"examples": ['),
    "no options": ("bbh_mc", "ruin_names.json", NO_LIST),
    "no table": ("truthfulqa_mc1", "v0/mc_task.json", '[{"question": "q", "mc1_targets": ["a"]}]'),
}


def told(folder: Path, name: str, variant: str | None = None) -> str:
    """What is said of a benchmark's files, in one line."""
    benchmark = registry.published(name, variant=variant)
    with pytest.raises(SourceError) as caught:
        published.read(benchmark, benchmark.source(variant), folder, DEFAULTS, 1)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_of_another_form_is_named(tmp_path: Path, kind: str) -> None:
    name, file, content = BROKEN[kind]
    if name == "bbh_mc":
        for task in bbh_mc.TASKS:
            write(tmp_path, f"{task}.json", json.dumps({"examples": []}))
    write(tmp_path, "v0/TruthfulQA.csv", "Category,Question\n")
    write(tmp_path, file, content)
    message = told(tmp_path, name)
    # The parts of BBH that are whole stand beside the one that is not; three of five are named.
    assert str(tmp_path / file) in message or (name == "bbh_mc" and str(tmp_path) in message)


@pytest.mark.parametrize(
    "variant_of", [("hellaswag", "hub"), ("truthfulqa_mc1", "hub"), ("mmlu_pro", "hub")]
)
@pytest.mark.parametrize("content", [b"plain", b"", b"PAR1PAR1"])
def test_what_is_no_parquet_is_named(
    tmp_path: Path, variant_of: tuple[str, str], content: bytes
) -> None:
    (file,) = registry.published(*variant_of[:1]).source(variant_of[1]).files
    write(tmp_path, file.name, content)
    assert f"{tmp_path / file.name}: not Parquet" in told(tmp_path, *variant_of)


@pytest.mark.parametrize("labels", ["1\n", "1\n0\n1\n", ""])
def test_labels_of_another_number_are_told(tmp_path: Path, labels: str) -> None:
    piqa(tmp_path, labels)
    assert f"{tmp_path}: 2 goals but {len(labels.split())} labels" in told(tmp_path, "piqa")


def test_a_label_that_is_none_is_told_with_both_files(tmp_path: Path) -> None:
    piqa(tmp_path, "1\nx\n")
    named = f"{tmp_path / 'valid.jsonl'} or {tmp_path / 'valid-labels.lst'}"
    assert named in told(tmp_path, "piqa")


@pytest.mark.parametrize(
    ("entries", "files"),
    [
        ([ENTRY], ("a.json", "b.json")),
        ([ENTRY], ()),
        ([{**ENTRY, "question_id": "x"}], ("a.json",)),
        ([{"question_id": 3}], ("a.json",)),
    ],
)
def test_an_archive_of_something_else_is_named(
    tmp_path: Path, entries: list[dict[str, Any]], files: tuple[str, ...]
) -> None:
    archive(tmp_path, *entries, files=files)
    assert str(tmp_path / mmlu_pro.DUMP.name) in told(tmp_path, "mmlu_pro")
