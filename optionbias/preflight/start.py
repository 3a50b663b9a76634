"""What is said at the start of a run of the jobs that it will do, and whether it can succeed.

From stored counts, without the network and without torch, in about a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from optionbias import rereads
from optionbias.cohort import Cell, Cohort
from optionbias.preflight.page import count, hours, size
from optionbias.preflight.plan import Plan, plan
from optionbias.preflight.workload import Job, Work
from optionbias.validation import ConfigError


class CannotSucceedError(ValueError):
    """A run that would fail, in one line that says what to change."""


def at_start(
    cohort: Cohort,
    config: Mapping[str, Any],
    sweeps: str,
    asked: Iterable[Mapping[str, str]],
    local: bool,
) -> str:
    """A few lines about the sweeps that a run is about to make; empty where it makes none.

    Args:
        cohort: a checked cohort.
        config: the checked config.
        sweeps: the folder of its sweeps.
        asked: the wildcards `readout`, `benchmark`, `checkpoint` and `reread` (`noise/VARIANT/` or
            empty) of every job that reads a cell.
        local: whether jobs run on this machine.

    Raises:
        CannotSucceedError: why the run cannot succeed and what to change.
    """
    jobs = [
        Job(
            Cell(wildcards["readout"], wildcards["benchmark"], wildcards["checkpoint"]),
            rereads.variant_of(wildcards.get("reread", "")) or "",
        )
        for wildcards in asked
    ]
    if not jobs:
        return ""
    try:
        found = plan(cohort, config, sweeps, jobs=jobs, local=local)
    except ConfigError as error:
        raise CannotSucceedError(str(error)) from None
    faults = found.faults()
    if faults:
        raise CannotSucceedError(f"{faults[0]} (`--config preflight=false` runs it all the same)")
    return _lines(found)


def _lines(found: Plan) -> str:
    machine, work = found.machine, sum(found.works.values(), Work())
    named = {job.cell.checkpoint for job in found.jobs}
    unit = "GPU" if machine.on_gpu else "core"
    rows = [
        ("cells", f"{work.jobs:,} of {len(named)} checkpoint{'s' * (len(named) != 1)} to read"),
        ("prompts", f"{count(work.prompts)}, {count(work.run)} tokens to run"),
    ]
    if work.generated:
        rows.append(("generated", f"at most {count(work.generated)} tokens"))
    if found.checkpoints(found.jobs):
        spent = hours(found.hours_of(found.jobs))
        speed = machine.speed.how
        rows.append(("time", f"about {spent} {unit} hours on {machine.name} ({speed})"))
        if machine.on_gpu:
            most = max(found.gpus_needed(job) for job in found.jobs)
            rows.append(("GPUs", f"{machine.found} found here, a cell needs up to {most}"))
    for need in found.needs(found.works):
        told = f"{need.what}: {size(need.left_gb)} to write, {size(need.free_gb)} free"
        rows.append(("disk", f"{told} in {need.folder}"))
    width = max(len(name) for name, _ in rows)
    body = "\n".join(f"  {name.ljust(width)}  {text}" for name, text in rows)
    return f"Preflight (`snakemake preflight` tells more):\n{body}"
