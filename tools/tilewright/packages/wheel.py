"""A package as a wheel: its tree inside a Python package that finds the libraries, and what pip wants to know."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections.abc import Mapping

from tilewright.packages.layout import LICENCES
from tilewright.packages.naming import PackageSpec

MODULE = "__init__.py"
ENTRY_POINTS = "tilewright.libraries"

_MODULE = '''\
"""The tile libraries of {name} {version}. Written by tilewright; do not edit."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

ARCHITECTURES = {architectures!r}
LIBRARIES = {libraries!r}
VERSION = {version!r}


def root() -> Path:
    """The folder of the package, a prefix for CMake (`CMAKE_PREFIX_PATH`) and pkg-config."""
    return Path(str(files(__name__)))


def include() -> Path:
    """The folder of the headers for Tile C++."""
    return root() / "include"


def folder(arch: str) -> Path:
    """The folder of an architecture, with its libraries and their modules for cuTile Python."""
    if arch not in ARCHITECTURES:
        raise LookupError(f"{name} has no libraries for {{arch!r}}; it has {{', '.join(ARCHITECTURES)}}")
    return root() / "lib" / "tilelib" / arch


def library(arch: str, name: str = LIBRARIES[0]) -> Path:
    """A library by the name of its file without suffix."""
    if name not in LIBRARIES:
        raise LookupError(f"{name} has no library {{name!r}}; it has {{', '.join(LIBRARIES)}}")
    return folder(arch) / f"{{name}}.tilelib"
'''


def module_of(spec: PackageSpec, libraries: list[str], architectures: list[str]) -> bytes:
    """`__init__.py`: where libraries, headers and prefix are, found through `importlib.resources`."""
    text = _MODULE.format(
        name=spec.identifier,
        version=spec.wheel_version,
        architectures=tuple(architectures),
        libraries=tuple(libraries),
    )
    return text.encode()


def dist_info(spec: PackageSpec) -> str:
    """The folder of the metadata."""
    return f"{spec.identifier}-{spec.wheel_version}.dist-info"


def wheel_files(spec: PackageSpec, tree: Mapping[str, bytes]) -> dict[str, bytes]:
    """All files of the wheel by path, the metadata last as pip likes them, `RECORD` at the end."""
    files = {f"{spec.identifier}/{path}": data for path, data in sorted(tree.items())}
    info = dist_info(spec)
    licences = [path for path in sorted(tree) if path.startswith(f"{LICENCES}/")]
    metadata = [
        "Metadata-Version: 2.4",
        f"Name: {spec.identifier.replace('_', '-')}",
        f"Version: {spec.wheel_version}",
        f"Summary: Tile libraries of {spec.identifier}",
        *([f"License-Expression: {spec.licence}"] if spec.licence else []),
        *(f"License-File: {path.removeprefix(LICENCES + '/')}" for path in licences),
    ]
    texts = {
        "METADATA": "\n".join(metadata) + "\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: tilewright\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "entry_points.txt": f"[{ENTRY_POINTS}]\n{spec.identifier} = {spec.identifier}\n",
    }
    files |= {f"{info}/{name}": text.encode() for name, text in texts.items()}
    files |= {f"{info}/{path}": tree[path] for path in licences}
    record = f"{info}/RECORD"
    return files | {record: write_record(files, record)}


def write_record(files: Mapping[str, bytes], record: str) -> bytes:
    """`RECORD`: digest and size of every file but itself."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    for path, data in files.items():
        rows.writerow((path, digest_of(data), len(data)))
    rows.writerow((record, "", ""))
    return out.getvalue().encode()


def digest_of(data: bytes) -> str:
    """A digest as `RECORD` writes it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
