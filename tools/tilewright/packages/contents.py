"""What is in a package, and whether it loads and fits together: one check for whoever packs and whoever verifies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from tilewright.bytecode.cursor import BytecodeError
from tilewright.bytecode.module import dotted
from tilewright.bytecode.reader import read_module
from tilewright.exports.description import parse_description
from tilewright.exports.rules import ExportError
from tilewright.library.archive import LibraryContents, PayloadKind, read_library
from tilewright.library.errors import LibraryError
from tilewright.packages.layout import DESCRIPTIONS, LIBRARIES
from tilewright.problem import Problem
from tilewright.toolchain.architectures import ltoir_fits
from tilewright.toolchain.error import ToolchainError


def libraries_in(files: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Path, name and architecture of each library."""
    for path in sorted(files):
        pure = PurePosixPath(path)
        if str(pure.parent.parent) == LIBRARIES and pure.suffix == ".tilelib":
            yield path, pure.stem, pure.parent.name


def bytecode_versions(files: Mapping[str, bytes]) -> dict[str, str]:
    """The bytecode version of each library that can be read, by path."""
    versions = {}
    for path, _, _ in libraries_in(files):
        if not isinstance(library := _read(files[path], path), LibraryError):
            versions[path] = dotted(library.interface.version)
    return versions


def is_provider(data: bytes, path: str) -> bool:
    """Whether a file of a package is a library in the provider form."""
    library = _read(data, path) if path.endswith(".tilelib") else None
    return isinstance(library, LibraryContents) and library.payload.kind is PayloadKind.PROVIDER


def content_problems(files: Mapping[str, bytes]) -> Iterator[tuple[str, Problem]]:
    """What is wrong with the libraries, interfaces and descriptions among `files`, each with its path."""
    for path, name, arch in libraries_in(files):
        library = _read(files[path], path)
        if isinstance(library, LibraryError):
            yield from ((path, problem) for problem in library.problems)
        else:
            interface = files.get(f"{DESCRIPTIONS}/{name}.iface.tilebc")
            yield from ((path, problem) for problem in _library_faults(library, arch, interface))
    for path, data in sorted(files.items()):
        try:
            if path.endswith(".tileexports.json"):
                parse_description(data, path)
            elif path.endswith(".tilebc"):
                read_module(data, path)
        except (ExportError, BytecodeError) as error:
            yield from ((path, problem) for problem in error.problems)


def _read(data: bytes, path: str) -> LibraryContents | LibraryError:
    try:
        return read_library(data, PurePosixPath(path).name)
    except LibraryError as error:
        return error


def _library_faults(library: LibraryContents, arch: str, interface: bytes | None) -> Iterator[Problem]:
    yield from library.mismatches()
    if interface is not None and interface != library.interface_data:
        hint = "take library and interface from the same build"
        yield Problem("the interface beside the library is not the one in it", hint=hint)
    header = library.payload.ltoir
    try:
        fits = header is None or ltoir_fits(f"compute_{header.arch}", arch)
    except ToolchainError:
        yield Problem(f"its folder `{arch}` names no architecture")
        return
    if header and not fits:
        what = f"the device code is LTOIR for compute_{header.arch}, newer than {arch}"
        yield Problem(what, hint=f"build the library for {arch}, or pack it as one for sm_{header.arch}")
