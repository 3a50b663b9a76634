"""The fastest exact path for a model's matrix products on this CPU, found by a short probe.

oneDNN with weights reordered once is up to twice as fast as the default library on some processors.
The operators are private to torch, so both are timed and compared at start, and anything unexpected
means the default.
"""

from __future__ import annotations

import logging
import statistics
import time
from typing import Any

import torch
from torch import nn

LOG = logging.getLogger(__name__)
PROBE_SECONDS = 0.5
# Taken unless clearly slower: a choice that noise could turn would change the last digits of a rerun.
SLOWEST = 0.9
DEFAULT, PREPACKED = "default", "prepacked oneDNN"


class PackedLinear(nn.Module):
    """A linear layer whose weight is reordered once for oneDNN; it replaces `nn.Linear`."""

    def __init__(self, linear: nn.Linear, tokens: int) -> None:
        """Reorder the weight of `linear` for inputs of about `tokens` rows."""
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.bias = None if linear.bias is None else linear.bias.detach()
        self.packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), tokens)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x (..., in) -> (..., out)."""
        out: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self.packed, self.bias, "none", [], ""
        )
        return out


@torch.inference_mode()
def probe(linear: nn.Linear, tokens: int) -> dict[str, float]:
    """GFLOP/s of each exact path on a layer of the model, medians of interleaved repetitions."""
    x = torch.randn(1, tokens, linear.in_features, dtype=linear.weight.dtype)
    ways: dict[str, Any] = {DEFAULT: linear}
    try:
        packed = PackedLinear(linear, tokens)
        wanted = linear(x)
        if torch.allclose(packed(x), wanted, rtol=1e-4, atol=1e-4 * float(wanted.abs().max())):
            ways[PREPACKED] = packed
    except (RuntimeError, AttributeError, TypeError, NotImplementedError):
        pass  # another torch, another processor: the default is always there
    times: dict[str, list[float]] = {name: [] for name in ways}
    end = time.perf_counter() + PROBE_SECONDS
    while time.perf_counter() < end or len(times[DEFAULT]) < 3:
        for name, way in ways.items():
            start = time.perf_counter()
            way(x)
            times[name].append(time.perf_counter() - start)
    work = 2e-9 * tokens * linear.in_features * linear.out_features
    return {name: work / statistics.median(taken) for name, taken in times.items()}


@torch.inference_mode()
def use_fastest(model: Any, tokens: int) -> str:
    """Choose the path for passes of about `tokens` tokens, take it, and name it.

    Linear layers below the output matrix are replaced where the default is not the fastest. The
    output matrix keeps its weight, which many models share with their embeddings. The name stays
    with the model as `matrix_path`.
    """
    model.matrix_path = _take_fastest(model, tokens)
    return str(model.matrix_path)


def _take_fastest(model: Any, tokens: int) -> str:
    body = model.base_model
    layers = [
        (parent, name, child)
        for parent in body.modules()
        for name, child in parent.named_children()
        if type(child) is nn.Linear
    ]
    if not layers or model.device.type != "cpu":
        return DEFAULT
    largest = max((child for *_, child in layers), key=lambda child: child.weight.numel())
    rates = probe(largest, tokens)
    LOG.info("matrix products: %s", ", ".join(f"{n} {r:.0f} GFLOP/s" for n, r in rates.items()))
    if rates.get(PREPACKED, 0.0) < SLOWEST * rates[DEFAULT]:
        return DEFAULT
    for parent, name, child in layers:
        setattr(parent, name, PackedLinear(child, tokens))
    return PREPACKED
