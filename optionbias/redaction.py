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
        self._forms = sorted(forms)

    def __call__(self, text: str) -> str:
        """The text without the secrets."""
        parts, start = [], 0
        while (found := self._next(text, start)) is not None:
            begin, end = found
            parts += [text[start:begin], HIDDEN]
            start = end
        return "".join([*parts, text[start:]])

    def _next(self, text: str, start: int) -> tuple[int, int] | None:
        """The next run of a text that begins like a secret, as far as it does in any form."""
        begins = [b for form in self._forms if (b := text.find(form[:BEGINNING], start)) >= 0]
        if not begins:
            return None
        begin = min(begins)
        return begin, max(begin + _shared(form, text[begin:]) for form in self._forms)


def _shared(secret: str, text: str) -> int:
    """How many characters the two have in common at their beginnings."""
    pairs = enumerate(zip(secret, text, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(secret), len(text)))
