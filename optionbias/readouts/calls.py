"""Calls that were paid for: a journal of each, and what all of them cost.

A call is kept, on disk, before the next one of its thread is made: a killed run loses the calls in
flight and no other. What was spent is the sum over the journals themselves, so it cannot differ
from them, and every job of a run sees what the others spend.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock, Timeout

log = logging.getLogger(__name__)


class JournalError(RuntimeError):
    """A journal of calls that cannot be used."""


class CostLimitError(RuntimeError):
    """The next call could cost more than the limit leaves."""


class CallJournal:
    """The calls of one cell, a JSON object a line; use it as a context manager.

    Attributes:
        answered: key of a call -> its record; of a key that stands twice, the later one.
    """

    def __init__(self, path: str | Path) -> None:
        """Open (or begin) the journal at `path`; no other process may have it open."""
        self.path = Path(path)
        self.answered: dict[str, dict[str, Any]] = {}
        self._writing = threading.Lock()
        self._lock = FileLock(f"{self.path}.lock", timeout=0)

    def __enter__(self) -> CallJournal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire()
        except Timeout:
            raise JournalError(
                f"{self.path}: another job is asking this cell (one of an earlier run may still "
                f"be): wait until it ends, or end it"
            ) from None
        _drop_torn_end(self.path)
        for record in read_records(self.path):
            self.answered[record["key"]] = record
        self._file = open(self.path, "ab")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._lock.release()

    def append(self, record: dict[str, Any]) -> None:
        """Keep a call under its `key`; it is on disk when this returns."""
        line = json.dumps(record, sort_keys=True, ensure_ascii=False) + "\n"
        with self._writing:
            self._file.write(line.encode("utf-8", "backslashreplace"))
            self._file.flush()
            os.fsync(self._file.fileno())
            self.answered[record["key"]] = record


def _drop_torn_end(path: Path) -> None:
    """Cut off a last line that a killed process did not finish, so that the next one is whole."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        log.info("%s: the last line is not whole, that call is made again", path)
        with path.open("r+b") as file:
            file.truncate(whole)
            os.fsync(file.fileno())


def read_records(path: Path) -> list[dict[str, Any]]:
    """Every whole record of a journal; a line that is none is named in the log and left out."""
    records = []
    for number, line in enumerate(path.read_bytes().split(b"\n") if path.exists() else [], 1):
        try:
            record = json.loads(line)
            record["key"]
        except (ValueError, TypeError, KeyError):
            if line:
                log.warning("%s: line %d is no call, it is left out", path, number)
            continue
        records.append(record)
    return records


class Spending:
    """US dollars that the journals of a folder have recorded, and the limit on them."""

    def __init__(self, folder: str | Path, limit: float | None) -> None:
        """Watch every journal under `folder`, those of other jobs and of earlier runs included."""
        self.folder, self.limit = Path(folder), limit
        self._read: dict[Path, int] = {}
        self._spent = 0.0
        self._reserved = 0.0
        self._lock = threading.Lock()

    def spent(self) -> float:
        """The sum over all journals now; only what was appended since the last call is read."""
        with self._lock:
            return self._sum()

    def _sum(self) -> float:
        for path in self.folder.rglob("*.jsonl"):
            start = self._read.get(path, 0)
            if path.stat().st_size <= start:
                continue
            with path.open("rb") as file:
                file.seek(start)
                appended = file.read()
            whole = appended[: appended.rfind(b"\n") + 1]
            self._read[path] = start + len(whole)
            self._spent += sum(map(_dollars, whole.splitlines()))
        return self._spent

    def reserve(self, dollars: float) -> None:
        """Set aside what a call may cost, before it is made.

        Raises:
            CostLimitError: what is spent, what this process has in flight and this call together
                exceed the limit. Calls that other jobs have in flight are not known here.
        """
        with self._lock:
            if self.limit is not None:
                spent = self._sum()
                if spent + self._reserved + dollars > self.limit:
                    raise CostLimitError(
                        f"cost_limit is USD {self.limit:g} and USD {spent:.4g} are spent, so the "
                        f"next call could exceed it"
                    )
            self._reserved += dollars

    def release(self, dollars: float) -> None:
        """The call is over: what it cost stands in a journal."""
        with self._lock:
            self._reserved -= dollars


def _dollars(line: bytes) -> float:
    try:
        return float(json.loads(line).get("usd") or 0.0)
    except (ValueError, AttributeError, TypeError):
        return 0.0
