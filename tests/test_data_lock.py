"""The data lock: first records stay, whoever records; a lock that cannot be trusted stops the run."""

import datetime
import json
import multiprocessing
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optionbias.data_lock import DataLock, Entry, LockError

A, B = "a" * 64, "b" * 64


@pytest.fixture
def lock(tmp_path: Path) -> DataLock:
    return DataLock(tmp_path / "data.lock")


def test_without_a_file_nothing_is_recorded(lock: DataLock) -> None:
    assert lock.entry("exam/test.parquet") is None
    assert not lock.path.exists()


def test_a_record_holds_digest_revision_and_day(lock: DataLock) -> None:
    def today() -> str:
        return datetime.datetime.now(datetime.UTC).date().isoformat()

    before = today()
    entry = lock.record("exam/test.parquet", A, "c0ffee")
    # Two days are right when midnight falls between.
    assert entry in (Entry(A, "c0ffee", before), Entry(A, "c0ffee", today()))
    assert DataLock(lock.path).entry("exam/test.parquet") == entry
    # Committed to the repository: readable, one line a value, in the order of the names.
    lock.record("earlier/file", B, None)
    text = lock.path.read_text()
    assert list(json.loads(text)) == ["earlier/file", "exam/test.parquet"]
    assert json.loads(text)["earlier/file"]["revision"] is None
    assert text.endswith("}\n") and f'  "sha256": "{A}",\n' in text


def test_the_first_record_stays(lock: DataLock) -> None:
    first = lock.record("exam/file", A, None)
    assert lock.record("exam/file", B, "c0ffee") == first
    assert lock.entry("exam/file") == first


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("pqrst"), st.sampled_from([A, B])), max_size=12))
def test_records_in_any_order(records: list[tuple[str, str]]) -> None:
    first: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        lock = DataLock(Path(folder) / "data.lock")
        for key, digest in records:
            first.setdefault(key, digest)
            assert lock.record(key, digest, None).sha256 == first[key]
        assert {key: entry.sha256 for key in first if (entry := lock.entry(key))} == first
        assert not records or list(json.loads(lock.path.read_text())) == sorted(first)


def record_many(path: Path, worker: int) -> None:
    for number in range(15):
        DataLock(path).record(f"own/{worker}-{number}", A, None)
        DataLock(path).record(f"common/{number}", f"{worker}" * 64, None)


def test_processes_that_record_at_once_lose_nothing(lock: DataLock) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=record_many, args=(lock.path, n)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    entries = json.loads(lock.path.read_text())
    # Three times fifteen of their own, and fifteen that they share.
    assert len(entries) == 60
    assert {f"own/{w}-{n}" for w in range(3) for n in range(15)} < set(entries)
    # Of what they share each has the digest of one worker, not a mixture.
    assert {entries[f"common/{n}"]["sha256"] for n in range(15)} <= {d * 64 for d in "012"}
    assert [path.name for path in lock.path.parent.glob("*.tmp")] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> theirs\n",
        "[]",
        '{"exam/file": "digest"}',
        '{"exam/file": {"sha256": "digest"}}',
        '{"exam/file": {"sha256": "d", "revision": null, "date": "d", "size": 3}}',
    ],
)
def test_a_broken_lock_is_named_and_left_as_it_is(lock: DataLock, text: str) -> None:
    lock.path.write_text(text)
    broken = r"data\.lock: not a data lock .*version control"
    with pytest.raises(LockError, match=broken) as error:
        lock.entry("exam/file")
    assert "\n" not in str(error.value)
    with pytest.raises(LockError, match=broken):
        lock.record("exam/file", A, None)
    assert lock.path.read_text() == text


def test_bytes_that_are_no_text_are_a_broken_lock(lock: DataLock) -> None:
    lock.path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LockError, match="not a data lock"):
        lock.entry("exam/file")


def test_a_write_protected_lock_is_enforced_but_not_replaced(
    lock: DataLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = lock.record("exam/file", A, None)
    text = lock.path.read_text()
    lock.path.chmod(0o444)
    # The administrator may write everything, so the answer is given for all accounts alike.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(LockError, match=r"data\.lock: cannot record") as error:
        lock.record("exam/other", B, None)
    for told in (B, "exam/other", "make the file writable", "by hand"):
        assert told in str(error.value)
    assert lock.path.read_text() == text
    # What it holds already needs no writing.
    assert lock.entry("exam/file") == known == lock.record("exam/file", A, None)


def test_a_lock_in_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    lock = DataLock(tmp_path / "file" / "data.lock")
    with pytest.raises(LockError, match=r"file/data\.lock: cannot record .*by hand"):
        lock.record("exam/file", A, None)


def test_a_lock_that_cannot_be_read(lock: DataLock) -> None:
    lock.path.mkdir()
    with pytest.raises(LockError, match=r"data\.lock: cannot be read"):
        lock.entry("exam/file")
