"""Counting GPUs against a stand-in for nvidia-smi that prints what the real one prints."""

import stat

import pytest

from optionbias.devices import gpus

TWO = """\
0, GPU-aaaa1111-0000-0000-0000-000000000000, NVIDIA RTX A6000, 49140
1, GPU-bbbb2222-0000-0000-0000-000000000000, NVIDIA H100 80GB HBM3, 81559
"""
ONE_CUT = """\
GPU 0: NVIDIA RTX A6000 (UUID: GPU-aaaa1111-0000-0000-0000-000000000000)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-bbbb2222-0000-0000-0000-000000000000)
  MIG 1g.10gb     Device  0: (UUID: MIG-cccc3333-0000-0000-0000-000000000000)
  MIG 3g.40gb     Device  1: (UUID: MIG-dddd4444-0000-0000-0000-000000000000)
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine whose nvidia-smi prints the given listings and ends with the given status."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    def make(listing, parts="", status=0):
        (tmp_path / "listing").write_text(listing)
        (tmp_path / "parts").write_text(parts)
        script = tmp_path / "nvidia-smi"
        script.write_text(
            f'#!/bin/sh\nfile={tmp_path}/listing\n[ "$1" = -L ] && file={tmp_path}/parts\n'
            f'while IFS= read -r line; do echo "$line"; done < "$file"\nexit {status}\n'
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)

    return make


def names(found):
    return [gpu.name for gpu in found]


def test_a_machine_without_a_driver_has_none(machine):
    assert gpus() == []


def test_a_driver_that_fails_is_no_gpu(machine):
    machine(TWO, status=9)
    assert gpus() == []


def test_all_where_nothing_is_asked(machine):
    machine(TWO)
    assert names(gpus()) == ["NVIDIA RTX A6000", "NVIDIA H100 80GB HBM3"]
    # 81,559 MiB are 85.5 billion bytes.
    assert gpus()[1].memory_gb == pytest.approx(81_559 * 1_048_576 / 1e9)
    assert gpus()[1].id.startswith("GPU-bbbb2222")


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("1", ["NVIDIA H100 80GB HBM3"]),
        ("1,0", ["NVIDIA H100 80GB HBM3", "NVIDIA RTX A6000"]),
        ("0,7,1", ["NVIDIA RTX A6000"]),  # CUDA stops at the first entry that names nothing
        ("GPU-bbbb", ["NVIDIA H100 80GB HBM3"]),
        ("GPU-", []),  # both
        ("0,0", ["NVIDIA RTX A6000"]),
    ],
)
def test_the_environment_hides_some(machine, monkeypatch, visible, expected):
    machine(TWO)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert names(gpus()) == expected
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert names(gpus(visible)) == expected


def test_a_part_of_a_gpu_counts_as_one_of_its_own_memory(machine, monkeypatch):
    machine(TWO, ONE_CUT)
    assert names(gpus()) == ["NVIDIA H100 80GB HBM3 MIG 1g.10gb"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-dddd4444-0000-0000-0000-000000000000")
    assert [(g.name, g.memory_gb) for g in gpus()] == [("NVIDIA H100 80GB HBM3 MIG 3g.40gb", 40.0)]
