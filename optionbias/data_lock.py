"""`workflow/data.lock`: digests of files that nobody had recorded before their first download.

From then on a file must have the digest that the lock holds, in this clone and in every clone that
takes the lock with it.
"""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from optionbias.atomic import write_text


class LockError(ValueError):
    """A data lock that cannot be read or written."""


@dataclass(frozen=True)
class Entry:
    """What is recorded of a file: its digest, the commit it had at its origin, and the day (UTC)."""

    sha256: str
    revision: str | None
    date: str


class DataLock:
    """The lock at a path; several jobs may record at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def entry(self, key: str) -> Entry | None:
        """What is recorded of `{benchmark}/{file}`, None if nothing is."""
        return self._entries().get(key)

    def record(self, key: str, sha256: str, revision: str | None) -> Entry:
        """Record a digest, unless another job has recorded one in the meantime.

        Returns:
            what the lock now holds; the caller compares.

        Raises:
            LockError: the lock cannot be written: without a record the next download could be
                of another file, so the first one is not used.
        """
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        try:
            with FileLock(self.path.with_name(self.path.name + ".busy")):
                entries = self._entries()
                if key in entries:
                    return entries[key]
                if self.path.exists() and not os.access(self.path, os.W_OK):
                    # Renaming a new file onto it would need no more than a writable folder.
                    raise PermissionError("it is write-protected")
                entries[key] = Entry(sha256, revision, day)
                listed = {name: asdict(entries[name]) for name in sorted(entries)}
                write_text(self.path, json.dumps(listed, indent=1) + "\n")
        except OSError as error:
            raise LockError(
                f"{self.path}: cannot record the SHA-256 {sha256} of {key} ({error}): make the "
                f"file writable, or add the entry by hand"
            ) from error
        return entries[key]

    def _entries(self) -> dict[str, Entry]:
        try:
            raw = json.loads(self.path.read_text(encoding="utf-8"))
            return {key: Entry(**value) for key, value in raw.items()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise LockError(f"{self.path}: cannot be read ({error})") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise LockError(
                f"{self.path}: not a data lock ({error}): restore it from version control, or delete it if it was never there"
            ) from error
