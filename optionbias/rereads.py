"""Which re-reads there are for the noise floor; what they are compared by is in `noise`.

Read at every start of the workflow, so it imports nothing.
"""

from __future__ import annotations

# How a cell is read again. `alone`: every prompt in a forward pass of its own; the others change the
# dtype or the backend and nothing else.
VARIANTS = ("alone", "float32", "bfloat16", "vllm")
# What `noise_floor: true` stands for.
DEFAULT_VARIANTS = ("alone", "float32")


def variant_of(reread: str) -> str | None:
    """The variant that a path's part `noise/VARIANT/` names; None of an empty part."""
    return reread.split("/")[1] if reread else None


def variants(setting: bool | list[str]) -> tuple[str, ...]:
    """The variants that a config's `noise_floor` asks for."""
    if isinstance(setting, bool):
        return DEFAULT_VARIANTS if setting else ()
    return tuple(v for v in VARIANTS if v in setting)
