"""One call at a time to an OpenAI-compatible chat API, repeated while the server is merely busy.

The official client makes the calls with its own retries switched off, so that each repetition is
logged, waits where all threads of the job wait, and never prints what a server echoes of the key.
"""

from __future__ import annotations

import email.utils
import logging
import math
import random
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
import tenacity

from optionbias.endpoint import API, Endpoint
from optionbias.readouts.replies import Reply
from optionbias.redaction import Redactor

log = logging.getLogger(__name__)

ATTEMPTS = 8
FIRST_SECONDS, MOST_SECONDS = 1.0, 60.0
# A server that asks for more patience than this has run out of quota, not of breath.
LONGEST_RETRY_AFTER = 300.0
CONNECT_SECONDS = 10.0
BUSY = (408, 409, 425, 429)
# Codes of a prompt that the server's filter refuses: an answer about the item, not a fault.
FILTERED = ("content_filter", "content_policy_violation", "invalid_prompt")
ADVICE = {
    400: "does the model take these options? change `source.request` of the checkpoint",
    401: "check the key in environment variable {key}",
    402: "the account has no credit",
    403: "the key in environment variable {key} may not use this model",
    404: "check `source.model` and `source.api` of the checkpoint",
    422: "does the model take these options? change `source.request` of the checkpoint",
}


class ApiError(RuntimeError):
    """A call that was not answered; the message names checkpoint, address and reason, no key."""


class StoppedError(RuntimeError):
    """The job is ending because another of its calls failed."""


class _BusyError(Exception):
    """An answer or a cut that may not happen again."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True)
class Answer:
    """What one call returned; tokens are None where the server does not count them."""

    reply: Reply
    model: str | None
    fingerprint: str | None
    prompt_tokens: int | None
    completion_tokens: int | None


class Chat:
    """Asks one endpoint; threads may share it."""

    def __init__(self, endpoint: Endpoint, checkpoint: str, backoff: float = FIRST_SECONDS) -> None:
        """Take the key from the environment and open the client; nothing is sent yet.

        Args:
            endpoint: where and how to ask.
            checkpoint: what errors and log lines name.
            backoff: seconds of the first wait; each further one may be twice as long.

        Raises:
            KeyMissingError: the key is not in the environment.
        """
        key = endpoint.read_key()
        self.endpoint, self.checkpoint, self.redact = endpoint, checkpoint, Redactor(key)
        self.retries = 0
        self._backoff = backoff
        self._stop = threading.Event()
        self._pace = threading.Lock()
        self._next = 0.0
        others = urlsplit(endpoint.api).hostname != urlsplit(API).hostname
        # The client takes an organisation from the environment; it is no other host's business.
        hidden: Any = {name: openai.Omit() for name in ("OpenAI-Organization", "OpenAI-Project")}
        self._client = openai.OpenAI(
            api_key=key or "none",
            base_url=endpoint.api,
            max_retries=0,
            timeout=httpx2.Timeout(endpoint.timeout, connect=CONNECT_SECONDS),
            default_headers=hidden if others else None,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def stop(self) -> None:
        """End every wait: calls that have not been sent raise `StoppedError`."""
        self._stop.set()

    def ask(self, messages: list[dict[str, str]], label: str) -> Answer:
        """One answered call.

        Args:
            messages: the chat.
            label: how log lines name the call.

        Raises:
            ApiError: the server refused, or the last attempt failed.
            StoppedError: `stop` was called before the call was sent.
        """

        def say(state: tenacity.RetryCallState) -> None:
            self.retries += 1
            wait = state.upcoming_sleep
            log.info(
                "%s: %s; again in %.1f s (attempt %d of %d)",
                label, _error(state), wait, state.attempt_number + 1, ATTEMPTS,
            )  # fmt: skip

        again = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_BusyError),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=self._wait,
            sleep=self._sleep,
            before_sleep=say,
            reraise=True,
        )
        try:
            answer: Answer = again(self._once, messages)
        except _BusyError as error:
            raise ApiError(
                f"checkpoint {self.checkpoint}: {self.endpoint.api}: {ATTEMPTS} attempts failed, the "
                f"last with: {error}; answers so far are kept: run the same command again later"
            ) from None
        return answer

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """What the server asks for, or an exponential wait; both with jitter."""
        error = _error(state)
        after = error.after if isinstance(error, _BusyError) else None
        if after is None:
            return tenacity.wait_random_exponential(self._backoff, max=MOST_SECONDS)(state)
        with self._pace:  # the other threads need not run into the same limit
            self._next = max(self._next, time.monotonic() + after)
        return after + random.uniform(0, self._backoff)

    def _sleep(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise StoppedError

    def _take_turn(self) -> None:
        """Wait until the server's rate, and the one that the cohort file sets, allow a call."""
        rate = self.endpoint.requests_per_minute
        with self._pace:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + 60.0 / rate if rate else self._next
        self._sleep(turn - now)

    def _once(self, messages: list[dict[str, str]]) -> Answer:
        self._take_turn()
        try:
            completion: Any = self._client.chat.completions.create(
                model=self.endpoint.model,
                messages=messages,  # type: ignore[arg-type]
                extra_body=self.endpoint.request,
            )
        except openai.APITimeoutError:
            raise _BusyError(f"no answer within {self.endpoint.timeout:g} s") from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise _BusyError(f"{type(cause).__name__}: {self._line(cause)}") from None
        except openai.APIStatusError as error:
            return self._refused(error)
        except (openai.APIResponseValidationError, ValueError) as error:
            raise _BusyError(f"the answer is not JSON: {self._line(error)}") from None
        except openai.OpenAIError as error:
            raise ApiError(f"{self._where()}: {self._line(error)}") from None
        return self._answer(completion)

    def _answer(self, completion: Any) -> Answer:
        choices = getattr(completion, "choices", None)
        if not isinstance(choices, list):
            # Some gateways answer an error, or a page of HTML, with status 200.
            told = getattr(completion, "model_extra", None) or completion
            raise _BusyError(f"the answer holds no choices: {self._line(told)}")
        # Nothing below is taken for granted: servers leave out, or fill in, what they like.
        usage = getattr(completion, "usage", None)
        choice = choices[0] if choices else None
        message = getattr(choice, "message", None)
        reply = Reply(
            self._hidden(getattr(message, "content", None)),
            self._hidden(getattr(choice, "finish_reason", None)),
            self._hidden(getattr(message, "refusal", None)),
        )
        return Answer(
            reply,
            self._hidden(getattr(completion, "model", None)),
            self._hidden(getattr(completion, "system_fingerprint", None)),
            _count(getattr(usage, "prompt_tokens", None)),
            _count(getattr(usage, "completion_tokens", None)),
        )

    def _refused(self, error: openai.APIStatusError) -> Answer:
        """What an error status means: another attempt, an answer that the filter took, or the end."""
        status = error.status_code
        said = error.body.get("message") if isinstance(error.body, dict) else None
        told = f"HTTP {status}: {self._line(said or error.message)}"
        after = retry_after(error.response.headers)
        if error.code == "insufficient_quota":
            raise ApiError(f"{self._where()}: {told}; the account has no credit left") from None
        if status == 400 and error.code in FILTERED:
            return Answer(Reply(self._line(error.message), "content_filter"), None, None, 0, 0)
        if status in BUSY or status >= 500:
            if after is not None and after > LONGEST_RETRY_AFTER:
                raise ApiError(
                    f"{self._where()}: {told}; it asks to wait {after:.0f} s: answers so far are "
                    f"kept, run the same command again then"
                ) from None
            raise _BusyError(told, after) from None
        advice = ADVICE.get(status, "see the server's message")
        key = self.endpoint.key or "(none is sent)"
        raise ApiError(f"{self._where()}: {told}; {advice.format(key=key)}") from None

    def _where(self) -> str:
        return f"checkpoint {self.checkpoint}: {self.endpoint.api}, model {self.endpoint.model}"

    def _line(self, told: object) -> str:
        """The beginning of a text of the server's in one line, without the key."""
        return " ".join(self.redact(str(told)).split())[:300]

    def _hidden(self, text: object) -> str | None:
        return self.redact(text) if isinstance(text, str) else None


def _error(state: tenacity.RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None


def _count(tokens: object) -> int | None:
    """A number of tokens; servers are known to send none."""
    return tokens if isinstance(tokens, int) and tokens >= 0 else None


def retry_after(headers: Any) -> float | None:
    """Seconds that a server asks to wait, as a number or as a date; None where it does not."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            date = email.utils.parsedate_tz(value)
            seconds = email.utils.mktime_tz(date) - time.time() if date else math.nan
        if math.isfinite(seconds) or seconds == math.inf:
            return max(0.0, seconds)
    return None
