"""What a run downloads and stores, against what is free on the disks."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optionbias.preflight.throughput import parameters
from optionbias.preflight.workload import Job, Work, Workload
from optionbias.sweep import FIRST_TOKEN_READOUTS

# Bytes of a row of a sweep, from sweeps of this format: K compressed float32 and, for first-token
# readouts, their total probability; answers alone take next to nothing. A test writes sweeps and compares.
ROW, LETTER = 3.0, 4.0
SWEEP = 6_000  # of a sweep without rows: its schema and metadata
# Of a generated token in a trace: its text, compressed. Of a call in a journal: its record as JSON.
TRACE_TOKEN, CALL = 1.5, 600
# The journals of cells keep the same numbers as their sweeps until they are removed.
COPIES = 2
FLOAT32 = 4  # a converted GGUF is stored so


@dataclass(frozen=True)
class Need:
    """A place on a disk: what will be written there, what is there already, what is free."""

    what: str
    folder: Path
    gb: float
    present_gb: float
    free_gb: float

    @property
    def left_gb(self) -> float:
        """What is still to be written."""
        return max(0.0, self.gb - self.present_gb)


def hub_cache() -> Path:
    """Where the hub's client keeps what it downloads (HF_HOME, HF_HUB_CACHE)."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE)


def cached_gb(cache: Path, repository: str) -> float:
    """What the hub's client has of a repository, half-finished downloads included."""
    blobs = cache / f"models--{repository.replace('/', '--')}" / "blobs"
    return sum(path.stat().st_size for path in blobs.glob("*") if path.is_file()) / 1e9


def free_gb(folder: Path) -> float:
    """Free space of the disk that holds a folder, which need not exist yet."""
    return shutil.disk_usage(existing(folder)).free / 1e9


def existing(folder: Path) -> Path:
    """The nearest folder above (or at) a path that exists."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if path.exists())


def download_gb(entry: Mapping[str, Any]) -> float:
    """What a checkpoint's entry says of its weights on the hub; without it, two bytes a parameter."""
    return float(entry.get("download_gb", 2 * parameters(entry) / 1e9))


def sweep_bytes(workload: Workload, job: Job, work: Work) -> float:
    """What a job's sweep, journal, traces or replies take."""
    k = workload.cohort.benchmarks[job.cell.benchmark]["K"]
    readout = job.cell.readout
    row = ROW + (LETTER * (k + 1) if readout in FIRST_TOKEN_READOUTS else 0)
    stored = SWEEP + row * work.prompts
    if workload.cohort.simulated:
        return stored
    if readout == "closed":
        return stored + COPIES * CALL * work.prompts
    return COPIES * stored + TRACE_TOKEN * work.generated


def needs(
    workload: Workload, works: Mapping[Job, Work], checkpoints: Iterable[str], folder: Path
) -> list[Need]:
    """What the run downloads and stores for some jobs, and where.

    Args:
        workload: of the cohort.
        works: the jobs, each with its work.
        checkpoints: those whose weights these jobs need.
        folder: where the run's results lie.
    """
    cohort = workload.cohort
    found = []
    hub: dict[str, float] = {}
    converted = present_converted = 0.0
    for name in checkpoints:
        entry = cohort.checkpoints[name]
        source = entry.get("source", {})
        if "hub" in source:
            hub[source["hub"]] = download_gb(entry)
        elif "gguf" in source:
            size = FLOAT32 * parameters(entry) / 1e9
            converted += size
            there = (folder / "checkpoints" / name / "checkpoint.json").is_file()
            present_converted += size if there else 0.0
    if hub:
        cache = hub_cache()
        present = sum(min(size, cached_gb(cache, repository)) for repository, size in hub.items())
        found.append(
            Need("weights from the hub", cache, sum(hub.values()), present, free_gb(cache))
        )
    free = free_gb(folder)
    if converted:
        what = "converted checkpoints"
        found.append(Need(what, folder / "checkpoints", converted, present_converted, free))
    if not cohort.simulated:
        benchmarks = {job.cell.benchmark for job in works}
        raw = sum(workload.counts(b).download_mb for b in benchmarks) / 1e3
        if raw:
            fetched = [b for b in benchmarks if (folder / "data" / b / "items.json").is_file()]
            present = sum(workload.counts(b).download_mb for b in fetched) / 1e3
            found.append(Need("files of benchmarks", folder / "mirror", raw, present, free))
    stored = sum(sweep_bytes(workload, job, work) for job, work in works.items()) / 1e9
    what = "sweeps" if cohort.simulated else "sweeps, journals, traces"
    found.append(Need(what, folder, stored, 0.0, free))
    return found


def too_small(needs: Iterable[Need]) -> list[str]:
    """One line for each disk that does not hold what is still to be written to it."""
    disks: dict[int, list[Need]] = {}
    for need in needs:
        disks.setdefault(existing(need.folder).stat().st_dev, []).append(need)
    faults = []
    for parts in disks.values():
        wanted, free = sum(part.left_gb for part in parts), min(part.free_gb for part in parts)
        if wanted > free:
            largest = max(parts, key=lambda part: part.left_gb)
            move = (
                "set HF_HOME to a folder on a larger disk"
                if "hub" in largest.what
                else "run in a folder on a larger disk (--directory)"
            )
            faults.append(
                f"{wanted:,.1f} GB are still to be written to the disk of {largest.folder} "
                f"({', '.join(part.what for part in parts)}), {free:,.1f} GB are free: {move}, or "
                f"free some space"
            )
    return faults
