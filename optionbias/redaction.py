"""Secrets taken out of every text that is printed, logged or stored."""

from __future__ import annotations

import json
from urllib.parse import quote

HIDDEN = "[key]"
# A server may print the beginning of a key alone; shorter beginnings are shared by many keys.
BEGINNING = 12
# Shorter values (`EMPTY`, `none`) are what servers without keys are given; hiding them would
# change replies that hold such a word.
SHORTEST = 8


class Redactor:
    """Replaces secrets, their encoded forms and their longer beginnings in a text."""

    def __init__(self, *secrets: str) -> None:
        """Hide these values; those of fewer than eight characters are no secrets."""
        forms = {
            form
            for secret in secrets
            if len(secret.strip()) >= SHORTEST
            for form in (
                secret.strip(),
                json.dumps(secret.strip())[1:-1],
                quote(secret.strip(), safe=""),
            )
        }
        self._forms = sorted(forms, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text without the secrets."""
        for form in self._forms:
            text = _without(text, form)
        return text


def _without(text: str, secret: str) -> str:
    """The text with every run that begins like the secret, as far as it does, replaced."""
    head = secret[:BEGINNING]
    parts, start = [], 0
    while (found := text.find(head, start)) >= 0:
        end = found + len(head)
        while end < len(text) and end - found < len(secret) and text[end] == secret[end - found]:
            end += 1
        parts += [text[start:found], HIDDEN]
        start = end
    return "".join([*parts, text[start:]])
