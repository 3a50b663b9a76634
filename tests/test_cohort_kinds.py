"""Closed models, further cells, and simulated cohorts in a cohort file."""

from pathlib import Path
from typing import Any

import pytest

from cohort_files import change, faults, plain, read
from optionbias.cohort import Cell

SHUT = {"name": "Shut", "family": "Shut", "training": "post", "closed": True}


def with_closed(**readouts: Any) -> dict[str, Any]:
    """The plain cohort and a closed model, under these readouts."""
    raw = plain()
    raw["checkpoints"].append(dict(SHUT))
    raw["readouts"] = readouts
    return raw


def every(checkpoints: Any = "all", benchmarks: Any = "all", **more: Any) -> dict[str, Any]:
    """A readout's entry."""
    return {"checkpoints": checkpoints, "benchmarks": benchmarks, **more}


def test_all_means_the_checkpoints_of_the_readouts_kind(tmp_path: Path) -> None:
    raw = with_closed(**{"first-token": every(), "closed": every(benchmarks=["exam"])})
    assert read(tmp_path, raw).cells == [
        Cell("first-token", "exam", "A"),
        Cell("first-token", "exam", "B-it"),
        Cell("first-token", "facts_k2", "A"),
        Cell("first-token", "facts_k2", "B-it"),
        Cell("closed", "exam", "Shut"),
    ]


@pytest.mark.parametrize(
    ("readout", "entry", "expected"),
    [
        ("first-token", every(["A", "Shut"]), "`readouts.first-token.checkpoints`: Shut is not of this readout's kind"),
        ("closed", every(["A", "Shut"]), "`readouts.closed.checkpoints`: A is not of this readout's kind"),
        ("closed", every(["Shut", "Z"]), "`readouts.closed.checkpoints`: Z is not in the cohort"),
        ("first-token", every(also=[every(["Shut"])]), "`readouts.first-token.checkpoints`: Shut is not of this readout's kind"),
        ("first-token", every(also=[every(["Z"])]), "`readouts.first-token.checkpoints`: Z is not in the cohort"),
        ("first-token", every(also=[every(benchmarks=["nope"])]), "`readouts.first-token.benchmarks`: nope is not in the cohort"),
        ("first-token", every(also=[every(["A", "A"])]), "`readouts.first-token.also.0.checkpoints"),
        ("first-token", every(also=[{"checkpoints": "all"}]), "missing key `readouts.first-token.also.0.benchmarks`"),
    ],
)  # fmt: skip
def test_a_checkpoint_of_the_other_kind_is_named(
    readout: str, entry: Any, expected: str, tmp_path: Path
) -> None:
    said = faults(tmp_path, with_closed(**{readout: entry}))
    if "missing" in expected or "also.0" in expected:
        assert expected in said  # what the schema says has the value behind it
    else:
        assert said == expected


def test_a_closed_readout_without_closed_models_has_no_cell(tmp_path: Path) -> None:
    raw = plain()
    raw["readouts"] = {"closed": every(), "first-token": every()}
    assert faults(tmp_path, raw) == "`readouts.closed`: the cohort has no closed checkpoint"


def test_only_closed_models_may_lack_parameters_and_source(tmp_path: Path) -> None:
    cohort = read(tmp_path, with_closed(**{"first-token": every()}))
    assert cohort.checkpoints["Shut"] == SHUT
    raw = change("checkpoints.0.params_b", ...)
    assert "checkpoints.0" in faults(tmp_path, raw)
    raw["checkpoints"][0]["closed"] = False  # the key is there or not: no third state
    assert "`checkpoints.0.closed`" in faults(tmp_path, raw)


def test_also_adds_cells_and_except_takes_them_out(tmp_path: Path) -> None:
    entry = every(["A"], ["exam"], also=[every(["A", "B-it"], ["facts_k2"]), every(["A"])])
    raw = change("readouts.first-token", entry)
    # (A, exam) and (A, facts_k2) are named twice and run once.
    cells = [("exam", "A"), ("facts_k2", "A"), ("facts_k2", "B-it")]
    assert [cell[1:] for cell in read(tmp_path, raw).cells] == cells
    # A cell that `also` alone names is a cell like any other; one that nothing names is not.
    entry["except"] = [{"checkpoint": "B-it", "benchmark": "facts_k2"}]
    assert [cell[1:] for cell in read(tmp_path, raw).cells] == cells[:2]
    entry["except"] = [{"checkpoint": "B-it", "benchmark": "exam"}]
    said = faults(tmp_path, raw)
    assert said == "`readouts.first-token.except`: no cell B-it on exam"
    del entry["also"], entry["except"]
    assert [cell[1:] for cell in read(tmp_path, raw).cells] == cells[:1]


def test_five_shot_needs_the_exemplars_of_further_cells_too(tmp_path: Path) -> None:
    raw = change("benchmarks.0.exemplars", ...)
    raw["readouts"]["five-shot"] = every("all", ["facts_k2"], also=[every(["A"], ["exam"])])
    assert faults(tmp_path, raw) == "benchmark exam: missing key `exemplars` (needed by five-shot)"


def simulated() -> dict[str, Any]:
    """The plain cohort, simulated: no source, no file."""
    raw = {**with_closed(**{"first-token": every(), "closed": every()}), "simulated": True}
    for checkpoint in raw["checkpoints"]:
        checkpoint.pop("source", None)
    raw["benchmarks"] = [
        {"name": "exam", "K": 4, "size": 30, "difficulty": 0.5},
        {"name": "other", "K": 10, "size": 20, "difficulty": -1},
    ]
    return raw


def test_a_simulated_cohort_needs_neither_models_nor_items(tmp_path: Path) -> None:
    cohort = read(tmp_path, simulated())
    assert cohort.simulated
    assert not cohort.replicates
    assert len(cohort.cells) == 6
    told = cohort.described()
    assert (told["simulated"], told["replicates"]) == (True, False)
    # The simulation reads these from what tables and figures are told.
    assert told["benchmarks"][0] == {"name": "exam", "K": 4, "size": 30, "difficulty": 0.5}
    assert told["checkpoints"][2] == SHUT


def test_a_simulated_cohort_needs_size_and_difficulty(tmp_path: Path) -> None:
    raw = simulated()
    del raw["benchmarks"][0]["size"], raw["benchmarks"][1]["difficulty"]
    expected = (
        "benchmark exam: missing key `size` (needed to simulate it); "
        "benchmark other: missing key `difficulty` (needed to simulate it)"
    )
    assert faults(tmp_path, raw) == expected
    # Given sweeps are not simulated.
    assert read(tmp_path, raw, needs_models=False).simulated
    # A benchmark that nothing runs on is not simulated.
    raw["readouts"] = {"first-token": every(["A"], ["exam"], also=[every(["A"], ["other"])])}
    assert faults(tmp_path, raw) == expected
    raw["readouts"] = {"first-token": every("all", ["exam"])}
    assert faults(tmp_path, raw) == expected.split("; ")[0]


@pytest.mark.parametrize("key", ["simulated", "replicates"])
def test_a_mark_is_true_or_false(key: str, tmp_path: Path) -> None:
    assert read(tmp_path, {**plain(), key: False}).described()[key] is False
    assert f"`{key}`" in faults(tmp_path, {**plain(), key: "yes"})


def test_simulated_benchmarks_are_sized_by_size_alone(tmp_path: Path) -> None:
    raw = simulated()
    raw["readouts"] = {"first-token": every("all", ["exam"], items=10)}
    assert "`readouts.first-token.items`" in faults(tmp_path, raw)
    raw = simulated()
    raw["benchmarks"][0]["difficulty"] = float("inf")
    assert "`difficulty` is not a finite number" in faults(tmp_path, raw)


def test_what_a_replication_is_told(tmp_path: Path) -> None:
    told = read(tmp_path, {**plain(), "replicates": True}).described()
    assert (told["simulated"], told["replicates"]) == (False, True)


@pytest.mark.parametrize(
    ("name", "marked", "label"),
    [
        ("panel", False, "panel"),
        ("panel", True, "panel, simulated"),
        ("simulated", True, "simulated"),
        ("Simulated-41", True, "Simulated-41"),
        ("not-simulated", False, "not-simulated"),
    ],
)
def test_titles_always_say_that_a_cohort_is_simulated(
    name: str, marked: bool, label: str, tmp_path: Path
) -> None:
    raw = {**(simulated() if marked else plain()), "name": name}
    assert read(tmp_path, raw).label == label
