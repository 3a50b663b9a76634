"""A file to fetch, and what fetches it: shared by the tests of downloads."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest

from mirrors import Mirror
from optionbias import fetch
from optionbias.benchmarks.source import Benchmark, File
from optionbias.data_lock import DataLock
from optionbias.fetch_http import BLOCK, FetchError

EXAM = Benchmark("exam", "The exam", 4, "of one's own", "nobody", {})
# A few blocks and a rest, so that a cut leaves something to go on from.
CONTENT = random.Random(1).randbytes(5 * BLOCK + 17)
OTHER = random.Random(2).randbytes(5 * BLOCK + 17)
NAME = "test/all items.jsonl"
PATH, PACKED = f"/exam/raw/{NAME}", f"/exam/raw/{NAME}.gz"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Fetcher:
    """Fetches one file into a store of its own, without waiting between attempts."""

    def __init__(self, folder: Path) -> None:
        self.store, self.lock = folder / "store", DataLock(folder / "data.lock")

    def __call__(self, file: File, mirror: str | None = None) -> fetch.Fetched:
        (fetched,) = fetch.fetch_all(EXAM, (file,), self.store, self.lock, mirror, backoff=0)
        return fetched

    def fails(self, file: File, *told: str, mirror: str | None = None) -> FetchError:
        """It fails in one line that tells these things, and leaves no file."""
        with pytest.raises(FetchError) as error:
            self(file, mirror)
        for part in (f"exam/{file.name}: ", *told):
            assert part in str(error.value)
        assert "\n" not in str(error.value)
        assert self.files() == {}
        return error.value

    def files(self) -> dict[str, bytes]:
        """What the store holds, but for unfinished downloads."""
        raw = self.store / "exam" / "raw"
        paths = [path for path in raw.rglob("*") if path.is_file()]
        relative = {path.relative_to(raw).as_posix(): path for path in paths}
        return {n: p.read_bytes() for n, p in relative.items() if not n.startswith(".partial/")}

    def remains(self) -> dict[str, bytes]:
        folder = self.store / "exam" / "raw" / ".partial"
        paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".busy"]
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}

    def leave(self, name: str, content: bytes) -> None:
        """As if an earlier job had been killed after this much."""
        path = self.store / "exam" / "raw" / ".partial" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def upstream(server: Mirror, content: bytes = CONTENT) -> File:
    """The file at an address of its own, as its module declares it."""
    server.files["/origin"] = content
    return File(NAME, sha256(content), f"{server.url}/origin")


def fetch_one(folder: Path, file: File) -> None:
    """For a process of its own."""
    Fetcher(folder)(file)
