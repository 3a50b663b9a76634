"""Which commit runs, told by a clone made by hand."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from optionbias import clone

NOTHING_KNOWN = {"commit": "unknown", "uncommitted": "unknown"}


def git(folder: Path, *arguments: str) -> str:
    name = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *name, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in ("Snakefile", "optionbias/low.py", "workflow/cohorts/own.yaml", "config.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("first\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "First")
    return tmp_path


def state(root: Path) -> dict[str, object]:
    clone.state.cache_clear()
    return clone.state(root)


def test_a_clean_clone(repository: Path) -> None:
    assert state(repository) == {
        "commit": git(repository, "rev-parse", "HEAD"), "uncommitted": False,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["Snakefile", "optionbias/low.py", "optionbias/new.py"])
def test_code_that_differs_from_the_commit(name: str, repository: Path) -> None:
    (repository / name).write_text("second\n")
    assert state(repository)["uncommitted"] is True
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Second")
    assert state(repository)["uncommitted"] is False


def test_a_new_module_is_seen_whatever_git_is_told_to_show(repository: Path) -> None:
    git(repository, "config", "status.showUntrackedFiles", "no")
    (repository / "optionbias" / "new.py").write_text("second\n")
    assert state(repository)["uncommitted"] is True


@pytest.mark.parametrize("name", ["config.yaml", "workflow/cohorts/own.yaml", "workflow/data.lock"])
def test_what_has_a_digest_of_its_own_is_no_change_of_code(name: str, repository: Path) -> None:
    (repository / name).write_text("second\n")
    assert state(repository)["uncommitted"] is False


def test_no_clone_no_commit_no_git(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A tarball; one that was unpacked within another clone; a clone without a commit; no git.
    tarball = tmp_path_factory.mktemp("tarball")
    assert state(tarball) == NOTHING_KNOWN
    assert state(repository / "optionbias") == NOTHING_KNOWN
    git(tarball, "init", "-q")
    assert state(tarball) == NOTHING_KNOWN
    monkeypatch.setenv("PATH", str(tarball))
    assert state(repository) == NOTHING_KNOWN


def test_the_environment_of_a_hook_does_not_mislead(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path_factory.mktemp("other")))
    assert state(repository)["commit"] != "unknown"
