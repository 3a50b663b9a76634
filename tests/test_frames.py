"""The statistics on disk: promised columns and types, vectors, order, and files that are whole."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from optionbias.frames import COLUMNS, gather, marked, write_parquet, write_scores
from optionbias.scoring import BenchmarkScores, score_benchmark
from strategies import SEED, pick
from synthetic import REPETITIONS, answers, odd, standard

# The columns that other people's programs read, as they were promised.
CELLS = (
    "checkpoint, benchmark, readout, design, operation, alpha, subset, n_items, m, K, accuracy, "
    "canonical_accuracy, flip_rate, skew, pooled_sd, stable_correct, stable_wrong, balanced_rstd, "
    "placement_range, std_h, range_h, fluctuation_rate, kl, per_item_kl, per_item_sd, "
    "pairwise_disagreement, choice_entropy, flip_cap, scaled_flip_rate, std_b, corrected_sd, "
    "design_bound, median_mass, fallback_share, near_ties, repeat_disagreement, "
    "reorder_disagreement, f, g, h, b, accuracy_by_letter"
).split(", ")
VECTORS = ("f", "g", "h", "b", "accuracy_by_letter")
CSV_FILES = ("cells", "calibration", "priors", "identities", "noise")


def rows_of(name: str) -> list[dict[str, str]]:
    """A CSV of the standard run, as text."""
    with open(standard().folder / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def frame_of(name: str) -> pd.DataFrame:
    """A Parquet table of the standard run."""
    return pd.read_parquet(standard().folder / f"{name}.parquet")


def scored(benchmark: str) -> BenchmarkScores:
    """Scores of one benchmark of the standard run, before they were written."""
    mine = [s for s in standard().sweeps if s.metadata["benchmark"] == benchmark]
    return score_benchmark(benchmark, mine, SEED, REPETITIONS)


def test_the_promised_files_and_columns(tmp_path: Path) -> None:
    assert list(frame_of("cells").columns) == CELLS
    assert list(rows_of("cells")[0]) == CELLS
    assert list(rows_of("calibration")[0]) == ["checkpoint", "benchmark", "readout", "item"]
    assert list(rows_of("priors")[0]) == ["checkpoint", "benchmark", "readout", "prior", "values"]
    gather([standard().folder / benchmark for benchmark in ("four", "two")], tmp_path)
    files = {p.name for p in tmp_path.iterdir()}
    assert files == {f"{n}.parquet" for n in COLUMNS} | {f"{n}.csv" for n in CSV_FILES}


def test_one_row_per_cell_operation_and_subset() -> None:
    key = ["checkpoint", "benchmark", "readout", "design", "operation", "subset"]
    cells = frame_of("cells")
    assert not cells.duplicated(key).any()
    assert set(cells["subset"]) == {"all", "evaluation"}
    assert set(cells["design"]) == {"cyclic", "all"}
    assert set(cells["operation"]) == {
        "none", "pride", "batch", "reversal", "pride+reversal", "batch+reversal", "pride+batch",
        "vote",
    }  # fmt: skip
    # One readout and design has 19 cells, each scored without an operation on all its items.
    plain = cells[(cells["readout"] == "first-token") & (cells["subset"] == "all")]
    assert (plain["operation"] == "none").sum() == 19
    assert set(frame_of("priors")["prior"]) == {"pride", "batch", "batch-after-pride"}


def test_rows_are_sorted_and_hold_what_was_scored() -> None:
    by = ["checkpoint", "benchmark", "readout", "design", "subset"]
    cells = frame_of("cells")
    assert cells[by].equals(cells[by].sort_values(by, kind="stable", ignore_index=True))
    expected = [row for b in ("four", "other", "ten", "two") for row in scored(b).cells]
    assert len(cells) == len(expected)
    for row in cells.to_dict("records"):
        keys = ("checkpoint", "benchmark", "readout", "design", "operation", "subset")
        (found,) = pick(expected, **{k: row[k] for k in keys})
        for name, value in row.items():
            if name in VECTORS:
                assert np.array_equal(value, found[name], equal_nan=True)
            elif found.get(name) is None or found[name] != found[name]:
                assert pd.isna(value), name
            else:
                assert value == found[name], name


def test_vectors_are_json_text_with_null_for_nan() -> None:
    frame, rows = frame_of("cells"), rows_of("cells")
    undefined = 0
    for stored, row in zip(frame.to_dict("records"), rows, strict=True):
        for name in VECTORS:
            values = json.loads(row[name])
            assert "NaN" not in row[name]
            assert len(values) == int(row["K"])
            undefined += values.count(None)
            again = [math.nan if v is None else v for v in values]
            assert np.array_equal(again, stored[name], equal_nan=True)
    # The cells that never flip have no g and no h.
    assert undefined > 0
    priors = [json.loads(row["values"]) for row in rows_of("priors")]
    assert all(abs(sum(prior) - 1) < 1e-9 for prior in priors)


def test_numbers_in_the_csv() -> None:
    for row in rows_of("cells"):
        assert all(row[name].isdigit() for name in ("n_items", "m", "K"))
        corrected = "pride" in row["operation"] or "batch" in row["operation"]
        assert row["alpha"] == ("1.0" if corrected else "")
        # Not measured here: empty, never a word.
        for name in ("fallback_share", "near_ties", "repeat_disagreement", "median_mass"):
            assert row[name] == ""
        assert (row["skew"] == "") == (float(row["flip_rate"]) == 0)
        assert not {"nan", "<NA>", "None", "inf"} & set(row.values())


def test_types_do_not_depend_on_what_is_missing() -> None:
    for name in COLUMNS:
        expected = frame_of(name).dtypes
        for lacking in ("two options only", "no first-token readout", "cells of one item"):
            found = pd.read_parquet(odd(lacking).folder / f"{name}.parquet").dtypes
            assert found.equals(expected), (name, lacking)


def test_empty_tables_keep_their_columns() -> None:
    comparison = pd.read_parquet(odd("two options only").folder / "comparison.parquet")
    assert comparison.empty
    assert list(comparison.columns) == list(COLUMNS["comparison"])
    for name in COLUMNS:
        empty = pd.read_parquet(odd("cells of one item").folder / f"{name}.parquet")
        assert list(empty.columns) == list(COLUMNS[name])
        assert empty.empty == (name != "sweeps")
    text = (odd("cells of one item").folder / "cells.csv").read_text(encoding="utf-8")
    assert text == ",".join(CELLS) + "\n"


def test_the_order_of_benchmarks_and_of_jobs_changes_no_byte(tmp_path: Path) -> None:
    folders = []
    for benchmark in ("two", "ten", "other", "four"):
        mine = [s for s in standard().sweeps if s.metadata["benchmark"] == benchmark]
        scores = score_benchmark(benchmark, mine[::-1], SEED, REPETITIONS)
        folders.append(tmp_path / benchmark)
        write_scores(folders[-1], scores)
    gather(folders, tmp_path / "joined")
    for path in (tmp_path / "joined").iterdir():
        before = standard().folder / path.name
        if path.suffix == ".csv":
            assert path.read_bytes() == before.read_bytes(), path.name
        else:
            assert pd.read_parquet(path).equals(pd.read_parquet(before)), path.name


def test_another_benchmark_changes_no_row_of_the_first(tmp_path: Path) -> None:
    write_scores(tmp_path / "four", scored("four"))
    gather([tmp_path / "four"], tmp_path / "alone")
    for name in CSV_FILES:
        with open(tmp_path / "alone" / f"{name}.csv", newline="", encoding="utf-8") as file:
            alone = list(csv.DictReader(file))
        assert alone == pick(rows_of(name), benchmark="four")


def test_files_are_whole_or_absent(tmp_path: Path) -> None:
    scores = scored("two")
    write_scores(tmp_path / "two", scores)
    names = sorted(p.name for p in (tmp_path / "two").iterdir())
    assert names == sorted(f"{name}.parquet" for name in COLUMNS)
    with pytest.raises(FileNotFoundError):
        gather([tmp_path / "two", tmp_path / "absent"], tmp_path / "joined")
    assert not (tmp_path / "joined").exists() or not list((tmp_path / "joined").iterdir())


def test_sweeps_say_where_they_came_from() -> None:
    sweeps = frame_of("sweeps")
    assert len(sweeps) == len(standard().sweeps)
    assert set(sweeps.loc[sweeps["checkpoint"] == "Beta_2B", "revision"]) == {
        "beta_2b0000000000000"
    }
    assert sweeps["device"].isna().all()


def test_the_calibration_split_is_listed_item_by_item() -> None:
    run, rows = standard(), rows_of("calibration")
    # floor(0.05 n + 0.5) of the items usable under the cyclic orderings: 40 and 39 give 2.
    here = pick(rows, benchmark="four", readout="first-token")
    counts = {c: len(pick(here, checkpoint=c)) for c in {row["checkpoint"] for row in here}}
    assert set(counts.values()) == {2}
    items = {item for s in run.sweeps for item in s.items}
    assert {row["item"] for row in rows} <= items


def test_text_that_csv_must_quote(tmp_path: Path) -> None:
    name = 'a "quoted", name'
    sweep = answers(name, "x", 4)
    write_scores(tmp_path / "x", score_benchmark("x", [sweep], SEED, 2))
    gather([tmp_path / "x"], tmp_path)
    with open(tmp_path / "cells.csv", newline="", encoding="utf-8") as file:
        assert {row["checkpoint"] for row in csv.DictReader(file)} == {name}


def says_simulated(path: Path) -> bool:
    """Whether the file's own metadata do, as another program would read them."""
    metadata = json.loads(pq.read_schema(path).metadata[b"pandas"])
    return metadata["attributes"].get("simulated", False)


def test_simulated_data_say_so_in_every_file(tmp_path: Path) -> None:
    for benchmark in ("two", "ten", "empty"):
        n = 1 if benchmark == "empty" else 12
        sweep = answers("A", benchmark, 10 if benchmark == "ten" else 2, n, simulated=True)
        scores = score_benchmark(benchmark, [sweep], SEED, 2, simulated=True)
        write_scores(tmp_path / benchmark, scores)
    folders = [tmp_path / benchmark for benchmark in ("two", "ten", "empty")]
    gather(folders, tmp_path / "joined")
    for folder in (*folders, tmp_path / "joined"):
        for name in COLUMNS:
            path = folder / f"{name}.parquet"
            assert says_simulated(path), path
            assert pd.read_parquet(path).attrs == {"simulated": True}
    # The mark is no column: the files promise the same ones.
    assert list(pd.read_parquet(tmp_path / "joined" / "cells.parquet").columns) == CELLS
    # One simulated part is enough.
    write_scores(tmp_path / "real", score_benchmark("real", [answers("A", "real", 2)], SEED, 2))
    gather([tmp_path / "real", tmp_path / "two"], tmp_path / "mixed")
    for name in COLUMNS:
        assert not says_simulated(tmp_path / "real" / f"{name}.parquet")
        assert says_simulated(tmp_path / "mixed" / f"{name}.parquet")


def test_real_data_carry_no_mark(tmp_path: Path) -> None:
    for name in COLUMNS:
        assert not says_simulated(standard().folder / f"{name}.parquet")
    frame = pd.DataFrame({"benchmark": ["two"], "value": [0.5]})
    for simulated in (False, True):
        write_parquet(tmp_path / "a.parquet", marked(frame, simulated))
        assert says_simulated(tmp_path / "a.parquet") is simulated
