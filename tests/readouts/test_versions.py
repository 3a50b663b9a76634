"""The readers in the environments whose torch and transformers are others than those that run the tests."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from optionbias.environments import Environments
from readouts.models import FAMILIES

ROOT = Path(__file__).parents[2]
# Which reader its transformers allows, and the families of the roster that it does not have yet.
ENVIRONMENTS: dict[str, tuple[str, set[str]]] = {
    "inference": ("shared prefixes", set()),
    "inference-phi3": ("plain batches", {"gemma3", "qwen3"}),
}

# Runs in an environment's Python: each family through a saved checkpoint, letters and texts.
JOB = """
import json, logging, sys, tempfile
from pathlib import Path
import numpy as np
import torch, transformers
from optionbias.readouts.backends import open_engine
from optionbias.readouts.checkpoints import prepare
from optionbias.readouts.forward import PlainReader
from optionbias.readouts.letter_readers import open_checkpoint
from readouts.asked import LETTERS, chunk
from readouts.models import FAMILIES, letter_tokenizer, random_model

logging.basicConfig(level=logging.WARNING, filename=sys.argv[2])
found = {"versions": [torch.__version__, transformers.__version__], "families": {}}
for family, (config, _) in FAMILIES.items():
    if not hasattr(transformers, config):
        continue
    with tempfile.TemporaryDirectory() as folder:
        model, asked = random_model(family), chunk(1, head=70)
        prompts = [list(p) for a in asked for p in a.prompts]
        model.save_pretrained(f"{folder}/model")
        letter_tokenizer().save_pretrained(f"{folder}/model")
        prepare(family, {"path": f"{folder}/model"}, Path(folder, "made"))
        opened = open_checkpoint("transformers", Path(folder, "made"), "cpu", "float32", 1)
        reader = opened.open_reader(LETTERS, asked)
        scores = reader.read(asked)
        with torch.inference_mode():
            logits = torch.stack([model(torch.tensor([p])).logits[0, -1] for p in prompts]).double()
            text = torch.tensor([prompts[0]])
            for _ in range(5):
                text = torch.cat([text, model(text).logits[:, -1].argmax(-1, keepdim=True)], 1)
        plain = torch.log_softmax(logits[:, LETTERS], -1).numpy()
        engine, _ = open_engine("transformers", Path(folder, "made"), "cpu", "float32")
        engine._closing = ()
        engine._model.generation_config.eos_token_id = None  # texts of five tokens each
        generated = engine._continue(prompts[:1], 5)[0].text
        greedy = opened.tokenizer.decode(text[0, len(prompts[0]):], skip_special_tokens=True)
        found["families"][family] = {
            "reader": reader.about["reader"], "context": opened.context,
            "off": float(np.abs(scores.logp - plain).max()), "spread": float(np.ptp(plain)),
            "greedy": generated == greedy or [generated, greedy],
        }
Path(sys.argv[1]).write_text(json.dumps(found))
"""


@pytest.mark.model
@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_every_family_reads_as_its_plain_forward_passes(name: str, tmp_path: Path) -> None:
    made = Environments(ROOT, conda=False)
    if not made.made(name):
        pytest.skip(f"environment {name} is not installed: make envs ENVS={name}")
    reader, lacking = ENVIRONMENTS[name]
    (tmp_path / "job.py").write_text(JOB)
    done = subprocess.run(
        [made.python(name), *map(str, (tmp_path / n for n in ("job.py", "found.json", "log")))],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads((tmp_path / "found.json").read_text())
    pins = dict(line.split("==") for line in (ROOT / "envs" / f"{name}.in").read_text().split()
                if "==" in line)  # fmt: skip
    versions = [version.split("+")[0] for version in found["versions"]]
    assert versions == [pins["torch"], pins["transformers"]]
    assert set(found["families"]) == set(FAMILIES) - lacking
    for family, read in found["families"].items():
        assert read["reader"] == reader, (family, (tmp_path / "log").read_text())
        # Random weights four times the usual size; a mask that is ignored moves most rows by more.
        assert read["off"] < 1e-3 < 0.1 < read["spread"], family
        assert read["greedy"] is True, (family, read["greedy"])
        assert read["context"] == 512
    if reader == "plain batches":
        told = (tmp_path / "log").read_text()
        assert f"transformers {pins['transformers']} has no attention functions" in told
