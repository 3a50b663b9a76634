"""A run before it starts: its jobs, what they take, what is done, and what would stop it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from optionbias import devices, resources
from optionbias.cohort import Cohort
from optionbias.endpoint import Endpoint, KeyMissingError
from optionbias.environments import letters_backend
from optionbias.preflight import cards, hub_access, storage, throughput
from optionbias.preflight.throughput import Machine
from optionbias.preflight.workload import Job, Work, Workload, jobs_of
from optionbias.sweep import FIRST_TOKEN_READOUTS

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

    def dtype(self, job: Job | None = None, on_gpu: bool | None = None) -> str:
        """The dtype that a job reads in, or any but a re-read, on the plan's machine or another."""
        where = self.machine.on_gpu if on_gpu is None else on_gpu
        return resources.run_dtype(self.config["dtype"], where, job and job.variant)

    def weights_gb(self, job: Job, on_gpu: bool | None = None) -> float:
        """What the weights of a job's checkpoint take in memory as it is run."""
        entry = self.cohort.checkpoints[job.cell.checkpoint]
        return throughput.weights_gb(entry, self.dtype(job, on_gpu))

    def gpus_needed(self, job: Job) -> int:
        """Cards that a job asks for; 0 on a CPU."""
        if not self.machine.on_gpu or self.cohort.checkpoints[job.cell.checkpoint].get("closed"):
            return 0
        memory = self.config["gpu_memory_gb"] or self.machine.memory_gb
        return resources.gpus_for(self.weights_gb(job), memory)

    def hours(self, job: Job) -> float:
        """Hours of GPUs, or of a CPU's cores, that a job takes."""
        checkpoint = job.cell.checkpoint
        entry, work = self.cohort.checkpoints[checkpoint], self.works[job]
        if entry.get("closed") or not self.runs_models:
            return 0.0
        params = throughput.parameters(entry)
        hours = throughput.seconds(work.run, work.generated, params, self.machine.speed) / HOUR
        # The layers of a model that is spread over several cards work in turn; vLLM's share a layer.
        backend = self.config["backend"]
        if job.cell.readout in FIRST_TOKEN_READOUTS:
            in_turn = letters_backend(job.variant, backend) != "vllm"
        else:
            in_turn = backend == "transformers"
        return hours * (max(1, self.gpus_needed(job)) if in_turn else 1)

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
        """Checkpoints of some jobs that the cohort file calls gated on the hub."""
        entries = {name: self.cohort.checkpoints[name] for name in self.checkpoints(jobs)}
        return [n for n, e in entries.items() if e.get("gated") and "hub" in e.get("source", {})]

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
        named = set(self.checkpoints(self.left))
        jobs = [job for job in self.left if job.cell.checkpoint in named]
        if not self.local or not jobs:
            return None
        found = [] if self.config["device"] == "cpu" else devices.gpus()
        if not found:
            if self.config["device"] == "cuda":
                return "config key `device` is cuda and no GPU was found here: set `device: auto`"
            room = machine_memory_gb()
            large = [job for job in jobs if self.weights_gb(job, on_gpu=False) > room]
            return self._told(jobs, large, f"no GPU and {room:,.0f} GB of memory", on_gpu=False)
        memory = cards.memory_gb(self.config, found)
        smallest = min(gpu.memory_gb for gpu in found)
        if memory > smallest:
            return (
                f"config key `gpu_memory_gb` is {memory:g} and a GPU found here has {smallest:.0f} GB: "
                f"set it to null or to {int(smallest)}"
            )
        large = [
            job
            for job in jobs
            if resources.gpus_for(self.weights_gb(job, on_gpu=True), memory) > len(found)
        ]
        have = f"{len(found)} GPU{'s' * (len(found) != 1)} of {memory:,.0f} GB"
        return self._told(jobs, large, have, on_gpu=True)

    def _told(self, jobs: list[Job], large: list[Job], have: str, on_gpu: bool) -> str | None:
        """That some of the jobs are too large for what there is; None if there are none."""
        if not large:
            return None
        names, too_large = ({job.cell.checkpoint for job in some} for some in (jobs, large))
        largest = max(large, key=lambda job: self.weights_gb(job, on_gpu))
        count = (
            f"{len(too_large)} of its {len(names)} checkpoints do" if len(names) > 1 else "it does"
        )
        takes = f"{self.weights_gb(largest, on_gpu):,.0f} GB in {self.dtype(largest, on_gpu)}"
        return (
            f"cohort {self.cohort.label} cannot run on this machine, which has {have}: {count} not fit "
            f"({largest.cell.checkpoint} takes {takes}); run it on a machine with more GPUs or "
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
    dtype = resources.run_dtype(config["dtype"], on_gpu=False)
    entries = [cohort.checkpoints[name] for name in {job.cell.checkpoint for job in chosen}]
    fits = all(throughput.weights_gb(entry, dtype) <= memory for entry in entries)
    machine = throughput.choose(config, found, fits, memory)
    if not cohort.simulated and config["sweeps"] is None:
        machine = throughput.with_measured(machine, workload, done, sweeps, results)
    pending = frozenset() if jobs is not None else done
    return Plan(workload, chosen, pending, machine, results, local)
