"""Downloads over HTTP: repeated while a server is busy, and gone on with where they were cut."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import requests
import tenacity
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

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


class WrongError(FetchError):
    """What came is not the file."""


def download(url: str, target: Path, backoff: float) -> None:
    """Stream `url` to `target`, going on where an earlier attempt (or job) was cut.

    Raises:
        AbsentError: the server has no such file.
        FetchError: any other failure, after the last attempt.
    """
    session = _session(backoff)
    again: Callable[[], None] = tenacity.retry(
        retry=tenacity.retry_if_exception_type(CUT),
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=tenacity.wait_exponential(backoff, max=60),
        before_sleep=lambda state: log.info(
            "%s: %s (%d of %d)", url, _state(target), state.attempt_number, ATTEMPTS
        ),
        reraise=True,
    )(lambda: _stream(session, url, target))
    try:
        with session:
            again()
    except CUT as error:
        had = target.exists() and target.stat().st_size > 0
        advice = "start again to go on where it stopped" if had else "is there a network?"
        raise FetchError(
            f"{url}: {ATTEMPTS} attempts failed ({type(error).__name__}: {reason_of(error)}); {advice}"
        ) from error
    except requests.exceptions.TooManyRedirects as error:
        raise FetchError(f"{url}: redirected in a circle ({reason_of(error)})") from error
    except requests.exceptions.RequestException as error:
        raise FetchError(f"{url}: {type(error).__name__}: {reason_of(error)}") from error


def _state(target: Path) -> str:
    size = target.stat().st_size if target.exists() else 0
    return f"cut after {size:,} bytes, going on" if size else "no answer, trying again"


def reason_of(error: Exception) -> str:
    """The beginning of an error's text, in one line."""
    return " ".join(str(error).split())[:300]


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
        retry_after_max=60,
        raise_on_status=False,
    )
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retry))
    return session


def _stream(session: requests.Session, url: str, target: Path) -> None:
    have = target.stat().st_size if target.exists() else 0
    # Without this header servers may compress on the way, and a range of that is no use.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with session.get(
        url, headers=headers, stream=True, timeout=(CONNECT_SECONDS, READ_SECONDS)
    ) as answer:
        status = f"HTTP {answer.status_code} {answer.reason}"
        sent = answer.headers.get("Content-Range", "")
        if answer.status_code == 416 and sent == f"bytes */{have}":
            return
        if answer.status_code == 416 or (
            answer.status_code == 206
            and not (sent.startswith(f"bytes {have}-") and "Content-Encoding" not in answer.headers)
        ):
            # The remains are of another file, or the server counts in another way.
            target.unlink(missing_ok=True)
            raise requests.exceptions.ConnectionError(f"no continuation: {status}, range {sent!r}")
        if answer.status_code in (403, 404, 410):
            raise AbsentError(f"{url}: {status}")
        if answer.status_code in BUSY:
            raise FetchError(f"{url}: {status}, after {ATTEMPTS} repetitions; try again later")
        if answer.status_code not in (200, 206):
            raise FetchError(f"{url}: {status}")
        with target.open("ab" if answer.status_code == 206 else "wb") as file:
            for block in answer.iter_content(BLOCK):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
