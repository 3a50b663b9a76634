"""GPUs are counted from the environment or from nvidia-smi."""

from __future__ import annotations

from pathlib import Path

import pytest

from optionbias import gpus

WHOLE = """GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-1b0b8c0b-1ad1-9b55-1bf9-0d0f5a7b3a10)
"""
DIVIDED = """GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
  MIG 3g.40gb     Device  0: (UUID: MIG-8d7f0c1e-6f35-5f0a-8f5d-6f5f3a2b1c00)
  MIG 3g.40gb     Device  1: (UUID: MIG-8d7f0c1e-6f35-5f0a-8f5d-6f5f3a2b1c01)
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-1b0b8c0b-1ad1-9b55-1bf9-0d0f5a7b3a10)
"""


@pytest.mark.parametrize(
    ("named", "devices"),
    [
        ("0,1", ["0", "1"]),
        (" 3 , 5", ["3", "5"]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("2,-1,3", ["2"]),
        (
            "GPU-5d5ba0d6,MIG-GPU-5d5ba0d6/1/0,MIG-8d7f",
            ["GPU-5d5ba0d6", "MIG-GPU-5d5ba0d6/1/0", "MIG-8d7f"],
        ),
    ],
)
def test_entries_of_the_variable_end_at_the_first_that_is_none(
    named: str, devices: list[str]
) -> None:
    assert gpus.entries(named) == gpus.visible({gpus.VARIABLE: named}) == devices


def test_what_the_driver_lists() -> None:
    assert gpus.listed_by(WHOLE) == ["0", "1"]
    parts = [f"MIG-8d7f0c1e-6f35-5f0a-8f5d-6f5f3a2b1c0{i}" for i in range(2)]
    assert gpus.listed_by(DIVIDED) == [*parts, "1"]
    assert gpus.entries(",".join(gpus.listed_by(DIVIDED))) == gpus.listed_by(DIVIDED)
    assert gpus.listed_by("No devices found.\n") == []


def put_nvidia_smi(folder: Path, text: str, status: int = 0) -> str:
    """A PATH on which nvidia-smi prints `text`."""
    folder.mkdir(exist_ok=True)
    (folder / "list").write_text(text)
    program = folder / "nvidia-smi"
    program.write_text(f'#!/bin/sh\n[ "$1" = -L ] && cat "{folder}/list"\nexit {status}\n')
    program.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_nvidia_smi_is_asked_where_nothing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", put_nvidia_smi(tmp_path / "bin", WHOLE))
    assert gpus.visible({}) == ["0", "1"]
    assert gpus.visible({gpus.VARIABLE: "1"}) == ["1"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus.visible({}) == []


def test_a_driver_that_does_not_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    said = "NVIDIA-SMI has failed because it couldn't\ncommunicate with the driver.\n"
    monkeypatch.setenv("PATH", put_nvidia_smi(tmp_path / "bin", said, status=9))
    assert gpus.listed() == []
    assert "no GPU is used: nvidia-smi -L: NVIDIA-SMI has failed because" in caplog.text
