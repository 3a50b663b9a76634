"""Freed memory stays within the process: large blocks are not paged in again and again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
from optionbias.readouts.allocation import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
size = 8 << 20
def once():
    blocks = [libc.malloc(size) for _ in range(4)]
    for block in blocks:
        ctypes.memset(block, 1, size)
    for block in blocks:
        libc.free(block)
once()
before = faults()
for _ in range(5):
    once()
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the GNU C library")
def test_large_blocks_are_paged_in_once() -> None:
    """Five times four blocks of 8 MiB are 40,960 pages: nearly all are faults by default, few if kept."""
    counts = {
        how: int(
            subprocess.run(
                [sys.executable, "-c", PROGRAM, how], check=True, capture_output=True, text=True
            ).stdout
        )
        for how in ("default", "keep")
    }
    assert counts["keep"] < 1000 < counts["default"]
