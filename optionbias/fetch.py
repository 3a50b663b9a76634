"""Files of published benchmarks: from a mirror, upstream or the hub, checked, whole or absent.

A fetched file lies at `{store}/{benchmark}/raw/{name}`, the layout of a mirror, so that the store
of one machine is the mirror of another. Partial downloads wait in `.partial` beside it and are
resumed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import os
import shutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

import requests
import tenacity
from filelock import FileLock
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from optionbias.atomic import atomic_path, write_text
from optionbias.benchmarks.source import Benchmark, File
from optionbias.data_lock import DataLock
from optionbias.progress import Progress

log = logging.getLogger(__name__)

ATTEMPTS = 5
CONNECT_SECONDS, READ_SECONDS = 10, 60
BLOCK = 1 << 16
# Answers that a server may give when it is merely busy.
BUSY = (429, 500, 502, 503, 504)
# Failures in the middle of a body; those before it are retried by urllib3.
CUT = (
    requests.exceptions.ChunkedEncodingError,
    requests.exceptions.ConnectionError,
    requests.exceptions.Timeout,
)


class FetchError(RuntimeError):
    """A file that could not be had, or is not the file it should be."""


class AbsentError(FetchError):
    """The server or folder does not have this file."""


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
            fetched.append(_fetch(benchmark.name, file, store, lock, mirror, backoff))
            progress.add(1)
    return fetched


def _fetch(
    benchmark: str, file: File, store: Path, lock: DataLock, mirror: str | None, backoff: float
) -> Fetched:
    key = f"{benchmark}/{file.name}"
    target = store / benchmark / "raw" / file.name
    partial = store / benchmark / "raw" / ".partial" / file.name
    partial.parent.mkdir(parents=True, exist_ok=True)
    recorded = lock.entry(key)
    known = file.sha256 or (recorded.sha256 if recorded else None)
    with FileLock(f"{partial}.busy"):
        if target.is_file() and known is not None and _digest(target) == known:
            return Fetched(file.name, known, file.address, recorded.revision if recorded else None)
        if mirror is not None:
            origin, revision = _from_mirror(benchmark, file, mirror, partial, backoff), None
        elif file.hub is not None:
            origin = file.address
            revision = _from_hub(file, recorded.revision if recorded else None, partial)
        else:
            origin, revision = file.address, None
            _from_upstream(file, partial, backoff)
        found = _digest(partial)
        if known is None:
            known = lock.record(key, found, revision).sha256
            log.info("%s: first download, SHA-256 %s recorded in %s", key, found, lock.path)
        if found != known:
            size = partial.stat().st_size
            partial.unlink()
            where = "its module" if file.sha256 else str(lock.path)
            raise FetchError(
                f"{key}: {origin} gave {size:,} bytes with SHA-256 {found}, {where} says {known}: the "
                f"file is cut, changed, or another revision; nothing was kept"
            )
        _move(partial, target)
    return Fetched(file.name, known, file.address, revision)


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
        if not path.is_file() or _digest(path) != entry["sha256"]:
            state = "is not the file that was fetched" if path.is_file() else "is gone"
            raise FetchError(f"{path} {state}: delete {manifest} to have it fetched again")
    return folder


def _from_mirror(benchmark: str, file: File, mirror: str, partial: Path, backoff: float) -> str:
    """The file as it is in the mirror, or its `.gz` unpacked."""
    remote = mirror.startswith(("http://", "https://"))
    session = _session(backoff) if remote else None
    tried = []
    for ending in ("", ".gz"):
        place = f"{mirror.rstrip('/')}/{benchmark}/raw/{file.name}{ending}"
        packed = partial.with_name(partial.name + ending)
        try:
            if session is not None:
                address = mirror.rstrip("/") + quote(f"/{benchmark}/raw/{file.name}{ending}")
                _download(session, address, packed, backoff)
            else:
                _copy(Path(place), packed)
        except AbsentError:
            tried.append(place)
            continue
        if ending:
            _unpack(packed, partial, place)
        return place
    raise AbsentError(
        f"{benchmark}/{file.name}: the mirror has neither {' nor '.join(tried)}; add the file "
        f"(its origin is {file.address}), or run without `mirror`"
    )


def _copy(source: Path, target: Path) -> None:
    if not source.is_file():
        raise AbsentError(f"no file {source}")
    shutil.copyfile(source, target)


def _unpack(packed: Path, target: Path, place: str) -> None:
    try:
        with gzip.open(packed) as compressed, target.open("wb") as plain:
            shutil.copyfileobj(compressed, plain)
    except (OSError, EOFError, zlib.error) as error:
        target.unlink(missing_ok=True)
        raise FetchError(f"{place}: not a whole gzip file ({error})") from error
    finally:
        packed.unlink(missing_ok=True)


def _from_upstream(file: File, partial: Path, backoff: float) -> None:
    if file.derive is None:
        return _download(_session(backoff), file.address, partial, backoff)
    served = partial.with_name(partial.name + ".served")
    _download(_session(backoff), file.address, served, backoff)
    try:
        content = file.derive(served.read_bytes())
    except (ValueError, KeyError, TypeError, SyntaxError) as error:
        raise FetchError(
            f"{file.name}: {file.address} does not hold what it is derived from ({error})"
        ) from error
    finally:
        served.unlink()
    with atomic_path(partial) as temporary:
        temporary.write_bytes(content)


def _from_hub(file: File, commit: str | None, partial: Path) -> str:
    """The file from the Hugging Face hub, at a commit: the recorded one, else that of its branch."""
    from huggingface_hub import HfApi, hf_hub_download

    assert file.hub is not None
    hub = file.hub
    try:
        resolved = commit or HfApi().dataset_info(hub.dataset, revision=hub.revision).sha
        cached = hf_hub_download(hub.dataset, hub.path, repo_type="dataset", revision=resolved)
    except Exception as error:
        # The client raises its own, its HTTP library's and the system's errors alike.
        raise FetchError(
            f"{file.name}: {file.address} at {commit or hub.revision} cannot be had "
            f"({type(error).__name__}: {' '.join(str(error).split())[:300]}); without internet, "
            f"set `mirror`"
        ) from error
    shutil.copyfile(cached, partial)
    return str(resolved)


def _session(backoff: float) -> requests.Session:
    retry = Retry(
        total=None,
        connect=1,
        read=0,
        status=ATTEMPTS,
        other=0,
        status_forcelist=BUSY,
        backoff_factor=backoff,
        backoff_max=60,
        respect_retry_after_header=True,
        raise_on_status=False,
    )
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retry))
    return session


def _download(session: requests.Session, url: str, target: Path, backoff: float) -> None:
    """Stream `url` to `target`, going on where an earlier attempt (or job) was cut.

    Raises:
        AbsentError: the server has no such file.
        FetchError: any other failure, after the last attempt.
    """
    again: Callable[[], None] = tenacity.retry(
        retry=tenacity.retry_if_exception_type(CUT),
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=tenacity.wait_exponential(backoff, max=60),
        before_sleep=lambda state: log.info(
            "%s: cut after %s bytes, going on (%d of %d)",
            url,
            f"{target.stat().st_size:,}" if target.exists() else 0,
            state.attempt_number,
            ATTEMPTS,
        ),
        reraise=True,
    )(lambda: _stream(session, url, target))
    try:
        again()
    except requests.exceptions.TooManyRedirects as error:
        raise FetchError(f"{url}: redirected in a circle ({error})") from error
    except requests.exceptions.RequestException as error:
        raise FetchError(
            f"{url}: {ATTEMPTS} attempts failed ({type(error).__name__}: {_reason(error)}); start "
            f"again to go on where it stopped, or set `mirror`"
        ) from error


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _stream(session: requests.Session, url: str, target: Path) -> None:
    have = target.stat().st_size if target.exists() else 0
    # Without this header servers may compress on the way, and a range of that is no use.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with session.get(
        url, headers=headers, stream=True, timeout=(CONNECT_SECONDS, READ_SECONDS)
    ) as answer:
        if answer.status_code == 416:
            # Nothing is left to send: either all is there, or the remains are of another file.
            whole = answer.headers.get("Content-Range", "").rpartition("/")[2]
            if whole == str(have):
                return
            target.unlink()
            raise requests.exceptions.ConnectionError("the partial file is longer than the file")
        if answer.status_code in (403, 404, 410):
            raise AbsentError(f"{url}: HTTP {answer.status_code} {answer.reason}")
        if answer.status_code not in (200, 206):
            raise FetchError(f"{url}: HTTP {answer.status_code} {answer.reason}")
        with target.open("ab" if answer.status_code == 206 else "wb") as file:
            for block in answer.iter_content(BLOCK):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _move(partial: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(partial, target)
