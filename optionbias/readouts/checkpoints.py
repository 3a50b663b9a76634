"""Where a checkpoint's weights come from, and how they are loaded.

A source is one of
    {hub: org/name, revision: commit}      a Hugging Face repository at a pinned revision,
    {path: folder}                         a local folder in the Hugging Face layout,
    {packages: [...], gguf: file, sha256}  a GGUF file (or its parts) inside installed packages.

A GGUF is converted once to a folder; the folder is only loaded by the transformers version that
saved it, and a stored reference log-probability is asserted at each load, since a folder saved by
one major version loads in another and answers wrongly without a word.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import logging
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

from optionbias.atomic import write_text
from optionbias.readouts.gpu_lease import VARIABLE, visible
from optionbias.readouts.letters import encode, letter_tokens
from optionbias.readouts.library import dtype_option, last_logits

if not sys.stderr.isatty():  # bars belong on a terminal, not in logs
    transformers.utils.logging.disable_progress_bar()

LOG = logging.getLogger(__name__)
MANIFEST = "checkpoint.json"
REFERENCE_PROMPT = "Question: What is 2 + 2?\nA. 4\nB. 5\nAnswer:"
REFERENCE_TOLERANCE = 1e-3
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be found, verified or loaded; the message names it."""


def _sha256(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def folder_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of a checkpoint folder's files: its revision."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith(".")):
        digest.update(f"{path.relative_to(folder)}\0{_sha256([path])}\n".encode())
    return digest.hexdigest()


def prepare(name: str, source: dict[str, Any], target: Path) -> dict[str, Any]:
    """Resolve a checkpoint once: write `target/checkpoint.json` (and a converted folder for a GGUF).

    The manifest holds where to load from, the revision that was run (a commit, or a SHA-256 of
    the content), and the library version.

    Raises:
        CheckpointError: naming the checkpoint and what is missing or does not match.
    """
    target.mkdir(parents=True, exist_ok=True)
    if "hub" in source:
        manifest = {"load": source["hub"], "revision": _hub_commit(name, source), "kind": "hub"}
    elif "path" in source:
        folder = Path(source["path"]).resolve()
        if not (folder / "config.json").is_file():
            raise CheckpointError(f"checkpoint {name}: {folder} has no config.json")
        manifest = {"load": str(folder), "revision": folder_digest(folder), "kind": "path"}
    else:
        manifest = _convert_gguf(name, source, target)
    manifest |= {
        "checkpoint": name,
        "source": {k: v for k, v in source.items() if k != "path"},
        "transformers": transformers.__version__,
        "trust_remote_code": bool(source.get("trust_remote_code", False)),
    }
    write_text(target / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True))
    return manifest


def _hub_commit(name: str, source: dict[str, Any]) -> str:
    from huggingface_hub import HfApi

    if re.fullmatch("[0-9a-f]{40}", source["revision"]):
        return str(source["revision"])  # a commit is what a branch would be resolved to
    try:
        commit = HfApi().model_info(source["hub"], revision=source["revision"]).sha
    except Exception as error:  # the client's own errors and those of whatever transport it uses
        raise CheckpointError(
            f"checkpoint {name}: the hub does not give {source['hub']} at {source['revision']}: "
            f"{_one_line(error)}"
        ) from error
    return str(commit)


def _gguf_parts(name: str, source: dict[str, Any]) -> list[Path]:
    """The GGUF file, or its `.part*` files in order, inside the installed packages."""
    wanted, found = source["gguf"], []
    for package in source["packages"]:
        try:
            files = importlib.metadata.files(package) or []
        except importlib.metadata.PackageNotFoundError as error:
            raise CheckpointError(
                f"checkpoint {name}: package {package} is not installed; "
                f"`make .venv` installs the packages that carry models"
            ) from error
        found += [f for f in files if f.name == wanted or f.name.startswith(f"{wanted}.part")]
    if not found:
        raise CheckpointError(
            f"checkpoint {name}: no {wanted} in package {', '.join(source['packages'])}"
        )
    return [Path(str(f.locate())) for f in sorted(found, key=lambda f: f.name)]


def _convert_gguf(name: str, source: dict[str, Any], target: Path) -> dict[str, Any]:
    parts = _gguf_parts(name, source)
    digest = _sha256(parts)
    if digest != source["sha256"]:
        raise CheckpointError(
            f"checkpoint {name}: SHA-256 of {source['gguf']} is {digest}, not {source['sha256']}"
        )
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        whole = Path(scratch) / source["gguf"]
        with open(whole, "wb") as out:
            for part in parts:
                with open(part, "rb") as piece:
                    shutil.copyfileobj(piece, out)
        folder = Path(scratch) / "model"
        tokenizer = AutoTokenizer.from_pretrained(scratch, gguf_file=whole.name)
        model = _pretrained_model(
            name, scratch, gguf_file=whole.name, **dtype_option(torch.float32)
        )
        reference = _reference(model, tokenizer, name)
        # transformers 5 will not save what it loaded from a GGUF while these are set.
        model.hf_quantizer = None
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        shutil.rmtree(target / "model", ignore_errors=True)
        folder.replace(target / "model")
    return {"load": "model", "revision": digest, "kind": "gguf", "reference": reference}


@torch.inference_mode()
def _reference(model: Any, tokenizer: Any, name: str) -> list[float]:
    """Letter log-probabilities of one fixed prompt, a fingerprint of weights and positions."""
    ids = torch.tensor([encode(tokenizer, REFERENCE_PROMPT)], device=model.device)
    letters = letter_tokens(tokenizer, 2, name)
    logits = model(input_ids=ids, use_cache=False, **last_logits(model)).logits[0, -1].float()
    return [float(x) for x in torch.log_softmax(logits, -1)[letters]]


def _pretrained_model(name: str, where: str, **options: Any) -> Any:
    """A model in evaluation mode that has all of its weights, or `CheckpointError`.

    The library fills weights that a file lacks with random numbers and only says so in a table.
    """
    try:
        model, info = AutoModelForCausalLM.from_pretrained(
            where, output_loading_info=True, **options
        )
    except Exception as error:  # whatever a broken file makes the library raise
        raise CheckpointError(
            f"checkpoint {name}: cannot load the model of {where}: {_one_line(error)}"
        ) from error
    for kind in ("missing_keys", "mismatched_keys", "unexpected_keys"):
        if info.get(kind):
            faulty = sorted(str(key) for key in info[kind])
            raise CheckpointError(
                f"checkpoint {name}: {len(faulty)} {kind.replace('_', ' ')} in {where}, the first is "
                f"{faulty[0]}: its weights are not those of its config.json"
            )
    return model.eval()


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]


def pick_device(device: str) -> str:
    """`auto` becomes cuda where there is one, else cpu; a GPU that torch cannot use is warned of."""
    if device != "auto":
        return device
    if torch.cuda.is_available():
        return "cuda"
    if VARIABLE in os.environ and visible():
        LOG.warning(
            "torch finds no GPU that it can use although %s=%s: reading on the CPU; with "
            "`device: cuda` this is an error",
            VARIABLE, os.environ[VARIABLE],
        )  # fmt: skip
    return "cpu"


def pick_dtype(dtype: str, device: str) -> str:
    """`auto` becomes float32 on a CPU and bfloat16 on a GPU."""
    if dtype == "auto":
        return "float32" if device == "cpu" else "bfloat16"
    return dtype


def located(folder: Path) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Where the checkpoint that `prepare` resolved in `folder` is loaded from.

    Returns (path or repository, options of the library's `from_pretrained`, manifest).
    """
    manifest = json.loads((folder / MANIFEST).read_text())
    where = str(folder / manifest["load"]) if manifest["kind"] == "gguf" else manifest["load"]
    options: dict[str, Any] = {"trust_remote_code": manifest["trust_remote_code"]}
    if manifest["kind"] == "hub":
        options["revision"] = manifest["revision"]
    return where, options, manifest


def load_tokenizer(name: str, where: str, options: dict[str, Any]) -> Any:
    """The checkpoint's own tokeniser, or `CheckpointError`."""
    try:
        return AutoTokenizer.from_pretrained(where, **options)
    except Exception as error:  # whatever a broken file makes the library raise
        raise CheckpointError(
            f"checkpoint {name}: cannot load the tokeniser of {where}: {_one_line(error)}"
        ) from error


def check_reference(manifest: dict[str, Any], found: list[float], folder: Path) -> None:
    """Compare letter log-probabilities of the reference prompt, in float32, with those stored.

    Raises:
        CheckpointError: they differ, so the weights or their positions are not those converted.
    """
    off = max(abs(a - b) for a, b in zip(found, manifest["reference"], strict=True))
    if not off <= REFERENCE_TOLERANCE:
        raise CheckpointError(
            f"checkpoint {manifest['checkpoint']}: the reference log-probability differs by {off:.3g} from "
            f"the one stored at conversion; remove {folder} to convert it again"
        )


def load(folder: Path, device: str, dtype: str) -> tuple[Any, Any, dict[str, Any]]:
    """Load the model and tokeniser that `prepare` resolved in `folder`, over all GPUs that there are.

    Returns (model in evaluation mode, tokeniser, manifest).

    Raises:
        CheckpointError: another transformers version saved the folder, or the stored reference
            log-probability does not come out.
    """
    where, options, manifest = located(folder)
    name = manifest["checkpoint"]
    if manifest["kind"] == "gguf" and manifest["transformers"] != transformers.__version__:
        raise CheckpointError(
            f"checkpoint {name}: converted by transformers {manifest['transformers']}, but "
            f"{transformers.__version__} is installed; remove {folder} to convert it again"
        )
    tokenizer = load_tokenizer(name, where, options)
    several = device == "cuda" and torch.cuda.device_count() > 1
    if several:  # as many as the job was given: its layers are spread over all of them
        options["device_map"] = "auto"
    model = _pretrained_model(name, where, **dtype_option(DTYPES[dtype]), **options)
    model = model if several else model.to(device)
    if "reference" in manifest and dtype == "float32":
        check_reference(manifest, _reference(model, tokenizer, name), folder)
    return model, tokenizer, manifest
