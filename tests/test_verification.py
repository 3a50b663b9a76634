"""Two runs' files compared: numbers, stamps, and what is missing."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from optionbias.stamp import with_comment
from optionbias.verification import (
    VerificationError,
    compare,
    compared,
    make_again,
    with_conda,
)

NAMES = [
    *(f"results/tables/table2.{ending}" for ending in ("csv", "md", "tex", "typ")),
    "figures/figure1.csv",
]
TEXT = "first line\nvalue 0.4125 and more\n"


STAMP: dict[str, dict[str, Any]] = {
    "computed": {
        "commit": "a", "uncommitted": False, "config": "d", "python": "3",
        "packages": {"numpy": "2", "scipy": "1"}, "hardware": {"machine": "x86_64"},
    },
    "cohort": {"name": "few", "sha256": "c", "simulated": False},
    "answers": {"models": {"A": ["r"]}, "items": {"two": ["i"]}, "answered": []},
}  # fmt: skip


def write(folder: Path, name: str, text: str = TEXT, **changes: object) -> None:
    """A file whose stamp has some keys replaced, those of `computed` and, as `answers_models`, others."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    stamp = {key: dict(value) for key, value in STAMP.items()}
    for key, value in changes.items():
        part, _, inner = key.partition("_")
        stamp[part][inner] = value
    if path.suffix != ".csv":
        text = with_comment(text, stamp, path.suffix[1:])
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def runs(tmp_path: Path) -> SimpleNamespace:
    found = SimpleNamespace(one=tmp_path / "one", two=tmp_path / "two")
    for folder in (found.one, found.two):
        for name in NAMES:
            write(folder, name)
    return found


def test_equal(runs: SimpleNamespace) -> None:
    assert compare(runs.one, runs.two, NAMES).lines() == ["2 tables equal, 0 differ"]


def test_a_changed_number_is_shown(runs: SimpleNamespace) -> None:
    write(runs.two, NAMES[0], TEXT.replace("0.4125", "0.4126"))
    write(runs.two, NAMES[1], TEXT.replace("0.4125", "0.4126"))
    first, second, last = compare(runs.one, runs.two, NAMES).lines()
    assert first == (
        "results/tables/table2.csv: differs in line 2: 'value 0.4125 and more', made again "
        "'value 0.4126 and more'"
    )
    assert second.startswith("results/tables/table2.md: differs in line 2")
    # One table, whatever the number of its files.
    assert last == "1 tables equal, 1 differ"


@pytest.mark.parametrize("name", NAMES)
def test_any_byte_of_any_file_counts(name: str, runs: SimpleNamespace) -> None:
    path = runs.two / name
    for change in (b" ", b"\n"):
        before = path.read_bytes()
        path.write_bytes(change + before)
        found = compare(runs.one, runs.two, NAMES)
        assert list(found.differing) == [name] and found.differ == 1
        path.write_bytes(before)


def test_line_ends_count(runs: SimpleNamespace) -> None:
    path = runs.two / NAMES[0]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert compare(runs.one, runs.two, NAMES).differing == {NAMES[0]: "differs in its line ends"}


def test_stamps_are_told_apart(runs: SimpleNamespace) -> None:
    for name in NAMES[1:4]:
        write(runs.two, name, computed_commit="b")
    found = compare(runs.one, runs.two, NAMES)
    assert found.differ == 0
    assert found.lines() == [
        "3 files differ in their provenance alone (computed.commit), which is not the result",
        "2 tables equal, 0 differ",
    ]
    # A number under another stamp is a number all the same.
    write(runs.two, NAMES[2], TEXT.replace("0.4125", "0.4126"), computed_commit="b")
    found = compare(runs.one, runs.two, NAMES)
    assert list(found.differing) == [NAMES[2]] and (found.equal, found.differ) == (1, 1)


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"computed_uncommitted": True, "computed_python": "4"}, "computed.python, computed.uncommitted"),
        ({"computed_packages": {"numpy": "3"}}, "computed.packages"),
        ({"computed_hardware": {"machine": "aarch64"}}, "computed.hardware"),
    ],
)  # fmt: skip
def test_another_job_is_not_the_result(
    changes: dict[str, object], keys: str, runs: SimpleNamespace
) -> None:
    write(runs.two, NAMES[1], **changes)
    found = compare(runs.one, runs.two, NAMES)
    assert found.differ == 0
    assert found.lines()[0].startswith(f"1 files differ in their provenance alone ({keys}), ")


@pytest.mark.parametrize("ending", ["md", "tex", "typ"])
@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"computed_config": "e"}, "computed.config"),
        ({"cohort_sha256": "b"}, "cohort.sha256"),
        ({"cohort_simulated": True}, "cohort.simulated"),
        ({"answers_models": {"A": ["s"]}}, "answers.models"),
        ({"answers_items": {}, "computed_commit": "b"}, "answers.items"),
        ({"answers_answered": [{"backend": "x"}]}, "answers.answered"),
    ],
)
def test_other_answers_cohorts_and_settings_are_another_result(
    changes: dict[str, object], keys: str, ending: str, runs: SimpleNamespace
) -> None:
    """The same digits of other models, items or settings are not what was published."""
    name = f"results/tables/table2.{ending}"
    write(runs.two, name, **changes)
    found = compare(runs.one, runs.two, NAMES)
    assert found.differing == {name: f"differs in its provenance ({keys})"}
    assert not found.stamps and (found.equal, found.differ) == (1, 1)


def test_a_stamp_that_is_gone_or_damaged_is_a_difference(runs: SimpleNamespace) -> None:
    path = runs.two / NAMES[1]
    whole = path.read_text()
    path.write_text(whole.replace('"simulated": ', '"simulated: '))
    found = compare(runs.one, runs.two, NAMES)
    assert list(found.differing) == [NAMES[1]] and found.differ == 1
    assert "differs in line " in found.differing[NAMES[1]]
    path.write_text(whole[: whole.index("\n<!-- provenance")])
    found = compare(runs.one, runs.two, NAMES)
    assert list(found.differing) == [NAMES[1]] and found.differ == 1


@pytest.mark.parametrize(("one", "two"), [("a" * 200, "a" * 200 + "b"), ("ab", "a"), ("", "x")])
def test_a_line_that_begins_the_other_is_shown_where_they_part(
    one: str, two: str, runs: SimpleNamespace
) -> None:
    write(runs.one, NAMES[0], f"{one}\n")
    write(runs.two, NAMES[0], f"{two}\n")
    how = compare(runs.one, runs.two, NAMES).differing[NAMES[0]]
    shown = how.removeprefix("differs in line 1: ").split(", made again ")
    assert len(shown) == 2 and shown[0] != shown[1]


def test_missing_on_either_side(runs: SimpleNamespace) -> None:
    (runs.one / NAMES[0]).unlink()
    (runs.two / NAMES[4]).unlink()
    found = compare(runs.one, runs.two, NAMES)
    assert found.differing == {
        NAMES[0]: "not there to compare with",
        NAMES[4]: "was not made again",
    }
    assert found.lines()[-1] == "0 tables equal, 2 differ"


def test_what_is_compared() -> None:
    others = ["figures/figure1.png", "results/summary.md", "sweeps/a.parquet", "paper/paper.pdf"]
    assert compared([*others, *NAMES], "few.tar") == sorted(NAMES)
    told = r"^few\.tar: holds no table and no figure's data to compare$"
    with pytest.raises(VerificationError, match=told):
        compared(others, "few.tar")


def test_making_again_calls_snakemake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, without the profile of the run around it; a failure names the log."""
    called: dict[str, Any] = {}

    def run(command: list[str], **options: Any) -> SimpleNamespace:
        called.update(options, command=command)
        return SimpleNamespace(returncode=called.get("code", 0))

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setenv("SNAKEMAKE_PROFILE", "cluster")
    arguments = ({"draws": 3}, tmp_path / "run", NAMES, Path("Snakefile"), 2, tmp_path / "x.log")
    make_again(*arguments, options=["--sdm", "conda"])
    assert called["cwd"] == tmp_path / "run" and "SNAKEMAKE_PROFILE" not in called["env"]
    assert called["command"][1:3] == ["-m", "snakemake"]
    assert called["command"][-len(NAMES) - 3 :] == ["--sdm", "conda", "--", *NAMES]
    assert (tmp_path / "run" / "config.json").read_text() == '{\n "draws": 3\n}'
    called["code"] = 1
    with pytest.raises(VerificationError, match=f"see {tmp_path / 'x.log'}"):
        make_again(*arguments)


def test_the_conda_environments_there_are_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for given, found in (
        (None, tmp_path / ".snakemake" / "conda"),
        (Path("mine"), tmp_path / "mine"),
        (Path("/mine"), Path("/mine")),
    ):
        assert with_conda(given) == ["--sdm", "conda", "--conda-prefix", str(found)]
