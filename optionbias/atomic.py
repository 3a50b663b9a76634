"""Files that are whole or absent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary name beside `path`; on success fsync it and rename it onto `path`.

    A reader sees the old file, no file, or the whole new one. The temporary file is removed
    when the block raises; a killed process leaves only the temporary name, which nothing reads.

    Raises:
        OSError: what the block or the writing raised, always with a file name.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if (
            error.errno is not None and error.filename is None
        ):  # as where a write fails, not an open
            error.filename = str(target)
        raise
    finally:
        temporary.unlink(missing_ok=True)
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write_text(path: str | Path, text: str) -> None:
    """Write `text` to `path` as UTF-8, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
