"""What a run stores, against files that are really written, and disks that are too small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from optionbias.cohort import Cell
from optionbias.orderings import all_orderings, cyclic, cyclic_and_reversals
from optionbias.preflight import storage
from optionbias.preflight.storage import Need, needs, sweep_bytes, too_small
from optionbias.preflight.workload import Job, Work
from optionbias.sweep import Sweep, letter_argmax, write_sweep

from . import cohorts


@pytest.mark.parametrize(
    ("readout", "benchmark", "items"),
    [
        ("first-token", "mmlu_five_subjects", 2000),
        ("first-token", "piqa", 1838),
        ("all-orderings", "mmlu_five_subjects", 535),
        ("chain-of-thought", "piqa", 1838),
    ],
)
def test_sweeps_are_about_as_large_as_estimated(
    readout: str, benchmark: str, items: int, tmp_path: Path
) -> None:
    load = cohorts.workload(tmp_path, cohorts.read(tmp_path))
    k = load.cohort.benchmarks[benchmark]["K"]
    make = {"first-token": cyclic_and_reversals, "all-orderings": all_orderings}.get(
        readout, cyclic
    )
    orderings = make(k)
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(items, len(orderings), k)) * 3
    logp = (scores - np.log(np.exp(scores).sum(-1, keepdims=True))).astype(np.float32)
    has_logp = readout != "chain-of-thought"
    sweep = Sweep(
        {"checkpoint": "c", "benchmark": benchmark, "readout": readout},
        np.array([f"{benchmark}-{n:05d}" for n in range(items)], dtype=object),
        rng.integers(0, k, items).astype(np.int8), orderings, logp if has_logp else None,
        letter_argmax(logp), rng.random(logp.shape[:2], dtype=np.float32) if has_logp else None,
    )  # fmt: skip
    path = tmp_path / "sweep.parquet"
    write_sweep(path, sweep)
    job, prompts = Job(Cell(readout, benchmark, "small")), items * len(orderings)
    estimated = sweep_bytes(load, job, Work(1, prompts)) / storage.COPIES
    assert 0.6 < estimated / path.stat().st_size < 1.7


def test_what_is_downloaded_and_what_is_there(tmp_path: Path, monkeypatch) -> None:
    cache = tmp_path / "hub"
    monkeypatch.setattr(storage, "hub_cache", lambda: cache)
    blobs = cache / "models--org--large" / "blobs"
    blobs.mkdir(parents=True)
    with open(blobs / "x", "wb") as file:
        file.truncate(30_000_000_000)  # sparse
    load = cohorts.workload(tmp_path, cohorts.read(tmp_path))
    jobs = [Job(cell) for cell in load.cohort.cells]
    works = {job: load.work(job) for job in jobs}
    results = tmp_path / "results"
    (results / "data" / "piqa").mkdir(parents=True)
    (results / "data" / "piqa" / "items.json").touch()
    weights, files, sweeps = needs(load, works, ["small", "large"], results)
    # 140 GB as the file says, and two bytes of each of 1.2 billion parameters.
    assert weights.gb == pytest.approx(140 + 2.4) and weights.present_gb == pytest.approx(30)
    assert weights.left_gb == pytest.approx(112.4) and weights.folder == cache
    assert (files.gb, files.present_gb) == (0.005, 0.005)
    assert sweeps.gb == pytest.approx(sum(sweep_bytes(load, j, w) for j, w in works.items()) / 1e9)


def test_a_converted_checkpoint_is_stored_in_float32(tmp_path: Path) -> None:
    raw = cohorts.raw_cohort()
    raw["checkpoints"][0]["source"] = {"packages": ["p"], "gguf": "f", "sha256": "0" * 64}
    load = cohorts.workload(tmp_path, cohorts.read(tmp_path, raw))
    works = {Job(Cell("first-token", "facts_k2", "small")): Work(1)}
    (converted, _) = needs(load, works, ["small"], tmp_path)
    assert converted.gb == pytest.approx(4.8) and converted.present_gb == 0
    (tmp_path / "checkpoints" / "small").mkdir(parents=True)
    (tmp_path / "checkpoints" / "small" / "checkpoint.json").touch()
    assert needs(load, works, ["small"], tmp_path)[0].left_gb == 0


def test_parts_on_one_disk_are_added_up(tmp_path: Path) -> None:
    hub = Need("weights from the hub", tmp_path / "no" / "such", 60, 10, 70.0)
    sweeps = Need("sweeps", tmp_path, 30, 0, 70.0)
    assert too_small([hub]) == too_small([sweeps]) == []
    (line,) = too_small([hub, sweeps])
    assert line.startswith("80.0 GB are still to be written to the disk of ") and "\n" not in line
    assert "70.0 GB are free: set HF_HOME to a folder on a larger disk" in line
    (line,) = too_small([Need("sweeps", tmp_path, 71, 0, 70.0)])
    assert "run in a folder on a larger disk (--directory)" in line


def test_free_space_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    assert storage.existing(tmp_path / "a" / "b") == tmp_path
    assert storage.free_gb(tmp_path / "a" / "b") > 0
