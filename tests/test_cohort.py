"""Cohort files: what they mean, and every fault named with its file and its key."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cohort_files import change, faults, plain, read
from optionbias.cohort import Cell, locate, read_cohort
from optionbias.provenance import ROOT
from optionbias.validation import ConfigError
from synthetic import FEW


def test_a_cohort_by_hand(tmp_path: Path) -> None:
    raw = plain()
    raw["readouts"]["all-orderings"] = {"checkpoints": ["B-it"], "benchmarks": ["exam"]}
    raw["readouts"]["five-shot"] = {
        "checkpoints": "all", "benchmarks": ["exam"], "items": 50,
        "except": [{"checkpoint": "A", "benchmark": "exam"}],
    }  # fmt: skip
    cohort = read(tmp_path, raw)
    assert (cohort.name, cohort.path) == ("my-cohort", tmp_path / "mine.yaml")
    assert list(cohort.checkpoints) == ["A", "B-it"]
    assert list(cohort.benchmarks) == ["exam", "facts_k2"]
    # In the order of the readouts' own list, then by benchmark, then by checkpoint.
    assert cohort.cells == [
        Cell("first-token", "exam", "A"),
        Cell("first-token", "exam", "B-it"),
        Cell("first-token", "facts_k2", "A"),
        Cell("first-token", "facts_k2", "B-it"),
        Cell("five-shot", "exam", "B-it"),
        Cell("all-orderings", "exam", "B-it"),
    ]
    assert cohort.readouts["five-shot"]["items"] == 50
    assert cohort.title("exam") == "The exam"
    assert cohort.title("facts_k2") == "facts_k2"


def test_what_tables_and_figures_are_told(tmp_path: Path) -> None:
    told = read(tmp_path, plain()).described()
    assert told == json.loads(json.dumps(told))
    assert set(told) == {
        "name", "label", "checkpoints", "benchmarks", "cells", "simulated", "replicates",
    }  # fmt: skip
    # Said of every cohort, so that no reader takes a missing key for an answer.
    assert told["simulated"] is told["replicates"] is False
    assert [c["name"] for c in told["checkpoints"]] == ["A", "B-it"]
    assert told["checkpoints"][1] == {
        "name": "B-it", "family": "Fam", "params_b": 1.2, "training": "post", "base": "A",
    }  # fmt: skip
    # A benchmark's source is what Table 4 prints; its files are nobody's business.
    assert told["benchmarks"][0] == {
        "name": "exam", "K": 4, "title": "The exam", "source": "a book",
    }  # fmt: skip
    assert told["cells"][0] == ["first-token", "exam", "A"]


def test_where_a_checkpoint_is_run_changes_nothing_that_tables_are_told(tmp_path: Path) -> None:
    raw = plain()
    told = read(tmp_path, raw).described()
    raw["checkpoints"][0]["environment"] = "inference-phi3"
    cohort = read(tmp_path, raw)
    assert cohort.checkpoints[raw["checkpoints"][0]["name"]]["environment"] == "inference-phi3"
    assert cohort.described() == told


def test_a_move_of_the_files_changes_nothing_that_tables_read(tmp_path: Path) -> None:
    before = read(tmp_path, plain()).described()
    raw = plain()
    raw["checkpoints"][1]["source"] = {"path": "elsewhere"}
    raw["benchmarks"][0]["items"] = "other.csv"
    raw["checkpoints"].reverse()
    assert read(tmp_path, raw).described() == before


def test_paths_are_found_here_or_beside_the_file(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "cohorts").mkdir()
    (tmp_path / "work").mkdir()
    cohort = read(tmp_path / "cohorts", plain())
    monkeypatch.chdir(tmp_path / "work")
    # Nowhere: as it stands, so that the message names what was written.
    assert cohort.find("exam.jsonl") == Path("exam.jsonl")
    (tmp_path / "cohorts" / "exam.jsonl").touch()
    assert cohort.find("exam.jsonl") == tmp_path / "cohorts" / "exam.jsonl"
    (tmp_path / "work" / "exam.jsonl").touch()
    assert cohort.find("exam.jsonl") == Path("exam.jsonl")
    absolute = tmp_path / "work" / "exam.jsonl"
    assert cohort.find(str(absolute)) == absolute


def test_sweeps_need_no_sources_and_no_items(tmp_path: Path) -> None:
    raw = plain()
    for checkpoint in raw["checkpoints"]:
        del checkpoint["source"]
    for key in ("items", "exemplars"):
        del raw["benchmarks"][0][key]
    raw["readouts"]["five-shot"] = {"checkpoints": "all", "benchmarks": ["exam"]}
    assert len(read(tmp_path, raw, needs_models=False).cells) == 6
    said = faults(tmp_path, raw)
    assert "checkpoint A: missing key `source`" in said
    assert "checkpoint B-it: missing key `source`" in said
    assert "benchmark exam: no `items`, and not one that the workflow knows" in said
    assert "facts_k2, facts_k4" in said


# --- faults ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("checkpoints.0.base", "Z", "checkpoint B-it: `base` Z is not another checkpoint"),
        ("checkpoints.1.source", ..., "checkpoint A: missing key `source`"),
        ("benchmarks.0.items", ..., "benchmark exam: no `items`"),
        ("benchmarks.1.K", 4, "benchmark facts_k2: `K` is 4, it has 2"),
        ("readouts.first-token.checkpoints", ["A", "Z"], "`readouts.first-token.checkpoints`: Z is not in the cohort"),
        ("readouts.first-token.benchmarks", ["nope"], "`readouts.first-token.benchmarks`: nope is not in the cohort"),
        ("readouts.first-token.except", [{"checkpoint": "A", "benchmark": "nope"}], "`readouts.first-token.except`: no cell A on nope"),
        ("readouts.first-token.except", [{"checkpoint": "Z", "benchmark": "exam"}], "`readouts.first-token.except`: no cell Z on exam"),
        ("checkpoints.0.name", "A", "`checkpoints`: the name a is used 2 times"),
        ("checkpoints.0.name", "a", "`checkpoints`: the name a is used 2 times"),
        ("benchmarks.1.name", "EXAM", "`benchmarks`: the name exam is used 2 times"),
        # What the schema says.
        ("name", ..., "missing key `name`"),
        ("name", "no spaces", "`name`"),
        ("name", "../up", "`name`"),
        ("titel", "x", "unknown key `titel`"),
        ("checkpoints", [], "`checkpoints`"),
        ("checkpoints.0.params_b", 0, "`checkpoints.0.params_b`"),
        ("checkpoints.0.params_b", "7B", "`checkpoints.0.params_b` is '7B', not of type number"),
        ("checkpoints.0.training", "chat", "`checkpoints.0.training` is 'chat', not one of base, post"),
        ("checkpoints.0.family", ..., "missing key `checkpoints.0.family`"),
        ("checkpoints.0.name", "a/b", "`checkpoints.0.name`"),
        ("checkpoints.0.licence", "", "`checkpoints.0.licence`"),
        ("checkpoints.0.source", "models/b", "`checkpoints.0.source"),
        ("checkpoints.1.source", {"hub": "name", "revision": "x"}, "`checkpoints.1.source"),
        ("checkpoints.1.source", {"hub": "org/name"}, "`checkpoints.1.source.revision`"),
        ("benchmarks.0.K", 1, "`benchmarks.0.K`"),
        ("benchmarks.0.K", 27, "`benchmarks.0.K`"),
        ("benchmarks.0.K", "four", "`benchmarks.0.K` is 'four', not of type integer"),
        ("benchmarks.0.colour", "red", "unknown key `benchmarks.0.colour`"),
        ("readouts", {}, "`readouts`"),
        ("readouts.telepathy", {"checkpoints": "all", "benchmarks": "all"}, "unknown key `readouts.telepathy`"),
        ("readouts.first-token.checkpoints", "A", "`readouts.first-token.checkpoints"),
        ("readouts.first-token.checkpoints", ["A", "A"], "`readouts.first-token.checkpoints"),
        ("readouts.first-token.benchmarks", ..., "missing key `readouts.first-token.benchmarks`"),
        ("readouts.first-token.items", 1, "`readouts.first-token.items`"),
        ("readouts.first-token.except", [{"checkpoint": "A"}], "missing key `readouts.first-token.except.0.benchmark`"),
    ],
)  # fmt: skip
def test_a_fault_names_file_and_key(path: str, value: Any, expected: str, tmp_path: Path) -> None:
    assert expected in faults(tmp_path, change(path, value))


def test_five_shot_needs_exemplars(tmp_path: Path) -> None:
    raw = change("benchmarks.0.exemplars", ...)
    raw["readouts"]["five-shot"] = {"checkpoints": "all", "benchmarks": "all"}
    said = faults(tmp_path, raw)
    # A benchmark that the workflow makes has its own.
    assert said == "benchmark exam: missing key `exemplars` (needed by five-shot)"
    assert read(tmp_path, raw, needs_models=False).cells


def test_nothing_left_to_run(tmp_path: Path) -> None:
    every = [{"checkpoint": c, "benchmark": b} for c in ("A", "B-it") for b in ("exam", "facts_k2")]
    said = faults(tmp_path, change("readouts.first-token.except", every))
    assert said == "`readouts`: no cell is left to run"


def test_a_whole_number_written_as_a_fraction_is_a_whole_number(tmp_path: Path) -> None:
    # JSON schemas take 4.0 for an integer; the scripts read `--k 4`, not `--k 4.0`.
    try:
        cohort = read(tmp_path, change("benchmarks.0.K", 4.0))
    except ConfigError as error:
        assert "benchmarks.0.K" in str(error)
    else:
        assert isinstance(cohort.benchmarks["exam"]["K"], int)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_parameters_are_a_finite_number(value: float, tmp_path: Path) -> None:
    assert "params_b" in faults(tmp_path, change("checkpoints.0.params_b", value))


def test_a_checkpoint_is_not_its_own_base(tmp_path: Path) -> None:
    assert "base" in faults(tmp_path, change("checkpoints.0.base", "B-it"))


@pytest.mark.parametrize("raw", [None, [], "text", 3])
def test_a_file_that_is_no_mapping(raw: Any, tmp_path: Path) -> None:
    assert faults(tmp_path, raw) == "not a mapping of keys to values"


def test_every_fault_is_named_at_once(tmp_path: Path) -> None:
    raw = change("checkpoints.0.base", "Z")
    raw["benchmarks"][1]["K"] = 4
    raw["readouts"]["first-token"]["checkpoints"] = ["A", "Y"]
    said = faults(tmp_path, raw)
    assert all(part in said for part in ("`base` Z", "`K` is 4", "Y is not in the cohort"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml: no such file"):
        read_cohort(tmp_path / "absent.yaml")
    (tmp_path / "broken.yaml").write_text("name: [", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"broken\.yaml: not YAML"):
        read_cohort(tmp_path / "broken.yaml")


def test_cohorts_are_found_by_name_or_by_path(tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "cohorts"
    folder.mkdir()
    for name in ("mini", "other"):
        (folder / f"{name}.yaml").touch()
    assert locate("mini", folder) == folder / "mini.yaml"
    assert locate(str(folder / "other.yaml"), tmp_path) == folder / "other.yaml"
    monkeypatch.chdir(folder)
    assert locate("mini.yaml", tmp_path) == Path("mini.yaml")
    with pytest.raises(ConfigError) as caught:
        locate("mine", folder)
    assert "config key `cohort`: 'mine'" in str(caught.value)
    assert "(mini, other)" in str(caught.value)
    for path in ("mine.yaml", "deep/mine", "../cohorts"):
        with pytest.raises(ConfigError) as caught:
            locate(path, folder)
        assert str(caught.value) == (
            f"config key `cohort`: no such file: {path} (looked for in {folder})"
        )


@pytest.mark.parametrize("path", sorted(ROOT.glob("workflow/cohorts/*.yaml")), ids=lambda p: p.stem)
def test_the_workflows_own_cohorts_are_sound(path: Path) -> None:
    cohort = read_cohort(path, needs_models=False)
    assert cohort.name == path.stem
    assert len(set(cohort.cells)) == len(cohort.cells)


# --- closed models, further cells, simulated cohorts ------------------------------------------


subset = st.sets(st.sampled_from(["A", "B-it"]), min_size=1).map(sorted)
tests = st.sets(st.sampled_from(["exam", "facts_k2"]), min_size=1).map(sorted)


@FEW
@given(
    st.dictionaries(
        st.sampled_from(["first-token", "all-orderings", "direct-answer", "chain-of-thought"]),
        st.tuples(subset | st.just("all"), tests | st.just("all"), st.booleans()),
        min_size=1,
    ),
    st.randoms(use_true_random=False),
)
def test_cells_are_the_products_less_the_exceptions(tmp_path_factory, readouts, random) -> None:
    raw = plain()
    raw["readouts"], expected = {}, []
    for readout, (checkpoints, benchmarks, leave_out) in readouts.items():
        entry = {"checkpoints": checkpoints, "benchmarks": benchmarks}
        cs = ["A", "B-it"] if checkpoints == "all" else checkpoints
        bs = ["exam", "facts_k2"] if benchmarks == "all" else benchmarks
        cells = [(b, c) for b in bs for c in cs]
        if leave_out and len(cells) > 1:
            b, c = cells.pop(random.randrange(len(cells)))
            entry["except"] = [{"checkpoint": c, "benchmark": b}]
        raw["readouts"][readout] = entry
        expected += [(readout, b, c) for b, c in cells]
    random.shuffle(raw["checkpoints"])
    random.shuffle(raw["benchmarks"])
    cohort = read(tmp_path_factory.mktemp("cohort"), raw)
    assert sorted(cohort.cells) == sorted(expected)
    order = ["first-token", "five-shot", "chain-of-thought", "direct-answer", "all-orderings", "closed"]  # fmt: skip
    assert cohort.cells == sorted(cohort.cells, key=lambda c: (order.index(c.readout), *c[1:]))
