"""Keep freed memory within the process: a forward pass frees and asks for the same megabytes at each layer.

The C library returns large blocks to the system at once, and the system clears each page anew at its
next use: about a tenth of a forward pass on a CPU.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

# Parameters of glibc's mallopt (malloc.h), and what they are set to, in bytes.
SETTINGS = {
    -1: 2**31 - 1,  # M_TRIM_THRESHOLD: give nothing back from the top of the heap
    -2: 64 << 20,  # M_TOP_PAD: grow the heap by this much at a time
    -3: 32 << 20,  # M_MMAP_THRESHOLD: blocks up to this size come from the heap
}


def keep_freed_memory() -> bool:
    """Tell glibc to keep freed blocks; False where the C library is another one.

    It changes no number, and the process's memory at its peak hardly.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return all(mallopt(name, value) == 1 for name, value in SETTINGS.items())


def release_freed_memory() -> None:
    """Give freed blocks back to the system, once in a while.

    Passes of ever other sizes leave gaps between blocks, and the heap would grow by half over
    thousands of items.
    """
    if sys.platform.startswith("linux"):
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
