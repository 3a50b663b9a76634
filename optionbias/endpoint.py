"""Where a closed model is asked: address, model, request options, price, and its key's variable.

The `source` of a closed checkpoint is

    {api: https://host/v1, model: name, key: VARIABLE, request: {...},
     price: {input: USD per million tokens, output: ...},
     concurrency: 4, requests_per_minute: 60, timeout: 120}

of which only `model` must be given. A key itself never stands in a file: `key` names the
environment variable that holds it, `key: null` says that the server asks for none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

API = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
# Sixteen tokens hold one letter in any tokeniser, and stop a model that explains itself.
REQUEST: dict[str, Any] = {"temperature": 0, "max_tokens": 16}
CONCURRENCY, TIMEOUT = 4, 120.0
# Options that the readout decides itself, or that would put a secret into a file.
NOT_OPTIONS = frozenset(
    "messages model n stream stream_options api_key authorization headers extra_headers "
    "extra_query extra_body".split()
)
# Upper case alone: a key that was pasted in the place of its variable's name is no such name.
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


class KeyMissingError(ValueError):
    """A key that is not in the environment, or that no request can carry."""


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What a call of so many tokens costs, in US dollars."""
        return (self.input * prompt_tokens + self.output * completion_tokens) / 1e6


@dataclass(frozen=True)
class Endpoint:
    """How a closed checkpoint is asked.

    Attributes:
        api: base address of the OpenAI-compatible API.
        model: its name there.
        request: options of each request, the defaults filled in.
        key: the environment variable that holds the key, None where none is needed.
        price: None where it is not given.
        concurrency: calls at a time.
        requests_per_minute: None for no limit but the server's.
        timeout: seconds without a byte after which a call is asked again.
    """

    api: str
    model: str
    request: dict[str, Any]
    key: str | None = KEY
    price: Price | None = None
    concurrency: int = CONCURRENCY
    requests_per_minute: float | None = None
    timeout: float = TIMEOUT

    @classmethod
    def of(cls, source: Mapping[str, Any]) -> Endpoint:
        """The endpoint of a checked `source`.

        An option of `request` replaces the default of its name, null takes it out, and
        `max_completion_tokens` takes the place of `max_tokens`.
        """
        given = dict(source.get("request", {}))
        default = dict(REQUEST)
        if "max_completion_tokens" in given:
            del default["max_tokens"]
        request = {k: v for k, v in {**default, **given}.items() if v is not None}
        more = {
            name: source[name]
            for name in ("key", "concurrency", "requests_per_minute", "timeout")
            if name in source
        }
        price = Price(**source["price"]) if "price" in source else None
        api = source.get("api", API).rstrip("/")
        return cls(api, source["model"], request, price=price, **more)

    def shaping(self) -> dict[str, Any]:
        """What decides the answers, apart from the messages: kept with each sweep."""
        return {"api": self.api, "model": self.model, "request": self.request}

    def reply_limit(self) -> int | None:
        """The most tokens that a reply may take, None where the request does not say."""
        limit = self.request.get("max_completion_tokens", self.request.get("max_tokens"))
        return int(limit) if limit is not None else None

    def secret(self) -> str:
        """Whatever the key's variable holds, to be hidden in texts; empty where there is none."""
        return os.environ.get(self.key, "") if self.key else ""

    def read_key(self) -> str:
        """The key from the environment, without blanks at its edges; empty where none is needed.

        Raises:
            KeyMissingError: naming the variable, never its value.
        """
        if self.key is None:
            return ""
        value = self.secret().strip()
        if not value:
            raise KeyMissingError(
                f"environment variable {self.key} is not set: it holds the key of {self.api}; set it, or "
                f"leave the readout `closed` out of the cohort file"
            )
        if not (value.isascii() and value.isprintable() and " " not in value):
            raise KeyMissingError(
                f"environment variable {self.key} is no key: it holds a blank, a control character "
                f"or one outside ASCII"
            )
        return value


def faults(source: Mapping[str, Any] | None, cost_limit: float | None) -> list[str]:
    """Why a closed checkpoint cannot be asked; none of them prints a value that may be a secret.

    Args:
        source: the checkpoint's `source`, which fits the cohort schema.
        cost_limit: the config's, which needs a price.
    """
    if not source or "model" not in source:
        return ["missing key `source.model` (needed to ask a closed model)"]
    found = []
    try:
        address = urlsplit(source.get("api", API))
        whole = address.scheme in ("http", "https") and bool(address.hostname)
        bare = not (address.username or address.password or address.query or address.fragment)
    except ValueError:
        whole = bare = False
    if not (whole and bare):
        found.append(
            "`source.api` is not an http(s) address without user, password and query (keys come "
            "from the environment alone)"
        )
    key = source.get("key", KEY)
    if key is not None and not VARIABLE.fullmatch(key):
        found.append(
            "`source.key` is not the name of an environment variable in upper case (a key itself "
            "never stands in a file)"
        )
    refused = sorted(name for name in source.get("request", {}) if name.lower() in NOT_OPTIONS)
    if refused:
        found.append(f"`source.request` must not set {', '.join(refused)}")
    if cost_limit is not None and "price" not in source:
        found.append("missing key `source.price` (needed by config key `cost_limit`)")
    return found
