"""Reading a `.tilelib` back: an ELF file whose sections are the interface, the implementations and the code.

`.nvtlifc` holds the interface module; `.nvtl.0` and `.nvtl.1` the catalog of implementations and the device code, in
the order of the packing command line.  A provider is a shared object with `.nvtlifc` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tilewright.bytecode.cursor import BytecodeError
from tilewright.bytecode.module import Module, dotted
from tilewright.bytecode.reader import read_module
from tilewright.bytecode.records import Declaration, Implementation
from tilewright.bytecode.sections import MAGIC as BYTECODE_MAGIC
from tilewright.bytecode.spelling import symbol
from tilewright.bytecode.types import Fragment, Tile
from tilewright.device import magic
from tilewright.device.ltoir_header import LtoirHeader, read_header
from tilewright.device.module import DeviceError
from tilewright.library.elf import LIBRARY_WANTED, ElfFile, ObjectKind, read_elf
from tilewright.library.errors import LibraryError
from tilewright.problem import Place, Problem

INTERFACE_SECTION = ".nvtlifc"
IMPLEMENTATION_PREFIX = ".nvtl."

_CUDA_MACHINE = (190).to_bytes(2, "little")
_BUILD_AGAIN = "build the library again, all of it from one source"
_PTX_HEAD = 4096  # bytes in which `.version`, the first directive, is looked for


class PayloadKind(Enum):
    """What the code of a library is, told by its first bytes; the value is what people call it."""

    LTOIR = "LTOIR"
    FATBIN = "a fat binary"
    CUBIN = "a cubin"
    PTX = "PTX"
    PROVIDER = "a provider (shared object)"
    HOST_OBJECT = "a host object"
    BYTECODE = "Tile IR bytecode"
    EMPTY = "empty"
    UNKNOWN = "of an unknown kind"


@dataclass(frozen=True, slots=True)
class Payload:
    """The code of a library; `ltoir` is its header when it is LTOIR."""

    kind: PayloadKind
    data: bytes
    ltoir: LtoirHeader | None = None


@dataclass(frozen=True, slots=True)
class LibraryContents:
    """A library taken apart. `machine` is the host it is packed for; a provider has no `catalog`.

    `interface_data` and `catalog_data` are the modules as they stand in the file.
    """

    file: str
    machine: str
    interface: Module
    interface_data: bytes
    catalog: Module | None
    catalog_data: bytes
    payload: Payload

    def mismatches(self) -> list[Problem]:
        """Where interface and implementations do not fit each other; the assembler compares them only at use."""
        place = Place(self.file)
        return [
            Problem(what=what, where=place, hint=_BUILD_AGAIN) for what in _mismatches(self.interface, self.catalog)
        ]


def read_library(data: bytes, file: str) -> LibraryContents:
    """Take the bytes of a `.tilelib` apart; LibraryError, and nothing else, for any other bytes."""
    elf = read_elf(data, file)
    interface_data = _interface(elf, file)
    try:
        interface = read_module(interface_data, f"{file}({INTERFACE_SECTION})")
        if elf.kind is ObjectKind.SHARED:
            payload = Payload(PayloadKind.PROVIDER, data)
            return LibraryContents(file, elf.machine, interface, interface_data, None, b"", payload)
        section, catalog_data, code = _implementation_files(elf, file)
        catalog = read_module(catalog_data, f"{file}({section})")
        kind = payload_kind(code)
        payload = Payload(kind, code, read_header(code) if kind is PayloadKind.LTOIR else None)
    except (BytecodeError, DeviceError) as error:
        raise LibraryError(error.problems) from error
    return LibraryContents(file, elf.machine, interface, interface_data, catalog, catalog_data, payload)


def payload_kind(code: bytes) -> PayloadKind:
    """The kind of a code payload."""
    if not code:
        return PayloadKind.EMPTY
    if code.startswith(magic.ELF):
        return PayloadKind.CUBIN if code[18:20] == _CUDA_MACHINE else PayloadKind.HOST_OBJECT
    for start, kind in (
        (magic.LTOIR, PayloadKind.LTOIR),
        (magic.FATBIN, PayloadKind.FATBIN),
        (BYTECODE_MAGIC, PayloadKind.BYTECODE),
    ):
        if code.startswith(start):
            return kind
    head = code[:_PTX_HEAD]
    return PayloadKind.PTX if head.isascii() and b".version" in head else PayloadKind.UNKNOWN


def _interface(elf: ElfFile, file: str) -> bytes:
    found = elf.named(INTERFACE_SECTION)
    if len(found) != 1:
        number = "no section" if not found else f"{len(found)} sections"
        what = f"this is not a tile library: it has {number} `{INTERFACE_SECTION}`, where the interface stands"
        raise LibraryError([Problem(what=what, where=Place(file), hint=LIBRARY_WANTED)])
    return bytes(found[0])


def _implementation_files(elf: ElfFile, file: str) -> tuple[str, bytes, bytes]:
    """Section and bytes of the catalog, bytes of the code; either may come first."""
    files = [(name, bytes(content)) for name, content in elf.sections if name.startswith(IMPLEMENTATION_PREFIX)]
    catalogs = [each for each in files if each[1].startswith(BYTECODE_MAGIC)]
    codes = [each for each in files if not each[1].startswith(BYTECODE_MAGIC)]
    if (len(catalogs), len(codes)) != (1, 1):
        what = (
            f"a static tile library has one module of implementations and one code file; "
            f"this one has {len(catalogs)} and {len(codes)}"
        )
        raise LibraryError([Problem(what=what, where=Place(file), hint=_BUILD_AGAIN)])
    return (*catalogs[0], codes[0][1])


def _mismatches(interface: Module, catalog: Module | None) -> Iterator[str]:
    for stray in interface.implementations:
        yield f"the interface holds an implementation, {symbol(stray.name)}"
    if catalog is None:
        return
    for extra in catalog.declarations:
        yield f"the module of implementations holds a declaration, {symbol(extra.name)}"
    if interface.version != catalog.version:
        versions = " and ".join(map(dotted, (interface.version, catalog.version)))
        yield f"interface and implementations are of different bytecode versions, {versions}"
    declared = {declaration.name: declaration for declaration in interface.declarations}
    for implementation in catalog.implementations:
        declaration = declared.get(implementation.implements)
        if declaration is None:
            yield f"{symbol(implementation.name)} implements {symbol(implementation.implements)}, which is not declared"
        else:
            yield from _argument_mismatches(declaration, implementation)
    implemented = {implementation.implements for implementation in catalog.implementations}
    for name in (name for name in declared if name not in implemented):
        yield f"nothing implements the declaration {symbol(name)}"


def _argument_mismatches(declaration: Declaration, implementation: Implementation) -> Iterator[str]:
    names = f"{symbol(implementation.name)} and its declaration {symbol(declaration.name)}"
    numbers = (len(implementation.arguments), len(declaration.arguments))
    if numbers[0] != numbers[1]:
        yield f"{names} differ in their number of arguments, {numbers[0]} and {numbers[1]}"
        return
    for number, (ours, theirs) in enumerate(zip(implementation.arguments, declaration.arguments, strict=True)):
        if ours.access is not theirs.access:
            access = f"{ours.access.name.lower()} and {theirs.access.name.lower()}"
            yield f"{names} differ in the access of argument {number}, {access}"
        if not (isinstance(ours.type, Fragment) and isinstance(theirs.type, Tile)):
            yield f"argument {number} of {names} must be a fragment of a tile"
        elif ours.type.element != theirs.type.element:
            elements = f"{ours.type.element.text()} and {theirs.type.element.text()}"
            yield f"{names} differ in the element type of argument {number}, {elements}"
