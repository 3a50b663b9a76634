"""Secrets in texts."""

from __future__ import annotations

import json
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from optionbias.redaction import BEGINNING, HIDDEN, Redactor

keys = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=16, max_size=60)


@given(keys, st.text(), st.text())
def test_no_form_of_a_secret_stays(key: str, before: str, after: str) -> None:
    redact = Redactor(key)
    for form in (key, json.dumps(key)[1:-1], quote(key, safe="")):
        assert form not in redact(before + form + after)


@given(keys, st.integers(BEGINNING, 60))
def test_nor_a_longer_beginning(key: str, length: int) -> None:
    assert Redactor(key)(f"<{key[:length]}…>") == f"<{HIDDEN}…>"


def test_a_text_without_it_is_as_it_was() -> None:
    redact = Redactor("sk-0123456789abcdef")
    assert redact("sk-0123 and B") == "sk-0123 and B"
    assert redact("a sk-0123456789abcdef b sk-0123456789abcd, c") == f"a {HIDDEN} b {HIDDEN}, c"


def test_what_servers_without_keys_are_given_is_no_secret() -> None:
    assert Redactor("", "EMPTY", " A ")("A: EMPTY") == "A: EMPTY"
