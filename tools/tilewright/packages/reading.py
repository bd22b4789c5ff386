"""Archives from anywhere, read into memory: nothing is written, no entry is followed, and all sizes are bounded."""

from __future__ import annotations

import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from tilewright.packages.error import PackageError
from tilewright.packages.naming import path_problems
from tilewright.problem import Place, Problem

ENTRY_LIMIT = 10_000
SIZE_LIMIT = 1 << 30
RATIO_LIMIT = 200
FREE_SIZE = 16 << 20
"""Bytes that an archive may unpack to whatever its ratio; beyond them `RATIO_LIMIT` counts."""

_CHUNK = 1 << 20
_BROKEN = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error),
    *(NotImplementedError, RuntimeError, EOFError, ValueError, OSError, OverflowError),
)
"""What the modules of Python raise for archives that are damaged or of a kind they do not know."""


def read_archive(data: bytes, file: str) -> dict[str, bytes]:
    """The files of a zip archive, a wheel or a tar.gz by path, in their order.

    PackageError, and nothing else, for archives that are broken, too large, or hold anything but plain files under
    sound paths.
    """
    if data[:2] == b"\x1f\x8b":
        return _read_tar_gz(data, file)
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _read_zip(data, file)
    raise _refused(file, "this is neither a zip archive, a wheel nor a tar.gz")


def _read_zip(data: bytes, file: str) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            _check_entries(file, [(entry.orig_filename, _zip_kind(entry)) for entry in entries])
            left = _limit(len(data))
            files = {}
            for entry in entries:
                with archive.open(entry) as stream:
                    files[entry.filename] = b"".join(_bounded(stream, left, file))
                left -= len(files[entry.filename])
            return files
    except PackageError:
        raise
    except _BROKEN as error:
        raise _refused(file, f"the archive is broken: {error}") from None


def _zip_kind(entry: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if entry.flag_bits & 1:
        return "is encrypted"
    if stat.S_ISLNK(kind):
        return "is a link"
    return "" if kind in (0, stat.S_IFREG) and not entry.orig_filename.endswith("/") else "is not a plain file"


def _read_tar_gz(data: bytes, file: str) -> dict[str, bytes]:
    try:
        plain = _gunzipped(data, file)
        with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as archive:
            entries: list[tarfile.TarInfo] = []
            for entry in archive:
                entries.append(entry)
                if len(entries) > ENTRY_LIMIT:
                    break
            _check_entries(file, [(entry.name, _tar_kind(entry)) for entry in entries])
            files = {}
            for entry in entries:
                stream = archive.extractfile(entry)
                files[entry.name] = stream.read() if stream else b""
            return files
    except PackageError:
        raise
    except _BROKEN as error:
        raise _refused(file, f"the archive is broken: {error}") from None


def _tar_kind(entry: tarfile.TarInfo) -> str:
    if entry.issym() or entry.islnk():
        return "is a link"
    return "" if entry.isreg() and not entry.issparse() else "is not a plain file"


def _gunzipped(data: bytes, file: str) -> bytes:
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS)
    limit = _limit(len(data))
    plain = unpack.decompress(data, limit + 1)
    if len(plain) > limit:
        raise _too_large(file)
    if not unpack.eof:
        raise EOFError("it ends too early")
    if unpack.unused_data:
        raise ValueError("something follows its end")
    return plain


def _bounded(stream: IO[bytes], limit: int, file: str) -> Iterator[bytes]:
    """What a stream gives, whatever size its entry claims to have."""
    while chunk := stream.read(_CHUNK):
        limit -= len(chunk)
        if limit < 0:
            raise _too_large(file)
        yield chunk


def _limit(packed: int) -> int:
    return min(SIZE_LIMIT, max(FREE_SIZE, packed * RATIO_LIMIT))


def _check_entries(file: str, entries: list[tuple[str, str]]) -> None:
    if len(entries) > ENTRY_LIMIT:
        raise _refused(file, f"the archive holds more than {ENTRY_LIMIT} files")
    place = Place(file)
    problems = [Problem(f"the entry {name!r} {kind}", place) for name, kind in entries if kind]
    problems += [Problem(what, place) for what in path_problems(name for name, kind in entries if not kind)]
    if problems:
        raise PackageError(problems)


def _too_large(file: str) -> PackageError:
    return _refused(file, f"the archive unpacks to more than {RATIO_LIMIT} times its size, or more than 1 GiB")


def _refused(file: str, what: str) -> PackageError:
    return PackageError([Problem(what, Place(file))])
