"""vLLM against transformers on a small random model, each in the Python that has it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from optionbias.environments import LETTERS
from optionbias.item import Item
from optionbias.prompts import chain_of_thought_prompt, prompt
from optionbias.readouts.backends import open_engine
from optionbias.readouts.checkpoints import CheckpointError, prepare
from optionbias.readouts.generation import readout_orderings
from optionbias.readouts.letters import encode, letter_tokens
from optionbias.readouts.vllm_engine import VllmEngine
from readouts.models import SHAPE, letter_tokenizer

ROOT = Path(__file__).parents[2]
# Where a vLLM is that reads letters too.
OWN = [ROOT / ".envs" / name for name in LETTERS["auto"]]
PYTHONS = [str(own / "bin" / "python") for own in OWN if (own / "installed").is_file()]
PYTHON = sys.executable if find_spec("vllm") else PYTHONS[0] if PYTHONS else None
TOKENS = 10

# Runs in vLLM's Python: the letters and the texts of prompts given as token ids.
JOB = """
import json, sys
from pathlib import Path
from types import SimpleNamespace

if __name__ == "__main__":
    from optionbias.readouts.vllm_engine import VllmEngine
    from optionbias.readouts.vllm_letters import VllmReader

    asked = json.loads(Path(sys.argv[2]).read_text())
    engine = VllmEngine(Path(sys.argv[1]), "auto", "float32")
    engine.reserve(max(map(len, asked["prompts"])) + asked["tokens"])
    scores = VllmReader(engine, asked["letters"]).read([SimpleNamespace(prompts=asked["prompts"])])
    texts = engine.generate(asked["prompts"], asked["tokens"])
    found = {
        "logp": scores.logp.tolist(), "mass": scores.mass.tolist(), "about": engine.about,
        "texts": [vars(g) for g in texts],
    }
    Path(sys.argv[3]).write_text(json.dumps(found))
"""


def test_a_missing_vllm_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optionbias.readouts.vllm_engine.is_installed", lambda: False)
    (tmp_path / "config.json").write_text("{}")
    prepare("M", {"path": str(tmp_path)}, tmp_path / "m")
    with pytest.raises(CheckpointError, match=r"checkpoint M: backend vllm is not .* `make envs`"):
        open_engine("vllm", tmp_path / "m", "auto", "auto")


def test_a_vllm_that_cannot_read_letters_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """As 0.8.5, the paper's, which generates well enough."""
    engine = VllmEngine.__new__(VllmEngine)
    engine.name = "M"

    def old(temperature: float = 1.0, logprobs: int | None = None) -> None: ...
    def new(temperature: float = 1.0, logprob_token_ids: list[int] | None = None) -> None: ...

    fake = SimpleNamespace(__version__="0.8.5", SamplingParams=old)
    monkeypatch.setitem(sys.modules, "vllm", fake)
    with pytest.raises(
        CheckpointError, match=r"^checkpoint M: vLLM 0\.8\.5 .* ENVS=letters-vllm`$"
    ):
        engine.require_letters()
    fake.SamplingParams = new
    engine.require_letters()


@pytest.mark.parametrize(("kind", "converted", "refused"), [
    ("gguf", "4.57.6", True), ("gguf", transformers.__version__, False), ("hub", "4.57.6", False),
])  # fmt: skip
def test_a_folder_of_another_major_version_is_not_loaded(
    kind: str, converted: str, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = {
        "checkpoint": "M", "kind": kind, "load": "model", "revision": "r", "transformers": converted,
        "trust_remote_code": False,
    }  # fmt: skip
    (tmp_path / "checkpoint.json").write_text(json.dumps(manifest))
    monkeypatch.setattr("optionbias.readouts.vllm_engine.is_installed", lambda: True)
    monkeypatch.setitem(sys.modules, "vllm", None)  # importing it is what would come next
    with pytest.raises(CheckpointError if refused else ImportError) as caught:
        VllmEngine(tmp_path, "auto", "auto")
    told = f"checkpoint M: converted by transformers 4.57.6, which the {transformers.__version__} "
    assert str(caught.value).startswith(told) == refused


@pytest.mark.model
@pytest.mark.skipif(PYTHON is None, reason="vLLM is not installed: `make envs ENVS=generation-cpu`")
def test_letters_and_texts_are_those_of_transformers(tmp_path: Path) -> None:
    # Heads as wide as vLLM's kernels want them.
    shape = {**SHAPE, "hidden_size": 128, "num_attention_heads": 2, "num_key_value_heads": 1}
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(
        transformers.LlamaConfig(**{**shape, "head_dim": 64}), dtype=torch.float32
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    tokenizer = letter_tokenizer()
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    prepare("M", {"path": str(tmp_path / "model")}, tmp_path / "m")
    items = [Item(f"i{i}", "why? " * (i + 1), ("one", "two", "three"), 0) for i in range(3)]
    prompts = [
        encode(tokenizer, ask(item, pi))
        for item in items
        for pi in readout_orderings(3)
        for ask in (prompt, chain_of_thought_prompt)
    ]
    letters = letter_tokens(tokenizer, 3, "M")
    asked = {"prompts": prompts, "letters": letters, "tokens": TOKENS}
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    (tmp_path / "job.py").write_text(JOB)
    done = subprocess.run(
        [str(PYTHON), *map(str, (tmp_path / n for n in ("job.py", "m", "asked.json", "found.json")))],
        env={**os.environ, "PYTHONPATH": str(ROOT), "VLLM_CPU_KVCACHE_SPACE": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads((tmp_path / "found.json").read_text())
    assert found["about"]["backend"] == "vllm" and found["about"]["dtype"] == "float32"
    with torch.inference_mode():
        logits = torch.stack([model(torch.tensor([p])).logits[0, -1] for p in prompts]).double()
    plain = torch.log_softmax(logits[:, letters], -1).numpy()
    mass = torch.softmax(logits, -1)[:, letters].sum(-1).numpy()
    assert np.abs(np.array(found["logp"]) - plain).max() < 1e-4
    assert np.abs(np.array(found["mass"]) - mass).max() < 1e-4
    engine, _ = open_engine("transformers", tmp_path / "m", "cpu", "float32")
    assert found["texts"] == [vars(g) for g in engine.generate(prompts, TOKENS)]
