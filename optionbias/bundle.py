"""The archive that publishes a run: a tar whose every byte its manifest decides.

The first member is `manifest.json` (format, cohort, and path, size and SHA-256 of each file), the
second the manifest's own SHA-256; the files follow, sorted, owned by nobody and dated 1970. The same
files give the same bytes, any `tar` unpacks them, and since nothing in the archive is free, a
reader notices any byte that was changed, in a file, a header or between them.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from optionbias.atomic import atomic_path
from optionbias.digests import full_digest

FORMAT = 1
MANIFEST, SEAL = "manifest.json", "manifest.json.sha256"
_BLOCK, _RECORD, _CHUNK = tarfile.BLOCKSIZE, tarfile.RECORDSIZE, 1 << 20
_LARGEST_MANIFEST = 1 << 28


class BundleError(ValueError):
    """An archive that cannot be trusted; the message names the archive and the file in it."""


def pack(target: Path, cohort: str, files: Mapping[str, Path | bytes]) -> None:
    """Write the archive, atomically.

    Args:
        target: where.
        cohort: the cohort's name; `unpack`'s caller names a folder after it.
        files: path in the archive -> the file, or its content.

    Raises:
        BundleError: a path that no reader would accept.
    """
    entries: list[dict[str, Any]] = []
    for name in sorted(files):
        if fault := _fault_of_path(name):
            raise BundleError(f"{target}: {name}: {fault}")
        given = files[name]
        if isinstance(given, bytes):
            size, sha256 = len(given), hashlib.sha256(given).hexdigest()
        else:
            size, sha256 = given.stat().st_size, full_digest(given)
        entries.append({"path": name, "size": size, "sha256": sha256})
    told = {"format": FORMAT, "cohort": cohort, "files": entries}
    manifest = (json.dumps(told, indent=1, sort_keys=True) + "\n").encode()
    with (
        atomic_path(target) as temporary,
        tarfile.open(
            temporary, "w", format=tarfile.USTAR_FORMAT, encoding="utf-8", errors="strict"
        ) as tar,
    ):
        for name, data in ((MANIFEST, manifest), (SEAL, _seal(manifest))):
            tar.addfile(_member(name, len(data)), io.BytesIO(data))
        for entry in entries:
            given = files[entry["path"]]
            member = _member(entry["path"], entry["size"])
            with io.BytesIO(given) if isinstance(given, bytes) else given.open("rb") as content:
                tar.addfile(member, content)


def unpack(archive: Path, folder: Path) -> dict[str, Any]:
    """Write the archive's files below `folder` and return its manifest, or raise.

    What was written before a fault was found stays: give a folder that nothing reads yet.

    Raises:
        BundleError: one line that names the archive and the file: any byte that `pack` would not
            have written, a cut archive, a path outside the folder, a link, a file that is listed
            but absent or the reverse, an unknown format.
    """
    try:
        file = archive.open("rb")
    except OSError as error:
        raise BundleError(f"{archive}: {error.strerror}") from error
    with file:
        reader = _Reader(archive, file)
        manifest = reader.manifest()
        for entry in manifest["files"]:
            reader.extract(entry, folder)
        reader.end()
    return manifest


def _member(name: str, size: int) -> tarfile.TarInfo:
    """A regular file of nobody's, from 1970."""
    member = tarfile.TarInfo(name)
    member.size = size
    return member


def _header(name: str, size: int) -> bytes:
    return _member(name, size).tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")


def _seal(manifest: bytes) -> bytes:
    """The manifest's SHA-256, as `sha256sum --check` reads it."""
    return f"{hashlib.sha256(manifest).hexdigest()}  {MANIFEST}\n".encode()


def _fault_of_path(name: str) -> str | None:
    """Why a path must not be unpacked, None where it may."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts:
        return "lies outside the archive's folder"
    if "/".join(parts) != name or "\\" in name or not name.isprintable():
        return "is no plain path"
    try:
        _header(name, 0)
    except ValueError:
        return "is too long for a tar archive"
    if name in (MANIFEST, SEAL):
        return "is a name that the archive keeps for itself"
    return None


class _Reader:
    """Reads an archive front to back; every byte is compared with the one that belongs there."""

    def __init__(self, archive: Path, file: BinaryIO) -> None:
        self._archive, self._file = archive, file
        self._listed: set[str] = set()
        self._seen: set[str] = {MANIFEST, SEAL}

    def manifest(self) -> dict[str, Any]:
        """The manifest, checked against its seal and its own form."""
        header = self._file.read(_BLOCK)
        try:
            first = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
        except tarfile.HeaderError:
            first = tarfile.TarInfo()
        if not 0 < first.size <= _LARGEST_MANIFEST or header != _header(MANIFEST, first.size):
            raise self._fault(
                MANIFEST,
                "is not the first file: not a bundle (a plain tar), compressed, or damaged",
            )
        data = b"".join(self._content(MANIFEST, first.size))
        seal = _seal(data)
        self._expect_header(SEAL, len(seal))
        if b"".join(self._content(SEAL, len(seal))) != seal:
            raise self._fault(
                MANIFEST, f"its SHA-256 is not that of {SEAL}: damaged, fetch it again"
            )
        try:
            manifest = json.loads(data)
        except ValueError as error:
            raise self._fault(MANIFEST, f"is not JSON: {error}") from error
        self._check_form(manifest)
        return manifest

    def _check_form(self, manifest: Any) -> None:
        found = manifest.get("format") if isinstance(manifest, dict) else None
        if found != FORMAT:
            told = f"unknown format {found!r}, this version reads {FORMAT}"
            raise self._fault(MANIFEST, told)
        cohort, files = manifest.get("cohort"), manifest.get("files")
        if not isinstance(cohort, str) or "/" in cohort or _fault_of_path(cohort):
            raise self._fault(MANIFEST, f"the cohort's name {cohort!r} names no folder")
        if not isinstance(files, list) or not all(map(_is_entry, files)):
            raise self._fault(MANIFEST, "`files` is no list of path, size and sha256")
        for name in (entry["path"] for entry in files):
            if fault := _fault_of_path(name):
                raise self._fault(name, fault)
            if name in self._listed:
                raise self._fault(name, "is listed twice")
            self._listed.add(name)

    def extract(self, entry: Mapping[str, Any], folder: Path) -> None:
        """Write the next file, which must be that of the manifest's entry."""
        name, size = entry["path"], entry["size"]
        self._expect_header(name, size)
        self._seen.add(name)
        target = folder / name
        sha256 = hashlib.sha256()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as out:
                for block in self._content(name, size):
                    sha256.update(block)
                    out.write(block)
        except OSError as error:
            raise self._fault(name, f"cannot be written to {folder}: {error.strerror}") from error
        if sha256.hexdigest() != entry["sha256"]:
            told = f"its SHA-256 is {sha256.hexdigest()[:16]}..., in the manifest {entry['sha256'][:16]}..."
            raise self._fault(name, f"{told}: damaged, fetch the archive again")

    def end(self) -> None:
        """After the last file come zeros alone, as many as fill the last record."""
        block = self._file.read(_BLOCK)
        if any(block):
            raise self._unexpected(block, "the end")
        rest = block + b"".join(iter(lambda: self._file.read(_CHUNK), b""))
        total = self._file.tell()
        if len(rest) < 2 * _BLOCK or total % _RECORD or len(rest) >= 2 * _BLOCK + _RECORD:
            raise BundleError(f"{self._archive}: is cut off, or longer than it was, at its end")
        if any(rest):
            raise BundleError(
                f"{self._archive}: bytes after the last file: damaged, fetch it again"
            )

    def _expect_header(self, name: str, size: int) -> None:
        block = self._file.read(_BLOCK)
        if block != _header(name, size):
            raise self._unexpected(block, name)

    def _unexpected(self, block: bytes, expected: str) -> BundleError:
        """What to say of a header that is not the expected one."""
        if len(block) < _BLOCK:
            return self._fault(expected, "is listed, but the archive is cut off before it")
        if not any(block):
            return self._fault(expected, "is listed in the manifest, but not in the archive")
        try:
            found = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError:
            return self._fault(expected, "its header is damaged, fetch the archive again")
        name = found.name
        if not found.isreg():
            return self._fault(name, "is no regular file (a link, a folder or a device): refused")
        if fault := _fault_of_path(name):
            return self._fault(name, fault)
        if name in self._seen:
            return self._fault(name, "is in the archive twice")
        if name not in self._listed:
            return self._fault(name, "is in the archive, but not listed in the manifest")
        if name != expected:
            return self._fault(
                expected, f"is listed in the manifest, but {name} stands in its place"
            )
        return self._fault(name, "its header is not as `snakemake bundle` writes it")

    def _content(self, name: str, size: int) -> Iterable[bytes]:
        """A file's bytes in pieces, and the zeros after it."""
        left = size
        while left:
            block = self._file.read(min(left, _CHUNK))
            if not block:
                raise self._fault(name, "is cut off: the archive is truncated")
            left -= len(block)
            yield block
        padding = -size % _BLOCK
        zeros = self._file.read(padding)
        if len(zeros) < padding:
            raise self._fault(name, "is cut off: the archive is truncated")
        if any(zeros):
            raise self._fault(name, "bytes after it are not zero: damaged, fetch the archive again")

    def _fault(self, name: str, told: str) -> BundleError:
        shown = name if name.isprintable() else ascii(name)
        return BundleError(f"{self._archive}: {shown}: {told}")


def _is_entry(entry: Any) -> bool:
    """Whether an entry of the manifest has the form that it must have."""
    return (
        isinstance(entry, dict)
        and set(entry) == {"path", "size", "sha256"}
        and isinstance(entry["path"], str)
        and type(entry["size"]) is int
        and entry["size"] >= 0
        and isinstance(entry["sha256"], str)
        and re.fullmatch("[0-9a-f]{64}", entry["sha256"]) is not None
    )
