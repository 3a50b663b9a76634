"""Which GPUs there are, without importing torch: those that the environment names, else the driver's."""

from __future__ import annotations

import itertools
import logging
import os
import re
import shutil
import subprocess
from collections.abc import Mapping

LOG = logging.getLogger(__name__)
VARIABLE = "CUDA_VISIBLE_DEVICES"
# What an entry of CUDA_VISIBLE_DEVICES can name: a number, or a whole GPU or a part of one by its id.
_DEVICE = re.compile(r"\d+|(GPU|MIG)-[\w/-]+")
# Lines of `nvidia-smi -L`: GPUs, and indented below them their parts where they are divided.
_LISTED = re.compile(r"GPU (?P<gpu>\d+): |\s+MIG .*\(UUID: (?P<part>MIG-[^)]+)\)")
SECONDS = 60


def visible(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The GPUs that a process may use, each as an entry of CUDA_VISIBLE_DEVICES.

    Where the variable is set it decides, as a scheduler sets it for each job.
    """
    named = environment.get(VARIABLE)
    return listed() if named is None else entries(named)


def entries(named: str) -> list[str]:
    """The devices of a value of CUDA_VISIBLE_DEVICES, up to the first that is none, as CUDA reads it."""
    found = (entry.strip() for entry in named.split(","))
    return list(itertools.takewhile(_DEVICE.fullmatch, found))


def listed() -> list[str]:
    """The GPUs that `nvidia-smi -L` lists, in its order; of divided ones their parts."""
    if shutil.which("nvidia-smi") is None:
        return []
    try:
        done = subprocess.run(
            ["nvidia-smi", "-L"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        LOG.warning("no GPU is used: nvidia-smi -L: %s", error)
        return []
    if done.returncode != 0:
        LOG.warning("no GPU is used: nvidia-smi -L: %s", " ".join(done.stdout.split())[:200])
        return []
    return listed_by(done.stdout)


def listed_by(text: str) -> list[str]:
    """The devices of what `nvidia-smi -L` prints."""
    devices: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        found = _LISTED.match(line)
        if found is None:
            continue
        if found["gpu"] is not None:
            devices.append((found["gpu"], []))
        elif devices:
            devices[-1][1].append(found["part"])
    return [name for gpu, parts in devices for name in (parts or [gpu])]
