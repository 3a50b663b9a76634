"""The probed matrix path: the same numbers, recorded, and never needed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from optionbias.readouts import matrix_path
from optionbias.readouts.matrix_path import DEFAULT, PREPACKED, PackedLinear, probe, use_fastest
from readouts.models import FAMILIES, random_model

RATES = {"faster": {DEFAULT: 100.0, PREPACKED: 200.0}, "slower": {DEFAULT: 100.0, PREPACKED: 80.0}}


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
