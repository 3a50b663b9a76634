"""One set-up call per script: plain log lines, and errors that end in one clear line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path

# Errors whose message is written for the person who runs the workflow: no traceback on screen.
EXPECTED = (ValueError, RuntimeError, OSError, AssertionError)


def run(main: Callable[[], object], log: Path | None) -> None:
    """Call `main` with logging to `log` (and standard error); exit 1 with one line on an error.

    The traceback goes to the log file. Unexpected errors show it on standard error too.
    """
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(log, mode="w", encoding="utf-8"))
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", handlers=handlers
    )
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
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
        raise
