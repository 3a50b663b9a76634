"""Fetching: what a store, a mirror and a data lock hold afterwards, and what is told."""

import datetime
import gzip
import json
import logging
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from fetching import CONTENT, EXAM, NAME, OTHER, PACKED, PATH, Fetcher, fetch_one, sha256, upstream
from mirrors import Handler, Mirror, allow_only, cut
from optionbias import fetch
from optionbias.benchmarks.source import File, Hub
from optionbias.data_lock import DataLock, LockError
from optionbias.fetch_http import BLOCK, AbsentError, FetchError


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[Mirror]:
    with Mirror() as mirror:
        yield mirror


@pytest.fixture
def fetcher(tmp_path: Path) -> Fetcher:
    return Fetcher(tmp_path)


# A mirror and nothing else.


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder(
    fetcher: Fetcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    allow_only(monkeypatch, None)
    place = tmp_path / "mirror" / "exam" / "raw" / f"{NAME}{'.gz' if packed else ''}"
    place.parent.mkdir(parents=True)
    place.write_bytes(gzip.compress(CONTENT) if packed else CONTENT)
    # Neither the address of the file nor the hub is asked.
    for origin in (
        File(NAME, sha256(CONTENT), "https://elsewhere.example/file"),
        File(NAME, sha256(CONTENT), hub=Hub("any/thing", "file")),
    ):
        fetched = fetcher(origin, f"{tmp_path / 'mirror'}/")
        assert fetched == fetch.Fetched(NAME, sha256(CONTENT), origin.address, None)
        assert fetcher.files() == {NAME: CONTENT} and fetcher.remains() == {}
        (fetcher.store / "exam" / "raw" / NAME).unlink()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("derive", [None, bytes.upper])
def test_an_address(
    fetcher: Fetcher,
    server: Mirror,
    monkeypatch: pytest.MonkeyPatch,
    packed: bool,
    derive: Callable[[bytes], bytes] | None,
) -> None:
    allow_only(monkeypatch, server.port)
    server.files["/sub" + (PACKED if packed else PATH)] = (
        gzip.compress(CONTENT) if packed else CONTENT
    )
    # What a mirror holds is the file itself, also where upstream has it inside another.
    file = File(NAME, sha256(CONTENT), "https://elsewhere.example/file", derive=derive)
    fetcher(file, f"{server.url}/sub")
    assert fetcher.files() == {NAME: CONTENT} and fetcher.remains() == {}
    assert [asked.path for asked in server.asked] == [f"/sub{PATH}", f"/sub{PACKED}"][: 1 + packed]


def test_a_store_is_the_mirror_of_another(fetcher: Fetcher, server: Mirror, tmp_path: Path) -> None:
    fetcher(upstream(server))
    second = Fetcher(tmp_path / "second")
    second(replace(upstream(server), url=None), str(fetcher.store))
    assert second.files() == fetcher.files() == {NAME: CONTENT}


def test_a_file_that_the_mirror_lacks(fetcher: Fetcher, server: Mirror, tmp_path: Path) -> None:
    file = File(NAME, sha256(CONTENT), "https://elsewhere.example/file")
    address = f"{server.url}/exam/raw/test/all%20items.jsonl"
    absent = fetcher.fails(
        file, f"{address}: HTTP 404", f"{address}.gz: HTTP 404", "add the file there",
        "without `mirror`", "https://elsewhere.example/file", mirror=server.url,
    )  # fmt: skip
    assert isinstance(absent, AbsentError)
    fetcher.fails(
        file, f"no file {tmp_path}/exam/raw/{NAME}, no file {tmp_path}/exam/raw/{NAME}.gz",
        "https://elsewhere.example/file", mirror=str(tmp_path),
    )  # fmt: skip


@pytest.mark.parametrize("broken", [gzip.compress(CONTENT)[:-9], b"\x1f\x8bno", b""])
def test_a_gzip_file_that_is_none(fetcher: Fetcher, server: Mirror, broken: bytes) -> None:
    server.files[PACKED] = broken
    file = File(NAME, sha256(CONTENT))
    fetcher.fails(file, f"{server.url}/exam/raw/", ".jsonl.gz", mirror=server.url)
    assert fetcher.remains() == {}
    server.files[PACKED] = gzip.compress(CONTENT)
    fetcher(file, server.url)
    assert fetcher.files() == {NAME: CONTENT}


def test_a_gzip_file_whose_server_calls_it_an_encoding(fetcher: Fetcher, server: Mirror) -> None:
    # The client then undoes it, and a range of what was packed does not continue what was not.
    server.files[PACKED] = packed = gzip.compress(CONTENT)

    encoding = {"Content-Encoding": "gzip"}

    def encoded(handler: Handler, content: bytes) -> None:
        handler.reply(200, packed, encoding)

    def encoded_cut(handler: Handler, content: bytes) -> None:
        handler.reply(200, packed[: 3 * BLOCK], encoding, length=len(packed))

    def encoded_rest(handler: Handler, content: bytes) -> None:
        sent = f"bytes {handler.start()}-{len(packed) - 1}/{len(packed)}"
        handler.reply(206, packed[handler.start() :], encoding | {"Content-Range": sent})

    for faults in ([encoded], [encoded_cut, encoded_rest, encoded]):
        server.faults(PACKED, faults)
        fetcher(File(NAME, sha256(CONTENT)), server.url)
        assert fetcher.files() == {NAME: CONTENT} and fetcher.remains() == {}
        (fetcher.store / "exam" / "raw" / NAME).unlink()


# Derived files.


def reversed_bytes(served: bytes) -> bytes:
    return served[::-1]


def test_a_derived_file(fetcher: Fetcher, server: Mirror) -> None:
    file = replace(upstream(server, OTHER), sha256=sha256(OTHER[::-1]), derive=reversed_bytes)
    server.faults("/origin", [cut(BLOCK)])
    fetcher(file)
    assert fetcher.files() == {NAME: OTHER[::-1]} and fetcher.remains() == {}
    assert server.ranges() == [None, f"bytes={BLOCK}-"]


def test_remains_of_what_a_file_is_derived_from(fetcher: Fetcher, server: Mirror) -> None:
    file = replace(upstream(server, OTHER), sha256=sha256(OTHER[::-1]), derive=reversed_bytes)
    # Of the same file: gone on with. Of another: noticed by the digest, and read anew.
    for left, ranges in ((OTHER, [f"bytes={BLOCK}-"]), (CONTENT, [f"bytes={BLOCK}-", None])):
        server.asked.clear()
        fetcher.leave(f"{NAME}.served", left[:BLOCK])
        fetcher(file)
        assert fetcher.files() == {NAME: OTHER[::-1]} and fetcher.remains() == {}
        assert server.ranges() == ranges
        (fetcher.store / "exam" / "raw" / NAME).unlink()


def first_of_many(served: bytes) -> bytes:
    rows: list[bytes] = []
    return rows[0]


@pytest.mark.parametrize(
    ("derive", "reason"), [(json.loads, "JSONDecodeError: "), (first_of_many, "IndexError: ")]
)
def test_what_a_file_is_derived_from_is_something_else(
    fetcher: Fetcher, server: Mirror, derive: Callable[[bytes], bytes], reason: str
) -> None:
    file = replace(upstream(server, b"<html>\nno</html>"), derive=derive)
    fetcher.fails(file, f"{server.url}/origin does not hold what", reason, "`mirror` can name")
    assert fetcher.remains() == {} and len(server.asked) == 1


def test_a_derived_file_with_another_digest(fetcher: Fetcher, server: Mirror) -> None:
    file = replace(upstream(server, OTHER), sha256=sha256(CONTENT), derive=reversed_bytes)
    fetcher.fails(file, f"{server.url}/origin", sha256(OTHER[::-1]), sha256(CONTENT))
    assert fetcher.remains() == {}


# What the store and the lock hold already.


def test_a_file_in_the_store_is_not_asked_for(
    fetcher: Fetcher, server: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = upstream(server)
    first = fetcher(file)
    allow_only(monkeypatch, None)
    assert fetcher(file) == first


@pytest.mark.parametrize("damage", [CONTENT[:-1], b"", OTHER])
def test_a_damaged_file_in_the_store_is_fetched_again(
    fetcher: Fetcher, server: Mirror, damage: bytes
) -> None:
    file = upstream(server)
    fetcher(file)
    (fetcher.store / "exam" / "raw" / NAME).write_bytes(damage)
    fetcher(file)
    assert fetcher.files() == {NAME: CONTENT}
    assert len(server.asked) == 2


def test_an_unknown_digest_is_recorded_and_enforced(fetcher: Fetcher, server: Mirror) -> None:
    file = replace(upstream(server), sha256=None)
    assert fetcher(file).sha256 == sha256(CONTENT)
    entry = fetcher.lock.entry(f"exam/{NAME}")
    assert entry is not None and (entry.sha256, entry.revision) == (sha256(CONTENT), None)
    assert abs(datetime.date.fromisoformat(entry.date) - datetime.date.today()).days <= 1

    # In a clone of its own, with the lock: what its origin has now is not what was recorded.
    (fetcher.store / "exam" / "raw" / NAME).unlink()
    server.files["/origin"] = server.files[PATH] = OTHER
    for mirror in (None, server.url):
        fetcher.fails(
            file, f"SHA-256 {sha256(OTHER)}, the digest in {fetcher.lock.path} is {sha256(CONTENT)}",
            f"if the new file is meant, delete its entry in {fetcher.lock.path}", mirror=mirror,
        )  # fmt: skip
    assert fetcher.lock.entry(f"exam/{NAME}") == entry and fetcher.remains() == {}


def test_a_digest_of_the_module_is_not_recorded(fetcher: Fetcher, server: Mirror) -> None:
    fetcher(upstream(server))
    assert not fetcher.lock.path.exists()


def test_a_mirror_keeps_the_recorded_revision(fetcher: Fetcher, server: Mirror) -> None:
    fetcher.lock.record(f"exam/{NAME}", sha256(CONTENT), "c0ffee")
    server.files[PATH] = CONTENT
    file = File(NAME, hub=Hub("any/thing", "file"))
    # Downloaded now, and found in the store.
    assert [fetcher(file, server.url).revision for _ in range(2)] == ["c0ffee"] * 2


def test_a_web_page_is_never_recorded(fetcher: Fetcher, server: Mirror) -> None:
    file = replace(upstream(server, b"<html>Please log in</html>"), sha256=None)
    fetcher.fails(file, f"{server.url}/origin gave a web page")
    assert not fetcher.lock.path.exists() and fetcher.remains() == {}


def test_what_cannot_be_recorded_is_not_used(fetcher: Fetcher, server: Mirror) -> None:
    file = replace(upstream(server), sha256=None)
    # A folder in its place stands for anything that cannot be written, for every account.
    fetcher.lock = DataLock(fetcher.store)
    fetcher.store.mkdir()
    with pytest.raises(LockError, match="store: cannot be read"):
        fetcher(file)
    fetcher.lock = DataLock(fetcher.store.parent / "data.lock")
    fetcher.lock.path.with_name("data.lock.busy").mkdir()
    with pytest.raises(LockError, match=rf"cannot record the SHA-256 {sha256(CONTENT)}"):
        fetcher(file)
    assert fetcher.files() == {}
    # Once it can be recorded, nothing of the first attempt is trusted.
    fetcher.lock.path.with_name("data.lock.busy").rmdir()
    fetcher(file)
    assert fetcher.files() == {NAME: CONTENT} and server.ranges() == [None, None]


def test_a_pinned_file_needs_no_lock(fetcher: Fetcher, server: Mirror) -> None:
    fetcher.lock.path.write_text("{")
    server.files[PATH] = CONTENT
    assert fetcher(File(NAME, sha256(CONTENT)), server.url).sha256 == sha256(CONTENT)


def test_a_broken_lock_stops_before_the_first_request(fetcher: Fetcher, server: Mirror) -> None:
    fetcher.lock.path.write_text("{")
    with pytest.raises(LockError, match="not a data lock"):
        fetcher(replace(upstream(server), sha256=None))
    assert server.asked == [] and fetcher.files() == {}


# Several at once, and what is told.


@pytest.mark.parametrize("known", [True, False])
def test_threads_that_want_the_same_file(fetcher: Fetcher, server: Mirror, known: bool) -> None:
    file = upstream(server)
    file = file if known else replace(file, sha256=None)
    server.faults("/origin", [cut(BLOCK)])
    with ThreadPoolExecutor(4) as pool:
        fetched = list(pool.map(fetcher, [file] * 4))
    assert len(set(fetched)) == 1
    assert fetcher.files() == {NAME: CONTENT} and fetcher.remains() == {}
    # One of them was cut and went on; the others found the file.
    assert server.ranges() == [None, f"bytes={BLOCK}-"]


def test_processes_that_want_the_same_file(
    fetcher: Fetcher, server: Mirror, tmp_path: Path
) -> None:
    file = replace(upstream(server), sha256=None)
    spawn = multiprocessing.get_context("spawn")
    jobs = [spawn.Process(target=fetch_one, args=(tmp_path, file)) for _ in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(120)
        assert job.exitcode == 0
    assert fetcher.files() == {NAME: CONTENT} and len(server.asked) == 1


def test_terms_are_shown_before_the_first_request(
    fetcher: Fetcher, server: Mirror, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    shown: list[list[str]] = []

    def look(handler: Handler, content: bytes) -> None:
        shown.append(list(caplog.messages))
        handler.serve(content)

    file = upstream(server)
    server.faults("/origin", [look, look])
    for terms in ("for research alone", None):
        benchmark = replace(EXAM, restricted=terms)
        store = fetcher.store / str(terms)
        fetch.fetch_all(benchmark, (file,), store, fetcher.lock)
    assert "The exam: for research alone" in shown[0]
    assert sum("research" in message for message in caplog.messages) == 1


def test_a_manifest_and_its_folder(fetcher: Fetcher, server: Mirror, tmp_path: Path) -> None:
    file = upstream(server)
    server.files["/second"] = OTHER
    second = File("second.csv", sha256(OTHER), f"{server.url}/second")
    fetched = fetch.fetch_all(EXAM, (file, second), fetcher.store, fetcher.lock, backoff=0)
    manifest = tmp_path / "manifest.json"
    fetch.write_manifest(manifest, "exam", fetched)
    # Where the bytes came from this time (mirror or origin) is not part of it.
    assert json.loads(manifest.read_text()) == {
        "benchmark": "exam",
        "files": [
            {"name": f.name, "sha256": f.sha256, "address": f.url, "revision": None}
            for f in (file, second)
        ],
    }
    assert fetch.checked_folder(manifest, fetcher.store) == fetcher.store / "exam" / "raw"
    path = fetcher.store / "exam" / "raw" / "second.csv"
    path.write_bytes(OTHER[:-1])
    with pytest.raises(FetchError, match=rf"second\.csv is not the file .* delete {manifest}"):
        fetch.checked_folder(manifest, fetcher.store)
    path.unlink()
    with pytest.raises(FetchError, match=rf"second\.csv is gone: delete {manifest}"):
        fetch.checked_folder(manifest, fetcher.store)
