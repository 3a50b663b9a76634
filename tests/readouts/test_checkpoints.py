"""A checkpoint is loaded whole or not at all, and every fault names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from optionbias.readouts.checkpoints import CheckpointError, load, prepare
from readouts.models import letter_tokenizer, random_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole local checkpoint."""
    path = tmp_path / "model"
    random_model("llama").save_pretrained(path)
    letter_tokenizer().save_pretrained(path)
    return path


def loaded(folder: Path, target: Path) -> tuple[Any, Any, dict[str, Any]]:
    prepare("M", {"path": str(folder)}, target)
    return load(target, "cpu", "float32")


def test_a_whole_folder_loads_and_its_revision_is_its_content(folder: Path, tmp_path: Path) -> None:
    model, tokenizer, manifest = loaded(folder, tmp_path / "a")
    assert (model.dtype, tokenizer.bos_token_id) == (random_model("llama").dtype, 1)
    again = prepare("M", {"path": str(folder)}, tmp_path / "b")
    assert again["revision"] == manifest["revision"] and len(again["revision"]) == 64
    (folder / "notes.txt").write_text("x")
    assert prepare("M", {"path": str(folder)}, tmp_path / "c")["revision"] != again["revision"]


def drop_a_weight(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.0.self_attn.q_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def rename_all(folder: Path) -> None:
    weights = {f"foo.{k}": v for k, v in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def configure(**changes: Any) -> Any:
    def edit(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **changes}))

    return edit


def truncate(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (drop_a_weight, r"1 missing keys in .*q_proj.weight: its weights are not those"),
        (rename_all, r"missing keys in"),
        (configure(num_hidden_layers=6), r"missing keys in .*model.layers.4"),
        (configure(num_hidden_layers=2), r"unexpected keys in .*model.layers.2"),
        (configure(intermediate_size=96), r"cannot load the model of|mismatched keys"),
        (truncate, r"cannot load the model of .*"),
        (lambda f: (f / "model.safetensors").unlink(), r"cannot load the model of"),
        (lambda f: (f / "tokenizer.json").write_text("{}"), r"cannot load the tokeniser of"),
        (lambda f: (f / "config.json").write_text("[]"), r"cannot load the (tokeniser|model) of"),
    ],
)
def test_a_broken_folder_is_one_line_with_the_name(
    folder: Path, tmp_path: Path, fault: Any, message: str
) -> None:
    """Above all weights that a file lacks: the library would fill them with random numbers."""
    fault(folder)
    with pytest.raises(CheckpointError, match=f"checkpoint M: .*{message}") as caught:
        loaded(folder, tmp_path / "a")
    assert len(str(caught.value).splitlines()) == 1


def test_sources_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"checkpoint M: .* has no config.json"):
        prepare("M", {"path": str(tmp_path)}, tmp_path / "a")
    gguf = {"packages": ["no-such-package"], "gguf": "x.gguf", "sha256": "0" * 64}
    with pytest.raises(CheckpointError, match="package no-such-package is not installed"):
        prepare("M", gguf, tmp_path / "b")
    with pytest.raises(CheckpointError, match=r"checkpoint M: no x\.gguf in package numpy"):
        prepare("M", {**gguf, "packages": ["numpy"]}, tmp_path / "c")


def test_the_hub_out_of_reach_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    source = {"hub": "org/model", "revision": "main"}
    with pytest.raises(
        CheckpointError, match="checkpoint M: the hub does not give org/model at main"
    ) as e:
        prepare("M", source, tmp_path / "a")
    assert len(str(e.value).splitlines()) == 1
    commit = "0123456789abcdef0123456789abcdef01234567"
    assert prepare("M", {**source, "revision": commit}, tmp_path / "b")["revision"] == commit
