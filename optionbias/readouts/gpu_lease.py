"""A job's own GPUs: as many as it was given, and none that another job on this machine has.

A scheduler such as SLURM names a job's GPUs in CUDA_VISIBLE_DEVICES. A local run of Snakemake only
counts them, so its jobs share them out among themselves, by a locked file a GPU.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import MutableMapping
from pathlib import Path

from filelock import FileLock

from optionbias import exclusive, gpus

LOG = logging.getLogger(__name__)


class LeaseError(RuntimeError):
    """A job that was given more GPUs than this machine shows."""


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
    devices = gpus.visible(environment)
    if len(devices) < count:
        raise LeaseError(
            f"the job was given {count} GPU{'s' if count > 1 else ''} but sees {len(devices)} "
            f"({gpus.VARIABLE} or nvidia-smi -L): set `device` to cpu, `gpu_memory_gb` to the "
            f"memory of the cards, or take a machine that has them"
        )
    named = gpus.VARIABLE in environment
    # A scheduler that named exactly as many has shared them out itself.
    taken = devices if named and len(devices) == count else _take(devices, count, _folder())
    environment[gpus.VARIABLE] = ",".join(taken)
    if not named:  # numbers are those of nvidia-smi, which counts along the bus
        environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    LOG.info("GPU %s of %d", ", ".join(taken), len(devices))
    return taken


def _folder() -> Path:
    """Where this user's jobs lock GPUs: on this machine, or within one allocation of SLURM.

    Within an allocation numbers may count that allocation's GPUs alone.
    """
    parts = ["optionbias-gpus", str(os.getuid()), os.environ.get("SLURM_JOB_ID", "")]
    return Path(tempfile.gettempdir()) / "-".join(part for part in parts if part)


def _take(devices: list[str], count: int, folder: Path) -> list[str]:
    """Lock `count` of the devices; jobs gather one after another, so that none starves."""
    folder.mkdir(mode=0o700, exist_ok=True)
    taken: list[str] = []
    told = False
    with FileLock(folder / "turn", poll_interval=exclusive.POLL_SECONDS):
        while True:
            for device in devices:
                free = len(taken) < count and device not in taken
                if free and exclusive.try_hold(folder / device.replace("/", "_")):
                    taken.append(device)
            if len(taken) == count:
                return taken
            if not told:
                LOG.info("waiting for %d of %d GPUs, other jobs have them", count, len(devices))
                told = True
            time.sleep(exclusive.POLL_SECONDS)
