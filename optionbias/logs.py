"""One set-up call per script: plain log lines, and errors that end in one clear line."""

from __future__ import annotations

import errno
import logging
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

# Errors whose message is written for the person who runs the workflow: no traceback on screen.
EXPECTED = (ValueError, RuntimeError, OSError, AssertionError, MemoryError)

# What to do about errors of the system; their own text names the file.
ADVICE = {
    errno.ENOSPC: "free some space and run the same command again, finished chunks are kept",
    errno.EDQUOT: "free some space and run the same command again, finished chunks are kept",
    errno.EACCES: "this user may not write there: change the folder's permissions, or give another with "
    "--directory",
    errno.EROFS: "the disk is read-only: give another folder with --directory",
}


def message(error: Exception) -> str:
    """One line for the person who runs the workflow: what happened, where, and what to do."""
    if isinstance(error, OSError) and error.errno in ADVICE:
        where = f"{error.filename}: " if error.filename else ""
        reason = (error.strerror or str(error)).splitlines()[0]
        return f"{where}{reason}; {ADVICE[error.errno]}"
    if isinstance(error, MemoryError) and not str(error):
        return "out of memory; give the job more of it, or run fewer jobs at once"
    return str(error)


class _Redacting(logging.Formatter):
    """Lines, and the tracebacks below them, without secrets."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__("%(asctime)s %(message)s", "%H:%M:%S")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


def run(main: Callable[[], object], log: Path | None, redact: Callable[[str], str] = str) -> None:
    """Call `main` with logging to `log` (and standard error); exit 1 with one line on an error.

    The traceback goes to the log file. Unexpected errors show it on standard error too. Everything
    that is written passes through `redact`.
    """
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(log, mode="w", encoding="utf-8"))
    for handler in handlers:
        handler.setFormatter(_Redacting(redact))
    # A library may have set up handlers of its own when it was imported.
    logging.basicConfig(level=logging.INFO, handlers=handlers, force=True)
    logging.captureWarnings(True)
    for chatty in ("fontTools", "httpx2"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        main()
    except Exception as error:
        _, *files = handlers
        for handler in files:
            handler.handle(
                logging.LogRecord(
                    "optionbias", logging.ERROR, "", 0, "failed", None, sys.exc_info()
                )
            )
        if isinstance(error, EXPECTED):
            print(redact(f"error: {message(error)}"), file=sys.stderr)
        else:
            print(redact(traceback.format_exc()), file=sys.stderr)
        sys.exit(1)
