"""Local servers: a mirror that fails as it is told to, and the hub as far as its client asks."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import unquote

import pytest


@dataclass
class Asked:
    """One request as the server saw it, and the bytes of the body that it sent."""

    method: str
    path: str
    headers: dict[str, str]
    sent: int = 0
    body: bytes = b""

    @property
    def range(self) -> str | None:
        return self.headers.get("range")


class Handler(BaseHTTPRequestHandler):
    """One connection; `asked` is its latest request."""

    protocol_version = "HTTP/1.1"
    asked: Asked

    def do_GET(self) -> None:
        assert isinstance(self.server, Listener)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        self.asked = Asked(self.command, unquote(self.path), headers, body=body)
        self.server.owner.asked.append(self.asked)
        self.server.owner.answer(self)

    do_HEAD = do_POST = do_GET

    def reply(
        self,
        status: int,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        """Answer; with a `length` that the body does not have the connection ends in its middle."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.close_connection = length is not None
        if self.command != "HEAD":
            self.asked.sent = len(body)
            self.wfile.write(body)

    def start(self) -> int:
        """The first byte that the request wants."""
        return int((self.asked.range or "bytes=0-").removeprefix("bytes=").removesuffix("-"))

    def serve(self, content: bytes, upto: int | None = None) -> None:
        """The content, from where the request wants it; `upto`: the connection ends there."""
        start = self.start()
        size = len(content)
        if start and start >= size:
            return self.reply(416, headers={"Content-Range": f"bytes */{size}"})
        headers = {"Content-Range": f"bytes {start}-{size - 1}/{size}"} if start else {}
        length = None if upto is None else size - start
        self.reply(206 if start else 200, content[start:upto], headers, length)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    owner: Server


class Server:
    """A server on a free port of this machine; use it as a context manager."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._listener = Listener(("127.0.0.1", 0), Handler)
        self._listener.owner = self
        self.port = self._listener.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        # Looks every 10 ms whether it is to end, not every half second.
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.01,))

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join()

    def answer(self, handler: Handler) -> None:
        raise NotImplementedError


Fault = Callable[[Handler, bytes], None]


class Mirror(Server):
    """Serves `files` by their path; each of a path's `faults` spoils one answer."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {}
        self._faults: dict[str, Iterator[Fault]] = {}

    def faults(self, path: str, faults: Iterable[Fault]) -> None:
        """Spoil the next answers at a path, as many as there are faults."""
        self._faults[path] = iter(faults)

    def ranges(self) -> list[str | None]:
        """The `Range` header of each request so far."""
        return [asked.range for asked in self.asked]

    def answer(self, handler: Handler) -> None:
        path = handler.asked.path
        content = self.files.get(path)
        fault = next(self._faults.get(path, iter(())), None)
        if fault is not None:
            fault(handler, content or b"")
        elif content is None:
            handler.reply(404)
        else:
            handler.serve(content)


def cut(upto: int) -> Fault:
    """The connection ends before byte `upto` of the file."""
    return lambda handler, content: handler.serve(content, max(upto, handler.start()))


def held(upto: int, until: threading.Event) -> Fault:
    """Sends up to byte `upto`, then nothing until the event."""

    def fault(handler: Handler, content: bytes) -> None:
        handler.serve(content, upto)
        until.wait(120)

    return fault


def status(code: int, headers: dict[str, str] | None = None) -> Fault:
    """An answer without the file."""
    return lambda handler, content: handler.reply(code, b"no", headers)


def whole(content: bytes | None = None) -> Fault:
    """All of the file (or of another content) with status 200, whatever range was asked for."""
    return lambda handler, own: handler.reply(200, own if content is None else content)


def partly(content_range: str, body: bytes) -> Fault:
    """A range of the server's own choice."""
    return lambda handler, content: handler.reply(206, body, {"Content-Range": content_range})


class Hub(Server):
    """A data set as the hub serves it: commits with files, branches that name a commit."""

    dataset = "TIGER-Lab/MMLU-Pro"

    def __init__(self) -> None:
        super().__init__()
        self.commits: dict[str, dict[str, bytes]] = {}
        self.branches: dict[str, str] = {}
        # Statuses of the next answers, instead of theirs, with the hub's own word for the error.
        self.errors: list[tuple[int, str]] = []

    def answer(self, handler: Handler) -> None:
        path = handler.asked.path
        if self.dataset not in path:
            # The client asks for other things as well, and does without them.
            self.asked.remove(handler.asked)
            return handler.reply(404)
        if self.errors:
            code, word = self.errors.pop(0)
            return handler.reply(code, headers={"X-Error-Code": word} if word else {})
        about, files = (
            f"/api/datasets/{self.dataset}/revision/",
            f"/datasets/{self.dataset}/resolve/",
        )
        revision, _, name = path.removeprefix(about).removeprefix(files).partition("/")
        commit = self.branches.get(revision, revision)
        if commit not in self.commits:
            handler.reply(404, headers={"X-Error-Code": "RevisionNotFound"})
        elif path.startswith(about):
            told = {"id": self.dataset, "sha": commit, "siblings": [], "tags": []}
            handler.reply(200, json.dumps(told).encode())
        elif name not in self.commits[commit]:
            handler.reply(404, headers={"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
        else:
            content = self.commits[commit][name]
            etag = f'"{hashlib.sha256(content).hexdigest()}"'
            handler.reply(200, content, {"ETag": etag, "X-Repo-Commit": commit})


def allow_only(monkeypatch: pytest.MonkeyPatch, port: int | None) -> None:
    """Let nothing but this port of this machine be called; None: nothing at all."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        assert port is not None and address == ("127.0.0.1", port), f"{address} was called"
        connect(self, address)

    def resolve(host: Any, *args: Any, **kwargs: Any) -> Any:
        assert host == "127.0.0.1", f"{host} was looked up"
        return known(host, *args, **kwargs)

    known = socket.getaddrinfo
    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
