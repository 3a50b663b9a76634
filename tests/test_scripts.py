"""Scripts say in one line what a person can mend."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(p.stem for p in (ROOT / "scripts").glob("*.py") if p.stem != "__init__")


def run(script: str, *arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    folders = [str(p) for p in (path, ROOT) if p is not None]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-m", f"scripts.{script}", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)


def test_a_missing_package_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise ModuleNotFoundError('No module', name='pandas')\n")
    done = run("summary", path=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: package pandas is not installed for ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "script", [s for s in SCRIPTS if "token" not in s and "checkpoint" not in s]
)
def test_every_script_explains_itself(script: str) -> None:
    done = run(script, "--help")
    assert done.returncode == 0 and "usage:" in done.stdout


def test_an_expected_error_is_one_line_and_its_traceback_is_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    arguments = ["--benchmark", "exam", "--k", "4", "--file", str(tmp_path / "no.jsonl")]
    done = run("benchmark_items", *arguments, "--output", str(tmp_path / "x"), "--log", str(log))
    assert done.returncode == 1
    assert done.stderr.strip() == f"error: benchmark exam: {tmp_path}/no.jsonl does not exist"
    assert "Traceback" in log.read_text()
