"""What a person reads of an error: one line, with the file and what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from optionbias.atomic import atomic_path
from optionbias.logs import message


def failed_write(target: Path, number: int) -> OSError:
    """The error of a write (not of an open) within an atomic write."""
    with pytest.raises(OSError) as caught, atomic_path(target):
        raise OSError(number, os.strerror(number))
    return caught.value


def test_a_full_disk_names_the_file_and_says_what_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "chunk-000001.npz"
    assert message(failed_write(target, errno.ENOSPC)) == (
        f"{target}: No space left on device; free some space and run the same command again, finished "
        f"chunks are kept"
    )
    assert not target.exists() and not list(tmp_path.iterdir())


def test_no_permission_and_a_read_only_disk(tmp_path: Path) -> None:
    refused = PermissionError(errno.EACCES, "Permission denied", "results/sweeps/a.parquet")
    assert message(refused).startswith(
        "results/sweeps/a.parquet: Permission denied; this user may not"
    )
    assert "read-only: give another" in message(failed_write(tmp_path / "a", errno.EROFS))


def test_other_errors_speak_for_themselves() -> None:
    assert message(ValueError("exam.jsonl: line 2: no answer")) == "exam.jsonl: line 2: no answer"
    missing = FileNotFoundError(errno.ENOENT, "No such file or directory", "a.txt")
    assert message(missing) == "[Errno 2] No such file or directory: 'a.txt'"
    assert message(MemoryError("checkpoint A: no room")) == "checkpoint A: no room"
    assert message(MemoryError()).startswith("out of memory; give the job more")
