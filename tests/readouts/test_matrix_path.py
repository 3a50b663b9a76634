"""The probed matrix path: the same numbers, recorded, and never needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from optionbias.readouts import matrix_path
from optionbias.readouts.matrix_path import DEFAULT, PREPACKED, PackedLinear, probe, use_fastest
from readouts.models import FAMILIES, random_model

RATES = {"faster": {DEFAULT: 100.0, PREPACKED: 200.0}, "slower": {DEFAULT: 100.0, PREPACKED: 70.0}}


@pytest.mark.parametrize("bias", [True, False])
def test_a_reordered_weight_gives_the_same_product(bias: bool) -> None:
    torch.manual_seed(0)
    linear, x = nn.Linear(48, 80, bias=bias), torch.randn(1, 33, 48)
    with torch.inference_mode():
        assert PackedLinear(linear, 33)(x) == pytest.approx(linear(x).numpy(), abs=1e-5)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_model_answers_the_same_on_either_path(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_path, "probe", lambda *_: RATES["faster"])
    ids = torch.arange(3, 40)[None]
    model = random_model(family)
    with torch.inference_mode():
        before = model(ids).logits
        assert use_fastest(model, 64) == PREPACKED == model.matrix_path
        after = model(ids).logits
    packed = [m for m in model.base_model.modules() if isinstance(m, PackedLinear)]
    assert len(packed) >= 4 * 4, "the projections of four layers"
    assert (before - after).abs().max() < 1e-4 * before.abs().max()


def test_the_default_stays_where_it_is_clearly_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_path, "probe", lambda *_: RATES["slower"])
    model = random_model("llama")
    assert use_fastest(model, 64) == DEFAULT == model.matrix_path
    assert not any(isinstance(m, PackedLinear) for m in model.modules())


def test_without_the_private_operators_the_default_is_timed_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(*_: Any) -> None:
        raise AttributeError("no such operator")

    monkeypatch.setattr(matrix_path, "PackedLinear", missing)
    monkeypatch.setattr(matrix_path, "PROBE_SECONDS", 0.01)
    rates = probe(nn.Linear(32, 32), 16)
    assert set(rates) == {DEFAULT} and rates[DEFAULT] > 0


def test_the_choice_is_made_once_a_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A later probe that would say otherwise is not asked: a resumed job goes the way of the first."""
    memory = tmp_path / "journal" / "matrix_path.json"
    monkeypatch.setattr(matrix_path, "probe", lambda *_: RATES["slower"])
    assert use_fastest(random_model("llama"), 64, memory) == DEFAULT
    monkeypatch.setattr(matrix_path, "probe", lambda *_: RATES["faster"])
    assert use_fastest(random_model("qwen2"), 64, memory) == DEFAULT
    assert use_fastest(random_model("qwen2"), 64, tmp_path / "other.json") == PREPACKED
    (key,) = json.loads(memory.read_text())
    assert "torch" in key and "float32" in key
