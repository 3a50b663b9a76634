"""Which keys of the config shape numbers, and where.

Stamps hold the digest of the keys that shape the statistics. The keys of inference are not among
them: they have no effect on a run of given sweeps, and what they did to a sweep (revision, dtype,
items, package versions) the sweep tells itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

# key -> why it shapes no number
SHAPE_NOTHING = {
    "cohort": "the cohort's content is digested by itself, wherever its file lies",
    "sweeps": "where answers lie; what they are, the sweeps tell",
    "bundle": "which archive is restored or verified",
    "mirror": "where files are fetched; their digests are checked",
    "threads": "first-token readouts give the same numbers for any; a generated sweep made on a CPU tells its own",
    "resume": "the same bytes either way",
    "cost_limit": "stops a run, changes no answer",
    "preflight": "stops a run that cannot succeed, changes no answer",
    "card": "what hours are estimated for, and GPUs counted by",
    "gpu_memory_gb": "how many GPUs a checkpoint is spread over; its sweep tells the device",
    "gres": "how GPUs are asked for",
}
SHAPE_ANSWERS = (
    "items", "repairs", "device", "backend", "dtype", "chunk_items", "noise_items", "max_tokens",
)  # fmt: skip


def of_statistics(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that shape numbers after the sweeps; a key that nobody classified is one."""
    return {
        key: config[key]
        for key in sorted(config)
        if key not in SHAPE_NOTHING and key not in SHAPE_ANSWERS
    }


def of_answers(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that shape the sweeps which a run makes."""
    return {key: config[key] for key in sorted(SHAPE_ANSWERS)}


def digest(config: Mapping[str, Any]) -> str:
    """SHA-256 of the settings of the statistics."""
    text = json.dumps(of_statistics(config), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
