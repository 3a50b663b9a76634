"""Which GPUs a process may use, asked of the driver's own tool, without torch and in milliseconds."""

from __future__ import annotations

import os
import re
import subprocess
from typing import NamedTuple

QUERY = ("nvidia-smi", "--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader,nounits")
MIGS = ("nvidia-smi", "-L")  # the only listing of the parts that a GPU is cut into
SECONDS = 20  # a driver that hangs is no GPU
MIB = 2**20
# `  MIG 1g.10gb     Device  0: (UUID: MIG-...)`
MIG_LINE = re.compile(r"^\s+MIG (?P<profile>\S+)\s+Device\s+\d+: \(UUID: (?P<uuid>MIG-\S+)\)")
PROFILE_GB = re.compile(r"\.(\d+)gb")


class Gpu(NamedTuple):
    """A GPU, or a part of one that MIG made.

    Attributes:
        name: as the driver names it, for example `NVIDIA H100 80GB HBM3`.
        memory_gb: its memory in units of 10^9 bytes.
        id: what names it in CUDA_VISIBLE_DEVICES: the UUID.
    """

    name: str
    memory_gb: float
    id: str


def gpus(visible: str | None = None) -> list[Gpu]:
    """The GPUs that a process started here would see; none where there is no NVIDIA driver.

    Args:
        visible: in place of the environment's CUDA_VISIBLE_DEVICES; where neither is set, all.

    As CUDA does, it reads the list up to the first entry that names no GPU. Numbers count in the
    order of nvidia-smi (CUDA_DEVICE_ORDER=PCI_BUS_ID), which differs from CUDA's default order only
    where the GPUs of a machine differ.
    """
    found = _parse(_output(QUERY))
    if not found:
        return []
    parts = _parse_migs(_output(MIGS), found)
    named = os.environ.get("CUDA_VISIBLE_DEVICES") if visible is None else visible
    if named is None:
        return _unless_cut(found, parts)
    chosen: list[Gpu] = []
    for entry in (part.strip() for part in named.split(",")):
        gpu = _find(entry, found, parts)
        if gpu is None or gpu in chosen:
            break
        chosen.append(gpu)
    return chosen


def _output(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _parse(listing: str) -> dict[str, Gpu]:
    """Index -> GPU, from the CSV lines of `QUERY`."""
    found = {}
    for line in listing.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 4 and cells[0].isdigit() and cells[3].isdigit():
            found[cells[0]] = Gpu(cells[2], int(cells[3]) * MIB / 1e9, cells[1])
    return found


def _parse_migs(listing: str, whole: dict[str, Gpu]) -> dict[str, list[Gpu]]:
    """UUID of a GPU -> the parts that it is cut into, from the lines of `MIGS`."""
    parts: dict[str, list[Gpu]] = {}
    owner = None
    for line in listing.splitlines():
        match = MIG_LINE.match(line)
        if match is None:
            owner = next((gpu for gpu in whole.values() if gpu.id in line), None)
        elif owner is not None:
            size = PROFILE_GB.search(match["profile"])
            memory = float(size[1]) if size else 0.0
            part = Gpu(f"{owner.name} MIG {match['profile']}", memory, match["uuid"])
            parts.setdefault(owner.id, []).append(part)
    return parts


def _unless_cut(found: dict[str, Gpu], parts: dict[str, list[Gpu]]) -> list[Gpu]:
    """All whole GPUs; where one is cut, CUDA without further orders sees one part of one alone."""
    cut = [part for gpu in found.values() for part in parts.get(gpu.id, [])]
    return cut[:1] or list(found.values())


def _find(entry: str, found: dict[str, Gpu], parts: dict[str, list[Gpu]]) -> Gpu | None:
    """The GPU of an entry of CUDA_VISIBLE_DEVICES: an index or the start of a UUID."""
    if entry in found:
        return parts.get(found[entry].id, [found[entry]])[0]
    if not entry.startswith(("GPU-", "MIG-")):
        return None
    known = [*found.values(), *(part for some in parts.values() for part in some)]
    matching = [gpu for gpu in known if gpu.id.startswith(entry)]
    return matching[0] if len(matching) == 1 else None
