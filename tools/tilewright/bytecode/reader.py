"""Reads the bytecode of a library module back into a value equal to the one that was written."""

from __future__ import annotations

from tilewright.bytecode.cursor import BytecodeError, Cursor, File
from tilewright.bytecode.module import FIRST_PREVIEW_VERSION, Module, Version, dotted
from tilewright.bytecode.records import RECORDS, Declaration, Implementation, read_signature
from tilewright.bytecode.sections import MAGIC, PREVIEW, Section, read_sections, table_items
from tilewright.bytecode.types import read_type

__all__ = ["BytecodeError", "read_module"]

_PRIVATE = 0x01
_KERNEL = 0x02


def read_module(data: bytes, file: str) -> Module:
    """The module in `data`; `file` names it in messages. Raises BytecodeError, and nothing else, for any bytes.

    Debug locations are not part of the value. Kernels, functions with a body and globals are refused: they are no
    part of a tile library. Time and memory are proportional to the file's size.
    """
    source = File(data, file)
    cursor = Cursor(source, 0, len(data))
    version = read_header(cursor)
    sections = read_sections(cursor)
    for section in (Section.STRING, Section.FUNCTION):
        if section not in sections:
            raise source.fault(f"the {section.name.lower()} section is missing", len(data))
    read_strings(sections[Section.STRING])
    if Section.TYPE in sections:
        read_types(sections[Section.TYPE])
    producer = ""
    if Section.PRODUCER in sections:
        producer = sections[Section.PRODUCER].string("the producer")
        sections[Section.PRODUCER].finish("the producer section")
    for section in (Section.GLOBAL, Section.CONSTANT):
        if section in sections and sections[section].remaining > 1:
            raise sections[section].fault(f"a library module has no {section.name.lower()} section")
    functions = sections[Section.FUNCTION]
    records = [read_entry(functions) for _ in range(functions.count("functions", 4))]
    functions.finish("the function section")
    return Module(
        version,
        tuple(record for record in records if isinstance(record, Declaration)),
        tuple(record for record in records if isinstance(record, Implementation)),
        producer,
    )


def read_header(cursor: Cursor) -> Version:
    """Magic, version, tag. Preview content exists from 13.5 on; newer versions are tried."""
    if cursor.file.data[: len(MAGIC)] != MAGIC:
        raise cursor.fault("this is not Tile IR bytecode, which starts with 7F 54 69 6C 65 49 52 00")
    cursor.take(len(MAGIC), "the magic number")
    version = (cursor.byte("the major version"), cursor.byte("the minor version"))
    start = cursor.position
    tag = int.from_bytes(cursor.take(2, "the version tag"), "little")
    if version < FIRST_PREVIEW_VERSION:
        needed = dotted(FIRST_PREVIEW_VERSION)
        what = f"the file is of version {dotted(version)}, tile libraries need {needed} or newer"
        raise cursor.fault(what, len(MAGIC))
    if tag != PREVIEW:
        raise cursor.fault(f"the version tag is {tag:#06x}, preview content has {PREVIEW:#06x}", start)
    return version


def read_strings(cursor: Cursor) -> None:
    """Fill the file's string table."""
    for item in table_items(cursor, cursor.position, "the string table"):
        start = item.position
        try:
            cursor.file.strings.append(item.take(item.remaining, "a string").decode())
        except UnicodeDecodeError as error:
            raise cursor.fault("a string is not UTF-8", start + error.start) from None


def read_types(cursor: Cursor) -> None:
    """Fill the file's type table, in order: a type refers to earlier ones only."""
    source = cursor.file
    for item in table_items(cursor, cursor.position, "the type table"):
        spent, size = source.spent, item.remaining
        value = read_type(item)
        item.finish("a type")
        source.types.append(value)
        source.type_costs.append(size + source.spent - spent)


def read_entry(cursor: Cursor) -> Declaration | Implementation:
    """One entry of the function section."""
    name = cursor.string("a function name")
    signature = read_signature(cursor)
    start = cursor.position
    flags = cursor.byte("the function flags")
    kind = RECORDS.get(flags)
    if kind is None:
        raise cursor.fault(f"the function `{name}` {fault_of_flags(flags)}", start)
    cursor.uvar("the debug location")
    return kind.read(cursor, name, signature)


def fault_of_flags(flags: int) -> str:
    """Why an entry with these flags is neither a declaration nor an implementation."""
    if flags & _KERNEL:
        return "is a kernel, a library module has none"
    if not flags & _PRIVATE:
        return "is public, the entries of a library module are private"
    return f"has the unknown flags {flags:#04x}"
