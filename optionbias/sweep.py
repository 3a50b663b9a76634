"""The one file format: a sweep, every stored answer of a checkpoint to a benchmark.

A sweep file is Parquet with one row per (item, ordering), sorted by item then ordering. This
module writes it atomically, reads it, and rejects anything that is not a whole, consistent sweep.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from optionbias.atomic import atomic_path
from optionbias.orderings import MAX_K, MIN_K, OrderingError, as_orderings, find

FORMAT = 1
SUM_TOLERANCE = 1e-4
# Readouts that this project makes from a model's letters, and from its texts.
FIRST_TOKEN_READOUTS = ("first-token", "five-shot", "all-orderings")
GENERATED_READOUTS = ("chain-of-thought", "direct-answer")
READOUTS = (
    "first-token",
    "five-shot",
    "chain-of-thought",
    "direct-answer",
    "all-orderings",
    "closed",
)
REQUIRED_METADATA = ("format", "checkpoint", "benchmark", "readout", "K", "orderings")


class SweepError(ValueError):
    """A sweep that cannot be trusted; the message names the file, the row and the value."""


@dataclass(frozen=True)
class Sweep:
    """The stored answers of one cell under one readout.

    Attributes:
        metadata: the JSON object of the file (format, checkpoint, benchmark, readout, K,
            orderings, optional repeats, provenance).
        items: N item ids, sorted.
        gold: (N,) canonical index of the correct content.
        orderings: (M, K), `orderings[s][j]` = position of content j.
        logp: (N, M, K) float32 log-softmax over the letters in presented position order, or
            None for generated answers. Rows of unanswered queries are NaN.
        choice: (N, M) chosen position, -1 where there is no valid answer.
        mass: (N, M) float32 total probability of the K letters, NaN where not measured, or None.
    """

    metadata: dict[str, Any]
    items: NDArray[np.object_]
    gold: NDArray[np.int8]
    orderings: NDArray[np.int64]
    logp: NDArray[np.float32] | None
    choice: NDArray[np.int8]
    mass: NDArray[np.float32] | None = None
    source: str = field(default="", compare=False)

    @property
    def k(self) -> int:
        """K, the number of options."""
        return int(self.orderings.shape[1])

    @property
    def repeats(self) -> dict[int, int]:
        """Index of a repeated ordering -> the index of its first occurrence."""
        return {int(a): int(b) for a, b in self.metadata.get("repeats", {}).items()}

    def index_of(self, pi: ArrayLike) -> NDArray[np.int64]:
        """First index of each ordering of `pi` (..., K), -1 if this sweep does not hold it."""
        return find(self.orderings, pi)


def letter_argmax(logp: NDArray[Any]) -> NDArray[np.int8]:
    """The chosen position of each row (..., K): the argmax, exact ties to the lowest letter."""
    return logp.argmax(axis=-1).astype(np.int8)


def write_sweep(path: str | Path, sweep: Sweep) -> None:
    """Check `sweep` and write it to `path` atomically (a file that exists is a whole sweep).

    Items are sorted on the way; everything `read_sweep` would reject is rejected here.
    """
    order = np.array(sorted(range(len(sweep.items)), key=lambda i: sweep.items[i]))
    n, m = sweep.choice.shape
    if n == 0:
        raise SweepError(f"{path}: no rows: a sweep needs at least one item")
    metadata = {**sweep.metadata, "format": FORMAT, "K": sweep.k}
    metadata["orderings"] = sweep.orderings.tolist()
    columns: dict[str, pa.Array] = {
        "item": pa.array(np.repeat(sweep.items[order], m), pa.string()),
        "gold": pa.array(np.repeat(sweep.gold[order], m), pa.int8()),
        "ordering": pa.array(np.tile(np.arange(m), n), pa.int16()),
    }
    if sweep.logp is None:
        columns["logp"] = pa.nulls(n * m, pa.list_(pa.float32(), sweep.k))
    else:
        rows = sweep.logp[order].reshape(n * m, sweep.k).astype(np.float32)
        columns["logp"] = pa.FixedSizeListArray.from_arrays(
            pa.array(rows.ravel()), sweep.k, mask=pa.array(np.isnan(rows).all(axis=1))
        )
    columns["choice"] = pa.array(sweep.choice[order].ravel(), pa.int8())
    if sweep.mass is not None:
        mass = sweep.mass[order].ravel()
        columns["mass"] = pa.array(mass, pa.float32(), mask=np.isnan(mass))
    table = pa.table(columns).replace_schema_metadata(
        {"sweep": json.dumps(metadata, sort_keys=True)}
    )
    _parse(table, str(path))
    with atomic_path(path) as temporary:
        # Log-probabilities hardly repeat: a dictionary of them, or a slow codec, costs more than it saves.
        pq.write_table(table, temporary, compression="lz4", use_dictionary=["item"])


def read_sweep(path: str | Path) -> Sweep:
    """Read and check a sweep file.

    Raises:
        SweepError: naming the file and, where there is one, the row, for every fault the format
            excludes (see `_parse`), a file that is not Parquet, and a truncated file.
    """
    try:
        with pa.memory_map(str(path)) as source:
            # Items repeat once an ordering: read as a dictionary they are parsed once.
            table = pq.read_table(source, read_dictionary=["item"], use_threads=False)
    except FileNotFoundError as error:
        raise SweepError(f"{path}: no such sweep file") from error
    except (pa.ArrowInvalid, pa.ArrowIOError, OSError) as error:
        first = str(error).splitlines()[0]
        raise SweepError(
            f"{path}: not a whole Parquet file ({first}): restore or redo it"
        ) from error
    return _parse(table, str(path))


def read_metadata(path: str | Path) -> dict[str, Any]:
    """What a sweep file says of itself; its rows are not read.

    Raises:
        SweepError: naming a file that is not Parquet or holds no sweep.
    """
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise SweepError(f"{path}: not a whole Parquet file: restore or redo it") from error
    return _parse_metadata(schema, str(path))[0]


def read_cell_sweep(path: str | Path, k: int) -> Sweep:
    """Read `{readout}/{benchmark}/{checkpoint}.parquet` and check that it is that cell.

    Raises:
        SweepError: as `read_sweep`, and where the metadata name another readout, benchmark or
            checkpoint than the path, or another K than the cohort's.
    """
    sweep = read_sweep(path)
    readout, benchmark, name = Path(path).parts[-3:]
    expected = {"readout": readout, "benchmark": benchmark, "checkpoint": name[: -len(".parquet")]}
    for key, value in {**expected, "K": k}.items():
        if sweep.metadata[key] != value:
            raise SweepError(
                f"{path}: the metadata's `{key}` is {sweep.metadata[key]!r}, not {value!r}: is this "
                f"the file of another cell?"
            )
    return sweep


def _parse_metadata(schema: pa.Schema, path: str) -> tuple[dict[str, Any], NDArray[np.int64]]:
    raw = (schema.metadata or {}).get(b"sweep")
    if raw is None:
        raise SweepError(f"{path}: no `sweep` entry in the Parquet metadata: not a sweep file")
    try:
        metadata = json.loads(raw)
    except ValueError as error:
        raise SweepError(f"{path}: the `sweep` metadata is not JSON: {error}") from error
    if not isinstance(metadata, dict):
        raise SweepError(f"{path}: the `sweep` metadata is not a JSON object")
    if metadata.get("format") != FORMAT:
        raise SweepError(
            f"{path}: unknown sweep format {metadata.get('format')!r}; this version reads {FORMAT}"
        )
    for key in REQUIRED_METADATA:
        if key not in metadata:
            raise SweepError(f"{path}: the metadata lacks `{key}`")
    if metadata["readout"] not in READOUTS:
        raise SweepError(
            f"{path}: unknown readout {metadata['readout']!r} (known: {', '.join(READOUTS)})"
        )
    k = metadata["K"]
    if not isinstance(k, int) or not MIN_K <= k <= MAX_K:
        raise SweepError(f"{path}: K = {k!r} in the metadata is not between {MIN_K} and {MAX_K}")
    try:
        orderings = as_orderings(metadata["orderings"])
    except (OrderingError, ValueError) as error:
        raise SweepError(f"{path}: metadata `orderings`: {error}") from error
    if orderings.ndim != 2 or orderings.shape[1] != k:
        raise SweepError(f"{path}: metadata `orderings` do not have K = {k} entries each")
    _check_repeats(metadata, orderings, path)
    return metadata, orderings


def _check_repeats(metadata: dict[str, Any], orderings: NDArray[np.int64], path: str) -> None:
    repeats = metadata.get("repeats", {})
    if not isinstance(repeats, dict):
        raise SweepError(f"{path}: metadata `repeats` is not a mapping of indices")
    first = find(orderings, orderings)
    for index, original in enumerate(first):
        if original == index:
            continue
        if repeats.get(str(index)) != int(original):
            raise SweepError(
                f"{path}: ordering {index} repeats ordering {original}, which the metadata's "
                f"`repeats` does not say"
            )
    for index, original in repeats.items():
        known = index.isdigit() and int(index) < len(first) and int(index) != original
        if not known or first[int(index)] != original:
            raise SweepError(f"{path}: `repeats` maps {index} to {original}, not the same ordering")


def _parse(table: pa.Table, path: str) -> Sweep:
    """Turn a Parquet table into a `Sweep`, or raise `SweepError` with the first fault found.

    Rejected: unknown format, orderings that are not permutations, missing columns, missing or
    duplicated (item, ordering), rows out of order, `gold` outside 0..K-1 or not constant within
    an item, NaN or +inf, rows that do not sum to one within 1e-4, a `choice` outside -1..K-1 or
    that is not the argmax of the stored `logp` (exact ties to the lowest position).
    """
    metadata, orderings = _parse_metadata(table.schema, path)
    m, k = orderings.shape
    for name in ("item", "gold", "ordering", "logp", "choice"):
        if name not in table.column_names:
            raise SweepError(f"{path}: no column `{name}`")
    for name, kind in {
        "item": "string",
        "gold": "int8",
        "ordering": "int16",
        "choice": "int8",
    }.items():
        found = table.schema.field(name).type
        found = found.value_type if pa.types.is_dictionary(found) else found
        if str(found) not in (kind, f"large_{kind}"):
            raise SweepError(f"{path}: column `{name}` is {found}, not {kind}")
        if table[name].null_count:
            raise SweepError(f"{path}: {table[name].null_count} null entries in `{name}`")
    if table.num_rows == 0:
        raise SweepError(f"{path}: no rows")
    # Items are compared by dictionary codes: 10,000 items are 10,000 strings, not 80,000.
    encoded = table["item"].combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    code = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    names = np.array(encoded.dictionary.to_pylist(), dtype=object)
    ordering = table["ordering"].to_numpy().astype(np.int64)

    def at(row: int) -> str:
        return f"{path}: row {row} (item {names[code[row]]!r}, ordering {ordering[row]})"

    _check_rows(code, names, ordering, m, path, at)
    n = len(names)
    gold_rows = table["gold"].to_numpy().reshape(n, m)
    _first(
        ~((gold_rows >= 0) & (gold_rows < k)),
        at,
        lambda r: f"gold {gold_rows.flat[r]} is outside 0..{k - 1}",
    )
    _first(
        gold_rows != gold_rows[:, :1],
        at,
        lambda r: f"gold {gold_rows.flat[r]} differs from the item's first row",
    )
    choice = table["choice"].to_numpy().reshape(n, m).astype(np.int8)
    _first(
        (choice < -1) | (choice >= k),
        at,
        lambda r: f"choice {choice.flat[r]} is outside -1..{k - 1}",
    )
    logp = _parse_logp(table, n, m, k, choice, at, path)
    mass = None
    if "mass" in table.column_names and table["mass"].null_count < table.num_rows:
        mass = table["mass"].to_numpy().reshape(n, m).astype(np.float32)
        bad = ~np.isnan(mass) & ~((mass >= 0) & (mass <= 1 + SUM_TOLERANCE))
        _first(bad, at, lambda r: f"mass {mass.flat[r]} is outside 0..1")
    return Sweep(
        metadata, names, gold_rows[:, 0].astype(np.int8), orderings, logp, choice, mass, path
    )


def _check_rows(code: Any, names: Any, ordering: Any, m: int, path: str, at: Any) -> None:
    """Every item under every ordering exactly once, sorted by item then ordering."""
    outside = (ordering < 0) | (ordering >= m)
    _first(outside, at, lambda r: f"ordering {ordering[r]} is outside 0..{m - 1}")
    counts = np.bincount(code * m + ordering, minlength=len(names) * m).reshape(len(names), m)
    for fault, wrong in (("appears more than once", counts > 1), ("is missing", counts == 0)):
        if wrong.any():
            i, s = np.argwhere(wrong)[0]
            raise SweepError(f"{path}: (item {names[i]!r}, ordering {s}) {fault}")
    in_order = (np.diff(code * m + ordering) == 1).all()
    if not in_order or names.tolist() != sorted(names):
        raise SweepError(f"{path}: rows are not sorted by item, then ordering")


def _parse_logp(
    table: pa.Table, n: int, m: int, k: int, choice: Any, at: Any, path: str
) -> NDArray[np.float32] | None:
    column = table["logp"].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    kind = column.type
    if (
        not pa.types.is_fixed_size_list(kind)
        or kind.list_size != k
        or kind.value_type != pa.float32()
    ):
        raise SweepError(f"{path}: `logp` is {kind}, not a fixed-size list of {k} float32")
    null = column.is_null().to_numpy(zero_copy_only=False).reshape(n, m)
    if null.all():
        return None
    _first(null & (choice >= 0), at, lambda r: "`logp` is null although there is a choice")
    values = column.values.to_numpy(zero_copy_only=False)
    values = values[column.offset * k : (column.offset + n * m) * k].reshape(n, m, k)
    logp = np.where(null[..., None], np.float32(np.nan), values) if null.any() else values
    answered = ~null
    # One pass finds rows that may be wrong; what is wrong with them is looked at after.
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.exp(logp) @ np.ones(k, dtype=np.float32)
        off = answered & ~(np.abs(total - 1) <= SUM_TOLERANCE)
    wrong = np.zeros_like(off)
    wrong[off] = (np.isnan(logp[off]) | (logp[off] == np.inf)).any(axis=-1)
    _first(wrong, at, lambda r: f"NaN or +inf in logp {logp.reshape(-1, k)[r].tolist()}")
    _first(off, at, lambda r: f"probabilities sum to {total.flat[r]:.6f}, not to one")
    for row in np.flatnonzero(answered & ~_is_argmax(logp, choice))[:1]:
        best = letter_argmax(logp.reshape(-1, k)[row])
        raise SweepError(f"{at(row)}: choice {choice.flat[row]} is not the argmax {best} of logp")
    return logp


def _is_argmax(logp: NDArray[np.float32], choice: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Whether each choice is the first position of its row's largest value, shape of `choice`.

    Column by column, which costs a third of an argmax over so short an axis.
    """
    k = logp.shape[-1]
    rows, chosen = logp.reshape(-1, k), choice.ravel()
    value = rows.ravel()[np.arange(0, rows.size, k) + chosen]
    reaching = np.zeros(len(rows), dtype=np.uint8)
    for column in rows.T:
        reaching += column >= value
    right = (reaching == 1) & (chosen >= 0)
    others = np.flatnonzero(~right)  # beaten, tied or unanswered
    right[others] = letter_argmax(rows[others]) == chosen[others]
    return right.reshape(choice.shape)


def _first(wrong: NDArray[np.bool_], at: Any, describe: Any) -> None:
    """Raise `SweepError` for the first true entry of `wrong`, described by its flat row index."""
    if wrong.any():
        row = int(np.flatnonzero(wrong.ravel())[0])
        raise SweepError(f"{at(row)}: {describe(row)}")
