"""Letter tokens come from the checkpoint's own tokenisation of `Answer: A`."""

from __future__ import annotations

import pytest

from optionbias.readouts.letters import LetterError, encode, letter_tokens
from readouts.models import byte_tokenizer, letter_tokenizer


@pytest.mark.parametrize("k", [2, 4, 10, 26])
def test_the_letter_with_its_blank_is_taken(k: int) -> None:
    tokenizer = letter_tokenizer()
    tokens = letter_tokens(tokenizer, k, "M")
    assert tokenizer.convert_ids_to_tokens(tokens) == [f"Ġ{chr(65 + i)}" for i in range(k)]


def test_letters_of_two_tokens_name_the_checkpoint_and_the_tokens() -> None:
    with pytest.raises(LetterError, match=r"checkpoint M: `Answer: A` is .*'Ġ', 'A'"):
        letter_tokens(byte_tokenizer(), 4, "M")


def test_letters_that_share_a_token_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = letter_tokenizer()
    vocabulary = tokenizer.get_vocab()

    def unknown_b(text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        ids = tokenizer._encode_plus(text, add_special_tokens=add_special_tokens)["input_ids"]
        return {"input_ids": [vocabulary["ĠA"] if i == vocabulary["ĠB"] else i for i in ids]}

    class Mapped:
        bos_token_id, eos_token_id, name_or_path = 1, 2, "mapped"
        convert_ids_to_tokens = staticmethod(tokenizer.convert_ids_to_tokens)

        def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
            return unknown_b(text, add_special_tokens)

    with pytest.raises(LetterError, match="not distinct"):
        letter_tokens(Mapped(), 4, "M")


def test_the_tokenisers_own_bos_and_no_second_one() -> None:
    assert encode(letter_tokenizer(bos=True), "Answer:")[0] == 1
    assert encode(letter_tokenizer(bos=True), "Answer:").count(1) == 1
    assert 1 not in encode(letter_tokenizer(bos=False), "Answer:")


def test_two_bos_and_a_closing_eos_are_refused() -> None:
    with pytest.raises(LetterError, match="two BOS"):
        encode(letter_tokenizer(double_bos=True), "Answer:")
    with pytest.raises(LetterError, match="EOS"):
        encode(letter_tokenizer(eos=True), "Answer:")
