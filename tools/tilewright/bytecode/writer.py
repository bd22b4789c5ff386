"""Writes a module value as Tile IR bytecode, deterministically: the same value gives the same bytes."""

from __future__ import annotations

from tilewright.bytecode.module import Module
from tilewright.bytecode.records import Declaration, Implementation
from tilewright.bytecode.sections import MAGIC, PREVIEW, Section, table_payload, write_section
from tilewright.bytecode.sink import Sink, Tables


def write_module(module: Module) -> bytes:
    """The bytes of `module`: functions, types, producer if any, strings. Spec: The tileiras requirement."""
    tables = Tables()
    functions = Sink(tables)
    functions.uvar(len(module.declarations) + len(module.implementations))
    for declaration in module.declarations:
        write_entry(functions, declaration)
    for implementation in module.implementations:
        write_entry(functions, implementation)
    producer = Sink(tables)
    if module.producer:
        producer.string(module.producer)

    out = Sink()
    out.data += MAGIC
    out.data += bytes((*module.version, PREVIEW, 0))
    write_section(out, Section.FUNCTION, functions.data)
    write_section(out, Section.TYPE, table_payload(tables.type_items))
    if producer.data:
        write_section(out, Section.PRODUCER, producer.data)
    write_section(out, Section.STRING, table_payload([text.encode() for text in tables.strings]))
    out.byte(0)
    return bytes(out.data)


def write_entry(out: Sink, record: Declaration | Implementation) -> None:
    """One entry: name, signature, flags, no debug location, record."""
    out.string(record.name)
    out.type(record.signature)
    out.byte(record.tag)
    out.uvar(0)
    record.body(out)
