"""A run before it starts: its jobs, what they take, what is done, and what would stop it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from optionbias import devices
from optionbias.cohort import Cohort
from optionbias.endpoint import Endpoint, KeyMissingError
from optionbias.preflight import hub_access, storage, throughput
from optionbias.preflight.throughput import Machine
from optionbias.preflight.workload import FIRST_TOKEN, Job, Work, Workload, jobs_of

HOUR = 3600
# Where every checkpoint is too large for a laptop, this cohort is not.
SMALL = "`--config cohort=mini` runs anywhere"


def machine_memory_gb() -> float:
    """This machine's memory in 10^9 bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


@dataclass(frozen=True)
class Plan:
    """A run of a cohort, or of some of its jobs.

    Attributes:
        workload: of the cohort.
        jobs: what the run is about.
        done: those whose sweeps are there.
        machine: what the estimate is of.
        results: the folder of results.
        local: whether jobs run on this machine; the nodes of a cluster are not seen from here.
    """

    workload: Workload
    jobs: tuple[Job, ...]
    done: frozenset[Job]
    machine: Machine
    results: Path
    local: bool

    @property
    def cohort(self) -> Cohort:
        """The cohort."""
        return self.workload.cohort

    @property
    def config(self) -> Mapping[str, Any]:
        """The config."""
        return self.workload.config

    @property
    def runs_models(self) -> bool:
        """Whether answers are neither simulated nor given."""
        return not self.cohort.simulated and self.config["sweeps"] is None

    @cached_property
    def works(self) -> dict[Job, Work]:
        """Every job with its work."""
        return {job: self.workload.work(job) for job in self.jobs}

    @cached_property
    def left(self) -> dict[Job, Work]:
        """The jobs that are still to be done."""
        return {job: work for job, work in self.works.items() if job not in self.done}

    @property
    def dtype(self) -> str:
        """The dtype that models run in."""
        return throughput.run_dtype(self.config, self.machine.on_gpu)

    def weights_gb(self, checkpoint: str) -> float:
        """What a checkpoint's weights take in memory as it is run."""
        return throughput.weights_gb(self.cohort.checkpoints[checkpoint], self.dtype)

    def gpus_needed(self, checkpoint: str) -> int:
        """Cards that a checkpoint takes; 0 on a CPU."""
        return self.machine.gpus_needed(self.weights_gb(checkpoint))

    def hours(self, job: Job) -> float:
        """Hours of GPUs, or of a CPU's cores, that a job takes."""
        checkpoint = job.cell.checkpoint
        entry, work = self.cohort.checkpoints[checkpoint], self.works[job]
        if entry.get("closed") or not self.runs_models:
            return 0.0
        params = throughput.parameters(entry)
        hours = throughput.seconds(work.run, work.generated, params, self.machine.speed) / HOUR
        # The layers of a model that is spread over several cards work in turn; vLLM's share a layer.
        in_turn = job.cell.readout in FIRST_TOKEN or self.config["backend"] == "transformers"
        return hours * (max(1, self.gpus_needed(checkpoint)) if in_turn else 1)

    def hours_of(self, jobs: Iterable[Job]) -> float:
        """Hours of some jobs together."""
        return sum(self.hours(job) for job in jobs)

    def checkpoints(self, jobs: Iterable[Job]) -> list[str]:
        """Open-weight checkpoints of some jobs, in the order of their names."""
        named = {job.cell.checkpoint for job in jobs} if self.runs_models else set()
        return [n for n, c in self.cohort.checkpoints.items() if n in named and not c.get("closed")]

    def closed(self, jobs: Iterable[Job]) -> list[str]:
        """Closed checkpoints of some jobs."""
        named = {job.cell.checkpoint for job in jobs} if self.runs_models else set()
        return [n for n, c in self.cohort.checkpoints.items() if n in named and c.get("closed")]

    def needs(self, works: Mapping[Job, Work]) -> list[storage.Need]:
        """What is downloaded and stored for some jobs."""
        return storage.needs(self.workload, works, self.checkpoints(works), self.results)

    def is_cached(self, checkpoint: str) -> bool:
        """Whether the hub's client has all of a checkpoint's weights, to within a twentieth."""
        entry = self.cohort.checkpoints[checkpoint]
        have = storage.cached_gb(storage.hub_cache(), entry["source"]["hub"])
        return have >= 0.95 * storage.download_gb(entry)

    def gated(self, jobs: Iterable[Job]) -> list[str]:
        """Checkpoints of some jobs that the cohort file calls gated."""
        entries = self.cohort.checkpoints
        return [name for name in self.checkpoints(jobs) if entries[name].get("gated")]

    def faults(self) -> list[str]:
        """One line for each thing that lets the jobs that are left not succeed, and what to change."""
        if not self.runs_models or not self.left:
            return []
        too_large = self._too_large()
        faults = [too_large] if too_large else []
        faults += storage.too_small(self.needs(self.left))
        shut = [name for name in self.gated(self.left) if not self.is_cached(name)]
        if shut and not hub_access.has_token():
            others = f" and {len(shut) - 1} more" if len(shut) > 1 else ""
            one = self.cohort.checkpoints[shut[0]]["source"]["hub"]
            faults.append(
                f"{one}{others} on the Hugging Face hub is gated and there is no token: accept its terms "
                f"there, then set HF_TOKEN or run `hf auth login`"
            )
        return faults

    def _too_large(self) -> str | None:
        """Where jobs run here: why this machine cannot hold the models of the jobs that are left."""
        if not self.local:
            return None
        names = self.checkpoints(self.left)
        found = [] if self.config["device"] == "cpu" else devices.gpus()
        if self.config["device"] == "cuda" and names and not found:
            return "config key `device` is cuda and no GPU was found here: set `device: auto`"
        dtype = throughput.run_dtype(self.config, bool(found))
        room = sum(gpu.memory_gb for gpu in found) if found else machine_memory_gb()
        sizes = {n: throughput.weights_gb(self.cohort.checkpoints[n], dtype) for n in names}
        large = [name for name in names if sizes[name] > room]
        if not large:
            return None
        largest = max(large, key=lambda name: sizes[name])
        have = f"{len(found)} GPU{'s' * (len(found) != 1)} with {room:,.0f} GB" if found else (
            f"no GPU and {room:,.0f} GB of memory"
        )  # fmt: skip
        count = f"{len(large)} of its {len(names)} checkpoints do" if len(names) > 1 else "it does"
        return (
            f"cohort {self.cohort.label} cannot run on this machine, which has {have}: {count} not fit "
            f"({largest} takes {sizes[largest]:,.0f} GB in {dtype}); run it on a machine with GPUs or "
            f"with a cluster profile, leave them out of the cohort file, or take another cohort: {SMALL}"
        )

    def keys(self) -> dict[str, str | None]:
        """Closed checkpoint of the jobs that are left -> what is wrong with its key, None if nothing."""
        found: dict[str, str | None] = {}
        for name in self.closed(self.left):
            try:
                Endpoint.of(self.cohort.source(name)).read_key()
                found[name] = None
            except KeyMissingError as error:
                found[name] = str(error)
        return found


def plan(
    cohort: Cohort,
    config: Mapping[str, Any],
    sweeps: str,
    results: Path = Path("results"),
    jobs: Iterable[Job] | None = None,
    local: bool = True,
) -> Plan:
    """The plan of a cohort, or of some of its jobs, which are then all still to be done.

    Args:
        cohort: a checked cohort.
        config: the checked config.
        sweeps: the folder of its sweeps.
        results: the folder of results.
        jobs: those that a run is about to do; by default all, of which those are done whose
            sweeps are there.
        local: whether jobs run on this machine.

    Raises:
        ConfigError: `card`, the cards or the stored counts cannot be used.
    """
    workload = Workload(cohort, config)
    chosen = tuple(jobs_of(cohort, config) if jobs is None else jobs)
    done = frozenset(job for job in jobs_of(cohort, config) if job.path(sweeps).is_file())
    memory = machine_memory_gb()
    found = [] if config["device"] == "cpu" else devices.gpus()
    dtype = throughput.run_dtype(config, on_gpu=False)
    entries = [cohort.checkpoints[name] for name in {job.cell.checkpoint for job in chosen}]
    fits = all(throughput.weights_gb(entry, dtype) <= memory for entry in entries)
    machine = throughput.choose(config, found, fits, memory)
    if not cohort.simulated and config["sweeps"] is None:
        machine = throughput.with_measured(machine, workload, done, sweeps, results)
    pending = frozenset() if jobs is not None else done
    return Plan(workload, chosen, pending, machine, results, local)
