"""A cell read with a small random model: journal, resume, limits, provenance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optionbias.item import Item
from optionbias.orderings import LETTERS
from optionbias.prompts import exemplar_text, prompt
from optionbias.readouts import first_token, reading
from optionbias.readouts.first_token import Opened, Prompts, read_cell, readout_orderings
from optionbias.readouts.forward import Asked, PlainReader
from optionbias.readouts.reading import Cell
from optionbias.readouts.shared_prefix import SharedPrefixReader, open_reader, plain_attention
from optionbias.sweep import read_sweep, write_sweep
from readouts.models import letter_tokenizer, random_model

MANIFEST: dict[str, Any] = {"source": {"hub": "org/m"}, "revision": "abc"}


def items(n: int, k: int) -> list[Item]:
    return [
        Item(f"i{i:02d}", f"q{i}?", tuple(f"{LETTERS[j].lower()}{i}" for j in range(k)), i % k)
        for i in range(n)
    ]


def cell(k: int = 3, n: int = 5, readout: str = "first-token", exemplars: int = 0) -> Cell:
    return Cell(
        "M",
        "B",
        readout,
        items(n, k),
        items(9, k)[9 - exemplars :],
        readout_orderings(readout, k),
        2,
    )


def opened(model: Any, manifest: dict[str, Any] = MANIFEST, workers: int = 1) -> Opened:
    return Opened(
        lambda letters, sample: open_reader(model, letters, "M", sample),
        letter_tokenizer(),
        manifest,
        model.config.max_position_embeddings,
        workers,
    )


@pytest.fixture(scope="module")
def model() -> Any:
    return random_model("llama")


@pytest.mark.parametrize(
    ("readout", "exemplars"), [("first-token", 0), ("five-shot", 2), ("all-orderings", 0)]
)
def test_each_row_is_the_plain_forward_of_its_own_prompt(
    model: Any, tmp_path: Path, readout: str, exemplars: int
) -> None:
    """The stored row of (item, ordering) is that of the prompt with exactly that ordering."""
    c, tokenizer = cell(readout=readout, exemplars=exemplars), letter_tokenizer()
    sweep = read_cell(c, opened(model), tmp_path)
    vocabulary = tokenizer.get_vocab()
    reader = PlainReader(model, [vocabulary[f"Ġ{letter}"] for letter in "ABC"], "M")
    order = {id_: row for row, id_ in enumerate(sweep.items)}
    with plain_attention(model):
        for item in c.items:
            for s, pi in enumerate(c.orderings):
                ids = tuple(tokenizer(prompt(item, pi, c.exemplars))["input_ids"])
                plain = reader.read([Asked([ids])])
                assert np.abs(sweep.logp[order[item.id], s] - plain.logp[0]).max() < 1e-4
                assert abs(sweep.mass[order[item.id], s] - plain.mass[0]) < 1e-4
    assert {"first-token": 6, "five-shot": 3, "all-orderings": 6}[readout] == len(sweep.orderings)
    write_sweep(tmp_path / "s.parquet", sweep)
    assert (read_sweep(tmp_path / "s.parquet").choice == sweep.choice).all()


def test_a_killed_cell_resumes_at_the_next_chunk(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five items in chunks of two: die in the third chunk, then read only that one."""
    whole = read_cell(cell(), opened(model), tmp_path / "a")
    calls: list[int] = []
    read = SharedPrefixReader.read

    def counted(self: SharedPrefixReader, chunk: Any) -> Any:
        calls.append(len(chunk))
        # One call is the self-check on two items, then one a chunk.
        if limit and len(calls) > limit:
            raise KeyboardInterrupt
        return read(self, chunk)

    monkeypatch.setattr(SharedPrefixReader, "read", counted)
    limit = 3
    with pytest.raises(KeyboardInterrupt):
        read_cell(cell(), opened(model), tmp_path / "b")
    calls.clear()
    limit = 0
    resumed = read_cell(cell(), opened(model), tmp_path / "b")
    # The self-check on two items, and at most the last two chunks: the second was in flight or waiting.
    assert calls[0] == 2 and calls[-1] == 1 and len(calls) <= 3
    for name, value in vars(whole).items():
        if isinstance(value, np.ndarray):
            assert value.tobytes() == getattr(resumed, name).tobytes() or value.dtype == object
    calls.clear()
    read_cell(cell(), opened(model), tmp_path / "b", resume=False)
    assert len(calls) == 4


def test_any_number_of_workers_gives_the_same_bytes(model: Any, tmp_path: Path) -> None:
    one = read_cell(cell(n=9), opened(model), tmp_path / "a")
    three = read_cell(cell(n=9), opened(model, workers=3), tmp_path / "b")
    assert one.logp.tobytes() == three.logp.tobytes()
    assert one.mass.tobytes() == three.mass.tobytes()


def test_exemplars_are_the_head_of_every_prompt(model: Any) -> None:
    """The head is a beginning of each prompt, and nearly all of the exemplars' tokens."""
    c, tokenizer = cell(readout="five-shot", exemplars=2), letter_tokenizer()
    found = [Prompts(c, tokenizer).asked(item) for item in c.items]
    assert len({asked.head for asked in found}) == 1
    exemplars = len(tokenizer(exemplar_text(c.exemplars))["input_ids"])
    assert exemplars - 2 <= len(found[0].head) <= exemplars
    assert all(p[: len(a.head)] == a.head for a in found for p in a.prompts)
    assert Prompts(cell(), tokenizer).asked(c.items[0]).head == ()


def test_items_of_a_passage_are_read_together(model: Any, tmp_path: Path) -> None:
    """Ids interleave two passages: a chunk of two holds two items of one passage, and each row is
    that of its own item."""
    of_passage = [
        Item(f"i{i}", f"q{i}?", ("x", "y", "z"), 0, passage="pq"[i % 2] * 40) for i in range(4)
    ]
    c = Cell("M", "B", "first-token", of_passage, (), readout_orderings("first-token", 3), 2)
    assert [[i.id for i in chunk] for _, chunk in c.chunks()] == [["i0", "i2"], ["i1", "i3"]]
    write_sweep(tmp_path / "s.parquet", read_cell(c, opened(model), tmp_path))
    stored = read_sweep(tmp_path / "s.parquet")
    assert stored.items.tolist() == ["i0", "i1", "i2", "i3"]
    for row, item in enumerate(of_passage):
        alone = Cell("M", "B", "first-token", [item], (), c.orderings, 2)
        assert (
            np.abs(read_cell(alone, opened(model), tmp_path).logp[0] - stored.logp[row]).max()
            < 1e-4
        )


def test_a_long_passage_does_not_make_an_endless_chunk() -> None:
    same = [Item(f"i{i}", "q?", ("x", "y"), 0, passage="p") for i in range(11)]
    c = Cell("M", "B", "first-token", same, (), readout_orderings("first-token", 2), 2)
    assert [len(chunk) for _, chunk in c.chunks()] == [4, 4, 3]


@pytest.mark.parametrize("damage", ["truncated", "without an array", "of another shape"])
def test_a_damaged_chunk_is_read_again(model: Any, tmp_path: Path, damage: str) -> None:
    whole = read_cell(cell(), opened(model), tmp_path)
    chunk = sorted(tmp_path.rglob("chunk-*.npz"))[1]
    if damage == "truncated":
        chunk.write_bytes(chunk.read_bytes()[:50])
    elif damage == "without an array":
        np.savez(chunk, logp=np.zeros((12, 3), np.float32))
    else:
        np.savez(chunk, logp=np.zeros((6, 3), np.float32), mass=np.zeros(6, np.float32))
    again = read_cell(cell(), opened(model), tmp_path)
    assert (again.logp == whole.logp).all()


@pytest.mark.parametrize(
    "changed",
    [
        {"manifest": {**MANIFEST, "revision": "def"}},
        {"cell": cell(n=4)},
        {"cell": cell(readout="five-shot", exemplars=2)},
        {"template": "other"},
        {"chunk_items": 3},
        {"code": "edited"},
    ],
)
def test_the_journal_is_keyed_by_content(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    """Another revision, item set, exemplars, prompt or chunk size is another journal."""
    base = cell()
    read_cell(base, opened(model), tmp_path)
    if "template" in changed:
        monkeypatch.setattr(reading, "template_digest", lambda: "other")
    if "code" in changed:
        monkeypatch.setattr(first_token, "module_digests", lambda *_: {"forward": "edited"})
    other = changed.get("cell", base)
    if "chunk_items" in changed:
        other = Cell(**{**vars(base), "chunk_items": changed["chunk_items"]})
    read_cell(other, opened(model, changed.get("manifest", MANIFEST)), tmp_path)
    assert len([p for p in tmp_path.iterdir() if p.is_dir()]) == 2


def test_a_prompt_beyond_the_context_is_an_error_not_a_cut(model: Any, tmp_path: Path) -> None:
    long = Item("long", "word " * 200, ("a", "b", "c"), 0)
    c = Cell("M", "B", "first-token", [long], (), readout_orderings("first-token", 3), 2)
    with pytest.raises(
        ValueError,
        match=r"checkpoint M on B: 1 item needs more tokens than the 512 of its context \(long",
    ):
        read_cell(c, opened(model), tmp_path)


def test_provenance_holds_what_shaped_the_numbers(model: Any, tmp_path: Path) -> None:
    sweep = read_cell(cell(), opened(model), tmp_path)
    assert sweep.metadata["revision"] == "abc"
    assert sweep.metadata["dtype"] == "float32"
    for name in ("prompt_sha256", "items_sha256", "exemplars_sha256"):
        assert len(sweep.metadata[name]) == 64
    assert "+" not in sweep.metadata["versions"]["torch"]
