"""The statistics tables on disk: Parquet between rules, CSV where a promise names it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from optionbias import noise, origins, pair_reversals
from optionbias.atomic import atomic_path, write_text
from optionbias.scoring import CELL_COLUMNS, BenchmarkScores

KEY = ("checkpoint", "benchmark", "readout")
COLUMNS: dict[str, tuple[str, ...]] = {
    "cells": CELL_COLUMNS,
    "identities": (*KEY, "design", "operation", "alpha", "subset", "identity", "residual"),
    "calibration": (*KEY, "item"),
    "priors": (*KEY, "prior", "values"),
    "ties": (*KEY, "operation", "ties"),
    "comparison": (
        "checkpoint", "benchmark", "operation", "K", "n_items", "accuracy", "flip_rate", "skew",
        "pooled_sd", "placement_range", "stable_wrong", "n_shared", "shared_correct",
    ),
    "pair_reversals": pair_reversals.COLUMNS,
    "halves": (
        "checkpoint", "benchmark", "repetition", "flip_rate_a", "skew_a", "flip_rate_b", "skew_b",
    ),
    "noise": noise.COLUMNS,
    "sweeps": (*KEY, "n_items", "n_usable", "revision", "dtype", "backend", "device", "device_name"),
}  # fmt: skip
AS_CSV = ("cells", "calibration", "priors", "identities", "noise")
VECTORS = (
    "f",
    "g",
    "h",
    "b",
    "accuracy_by_letter",
    "values",
    "shared_correct",
    "checkpoints",
    "shared_items",
    "reversing",
)
TEXTS = ("checkpoint", "benchmark", "readout", "design", "operation", "subset", "identity", "item", "prior", "variant", "revision", "dtype", "backend", "device", "device_name")  # fmt: skip
WHOLE = (
    "n_items",
    "n_usable",
    "m",
    "K",
    "near_ties",
    "n_queries",
    "changed",
    "flips_changed",
    "ties",
    "n_shared",
    "repetition",
)


def _typed(rows: Sequence[Mapping[Any, Any]], name: str) -> pd.DataFrame:
    """Rows as a frame with the promised columns and types, whatever is missing."""
    return _retyped(pd.DataFrame(list(rows), columns=list(COLUMNS[name])))


def _retyped(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the type that belongs to each column's name."""
    for column in frame.columns:
        if column in VECTORS:
            frame[column] = frame[column].astype(object)
        elif column in TEXTS:
            frame[column] = frame[column].astype("string")
        elif column in WHOLE:
            frame[column] = frame[column].astype("Int64")
        else:
            frame[column] = frame[column].astype("float64")
    return frame


def write_parquet(path: Path, frame: pd.DataFrame, told: origins.Origins | None = None) -> None:
    """Write a statistics file, atomically, with the origins of its answers in the metadata."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if told is not None:
        metadata = {**table.schema.metadata, origins.KEY: json.dumps(told, sort_keys=True)}
        table = table.replace_schema_metadata(metadata)
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary)


def write_scores(
    folder: Path, scores: BenchmarkScores, told: origins.Origins | None = None
) -> None:
    """Write one benchmark's scores, a Parquet file per table, with the origins of the answers.

    Of answers that come from no file (`told` left out) no origin is told.
    """
    told = origins.merged(()) if told is None else told
    for name in COLUMNS:
        frame = _typed(getattr(scores, name), name)
        write_parquet(folder / f"{name}.parquet", marked(frame, scores.simulated), told)


def marked(frame: pd.DataFrame, simulated: bool) -> pd.DataFrame:
    """The frame with `simulated` among its attributes, which Parquet keeps in the file's metadata."""
    if simulated:
        frame.attrs["simulated"] = True
    return frame


def gather(folders: Sequence[Path], target: Path) -> None:
    """Join the benchmarks' tables, sorted, and write Parquet (and CSV with lists as JSON text).

    The joined files carry the origins of all parts.
    """
    for name, columns in COLUMNS.items():
        told = origins.of_statistics(folder / f"{name}.parquet" for folder in folders)
        parts = [pd.read_parquet(folder / f"{name}.parquet") for folder in sorted(folders)]
        simulated = any(part.attrs.get("simulated") for part in parts)
        # An empty part would change the types of the joined one.
        joined = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
        frame = marked(_retyped(joined), simulated)
        by = [c for c in columns if c in TEXTS and c not in ("operation", "identity")]
        frame = frame.sort_values(by, kind="stable", ignore_index=True)
        write_parquet(target / f"{name}.parquet", frame, told)
        if name in AS_CSV:
            for column in set(VECTORS) & set(columns):
                frame[column] = frame[column].map(_as_json)
            write_text(target / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))


def _as_json(values: Sequence[float]) -> str:
    """A vector as JSON text; NaN, which JSON lacks, as null."""
    return json.dumps([None if pd.isna(v) else float(v) for v in values])
