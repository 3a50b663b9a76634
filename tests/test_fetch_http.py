"""Downloads: every fault of a server ends in the right file or in none, and says what to do."""

import gzip
import itertools
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fetching import CONTENT, NAME, OTHER, PACKED, PATH, Fetcher, fetch_one, sha256, upstream
from mirrors import Fault, Mirror, cut, held, partly, status, whole
from optionbias.benchmarks.source import File
from optionbias.fetch_http import BLOCK


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


# Connections that are cut.


def test_a_cut_connection_goes_on_where_it_stopped(fetcher: Fetcher, server: Mirror) -> None:
    file = upstream(server)
    server.faults("/origin", [cut(2 * BLOCK), cut(3 * BLOCK)])
    fetcher(file)
    assert fetcher.files() == {NAME: CONTENT}
    assert server.ranges() == [None, f"bytes={2 * BLOCK}-", f"bytes={3 * BLOCK}-"]
    # A range of a body that is compressed on the way would be none of the file.
    assert {asked.headers["accept-encoding"] for asked in server.asked} == {"identity"}
    # No byte came twice.
    assert [a.sent for a in server.asked] == [2 * BLOCK, BLOCK, len(CONTENT) - 3 * BLOCK]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, len(CONTENT) - 1), max_size=4), st.booleans())
def test_any_four_cuts(cuts: list[int], packed: bool) -> None:
    with Mirror() as server, tempfile.TemporaryDirectory() as folder:
        fetcher = Fetcher(Path(folder))
        # Compression at level 0 keeps the length, and with it the places of the cuts.
        served = gzip.compress(CONTENT, 0) if packed else CONTENT
        server.files[PACKED if packed else PATH] = served
        server.faults(PACKED if packed else PATH, map(cut, cuts))
        fetcher(File(NAME, sha256(CONTENT)), server.url)
        assert fetcher.files() == {NAME: CONTENT} and fetcher.remains() == {}
        # At each cut the client may lose what it had not yet passed on, less than a block.
        assert sum(a.sent for a in server.asked) < len(served) + len(cuts) * BLOCK + 2 * len("no")


def test_a_server_that_cuts_every_time(fetcher: Fetcher, server: Mirror) -> None:
    file = upstream(server)
    server.faults("/origin", [cut(n * BLOCK) for n in (1, 1, 2, 2, 2)])
    fetcher.fails(
        file, f"{server.url}/origin", "5 attempts", "start again to go on", "`mirror` can name"
    )
    assert fetcher.remains() == {NAME: CONTENT[: 2 * BLOCK]}
    # The next job goes on where this one stopped.
    fetcher(file)
    assert fetcher.files() == {NAME: CONTENT} and fetcher.remains() == {}
    assert server.ranges()[-1] == f"bytes={2 * BLOCK}-"
    assert server.asked[-1].sent == len(CONTENT) - 2 * BLOCK


def test_a_server_that_ignores_ranges(fetcher: Fetcher, server: Mirror) -> None:
    server.faults("/origin", [cut(2 * BLOCK), whole()])
    fetcher(upstream(server))
    assert fetcher.files() == {NAME: CONTENT}
    assert server.ranges() == [None, f"bytes={2 * BLOCK}-"]


@pytest.mark.parametrize("sent", ["bytes 0-9/327697", f"bytes {BLOCK}-{BLOCK + 9}/*", ""])
def test_a_range_that_does_not_continue(fetcher: Fetcher, server: Mirror, sent: str) -> None:
    server.faults("/origin", [cut(2 * BLOCK), partly(sent, b"0123456789")])
    fetcher(upstream(server))
    assert fetcher.files() == {NAME: CONTENT}
    assert server.ranges() == [None, f"bytes={2 * BLOCK}-", None]


def test_a_server_out_of_reach(fetcher: Fetcher) -> None:
    with Mirror() as gone:
        pass
    file = File(NAME, sha256(CONTENT), f"{gone.url}/origin")
    fetcher.fails(file, f"{gone.url}/origin", "5 attempts", "refused", "`mirror` can name another")
    fetcher.fails(
        replace(file, url="https://elsewhere.example"), f"{gone.url}/exam/raw/", "refused",
        "without `mirror`", mirror=gone.url,
    )  # fmt: skip


# Remains of a job that was killed.


def test_a_whole_partial_file_only_moves(fetcher: Fetcher, server: Mirror) -> None:
    fetcher.leave(NAME, CONTENT)
    fetcher(upstream(server))
    assert fetcher.files() == {NAME: CONTENT} and fetcher.remains() == {}
    assert [a.sent for a in server.asked] == [0]


@pytest.mark.parametrize("have", [BLOCK, len(CONTENT), len(CONTENT) + 1])
def test_remains_of_another_file_are_not_continued(
    fetcher: Fetcher, server: Mirror, have: int
) -> None:
    # Shorter than the file, as long, or longer: noticed by the digest, or by status 416.
    fetcher.leave(NAME, (OTHER + b"more")[:have])
    fetcher(upstream(server))
    assert fetcher.files() == {NAME: CONTENT} and fetcher.remains() == {}
    assert server.ranges() == [f"bytes={have}-", None]


def test_remains_of_another_packing_are_not_continued(fetcher: Fetcher, server: Mirror) -> None:
    server.files[PACKED] = gzip.compress(CONTENT, 1)
    fetcher.leave(f"{NAME}.gz", gzip.compress(OTHER)[:BLOCK])
    fetcher(File(NAME, sha256(CONTENT)), server.url)
    assert fetcher.files() == {NAME: CONTENT} and fetcher.remains() == {}


def test_remains_are_not_continued_where_no_digest_would_tell(
    fetcher: Fetcher, server: Mirror
) -> None:
    fetcher.leave(NAME, OTHER[:BLOCK])
    fetched = fetcher(replace(upstream(server), sha256=None))
    assert fetched.sha256 == sha256(CONTENT)
    assert server.ranges() == [None]


def test_a_killed_job_is_continued(fetcher: Fetcher, server: Mirror, tmp_path: Path) -> None:
    file, killed = upstream(server), threading.Event()
    server.faults("/origin", [held(2 * BLOCK, killed)])
    job = multiprocessing.get_context("spawn").Process(target=fetch_one, args=(tmp_path, file))
    job.start()
    while job.is_alive() and fetcher.remains() != {NAME: CONTENT[: 2 * BLOCK]}:
        job.join(0.01)
    job.kill()
    job.join()
    killed.set()
    assert job.exitcode == -9
    assert fetcher.files() == {} and fetcher.remains() == {NAME: CONTENT[: 2 * BLOCK]}
    fetcher(file)
    assert fetcher.files() == {NAME: CONTENT} and fetcher.remains() == {}
    assert server.ranges() == [None, f"bytes={2 * BLOCK}-"]
    assert server.asked[-1].sent == len(CONTENT) - 2 * BLOCK


# Statuses and wrong content.


@pytest.mark.parametrize(
    "faults",
    [
        [status(500), status(503)],
        [status(429, {"Retry-After": "0"})],
        [status(502), cut(BLOCK), status(504, {"Retry-After": "0"})],
    ],
)
def test_a_busy_server_is_asked_again(
    fetcher: Fetcher, server: Mirror, faults: list[Fault]
) -> None:
    server.faults("/origin", faults)
    fetcher(upstream(server))
    assert fetcher.files() == {NAME: CONTENT}
    assert len(server.asked) == len(faults) + 1


def test_a_server_cannot_make_it_wait_for_hours(
    fetcher: Fetcher, server: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    clock = SimpleNamespace(sleep=slept.append, time=time.time)
    monkeypatch.setattr("urllib3.util.retry.time", clock)
    server.faults(
        "/origin", [status(429, {"Retry-After": "30"}), status(503, {"Retry-After": "86400"})]
    )
    fetcher(upstream(server))
    assert fetcher.files() == {NAME: CONTENT}
    assert slept == [30, 60]


@pytest.mark.parametrize("code", [500, 429])
def test_a_server_that_is_busy_for_ever(fetcher: Fetcher, server: Mirror, code: int) -> None:
    server.faults("/origin", itertools.repeat(status(code)))
    fetcher.fails(
        upstream(server), f"{server.url}/origin: HTTP {code}", "after 5 repetitions",
        "try again later", "`mirror` can name",
    )  # fmt: skip
    # Asked once, and five times more.
    assert len(server.asked) == 6


@pytest.mark.parametrize("code", [401, 403, 404, 410, 418])
def test_any_other_status_is_an_answer(fetcher: Fetcher, server: Mirror, code: int) -> None:
    server.faults("/origin", [status(code)])
    fetcher.fails(upstream(server), f"{server.url}/origin: HTTP {code}", "`mirror` can name")
    assert len(server.asked) == 1


def test_a_redirect(fetcher: Fetcher, server: Mirror) -> None:
    file = upstream(server)
    server.files["/moved"] = CONTENT
    server.faults(
        "/origin", [status(302, {"Location": "/moved"}), status(301, {"Location": "/moved"})]
    )
    server.faults("/moved", [cut(BLOCK)])
    fetcher(file)
    assert fetcher.files() == {NAME: CONTENT}
    assert server.ranges() == [None, None, f"bytes={BLOCK}-", f"bytes={BLOCK}-"]


def test_a_redirect_in_a_circle(fetcher: Fetcher, server: Mirror) -> None:
    server.faults("/origin", itertools.repeat(status(302, {"Location": "/round"})))
    server.faults("/round", itertools.repeat(status(302, {"Location": "/origin"})))
    fetcher.fails(upstream(server), f"{server.url}/origin", "in a circle", "`mirror` can name")


PAGE = b"\n<!DOCTYPE html><title>Please log in</title>"
CHANGED = CONTENT[:1000] + bytes([CONTENT[1000] ^ 1]) + CONTENT[1001:]


@pytest.mark.parametrize("sent", [CONTENT[:-1], CONTENT + b"\n", CHANGED, PAGE, b""])
def test_content_with_another_digest(fetcher: Fetcher, server: Mirror, sent: bytes) -> None:
    file = upstream(server)
    # Its length agrees with the header, so that only the digest tells.
    server.faults("/origin", [whole(sent)])
    page = "gave a web page of " if sent == PAGE else "gave "
    fetcher.fails(
        file, f"{server.url}/origin {page}{len(sent):,} bytes with SHA-256 {sha256(sent)}",
        f"the pinned digest is {sha256(CONTENT)}", "nothing was kept",
    )  # fmt: skip
    assert fetcher.remains() == {} and len(server.asked) == 1
    fetcher(file)
    assert fetcher.files() == {NAME: CONTENT}
