"""The closed readout: a one-letter reply over an API, ordering 0 asked twice (Section C.5).

The same prompt can be answered differently, so the second call on ordering 0 is a call of its own
in every respect: it is really made, and really kept. Only sending costs time here, so the calls of
a cell wait beside each other in threads.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import openai
from numpy.typing import NDArray

from optionbias.endpoint import Endpoint
from optionbias.item import Item
from optionbias.orderings import LETTERS, Orderings, cyclic, identity
from optionbias.progress import Progress
from optionbias.prompts import prompt, shown
from optionbias.readouts.calls import CallJournal, CostLimitError, Spending
from optionbias.readouts.chat import Answer, Chat, StoppedError
from optionbias.readouts.reading import Cell, provenance
from optionbias.readouts.replies import KINDS, Reply, read_reply
from optionbias.sweep import Sweep

log = logging.getLogger(__name__)

INSTRUCTION = "Reply with one letter only: {letters}."
# Characters a token of English, on the careful side: for estimates, and where a server counts none.
CHARACTERS_A_TOKEN = 3.5


class RepliesError(RuntimeError):
    """A cell without a single reply that is a letter."""


@dataclass(frozen=True)
class Call:
    """One question to the model: an item under an ordering, or under ordering 0 again."""

    item: Item
    row: int
    ordering: int
    messages: list[dict[str, str]]
    key: str

    @property
    def characters(self) -> int:
        """Length of what is sent."""
        return sum(len(message["content"]) for message in self.messages)


@dataclass(frozen=True)
class Reading:
    """A cell that was read: its sweep, and every reply as it came."""

    sweep: Sweep
    replies: list[dict[str, Any]]


def closed_orderings(k: int) -> Orderings:
    """The K cyclic orderings and ordering 0 again under index K, shape (K+1, K)."""
    return np.concatenate([cyclic(k), identity(k)[None]])


def question(item: Item, pi: NDArray[np.int64]) -> str:
    """What the model is sent: one line that asks for one letter, then the body of A.2."""
    letters = LETTERS[: item.n_options]
    listed = f"{', '.join(letters[:-1])} or {letters[-1]}"
    return f"{INSTRUCTION.format(letters=listed)}\n\n{prompt(item, pi)}"


def calls_of(cell: Cell, endpoint: Endpoint) -> list[Call]:
    """Every call of a cell, item by item.

    A call's key is the SHA-256 of all that shapes it, the item and the index of the ordering
    included: equal prompts of two items, and of ordering 0 and its repetition, stay two calls.
    """
    calls = []
    for row, item in enumerate(cell.sorted_items):
        for index, pi in enumerate(cell.orderings):
            messages = [{"role": "user", "content": question(item, pi)}]
            shaping = {**endpoint.shaping(), "messages": messages, "item": item.id, "call": index}
            key = hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()
            calls.append(Call(item, row, index, messages, key))
    return calls


def read_cell(
    cell: Cell,
    endpoint: Endpoint,
    chat: Chat,
    journal_root: Path,
    cost_limit: float | None = None,
    resume: bool = True,
) -> Reading:
    """Ask every call of a cell that its journal does not hold, and return the sweep.

    Args:
        cell: its orderings are `closed_orderings(K)`.
        endpoint: where and how to ask.
        chat: asks it.
        journal_root: the journals of closed cells; those of all cells count for `cost_limit`.
        cost_limit: US dollars, None for no limit.
        resume: take answered calls from the journal; if false they are asked, and paid for, anew.

    Raises:
        ApiError: the server refused a call or did not answer it.
        CostLimitError: what was spent, what is left to ask, and how to go on.
        JournalError: another job is asking the same cell.
        RepliesError: not one reply is a letter.
    """
    calls = calls_of(cell, endpoint)
    spending = Spending(journal_root, cost_limit)
    with CallJournal(journal_root / cell.benchmark / f"{cell.checkpoint}.jsonl") as journal:
        kept = journal.answered if resume else {}
        waiting = [call for call in calls if call.key not in kept]
        log.info("%s", _plan(cell, endpoint, calls, waiting, spending))
        try:
            _ask_all(cell, endpoint, chat, journal, spending, waiting, len(calls) - len(waiting))
        except CostLimitError as error:
            left = [call for call in waiting if call.key not in journal.answered]
            dollars = sum(_dollars(call, endpoint) for call in left)
            # A tenth more, so that neither the estimate nor rounding stops it again at once.
            enough = 1.1 * (spending.spent() + dollars)
            raise CostLimitError(
                f"{cell.label}: {error}; {len(left)} of {len(calls)} calls are left, at most about "
                f"USD {dollars:.4g}; answers so far are kept: raise the limit and run the same "
                f"command again, for example --config cost_limit={enough:.2g}"
            ) from None
        records = [journal.answered[call.key] for call in calls]
    log.info(
        "%s: %d calls made again, USD %.4g spent in all", cell.label, chat.retries, spending.spent()
    )
    return _reading(cell, endpoint, calls, records)


def _plan(
    cell: Cell, endpoint: Endpoint, calls: Sequence[Call], waiting: Sequence[Call], spending: Spending
) -> str:  # fmt: skip
    """What is about to be asked, and about what it costs."""
    tokens = sum(_prompt_tokens(call) for call in waiting)
    reply = endpoint.reply_limit()
    most = f"at most {reply * len(waiting):,}" if reply is not None else "an unknown number of"
    line = (
        f"{cell.label}: {len(waiting):,} calls to {endpoint.model} at {endpoint.api} "
        f"({len(calls) - len(waiting):,} more are in the journal), about {tokens:,} tokens of "
        f"prompts and {most} of replies"
    )
    if endpoint.price is not None:
        line += f", at most about USD {sum(_dollars(call, endpoint) for call in waiting):.4g}"
    limit = "no limit" if spending.limit is None else f"the limit is USD {spending.limit:g}"
    return f"{line}; USD {spending.spent():.4g} are spent, {limit}"


def _prompt_tokens(call: Call) -> int:
    return round(call.characters / CHARACTERS_A_TOKEN)


def _dollars(call: Call, endpoint: Endpoint) -> float:
    """The most that a call should cost: its prompt and a reply up to the limit of tokens."""
    if endpoint.price is None:
        return 0.0
    return endpoint.price.of(_prompt_tokens(call), endpoint.reply_limit() or 0)


def _ask_all(
    cell: Cell,
    endpoint: Endpoint,
    chat: Chat,
    journal: CallJournal,
    spending: Spending,
    waiting: Sequence[Call],
    done: int,
) -> None:
    failures: list[BaseException] = []

    def ask(call: Call) -> None:
        try:
            ask_one(call)
        except BaseException as error:
            # At once, before this thread takes its next call.
            if not isinstance(error, StoppedError):
                failures.append(error)
            chat.stop()
            raise

    def ask_one(call: Call) -> None:
        most = _dollars(call, endpoint)
        spending.reserve(most)
        try:
            label = f"{cell.label}: item {call.item.id}, ordering {call.ordering}"
            answer = chat.ask(call.messages, label)
            journal.append(_record(call, answer, endpoint, chat))
        finally:
            spending.release(most)

    with (
        Progress(cell.label, done + len(waiting), "calls") as progress,
        ThreadPoolExecutor(endpoint.concurrency) as pool,
    ):
        progress.skip(done)
        futures = [pool.submit(ask, call) for call in waiting]
        try:
            for future in as_completed(futures):
                future.result()
                progress.add(1)
        except BaseException:
            # Calls in flight are paid for: they are waited for and kept, no other is sent.
            chat.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            if failures:
                raise failures[0] from None
            raise


def _record(call: Call, answer: Answer, endpoint: Endpoint, chat: Chat) -> dict[str, Any]:
    """What the journal keeps of a call; a server that counts no tokens is taken at its limit."""
    counted = answer.prompt_tokens is not None and answer.completion_tokens is not None
    dollars = None
    if endpoint.price is not None:
        dollars = (
            endpoint.price.of(answer.prompt_tokens or 0, answer.completion_tokens or 0)
            if counted
            else _dollars(call, endpoint)
        )
    return {
        "key": call.key,
        "item": call.item.id,
        "ordering": call.ordering,
        "asked": datetime.now(UTC).isoformat(timespec="seconds"),
        "reply": answer.reply.text,
        "finish_reason": answer.reply.finish_reason,
        "refusal": answer.reply.refusal,
        "model": answer.model,
        "system_fingerprint": answer.fingerprint,
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "usd": dollars,
        "usd_is_estimate": dollars is not None and not counted,
    }


def _reading(
    cell: Cell, endpoint: Endpoint, calls: Sequence[Call], records: Sequence[dict[str, Any]]
) -> Reading:
    items = cell.sorted_items
    k = cell.orderings.shape[1]
    choice = np.full((len(items), len(cell.orderings)), -1, dtype=np.int8)
    replies, kinds = [], Counter[str]()
    for call, record in zip(calls, records, strict=True):
        reply = Reply(record["reply"], record["finish_reason"], record["refusal"])
        options = shown(call.item.options, cell.orderings[call.ordering])
        position, kind = read_reply(reply, options)
        choice[call.row, call.ordering] = position
        kinds[kind] += 1
        stored = {name: value for name, value in record.items() if name != "key"}
        replies.append({**stored, "choice": position, "kind": kind})
    served = Counter(record["model"] or "not told" for record in records)
    fingerprints = Counter(record["system_fingerprint"] or "not told" for record in records)
    _say_what_came(cell, replies, kinds, served)
    # The journal is keyed by call: no chunk shapes a number here.
    origin = provenance(cell, {"source": endpoint.shaping(), "revision": None}, _engine())
    del origin["chunk_items"]
    metadata = {
        **origin,
        "repeats": {str(k): 0},
        "instruction": INSTRUCTION,
        "replies": {kind: kinds[kind] for kind in KINDS},
        "served_models": dict(sorted(served.items())),
        "system_fingerprints": dict(sorted(fingerprints.items())),
        "prompt_tokens": sum(record["prompt_tokens"] or 0 for record in records),
        "completion_tokens": sum(record["completion_tokens"] or 0 for record in records),
    }
    sweep = Sweep(
        metadata=metadata,
        items=np.array([item.id for item in items], dtype=object),
        gold=np.array([item.answer for item in items], dtype=np.int8),
        orderings=cell.orderings,
        logp=None,
        choice=choice,
    )
    return Reading(sweep, replies)


def _say_what_came(
    cell: Cell, replies: Sequence[dict[str, Any]], kinds: Counter[str], served: Counter[str]
) -> None:
    """Log what a reader of the cell must know.

    Raises:
        RepliesError: nothing that came is a letter, so the cell has no answer at all.
    """
    invalid = {kind: n for kind, n in kinds.items() if kind != "letter"}
    if invalid:
        example = next(reply for reply in replies if reply["kind"] != "letter")
        line = (
            f"{sum(invalid.values())} of {len(replies)} replies are not one letter "
            f"({', '.join(f'{kind} {n}' for kind, n in sorted(invalid.items()))}), the first: item "
            f"{example['item']}, ordering {example['ordering']}: {str(example['reply'])[:60]!r}"
        )
        if not kinds["letter"]:
            raise RepliesError(
                f"{cell.label}: {line}; change `source.request` of the checkpoint, for example its "
                f"limit of tokens"
            )
        log.warning("%s: %s", cell.label, line)
    if len(served) > 1:
        log.warning(
            "%s: WARNING: more than one model answered: %s; the cell mixes them",
            cell.label, ", ".join(f"{name} ({n} calls)" for name, n in sorted(served.items())),
        )  # fmt: skip


def _engine() -> dict[str, Any]:
    return {"backend": "openai", "versions": {"openai": openai.__version__}}
