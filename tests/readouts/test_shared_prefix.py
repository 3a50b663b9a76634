"""The shared-prefix engine against one plain forward pass a prompt, for each family of the roster."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import torch

from optionbias.readouts import library, shared_prefix, tree_attention
from optionbias.readouts.forward import Asked, ForwardError, PlainReader
from optionbias.readouts.layout import MIN_BLOCK_KEYS
from optionbias.readouts.shared_prefix import SharedPrefixReader, open_reader
from readouts.asked import LETTERS, chunk
from readouts.models import FAMILIES, random_model


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("head", [0, 70])
@pytest.mark.parametrize("budget", [4000, 150])
def test_every_family_agrees_with_the_plain_forward(family: str, head: int, budget: int) -> None:
    """Stems and prompts are longer than the sliding windows; a small budget cuts trees to stems."""
    model = random_model(family)
    reader = SharedPrefixReader(model, LETTERS, family, budget)
    asked = chunk(1, head, stem=MIN_BLOCK_KEYS + 10)
    difference = reader.differences(asked)
    assert np.abs(difference).max() < 2e-4  # random weights four times the usual size
    with shared_prefix.plain_attention(model):
        plain = PlainReader(model, LETTERS, family).read(asked)
    assert np.ptp(plain.logp) > 0.1, "the test models must not answer uniformly"
    assert np.abs(reader.read(asked).mass - plain.mass).max() < 1e-4


def test_tokens_are_run_once() -> None:
    """Head 70; an item's stem 60, its three options 71, branches 115: 3 x 246 and the head once."""
    reader = SharedPrefixReader(random_model("llama"), LETTERS, "M")
    reader.read(chunk(2, head=70))
    assert reader.tokens_run == 70 + 3 * (60 + 12 + 50 + 9 + 20 + 20 + 23 + 1 + 20 + 31)
    before = reader.tokens_run
    reader.read(chunk(2, head=70)[:1])  # the same head again
    assert reader.tokens_run == before + 246


def test_the_result_of_a_chunk_does_not_depend_on_the_chunk_before() -> None:
    model = random_model("gemma3")
    one, two = chunk(3, head=40), chunk(4, head=40)
    reader = SharedPrefixReader(model, LETTERS, "M")
    reader.read(one)
    after = reader.read(two)
    alone = SharedPrefixReader(model, LETTERS, "M").read(two)
    assert (after.logp == alone.logp).all() and (after.mass == alone.mass).all()


def test_plain_batches_by_hand() -> None:
    """logp is the log-softmax over the letters, mass their share of the full softmax."""
    model = random_model("llama")
    ids = chunk(5)[0].prompts[0]
    logits = model(torch.tensor([ids])).logits[0, -1].double().detach()
    full = torch.softmax(logits, -1)[LETTERS]
    found = PlainReader(model, LETTERS, "M").read([Asked([ids])])
    assert found.mass[0] == pytest.approx(float(full.sum()), abs=1e-5)
    assert np.exp(found.logp[0]) == pytest.approx((full / full.sum()).tolist(), abs=1e-5)


@pytest.mark.parametrize("budget", [1, 64, 4096])
def test_plain_batches_of_any_size_agree(budget: int) -> None:
    model, asked = random_model("qwen2"), chunk(6)
    whole = PlainReader(model, LETTERS, "M", 1).read(asked)
    found = PlainReader(model, LETTERS, "M", budget).read(asked)
    assert np.abs(whole.logp - found.logp).max() < 1e-4


@pytest.mark.parametrize(
    "token", [LETTERS[0], 5]
)  # a letter; any other, which spoils the mass alone
@pytest.mark.parametrize("reader", [SharedPrefixReader, PlainReader])
def test_nan_logits_stop_the_run_and_name_the_checkpoint(reader: Any, token: int) -> None:
    assert 5 not in LETTERS
    model = random_model("llama")
    with torch.no_grad():
        model.lm_head.weight[token] = float("nan")
    with pytest.raises(ForwardError, match=r"checkpoint M: .*NaN"):
        reader(model, LETTERS, "M").read(chunk(7, items=1))


def test_a_model_that_mishandles_trees_is_read_in_plain_batches(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Positions that a model ignores: the self-check sees it, says so, and the numbers are right."""
    asked = chunk(8)
    right = PlainReader(random_model("llama"), LETTERS, "M").read(asked)
    model = random_model("llama")
    forward = model.model.forward
    monkeypatch.setattr(model.model, "forward", lambda *a, position_ids=None, **k: forward(*a, **k))
    with caplog.at_level(logging.WARNING):
        reader = open_reader(model, LETTERS, "M", asked)
    assert isinstance(reader, PlainReader) and reader.about["reader"] == "plain batches"
    assert "does not take prefix trees (log-probabilities differ by up to" in caplog.text
    assert np.abs(reader.read(asked).logp - right.logp).max() < 1e-5


def test_a_model_that_asks_for_more_than_trees_have_is_read_in_plain_batches(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = random_model("llama")
    for layer in model.model.layers:
        layer.self_attn.is_causal = False
    reader = open_reader(model, LETTERS, "M", chunk(9))
    assert isinstance(reader, PlainReader) and "not causal" in caplog.text


def test_a_library_without_attention_functions_is_read_in_plain_batches(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As transformers 4.45 is, which Phi-3 checkpoints take."""
    asked = chunk(15)
    right = PlainReader(random_model("llama"), LETTERS, "M").read(asked)
    monkeypatch.setattr(library, "ATTENTION", None)
    reader = open_reader(random_model("llama"), LETTERS, "M", asked)
    assert isinstance(reader, PlainReader)
    assert "has no attention functions to be replaced); reading plain batches" in caplog.text
    assert (reader.read(asked).logp == right.logp).all()


def test_a_sound_model_is_read_by_shared_prefixes() -> None:
    reader = open_reader(random_model("mistral"), LETTERS, "M", chunk(10))
    assert isinstance(reader, SharedPrefixReader) and reader.about["reader"] == "shared prefixes"


def test_lack_of_memory_halves_the_budget_and_repeats_the_chunk(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model, asked = random_model("llama"), chunk(11)
    right = SharedPrefixReader(model, LETTERS, "M", 200).read(asked)
    reader = SharedPrefixReader(model, LETTERS, "M", 800)
    run = SharedPrefixReader._run

    def short_of_memory(self: Any, pack: Any, stem: Any) -> Any:
        if pack.size > 220:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return run(self, pack, stem)

    monkeypatch.setattr(SharedPrefixReader, "_run", short_of_memory)
    found = reader.read(asked)
    assert reader.budget == 200
    assert (found.logp == right.logp).all()
    assert "out of memory with packs of 400 tokens, going on with 200" in caplog.text
    assert reader.about["token_budget"] == 800


def test_no_memory_at_all_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = SharedPrefixReader(random_model("llama"), LETTERS, "M", 256)

    def never(*_: Any) -> Any:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate ...")

    monkeypatch.setattr(SharedPrefixReader, "_run", never)
    with pytest.raises(MemoryError, match=r"checkpoint M: .*packs of 64 tokens: use a device"):
        reader.read(chunk(12))


def test_partial_attentions_merge_to_the_whole() -> None:
    """Two sets of keys, merged by their log-sum-exp, against one softmax over both in float64."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, n, 8, generator=generator) for n in (5, 30, 30))
    attend = tree_attention.partial_attention
    (o1, l1), (o2, l2) = (attend(q, k[:, :, part], v[:, :, part], None, 0.3, None)
                          for part in (slice(0, 11), slice(11, 30)))  # fmt: skip
    weight = torch.sigmoid(l2 - l1)[..., None]
    scores = q.double() @ k.double().transpose(-1, -2) * 0.3
    assert torch.lerp(o1, o2, weight) == pytest.approx(
        (torch.softmax(scores, -1) @ v.double()).numpy(), abs=1e-5
    )
    assert torch.logaddexp(l1, l2) == pytest.approx(torch.logsumexp(scores, -1).numpy(), abs=1e-5)


def test_a_fused_kernel_that_is_wrong_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    device = torch.device("cpu")
    assert tree_attention.check_kernels(device, torch.float32)
    kernels = {"cpu": lambda q, k, v, mask, scale: (q * 0, q[..., 0] * 0)}
    monkeypatch.setattr(tree_attention, "_FUSED", kernels)
    assert not tree_attention.check_kernels(device, torch.float32)
    assert not kernels
    reader = SharedPrefixReader(random_model("llama"), LETTERS, "M")
    assert np.abs(reader.differences(chunk(13))).max() < 1e-4  # written out instead


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_family_on_a_gpu(family: str) -> None:
    model = random_model(family).to("cuda", torch.bfloat16)
    reader = SharedPrefixReader(model, LETTERS, family)
    assert reader.fault(chunk(14, 70)) is None
