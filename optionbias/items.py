"""Items files: read and write them, and turn a user's own table into items.

The workflow's own files are Parquet with columns id, passage, question, options (list), answer,
split, subject. A user's file is JSONL, CSV or Parquet with columns question, options, answer
and optional id, passage, subject; every malformed row of it is reported in one error.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from optionbias.atomic import atomic_path
from optionbias.item import EXEMPLARS, Item
from optionbias.orderings import LETTERS

LISTED_FAULTS = 50
MAX_FIELD = 1 << 30
MIN_ITEMS = 2
REQUIRED_COLUMNS = ("question", "options", "answer")


class ItemsError(ValueError):
    """An items file that cannot be used; the message lists every faulty row."""


def canonical_json(items: Iterable[Item]) -> str:
    """One JSON object per item, keys sorted, in the order given: what digests are taken of."""
    return "".join(
        json.dumps(
            {**vars(item), "options": list(item.options)}, sort_keys=True, ensure_ascii=False
        )
        + "\n"
        for item in items
    )


def digest(items: Iterable[Item]) -> str:
    """SHA-256 of the items' content, whatever file holds them."""
    return hashlib.sha256(canonical_json(items).encode()).hexdigest()


def write_items(
    path: str | Path, items: Sequence[Item], metadata: Mapping[str, str] | None = None
) -> None:
    """Write items as Parquet, atomically; the metadata carries their digest and what is given."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        {
            "id": pa.string(),
            "passage": pa.string(),
            "question": pa.string(),
            "options": pa.list_(pa.string()),
            "answer": pa.int64(),
            "split": pa.string(),
            "subject": pa.string(),
        },
        metadata={"items_sha256": digest(items), **(metadata or {})},
    )
    rows = [{**vars(item), "options": list(item.options)} for item in items]
    with atomic_path(path) as temporary:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), temporary, compression="zstd")


def read_items(path: str | Path) -> list[Item]:
    """Read an items file that `write_items` wrote, in its order."""
    import pyarrow.parquet as pq

    return [
        Item(**{**row, "options": tuple(row["options"])}) for row in pq.read_table(path).to_pylist()
    ]


def pool_digest(path: str | Path) -> str | None:
    """Digest of the pool that exemplars were drawn from; None where they are no draw."""
    import pyarrow.parquet as pq

    found = (pq.read_schema(path).metadata or {}).get(b"pool_sha256")
    return found.decode() if found else None


def read_user_items(path: str | Path, benchmark: str, k: int) -> list[Item]:
    """Read a user's own benchmark.

    Args:
        path: a `.jsonl`, `.csv` or `.parquet` file. `options` is a list (in a CSV, a JSON list);
            `answer` a 0-based index or a letter.
        benchmark: its name in the cohort; ids default to `{benchmark}-{line number}`.
        k: the number of options every item must have.

    Raises:
        ItemsError: listing every faulty row with its line number (row number for Parquet).
    """
    file = Path(path)
    readers = {".jsonl": _jsonl_rows, ".csv": _csv_rows, ".parquet": _parquet_rows}
    ending = file.suffix.lower()
    if not file.is_file():
        kind = "is not a file" if file.exists() else "does not exist"
        raise ItemsError(f"benchmark {benchmark}: {file} {kind}")
    if ending not in readers:
        raise ItemsError(f"benchmark {benchmark}: {file}: items are .jsonl, .csv or .parquet files")
    place = "row" if ending == ".parquet" else "line"
    items: list[Item] = []
    faults: list[str] = []
    seen: dict[str, int] = {}
    columns: set[str] = set()
    for line, row in readers[ending](file):
        if isinstance(row, str):
            faults.append(f"{place} {line}: {row}")
            continue
        columns |= row.keys()
        item, wrong = _item(row, line, benchmark, k)
        if item.id in seen:
            wrong.append(f"id {item.id!r} is already on {place} {seen[item.id]}")
        seen.setdefault(item.id, line)
        items.append(item)
        faults += [f"{place} {line}: {fault}" for fault in wrong]
    lacking = [name for name in REQUIRED_COLUMNS if items and name not in columns]
    if lacking:
        # One line for the whole file instead of one a row.
        faults = [
            f"no column {', '.join(lacking)}: its columns are {', '.join(sorted(columns))}; "
            f"needed are {', '.join(REQUIRED_COLUMNS)}"
        ]
    if not faults and not items:
        faults.append("no items")
    if faults:
        more = len(faults) - LISTED_FAULTS
        listed = faults[:LISTED_FAULTS] + ([f"... and {more} more"] if more > 0 else [])
        raise ItemsError(
            f"benchmark {benchmark}: {file}: {len(faults)} fault{'s' * (len(faults) != 1)} in the "
            f"file; mend or remove these rows:\n  " + "\n  ".join(listed)
        )
    return items


def check_user_benchmark(
    benchmark: str, k: int, items: Path | None = None, exemplars: Path | None = None
) -> None:
    """Check a user's items and exemplars together, before anything runs.

    Raises:
        ItemsError: faulty rows of either file, fewer than two items, fewer than five exemplars, or
            exemplars that are also items (their answers would stand in the prompt).
    """
    asked = [] if items is None else read_user_items(items, benchmark, k)
    if items is not None and len(asked) < MIN_ITEMS:
        raise ItemsError(
            f"benchmark {benchmark}: {items}: {len(asked)} item: at least {MIN_ITEMS} are needed, one "
            f"to estimate priors on and one to evaluate"
        )
    if exemplars is None:
        return
    shown = read_user_items(exemplars, benchmark, k)
    if len(shown) < EXEMPLARS:
        raise ItemsError(
            f"benchmark {benchmark}: {exemplars}: {len(shown)} exemplars, {EXEMPLARS} are needed"
        )
    known = {(i.passage, i.question, frozenset(i.options)): i.id for i in asked}
    for exemplar in shown[:EXEMPLARS]:
        same = known.get((exemplar.passage, exemplar.question, frozenset(exemplar.options)))
        if same is not None:
            raise ItemsError(
                f"benchmark {benchmark}: {exemplars}: exemplar {exemplar.id!r} is item {same!r} of "
                f"{items}: an exemplar must not be evaluated"
            )


def _item(row: dict[str, Any], line: int, benchmark: str, k: int) -> tuple[Item, list[str]]:
    """One item, and what is wrong with its row."""
    wrong: list[str] = []
    question = _text(row.get("question"), "the question", wrong)
    if not question:
        wrong.append("the question is empty" if "question" in row else "no `question`")
    options = _options(row, k, wrong)
    answer = _answer(row, min(len(options) or k, len(LETTERS)), wrong)
    id_ = _text(row.get("id"), "the id", wrong) or f"{benchmark}-{line:06d}"
    optional = {
        name: _text(row.get(name), f"the {name}", wrong) or None
        for name in ("passage", "split", "subject")
    }
    return Item(id_, question, tuple(options), answer, **optional), wrong


def _text(value: Any, what: str, wrong: list[str]) -> str:
    """A cell's text; missing values (None, NaN) are empty, what is no text is a fault."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError:
            wrong.append(f"{what} is not UTF-8")
            return "?"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        wrong.append(f"{what} is {str(value)[:40]!r}, not a text")
        return "?"
    text = str(value).strip()
    if any(0xD800 <= ord(ch) <= 0xDFFF or ch == "\0" for ch in text):
        wrong.append(f"{what} holds half a character or a NUL")
        return "?"
    return text


def _options(row: dict[str, Any], k: int, wrong: list[str]) -> list[str]:
    raw = row.get("options")
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            raw = None
    if not isinstance(raw, list):
        wrong.append("`options` is not a list" if "options" in row else "no `options`")
        return []
    options = [_text(option, f"option {i + 1}", wrong) for i, option in enumerate(raw)]
    if len(options) < 2:
        wrong.append(
            f"{len(options)} option{'s' if len(options) != 1 else ''}, at least two are needed"
        )
    elif len(options) != k:
        wrong.append(f"{len(options)} options where K is {k}")
    wrong += [f"option {LETTERS[i]} is missing" for i, o in enumerate(options[:26]) if not o]
    for text in sorted({o for o in options if o and options.count(o) > 1}):
        wrong.append(f"option {text!r} is repeated")
    return options


def _answer(row: dict[str, Any], k: int, wrong: list[str]) -> int:
    if "answer" not in row:
        wrong.append("no `answer`")
        return 0
    raw = row["answer"]
    index: int | None = None
    if isinstance(raw, str):
        text = raw.strip()
        if len(text) == 1 and text.upper() in LETTERS:
            index = LETTERS.index(text.upper())
        elif re.fullmatch(r"[0-9]{1,6}(\.0+)?", text):
            index = int(float(text))
    elif isinstance(raw, int | float) and not isinstance(raw, bool) and float(raw).is_integer():
        index = int(raw)
    if index is None:
        wrong.append(f"answer {str(raw)[:40]!r} is neither an index nor a letter")
    elif not 0 <= index < k:
        wrong.append(
            f"answer {raw!r} is out of range: {k} options are 0..{k - 1} or A..{LETTERS[k - 1]}"
        )
    return index or 0


Rows = Iterator[tuple[int, "dict[str, Any] | str"]]


def _decoded_lines(file: Path) -> Iterator[tuple[int, str | None]]:
    for number, raw in enumerate(file.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            yield number, raw.decode("utf-8")
        except UnicodeDecodeError:
            yield number, None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"key {repeated[0]!r} is repeated")
    return dict(pairs)


def _jsonl_rows(file: Path) -> Rows:
    for number, line in _decoded_lines(file):
        if line is None:
            yield number, "not UTF-8"
        elif line.strip():
            try:
                row = json.loads(line, object_pairs_hook=_without_repeats)
            except (ValueError, RecursionError) as error:
                yield number, f"not JSON ({error})"
                continue
            yield number, row if isinstance(row, dict) else "not a JSON object"


def _csv_rows(file: Path) -> Rows:
    lines = list(_decoded_lines(file))
    bad = [number for number, line in lines if line is None]
    yield from ((number, "not UTF-8") for number in bad)
    if bad:
        return
    csv.field_size_limit(MAX_FIELD)
    reader = csv.reader(io.StringIO("\n".join(str(line) for _, line in lines), newline=""))
    header: list[str] | None = None
    start = 1
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield start, f"not CSV ({error})"
            return
        # A quoted field may span lines: a row is named by the line on which it starts.
        if fields and header is None:
            header = fields
            repeated = sorted({name for name in header if header.count(name) > 1})
            if repeated:
                yield start, f"column {repeated[0]!r} is repeated"
                return
        elif fields and header is not None and len(fields) != len(header):
            yield start, f"{len(fields)} fields where the header has {len(header)}"
        elif fields and header is not None:
            yield start, dict(zip(header, fields, strict=True))
        start = reader.line_num + 1


def _parquet_rows(file: Path) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(file).to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise ItemsError(
            f"{file}: cannot be read as Parquet: {str(error).splitlines()[0]}"
        ) from error
    yield from enumerate(rows, 1)


def sample_items(
    items: Sequence[Item], size: int, seed: int, benchmark: str, readout: str
) -> list[Item]:
    """`size` items (all if there are fewer) drawn without replacement by the cell's name.

    The draw does not depend on the checkpoint, so all checkpoints answer the same items.
    """
    from optionbias.seeds import generator

    by_id = sorted(items, key=lambda item: item.id)
    order = generator(seed, f"items/{readout}/{benchmark}").permutation(len(by_id))
    return [by_id[i] for i in sorted(order[:size])]
