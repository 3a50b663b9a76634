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


RELEASE = (
    PROGRAM.split("def faults")[0]
    + """
from optionbias.readouts.allocation import release_freed_memory
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
blocks = [libc.malloc(8 << 20) for _ in range(5)]
for block in blocks:
    ctypes.memset(block, 1, 8 << 20)
for block in blocks[:4]:  # the last keeps the heap from shrinking at its end
    libc.free(block)
before = resident()
release_freed_memory()
print(before - resident())
"""
)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the GNU C library")
def test_kept_memory_can_be_given_back() -> None:
    """Four blocks of 8 MiB below one that is in use: 32 MiB less the pages at their edges."""
    command = [sys.executable, "-c", RELEASE, "keep"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout) > 30 << 20


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
