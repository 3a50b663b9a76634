"""Small random models and tokenisers: real code of each family, no weights needed."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from optionbias.readouts.library import dtype_option

SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 300,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
# Families of the roster; windows shorter than the test prompts, logit caps that bite.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", {}),
    "qwen2": ("Qwen2Config", {}),
    "qwen3": ("Qwen3Config", {}),
    "gemma2": (
        "Gemma2Config",
        {"sliding_window": 16, "final_logit_softcapping": 3.0, "attn_logit_softcapping": 5.0},
    ),
    "gemma3": ("Gemma3TextConfig", {"sliding_window": 16}),
    "mistral": ("MistralConfig", {"sliding_window": 16}),
    "phi3": ("Phi3Config", {"sliding_window": 16}),
}


def random_model(family: str) -> Any:
    """A random model of a family in float32, the same at every call."""
    name, extra = FAMILIES[family]
    config = getattr(transformers, name)(**{**SHAPE, **extra})
    torch.manual_seed(0)
    dtype = dtype_option(torch.float32)
    model = transformers.AutoModelForCausalLM.from_config(config, **dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)  # spread the logits, so that errors show
    return model


def byte_tokenizer(bos: bool = True, double_bos: bool = False, eos: bool = False) -> Any:
    """A byte-level tokeniser whose letters after `Answer:` are two tokens (a blank and a byte)."""
    return _tokenizer(["Ġ"], bos, double_bos, eos)


def letter_tokenizer(bos: bool = True, double_bos: bool = False, eos: bool = False) -> Any:
    """A byte-level tokeniser that has ` A` to ` Z` as single tokens."""
    letters = [f"Ġ{chr(65 + i)}" for i in range(26)]
    return _tokenizer(letters, bos, double_bos, eos)


def _tokenizer(extra: list[str], bos: bool, double_bos: bool, eos: bool) -> Any:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<pad>": 0, "<bos>": 1, "<eos>": 2}
    for token in [*alphabet, *extra]:
        vocabulary.setdefault(token, len(vocabulary))
    merges = [("Ġ", token[1:]) for token in extra if len(token) > 1]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    head = "<bos> <bos> " if double_bos else "<bos> " if bos else ""
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{head}$A{' <eos>' if eos else ''}", special_tokens=[("<bos>", 1), ("<eos>", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>"
    )
