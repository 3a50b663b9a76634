"""The twelve benchmarks from their own files, where these lie beside the repository.

Counts and items are those of a reading that was made apart from this package, once, and checked
against independent copies (its README says how).
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from optionbias import fetch, published
from optionbias.audit import audit_rows
from optionbias.benchmarks import mmlu_five_subjects, registry
from optionbias.benchmarks.source import Benchmark, File, Source
from optionbias.data_lock import DataLock
from optionbias.item import EXEMPLARS, Item
from optionbias.items import digest
from optionbias.provenance import ROOT
from optionbias.published import Reading
from optionbias.repairs import DEFAULTS
from optionbias.seeds import DEFAULT_SEED

DATA = ROOT.parent / "shared" / "data"
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="no folder ../shared/data with the benchmarks' files"
)
COUNTS = {
    "piqa": 1838,
    "winogrande": 1267,
    "arc_easy": 2365,
    "arc_challenge": 1165,
    "hellaswag": 10042,
    "mmlu_five_subjects": 535,
    "openbookqa": 500,
    "logiqa": 651,
    "race_middle": 1436,
    "truthfulqa_mc1": 219,
    "bbh_mc": 732,
    "mmlu_pro": 9982,
}
VARIANTS = [*((name, None) for name in COUNTS), ("truthfulqa_mc1", "v1")]
WITH_POOL = [name for name in COUNTS if name != "truthfulqa_mc1"]
EVERY = pytest.mark.parametrize("name", COUNTS)


def content_of(name: str, file: File) -> bytes:
    """A file as it lies there, plain or as `.gz`."""
    path = DATA / name / "raw" / file.name
    return path.read_bytes() if path.is_file() else gzip.decompress(Path(f"{path}.gz").read_bytes())


def parts(name: str, variant: str | None = None) -> tuple[Benchmark, Source, tuple[File, ...]]:
    """A benchmark, its source, and every file of that."""
    benchmark = registry.published(name, variant=variant)
    source = benchmark.source(variant)
    return benchmark, source, (*source.files, *(source.pool.files if source.pool else ()))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that the files were brought into from the folder as a mirror."""
    folder = tmp_path_factory.mktemp("store")
    lock = DataLock(folder / "data.lock")
    for name, variant in VARIANTS:
        benchmark, _, files = parts(name, variant)
        fetch.fetch_all(benchmark, files, folder, lock, str(DATA))
    assert not lock.path.exists()  # every digest is declared
    return folder


@cache
def reading(store: Path, name: str, variant: str | None = None) -> Reading:
    """What becomes of a benchmark under the default settings."""
    benchmark, source, _ = parts(name, variant)
    return published.read(benchmark, source, store / name / "raw", DEFAULTS, DEFAULT_SEED)


@cache
def drawn(store: Path, name: str, seed: int = DEFAULT_SEED) -> tuple[list[Item], str]:
    """Its exemplars and the digest of their pool."""
    benchmark, source, _ = parts(name)
    folder, items = store / name / "raw", reading(store, name).items
    return published.exemplars(benchmark, source, folder, DEFAULTS, seed, items)


def expected(path: Path) -> list[Item]:
    """The items of the other reading."""
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    return [Item(**{**entry, "options": tuple(entry["options"])}) for entry in entries]


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_the_files_are_those_that_the_module_declares(name: str, variant: str | None) -> None:
    for file in parts(name, variant)[2]:
        assert hashlib.sha256(content_of(name, file)).hexdigest() == file.sha256


@EVERY
def test_items_equal_those_of_another_reading(store: Path, name: str) -> None:
    """Item by item, in order; TruthfulQA's options are shuffled here and not there."""
    items, others = reading(store, name).items, expected(DATA / name / "items.jsonl")
    assert len(items) == COUNTS[name]
    if name == "truthfulqa_mc1":
        compare_shuffled(list(items), others)
    else:
        assert list(items) == others


def test_the_later_revision_of_truthfulqa(store: Path) -> None:
    items = list(reading(store, "truthfulqa_mc1", "v1").items)
    others = expected(DATA / "truthfulqa_mc1" / "items_v1_revision.jsonl")
    assert len(items) == 208
    compare_shuffled(items, others, ids=False)


def compare_shuffled(items: list[Item], others: list[Item], ids: bool = True) -> None:
    """Gold text and set of options are equal, and all else but the order of the options."""
    for mine, other in zip(items, others, strict=True):
        assert not ids or mine.id == other.id
        assert (mine.question, mine.passage, mine.split, mine.subject) == (
            other.question, other.passage, other.split, other.subject,
        )  # fmt: skip
        assert other.answer == 0
        assert mine.options[mine.answer] == other.options[0]
        assert sorted(mine.options) == sorted(other.options)
    # Each position has a quarter of the golds: four standard errors are 4 sqrt(3 n) / 4.
    counts = Counter(item.answer for item in items)
    assert all(abs(counts[i] - len(items) / 4) < (3 * len(items)) ** 0.5 for i in range(4))


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_items_have_the_declared_digest(store: Path, name: str, variant: str | None) -> None:
    found = reading(store, name, variant)
    assert found.pinned
    assert digest(found.items) == parts(name, variant)[1].sha256


@pytest.mark.parametrize("name", WITH_POOL)
def test_exemplars_are_five_and_no_evaluation_item(store: Path, name: str) -> None:
    """Of MMLU five a subject, in the order of the subjects."""
    exemplars, _ = drawn(store, name)
    subjects = mmlu_five_subjects.FIVE if name == "mmlu_five_subjects" else (None,)
    assert len({e.id for e in exemplars}) == len(exemplars) == EXEMPLARS * len(subjects)
    if subjects != (None,):
        assert [e.subject for e in exemplars] == [s for s in subjects for _ in range(EXEMPLARS)]
    asked = {(i.passage, i.question, frozenset(i.options)) for i in reading(store, name).items}
    for e in exemplars:
        assert e.n_options == registry.PUBLISHED[name]
        assert (e.passage, e.question, frozenset(e.options)) not in asked
        assert all(text == text.strip() != "" for text in (e.question, *e.options))
    assert not {e.id for e in exemplars} & {i.id for i in reading(store, name).items}


@pytest.mark.parametrize("name", WITH_POOL)
def test_exemplars_depend_on_the_seed_alone(store: Path, name: str) -> None:
    """Not on how many items are asked, nor on repairs that touch none of them."""
    benchmark, source, _ = parts(name)
    exemplars, pool = drawn(store, name)
    # OpenBookQA's pool holds items that are asked too: without them it is another pool.
    every = benchmark.by_subject or name == "openbookqa"
    some = reading(store, name).items[:: 1 if every else 50]
    switches = DEFAULTS | {"fix_mojibake": True, "shuffle_gold_first": False}
    again = published.exemplars(
        benchmark, source, store / name / "raw", switches, DEFAULT_SEED, some
    )
    assert again == (exemplars, pool)
    others = [drawn(store, name, seed)[0] for seed in (1, 2, 3)]
    assert any(other != exemplars for other in others) != benchmark.by_subject


# Faults that are known of these files, counted apart from this package.
KNOWN = {
    "logiqa": {
        "options out of letter order": 19,
        "mis-keyed when read by line": 12,
        "options that lost their letter": 2,
    },
    "race_middle": {"identical options": 1},
    "truthfulqa_mc1": {"gold always first": 219},
    "mmlu_pro": {
        "stray blanks on options": 519,
        "stray blanks on the gold": 511,
        "items repeated": 153,
        "identical options": 1,
    },
    "hellaswag": {"mojibake": 1, "markup": 0},
}
GOLDS = {
    "piqa": (910, 928),
    "winogrande": (628, 639),
    "arc_easy": (591, 581, 633, 560),
    "arc_challenge": (263, 309, 309, 284),
    "hellaswag": (2515, 2485, 2584, 2458),
    "mmlu_five_subjects": (113, 136, 157, 129),
    "openbookqa": (138, 126, 132, 104),
    "logiqa": (132, 159, 179, 181),
    "race_middle": (309, 388, 374, 365),
    "truthfulqa_mc1": (219, 0, 0, 0),
    "bbh_mc": (197, 158, 183, 194),
    "mmlu_pro": (1051, 999, 999, 1010, 960, 962, 1022, 1000, 1033, 946),
}


@EVERY
def test_the_audit_counts_the_known_faults_and_golds(store: Path, name: str) -> None:
    k = registry.PUBLISHED[name]
    rows = audit_rows(name, reading(store, name), k)
    counts = {(row["section"], row["name"]): row["count"] for row in rows}
    for fault, n in KNOWN.get(name, {}).items():
        assert counts["fault", fault] == n
    golds = [counts["gold", f"published {letter}"] for letter in "ABCDEFGHIJ"[:k]]
    assert tuple(golds) == GOLDS[name]


def test_the_miskeyed_items_of_logiqa(store: Path) -> None:
    (ids,) = [
        row["ids"]
        for row in audit_rows("logiqa", reading(store, "logiqa"), 4)
        if row["name"] == "mis-keyed when read by line"
    ]
    numbers = (108, 114, 140, 145, 147, 148, 172, 185, 192, 194, 198, 199)
    assert ids == [f"logiqa_test_{n}" for n in numbers]


def test_a_changed_file_is_refused(store: Path, tmp_path: Path) -> None:
    """One letter of one question: the count is right, the digest is not, and both are told."""
    benchmark, source, _ = parts("arc_challenge")
    (file,) = source.files
    raw = content_of("arc_challenge", file).replace(b"astronomer", b"Astronomer", 1)
    (tmp_path / file.name).write_bytes(raw)
    with pytest.raises(published.SourceError) as caught:
        published.read(benchmark, source, tmp_path, DEFAULTS, DEFAULT_SEED)
    assert str(source.sha256) in str(caught.value)
    mirror = tmp_path / "mirror" / "arc_challenge" / "raw"
    mirror.mkdir(parents=True)
    (mirror / file.name).write_bytes(raw)
    lock = DataLock(tmp_path / "data.lock")
    with pytest.raises(fetch.FetchError) as refused:
        fetch.fetch_all(benchmark, (file,), tmp_path / "store", lock, str(tmp_path / "mirror"))
    for known in (file.sha256, hashlib.sha256(raw).hexdigest()):
        assert str(known) in str(refused.value)
    assert not (tmp_path / "store" / "arc_challenge" / "raw" / file.name).exists()
