"""A job's own GPUs: as many as it was given, and none that another job on this machine has.

A scheduler such as SLURM names a job's GPUs in CUDA_VISIBLE_DEVICES. A local run of Snakemake only
counts them, so its jobs share them out among themselves, by a locked file a GPU.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import tempfile
import time
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from filelock import FileLock, Timeout

from optionbias import devices, exclusive

LOG = logging.getLogger(__name__)
VARIABLE = "CUDA_VISIBLE_DEVICES"
# Variables that a scheduler sets in its jobs: SLURM, PBS, LSF, Grid Engine, Kubernetes.
SCHEDULERS = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "KUBERNETES_SERVICE_HOST"}
# What an entry of it can name: a number, or a whole GPU or a part of one by its id.
_DEVICE = re.compile(r"\d+|(GPU|MIG)-[\w/-]+")


class LeaseError(RuntimeError):
    """A job that was given more GPUs than this machine shows."""


def visible(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The GPUs that a job may use, as entries of CUDA_VISIBLE_DEVICES.

    Where it is set it decides, up to its first entry that names none, as CUDA reads it; whether
    the entries are there is not looked into. Else whole GPUs are numbered as nvidia-smi does.
    """
    named = environment.get(VARIABLE)
    if named is not None:
        entries = (entry.strip() for entry in named.split(","))
        return list(itertools.takewhile(_DEVICE.fullmatch, entries))
    found = devices.gpus()
    if any(gpu.id.startswith("MIG-") for gpu in found):
        return [gpu.id for gpu in found]
    return [str(number) for number in range(len(found))]


def lease(count: int, environment: MutableMapping[str, str] = os.environ) -> list[str]:
    """Take `count` GPUs until this process ends, and let CUDA see no other.

    To be called before torch looks for GPUs. Waits while other jobs have them. With `count` 0
    nothing is taken and the environment stays as it is.

    Returns the GPUs as entries of CUDA_VISIBLE_DEVICES.

    Raises:
        LeaseError: fewer are there than `count`.
    """
    if count == 0:
        return []
    seen = visible(environment)
    if len(seen) < count:
        raise LeaseError(
            f"the job was given {count} GPU{'s' if count > 1 else ''} but sees {len(seen)} "
            f"({VARIABLE} or nvidia-smi): set `device` to cpu, `gpu_memory_gb` to the "
            f"memory of the cards, or take a machine that has them"
        )
    named = VARIABLE in environment
    # A scheduler that named exactly as many has shared them out itself; a user who names some has not.
    shared_out = named and len(seen) == count and not SCHEDULERS.isdisjoint(environment)
    taken = seen if shared_out else _take(seen, count, _folder())
    environment[VARIABLE] = ",".join(taken)
    if not named:  # numbers are those of nvidia-smi, which counts along the bus
        environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    LOG.info("%s=%s, %d of %d GPUs", VARIABLE, environment[VARIABLE], count, len(seen))
    return taken


def _folder() -> Path:
    """Where this user's jobs lock GPUs: on this machine, or within one allocation of SLURM.

    Within an allocation numbers may count that allocation's GPUs alone.
    """
    parts = ["optionbias-gpus", str(os.getuid()), os.environ.get("SLURM_JOB_ID", "")]
    return Path(tempfile.gettempdir()) / "-".join(part for part in parts if part)


def _take(seen: list[str], count: int, folder: Path) -> list[str]:
    """Lock `count` of the GPUs that are seen; jobs gather one after another, so that none starves."""
    folder.mkdir(mode=0o700, exist_ok=True)
    taken: list[str] = []
    told = False
    turn = FileLock(folder / "turn", poll_interval=exclusive.POLL_SECONDS)
    try:
        turn.acquire(timeout=0)
    except Timeout:
        LOG.info("waiting for %d of %d GPUs, other jobs wait before this one", count, len(seen))
        turn.acquire()
        told = True
    try:
        while True:
            for gpu in seen:
                wanted = len(taken) < count and gpu not in taken
                if wanted and exclusive.try_hold(folder / gpu.replace("/", "_")):
                    taken.append(gpu)
            if len(taken) == count:
                return taken
            if not told:
                LOG.info("waiting for %d of %d GPUs, other jobs have them", count, len(seen))
                told = True
            time.sleep(exclusive.POLL_SECONDS)
    finally:
        turn.release()
