"""Readers of the published benchmarks, on small files in upstream's form."""

from __future__ import annotations

import bz2
import json
from pathlib import Path
from typing import Any

import pytest

from optionbias.benchmarks import (
    arc,
    bbh_mc,
    hellaswag,
    mmlu_pro,
    olmes,
    registry,
    truthfulqa_mc1,
)
from optionbias.benchmarks.source import Row, SourceError, json_lines, letter_index
from upstream_files import (
    ENTRY,
    LOGIQA,
    OPENBOOK,
    SEPARATOR,
    arc_line,
    archive,
    lines,
    parquet,
    piqa,
    write,
)


def read(name: str, folder: Path, variant: str | None = None, **options: Any) -> list[Row]:
    """Every row of a benchmark's files."""
    return registry.published(name, variant=variant, **options).source(variant).read(folder)


def pool(name: str, folder: Path, variant: str | None = None) -> list[Row]:
    """Every row of its exemplar pool."""
    given = registry.published(name).source(variant).pool
    assert given is not None
    return given.read(folder)


# Two options


def test_piqa(tmp_path: Path) -> None:
    """Labels stand in a file of their own, the gold solution 0 or 1; texts stay as they are."""
    piqa(tmp_path)
    goal = f"open a {SEPARATOR} jar "
    assert read("piqa", tmp_path) == [
        Row("piqa_val_0", goal, ("Twist the lid.", "Hit it. "), 1, split="validation"),
        Row("piqa_val_1", "warm up", ("Run.", "Sit."), 0, split="validation"),
    ]
    write(tmp_path, olmes.NAME, json.dumps([{"goal": "g", "sol1": "a", "sol2": "b", "label": 1}]))
    assert pool("piqa", tmp_path) == [Row("piqa_train_olmes_0", "g", ("a", "b"), 1, split="train")]


def test_winogrande(tmp_path: Path) -> None:
    """Answers are 1 and 2."""
    line = {"qID": "X-1", "sentence": "Ann met Eve as _ left.", "option1": "Ann", "option2": "Eve", "answer": "2"}  # fmt: skip
    write(tmp_path, "dev.jsonl", lines(line, {**line, "qID": "X-2", "answer": "1"}))
    rows = read("winogrande", tmp_path)
    assert rows == [
        Row(f"X-{i}", "Ann met Eve as _ left.", ("Ann", "Eve"), 2 - i, split="validation")
        for i in (1, 2)
    ]
    write(tmp_path, "train_xs.jsonl", lines(line))
    assert pool("winogrande", tmp_path)[0].split == "train"


# Four options


@pytest.mark.parametrize("name", ["arc_easy", "arc_challenge"])
def test_arc(tmp_path: Path, name: str) -> None:
    """Labels are letters or digits, three to five of them."""
    title = registry.published(name).title
    write(
        tmp_path,
        f"{title}-Test.jsonl",
        lines(arc_line("a", "C", "ABCD"), arc_line("b", "4", "1234"), arc_line("c", "E", "ABCDE")),
    )
    first, second, third = read(name, tmp_path)
    texts = tuple(f"text {x}" for x in "ABCD")
    assert first == Row("a", "Why?", texts, 2, split="test", letters=tuple("ABCD"))
    assert second.options == tuple(f"text {x}" for x in "1234")
    assert (second.answer, second.letters) == (3, tuple("ABCD"))
    assert (third.answer, len(third.options)) == (4, 5)
    write(tmp_path, f"{title}-Dev.jsonl", lines(arc_line("d", "A", "ABC")))
    assert [row.split for row in pool(name, tmp_path)] == ["dev"]


def test_arc_easy_is_a_copy_without_its_paragraphs() -> None:
    """AI2's own lines: compact, in order, characters as they are."""
    mine, theirs = (arc_line("ä", "A", "ABCD", **more) for more in ({}, {"para": "Long."}))
    compact = json.dumps(mine, ensure_ascii=False, separators=(",", ":")) + "\n"
    assert arc.without_paragraphs(lines(theirs, theirs).encode()) == (2 * compact).encode()
    with pytest.raises(KeyError):
        arc.without_paragraphs(lines(mine).encode())


BLOCKS = ["Art: she paints. she", "2", "a", " b", "c", "d", "Sport: he runs: he", "0", *"wxyz"]
LABELLED = {
    "activity_label": "Art",
    "ctx": "[header] She paints.",
    "endings": [*"abcd"],
    "label": 3,
}


def test_hellaswag_without_markup(tmp_path: Path) -> None:
    """Six lines an item; the subject is what stands before the first colon."""
    content = bz2.compress(("\n".join(BLOCKS) + "\n").encode())
    write(tmp_path, hellaswag.CLEANED.name, content)
    assert read("hellaswag", tmp_path) == [
        Row("hellaswag_val_0", "Art: she paints. she", ("a", " b", "c", "d"), 2, split="validation", subject="Art"),
        Row("hellaswag_val_1", "Sport: he runs: he", tuple("wxyz"), 0, split="validation", subject="Sport"),
    ]  # fmt: skip
    write(tmp_path, olmes.NAME, json.dumps([LABELLED]))
    row = Row("hellaswag_train_olmes_0", "Art: [header] She paints.", tuple("abcd"), 3, split="train", subject="Art")  # fmt: skip
    for variant in ("cleaned", "official", "hub"):
        assert pool("hellaswag", tmp_path, variant) == [row]


def test_hellaswag_of_the_authors_and_of_the_hub_is_the_same(tmp_path: Path) -> None:
    """The hub's labels are texts."""
    write(tmp_path, "hellaswag_val.jsonl", lines(LABELLED, {**LABELLED, "label": 0}))
    parquet(tmp_path, "hub/validation.parquet", [{**LABELLED, "label": x} for x in ("3", "0")])
    rows = read("hellaswag", tmp_path, "official")
    assert [(row.id, row.answer) for row in rows] == [
        ("hellaswag_val_0", 3),
        ("hellaswag_val_1", 0),
    ]
    assert rows[0].question == "Art: [header] She paints."
    assert read("hellaswag", tmp_path, "hub") == rows


def test_mmlu(tmp_path: Path) -> None:
    """Headless CSV, fields over several lines; one file a subject, in the order of their names."""
    write(tmp_path, "test/anatomy_test.csv", '"One,\n two?",a,"b ""x""",,"d",C\nTwo?,1,2,3,4,A\n')
    write(tmp_path, "test/virology_test.csv", "Three?,1,2,3,4,D\n")
    rows = read("mmlu_five_subjects", tmp_path, subjects=["virology", "anatomy"])
    assert rows == [
        Row("anatomy_test_0", "One,\n two?", ("a", 'b "x"', "", "d"), 2, split="test", subject="anatomy"),
        Row("anatomy_test_1", "Two?", tuple("1234"), 0, split="test", subject="anatomy"),
        Row("virology_test_0", "Three?", tuple("1234"), 3, split="test", subject="virology"),
    ]  # fmt: skip
    write(tmp_path, "dev/virology_dev.csv", "Four?,1,2,3,4,B\n")
    source = registry.published("mmlu_five_subjects", ["virology"]).source()
    assert source.pool is not None
    assert [(row.id, row.split) for row in source.pool.read(tmp_path)] == [
        ("virology_dev_0", "dev")
    ]


def test_openbookqa(tmp_path: Path) -> None:
    """Quotes are characters like others, and letters in brackets may stand in a choice."""
    choices = '(A) a "b (B) type (a) (C) c (D) d '
    write(tmp_path, "Main/test.tsv", OPENBOOK + f'7-1\t"Sun\t{choices}\tall\tD\n')
    assert read("openbookqa", tmp_path) == [
        Row("7-1", '"Sun', ('a "b', "type (a)", "c", "d "), 3, split="test")
    ]
    write(tmp_path, "Main/train.tsv", OPENBOOK + f"8-1\tx\t{choices}\tall\tB\n")
    assert [(row.answer, row.split) for row in pool("openbookqa", tmp_path)] == [(1, "train")]


def test_logiqa(tmp_path: Path) -> None:
    """Eight lines an item; letters as they stand, or lost; the gold is the letter, not the line."""
    write(tmp_path, "Test.txt", "\n".join(LOGIQA))
    assert read("logiqa", tmp_path) == [
        Row(
            "logiqa_test_0", "Which?", ("one", " three", "two", "four"), 1,
            "A passage.", "test", None, ("A", "C", "B", "D"),
        ),
        Row(
            "logiqa_test_1", "Who? ", ("Ann A.x", "two", "three", "four "), 0,
            "Another.", "test", None, (None, "B", "C", "D"),
        ),
    ]  # fmt: skip
    write(tmp_path, "Eval.txt", "\n".join(LOGIQA[:8]))
    assert [row.id for row in pool("logiqa", tmp_path)] == ["logiqa_validation_0"]
    with pytest.raises(SourceError, match="line 9: a blank line should stand here"):
        write(tmp_path, "Test.txt", "\n".join([*LOGIQA[:8], "x", *LOGIQA[9:]]))
        read("logiqa", tmp_path)


def test_race(tmp_path: Path) -> None:
    """Questions of an article are numbered, wherever its lines stand."""
    line = {"example_id": "middle1.txt", "article": "Read.", "answer": "D", "question": "Who?", "options": [*"abcd"]}  # fmt: skip
    other = {**line, "example_id": "middle2.txt", "answer": "A"}
    write(tmp_path, "test_middle.jsonl", lines(line, other, line))
    rows = read("race_middle", tmp_path)
    assert rows[0] == Row("middle1.txt#0", "Who?", tuple("abcd"), 3, "Read.", "test")
    assert [row.id for row in rows] == ["middle1.txt#0", "middle2.txt#0", "middle1.txt#1"]
    write(tmp_path, "validation_middle.jsonl", lines(other))
    assert [(row.answer, row.split) for row in pool("race_middle", tmp_path)] == [(0, "validation")]


def truthful(question: str, *answers: str) -> dict[str, Any]:
    """The first answer is the true one."""
    return {"question": question, "mc1_targets": {a: int(a == answers[0]) for a in answers}}


@pytest.mark.parametrize(("variant", "folder"), [("v0", "v0/"), ("v1", "")])
def test_truthfulqa(tmp_path: Path, variant: str, folder: str) -> None:
    entries = [truthful("Who? ", "No one", "Ann", "Bob", "Eve"), truthful("What?", "x", "y")]
    write(tmp_path, f"{folder}mc_task.json", json.dumps(entries))
    write(tmp_path, f"{folder}TruthfulQA.csv", "\ufeffCategory,Question\r\nLaw,Who?\r\n")
    rows = read("truthfulqa_mc1", tmp_path, variant)
    assert rows == [
        Row(f"truthfulqa_{variant}_0", "Who? ", ("No one", "Ann", "Bob", "Eve"), 0, split="validation", subject="Law"),
        Row(f"truthfulqa_{variant}_1", "What?", ("x", "y"), 0, split="validation"),
    ]  # fmt: skip
    # The hub's rows are the same without a category.
    targets = [{"choices": list(e["mc1_targets"]), "labels": list(e["mc1_targets"].values())} for e in entries]  # fmt: skip
    hub = [{"question": e["question"], "mc1_targets": t} for e, t in zip(entries, targets, strict=True)]  # fmt: skip
    parquet(tmp_path, "hub/validation.parquet", hub)
    found = read("truthfulqa_mc1", tmp_path, "hub")
    assert [(r.question, r.options, r.answer) for r in found] == [
        (r.question, r.options, r.answer) for r in rows
    ]


@pytest.mark.parametrize("labels", [[0, 0], [1, 1]])
def test_truthfulqa_with_no_or_two_true_answers(tmp_path: Path, labels: list[int]) -> None:
    entry = {"question": "Who?", "mc1_targets": dict(zip("ab", labels, strict=True))}
    write(tmp_path, truthfulqa_mc1.V0.name, json.dumps([entry]))
    write(tmp_path, truthfulqa_mc1.V0_CATEGORIES.name, "Category,Question\n")
    with pytest.raises(SourceError, match=f"{sum(labels)} true answers where one is expected"):
        read("truthfulqa_mc1", tmp_path)


def listed(*options: str) -> str:
    return "\n".join(f"({letter}) {o}" for letter, o in zip("ABCDEFG", options, strict=False))


def test_bbh(tmp_path: Path) -> None:
    """The list is taken out of the question; a gold that is no letter is none."""
    for task in bbh_mc.TASKS:
        write(tmp_path, f"{task}.json", json.dumps({"canary": "x", "examples": []}))
    examples = [
        {"input": f"Find.\nA (B) c\nOptions:\n{listed('a', 'b (C) x', 'c', 'd ')}", "target": "(B)"},
        {"input": f"Find.\nOptions:\n{listed('The good', 'the bad', 'x')}", "target": "The good, the bad"},
    ]  # fmt: skip
    write(tmp_path, "ruin_names.json", json.dumps({"examples": examples}))
    first, second = read("bbh_mc", tmp_path)
    assert first == Row(
        "ruin_names_0", "Find.\nA (B) c", ("a", "b (C) x", "c", "d "), 1,
        None, "test", "ruin_names", tuple("ABCD"),
    )  # fmt: skip
    assert (second.id, second.answer, len(second.options)) == ("ruin_names_1", None, 3)


def test_bbh_exemplars_lose_their_reasoning(tmp_path: Path) -> None:
    text = f"canary\n-----\nFind it.\n\nQ: Which?\nOptions:\n{listed(*'abcd')}\nA: Let's think.\nA: (A) is not. So the answer is (A) or so. So the answer is (C).\n"
    for task in bbh_mc.PROMPTS:
        write(tmp_path, f"cot-prompts/{task}.txt", text)
    rows = pool("bbh_mc", tmp_path)
    assert [row.id for row in rows] == [f"{task}_cot_0" for task in bbh_mc.PROMPTS]
    assert {(row.question, row.options, row.answer) for row in rows} == {
        ("Which?", tuple("abcd"), 2)
    }
    write(tmp_path, "cot-prompts/ruin_names.txt", text.replace("So the answer", "The answer"))
    with pytest.raises(SourceError, match=r"ruin_names.txt: exemplar 0 states no answer"):
        pool("bbh_mc", tmp_path)


# Ten options


def test_mmlu_pro(tmp_path: Path) -> None:
    """In the order of the numbers; what a model answered is left out."""
    few = {**ENTRY, "question_id": 8, "options": [*"abc"], "answer_index": 0, "model_outputs": "x"}
    archive(tmp_path, {**ENTRY, "model_outputs": "x"}, few)
    rows = read("mmlu_pro", tmp_path)
    assert rows == [
        Row("mmlu_pro_8", "Q?", tuple("abc"), 0, split="test", subject="law"),
        Row("mmlu_pro_70", "Q?", tuple("abcdefghij"), 9, split="test", subject="law"),
    ]
    parquet(tmp_path, "hub/test.parquet", [ENTRY, {**few, "model_outputs": None}])
    assert read("mmlu_pro", tmp_path, "hub") == rows
    parquet(tmp_path, "hub/validation.parquet", [ENTRY])
    assert [row.id for row in pool("mmlu_pro", tmp_path, "hub")] == ["mmlu_pro_validation_70"]


def test_mmlu_pro_exemplars_of_a_module_of_prompts(tmp_path: Path) -> None:
    """Of the lists of literals the one whose solutions all state their answer is kept."""
    options = "\n".join(f"{letter}. option {letter}" for letter in "ABCDEFGHIJ")
    shown = {"question": "Q?", "options": options, "topic": "computer_science"}
    styles = {
        "boxed": [{**shown, "solution": s} for s in ("\\boxed{B}", "The answer is (C).")],
        "plain": [{**shown, "solution": s} for s in ("No. the answer is (A).\nThe answer is (B).", "The answer is (J).")],
    }  # fmt: skip
    module = "import os\n\nx = 3\n" + "".join(f"{n} = {v!r}\n" for n, v in styles.items())
    write(tmp_path, mmlu_pro.VALIDATION.name, mmlu_pro.literal_exemplars(module.encode()))
    assert pool("mmlu_pro", tmp_path) == [
        Row(
            f"mmlu_pro_validation_computer_science_{i}", "Q?",
            tuple(f"option {letter}" for letter in "ABCDEFGHIJ"), answer,
            split="validation", subject="computer science",
        )
        for i, answer in enumerate((1, 9))
    ]  # fmt: skip


# Modules that hold other files


def test_exemplars_of_a_module_are_parsed_and_never_run() -> None:
    module = b"import nonsense\nSTD_FEWSHOT = {}\nSTD_FEWSHOT['piqa'] = [{'goal': '\\xe4'}]\nSTD_FEWSHOT['x'] = f()\n"
    derive = olmes.exemplar_file("piqa", "0" * 64).derive
    assert derive is not None
    assert json.loads(derive(module)) == [{"goal": "ä"}]
    for name, error in (("arc", SourceError), ("x", ValueError)):
        other = olmes.exemplar_file(name, "0" * 64).derive
        assert other is not None
        with pytest.raises(error):
            other(module)


# What readers share


def test_lines_of_json_end_in_a_line_feed_alone(tmp_path: Path) -> None:
    """Other separators may stand in a text; a file may end with a line feed or without."""
    text = "".join(
        json.dumps({"x": f"a{c}b"}, ensure_ascii=False) + "\n" for c in "\u2028\u2029\x85"
    )
    for content in (text, text[:-1]):
        write(tmp_path, "x.jsonl", content)
        assert [o["x"] for o in json_lines(tmp_path / "x.jsonl")] == [
            "a\u2028b",
            "a\u2029b",
            "a\x85b",
        ]
    write(tmp_path, "x.jsonl", text.replace("\n", "\r\n"))
    assert len(list(json_lines(tmp_path / "x.jsonl"))) == 3
    write(tmp_path, "x.jsonl", "")
    assert list(json_lines(tmp_path / "x.jsonl")) == []


@pytest.mark.parametrize(
    ("letter", "index"),
    [("A", 0), (" d\n", 3), ("1", 0), ("4", 3), ("Z", 25), ("9", 8)],
)
def test_letters_and_digits(letter: str, index: int) -> None:
    assert letter_index(letter, "here") == index


@pytest.mark.parametrize("letter", ["", "0", "AB", "12", "?", "é", "²", "(A)"])
def test_what_is_no_letter_is_told_with_its_place(letter: str) -> None:
    with pytest.raises(SourceError, match=r"here: the answer .* is not an option's letter"):
        letter_index(letter, "here")
