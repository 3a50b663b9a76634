"""Progress of long work: a bar on a terminal, plain lines in a log."""

from __future__ import annotations

import logging
import sys
import time
from types import TracebackType

from tqdm import tqdm

LOG_EVERY_SECONDS = 15.0


class Progress:
    """Counts finished units; use it as a context manager.

    On a terminal it draws a tqdm bar on standard error. It always writes plain lines (done,
    rate, time left) to the log, at the start, at most every 15 seconds, and at the end.
    """

    def __init__(self, label: str, total: int, unit: str) -> None:
        """Start counting `total` units called `unit` (plural)."""
        self.label, self.total, self.unit = label, total, unit
        self.done = self.skipped = 0
        self._logged = -1
        self._start = self._last = time.monotonic()
        self._log = logging.getLogger(__name__)
        self._bar = tqdm(
            total=total, desc=label, unit=f" {unit}", disable=not sys.stderr.isatty(), leave=False
        )

    def __enter__(self) -> Progress:
        self._log.info("%s: %d %s", self.label, self.total, self.unit)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()
        if error is None and self._logged != self.done + self.skipped:
            self._line()

    def skip(self, n: int) -> None:
        """Count `n` units that an earlier run finished."""
        self.skipped += n
        self._bar.update(n)

    def add(self, n: int) -> None:
        """Count `n` units finished now."""
        self.done += n
        self._bar.update(n)
        if time.monotonic() - self._last >= LOG_EVERY_SECONDS:
            self._line()

    def _line(self) -> None:
        self._last = time.monotonic()
        self._logged = self.done + self.skipped
        elapsed = self._last - self._start
        rate = self.done / elapsed if elapsed > 0 else 0.0
        left = self.total - self.done - self.skipped
        eta = f"{left / rate:.0f} s left" if rate > 0 and left else "done" if not left else ""
        kept = f", {self.skipped} from the journal" if self.skipped else ""
        self._log.info(
            "%s: %d of %d %s%s, %.2f %s/s, %s",
            self.label, self.done + self.skipped, self.total, self.unit, kept, rate, self.unit, eta,
        )  # fmt: skip
