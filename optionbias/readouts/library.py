"""What differs between the versions of transformers that checkpoints are run with (4.45 to 5)."""

from __future__ import annotations

import inspect
from typing import Any

import torch
import transformers

VERSION = tuple(int(part) for part in transformers.__version__.split(".")[:2])
# Functions that the library calls for a model's attention by name; None where it has no such thing.
ATTENTION: Any = getattr(transformers, "AttentionInterface", None)


def dtype_option(dtype: torch.dtype) -> dict[str, torch.dtype]:
    """The option of `from_pretrained` and `from_config` that sets the dtype."""
    return {"dtype" if VERSION >= (4, 56) else "torch_dtype": dtype}


def last_logits(model: Any) -> dict[str, int]:
    """The option of a model's forward for the logits of the last position alone; none gives all."""
    known = inspect.signature(model.forward).parameters
    names = ("logits_to_keep", "num_logits_to_keep")
    return next(({name: 1} for name in names if name in known), {})


def cache_option(model: Any) -> dict[str, str]:
    """The option of `GenerationConfig` for the cache that a model's sliding windows need.

    Later versions see from its layers which one that is; 4.45 generates wrongly with another.
    """
    kind = getattr(model.generation_config, "cache_implementation", None)
    return {"cache_implementation": kind} if kind and VERSION < (4, 56) else {}


def takes_attention(model: Any) -> bool:
    """Whether a model's attention can be replaced by a function of ours."""
    return ATTENTION is not None and hasattr(model, "set_attn_implementation")
