"""The sweep file: a round trip, and that nothing but a whole, consistent sweep is read."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optionbias.orderings import all_orderings, cyclic, cyclic_and_reversals
from optionbias.sweep import (
    Sweep,
    SweepError,
    letter_argmax,
    read_cell_sweep,
    read_sweep,
    write_sweep,
)
from strategies import build_sweep, log_softmax, random_logits

N, M, K = 3, 6, 3
Tamper = Callable[[pa.Table], pa.Table]


def valid(**changes: object) -> Sweep:
    """Three items under the cyclic orderings of K = 3 and their reversals; distinct scores."""
    logits = random_logits(np.random.default_rng(1), N, cyclic_and_reversals(K))
    return build_sweep(cyclic_and_reversals(K), logits, [0, 1, 2], **changes)


def with_metadata(**changes: object) -> Tamper:
    """Metadata entries set, or left out where the value is `...`."""

    def tamper(table: pa.Table) -> pa.Table:
        metadata = {**json.loads(table.schema.metadata[b"sweep"]), **changes}
        kept = {name: value for name, value in metadata.items() if value is not ...}
        return table.replace_schema_metadata({"sweep": json.dumps(kept)})

    return tamper


def with_values(column: str, changes: dict[int, object], kind: pa.DataType | None = None) -> Tamper:
    """Entries of a column set, by row."""

    def tamper(table: pa.Table) -> pa.Table:
        values = table[column].to_pylist()
        for row, value in changes.items():
            values[row] = value
        field = pa.field(column, kind or table.schema.field(column).type)
        index = table.column_names.index(column)
        return table.set_column(index, field, pa.array(values, field.type))

    return tamper


def with_rows(*rows: int) -> Tamper:
    """The given rows in the given order."""
    return lambda table: table.take(list(rows))


def both(*tampers: Tamper) -> Tamper:
    """One change after the other."""

    def tamper(table: pa.Table) -> pa.Table:
        for change in tampers:
            table = change(table)
        return table

    return tamper


ALL = list(range(N * M))
SURE = [-0.01, *[float(np.log((1 - np.exp(-0.01)) / 2))] * 2]
TIE = [float(np.log(0.4)), float(np.log(0.4)), float(np.log(0.2))]
MISSING = [*ALL[:7], *ALL[8:]]
TWICE = [*ALL[:8], 7, *ALL[8:]]

# Name, what is done to a valid file's table, and what the message must say besides its name.
REJECTED: list[tuple[str, Tamper, str]] = [
    ("missing row", with_rows(*MISSING), r"\(item 'q001', ordering 1\) is missing"),
    ("missing last row", with_rows(*ALL[:-1]), r"\(item 'q002', ordering 5\) is missing"),
    ("duplicated row", with_rows(*TWICE), r"\(item 'q001', ordering 1\) appears more than once"),
    ("unsorted orderings", with_rows(1, 0, *ALL[2:]), "not sorted by item, then ordering"),
    ("unsorted items", with_rows(*ALL[6:], *ALL[:6]), "not sorted by item, then ordering"),
    ("interleaved items", with_rows(*np.argsort(np.array(ALL) % M, kind="stable")), "not sorted"),
    ("no rows", lambda table: table.slice(0, 0), "no rows"),
    ("NaN", with_values("logp", {4: [float("nan"), -1, -1]}), "row 4 .* NaN"),
    ("null within a row", with_values("logp", {4: [None, -1, -1]}), "row 4 .* NaN"),
    ("+inf", with_values("logp", {5: [float("inf"), -1, -1]}), r"row 5 .*\+inf"),
    ("sum above one", with_values("logp", {3: [-1, -1, -1]}), "row 3 .* sum to 1.1036"),
    ("sum below one", with_values("logp", {17: [-2, -2, -2]}), "row 17 .* sum to 0.4060"),
    ("all -inf", with_values("logp", {0: [-float("inf")] * 3}), "row 0 .* sum to 0.0000"),
    ("sum off by 2e-4", with_values("logp", {2: [SURE[0] + 2e-4, *SURE[1:]]}), "row 2 .* sum to"),
    (
        "not the argmax",
        both(with_values("logp", {9: SURE}), with_values("choice", {9: 2})),
        "row 9 .* choice 2 is not the argmax 0",
    ),
    (
        "tie to the higher letter",
        both(with_values("logp", {9: TIE}), with_values("choice", {9: 1})),
        "row 9 .* choice 1 is not the argmax 0",
    ),
    (
        "answer withheld",
        both(with_values("logp", {9: SURE}), with_values("choice", {9: -1})),
        "row 9 .* choice -1 is not the argmax 0",
    ),
    ("choice too large", with_values("choice", {8: 3}), "row 8 .* choice 3 is outside -1..2"),
    ("choice too small", with_values("choice", {8: -2}), "row 8 .* choice -2 is outside -1..2"),
    (
        "choice beyond a byte",
        with_values("choice", {8: 256}, pa.int64()),
        "column `choice` is int64, not int8",
    ),
    ("gold too large", with_values("gold", {0: 3, 1: 3}), "row 0 .* gold 3 is outside 0..2"),
    ("gold negative", with_values("gold", {6: -1}), "row 6 .* gold -1 is outside 0..2"),
    ("gold inconsistent", with_values("gold", {8: 0}), "row 8 .* gold 0 differs"),
    ("ordering too large", with_values("ordering", {17: 6}), "row 17 .* ordering 6 is outside"),
    ("ordering negative", with_values("ordering", {0: -1}), "row 0 .* ordering -1 is outside"),
    ("null choice", with_values("choice", {3: None}), "1 null entries in `choice`"),
    ("null gold", with_values("gold", {3: None}), "1 null entries in `gold`"),
    ("null item", with_values("item", {3: None}), "1 null entries in `item`"),
    ("null ordering", with_values("ordering", {3: None}), "1 null entries in `ordering`"),
    ("null logp with a choice", with_values("logp", {11: None}), "row 11 .* `logp` is null"),
    (
        "logp of wrong width",
        lambda t: t.set_column(3, "logp", pa.array([[-0.7, -0.7]] * 18, pa.list_(pa.float32(), 2))),
        "`logp` is fixed_size_list.*not a fixed-size list of 3 float32",
    ),
    (
        "logp as a list",
        lambda t: t.set_column(3, "logp", t["logp"].cast(pa.list_(pa.float32()))),
        "not a fixed-size list of 3 float32",
    ),
    (
        "logp in double precision",
        lambda t: t.set_column(3, "logp", t["logp"].cast(pa.list_(pa.float64(), 3))),
        "not a fixed-size list of 3 float32",
    ),
    *[
        (f"no {name}", lambda t, name=name: t.drop_columns([name]), f"no column `{name}`")
        for name in ("item", "gold", "ordering", "logp", "choice")
    ],
    ("choices as fractions", with_values("choice", {8: 0.5}, pa.float64()), "choice"),
    ("gold as fractions", with_values("gold", dict.fromkeys(range(6), 0.5), pa.float64()), "gold"),
    ("gold as text", with_values("gold", dict.fromkeys(ALL, "A"), pa.string()), "gold"),
    ("items as numbers", with_values("item", {i: i // M for i in ALL}, pa.int64()), "item"),
    ("no metadata", lambda t: t.replace_schema_metadata(None), "no `sweep` entry"),
    ("not JSON", lambda t: t.replace_schema_metadata({"sweep": "{"}), "not JSON"),
    ("not an object", lambda t: t.replace_schema_metadata({"sweep": "[]"}), "not a JSON object"),
    ("unknown format", with_metadata(format=2), "unknown sweep format 2; this version reads 1"),
    ("no format", with_metadata(format=...), "unknown sweep format None"),
    *[
        (f"no {name} in the metadata", with_metadata(**{name: ...}), f"lacks `{name}`")
        for name in ("checkpoint", "benchmark", "readout", "K", "orderings")
    ],
    ("K too large", with_metadata(K=27), "K = 27"),
    ("K as text", with_metadata(K="3"), "K = '3'"),
    ("K of other orderings", with_metadata(K=4), "do not have K = 4 entries"),
    (
        "not a permutation",
        with_metadata(orderings=[[0, 1, 2], [0, 1, 1]]),
        r"ordering 1 is not a permutation of 0..2: \[0, 1, 1\]",
    ),
    ("ragged orderings", with_metadata(orderings=[[0, 1, 2], [0, 1]]), "metadata `orderings`"),
    ("one flat ordering", with_metadata(orderings=[0, 1, 2]), "metadata `orderings`"),
    ("orderings as text", with_metadata(orderings="ABC"), "metadata `orderings`"),
    (
        "repeated ordering",
        with_metadata(orderings=[*cyclic(3).tolist(), *cyclic(3).tolist()]),
        "ordering 3 repeats ordering 0, which the metadata's `repeats` does not say",
    ),
    (
        "repeats of another ordering",
        with_metadata(orderings=[*cyclic_and_reversals(3)[:5].tolist(), [0, 1, 2]], repeats={5: 1}),
        "ordering 5 repeats ordering 0",
    ),
    ("repeats that are none", with_metadata(repeats={"3": 0}), "`repeats` maps 3 to 0"),
    ("repeats outside", with_metadata(repeats={"9": 0}), "`repeats` maps 9 to 0"),
    ("repeats of a word", with_metadata(repeats={"x": 0}), "`repeats` maps x to 0"),
    ("an ordering that repeats itself", with_metadata(repeats={"0": 0}), "`repeats`"),
    ("repeats as a list", with_metadata(repeats=[[5, 0]]), "`repeats`"),
    ("repeats that are null", with_metadata(repeats=None), "`repeats`"),
    ("mass above one", lambda t: t.append_column("mass", pa.array([0.5] * 17 + [1.5])), "row 17 "),
    ("mass negative", lambda t: t.append_column("mass", pa.array([-0.1] + [1.0] * 17)), "row 0 "),
]


@pytest.mark.parametrize(
    ("tamper", "message"), [case[1:] for case in REJECTED], ids=[case[0] for case in REJECTED]
)
def test_rejected(tmp_path: Path, tamper: Tamper, message: str) -> None:
    whole, broken = tmp_path / "whole.parquet", tmp_path / "broken.parquet"
    write_sweep(whole, valid())
    pq.write_table(tamper(pq.read_table(whole)), broken)
    with pytest.raises(SweepError, match=message) as raised:
        read_sweep(broken)
    assert str(raised.value).startswith(f"{broken}: ")
    if message.startswith("row"):
        row = int(str(raised.value).split(": row ")[1].split()[0])
        assert f"item 'q{row // M:03d}'" in str(raised.value)


ACCEPTED: list[tuple[str, Tamper]] = [
    ("a sum within 1e-4", with_values("logp", {9: [SURE[0] + 5e-5, *SURE[1:]]})),
    ("an exact tie", with_values("logp", {9: TIE})),
    ("an impossible letter", with_values("logp", {9: [0, -float("inf"), -float("inf")]})),
    ("an unanswered query", both(with_values("logp", {9: None}), with_values("choice", {9: -1}))),
    ("a query without mass", lambda t: t.append_column("mass", pa.array([0.5] * 17 + [None]))),
    ("further columns", lambda t: t.append_column("note", pa.array(["x"] * 18))),
]


@pytest.mark.parametrize("tamper", [case[1] for case in ACCEPTED], ids=[c[0] for c in ACCEPTED])
def test_accepted(tmp_path: Path, tamper: Tamper) -> None:
    write_sweep(tmp_path / "a.parquet", valid())
    sure = both(with_values("logp", {9: SURE}), with_values("choice", {9: 0}))
    table = both(sure, tamper)(pq.read_table(tmp_path / "a.parquet"))
    pq.write_table(table, tmp_path / "b.parquet", row_group_size=5)
    read = read_sweep(tmp_path / "b.parquet")
    assert read.choice[1, 3] == table["choice"][9].as_py()


def equal(read: Sweep, written: Sweep) -> bool:
    """The same answers under the same orderings, and the metadata that was given."""
    assert {**written.metadata, **read.metadata} == read.metadata
    for name in ("items", "gold", "orderings", "choice"):
        assert np.array_equal(getattr(read, name), getattr(written, name)), name
    for name in ("logp", "mass"):
        a, b = getattr(read, name), getattr(written, name)
        assert (a is None) == (b is None), name
        assert a is None or np.array_equal(a, b, equal_nan=True), name
    return True


@pytest.mark.parametrize("k", [2, 3, 4, 10, 26])
def test_round_trip(tmp_path: Path, k: int) -> None:
    orderings = cyclic_and_reversals(k)
    rng = np.random.default_rng(k)
    logits = random_logits(rng, 7, orderings)
    mass = rng.random((7, len(orderings)))
    mass[0, 0] = np.nan
    sweep = build_sweep(orderings, logits, np.arange(7) % k, [(1, 0), (6, 1)], mass=mass)
    path = tmp_path / "deep" / "model.parquet"
    write_sweep(path, sweep)
    read = read_sweep(path)
    assert equal(read, sweep)
    assert (read.source, read.k, read.repeats) == (str(path), k, {})
    assert read.logp.dtype == np.float32
    assert read.choice.dtype == read.gold.dtype == np.int8
    assert pq.read_table(path).schema.field("logp").type == pa.list_(pa.float32(), k)


def test_items_are_sorted_on_the_way(tmp_path: Path) -> None:
    sweep = valid()
    order = np.array([2, 0, 1])
    moved = replace(
        sweep,
        items=sweep.items[order],
        gold=sweep.gold[order],
        logp=sweep.logp[order],
        choice=sweep.choice[order],
    )
    write_sweep(tmp_path / "a.parquet", moved)
    assert equal(read_sweep(tmp_path / "a.parquet"), sweep)


def test_generated_answers(tmp_path: Path) -> None:
    sweep = valid(generated=True, unanswered=[(0, 0), (2, 5)], readout="chain-of-thought")
    write_sweep(tmp_path / "a.parquet", sweep)
    read = read_sweep(tmp_path / "a.parquet")
    assert equal(read, sweep)
    assert read.logp is None
    assert (read.choice[0, 0], read.choice[2, 5], (read.choice < 0).sum()) == (-1, -1, 2)
    nothing = replace(sweep, choice=np.full_like(sweep.choice, -1))
    write_sweep(tmp_path / "b.parquet", nothing)
    assert (read_sweep(tmp_path / "b.parquet").choice == -1).all()


def test_declared_repeats(tmp_path: Path) -> None:
    orderings = np.concatenate([cyclic(4), cyclic(4)[:1]])
    logits = random_logits(np.random.default_rng(1), 5, orderings)
    sweep = build_sweep(orderings, logits, [0] * 5, repeats={"4": 0}, generated=True)
    write_sweep(tmp_path / "a.parquet", sweep)
    read = read_sweep(tmp_path / "a.parquet")
    assert read.repeats == {4: 0}
    assert read.index_of([[0, 1, 2, 3], [3, 2, 1, 0]]).tolist() == [0, -1]


def test_all_orderings_round_trip(tmp_path: Path) -> None:
    sweep = build_sweep(
        all_orderings(4), random_logits(np.random.default_rng(1), 3, all_orderings(4)), [0, 1, 3]
    )
    write_sweep(tmp_path / "a.parquet", sweep)
    assert equal(read_sweep(tmp_path / "a.parquet"), sweep)


def test_argmax_of_exact_ties() -> None:
    rows = np.array([[0.1, 0.5, 0.5], [0.2, 0.2, 0.2], [0.1, 0.2, 0.7]], dtype=np.float32)
    assert letter_argmax(rows).tolist() == [1, 0, 2]


def nothing_in(sweep: Sweep) -> Sweep:
    """The sweep without items."""
    return replace(
        sweep, items=sweep.items[:0], gold=sweep.gold[:0], logp=sweep.logp[:0],
        choice=sweep.choice[:0],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: replace(s, choice=(s.choice + 1).astype(np.int8) % 3), "not the argmax"),
        (lambda s: replace(s, gold=s.gold + 3), "gold"),
        (lambda s: replace(s, logp=s.logp - 1), "sum to"),
        (lambda s: replace(s, items=np.array(["a", "b", "a"], dtype=object)), "more than once"),
        (lambda s: replace(s, orderings=s.orderings * 0), "not a permutation"),
        (lambda s: replace(s, metadata={"readout": "closed", "benchmark": "b"}), "`checkpoint`"),
        (nothing_in, "no rows"),
    ],
)
def test_what_would_not_be_read_is_not_written(tmp_path: Path, change, message: str) -> None:
    with pytest.raises(SweepError, match=message) as raised:
        write_sweep(tmp_path / "a.parquet", change(valid()))
    assert str(tmp_path / "a.parquet") in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("generated", [False, True])
def test_truncated(tmp_path: Path, generated: bool) -> None:
    path = tmp_path / "model.parquet"
    write_sweep(path, valid(generated=generated))
    written = path.read_bytes()
    for length in (*range(0, len(written), 97), 1, 4, 8, len(written) - 8, len(written) - 1):
        path.write_bytes(written[:length])
        with pytest.raises(SweepError, match=f"^{path}: not a whole Parquet file"):
            read_sweep(path)


@pytest.mark.parametrize("content", [b"item,gold\n", b"PAR1" * 9, b"\x00" * 4096, b"{}"])
def test_not_parquet(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.parquet"
    path.write_bytes(content)
    with pytest.raises(SweepError, match=f"{path}: not a whole Parquet file"):
        read_sweep(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="no such sweep file"):
        read_sweep(tmp_path / "model.parquet")
    with pytest.raises(SweepError, match=str(tmp_path)):
        read_sweep(tmp_path)


def test_rows_that_sum_to_one_survive_float32() -> None:
    # A large K in single precision stays well within the tolerance of the reader.
    logp = log_softmax(np.random.default_rng(0).normal(size=(500, 26)) * 8).astype(np.float32)
    assert np.abs(np.exp(logp.astype(np.float64)).sum(axis=1) - 1).max() < 1e-5


@pytest.mark.parametrize(
    ("place", "k", "message"),
    [
        ("closed/exam/M", 3, "`readout` is 'first-token', not 'closed'"),
        ("first-token/other/M", 3, "`benchmark` is 'exam', not 'other'"),
        ("first-token/exam/N", 3, "`checkpoint` is 'M', not 'N'"),
        ("first-token/exam/M", 4, "`K` is 3, not 4"),
    ],
)
def test_a_sweep_in_another_cells_place(tmp_path: Path, place: str, k: int, message: str) -> None:
    entries = {"readout": "first-token", "benchmark": "exam", "checkpoint": "M"}
    logits = random_logits(np.random.default_rng(0), 2, cyclic_and_reversals(3))
    sweep = build_sweep(cyclic_and_reversals(3), logits, [0, 1], **entries)
    right, wrong = tmp_path / "first-token/exam/M.parquet", tmp_path / f"{place}.parquet"
    write_sweep(right, sweep)
    assert read_cell_sweep(right, 3).k == 3
    write_sweep(wrong, sweep)
    with pytest.raises(SweepError, match=re.escape(f"{wrong}: the metadata's {message}")):
        read_cell_sweep(wrong, k)
