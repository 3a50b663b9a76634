"""A small simulated cohort through the whole workflow: marked everywhere, the same in any order."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
import yaml
from PIL import Image

from optionbias.catalogue import ANALYSES, FIGURES
from optionbias.catalogue import TABLES as ALL_TABLES
from optionbias.frames import AS_CSV, COLUMNS
from optionbias.stamp import of_drawing, split
from optionbias.sweep import read_sweep
from workflow.conftest import Workflow, copy_sources, jobs

# The table of the noise floor is made where it is measured.
TABLES = [table for table in ALL_TABLES if table != "noise"]

pytestmark = pytest.mark.workflow
LABEL = "few, simulated"
FORMATS = ("csv", "md", "tex", "typ")
COHORT = {
    "name": "few",
    "simulated": True,
    "checkpoints": [
        {"name": "A-1B", "family": "A", "params_b": 1, "training": "base"},
        {"name": "A-1B-it", "family": "A", "params_b": 1, "training": "post", "base": "A-1B"},
        {"name": "A-8B", "family": "A", "params_b": 8, "training": "base"},
        {"name": "B-3B", "family": "B", "params_b": 3, "training": "post"},
        {"name": "B-30B", "family": "B", "params_b": 30, "training": "post"},
        {"name": "Shut", "family": "C", "training": "post", "closed": True},
    ],
    "benchmarks": [
        {"name": "two", "K": 2, "size": 60, "difficulty": 0},
        {"name": "four", "K": 4, "size": 60, "difficulty": -0.5},
        {"name": "mmlu_x", "title": "MMLU", "K": 4, "size": 50, "difficulty": 0.3},
        {"name": "ten", "K": 10, "size": 30, "difficulty": 0.6},
    ],
    "readouts": {
        "first-token": {"checkpoints": "all", "benchmarks": "all"},
        "five-shot": {"checkpoints": "all", "benchmarks": ["two"]},
        "chain-of-thought": {"checkpoints": "all", "benchmarks": ["four"]},
        "direct-answer": {
            "checkpoints": ["A-1B", "B-3B"], "benchmarks": ["four"],
            "also": [{"checkpoints": ["A-8B"], "benchmarks": ["ten"]}],
        },
        "all-orderings": {"checkpoints": ["A-1B", "A-8B", "B-3B"], "benchmarks": ["four"]},
        "closed": {"checkpoints": "all", "benchmarks": ["mmlu_x"]},
    },
}  # fmt: skip
# (readout, benchmark) -> cells
SIMULATED = {
    ("first-token", "two"): 5, ("first-token", "four"): 5, ("first-token", "mmlu_x"): 5,
    ("first-token", "ten"): 5, ("five-shot", "two"): 5, ("chain-of-thought", "four"): 5,
    ("direct-answer", "four"): 2, ("direct-answer", "ten"): 1, ("all-orderings", "four"): 3,
    ("closed", "mmlu_x"): 1,
}  # fmt: skip


class Runs(NamedTuple):
    """The cohort run twice, and what the two runs printed."""

    whole: Workflow
    other: Workflow
    options: tuple[str, ...]
    printed: str
    printed_other: str


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Everything on two cores; and beside it, on one core and in another order, all but pictures.

    The second run is asked for the last figure's data first, and its jobs are chosen by another
    scheduler. What it lacks are drawings and pages of the same numbers.
    """
    source = copy_sources(tmp_path_factory.mktemp("clone"))
    path = tmp_path_factory.mktemp("cohort") / "few.yaml"
    path.write_text(yaml.safe_dump(COHORT))
    options = ("--config", f"cohort={path}", "draws=200", "repetitions=5")
    targets = [
        *(f"results/tables/table{number}.csv" for number in TABLES),
        *(f"results/statistics/{name}.csv" for name in AS_CSV),
        *(f"figures/figure{number}.csv" for number in FIGURES),
    ]
    first, *rest = reversed(targets)
    whole = Workflow(source, tmp_path_factory.mktemp("whole"))
    other = Workflow(source, tmp_path_factory.mktemp("other"))
    with ThreadPoolExecutor() as pool:
        printed = pool.submit(whole.run, "--cores", "2", *options)
        printed_other = pool.submit(
            other.run, "--cores", "1", "--scheduler", "greedy", "--prioritize", first,
            *options, "--", first, *rest,
        )  # fmt: skip
        return Runs(whole, other, options, printed.result(), printed_other.result())


def finished(printed: str) -> list[tuple[str, str]]:
    """(rule, wildcards) of every job in the order in which they started."""
    found = []
    for block in re.split(r"\n(?=\[)", printed):
        rule = re.search(r"^(?:local)?rule (\w+):$", block, re.M)
        if rule:
            wildcards = re.search(r"^ +wildcards: (.*)$", block, re.M)
            found.append((rule[1], wildcards[1] if wildcards else ""))
    return found


def test_every_output_is_there(runs: Runs) -> None:
    out = runs.whole.out
    expected = [f"results/tables/table{n}.{ending}" for n in TABLES for ending in FORMATS]
    expected += [f"figures/figure{n}.{e}" for n in FIGURES for e in ("csv", "pdf", "png", "svg")]
    expected += [f"results/statistics/{name}.parquet" for name in (*COLUMNS, *ANALYSES)]
    expected += [f"results/statistics/{name}.csv" for name in AS_CSV]
    expected += ["results/summary.md", "results/agreement.csv", "results/agreement.md"]
    for name in [*expected, "results/cohort.json", "paper/paper.pdf"]:
        assert (out / name).stat().st_size > 0, name
    planned = jobs(runs.printed)
    assert planned["simulated_sweeps"] == len(SIMULATED)
    assert planned["table"] == len(TABLES)
    assert not {"first_token_sweep", "checkpoint", "benchmark_items", "exemplars"} & set(planned)


def test_every_analysis_finds_cells(runs: Runs) -> None:
    """The cohort is small, but no statistics file is empty; simulated answers are never read again."""
    for name in (*(name for name in COLUMNS if name != "noise"), *ANALYSES):
        assert len(pd.read_parquet(runs.whole.out / f"results/statistics/{name}.parquet")), name


def test_sweeps_lie_where_no_real_cohort_looks_for_its_own(runs: Runs) -> None:
    results = runs.whole.out / "results"
    for name in ("sweeps", "items", "exemplars", "checkpoints", "journal"):
        assert not (results / name).exists(), name
    folders = {
        (path.parent.name, path.name): len(list(path.glob("*.parquet")))
        for path in (results / "simulated").glob("*/*")
    }
    assert folders == SIMULATED
    for path in (results / "simulated").rglob("*.parquet"):
        sweep = read_sweep(path)
        assert sweep.metadata["simulated"] is True
        assert sweep.metadata["backend"] == "simulation"


def test_tables_say_that_the_data_are_simulated(runs: Runs) -> None:
    tables = runs.whole.out / "results" / "tables"
    for number in TABLES:
        with open(tables / f"table{number}.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert rows
        assert all(row["note"].startswith("simulated data") for row in rows), number
        for ending in FORMATS[1:]:
            text = (tables / f"table{number}.{ending}").read_text(encoding="utf-8")
            assert text.count("Simulated data. ") == 1, f"table{number}.{ending}"


def titles_of(stem: Path) -> Iterator[str]:
    """The titles in the metadata of a figure's three formats."""
    pdf = re.search(rb"/Title \((.*)\)", stem.with_suffix(".pdf").read_bytes())
    assert pdf is not None
    yield re.sub(r"\\([()\\])", r"\1", pdf[1].decode("latin-1"))
    with Image.open(stem.with_suffix(".png")) as picture:
        yield picture.info["Title"]
    svg = stem.with_suffix(".svg").read_text(encoding="utf-8")
    for title in (r"<title>(.*?)</title>", r"<dc:title>(.*?)</dc:title>"):
        found = re.search(title, svg)
        assert found is not None
        yield found[1]


def test_figures_say_that_the_data_are_simulated(runs: Runs) -> None:
    for number in FIGURES:
        titles = list(titles_of(runs.whole.out / "figures" / f"figure{number}"))
        assert len(titles) == 4
        assert len(set(titles)) == 1
        assert titles[0].startswith(f"Figure {number}. ")
        assert titles[0].endswith(f"(cohort {LABEL})")


def test_statistics_and_pages_say_that_the_data_are_simulated(runs: Runs) -> None:
    results = runs.whole.out / "results"
    parquets = sorted((results / "statistics").rglob("*.parquet"))
    assert len(parquets) == len(COLUMNS) * (1 + len(COHORT["benchmarks"])) + len(ANALYSES)
    for path in parquets:
        assert pd.read_parquet(path).attrs == {"simulated": True}, path
    assert f"Cohort {LABEL}\n" in (results / "summary.md").read_text(encoding="utf-8")
    assert LABEL.encode() in (runs.whole.out / "paper" / "paper.pdf").read_bytes()


def test_stamps_say_that_the_data_are_simulated(runs: Runs) -> None:
    for number in TABLES:
        text = (runs.whole.out / f"results/tables/table{number}.md").read_text(encoding="utf-8")
        assert split(text, "md")[1]["cohort"]["simulated"] is True
    for number in FIGURES:
        stamp = of_drawing(runs.whole.out / f"figures/figure{number}.svg")
        assert stamp["cohort"]["simulated"] is True
        # Figure 2 is drawn from no answers.
        backends = [told["backend"] for told in stamp["answers"]["answered"]]
        assert backends == ([] if number == "2" else ["simulation"])


def test_agreement_compares_nothing(runs: Runs) -> None:
    rows = pd.read_csv(runs.whole.out / "results" / "agreement.csv")
    assert set(rows["verdict"]) == {"other cohort", "not run"}
    page = (runs.whole.out / "results" / "agreement.md").read_text(encoding="utf-8")
    assert "**This cohort is not the paper's.**" in page


def test_neither_the_order_of_jobs_nor_the_cores_change_a_byte(runs: Runs) -> None:
    orders = [finished(runs.printed), finished(runs.printed_other)]
    common = set(orders[1]) - {("all", "")}
    assert len(common) > 50
    assert common < set(orders[0])
    # The two runs did the same jobs in different orders.
    one, two = ([job for job in order if job in common] for order in orders)
    assert one != two
    compared = 0
    for pattern in (
        "results/cohort.json",
        "results/simulated/*/*/*.parquet",
        "results/tables/*",
        "results/statistics/*.csv",
        "results/statistics/*.parquet",
        "figures/*.csv",
    ):
        names = [
            {str(path.relative_to(workflow.out)) for path in workflow.out.glob(pattern)}
            for workflow in (runs.whole, runs.other)
        ]
        assert names[0] == names[1] != set(), pattern
        for name in sorted(names[0]):
            whole, other = ((w.out / name).read_bytes() for w in (runs.whole, runs.other))
            assert whole == other, name
        compared += len(names[0])
    assert compared > 140


def test_a_second_run_does_nothing(runs: Runs) -> None:
    assert "Nothing to be done" in runs.whole.run("--cores", "2", *runs.options)
