"""Which tokens are the letters, as the checkpoint itself writes them after `Answer:`."""

from __future__ import annotations

from typing import Any

from optionbias.orderings import LETTERS, check_k
from optionbias.prompts import CUE


class LetterError(ValueError):
    """The K letters are not K distinct single tokens for this checkpoint."""


def encode(tokenizer: Any, text: str) -> list[int]:
    """Token ids of a prompt: the tokeniser's own BOS, no second one, and no closing token.

    Raises:
        LetterError: the tokeniser puts its BOS twice or closes the prompt with its EOS.
    """
    ids: list[int] = tokenizer(text, add_special_tokens=True)["input_ids"]
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    if bos is not None and bos != eos and ids[:2] == [bos, bos]:
        raise LetterError(f"{tokenizer.name_or_path}: the tokeniser starts a prompt with two BOS")
    if eos is not None and ids[-1] == eos:
        raise LetterError(f"{tokenizer.name_or_path}: the tokeniser ends a prompt with its EOS")
    return ids


def letter_tokens(tokenizer: Any, k: int, checkpoint: str) -> list[int]:
    """The token of each of the first `k` letters, as it follows `Answer:` in context.

    Read from the checkpoint's own tokenisation of `Answer: A`: ` A` where the tokeniser has it.

    Raises:
        LetterError: naming the checkpoint and the tokens, unless the k letters are k distinct
            single tokens that leave the tokens of `Answer:` as they are.
    """
    before = encode(tokenizer, CUE)
    tokens: list[int] = []
    for letter in LETTERS[: check_k(k)]:
        ids = encode(tokenizer, f"{CUE} {letter}")
        if len(ids) != len(before) + 1 or ids[:-1] != before:
            spelled = tokenizer.convert_ids_to_tokens(ids)
            raise LetterError(
                f"checkpoint {checkpoint}: `{CUE} {letter}` is {spelled}, so the letter is not one "
                f"token after `{CUE}`; a first-token readout needs single-token letters"
            )
        tokens.append(ids[-1])
    if len(set(tokens)) != k:
        spelled = dict(zip(LETTERS, tokenizer.convert_ids_to_tokens(tokens), strict=False))
        raise LetterError(
            f"checkpoint {checkpoint}: the letters' tokens are not distinct: {spelled}"
        )
    return tokens
