"""Cohort files: what preflight reads of a checkpoint, and code of repositories, which is off."""

from pathlib import Path
from typing import Any

import pytest

from cohort_files import HUB, faults, plain, read
from optionbias.cohort import read_cohort
from optionbias.provenance import ROOT

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def with_code(source: dict[str, Any], **top: Any) -> dict[str, Any]:
    """The plain cohort with a checkpoint that runs the code of its repository."""
    raw = plain()
    raw["checkpoints"][1]["source"] = {**source, "trust_remote_code": True}
    return {**raw, **top}


def test_code_of_a_repository_is_off_unless_the_cohort_allows_it(tmp_path: Path) -> None:
    pinned = {**HUB, "revision": COMMIT}
    for top in ({}, {"allow_remote_code": False}):
        said = faults(tmp_path, with_code(pinned, **top))
        assert said == (
            "checkpoint A: `source.trust_remote_code` runs code that the repository brings: read that "
            "code, then allow it with `allow_remote_code: true` in the cohort file"
        )
    assert read(tmp_path, with_code(pinned, allow_remote_code=True)).source("A") == {
        **pinned, "trust_remote_code": True,
    }  # fmt: skip
    # Where no model runs nothing is allowed, and nothing is refused.
    assert read(tmp_path, with_code(pinned), needs_models=False)


@pytest.mark.parametrize("revision", ["main", COMMIT[:-1], COMMIT + "0", COMMIT.upper(), "v1.0"])
def test_code_that_is_allowed_is_that_of_one_commit(revision: str, tmp_path: Path) -> None:
    said = faults(tmp_path, with_code({**HUB, "revision": revision}, allow_remote_code=True))
    assert said.startswith(
        "checkpoint A: `source.trust_remote_code` needs a commit (40 hex digits)"
    )
    assert f"not {revision}, " in said


def test_code_of_a_folder_has_no_revision(tmp_path: Path) -> None:
    assert read(tmp_path, with_code({"path": "models/a"}, allow_remote_code=True))
    assert "allow_remote_code" in faults(tmp_path, with_code({"path": "models/a"}))


def test_what_preflight_reads_is_no_part_of_what_tables_read(tmp_path: Path) -> None:
    raw = plain()
    before = read(tmp_path, raw).described()
    raw["checkpoints"][0] |= {
        "stored_params_b": 1.24, "dtype": "bfloat16", "download_gb": 2.5, "gated": True,
    }  # fmt: skip
    assert read(tmp_path, raw).described() == before


@pytest.mark.parametrize(
    ("key", "value"),
    [("stored_params_b", 0), ("dtype", "int8"), ("download_gb", -1), ("gated", "yes")],
)
def test_a_faulty_value_is_named(key: str, value: Any, tmp_path: Path) -> None:
    raw = plain()
    raw["checkpoints"][0][key] = value
    assert f"`checkpoints.0.{key}`" in faults(tmp_path, raw)


def test_the_papers_checkpoints_say_what_they_weigh() -> None:
    cohort = read_cohort(ROOT / "workflow" / "cohorts" / "paper.yaml")
    opened = [c for c in cohort.checkpoints.values() if not c.get("closed")]
    for entry in opened:
        size = {"bfloat16": 2, "float32": 4}[entry["dtype"]]
        assert entry["download_gb"] == pytest.approx(size * entry["stored_params_b"], abs=0.01)
        # The released size is rounded, and leaves the embeddings of small models out or in.
        assert 0.8 < entry["stored_params_b"] / entry["params_b"] < 1.35, entry["name"]
        assert "trust_remote_code" not in entry["source"]
    gated = {c["source"]["hub"].split("/")[0] for c in opened if c["gated"]}
    assert gated == {"meta-llama", "google", "mistralai"}
