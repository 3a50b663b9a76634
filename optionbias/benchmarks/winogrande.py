"""WinoGrande xl: the validation split of AI2's release."""

from __future__ import annotations

from pathlib import Path

from optionbias.benchmarks.source import Benchmark, File, Pool, Row, Source, github, json_lines


def _file(name: str, sha256: str) -> File:
    return File(name, sha256, github("zhang-edward/WinoGrande", "ea61adace986", f"data/{name}"))


DEV = _file("dev.jsonl", "1aeac79cf46a3dcbe59a71ca7e5372a1490cde2b4ae2387dc56f00378104d2e8")
TRAIN = _file("train_xs.jsonl", "2f159f8216e54cdf835399ac10ebdd66699ca53934f4fc21a42d222512571dae")


def rows(path: Path, split: str) -> list[Row]:
    """Sentences with one blank; they come in pairs, `-1` and `-2`, that differ in a word."""
    return [
        Row(
            line["qID"],
            line["sentence"],
            (line["option1"], line["option2"]),
            int(line["answer"]) - 1,
            split=split,
        )
        for line in json_lines(path)
    ]


BENCHMARK = Benchmark(
    name="winogrande",
    title="WinoGrande",
    k=2,
    licence="CC BY",
    citation=(
        "K. Sakaguchi et al. WinoGrande: an adversarial Winograd schema challenge at scale. AAAI, 2020."
    ),
    sources={
        "official": Source(
            origin="AI2 release, from zhang-edward/WinoGrande at ea61adace986",
            split="validation",
            files=(DEV,),
            read=lambda folder: rows(folder / DEV.name, "validation"),
            pool=Pool((TRAIN,), lambda folder: rows(folder / TRAIN.name, "train")),
            count=1267,
            sha256="50a2671e4d5dcb0c265569289a2a069da6aa3063cec536128ed3db5920827048",
        )
    },
)
