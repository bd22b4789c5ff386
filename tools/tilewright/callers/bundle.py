"""The verification bundle: one file with all that a library's check needs on another machine.

It is a zip archive without compression.  `manifest.json` in it names the exports, their kernels and tiles, how the
expected values were made, and the SHA-256 of every other member.  Tiles are raw little-endian elements, one case after
the other.  Read without any parser but the standard library's and NumPy.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.callers.error import CallerError
from tilewright.callers.inputs import Tile, dtype_of
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, Sync
from tilewright.problem import Place, Problem

SUFFIX = ".verify.zip"
MANIFEST = "manifest.json"
SCHEMA_VERSION = 1
_ELF_OF_CUDA = (b"\x7fELF", 190)
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
"""What reading a member of a damaged or encrypted archive raises."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One parameter's tiles, a row a case: `before` the call (None: a result), `expected` after it (None: an input)."""

    name: str
    element: ElementType
    access: Access
    before: Tile | None
    expected: Tile | None


@dataclass(frozen=True, slots=True)
class Check:
    """One export's check: what to launch on which tiles. `cases` are the kinds of input, `oracle` who expects what."""

    name: str
    symbol: str
    kernel: str
    tile_shape: int
    blocks: int
    threads: int
    sync: Sync
    max_ulps: int
    cases: tuple[str, ...]
    oracle: str
    tensors: tuple[Tensor, ...]

    def without_tiles(self) -> Check:
        """What another process needs to know of it."""
        return replace(self, tensors=())


@dataclass(frozen=True, slots=True)
class Emulation:
    """The library's and the caller's source for `verify --emulate`; `language` and `headers` as in `DeviceModule`."""

    language: str
    name: str
    library: str
    caller: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """A library's check, whole. `digest` is the SHA-256 of the manifest that was read, "" for one just made."""

    library: str
    arch: str
    link_options: tuple[str, ...]
    seed: int
    cubin: bytes
    checks: tuple[Check, ...]
    emulation: Emulation | None
    digest: str = ""


def write_bundle(bundle: Bundle) -> bytes:
    """The file; equal bytes for equal bundles, on every machine."""
    return archive_of(bundle_files(bundle))


def archive_of(files: Mapping[str, bytes]) -> bytes:
    """The archive of files by name, in their order, with nothing of the time or of this machine in it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(name)
            member.create_system, member.external_attr = 3, 0o100644 << 16
            archive.writestr(member, data)
    return out.getvalue()


def bundle_files(bundle: Bundle) -> dict[str, bytes]:
    """The members of the archive by name, the manifest first."""
    files: dict[str, bytes] = {f"{bundle.library}.cubin": bundle.cubin}
    checks = []
    for check in bundle.checks:
        tensors = []
        for tensor in check.tensors:
            record: dict[str, Any] = {
                "name": tensor.name,
                "element": tensor.element.label,
                "access": tensor.access.value,
            }
            for role, tile in (("before", tensor.before), ("expected", tensor.expected)):
                record[role] = None
                if tile is not None:
                    record[role] = f"tiles/{check.name}.{tensor.name}.{role}.bin"
                    files[record[role]] = tile.tobytes()
            tensors.append(record)
        checks.append(
            {
                "name": check.name,
                "symbol": check.symbol,
                "kernel": check.kernel,
                "tile_shape": check.tile_shape,
                "blocks": check.blocks,
                "threads": check.threads,
                "sync": check.sync.value,
                "max_ulps": check.max_ulps,
                "cases": list(check.cases),
                "oracle": check.oracle,
                "parameters": tensors,
            }
        )
    manifest = {
        "schema": SCHEMA_VERSION,
        "library": bundle.library,
        "arch": bundle.arch,
        "link_options": list(bundle.link_options),
        "seed": bundle.seed,
        "cubin": f"{bundle.library}.cubin",
        "exports": checks,
        "emulation": _emulation_files(bundle.emulation, files),
        "sha256": {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)},
    }
    return {MANIFEST: json.dumps(manifest, indent=2).encode() + b"\n", **files}


def _emulation_files(emulation: Emulation | None, files: dict[str, bytes]) -> dict[str, Any] | None:
    if emulation is None:
        return None
    suffix = "cu" if emulation.language == "cuda" else "ll"
    record: dict[str, Any] = {
        "language": emulation.language,
        "name": emulation.name,
        "library": f"emulation/library.{suffix}",
        "caller": f"emulation/caller.{suffix}",
        "headers": [[name, f"emulation/header{at}.h"] for at, (name, _) in enumerate(emulation.headers)],
    }
    files[record["library"]] = emulation.library.encode()
    files[record["caller"]] = emulation.caller.encode()
    for (_, text), (_, path) in zip(emulation.headers, record["headers"], strict=True):
        files[path] = text.encode()
    return record


def read_bundle(path: Path) -> Bundle:
    """Reads a bundle back. `CallerError` names every file that is missing or is not the one the manifest names."""
    place = Place(str(path))
    try:
        with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
            data = archive.read(MANIFEST)
            return _read(archive, data, place)
    except OSError as error:
        raise CallerError([Problem(f"no verification bundle: {error.strerror or error}", place)]) from None
    except KeyError:
        what = f"no verification bundle: there is no `{MANIFEST}` in it"
        raise CallerError([Problem(what, place)]) from None
    except _DAMAGE as error:
        hint = "make the bundle again, or copy it again"
        raise CallerError([Problem(f"no verification bundle, or a damaged one: {error}", place, hint)]) from None


def _read(archive: zipfile.ZipFile, data: bytes, place: Place) -> Bundle:
    try:
        manifest = json.loads(data)
        version = manifest["schema"]
    except (ValueError, KeyError, TypeError):
        raise CallerError([Problem("the manifest is not that of a verification bundle", place)]) from None
    if version != SCHEMA_VERSION:
        what = f"the bundle has schema version {version}; this release reads version {SCHEMA_VERSION}"
        raise CallerError([Problem(what, place, hint="make the bundle again with this release")])
    try:
        files = _checked_files(archive, manifest["sha256"], place)
        bundle = _bundle(manifest, files, hashlib.sha256(data).hexdigest())
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CallerError([Problem(f"the manifest is broken: {type(error).__name__} {error}", place)]) from None
    if not is_cubin(bundle.cubin):
        what = f"`{manifest['cubin']}` is corrupt: it is no ELF file for a CUDA device"
        raise CallerError([Problem(what, place)])
    return bundle


def is_cubin(data: bytes) -> bool:
    """Whether data begins as an ELF file for CUDA does and holds the section and program tables of its header."""
    magic, machine = _ELF_OF_CUDA
    if len(data) < 64 or not data.startswith(magic) or int.from_bytes(data[18:20], "little") != machine:
        return False
    tables = ((32, 54), (40, 58))  # where the header has a table's offset, and its entries' size and number
    ends = []
    for offset, shape in tables:
        size, count = (int.from_bytes(data[at : at + 2], "little") for at in (shape, shape + 2))
        ends.append(int.from_bytes(data[offset : offset + 8], "little") + size * count)
    return max(ends) <= len(data)


def _checked_files(archive: zipfile.ZipFile, digests: Mapping[str, str], place: Place) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    problems = []
    for name, digest in digests.items():
        try:
            files[name] = archive.read(name)
        except KeyError:
            problems.append(Problem(f"the bundle lacks `{name}`", place, hint="make the bundle again"))
            continue
        except _DAMAGE as error:
            problems.append(Problem(f"`{name}` cannot be read: {error}", place, hint="make the bundle again"))
            continue
        if (found := hashlib.sha256(files[name]).hexdigest()) != digest:
            what = f"`{name}` was changed: its SHA-256 is {found}, the manifest says {digest}"
            problems.append(Problem(what, place, hint="make the bundle again"))
    if problems:
        raise CallerError(problems)
    return files


def _bundle(manifest: dict[str, Any], files: Mapping[str, bytes], digest: str) -> Bundle:
    emulation = manifest["emulation"]
    return Bundle(
        library=str(manifest["library"]),
        arch=str(manifest["arch"]),
        link_options=tuple(manifest["link_options"]),
        seed=int(manifest["seed"]),
        cubin=files[manifest["cubin"]],
        checks=tuple(_check(record, files) for record in manifest["exports"]),
        emulation=None
        if emulation is None
        else Emulation(
            emulation["language"],
            emulation["name"],
            files[emulation["library"]].decode(),
            files[emulation["caller"]].decode(),
            tuple((name, files[path].decode()) for name, path in emulation["headers"]),
        ),
        digest=digest,
    )


def _check(record: dict[str, Any], files: Mapping[str, bytes]) -> Check:
    cases, count = tuple(record["cases"]), int(record["tile_shape"])
    return Check(
        name=str(record["name"]),
        symbol=str(record["symbol"]),
        kernel=str(record["kernel"]),
        tile_shape=count,
        blocks=int(record["blocks"]),
        threads=int(record["threads"]),
        sync=Sync(record["sync"]),
        max_ulps=int(record["max_ulps"]),
        cases=cases,
        oracle=str(record["oracle"]),
        tensors=tuple(_tensor(each, files, (len(cases), count)) for each in record["parameters"]),
    )


def _tensor(record: dict[str, Any], files: Mapping[str, bytes], shape: tuple[int, int]) -> Tensor:
    element = ElementType.named(record["element"])
    if element is None:
        raise ValueError(f"unknown element type {record['element']!r}")
    before, expected = (
        None if record[role] is None else np.frombuffer(files[record[role]], dtype_of(element)).reshape(shape)
        for role in ("before", "expected")
    )
    return Tensor(str(record["name"]), element, Access(record["access"]), before, expected)
