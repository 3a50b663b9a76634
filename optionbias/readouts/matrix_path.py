"""The fastest exact path for a model's matrix products on this CPU, found by a short probe.

oneDNN with weights reordered once is up to twice as fast as the default library on some processors.
The operators are private to torch, so both are timed and compared at start, and anything unexpected
means the default. The reordered one is taken unless it is clearly slower.
"""

from __future__ import annotations

import json
import logging
import platform
import time
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from torch import nn

from optionbias.atomic import write_text

LOG = logging.getLogger(__name__)
PROBE_SECONDS = 0.5
# Taken unless clearly slower: a choice that noise could turn would change the last digits of a rerun.
SLOWEST = 0.8
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
    """GFLOP/s of each exact path on a layer of the model, the best of interleaved repetitions.

    Other work on the machine only ever takes time: the shortest times are the least disturbed.
    """
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
    return {name: work / min(taken) for name, taken in times.items()}


def _chosen(linear: nn.Linear, tokens: int, memory: Path | None) -> str:
    """The path of this machine: the remembered one, else the probe's, which is then remembered."""
    key = f"{_processor()}, torch {torch.__version__}, {linear.weight.dtype}"
    if memory is None:
        return _probed(linear, tokens)
    memory.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{memory}.busy"):  # jobs that start together must not choose differently
        known: dict[str, str] = json.loads(memory.read_text()) if memory.exists() else {}
        if key not in known:
            known[key] = _probed(linear, tokens)
            write_text(memory, json.dumps(known, indent=1, sort_keys=True))
    return known[key]


def _probed(linear: nn.Linear, tokens: int) -> str:
    rates = probe(linear, tokens)
    LOG.info("matrix products: %s", ", ".join(f"{n} {r:.0f} GFLOP/s" for n, r in rates.items()))
    return DEFAULT if rates.get(PREPACKED, 0.0) < SLOWEST * rates[DEFAULT] else PREPACKED


def _processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@torch.inference_mode()
def use_fastest(model: Any, tokens: int, memory: Path | None = None) -> str:
    """Choose the path for passes of about `tokens` tokens, take it, and name it.

    The choice is made once a machine, library version and dtype, and kept in the file `memory`, so that
    a resumed job or a re-read goes the way of the first.

    Linear layers below the output matrix are replaced where the default is not the fastest. The
    output matrix keeps its weight, which many models share with their embeddings. The name stays
    with the model as `matrix_path`.
    """
    model.matrix_path = _take_fastest(model, tokens, memory)
    LOG.info("matrix products by %s", model.matrix_path)
    return str(model.matrix_path)


def _take_fastest(model: Any, tokens: int, memory: Path | None) -> str:
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
    if _chosen(largest, tokens, memory) == DEFAULT:
        return DEFAULT
    for parent, name, child in layers:
        setattr(parent, name, PackedLinear(child, tokens))
    return PREPACKED
