"""A file's digest is that of its whole content."""

from __future__ import annotations

import hashlib
from pathlib import Path

from optionbias.digests import full_digest


def test_by_hand(tmp_path: Path) -> None:
    for content in (b"", b"abc", bytes(range(256)) * 5000):
        (tmp_path / "x").write_bytes(content)
        assert full_digest(tmp_path / "x") == hashlib.sha256(content).hexdigest()
