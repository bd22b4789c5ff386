"""Archives that are the same bytes for the same contents: sorted, one time, one owner, one mode."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping

TIME = 315532800
"""1980-01-01, the first moment that a zip archive can name."""

MODE = 0o644
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


def write_zip(files: Mapping[str, bytes]) -> bytes:
    """A zip archive of `files` by path, in the order of the paths."""
    return zipped(dict(sorted(files.items())))


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip archive of `files` in their own order."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, _ZIP_TIME)
            entry.create_system = _UNIX
            entry.external_attr = (0o100000 | MODE) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data, compresslevel=9)
    return out.getvalue()


def write_tar_gz(files: Mapping[str, bytes]) -> bytes:
    """A gzip-compressed tar archive of `files` by path, in the order of the paths."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mtime, entry.mode = len(data), TIME, MODE
            archive.addfile(entry, io.BytesIO(data))
    return _gzipped(out.getvalue())


def _gzipped(data: bytes) -> bytes:
    """Gzip with neither a time nor a file name nor the system in its header, which the modules of Python differ in."""
    pack = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = pack.compress(data) + pack.flush()
    return b"\x1f\x8b\x08\0\0\0\0\0\x02\xff" + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
