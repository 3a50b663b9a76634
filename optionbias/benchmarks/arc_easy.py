"""ARC-Easy: the test split of AI2's release."""

from __future__ import annotations

from optionbias.benchmarks import arc
from optionbias.benchmarks.source import Benchmark, File, Pool, Source, github


def _file(name: str, path: str, sha256: str) -> File:
    url = github("nju-websoft/GenMC", "eada4b06cf25", f"data/arc_easy/official/{path}")
    return File(name, sha256, url, derive=arc.without_paragraphs)


TEST = _file(
    "ARC-Easy-Test.jsonl",
    "test.jsonl",
    "ce32a0774b4beb1977d2c6b16dda5dd2b24fdc9c7f506882c452678676bd09be",
)
DEV = _file(
    "ARC-Easy-Dev.jsonl",
    "dev.jsonl",
    "f4364b808a68df6bf500ce1070fb0105d40cacd2391c210deb00ff83ba75d1f4",
)

BENCHMARK = Benchmark(
    name="arc_easy",
    title="ARC-Easy",
    k=4,
    licence=arc.LICENCE,
    citation=arc.CITATION,
    sources={
        "official": Source(
            origin="AI2 release, from nju-websoft/GenMC at eada4b06cf25",
            split="test",
            files=(TEST,),
            read=lambda folder: arc.rows(folder / TEST.name, "test"),
            pool=Pool((DEV,), lambda folder: arc.rows(folder / DEV.name, "dev")),
            count=2365,
            sha256="514e78e6898c3c33a9e571728ff1eb06f5291aa987a5b8f61f816c45ca07c9c0",
        )
    },
)
