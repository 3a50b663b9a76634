"""One set-up call per script: plain log lines, and errors that end in one clear line."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

# Errors whose message is written for the person who runs the workflow: no traceback on screen.
EXPECTED = (ValueError, RuntimeError, OSError, AssertionError)


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
            print(redact(f"error: {error}"), file=sys.stderr)
        else:
            print(redact(traceback.format_exc()), file=sys.stderr)
        sys.exit(1)
