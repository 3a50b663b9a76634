"""The journal: finished chunks of a cell, kept outside the declared outputs.

A workflow engine deletes a job's outputs before each attempt, so what a killed job had done must
lie elsewhere. A chunk is a fixed range of items: a resumed job runs the same batches as an
uninterrupted one and ends with the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optionbias.atomic import atomic_path, write_text


class Journal:
    """Chunks under `root/<key>/`, where the key is the SHA-256 of everything that shapes them."""

    def __init__(self, root: str | Path, identity: dict[str, Any]) -> None:
        """Open the journal of a cell.

        Args:
            root: folder of all journals.
            identity: JSON-able description of the cell (checkpoint revision, items, prompt,
                orderings, dtype, chunk size, ...): another value is another journal.
        """
        text = json.dumps(identity, sort_keys=True, indent=1)
        self.folder = Path(root) / hashlib.sha256(text.encode()).hexdigest()[:32]
        if not (self.folder / "identity.json").exists():
            write_text(self.folder / "identity.json", text)

    def _path(self, chunk: int) -> Path:
        return self.folder / f"chunk-{chunk:06d}.npz"

    def load(
        self, chunk: int, shapes: dict[str, tuple[int, ...]]
    ) -> dict[str, NDArray[Any]] | None:
        """The arrays of a finished chunk; None if it is not there, or not whole, or of other shapes."""
        try:
            with np.load(self._path(chunk), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in shapes}
            return arrays if all(arrays[n].shape == shapes[n] for n in shapes) else None
        except (FileNotFoundError, zipfile.BadZipFile, ValueError, EOFError, KeyError):
            return None

    def save(self, chunk: int, arrays: dict[str, NDArray[Any]]) -> None:
        """Keep a finished chunk; it is on disk when this returns."""
        with atomic_path(self._path(chunk)) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
