"""The benchmarks that are known by name, and what each published one declares."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any
from urllib.parse import urlparse

import pytest

from optionbias.benchmarks import mmlu_five_subjects, registry
from optionbias.benchmarks.mmlu_digests import DIGESTS
from optionbias.benchmarks.source import File, SourceError
from optionbias.seeds import DEFAULT_SEED

SHA256 = re.compile(r"[0-9a-f]{64}")
EVERY = pytest.mark.parametrize("name", registry.PUBLISHED)
# Variants whose files nobody has seen yet: no digest is known of what they give.
UNSEEN = {
    ("hellaswag", "official"),
    ("hellaswag", "hub"),
    ("truthfulqa_mc1", "hub"),
    ("mmlu_pro", "hub"),
}


def files(name: str) -> list[tuple[str, File]]:
    """(variant, file) of items and pools."""
    return [
        (variant, file)
        for variant, source in registry.published(name).sources.items()
        for file in (*source.files, *(source.pool.files if source.pool else ()))
    ]


def test_fifteen_are_known_and_no_name_twice() -> None:
    assert len(registry.PUBLISHED) == 12
    assert len(registry.BUILTIN) == len(registry.MODULES) == 15
    assert registry.BUILTIN == registry.GENERATED | registry.PUBLISHED
    assert set(registry.MODULES) == set(registry.BUILTIN)


@EVERY
def test_a_module_declares_the_benchmark_of_its_name(name: str) -> None:
    benchmark = import_module(registry.MODULES[name]).BENCHMARK
    assert registry.published(name) is benchmark
    assert (benchmark.name, benchmark.k) == (name, registry.PUBLISHED[name])
    assert all((benchmark.title, benchmark.licence, benchmark.citation))


@EVERY
def test_a_source_names_origin_split_files_and_what_it_gives(name: str) -> None:
    benchmark = registry.published(name)
    for variant, source in benchmark.sources.items():
        assert source.origin
        assert source.split in ("test", "validation")
        assert source.files
        names = [
            file.name
            for part in (source.files, source.pool.files if source.pool else ())
            for file in part
        ]
        assert len(set(names)) == len(names)
        assert source.gold_first == (name == "truthfulqa_mc1")
        if (name, variant) not in UNSEEN:
            assert source.count is not None
            assert SHA256.fullmatch(str(source.sha256))
    assert benchmark.source() is next(iter(benchmark.sources.values()))
    assert (name, next(iter(benchmark.sources))) not in UNSEEN


@EVERY
def test_a_file_has_one_origin_at_a_commit_and_a_digest(name: str) -> None:
    by_name: dict[str, File] = {}
    for variant, file in files(name):
        assert by_name.setdefault(file.name, file) == file  # one name, one file
        assert (file.url is None) != (file.hub is None)
        assert not file.name.startswith("/") and ".." not in file.name
        if (name, variant) not in UNSEEN:
            assert SHA256.fullmatch(str(file.sha256))
        if file.url is not None:
            url = urlparse(file.url)
            assert (url.scheme, url.netloc) == ("https", "raw.githubusercontent.com")
            _, _owner, _repository, commit, *path = url.path.split("/")
            assert re.fullmatch(r"[0-9a-f]{12,40}", commit)
            assert path
            assert file.address == file.url
        if file.hub is not None:
            assert file.hub.path in file.address and file.hub.dataset in file.address


def test_only_truthfulqa_has_no_pool_and_only_race_is_restricted() -> None:
    without, restricted = set(), set()
    for name in registry.PUBLISHED:
        benchmark = registry.published(name)
        without |= {name for source in benchmark.sources.values() if source.pool is None}
        restricted |= {name for _ in [0] if benchmark.restricted}
    assert without == {"truthfulqa_mc1"}
    assert restricted == {"race_middle"}
    assert "non-commercial" in str(registry.published("race_middle").restricted)


@pytest.mark.parametrize(
    ("entry", "name", "is_published"),
    [
        ({"name": "piqa"}, "piqa", True),
        ({"name": "mine", "published": "piqa"}, "piqa", True),
        ({"name": "piqa", "published": "arc_easy"}, "arc_easy", True),
        ({"name": "facts_k2"}, "facts_k2", False),
        ({"name": "exam"}, None, False),
        ({"name": "mine", "published": "no_such"}, None, False),
        # A user's own items are that, whatever the entry is called.
        ({"name": "piqa", "items": "mine.jsonl"}, None, False),
        ({"name": "mine", "published": "piqa", "items": "mine.jsonl"}, None, False),
    ],
)
def test_which_benchmark_an_entry_means(
    entry: dict[str, Any], name: str | None, is_published: bool
) -> None:
    assert registry.builtin_name(entry) == name
    found = registry.published_entry(entry)
    assert (found is not None) == is_published
    assert found is None or found.name == name


@EVERY
def test_an_unknown_variant_is_told_with_the_known_ones(name: str) -> None:
    known = registry.published(name).sources
    with pytest.raises(SourceError) as caught:
        registry.published(name, variant="no-such")
    assert str(caught.value) == f"{name} has no variant no-such (it has {', '.join(known)})"
    for variant in known:
        assert registry.published(name, variant=variant).source(variant) is known[variant]
        assert registry.published_entry({"name": name, "variant": variant}) is not None


def test_variants() -> None:
    assert {n: list(registry.published(n).sources) for n in registry.PUBLISHED} == {
        **{n: ["official"] for n in registry.PUBLISHED},
        "hellaswag": ["cleaned", "official", "hub"],
        "truthfulqa_mc1": ["v0", "v1", "hub"],
        "mmlu_pro": ["october-2024", "hub"],
    }


@EVERY
def test_only_mmlu_has_subjects_to_choose_from(name: str) -> None:
    if name == "mmlu_five_subjects":
        return
    with pytest.raises(SourceError, match=f"{name} is not divided into subjects"):
        registry.published(name, subjects=["law"])
    with pytest.raises(SourceError, match="is not divided into subjects"):
        registry.published_entry({"name": "mine", "published": name, "subjects": ["law"]})


def test_unknown_subjects_are_told_with_the_known_ones() -> None:
    with pytest.raises(SourceError) as caught:
        registry.published("mmlu_five_subjects", ["anatomy", "yoga", "alchemy"])
    assert str(caught.value) == (
        f"MMLU has no subject alchemy, yoga; its subjects are {', '.join(DIGESTS)}"
    )


def test_the_57_subjects_of_mmlu() -> None:
    assert len(DIGESTS) == 57
    digests = [d for pair in DIGESTS.values() for d in pair]
    assert len(set(digests)) == 2 * 57
    assert all(SHA256.fullmatch(d) for d in digests)
    assert list(DIGESTS) == sorted(DIGESTS)
    assert set(mmlu_five_subjects.FIVE) < set(DIGESTS)


def test_mmlu_with_other_subjects_has_their_files_and_no_pin() -> None:
    law = registry.published("mmlu_five_subjects", ["jurisprudence", "anatomy", "anatomy"])
    source = law.source()
    assert [f.name for f in source.files] == [
        "test/anatomy_test.csv",
        "test/jurisprudence_test.csv",
    ]
    assert source.pool is not None
    assert [f.name for f in source.pool.files] == [
        "dev/anatomy_dev.csv",
        "dev/jurisprudence_dev.csv",
    ]
    for part, column in ((source.files, 0), (source.pool.files, 1)):
        subjects = ("anatomy", "jurisprudence")
        assert [f.sha256 for f in part] == [DIGESTS[s][column] for s in subjects]
    assert (source.count, source.sha256) == (None, None)
    # The five by name, in any order, are the five.
    five = registry.published("mmlu_five_subjects", mmlu_five_subjects.FIVE[::-1]).source()
    assert (five.count, five.sha256) == (535, mmlu_five_subjects.FIVE_SHA256)


def test_what_tables_print() -> None:
    truthful = registry.published("truthfulqa_mc1")
    entry = {"name": "truthfulqa_mc1", "variant": "v1"}
    told = registry.described(truthful, entry)
    assert told == {
        "title": "TruthfulQA-MC1",
        "split": "validation",
        "source": truthful.source("v1").origin,
        "licence": "Apache-2.0",
    }
    plain = registry.described(truthful, {"name": "truthfulqa_mc1"})
    assert plain["source"] == truthful.source("v0").origin != told["source"]
    other = registry.described(truthful, {**entry, "name": "later"})
    assert other == {**told, "title": "TruthfulQA-MC1 (later)"}


@pytest.mark.parametrize("name", registry.GENERATED)
def test_generated_benchmarks_have_items_and_five_exemplars(name: str) -> None:
    items = registry.generated_items(name, DEFAULT_SEED)
    exemplars = registry.generated_exemplars(name, DEFAULT_SEED)
    assert {item.n_options for item in [*items, *exemplars]} == {registry.GENERATED[name]}
    assert len(exemplars) == 5
    assert not {item.question for item in items} & {item.question for item in exemplars}
