"""Files that one process at a time holds, until it ends, however it ends."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from filelock import FileLock, Timeout

LOG = logging.getLogger(__name__)
POLL_SECONDS = 1.0
# A lock is given up when its object is deleted, so they are kept here.
_held: list[FileLock] = []


def try_hold(path: Path) -> bool:
    """Hold `path` for the rest of this process if no other process does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        return False
    _held.append(lock)
    return True


def hold(path: Path, waiting: str) -> None:
    """Hold `path` for the rest of this process; `waiting` is logged once if another has it."""
    if try_hold(path):
        return
    LOG.info("%s (%s is locked)", waiting, path)
    while not try_hold(path):
        time.sleep(POLL_SECONDS)


def hold_cell(journal: Path, output: Path) -> None:
    """Hold the cell whose sweep is `output`, so that none of its chunks is read twice.

    When a run on a cluster is killed its jobs go on: a new run's job of the same cell waits for
    the old one, and then finds all of its chunks in the journal.
    """
    name = output.as_posix().replace("/", "_")
    hold(journal / "busy" / name, f"{output}: another job reads this cell; waiting until it ends")
