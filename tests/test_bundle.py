"""The archive of a run: the same bytes for the same files, and no byte of it is free."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optionbias.bundle import FORMAT, MANIFEST, SEAL, BundleError, pack, unpack

FILES = {
    "sweeps/first-token/two/A.parquet": b"PAR1" + bytes(range(256)) * 5,
    "results/tables/table1.csv": b"table,row\n1,All cells\n",
    "cohort.yaml": b"name: few\n",
    "empty": b"",
    "whole-block": b"x" * 512,
}
Member = tuple[tarfile.TarInfo, bytes]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    pack(tmp_path / "few.tar", "few", FILES)
    return tmp_path / "few.tar"


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def fault(archive: Path, folder: Path) -> str:
    """What is said of an archive; one line, that begins with its name."""
    with pytest.raises(BundleError) as caught:
        unpack(archive, folder)
    said = str(caught.value)
    assert len(said.splitlines()) == 1 and said.startswith(f"{archive}: ")
    return said.removeprefix(f"{archive}: ")


def write_tar(path: Path, members: list[Member]) -> Path:
    """An archive of any members, with the headers that `pack` writes."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return path


def member(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> Member:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(data), kind, link
    return info, data


def entry(name: str, data: bytes) -> dict[str, Any]:
    return {"path": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def sealed(told: object) -> list[Member]:
    """The two first members, for any manifest."""
    data = json.dumps(told).encode()
    seal = f"{hashlib.sha256(data).hexdigest()}  {MANIFEST}\n".encode()
    return [member(MANIFEST, data), member(SEAL, seal)]


def listing(*entries: Mapping[str, Any], **changes: object) -> dict[str, object]:
    return {"format": FORMAT, "cohort": "few", "files": list(entries), **changes}


# --- what is written -------------------------------------------------------------------------


def test_by_hand(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
        assert [m.name for m in members] == [MANIFEST, SEAL, *sorted(FILES)]
        assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode) for m in members} == {
            (0, 0, 0, "", "", 0o644)
        }
        content = tar.extractfile(MANIFEST)
        assert content is not None
        manifest = json.loads(content.read())
    assert manifest == {
        "format": 1, "cohort": "few", "files": [entry(n, FILES[n]) for n in sorted(FILES)],
    }  # fmt: skip


def test_the_same_files_give_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    """From disk or memory, in any order, whatever their times and modes."""
    given: dict[str, Path | bytes] = {}
    for name in reversed(FILES):
        path = tmp_path / "disk" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(FILES[name])
        path.chmod(0o600)
        given[name] = path
    pack(tmp_path / "again.tar", "few", given)
    assert (tmp_path / "again.tar").read_bytes() == archive.read_bytes()


def test_other_programs_read_it(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tar"
    folder.mkdir()
    subprocess.run(["tar", "-xf", str(archive), "-C", str(folder)], check=True)
    assert {n: d for n, d in files_below(folder).items() if n in FILES} == FILES
    subprocess.run(["sha256sum", "--check", "--quiet", SEAL], cwd=folder, check=True)


@pytest.mark.parametrize(
    "name", ["../x", "/x", "a/../../x", "a//b", MANIFEST, "x" * 300, "a\nb", ""]
)
def test_a_path_that_no_reader_accepts_is_not_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError):
        pack(tmp_path / "x.tar", "few", {name: b""})
    assert not list(tmp_path.iterdir())


names = st.lists(
    st.text(alphabet="abcXYZ019-_.é", min_size=1, max_size=9).filter(lambda t: t.strip(".")),
    min_size=1,
    max_size=3,
).map(lambda parts: "/".join(["top", *parts]))


def no_file_is_a_folder(files: Mapping[str, bytes]) -> bool:
    return not any(other.startswith(f"{name}/") for name in files for other in files)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(names, st.binary(max_size=1500), max_size=5).filter(no_file_is_a_folder))
def test_what_is_packed_comes_back(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    root = tmp_path_factory.mktemp("round")
    pack(root / "few.tar", "few", files)
    manifest = unpack(root / "few.tar", root / "out")
    assert files_below(root / "out") == files
    assert [e["path"] for e in manifest["files"]] == sorted(files)


# --- what is refused -------------------------------------------------------------------------


def test_every_flipped_byte_is_noticed(archive: Path, tmp_path: Path) -> None:
    """Every single one would take a minute; every 37th meets each kind of place in each member."""
    whole = archive.read_bytes()
    damaged = tmp_path / "damaged.tar"
    for position in range(0, len(whole), 37):
        data = bytearray(whole)
        data[position] ^= 0x01
        damaged.write_bytes(data)
        assert fault(damaged, tmp_path / f"out-{position}")


def place(archive: Path, name: str) -> tuple[int, int]:
    """Where a member's header and its data begin."""
    with tarfile.open(archive) as tar:
        found = tar.getmember(name)
        return found.offset, found.offset_data


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("where", [0, 105, 124, 140, 148, 154, 155, 156, 157, 257, 263, 345, 511])
def test_a_flip_in_a_header_names_the_file(
    name: str, where: int, archive: Path, tmp_path: Path
) -> None:
    header, _ = place(archive, name)
    data = bytearray(archive.read_bytes())
    data[header + where] ^= 0x10
    archive.write_bytes(data)
    assert fault(archive, tmp_path / "out").startswith(f"{name}: ")


@pytest.mark.parametrize("name", sorted(set(FILES) - {"empty"}))
def test_a_flip_in_a_file_names_it(name: str, archive: Path, tmp_path: Path) -> None:
    _, start = place(archive, name)
    data = bytearray(archive.read_bytes())
    data[start + len(FILES[name]) - 1] ^= 0x80
    archive.write_bytes(data)
    assert fault(archive, tmp_path / "out").startswith(f"{name}: its SHA-256 is ")


def test_a_flip_after_a_file_names_it(archive: Path, tmp_path: Path) -> None:
    _, start = place(archive, "cohort.yaml")
    data = bytearray(archive.read_bytes())
    data[start + 511] ^= 0x01
    archive.write_bytes(data)
    assert fault(archive, tmp_path / "out").startswith("cohort.yaml: bytes after it are not zero")


def test_a_flip_in_the_manifest_names_it(archive: Path, tmp_path: Path) -> None:
    """In a digest, a name, a size or a blank between them."""
    whole = archive.read_bytes()
    end = whole.index(SEAL.encode())
    for position in range(512, 512 + whole[512:end].rindex(b"}") + 1, 23):
        data = bytearray(whole)
        data[position] ^= 0x02
        archive.write_bytes(data)
        assert fault(archive, tmp_path / "out").startswith(f"{MANIFEST}: its SHA-256 is not that")


def test_an_archive_that_is_cut_anywhere_is_refused(archive: Path, tmp_path: Path) -> None:
    whole = archive.read_bytes()
    for size in range(0, len(whole), 512 - 1):
        archive.write_bytes(whole[:size])
        assert fault(archive, tmp_path / f"out-{size}")
    _, start = place_of(whole, "sweeps/first-token/two/A.parquet", tmp_path)
    archive.write_bytes(whole[: start + 700])
    said = fault(archive, tmp_path / "last")
    assert said == "sweeps/first-token/two/A.parquet: is cut off: the archive is truncated"


def place_of(data: bytes, name: str, folder: Path) -> tuple[int, int]:
    (folder / "whole.tar").write_bytes(data)
    return place(folder / "whole.tar", name)


def test_longer_is_refused_too(archive: Path, tmp_path: Path) -> None:
    for extra in (b"\0" * 512, b"\0" * 10240, b"x"):
        longer = tmp_path / "longer.tar"
        longer.write_bytes(archive.read_bytes() + extra)
        assert fault(longer, tmp_path / f"out-{len(extra)}")


A, B = member("a", b"one"), member("b", b"two")
LISTED = sealed(listing(entry("a", b"one"), entry("b", b"two")))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([*LISTED, A], "b: is listed in the manifest, but not in the archive"),
        ([*LISTED, A, B, member("c")], "c: is in the archive, but not listed in the manifest"),
        ([*LISTED, A, member("c"), B], "c: is in the archive, but not listed in the manifest"),
        ([*LISTED, B, A], "a: is listed in the manifest, but b stands in its place"),
        ([*LISTED, A, A, B], "a: is in the archive twice"),
        ([*LISTED, A, B, B], "b: is in the archive twice"),
        ([*LISTED, A, member("b", b"too!")], "b: its header is not as `snakemake bundle` writes it"),
        ([*LISTED, A, member("b", b"tow")], "b: its SHA-256 is "),
        ([*LISTED, member("a", kind=tarfile.SYMTYPE, link="/etc/passwd"), B], "a: is no regular file"),
        ([*LISTED, member("a", kind=tarfile.LNKTYPE, link="b"), B], "a: is no regular file"),
        ([*LISTED, member("a", kind=tarfile.DIRTYPE), B], "a: is no regular file"),
        ([*LISTED, A, B, member("../c", b"x")], "../c: lies outside the archive's folder"),
        ([*LISTED, A, B, member("/c", b"x")], "/c: lies outside the archive's folder"),
        ([A, B], f"{MANIFEST}: is not the first file"),
        ([LISTED[0], A, B], "a: is in the archive, but not listed in the manifest"),
        ([], f"{MANIFEST}: is not the first file"),
    ],
    ids=range(16),
)  # fmt: skip
def test_an_archive_that_is_not_its_manifest(
    members: list[Member], said: str, tmp_path: Path
) -> None:
    path = write_tar(tmp_path / "made.tar", members)
    assert fault(path, tmp_path / "out").startswith(said)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (listing(format=2), f"{MANIFEST}: unknown format 2, this version reads 1"),
        ({"files": []}, f"{MANIFEST}: unknown format None"),
        ([], f"{MANIFEST}: unknown format None"),
        (listing(cohort="../up"), f"{MANIFEST}: the cohort's name '../up' names no folder"),
        (listing(cohort=".."), f"{MANIFEST}: the cohort's name '..' names no folder"),
        (listing(cohort=""), f"{MANIFEST}: the cohort's name '' names no folder"),
        (listing({"path": "a"}), f"{MANIFEST}: `files` is no list of path, size and sha256"),
        (listing(entry("a", b"") | {"size": -1}), f"{MANIFEST}: `files` is no list"),
        (listing(entry("a", b"") | {"sha256": "x" * 64}), f"{MANIFEST}: `files` is no list"),
        (listing(files=None), f"{MANIFEST}: `files` is no list"),
        (listing(entry("../x", b"x")), "../x: lies outside the archive's folder"),
        (listing(entry("a/../../x", b"x")), "a/../../x: lies outside the archive's folder"),
        (listing(entry("/etc/x", b"x")), "/etc/x: lies outside the archive's folder"),
        (listing(entry("a\\b", b"x")), "a\\b: is no plain path"),
        (listing(entry("a\nb", b"x")), "'a\\nb': is no plain path"),
        (listing(entry("a", b""), entry("a", b"")), "a: is listed twice"),
    ],
    ids=range(16),
)
def test_a_manifest_that_is_refused(told: object, said: str, tmp_path: Path) -> None:
    """With its right seal: whoever wrote it meant it."""
    data = told["files"] if isinstance(told, dict) else None
    members = [member(e["path"], b"x") for e in data or [] if "sha256" in e and e["size"] == 1]
    path = write_tar(tmp_path / "made.tar", [*sealed(told), *members])
    assert fault(path, tmp_path / "below" / "out").startswith(said)
    assert not (tmp_path / "below" / "x").exists() and not (tmp_path / "x").exists()


def test_what_is_no_archive(tmp_path: Path) -> None:
    assert fault(tmp_path / "gone.tar", tmp_path / "out") == "No such file or directory"
    (tmp_path / "text.tar").write_text("hello\n" * 500)
    assert fault(tmp_path / "text.tar", tmp_path / "out").startswith(
        f"{MANIFEST}: is not the first"
    )


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file in the place of a folder."""
    members = [member("a", b"x"), member("a/b", b"y")]
    told = listing(entry("a", b"x"), entry("a/b", b"y"))
    path = write_tar(tmp_path / "made.tar", [*sealed(told), *members])
    said = fault(path, tmp_path / "out")
    assert said.startswith(f"a/b: cannot be written to {tmp_path / 'out'}: ")
    # Nor is a file replaced.
    said = fault(path, tmp_path / "out")
    assert said == f"a: cannot be written to {tmp_path / 'out'}: File exists"
