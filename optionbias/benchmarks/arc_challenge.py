"""ARC-Challenge: the test split of AI2's release."""

from __future__ import annotations

from optionbias.benchmarks import arc
from optionbias.benchmarks.source import Benchmark, File, Pool, Source, github


def _file(name: str, sha256: str) -> File:
    return File(
        name,
        sha256,
        github("chujiezheng/LLM-MCQ-Bias", "2ae2f40c7700", f"code/data_arc/{name}"),
    )


TEST = _file(
    "ARC-Challenge-Test.jsonl", "9fa8ffb3e3a1f88cb302d53dd95aae81e39209ad9bcf974376b319d8fd35717c"
)
DEV = _file(
    "ARC-Challenge-Dev.jsonl", "55224364abd2477f66a9a57c5cbef109fb71d83019aa5e37aec0e7ab757746ca"
)

BENCHMARK = Benchmark(
    name="arc_challenge",
    title="ARC-Challenge",
    k=4,
    licence=arc.LICENCE,
    citation=arc.CITATION,
    sources={
        "official": Source(
            origin="AI2 release, from chujiezheng/LLM-MCQ-Bias at 2ae2f40c7700",
            split="test",
            files=(TEST,),
            read=lambda folder: arc.rows(folder / TEST.name, "test"),
            pool=Pool((DEV,), lambda folder: arc.rows(folder / DEV.name, "dev")),
            count=1165,
            sha256="2693f4cb1c56094ccbeef91381a2c0afb6609af3a5775f78224620642a135385",
        )
    },
)
