"""Files that are whole or absent, whatever interrupts the writing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import optionbias
from optionbias import sweep as sweep_module
from optionbias.atomic import atomic_path, write_text
from optionbias.orderings import cyclic
from optionbias.sweep import read_sweep, write_sweep
from strategies import build_sweep

ROOT = Path(optionbias.__file__).parents[1]

# A writer that is killed with half of the bytes on the disk.
KILLED = """
import os, signal, sys
from pathlib import Path
from optionbias import sweep

whole = sweep.pq.write_table

def half(table, where, **options):
    whole(table, where, **options)
    written = Path(where).read_bytes()
    Path(where).write_bytes(written[: len(written) // 2])
    os.kill(os.getpid(), signal.SIGKILL)

sweep.pq.write_table = half
sweep.write_sweep(sys.argv[2], sweep.read_sweep(sys.argv[1]))
"""


def test_a_whole_file_appears(tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "a.txt"
    with atomic_path(target) as temporary:
        assert temporary.parent == target.parent  # one file system, so the rename is atomic
        temporary.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert os.listdir(target.parent) == ["a.txt"]


def test_text(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "schön\n")
    assert (tmp_path / "a.txt").read_bytes() == "schön\n".encode()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("old", [None, "old"])
def test_an_exception_leaves_what_was_there(
    tmp_path: Path, error: type[BaseException], old: str | None
) -> None:
    target = tmp_path / "a.txt"
    if old is not None:
        target.write_text(old)
    with pytest.raises(error), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise error
    assert os.listdir(tmp_path) == ([] if old is None else ["a.txt"])
    assert old is None or target.read_text() == old


def test_a_block_that_writes_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "a.txt"):
        pass
    assert os.listdir(tmp_path) == []


def test_a_sweep_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(table: object, where: Path, **options: object) -> None:
        Path(where).write_bytes(b"PAR1")
        raise OSError("no space left on device")

    monkeypatch.setattr(sweep_module.pq, "write_table", full)
    target = tmp_path / "model.parquet"
    with pytest.raises(OSError, match="no space"):
        write_sweep(target, build_sweep(cyclic(2), [[[0, 1], [1, 0]]], [0]))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("old", [False, True])
def test_a_killed_writer_leaves_no_short_sweep(tmp_path: Path, old: bool) -> None:
    source, target = tmp_path / "source.parquet", tmp_path / "out" / "model.parquet"
    write_sweep(source, build_sweep(cyclic(2), [[[0, 1], [1, 0]]], [0], note="new"))
    if old:
        write_sweep(target, build_sweep(cyclic(2), [[[1, 0], [1, 0]]], [1], note="old"))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(source), str(target)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = set(os.listdir(target.parent)) - {target.name}
    # What the dead writer left has a name that no pattern of a sweep file matches.
    assert len(left) == 1
    assert all(name.startswith(".") and name.endswith(".tmp") for name in left)
    assert target.exists() == old
    if old:
        assert read_sweep(target).metadata["note"] == "old"
    write_sweep(target, read_sweep(source))
    assert read_sweep(target).metadata["note"] == "new"
