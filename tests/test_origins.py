"""Where answers come from: told by sweeps, carried by statistics files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from optionbias.frames import COLUMNS, gather, write_parquet, write_scores
from optionbias.origins import OriginsError, merged, of_statistics, of_sweep, of_sweeps
from optionbias.scoring import score_benchmark
from optionbias.sweep import SweepError, read_metadata, write_sweep
from strategies import SEED, sweep_of

CPU = {"backend": "transformers", "dtype": "float32", "device": "cpu", "versions": {"torch": "2"}}
ASKED = {"revision": "r1", "items_sha256": "d1", **CPU}


def told(checkpoint: str, benchmark: str = "four", **metadata: Any) -> dict[str, Any]:
    return {"checkpoint": checkpoint, "benchmark": benchmark, **metadata}


def test_of_one_sweep_by_hand() -> None:
    assert of_sweep(told("A", **ASKED, mass=1, readout="closed")) == {
        "models": {"A": ["r1"]}, "items": {"four": ["d1"]}, "answered": [CPU],
    }  # fmt: skip


def test_closed_simulated_and_foreign_sweeps() -> None:
    served = of_sweep(told("Shut", revision=None, served_models={"b": 3, "a": 1}, items_sha256="d"))
    assert served["models"] == {"Shut": ["a", "b"]}
    made = of_sweep(told("A", simulated=True, backend="simulation", revision="seed 1"))
    assert made == {
        "models": {"A": ["seed 1"]}, "items": {}, "answered": [{"backend": "simulation"}],
    }  # fmt: skip
    assert of_sweep(told("A")) == {
        "models": {"A": ["unknown"]}, "items": {"four": ["unknown"]},
        "answered": [{"backend": "unknown"}],
    }  # fmt: skip


def test_merged_by_hand_and_in_any_order() -> None:
    parts = [
        of_sweep(told("A", **ASKED)),
        of_sweep(told("B", "two", **{**ASKED, "revision": "r2", "dtype": "bfloat16"})),
        of_sweep(told("A", **{**ASKED, "items_sha256": "d2"})),
    ]
    expected = {
        "models": {"A": ["r1"], "B": ["r2"]},
        "items": {"four": ["d1", "d2"], "two": ["d1"]},
        "answered": [{**CPU, "dtype": "bfloat16"}, CPU],
    }
    for order in itertools.permutations(parts):
        assert merged(order) == expected
        assert merged([merged(order[:2]), order[2], order[0]]) == expected
    assert merged([]) == {"models": {}, "items": {}, "answered": []}


def test_statistics_files_carry_them(tmp_path: Path) -> None:
    paths = []
    for benchmark, revision in (("four", "r1"), ("other", "r2")):
        sweep = sweep_of("A", benchmark=benchmark, **{**ASKED, "revision": revision})
        paths.append(tmp_path / f"{benchmark}.parquet")
        write_sweep(paths[-1], sweep)
        scores = score_benchmark(benchmark, [sweep], SEED, 2)
        write_scores(tmp_path / benchmark, scores, of_sweeps(paths[-1:]))
    folders = [tmp_path / "four", tmp_path / "other"]
    gather(folders, tmp_path / "joined")
    for name in COLUMNS:
        one, other = (of_statistics([folder / f"{name}.parquet"]) for folder in folders)
        assert one["models"] == {"A": ["r1"]} and other["models"] == {"A": ["r2"]}
        joined = of_statistics([tmp_path / "joined" / f"{name}.parquet"])
        assert joined == of_sweeps(paths) == merged([one, other])
        assert joined["models"] == {"A": ["r1", "r2"]}


def test_a_file_without_them_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    write_parquet(path, pd.DataFrame({"a": [1.0]}))
    with pytest.raises(OriginsError, match=f"^{path}: does not say which sweeps"):
        of_statistics([path])


def test_metadata_alone_are_read(tmp_path: Path) -> None:
    path = tmp_path / "A.parquet"
    write_sweep(path, sweep_of("A", **ASKED))
    assert read_metadata(path)["revision"] == "r1"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(SweepError, match=f"^{path}: not a whole Parquet file"):
        read_metadata(path)
    write_parquet(path, pd.DataFrame({"a": [1.0]}))
    with pytest.raises(SweepError, match="no `sweep` entry"):
        read_metadata(path)
