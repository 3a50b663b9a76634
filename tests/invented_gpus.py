"""A stand-in for nvidia-smi."""

from __future__ import annotations

from pathlib import Path


def put_nvidia_smi(folder: Path, count: int, parts: str = "") -> None:
    """Put an nvidia-smi into `folder` that lists GPUs; `parts` are lines of the last one's MIG."""
    ids = [f"GPU-{i}{i}{i}{i}-aaaa" for i in range(count)]
    query = "".join(f"{i}, {id_}, Invented, 81559\n" for i, id_ in enumerate(ids))
    listing = "".join(f"GPU {i}: Invented (UUID: {id_})\n" for i, id_ in enumerate(ids)) + parts
    program = folder / "nvidia-smi"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = -L ] && cat <<"END" || cat <<"OTHER"\n{listing}END\n{query}OTHER\n'
    )
    program.chmod(0o755)
