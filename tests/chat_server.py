"""A local server that answers chats as an OpenAI-compatible API does, by a rule and with faults."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from mirrors import Handler, Server

Rule = Callable[[str], Any]
Fault = Callable[[Handler, bytes], None]


class ChatServer(Server):
    """Answers each chat with what `rule` says of its message; `faults` spoil the first answers.

    Attributes:
        rule: the user's message -> the reply's text, or a dict that replaces keys of the message.
        answered: message -> how often it was answered whole with status 200.
        bodies: every request as it came.
        change: a whole answer -> the answer that is sent.
    """

    def __init__(self, rule: Rule = lambda message: "A", faults: Iterable[Fault] = ()) -> None:
        super().__init__()
        self.rule = rule
        self.faults = list(faults)
        self.answered: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.change: Callable[[dict[str, Any]], Any] = lambda whole: whole
        self.delay = 0.0
        self._turn = threading.Lock()

    @property
    def api(self) -> str:
        return f"{self.url}/v1"

    def answer(self, handler: Handler) -> None:
        assert handler.asked.path == "/v1/chat/completions"
        body = json.loads(handler.asked.body)
        message = body["messages"][-1]["content"]
        with self._turn:
            self.bodies.append(body)
            fault = self.faults.pop(0) if self.faults else None
        content = json.dumps(self.change(self.completion(body, message))).encode()
        if fault is not None:
            return fault(handler, content)
        time.sleep(self.delay)
        handler.reply(200, content, {"Content-Type": "application/json"})
        with self._turn:
            self.answered[message] += 1

    def completion(self, body: dict[str, Any], message: str) -> dict[str, Any]:
        """An answer of four characters a token to the prompt and one token of reply."""
        said = self.rule(message)
        told = said if isinstance(said, dict) else {"content": said}
        finish = told.pop("finish_reason", "stop")
        return {
            "id": "chat-1", "object": "chat.completion", "created": 1, "model": f"{body['model']}-1",
            "system_fingerprint": "fp_1",
            "choices": [{"index": 0, "finish_reason": finish,
                         "message": {"role": "assistant", **told}}],
            "usage": {"prompt_tokens": len(message) // 4, "completion_tokens": 1,
                      "total_tokens": len(message) // 4 + 1},
        }  # fmt: skip


def status(number: int, headers: dict[str, str] | None = None, **error: Any) -> Fault:
    """An error in the API's words, `message` and `code` among them."""
    body = json.dumps({"error": {"message": "as told", **error}}).encode()
    kind = {"Content-Type": "application/json"}
    return lambda handler, content: handler.reply(number, body, {**kind, **(headers or {})})


def cut(handler: Handler, content: bytes) -> None:
    """The connection ends in the middle of the body."""
    kind = {"Content-Type": "application/json"}
    handler.reply(200, content[: len(content) // 2], kind, length=len(content))


def hung_up(handler: Handler, content: bytes) -> None:
    """The connection ends without an answer."""
    handler.close_connection = True
    handler.connection.close()


def slow(seconds: float) -> Fault:
    """Nothing comes for so long."""

    def fault(handler: Handler, content: bytes) -> None:
        time.sleep(seconds)
        handler.close_connection = True

    return fault


def page(handler: Handler, content: bytes) -> None:
    """A gateway's page instead of an answer, with status 200."""
    handler.reply(200, b"<html>come back later</html>", {"Content-Type": "text/html"})


def broken_json(handler: Handler, content: bytes) -> None:
    """Half an answer that claims to be whole."""
    handler.reply(200, content[: len(content) // 2], {"Content-Type": "application/json"})


def not_a_text(handler: Handler, content: bytes) -> None:
    """Bytes that are no UTF-8."""
    handler.reply(200, b'{"\xff\xfe": 1}', {"Content-Type": "application/json"})


def echo(code: int) -> Fault:
    """An error that prints every header of the request, the key among them."""

    def fault(handler: Handler, content: bytes) -> None:
        told = json.dumps(dict(handler.headers.items()))
        status(code, message=f"refused: {told}")(handler, content)

    return fault
