"""Sources of closed checkpoints: defaults, prices, keys, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from optionbias.endpoint import API, Endpoint, KeyMissingError, Price, faults
from optionbias.validation import ConfigError, check


def test_only_the_model_must_be_given() -> None:
    endpoint = Endpoint.of({"model": "m"})
    assert endpoint == Endpoint(API, "m", {"temperature": 0, "max_tokens": 16})
    assert (endpoint.key, endpoint.price, endpoint.concurrency) == ("OPENAI_API_KEY", None, 4)
    assert endpoint.reply_limit() == 16


@pytest.mark.parametrize(
    ("given", "request_options", "limit"),
    [
        ({"temperature": 1}, {"temperature": 1, "max_tokens": 16}, 16),
        ({"temperature": None}, {"max_tokens": 16}, 16),
        ({"max_tokens": None}, {"temperature": 0}, None),
        ({"max_completion_tokens": 99}, {"temperature": 0, "max_completion_tokens": 99}, 99),
        ({"max_completion_tokens": None}, {"temperature": 0}, None),
        ({"seed": 0}, {"temperature": 0, "max_tokens": 16, "seed": 0}, 16),
    ],
)
def test_request_options(
    given: dict[str, Any], request_options: dict[str, Any], limit: int | None
) -> None:
    endpoint = Endpoint.of({"model": "m", "request": given})
    assert endpoint.request == request_options and endpoint.reply_limit() == limit


def test_what_shapes_an_answer_is_not_how_it_is_asked() -> None:
    plain = Endpoint.of({"model": "m", "api": "http://h/v1/"})
    other = Endpoint.of(
        {
            "model": "m", "api": "http://h/v1", "key": None, "price": {"input": 1, "output": 2},
            "concurrency": 9, "requests_per_minute": 5, "timeout": 3,
        }
    )  # fmt: skip
    assert plain.shaping() == other.shaping() and plain != other
    assert Endpoint.of({"model": "n", "api": "http://h/v1"}).shaping() != plain.shaping()


def test_a_price_is_by_the_million() -> None:
    assert Price(2.0, 8.0).of(500_000, 250_000) == 3.0


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = Endpoint.of({"model": "m", "key": "SOME_KEY"})
    monkeypatch.setenv("SOME_KEY", " sk-1234567890\n")
    assert endpoint.read_key() == "sk-1234567890"
    monkeypatch.delenv("SOME_KEY")
    with pytest.raises(KeyMissingError, match="environment variable SOME_KEY is not set"):
        endpoint.read_key()
    assert Endpoint.of({"model": "m", "key": None}).read_key() == ""


def test_a_sound_source_has_no_faults() -> None:
    assert faults({"model": "m"}, None) == []
    assert faults({"model": "m", "key": None, "api": "http://127.0.0.1:8000/v1"}, None) == []
    assert faults({"model": "m", "price": {"input": 0, "output": 0}}, 1.0) == []


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (None, "missing key `source.model`"),
        ({}, "missing key `source.model`"),
        ({"path": "models/a"}, "missing key `source.model`"),
        ({"api": "ftp://h/v1"}, "`source.api` is not an http(s) address"),
        ({"api": "h/v1"}, "`source.api` is not"),
        ({"api": "https://"}, "`source.api` is not"),
        ({"api": "https://[::1/v1"}, "`source.api` is not"),
        ({"api": "https://secret@h/v1"}, "`source.api` is not"),
        ({"api": "https://u:secret@h/v1"}, "`source.api` is not"),
        ({"api": "https://h/v1?key=secret"}, "`source.api` is not"),
        ({"key": "sk-proj-secret"}, "`source.key` is not the name of an environment variable"),
        ({"key": "sksecret"}, "`source.key` is not"),
        ({"key": ""}, "`source.key` is not"),
        ({"request": {"model": "x", "Messages": []}}, "`source.request` must not set Messages, model"),
        ({"request": {"extra_headers": {"Authorization": "secret"}}}, "must not set extra_headers"),
    ],
)  # fmt: skip
def test_faults_print_no_value(source: dict[str, Any] | None, told: str) -> None:
    given = source if source in (None, {}) or "path" in (source or {}) else {"model": "m", **source}
    (line,) = faults(given, None)
    assert told in line and "secret" not in line


def test_a_limit_needs_a_price() -> None:
    (line,) = faults({"model": "m"}, 5.0)
    assert line == "missing key `source.price` (needed by config key `cost_limit`)"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"model": "m", "modle": 1}, "unknown key `checkpoints.0.source.modle`"),
        ({"model": "m", "price": {"input": 1}}, "missing key `checkpoints.0.source.price.output`"),
        ({"model": "m", "concurrency": 0}, "concurrency"),
        ({"model": "m", "request": []}, "`checkpoints.0.source.request` is [], not of type object"),
    ],
)
def test_the_schema_of_a_source(source: dict[str, Any], told: str) -> None:
    checkpoint = {"name": "A", "family": "F", "training": "post", "closed": True, "source": source}
    cohort = {
        "name": "c",
        "checkpoints": [checkpoint],
        "benchmarks": [{"name": "b", "K": 4}],
        "readouts": {"closed": {"checkpoints": "all", "benchmarks": "all"}},
    }
    with pytest.raises(ConfigError) as caught:
        check(cohort, "cohort", "c.yaml")
    assert told in str(caught.value)
