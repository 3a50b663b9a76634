"""Named random generators: every random number of the project comes from one of these."""

from __future__ import annotations

import hashlib

import numpy as np

DEFAULT_SEED = 20261016


def generator(seed: int, name: str) -> np.random.Generator:
    """Return the generator that belongs to `name` under `seed`.

    PCG64 on `SeedSequence(entropy=seed, spawn_key=words)` where `words` are the eight
    big-endian uint32 words of SHA-256(name). A stream depends on its name alone, so numbers
    do not change with the number of cores, the order of jobs, or what else is drawn.

    Args:
        seed: the configured seed, a non-negative integer.
        name: a path-like name, for example `table8/cells/draws`.
    """
    digest = hashlib.sha256(name.encode("utf-8")).digest()
    words = tuple(int.from_bytes(digest[i : i + 4], "big") for i in range(0, 32, 4))
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(entropy=seed, spawn_key=words))
    )
