"""The main job on real models, and the ways in which people run it."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pandas as pd
import pytest
import typst

from optionbias.catalogue import FIGURES
from optionbias.catalogue import TABLES as ALL_TABLES
from optionbias.readouts.checkpoints import CheckpointError, load
from optionbias.readouts.letters import encode, letter_tokens
from optionbias.scoring import CELL_COLUMNS
from optionbias.sweep import read_sweep
from workflow.conftest import Workflow, copy_sources, jobs

# The table of the noise floor is made where it is measured.
TABLES = [table for table in ALL_TABLES if table != "noise"]

pytestmark = [pytest.mark.workflow, pytest.mark.model]
NOTHING = "Nothing to be done"


def test_every_promised_output_is_there(mini: Workflow) -> None:
    results = mini.out / "results"
    for number in TABLES:
        for ending in ("csv", "md", "tex", "typ"):
            assert (results / "tables" / f"table{number}.{ending}").stat().st_size > 0
        frame = pd.read_csv(results / "tables" / f"table{number}.csv")
        assert list(frame.columns) == [
            "table", "row", "column", "value", "ci_low", "ci_high", "unit", "n", "note",
        ]  # fmt: skip
    for number in FIGURES:
        for ending in ("csv", "pdf", "png", "svg"):
            assert (mini.out / "figures" / f"figure{number}.{ending}").stat().st_size > 0
    assert (mini.out / "paper" / "paper.pdf").read_bytes().startswith(b"%PDF")


def test_cells_have_the_promised_columns_and_rows(mini: Workflow) -> None:
    csv = pd.read_csv(mini.out / "results" / "statistics" / "cells.csv")
    parquet = pd.read_parquet(mini.out / "results" / "statistics" / "cells.parquet")
    assert tuple(csv.columns) == CELL_COLUMNS == tuple(parquet.columns)
    plain = csv[(csv["operation"] == "none") & (csv["subset"] == "all")]
    # Two checkpoints, three benchmarks, two readouts.
    assert len(plain) == 12
    assert set(plain["n_items"]) == {4}
    first = parquet.iloc[0]
    assert json.loads(csv.iloc[0]["f"]) == pytest.approx(list(first["f"]))
    # With two options the reversal of an ordering is the other ordering: no reversal rows.
    assert not csv[csv["K"] == 2]["operation"].str.contains("reversal").any()
    k4 = csv[(csv["K"] == 4) & (csv["readout"] == "first-token") & (csv["subset"] == "evaluation")]
    assert set(k4["operation"]) == {
        "none", "pride", "batch", "reversal", "pride+reversal", "batch+reversal", "pride+batch", "vote",
    }  # fmt: skip


def test_identities_hold_to_rounding(mini: Workflow) -> None:
    residuals = pd.read_csv(mini.out / "results" / "statistics" / "identities.csv")
    assert residuals["residual"].max() <= 1e-12


def test_sweeps_are_whole_and_say_where_they_come_from(mini: Workflow) -> None:
    paths = sorted((mini.out / "results" / "sweeps").rglob("*.parquet"))
    assert len(paths) == 12
    for path in paths:
        sweep = read_sweep(path)
        readout, benchmark, name = path.relative_to(mini.out / "results" / "sweeps").parts
        assert (readout, benchmark) == (sweep.metadata["readout"], sweep.metadata["benchmark"])
        assert f"{sweep.metadata['checkpoint']}.parquet" == name
        reversed_too = readout == "first-token" and sweep.k > 2
        assert len(sweep.orderings) == (2 * sweep.k if reversed_too else sweep.k)
        assert sweep.metadata["dtype"] == "float32"
        assert len(sweep.metadata["revision"]) == 64
        assert sweep.mass is not None and (sweep.mass > 0).all()


def test_a_second_run_does_nothing(mini: Workflow, options: tuple[str, ...]) -> None:
    assert NOTHING in mini.run("-n", *options)


def test_touched_sources_rerun_nothing(mini: Workflow, options: tuple[str, ...]) -> None:
    time.sleep(1.1)  # file times must differ visibly
    for path in mini.source.rglob("*"):
        if path.is_file():
            path.touch()
    assert NOTHING in mini.run("-n", *options)


def test_restored_results_in_a_fresh_clone_rerun_nothing(
    mini: Workflow, options: tuple[str, ...], tmp_path: Path
) -> None:
    clone = Workflow(copy_sources(tmp_path / "clone"), tmp_path / "clone")
    for folder in ("results", "figures", "paper"):
        shutil.copytree(mini.out / folder, clone.out / folder, dirs_exist_ok=True)
    assert NOTHING in clone.run("-n", *options)


def test_one_figure_alone(mini: Workflow, options: tuple[str, ...], tmp_path: Path) -> None:
    """figures/figure3.pdf needs items, sweeps and statistics, but no table and no other figure."""
    fresh = Workflow(mini.source, tmp_path)
    planned = jobs(fresh.run("-n", "figures/figure3.pdf", *options))
    assert planned["first_token_sweep"] == 12
    assert planned["figure"] == planned["figure_data"] == 1
    assert not {"table", "paper", "summary"} & set(planned)


def test_a_style_change_only_draws_again(
    mini: Workflow, options: tuple[str, ...], tmp_path: Path
) -> None:
    edited = Workflow(copy_sources(tmp_path), mini.out)
    style = tmp_path / "optionbias" / "figures" / "style.py"
    style.write_text(style.read_text() + "\n# a change of style\n")
    assert set(jobs(edited.run("-n", "figures/figure3.pdf", *options))) == {"figure"}
    assert set(jobs(edited.run("-n", *options))) == {
        "figure", "paper", "provenance", "all",
    }  # fmt: skip


def test_a_statistics_change_reruns_no_model(
    mini: Workflow, options: tuple[str, ...], tmp_path: Path
) -> None:
    edited = Workflow(copy_sources(tmp_path), mini.out)
    factors = tmp_path / "optionbias" / "factors.py"
    factors.write_text(factors.read_text() + "\n# a change\n")
    planned = set(jobs(edited.run("-n", *options)))
    assert {"score_benchmark", "table"} <= planned
    assert not {"first_token_sweep", "checkpoint", "benchmark_items"} & planned


def test_published_sweeps_need_no_torch_and_no_model(
    mini: Workflow, mini_cohort: Path, tmp_path: Path
) -> None:
    """All tables come out byte for byte from the sweeps alone, with torch made unimportable."""
    blocked = tmp_path / "blocked"
    for name in ("torch", "transformers"):
        (blocked / name).mkdir(parents=True)
        (blocked / name / "__init__.py").write_text(f"raise ImportError('{name} was imported')\n")
    reader = Workflow(mini.source, tmp_path / "out")
    reader.out.mkdir()
    reader.run(
        "--cores", "1", "--config", f"cohort={mini_cohort}", "draws=200", "repetitions=5",
        f"sweeps={mini.out / 'results' / 'sweeps'}", PYTHONPATH=str(blocked),
    )  # fmt: skip
    for path in sorted((mini.out / "results" / "tables").iterdir()):
        assert (reader.out / "results" / "tables" / path.name).read_bytes() == path.read_bytes()
    for number in FIGURES:
        for ending in ("csv", "pdf", "png", "svg"):
            name = f"figures/figure{number}.{ending}"
            assert (reader.out / name).read_bytes() == (mini.out / name).read_bytes(), name


def test_missing_sweeps_are_one_clear_error(
    mini: Workflow, mini_cohort: Path, tmp_path: Path
) -> None:
    sweeps = tmp_path / "sweeps"
    shutil.copytree(mini.out / "results" / "sweeps", sweeps)
    lost = sweeps / "first-token" / "facts_k4" / "gemma-3-270m.parquet"
    lost.unlink()
    printed = mini.run("-n", "--config", f"cohort={mini_cohort}", f"sweeps={sweeps}", check=False)
    assert f"lacks 1 of 12 sweeps of cohort mini, the first is {lost}" in printed


def test_a_truncated_sweep_stops_the_run_and_is_named(
    mini: Workflow, mini_cohort: Path, tmp_path: Path
) -> None:
    sweeps = tmp_path / "sweeps"
    shutil.copytree(mini.out / "results" / "sweeps", sweeps)
    broken = sweeps / "first-token" / "facts_k4" / "gemma-3-270m.parquet"
    broken.write_bytes(broken.read_bytes()[:-100])
    reader = Workflow(mini.source, tmp_path / "out")
    reader.out.mkdir()
    printed = reader.run(
        "--cores", "1", "--config", f"cohort={mini_cohort}", f"sweeps={sweeps}", check=False
    )
    assert f"error: {broken}: not a whole Parquet file" in printed
    assert not (reader.out / "results" / "summary.md").exists()


def test_the_report_builds(mini: Workflow, options: tuple[str, ...]) -> None:
    mini.run(*options, "--report", "report.zip")
    assert (mini.out / "report.zip").stat().st_size > 0


def test_every_typst_table_compiles(mini: Workflow) -> None:
    for path in (mini.out / "results" / "tables").glob("*.typ"):
        assert typst.compile(str(path)).startswith(b"%PDF")


# Letter tokens of ` A` and `A`, and log-probabilities of ` A` and ` B` under softmax over the
# vocabulary for the fixed prompt of optionbias/readouts/checkpoints.py, computed once from the GGUF
# with transformers 5.24.0 in float32. A tokeniser with a false BOS, a lost rope base or a wrong
# dequantisation moves them by far more than the tolerance.
GOLDEN = {
    "SmolLM2-135M-Instruct": (330, [-2.20404, -4.44777]),
    "gemma-3-270m": (562, [-2.59993, -2.26042]),
}


@pytest.mark.parametrize("checkpoint", sorted(GOLDEN))
def test_embedded_models_are_themselves(mini: Workflow, checkpoint: str) -> None:
    folder = mini.out / "results" / "checkpoints" / checkpoint
    _, tokenizer, manifest = load(folder, "cpu", "float32")
    letter, expected = GOLDEN[checkpoint]
    assert letter_tokens(tokenizer, 2, checkpoint)[0] == letter
    assert manifest["reference"] == pytest.approx(expected, abs=1e-3)
    # Gemma wants its BOS, SmolLM2 has none.
    first = encode(tokenizer, "Question: x\nAnswer:")[0]
    assert (first == tokenizer.bos_token_id) == (checkpoint == "gemma-3-270m")
    assert len(encode(tokenizer, "Answer:")) == (3 if checkpoint == "gemma-3-270m" else 2)


def test_a_folder_of_another_transformers_is_refused(mini: Workflow, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    shutil.copytree(mini.out / "results" / "checkpoints" / "SmolLM2-135M-Instruct", folder)
    manifest = json.loads((folder / "checkpoint.json").read_text())
    (folder / "checkpoint.json").write_text(json.dumps({**manifest, "transformers": "4.57.6"}))
    with pytest.raises(
        CheckpointError,
        match=r"checkpoint SmolLM2-135M-Instruct: converted by transformers 4\.57\.6",
    ):
        load(folder, "cpu", "float32")
    off = [manifest["reference"][0] + 0.1, manifest["reference"][1]]
    (folder / "checkpoint.json").write_text(json.dumps({**manifest, "reference": off}))
    with pytest.raises(CheckpointError, match=r"the reference log-probability differs by 0\.1"):
        load(folder, "cpu", "float32")
