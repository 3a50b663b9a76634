"""Files of published benchmarks: from a mirror, upstream or the hub, checked, whole or absent.

A fetched file lies at `{store}/{benchmark}/raw/{name}`, the layout of a mirror, so that the store
of one machine is the mirror of another. Partial downloads wait in `.partial` beside it and are
resumed.
"""

from __future__ import annotations

import gzip
import json
import logging
import os
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from filelock import FileLock

from optionbias import fetch_http, fetch_hub
from optionbias.atomic import atomic_path, write_text
from optionbias.benchmarks.source import Benchmark, File
from optionbias.data_lock import DataLock
from optionbias.digests import full_digest
from optionbias.fetch_http import AbsentError, FetchError, WrongError, reason_of
from optionbias.progress import Progress

log = logging.getLogger(__name__)

# What every gzip file begins with.
GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Fetched:
    """A file in the store, checked. `revision` is the commit that the hub resolved."""

    name: str
    sha256: str
    address: str
    revision: str | None = None


def fetch_all(
    benchmark: Benchmark,
    files: tuple[File, ...],
    store: Path,
    lock: DataLock,
    mirror: str | None = None,
    backoff: float = 1.0,
) -> list[Fetched]:
    """Bring every file into the store.

    Args:
        benchmark: whose files they are; its terms are shown where they restrict use.
        store: folder that holds `{benchmark}/raw/{name}` afterwards.
        lock: digests of files whose module declares none.
        mirror: folder or HTTP address that is read instead of upstream; nothing else is called.
        backoff: seconds before the first repetition; it doubles each time.

    Raises:
        FetchError: naming the file and its address.
    """
    if benchmark.restricted:
        log.info("%s: %s", benchmark.title, benchmark.restricted)
    fetched = []
    with Progress(f"{benchmark.name} files", len(files), "files") as progress:
        for file in files:
            fetched.append(_Job(benchmark.name, file, store, lock, mirror, backoff).run())
            progress.add(1)
    return fetched


@dataclass(frozen=True)
class _Job:
    """One file to be brought into the store."""

    benchmark: str
    file: File
    store: Path
    lock: DataLock
    mirror: str | None
    backoff: float

    @property
    def key(self) -> str:
        return f"{self.benchmark}/{self.file.name}"

    @property
    def target(self) -> Path:
        return self.store / self.benchmark / "raw" / self.file.name

    @property
    def partial(self) -> Path:
        return self.store / self.benchmark / "raw" / ".partial" / self.file.name

    @property
    def remains(self) -> list[Path]:
        """What an earlier job may have left: the file, packed, or what it is derived from."""
        names = (f"{self.partial.name}{ending}" for ending in ("", ".gz", ".served"))
        return [path for path in map(self.partial.with_name, names) if path.exists()]

    def run(self) -> Fetched:
        self.partial.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{self.partial}.busy"):
            # Read only now: another job may have recorded the file while this one waited.
            recorded = self.lock.entry(self.key) if self.file.sha256 is None else None
            known = recorded.sha256 if recorded else self.file.sha256
            revision = recorded.revision if recorded else None
            if known is not None and self.target.is_file() and full_digest(self.target) == known:
                return Fetched(self.file.name, known, self.file.address, revision)
            if known is None:
                # No digest would tell that the remains are of another revision.
                self._discard()
            suspect = bool(self.remains) or (self.mirror is None and self.file.hub is not None)
            try:
                try:
                    return self._attempt(known, revision)
                except WrongError as error:
                    if not suspect:
                        raise
                    log.info("%s: once more from the start, nothing reused: %s", self.key, error)
                    return self._attempt(known, revision, fresh=True)
            except FetchError as error:
                otherwise = (
                    "`mirror` can name another place that has it"
                    if self.mirror is None
                    else f"without `mirror` it is had from its origin, {self.file.address}"
                )
                raise type(error)(f"{self.key}: {error}; {otherwise}") from error

    def _attempt(self, known: str | None, revision: str | None, fresh: bool = False) -> Fetched:
        try:
            origin, revision = self._obtain(revision, fresh)
            found = full_digest(self.partial)
            page = _is_web_page(self.partial)
            if known is None and page:
                raise WrongError(f"{origin} gave a web page (a login or an error?)")
            if known is None:
                known = self.lock.record(self.key, found, revision).sha256
                log.info("%s: SHA-256 %s recorded in %s", self.key, found, self.lock.path)
            if found != known:
                size = f"{'a web page of ' if page else ''}{self.partial.stat().st_size:,} bytes"
                where, accept = "the pinned digest", ""
                if self.file.sha256 is None:
                    where = f"the digest in {self.lock.path}"
                    accept = f"; if the new file is meant, delete its entry in {self.lock.path}"
                raise WrongError(
                    f"{origin} gave {size} with SHA-256 {found}, {where} is {known}: the file is "
                    f"cut, changed, or another revision; nothing was kept{accept}"
                )
        except WrongError:
            self._discard()
            raise
        _move(self.partial, self.target)
        return Fetched(self.file.name, known, self.file.address, revision)

    def _obtain(self, revision: str | None, fresh: bool) -> tuple[str, str | None]:
        """Bring what may be the file to `partial`; return where it came from, and its commit."""
        if self.mirror is not None:
            relative = f"{self.benchmark}/raw/{self.file.name}"
            return _from_mirror(self.mirror, relative, self.partial, self.backoff), revision
        if self.file.hub is not None:
            commit = fetch_hub.download(self.file.hub, revision, self.partial, self.backoff, fresh)
            return f"{self.file.address} at {commit}", commit
        _from_upstream(self.file, self.partial, self.backoff)
        return self.file.address, revision

    def _discard(self) -> None:
        for path in self.remains:
            path.unlink()


def write_manifest(path: Path, benchmark: str, fetched: Sequence[Fetched]) -> None:
    """Write what was fetched as JSON: the file that later rules declare as their input."""
    listed = {"benchmark": benchmark, "files": [asdict(entry) for entry in fetched]}
    write_text(path, json.dumps(listed, indent=1) + "\n")


def checked_folder(manifest: Path, store: Path) -> Path:
    """The folder of a manifest's files, each still the one that was fetched.

    Raises:
        FetchError: naming a file that is gone or was changed.
    """
    listed = json.loads(manifest.read_text(encoding="utf-8"))
    folder = store / listed["benchmark"] / "raw"
    for entry in listed["files"]:
        path = folder / entry["name"]
        if not path.is_file() or full_digest(path) != entry["sha256"]:
            state = "is not the file that was fetched" if path.is_file() else "is gone"
            raise FetchError(f"{path} {state}: delete {manifest} to have it fetched again")
    return folder


def _from_mirror(mirror: str, relative: str, partial: Path, backoff: float) -> str:
    """The file as it is in the mirror, or its `.gz` unpacked."""
    remote = mirror.startswith(("http://", "https://"))
    absent = []
    for ending in ("", ".gz"):
        place = f"{mirror.rstrip('/')}/{quote(relative) if remote else relative}{ending}"
        packed = partial.with_name(partial.name + ending)
        try:
            if remote:
                fetch_http.download(place, packed, backoff)
            else:
                _copy(Path(place), packed)
        except AbsentError as error:
            absent.append(str(error))
            continue
        if ending:
            _unpack(packed, partial, place)
        return place
    raise AbsentError(f"the mirror lacks it ({', '.join(absent)}): add the file there")


def _copy(source: Path, target: Path) -> None:
    if not source.is_file():
        raise AbsentError(f"no file {source}")
    shutil.copyfile(source, target)


def _unpack(packed: Path, target: Path, place: str) -> None:
    """Unpack a gzip file, unless the server has declared and the client undone its compression."""
    with packed.open("rb") as file:
        if file.read(2) != GZIP:
            os.replace(packed, target)
            return
    try:
        with gzip.open(packed) as compressed, target.open("wb") as plain:
            shutil.copyfileobj(compressed, plain)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise WrongError(f"{place}: not a whole gzip file ({error})") from error
    packed.unlink()


def _from_upstream(file: File, partial: Path, backoff: float) -> None:
    if file.derive is None:
        return fetch_http.download(file.address, partial, backoff)
    served = partial.with_name(partial.name + ".served")
    fetch_http.download(file.address, served, backoff)
    try:
        content = file.derive(served.read_bytes())
    except Exception as error:
        # What came may be anything, and so may be what the function stumbles over.
        raise WrongError(
            f"{file.address} does not hold what the file is derived from "
            f"({type(error).__name__}: {reason_of(error)})"
        ) from error
    with atomic_path(partial) as temporary:
        temporary.write_bytes(content)
    served.unlink()


def _is_web_page(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(1024).lstrip().lower().startswith((b"<!doctype html", b"<html"))


def _move(partial: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(partial, target)
