"""`manifest.json`: what a package is, and the SHA-256 of every other file in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated

import msgspec

from tilewright.packages.error import PackageError
from tilewright.problem import Place, Problem

FILE = "manifest.json"
SCHEMA = 1

Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class FileRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: its size in bytes and its SHA-256."""

    size: int
    sha256: Digest


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file. `tools` are the identities of what made the contents, `files` go by their path in the package."""

    schema: int
    name: str
    version: str
    licence: str
    libraries: list[str]
    architectures: list[str]
    bytecode_version: str
    tools: dict[str, str]
    sbom: str
    files: dict[str, FileRecord]


def record_of(data: bytes) -> FileRecord:
    """The record of a file."""
    return FileRecord(len(data), hashlib.sha256(data).hexdigest())


def write_manifest(manifest: Manifest) -> bytes:
    """The bytes of the file: equal for equal manifests, final newline."""
    return json.dumps(msgspec.to_builtins(manifest), indent=2).encode() + b"\n"


def read_manifest(data: bytes, file: str) -> Manifest:
    """The manifest from its bytes; PackageError for any others."""
    place = Place(file)
    try:
        version = msgspec.json.decode(data)["schema"]
        if version != SCHEMA:
            what = f"the package has schema version {version}; this release reads version {SCHEMA}"
            raise PackageError([Problem(what, place)])
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, KeyError, TypeError, UnicodeDecodeError, RecursionError) as error:
        raise PackageError([Problem(f"the manifest is broken: {error}", place)]) from None


def differences(manifest: Manifest, files: Mapping[str, bytes], file: str) -> list[Problem]:
    """Where the files of a package (all of them, the manifest left out) are not those that the manifest lists."""
    problems = []
    for path in sorted(manifest.files.keys() | files.keys()):
        place = Place(file, path=path)
        if path not in files:
            problems.append(Problem("the manifest lists a file that is not there", place))
        elif path not in manifest.files:
            problems.append(Problem("a file is there that the manifest does not list", place))
        elif (found := record_of(files[path])) != (listed := manifest.files[path]):
            what = f"the file was changed: its SHA-256 is {found.sha256}, the manifest says {listed.sha256}"
            if found.sha256 == listed.sha256:
                what = f"the file has {found.size} bytes, the manifest says {listed.size}"
            problems.append(Problem(what, place, hint="get the package again, or make it again"))
    return problems
