"""What one process holds no other has, until it ends, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from optionbias import exclusive

ROOT = Path(__file__).parents[1]
HOLDER = """
import logging, sys, time
from pathlib import Path
from optionbias import exclusive
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
exclusive.POLL_SECONDS = 0.05
exclusive.hold_cell(Path(sys.argv[1]), Path(sys.argv[2]))
print("held", flush=True)
time.sleep(60)
"""


@contextmanager
def holder(journal: Path, output: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds a cell."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", HOLDER, str(journal), output],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_second_job_of_a_cell_waits_until_the_first_is_killed(tmp_path: Path) -> None:
    cell = "results/sweeps/first-token/exam/A.parquet"
    with holder(tmp_path, cell) as first:
        assert line(first) == "held"
        with holder(tmp_path, cell) as second:
            name = tmp_path / "busy" / cell.replace("/", "_")
            told = f"{cell}: another job reads this cell; waiting until it ends ({name} is locked)"
            assert line(second) == told
            time.sleep(0.2)
            assert second.poll() is None
            first.send_signal(signal.SIGKILL)
            assert line(second) == "held"


def test_other_cells_do_not_wait(tmp_path: Path) -> None:
    with holder(tmp_path, "results/sweeps/first-token/exam/A.parquet") as first:
        assert line(first) == "held"
        with holder(tmp_path, "results/sweeps/five-shot/exam/A.parquet") as second:
            assert line(second) == "held"


def test_a_file_is_held_until_the_process_ends(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    assert exclusive.try_hold(path)
    assert not exclusive.try_hold(path)
    code = f"from pathlib import Path; from optionbias.exclusive import try_hold; print(try_hold(Path({str(path)!r})))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
