"""The options that go by other names in other versions of transformers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from optionbias.readouts import library
from readouts.models import random_model


def test_the_dtype_goes_by_the_name_of_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    for version, name in [((4, 45), "torch_dtype"), ((4, 56), "dtype"), ((5, 24), "dtype")]:
        monkeypatch.setattr(library, "VERSION", version)
        assert library.dtype_option(torch.float16) == {name: torch.float16}


def test_only_the_last_logits_are_asked_for_where_the_model_can_be_asked() -> None:
    def new(input_ids: object, logits_to_keep: int = 0) -> None: ...
    def old(input_ids: object, num_logits_to_keep: int = 0) -> None: ...
    def neither(input_ids: object) -> None: ...

    found = [library.last_logits(SimpleNamespace(forward=f)) for f in (new, old, neither)]
    assert found == [{"logits_to_keep": 1}, {"num_logits_to_keep": 1}, {}]


def test_the_installed_library_gives_the_last_logits_alone() -> None:
    model = random_model("llama")
    assert library.takes_attention(model)
    ids = torch.tensor([[5, 6, 7, 8]])
    assert model(input_ids=ids, **library.last_logits(model)).logits.shape[1] == 1


def test_old_versions_are_told_the_cache_of_sliding_windows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    windows, plain = (
        SimpleNamespace(generation_config=SimpleNamespace(cache_implementation=kind))
        for kind in ("hybrid", None)
    )
    for version, wanted in [((4, 45), {"cache_implementation": "hybrid"}), ((4, 57), {})]:
        monkeypatch.setattr(library, "VERSION", version)
        assert library.cache_option(windows) == wanted
        assert library.cache_option(plain) == {}
