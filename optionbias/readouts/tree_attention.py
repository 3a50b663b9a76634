"""Attention over a pack of prefix trees, as an attention function of the transformers library.

A token's softmax runs over several sets of keys (the stem, long ancestors, its path). Each set gives
a partial output and its log-sum-exp; two of them merge exactly:

    out = (exp(l1) o1 + exp(l2) o2) / (exp(l1) + exp(l2)),  l = log(exp(l1) + exp(l2)).

Heads that share keys (grouped queries) are folded into the rows of one product.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from optionbias.readouts.layout import Layout, Paths
from optionbias.readouts.library import ATTENTION

NAME = "prefix_tree"
Partial = tuple[torch.Tensor, torch.Tensor]


class UnsupportedAttentionError(RuntimeError):
    """A layer whose attention is not one that trees can take."""


@dataclass
class Stem:
    """Keys and values of the tokens before a pack, by attention module.

    Attributes:
        length: number of tokens, at positions 0 to length - 1.
        kept: id of the module -> parts of (keys, values), each (Hkv, tokens, D), in order.
    """

    length: int = 0
    kept: dict[int, list[Partial]] = field(default_factory=dict)

    def after(self, module: int) -> Partial | None:
        """All keys and values of a module, (Hkv, length, D); None for an empty stem."""
        parts = self.kept.get(module)
        if not parts:
            return None
        if len(parts) > 1:
            keys, values = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
            self.kept[module] = parts = [(keys, values)]
        return parts[0]


@dataclass(frozen=True)
class Gather:
    """Row numbers of a group of B nodes, padded to Lq queries and Lk keys.

    Inputs are rows of (token, head), the output is rows of (node, group, query, key head).

    Attributes:
        queries: (B * Hkv * G * Lq,) rows of the queries, heads that share keys folded.
        keys: (B * Hkv * Lk,) rows of keys and values.
        shape: (B, Hkv, G, Lq, Lk).
        tokens: (n,) the tokens that are real queries here.
        out: (n, Hkv, G) where their outputs lie.
        lse: (n, Hkv, G) where their log-sum-exps lie, in rows of (node, key head, group, query).
    """

    queries: torch.Tensor
    keys: torch.Tensor
    shape: tuple[int, int, int, int, int]
    tokens: torch.Tensor
    out: torch.Tensor
    lse: torch.Tensor

    @property
    def n_rows(self) -> int:
        """Rows of its output."""
        return self.queries.numel()

    @classmethod
    def of(cls, paths: Paths, groups: int, kv_heads: int, device: torch.device) -> Gather:
        """The gather of some paths for a layer's numbers of heads."""
        lines, n_queries = paths.queries.shape
        head, group = np.arange(kv_heads)[:, None], np.arange(groups)
        asked = paths.queries.clip(min=0)[:, None, None, :] * (kv_heads * groups)
        queries = asked + (head * groups + group)[None, :, :, None]
        keys = paths.keys.clip(min=0)[:, None, :] * kv_heads + np.arange(kv_heads)[None, :, None]
        line, query = np.nonzero(paths.queries >= 0)
        line, query = line[:, None, None], query[:, None, None]
        out = ((line * groups + group) * n_queries + query) * kv_heads + head
        lse = ((line * kv_heads + head) * groups + group) * n_queries + query
        parts = (queries.ravel(), keys.ravel(), paths.queries[paths.queries >= 0], out, lse)
        rows, held, tokens, outs, sums = (torch.from_numpy(part).to(device) for part in parts)
        shape = (lines, kv_heads, groups, n_queries, paths.keys.shape[1])
        return cls(rows, held, shape, tokens, outs, sums)


@dataclass
class Pass:
    """One forward pass over a pack: its layout, the stem before it, and what it leaves behind."""

    layout: Layout
    stem: Stem
    keep: bool = False
    kept: dict[int, Partial] = field(default_factory=dict)
    _kept: dict[Any, Any] = field(default_factory=dict)

    def gathers(self, groups: int, kv_heads: int, device: torch.device) -> list[Gather]:
        """Per group of paths, where its rows come from in rows of (token, head)."""
        key = (groups, kv_heads, device)
        if key not in self._kept:
            self._kept[key] = [
                Gather.of(paths, groups, kv_heads, device) for paths in self.layout.paths
            ]
        found: list[Gather] = self._kept[key]
        return found

    def scatter(self, gathers: list[Gather], key: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Where each (token, head) lies among the rows of all groups' outputs, and of their sums."""
        if ("scatter", key) not in self._kept:
            tokens = torch.cat([g.tokens for g in gathers])
            order = torch.argsort(tokens)  # every token once
            starts = np.cumsum([0, *(g.n_rows for g in gathers)]).tolist()
            out, lse = (
                torch.cat(
                    [getattr(g, part) + start for g, start in zip(gathers, starts, strict=False)]
                )
                for part in ("out", "lse")
            )
            self._kept["scatter", key] = (out[order].flatten(), lse[order].flatten())
        found: tuple[torch.Tensor, torch.Tensor] = self._kept["scatter", key]
        return found

    def mask(self, number: int, window: int | None, folds: int, like: torch.Tensor) -> torch.Tensor:
        """Additive mask (B, 1, folds * Lq, Lk) of a group of paths: causal, real keys, in the window."""
        key = (number, window, folds, like.dtype, like.device)
        if key not in self._kept:
            paths: Paths = self.layout.paths[number]
            at = self.layout.positions
            queries, keys = at[paths.queries][:, :, None], at[paths.keys][:, None, :]
            allowed = (keys <= queries) & (paths.keys[:, None, :] >= 0)
            if window is not None:
                allowed &= queries - keys < window
            allowed |= paths.queries[:, :, None] < 0  # rows of padding are thrown away
            mask = torch.zeros(allowed.shape, dtype=like.dtype)
            mask.masked_fill_(torch.from_numpy(~allowed), float("-inf"))
            self._kept[key] = mask.to(like.device).repeat(1, folds, 1)[:, None]
        kept: torch.Tensor = self._kept[key]
        return kept


_running = threading.local()


@contextmanager
def attending(current: Pass) -> Iterator[Pass]:
    """Within it, this thread's forward passes attend as `current` says."""
    _running.current = current
    try:
        yield current
    finally:
        _running.current = None


def tree_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **rest: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of one layer: query (1, H, T, D), key and value (1, Hkv, T, D) -> (1, T, H, D).

    Raises:
        UnsupportedAttentionError: the layer asks for something that trees do not have, such as sinks.
    """
    current: Pass | None = getattr(_running, "current", None)
    if current is None or attention_mask is not None or query.shape[0] != 1:
        raise UnsupportedAttentionError(
            "attention outside of a pass, or with a mask of the model's own"
        )
    if rest.get("s_aux") is not None or getattr(module, "is_causal", True) is False:
        raise UnsupportedAttentionError("attention with sinks, or not causal")
    if query.shape[2] != key.shape[2] or query.shape[2] != len(current.layout.tokens):
        raise UnsupportedAttentionError("queries and keys of other lengths than the pack")
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    q, k, v = (x[0].transpose(0, 1) for x in (query, key, value))  # (T, heads, D)
    if current.keep:
        current.kept[id(module)] = (key[0], value[0])
    length, heads, _ = q.shape
    out, lse = _along_paths(current, q, k, v, scale, sliding_window, softcap)
    q = q.reshape(length, k.shape[1], -1, q.shape[-1])  # (T, Hkv, G, D)
    at = current.layout.positions
    for block in current.layout.blocks:
        _merge(
            out, lse, q, block.queries, key[0][:, block.keys], value[0][:, block.keys],
            at[block.queries], at[block.keys], scale, sliding_window, softcap,
        )  # fmt: skip
    before = current.stem.after(id(module))
    if before is not None:
        _merge(
            out, lse, q, slice(0, length), *before,
            at, np.arange(current.stem.length), scale, sliding_window, softcap,
        )  # fmt: skip
    return out.view(1, length, heads, -1), None


def _along_paths(
    current: Pass, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    scale: float, window: int | None, softcap: float | None,
) -> Partial:  # fmt: skip
    """Every token to its gathered path: out (T, Hkv, G, Dv) and log-sum-exp (T, Hkv, G)."""
    length, heads, _ = q.shape
    kv_heads = k.shape[1]
    groups = heads // kv_heads
    q, k, v = (x.reshape(-1, x.shape[-1]) for x in (q, k, v))
    gathers = current.gathers(groups, kv_heads, q.device)
    outs, sums = [], []
    for number, g in enumerate(gathers):
        lines, _, _, n_queries, n_keys = g.shape
        asked = q.index_select(0, g.queries).view(lines, kv_heads, groups * n_queries, -1)
        held, kept = (x.index_select(0, g.keys).view(lines, kv_heads, n_keys, -1) for x in (k, v))
        mask = current.mask(number, window, groups, asked)
        o, lse = partial_attention(asked, held, kept, mask, scale, softcap)
        outs.append(o.transpose(1, 2).reshape(-1, o.shape[-1]))
        sums.append(lse.reshape(-1))
    where, where_lse = current.scatter(gathers, (groups, kv_heads, q.device))
    out = torch.cat(outs) if len(outs) > 1 else outs[0]
    shape = (length, kv_heads, groups)
    return (
        out.index_select(0, where).view(*shape, -1),
        torch.cat(sums).index_select(0, where_lse).view(shape),
    )


def _merge(
    out: torch.Tensor, lse: torch.Tensor, q: torch.Tensor, where: slice,
    keys: torch.Tensor, values: torch.Tensor, query_at: Any, key_at: Any,
    scale: float, window: int | None, softcap: float | None,
) -> None:  # fmt: skip
    """Merge attention of the tokens `where` to all of `keys` (Hkv, P, D) into `out` and `lse`."""
    mask = None
    if window is not None and query_at.max() - key_at.min() >= window:
        seen = key_at > query_at.min() - window
        if not seen.any():
            return
        first = int(seen.argmax())  # positions ascend: the last keys are those within reach
        keys, values, key_at = keys[:, first:], values[:, first:], key_at[first:]
        allowed = torch.from_numpy(query_at[:, None] - key_at[None] < window).to(q.device)
        mask = torch.zeros(allowed.shape, dtype=q.dtype, device=q.device)
        mask = mask.masked_fill_(~allowed, float("-inf")).repeat(q.shape[2], 1)[None, None]
    part = q[where]
    n, kv_heads, groups, _ = part.shape
    asked = part.permute(1, 2, 0, 3).flatten(1, 2)[None]  # (1, Hkv, G * n, D)
    # A token may be out of reach of all of these keys: only the written-out form allows that.
    attend = partial_attention if mask is None else written_out
    o, other = attend(asked, keys[None], values[None], mask, scale, softcap)
    o = o.view(kv_heads, groups, n, -1).permute(2, 0, 1, 3)
    other = other.view(kv_heads, groups, n).permute(2, 0, 1)
    mine = lse[where]
    weight = torch.sigmoid(other - mine)[..., None].to(out.dtype)
    torch.lerp(out[where], o, weight, out=out[where])
    torch.logaddexp(mine, other, out=lse[where])


def partial_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    mask: torch.Tensor | None, scale: float, softcap: float | None,
) -> Partial:  # fmt: skip
    """softmax(q k^T scale + mask) v with its log-sum-exp, for (B, H, Lq, D) and (B, H, Lk, D).

    Fused where a kernel gives the log-sum-exp too and logits are not capped. Every row needs a key.
    """
    fused = _FUSED.get(q.device.type)
    if softcap is None and fused is not None:
        return fused(q, k, v, mask, scale)
    return written_out(q, k, v, mask, scale, softcap)


def written_out(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    mask: torch.Tensor | None, scale: float, softcap: float | None,
) -> Partial:  # fmt: skip
    """The same step by step; a row without keys gives zeros and a log-sum-exp of minus infinity."""
    scores = torch.matmul(q, k.transpose(-1, -2)).float() * scale
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if mask is not None:
        scores = scores + mask
    lse = torch.logsumexp(scores, dim=-1)
    weights = torch.nan_to_num(torch.exp(scores - lse[..., None]), nan=0.0)
    return torch.matmul(weights.to(v.dtype), v), lse


def _fused_cpu(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None, scale: float
) -> Partial:
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q, k, v, 0.0, False, attn_mask=mask, scale=scale
    )
    return out, lse


def _fused_cuda(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None, scale: float
) -> Partial:
    if mask is not None:
        # The kernel reads the mask in rows whose stride is a multiple of eight.
        width = mask.shape[-1]
        padded = mask.new_zeros(*mask.shape[:-1], -(-width // 8) * 8)
        padded[..., :width] = mask
        mask = padded[..., :width].expand(q.shape[0], q.shape[1], -1, -1)
    out, lse, *_ = torch.ops.aten._scaled_dot_product_efficient_attention(
        q, k, v, mask, True, 0.0, False, scale=scale
    )
    return out, lse[..., : q.shape[2]]


_FUSED = {"cpu": _fused_cpu, "cuda": _fused_cuda}


@torch.inference_mode()
def check_kernels(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether the device's fused kernel is there and right; otherwise it is not used again."""
    kind = device.type
    if kind not in _FUSED:
        return False
    generator = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(2, 2, n, 64, generator=generator).to(device, dtype) for n in (17, 23, 23)
    )
    mask = torch.zeros(2, 1, 17, 23, device=device, dtype=dtype)
    mask[..., 20:] = float("-inf")
    close = 1e-5 if dtype == torch.float32 else 0.05
    try:
        for each in (None, mask):
            found = _FUSED[kind](q, k, v, each, 0.125)
            wanted = written_out(q, k, v, each, 0.125, None)
            if any(
                (a.float() - b.float()).abs().max() > close
                for a, b in zip(found, wanted, strict=True)
            ):
                raise RuntimeError("other numbers")
    except (RuntimeError, TypeError, AttributeError, NotImplementedError):
        del _FUSED[kind]
        return False
    return True


if ATTENTION is not None:
    ATTENTION.register(NAME, tree_attention)
