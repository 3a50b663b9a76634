"""The digest of a file, whole. `provenance.quick_digest` is the one that is cheap for every start.

A module of its own: no code that reads a model imports it, so an edit reads no cell again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def full_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
