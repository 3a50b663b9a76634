"""Which code a script runs: digests that tell a workflow engine when a result is out of date.

Modification times change with every clone and checkout, and declared inputs do not see imported
modules. A digest per module does both right: an edit reruns exactly what uses the module, a
touched file reruns nothing.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "optionbias"


@cache
def _imports(path: Path) -> frozenset[Path]:
    """Modules of the package that a file imports, at any depth of its own code."""
    names: set[str] = set()
    for node in _statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    # Importing a.b.c runs the packages a and a.b too.
    wanted = {
        ".".join(name.split(".")[:i]) for name in names for i in range(1, name.count(".") + 2)
    }
    return frozenset(p for name in wanted for p in [module_path(name)] if p is not None)


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Every statement at any depth; expressions, which are most of a tree, are not looked into."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, part, ())


def module_path(name: str) -> Path | None:
    """The file of a module of the package, None for anything else."""
    if name.split(".")[0] != PACKAGE:
        return None
    stem = ROOT.joinpath(*name.split("."))
    for candidate in (stem.with_suffix(".py"), stem / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def module_digests(*modules: str) -> dict[str, str]:
    """Digest of the named modules alone, not of what they import."""
    return {m: _digest(p) for m in modules for p in [module_path(m)] if p is not None}


def quick_digest(path: Path) -> str:
    """Digest of a file's size and content; of large files, the first, middle and last megabyte.

    Cheap enough for every start of the workflow on folders of weights, and independent of file
    times, which copies and checkouts change. The revision that a sweep records is the full digest.
    """
    block, size = 1 << 20, path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    starts = range(0, size, block) if size <= 64 * block else (0, size // 2, size - block)
    with path.open("rb") as file:
        for start in starts:
            file.seek(start)
            digest.update(file.read(block))
    return digest.hexdigest()[:16]


def use_this_clone() -> None:
    """Make child processes run this clone's code with the Python that runs now.

    Jobs call `python -m scripts.X`. Whatever else is installed or active, they get the scripts and
    the package beside the Snakefile; a conda environment still puts its own Python first.
    """
    for name, first in (("PYTHONPATH", ROOT), ("PATH", Path(sys.executable).parent)):
        rest = os.environ.get(name)
        os.environ[name] = os.pathsep.join([str(first), *([rest] if rest else [])])


def code_digests(script: str, *modules: str, files: Iterable[str] = ()) -> dict[str, str]:
    """Digest of a script and of every package module it imports, directly or through others.

    Args:
        script: path from the repository's root, for example `scripts/table.py`.
        modules: further modules that it loads by name.
        files: other source files that it reads, as paths from the root.

    Returns:
        path from the root -> first 16 digits of the file's SHA-256, sorted by path.
    """
    waiting = [ROOT / script, *(p for m in modules for p in [module_path(m)] if p is not None)]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imports(path)
    found |= {ROOT / file for file in files}
    return {str(p.relative_to(ROOT)): _digest(p) for p in sorted(found)}
