"""Where the answers behind a statistic come from, as the sweeps that it read tell it.

Origins are a JSON object, the same for any order of the sweeps:
    models    checkpoint -> its revisions (of a closed model, what the service said that it ran)
    items     benchmark -> SHA-256 of the items that were asked; none for simulated answers
    answered  what answered: backend, dtype, device, package versions, each combination once
What a sweep does not tell is `unknown`. Statistics files carry the origins in their Parquet metadata,
so that a table knows them without a file that it does not otherwise read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from optionbias.sweep import read_metadata

Origins = dict[str, Any]
KEY = "sweeps"  # of the Parquet metadata
ANSWERED = ("backend", "dtype", "device", "device_name", "versions")
UNKNOWN = "unknown"


class OriginsError(ValueError):
    """A statistics file that does not say where its answers come from."""


def of_sweep(metadata: Mapping[str, Any]) -> Origins:
    """The origins of one sweep, from its metadata."""
    served = list(metadata.get("served_models") or [])
    revisions = [metadata["revision"]] if metadata.get("revision") else served
    items = {} if metadata.get("simulated") else [metadata.get("items_sha256") or UNKNOWN]
    answered = {key: metadata[key] for key in ANSWERED if metadata.get(key)}
    return {
        "models": {metadata["checkpoint"]: sorted(revisions) or [UNKNOWN]},
        "items": {metadata["benchmark"]: items} if items else {},
        "answered": [answered or {"backend": UNKNOWN}],
    }


def merged(parts: Iterable[Origins]) -> Origins:
    """The origins of everything that the parts read."""
    models: dict[str, set[str]] = {}
    items: dict[str, set[str]] = {}
    answered: dict[str, Mapping[str, Any]] = {}
    for part in parts:
        for found, told in ((models, part["models"]), (items, part["items"])):
            for name, values in told.items():
                found.setdefault(name, set()).update(values)
        answered |= {json.dumps(entry, sort_keys=True): entry for entry in part["answered"]}
    return {
        "models": {name: sorted(models[name]) for name in sorted(models)},
        "items": {name: sorted(items[name]) for name in sorted(items)},
        "answered": [answered[text] for text in sorted(answered)],
    }


def of_sweeps(paths: Iterable[Path]) -> Origins:
    """The origins of sweep files; their metadata alone is read."""
    return merged(of_sweep(read_metadata(path)) for path in paths)


def of_statistics(paths: Iterable[Path]) -> Origins:
    """The origins that statistics files carry, merged.

    Raises:
        OriginsError: naming a file that carries none.
    """
    parts = []
    for path in paths:
        raw = (pq.read_schema(path).metadata or {}).get(KEY.encode())
        if raw is None:
            raise OriginsError(f"{path}: does not say which sweeps it was made from: remove it")
        parts.append(json.loads(raw))
    return merged(parts)
