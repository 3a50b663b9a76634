"""Generated readouts with small random models: greedy texts, journal, resume, limits, counts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from optionbias.item import Item
from optionbias.prompts import chain_of_thought_prompt, prompt
from optionbias.readouts import generation
from optionbias.readouts.generation import Generated, read_cell, readout_orderings
from optionbias.readouts.letters import encode
from optionbias.readouts.reading import Cell, ContextError, chunk_items
from optionbias.readouts.traces import read_traces, write_traces
from optionbias.readouts.transformers_engine import TransformersEngine, closing_tokens
from optionbias.sweep import read_sweep, write_sweep
from readouts.models import FAMILIES, letter_tokenizer, random_model

MANIFEST: dict[str, Any] = {"source": {"hub": "org/m"}, "revision": "abc"}
TOKENS = 8


def items(n: int, k: int) -> list[Item]:
    return [
        Item(f"i{i}", "why? " * (1 + i), tuple(f"{'o' * (j + 1)}{i}" for j in range(k)), i % k)
        for i in range(n)
    ]


def cell(n: int = 5, k: int = 3, readout: str = "chain-of-thought", chunk: int = 2) -> Cell:
    return Cell("M", "B", readout, items(n, k), (), readout_orderings(k), chunk)


def spelled(tokenizer: Any, ids: Sequence[int]) -> str:
    tokens = tokenizer.convert_ids_to_tokens(list(ids), skip_special_tokens=True)
    return "".join(tokens).replace("Ġ", " ").replace("Ċ", "\n")


class Scripted:
    """An engine that answers from a list, in the order of asking."""

    modules = ("optionbias.readouts.transformers_engine",)
    limit: int | None = 10_000

    def __init__(self, texts: Sequence[str], finish: str = "stop") -> None:
        self.tokenizer = letter_tokenizer()
        self.about: dict[str, Any] = {"backend": "scripted", "device": "cpu"}
        self.texts, self.finish, self.calls = list(texts), finish, 0
        self.reserved = 0
        self.asked: list[str] = []

    def reserve(self, tokens: int) -> None:
        self.reserved = tokens

    def generate(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[Generated]:
        self.calls += 1
        self.asked += [spelled(self.tokenizer, p) for p in prompts]
        return [Generated(self.texts.pop(0), self.finish, 3) for _ in prompts]


def one_by_one(model: Any, prompt_ids: Sequence[int], stop: set[int]) -> tuple[list[int], str]:
    """The slow way: the whole prompt again for each token, no cache, no batch, no padding."""
    ids = list(prompt_ids)
    for _ in range(TOKENS):
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
        ids.append(int(logits.argmax()))
        if ids[-1] in stop:
            return ids[len(prompt_ids) :], "stop"
    return ids[len(prompt_ids) :], "length"


@pytest.mark.parametrize("family", FAMILIES)
def test_padded_batches_write_what_one_prompt_at_a_time_writes(family: str) -> None:
    model, tokenizer = random_model(family), letter_tokenizer()
    # Settings of a checkpoint that would change what is greedy, and a second closing token.
    model.generation_config = transformers.GenerationConfig(
        do_sample=True, temperature=5.0, repetition_penalty=3.0, eos_token_id=[2, 77]
    )
    asked = [
        encode(tokenizer, ask(item, pi))
        for ask in (chain_of_thought_prompt, prompt)
        for item in items(2, 3)
        for pi in readout_orderings(3)[:2]
    ]
    slow = [one_by_one(model, p, {2, 77}) for p in asked]
    found = TransformersEngine(model, tokenizer).generate(asked, TOKENS)
    for (tokens, finish), g in zip(slow, found, strict=True):
        text = tokens[:-1] if finish == "stop" else tokens
        expected = Generated(tokenizer.decode(text, skip_special_tokens=True), finish, len(tokens))
        assert g == expected
    assert len({len(p) for p in asked}) > 1 and len({g.text for g in found}) > 1


def test_texts_end_at_the_closing_token() -> None:
    """The first token that a prompt is answered with, made a closing one, leaves nothing."""
    model, tokenizer = random_model("llama"), letter_tokenizer()
    asked = encode(tokenizer, "Answer:")
    (first, *_), _ = one_by_one(model, asked, set())
    model.generation_config.eos_token_id = first
    engine = TransformersEngine(model, tokenizer)
    assert engine.generate([asked], TOKENS) == [Generated("", "stop", 1)]


@pytest.mark.parametrize(
    ("own", "expected"), [(None, (2,)), (5, (5, 2)), ([5, 2, 6], (5, 2, 6)), (2, (2,))]
)
def test_closing_tokens(own: Any, expected: tuple[int, ...]) -> None:
    settings = transformers.GenerationConfig(eos_token_id=own)
    assert closing_tokens(settings, letter_tokenizer()) == expected


def test_small_budgets_and_a_full_memory_change_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = random_model("llama"), letter_tokenizer()
    asked = [encode(tokenizer, prompt(i, pi)) for i in items(3, 3) for pi in readout_orderings(3)]
    whole = TransformersEngine(model, tokenizer).generate(asked, TOKENS)
    engine = TransformersEngine(model, tokenizer)
    sizes: list[int] = []
    real = engine._model.generate

    def full_at_five(**arguments: Any) -> Any:
        sizes.append(len(arguments["input_ids"]))
        if sizes[-1] > 4:
            raise torch.OutOfMemoryError("no room")
        return real(**arguments)

    monkeypatch.setattr(engine._model, "generate", full_at_five)
    assert engine.generate(asked, TOKENS) == whole
    assert sizes == [9, 4, 5, 2, 3]


@pytest.mark.parametrize("readout", generation.READOUTS)
def test_a_cell_and_its_traces(tmp_path: Path, readout: str) -> None:
    engine = TransformersEngine(random_model("llama"), letter_tokenizer())
    sweep, traces = read_cell(cell(readout=readout), engine, MANIFEST, tmp_path, TOKENS)
    write_sweep(tmp_path / "s.parquet", sweep)
    again = read_sweep(tmp_path / "s.parquet")
    assert again.logp is None and again.choice.shape == (5, 3)
    assert again.metadata["backend"] == "transformers" and again.metadata["max_tokens"] == TOKENS
    assert sum(again.metadata["finish_reasons"].values()) == 15
    write_traces(tmp_path / "t.jsonl.gz", traces)
    rows = list(read_traces(tmp_path / "t.jsonl.gz"))
    assert rows == traces
    assert [row["choice"] for row in rows] == again.choice.ravel().tolist()
    assert [(row["item"], row["ordering"]) for row in rows][:4] == [
        ("i0", 0), ("i0", 1), ("i0", 2), ("i1", 0),
    ]  # fmt: skip


def test_traces_are_the_same_bytes_again(tmp_path: Path) -> None:
    traces = [{"item": "é\ud800\x00", "text": "…\n"}]
    for name in ("a", "b"):
        write_traces(tmp_path / name, traces)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with gzip.open(tmp_path / "a") as file:
        assert [json.loads(line) for line in file] == traces


@pytest.mark.parametrize(
    ("readout", "ending"),
    [("direct-answer", "Answer:"), ("chain-of-thought", "where X is A, B, or C.")],
)
def test_what_is_asked(tmp_path: Path, readout: str, ending: str) -> None:
    """One prompt an item and ordering, items in the order of the sweep, and room for the answer."""
    engine = Scripted(["A"] * 15)
    read_cell(cell(readout=readout), engine, MANIFEST, tmp_path, TOKENS)
    assert len(engine.asked) == 15 and all(text.endswith(ending) for text in engine.asked)
    assert [text.count("why?") for text in engine.asked] == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3 + [5] * 3  # fmt: skip
    longest = max(len(encode(engine.tokenizer, text)) for text in engine.asked)
    assert engine.reserved == longest + TOKENS


def test_counts_by_hand(tmp_path: Path) -> None:
    """Six texts of K = 3: three explicit, one fallback, two without an answer."""
    texts = [
        "The answer is [B].",  # explicit
        "so C",  # fallback
        "",  # none
        "The answer is [A].\n\nQuestion: x\nAnswer: B",  # explicit B; cut at the question: A
        "The answer is [A].\n\nQuestion: x\nA. p",  # explicit A, cut or not
        "D",  # not valid with three options: none
    ]
    sweep, traces = read_cell(cell(n=2), Scripted(texts, "length"), MANIFEST, tmp_path, TOKENS)
    about = sweep.metadata
    assert sweep.choice.tolist() == [[1, 2, -1], [1, 0, -1]]
    assert about["answers"] == {"explicit": 3, "opening": 0, "fallback": 1, "none": 2}
    assert about["fallback_share"] == 1 / 4
    assert about["finish_reasons"] == {"stop": 0, "length": 6}
    assert (about["cut_short"], about["went_on"], about["went_on_changed"]) == (3, 2, 1)
    assert about["generated_tokens"] == sum(t["tokens"] for t in traces) > 0
    assert [t["kind"] for t in traces] == ["explicit", "fallback", "none"] + ["explicit"] * 2 + ["none"]  # fmt: skip


def test_direct_answers_count_their_openings(tmp_path: Path) -> None:
    texts = [" A", " B. x", "the answer is C", "I like B", "A", "no"]
    engine = Scripted(texts)
    sweep, _ = read_cell(cell(n=2, readout="direct-answer"), engine, MANIFEST, tmp_path, TOKENS)
    assert sweep.metadata["answers"] == {"explicit": 1, "opening": 3, "fallback": 1, "none": 1}
    assert sweep.metadata["fallback_share"] == 1 / 5
    assert sweep.metadata["cut_short"] == 0


def test_a_cell_without_any_answer_has_no_share(tmp_path: Path) -> None:
    sweep, _ = read_cell(cell(), Scripted([""] * 15), MANIFEST, tmp_path, TOKENS)
    assert "fallback_share" not in sweep.metadata and (sweep.choice == -1).all()
    write_sweep(tmp_path / "s.parquet", sweep)
    assert read_sweep(tmp_path / "s.parquet").logp is None


def test_a_killed_cell_resumes_at_the_next_chunk(tmp_path: Path) -> None:
    texts = [f"The answer is {'ABC'[i % 3]} \x00\ud800…" for i in range(15)]
    whole = read_cell(cell(), Scripted(texts), MANIFEST, tmp_path / "a", TOKENS)
    dying = Scripted(texts[:12])  # the third chunk finds no text left
    with pytest.raises(IndexError):
        read_cell(cell(), dying, MANIFEST, tmp_path / "b", TOKENS)
    rest = Scripted(texts[12:])
    resumed = read_cell(cell(), rest, MANIFEST, tmp_path / "b", TOKENS)
    assert rest.calls == 1 and resumed[1] == whole[1]
    assert resumed[0].metadata == whole[0].metadata
    # Everything is there: no engine is asked, unless the journal is not to be used.
    read_cell(cell(), Scripted([]), MANIFEST, tmp_path / "b", TOKENS)
    afresh = Scripted(texts)
    read_cell(cell(), afresh, MANIFEST, tmp_path / "b", TOKENS, resume=False)
    assert afresh.calls == 3


@pytest.mark.parametrize(
    "content",
    [
        None,
        np.array("[]"),
        np.array('[["x", "stop", 1]]'),
        np.array('[["x", "?", 1], ["x", "stop", 1], ["x", "stop", 1]]'),
        np.array('[["x"], ["x"], ["x"]]'),
        np.array('["x", 1'),
        np.array(["x"]),
        np.array(3),
    ],
    ids=["truncated", "empty", "few", "finish", "fields", "json", "shape", "number"],
)
def test_a_damaged_chunk_is_generated_again(tmp_path: Path, content: Any) -> None:
    c, texts = cell(n=2, chunk=1), ["A", "B", "C", "C", "B", "A"]
    whole = read_cell(c, Scripted(texts), MANIFEST, tmp_path, TOKENS)
    chunk = sorted(tmp_path.rglob("chunk-*.npz"))[1]
    if content is None:
        chunk.write_bytes(chunk.read_bytes()[:50])
    else:
        np.savez(chunk, generated=content)
    again = Scripted(texts[3:])
    assert read_cell(c, again, MANIFEST, tmp_path, TOKENS)[1] == whole[1]
    assert again.calls == 1


@pytest.mark.parametrize("changed", ["tokens", "readout", "revision", "backend", "items", "code"])
def test_the_journal_is_keyed_by_what_shapes_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    read_cell(cell(), Scripted(["A"] * 15), MANIFEST, tmp_path, TOKENS)
    engine, c, tokens, manifest = Scripted(["B"] * 30), cell(), TOKENS, MANIFEST
    if changed == "tokens":
        tokens += 1
    elif changed == "readout":
        c = cell(readout="direct-answer")
    elif changed == "revision":
        manifest = {**MANIFEST, "revision": "def"}
    elif changed == "backend":
        engine.about = {**engine.about, "backend": "other"}
    elif changed == "items":
        c = cell(n=4)
    else:
        monkeypatch.setattr(generation, "module_digests", lambda *_: {"prompts": "edited"})
    read_cell(c, engine, manifest, tmp_path, tokens)
    assert engine.calls > 0


def test_another_rule_of_extraction_needs_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_cell(cell(), Scripted(["A"] * 15), MANIFEST, tmp_path, TOKENS)
    rule = generation.Extraction(2, "explicit")
    monkeypatch.setattr(generation, "extract", lambda *_: rule)
    sweep, _ = read_cell(cell(), Scripted([]), MANIFEST, tmp_path, TOKENS)
    assert (sweep.choice == 2).all()


def test_a_prompt_and_its_answer_beyond_the_context_are_an_error_not_a_cut(tmp_path: Path) -> None:
    engine = Scripted(["A"] * 15)
    read_cell(cell(), engine, MANIFEST, tmp_path, TOKENS)
    engine = Scripted([])
    engine.limit = max(len(encode(engine.tokenizer, chain_of_thought_prompt(i, pi)))
                       for i in items(5, 3) for pi in readout_orderings(3)) + TOKENS  # fmt: skip
    read_cell(cell(), engine, MANIFEST, tmp_path, TOKENS)  # it just fits
    with pytest.raises(
        ContextError,
        match=r"checkpoint M on B: 1 item needs more tokens than .*i4.* for the answer\): lower `max_tokens",
    ):
        read_cell(cell(), engine, MANIFEST, tmp_path, TOKENS + 1)


@pytest.mark.parametrize(
    ("asked", "orderings", "device", "expected"),
    [(8, 4, "cpu", 8), (8, 4, "cuda", 128), (8, 10, "cuda", 51), (400, 4, "cuda", 400)],
)
def test_chunks_keep_a_gpu_busy(asked: int, orderings: int, device: str, expected: int) -> None:
    assert chunk_items(asked, orderings, device) == expected
