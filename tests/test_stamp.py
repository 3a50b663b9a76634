"""Stamps in every format, read back as other programs would read them."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
import typst
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from PIL import Image

from optionbias import stamp
from optionbias.figures import style
from optionbias.tables.table import Block, Entry, Table, write_table

TEXTS = ("md", "tex", "typ")
CLONE = {"commit": "c0ffee", "uncommitted": False, "config": "d1"}
NASTY = 'a--b --> */ // % \\ "q" (x) <y> é \n-->\n'
STAMP: dict[str, Any] = {
    "computed": stamp.made(CLONE, stamp.NUMERIC),
    "cohort": {"name": NASTY, "sha256": "0" * 64, "simulated": True},
    "answers": {"models": {"A--1": [NASTY]}, "items": {}, "answered": []},
}
TABLE = Table("2", "Caption.", [Block("", [Entry("row", "column", 0.5)])])


@pytest.fixture
def written(tmp_path: Path) -> dict[str, str]:
    paths = {ending: tmp_path / f"table2.{ending}" for ending in ("csv", *TEXTS)}
    write_table(TABLE, list(paths.values()), STAMP)
    return {ending: path.read_text(encoding="utf-8") for ending, path in paths.items()}


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    paths = {ending: tmp_path / f"bare2.{ending}" for ending in ("csv", *TEXTS)}
    write_table(TABLE, list(paths.values()))
    return {ending: path.read_text(encoding="utf-8") for ending, path in paths.items()}


@pytest.mark.parametrize("ending", TEXTS)
def test_a_table_carries_its_stamp(
    ending: str, written: dict[str, str], bare: dict[str, str]
) -> None:
    assert stamp.split(written[ending], ending) == (bare[ending], STAMP)
    assert stamp.split(bare[ending], ending) == (bare[ending], {})


def test_a_csv_keeps_to_its_columns(written: dict[str, str], bare: dict[str, str]) -> None:
    assert written["csv"] == bare["csv"]


def test_markdown_shows_nothing_of_it(written: dict[str, str], bare: dict[str, str]) -> None:
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    shown, without = (reader.render(texts["md"]) for texts in (written, bare))
    assert re.sub(r"<!--.*?-->\n?", "", shown, flags=re.S) == without
    assert shown.count("<!--") == shown.count("-->") == 1


def test_latex_and_typst_show_nothing_of_it(written: dict[str, str], bare: dict[str, str]) -> None:
    lines = written["tex"].removeprefix(bare["tex"]).splitlines()
    assert len(lines) == 1 + len(STAMP) and all(line.startswith("% ") for line in lines)
    pdfs = [typst.compile(texts["typ"].encode(), timestamp=0) for texts in (written, bare)]
    assert pdfs[0] == pdfs[1]


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from(["computed", "cohort", "answers"]), st.text(), min_size=1))
def test_any_text_survives(found: dict[str, str]) -> None:
    for ending in TEXTS:
        assert stamp.split(stamp.with_comment("x\n", found, ending), ending) == ("x\n", found)


@pytest.mark.parametrize("ending", TEXTS)
def test_a_damaged_stamp_is_none(ending: str, written: dict[str, str]) -> None:
    for damaged in (
        written[ending].replace('"simulated": ', '"simulated: '),
        written[ending].replace("cohort: ", "cohort"),
    ):
        assert damaged != written[ending]
        assert stamp.split(damaged, ending) == (damaged, {})


def test_a_figure_carries_its_stamp(tmp_path: Path) -> None:
    paths = [tmp_path / f"figure1.{ending}" for ending in ("pdf", "png", "svg")]
    figure, axes = plt.subplots(figsize=(1, 1))
    axes.plot([0, 1])
    style.save(figure, paths, "Figure 1. (x)", {**STAMP, "drawn": CLONE})
    expected = {**STAMP, "drawn": CLONE}
    pdf = re.search(rb"/Subject \((.*?)(?<!\\)\)\s*(/|>>)", paths[0].read_bytes(), re.S)
    assert pdf is not None
    text = re.sub(rb"\\([()\\])", rb"\1", pdf[1])
    assert json.loads(text) == expected
    with Image.open(paths[1]) as picture:
        assert json.loads(picture.info["Description"]) == expected
        assert picture.info["Title"] == "Figure 1. (x)"
    assert stamp.of_drawing(paths[2]) == expected


def test_a_figure_without_one_or_a_damaged_one(tmp_path: Path) -> None:
    figure, _ = plt.subplots(figsize=(1, 1))
    style.save(figure, [tmp_path / "figure1.svg"], "Figure 1.")
    path = tmp_path / "figure1.svg"
    assert stamp.of_drawing(path) == {}
    style.save(figure, [path], "Figure 1.", STAMP)
    whole = path.read_text()
    for damaged in (whole.replace('"simulated": ', '"simulated: '), whole[: len(whole) // 2]):
        path.write_text(damaged)
        assert damaged != whole and stamp.of_drawing(path) == {}


def test_what_a_job_says_of_itself() -> None:
    told = stamp.made(CLONE, ["numpy"])
    assert {key: told[key] for key in CLONE} == CLONE
    assert told["packages"].keys() == {"numpy"} and re.match(r"\d+\.", told["python"])
    assert set(told["hardware"]) == {"system", "machine", "processor"}
    assert all(told["hardware"].values())
    # The same twice: no time, no host.
    assert stamp.made(CLONE, ["numpy"]) == told


def test_of_numbers(tmp_path: Path) -> None:
    data = b'{"label": "few, simulated", "simulated": true}'
    (tmp_path / "cohort.json").write_bytes(data)
    assert stamp.of_numbers(CLONE, tmp_path / "cohort.json", {"models": {}}) == {
        "computed": CLONE,
        "cohort": {
            "name": "few, simulated", "sha256": hashlib.sha256(data).hexdigest(), "simulated": True,
        },
        "answers": {"models": {}},
    }  # fmt: skip
