"""Reused caches against one plain forward pass a prompt, for each family of the roster."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from optionbias.readouts.forward import ForwardError, LetterReader, shared_length
from readouts.models import FAMILIES, random_model

LETTERS = [70, 71, 72, 73]


def prompts(seed: int, shared: int, lengths: list[int], items: int) -> list[list[list[int]]]:
    """Items whose prompts share `shared` tokens over all items and 5 more within an item."""
    rng = np.random.default_rng(seed)
    head = rng.integers(3, 300, shared).tolist()
    chunk = []
    for _ in range(items):
        own = head + rng.integers(3, 300, 5).tolist()
        chunk.append([own + rng.integers(3, 300, n).tolist() for n in lengths])
    return chunk


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("shared", [0, 40])
def test_every_family_agrees_with_the_plain_forward(family: str, shared: int) -> None:
    """Lengths differ within an item, prompts are longer than the sliding windows."""
    reader = LetterReader(random_model(family), LETTERS, family)
    chunk = prompts(1, shared, [20, 20, 23, 1, 20, 31], items=3)
    ours = reader.read(chunk)
    plain = reader.read_plainly([p for item in chunk for p in item])
    assert np.abs(ours.logp - plain.logp).max() < 1e-4
    assert np.abs(ours.mass - plain.mass).max() < 1e-4
    assert np.ptp(plain.logp) > 0.1, "the test models must not answer uniformly"


def test_log_softmax_and_mass_by_hand() -> None:
    """logp is the log-softmax over the letters, mass their share of the full softmax."""
    model = random_model("llama")
    ids = prompts(2, 0, [12], items=1)[0][0]
    logits = model(torch.tensor([ids])).logits[0, -1].double().detach()
    full = torch.softmax(logits, -1)[LETTERS]
    found = LetterReader(model, LETTERS, "M").read([[ids]])
    assert found.mass[0] == pytest.approx(float(full.sum()), abs=1e-5)
    assert np.exp(found.logp[0]) == pytest.approx((full / full.sum()).tolist(), abs=1e-5)


def test_the_result_of_a_chunk_does_not_depend_on_the_chunk_before() -> None:
    model = random_model("gemma3")
    one, two = prompts(3, 40, [9, 9], items=2), prompts(4, 40, [9, 9], items=2)
    reader = LetterReader(model, LETTERS, "M")
    reader.read(one)
    after = reader.read(two)
    alone = LetterReader(model, LETTERS, "M").read(two)
    assert (after.logp == alone.logp).all() and (after.mass == alone.mass).all()


def test_shared_length_leaves_a_token_of_each_prompt() -> None:
    assert shared_length([[1, 2, 3], [1, 2, 4]]) == 2
    assert shared_length([[1, 2], [1, 2, 3]]) == 1
    assert shared_length([[1, 2, 3]]) == 2
    assert shared_length([[5], [5]]) == 0


def test_nan_logits_stop_the_run_and_name_the_checkpoint() -> None:
    model = random_model("llama")
    with torch.no_grad():
        model.lm_head.weight[70] = float("nan")
    with pytest.raises(ForwardError, match=r"checkpoint M: .*NaN"):
        LetterReader(model, LETTERS, "M").read(prompts(5, 0, [8], items=1))


def test_a_model_that_mishandles_its_cache_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model("llama")
    reader = LetterReader(model, LETTERS, "M")
    chunk = prompts(6, 0, [8, 8], items=1)
    assert reader.check(chunk[0]) < 1e-4
    monkeypatch.setattr(LetterReader, "_extend", lambda self, cache, tokens: None)
    with pytest.raises(ForwardError, match=r"checkpoint M: .*plain forward pass"):
        reader.check(chunk[0])
