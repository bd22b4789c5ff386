"""A `.tilelib` is read back, whatever made it; other bytes end in one clear error."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from library.samples import SCALE, Packed, elementwise
from tilewright.bytecode.modules import modules_of
from tilewright.exports.elements import ElementType
from tilewright.exports.model import ExportSet, Sync
from tilewright.library.archive import PayloadKind, payload_kind, read_library
from tilewright.library.errors import LibraryError
from tilewright.problem import Place
from tilewright.toolchain.toolkit import Toolkit


def elf(sections: Sequence[tuple[bytes, bytes]], *, machine: int = 62, kind: int = 1) -> bytes:
    """An ELF64 file with these sections and a name table, written independently of the reader."""
    names = b"\0"
    body = b""
    rows = [bytes(64)]
    for name, content in [*sections, (b".shstrtab", b"")]:
        place = len(names)
        names += name + b"\0"
        content = names if name == b".shstrtab" else content
        rows.append(struct.pack("<IIQQQQIIQQ", place, 1, 0, 0, 64 + len(body), len(content), 0, 0, 1, 0))
        body += content
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = struct.pack(
        "<HHIQQQIHHHHHH", kind, machine, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(rows), len(rows) - 1
    )
    return ident + header + body + b"".join(rows)


def sections_of(packed: Packed, **change: bytes) -> list[tuple[bytes, bytes]]:
    """The three sections of the packed library, some replaced."""
    parts = {"interface": packed.interface, "implementation": packed.implementation, "ltoir": packed.ltoir} | change
    names = (b".nvtlifc", b".nvtl.0", b".nvtl.1")
    return list(zip(names, (parts["interface"], parts["implementation"], parts["ltoir"]), strict=True))


def refusal(data: bytes) -> str:
    with pytest.raises(LibraryError) as caught:
        read_library(data, "x.tilelib")
    assert all(problem.hint for problem in caught.value.problems if problem.where == Place("x.tilelib"))
    return str(caught.value)


def test_the_assemblers_own_library_is_read_back(packed: Packed) -> None:
    contents = read_library(packed.library, "build/three.tilelib")
    assert contents.machine == "x86-64"
    assert contents.interface_data == packed.interface
    assert contents.catalog_data == packed.implementation
    assert contents.payload.data == packed.ltoir
    assert contents.payload.kind is PayloadKind.LTOIR
    assert contents.payload.ltoir is not None
    assert contents.payload.ltoir.arch == 75
    assert [each.name for each in contents.interface.declarations] == ["relu", "scale_in_place", "warp_sum"]
    assert contents.catalog is not None
    assert [each.name for each in contents.catalog.implementations] == [
        "relu_impl",
        "scale_in_place_impl",
        "warp_sum_impl",
    ]
    assert contents.mismatches() == []


def test_the_code_may_come_before_the_implementations(packed: Packed) -> None:
    interface, catalog, code = sections_of(packed)
    swapped = elf([interface, (b".nvtl.0", code[1]), (b".nvtl.1", catalog[1])], machine=183)
    contents = read_library(swapped, "x.tilelib")
    assert contents.machine == "aarch64"
    assert (contents.catalog_data, contents.payload.data) == (packed.implementation, packed.ltoir)


def test_a_provider_is_a_shared_object_with_an_interface(packed: Packed) -> None:
    provider = elf([(b".text", b"\x90"), (b".nvtlifc", packed.interface)], kind=3)
    contents = read_library(provider, "x.tilelib")
    assert contents.payload.kind is PayloadKind.PROVIDER
    assert contents.catalog is None
    assert len(contents.interface.declarations) == 3
    assert contents.mismatches() == []


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (b"\xed\x43\x4e\x7f" + bytes(30), PayloadKind.LTOIR),
        (b"\x50\xed\x55\xba" + bytes(30), PayloadKind.FATBIN),
        (b"\x7fELF".ljust(18, b"\0") + b"\xbe\x00", PayloadKind.CUBIN),
        (b"\x7fELF".ljust(18, b"\0") + b"\x3e\x00", PayloadKind.HOST_OBJECT),
        (b"\x7fELF", PayloadKind.HOST_OBJECT),
        (b"//\n// Generated\n.version 9.5\n.target sm_90\n", PayloadKind.PTX),
        (b"\x7fTileIR\0\x0d\x05", PayloadKind.BYTECODE),
        (b"", PayloadKind.EMPTY),
        (b"int f();", PayloadKind.UNKNOWN),
        (b"\xff.version", PayloadKind.UNKNOWN),
    ],
)
def test_the_kind_of_the_code_is_told_by_its_first_bytes(code: bytes, kind: PayloadKind) -> None:
    assert payload_kind(code) is kind


def test_files_that_are_no_library_say_why(packed: Packed) -> None:
    good = bytearray(packed.library)
    one = packed.library
    assert "x.tilelib: error: this is not a tile library: it does not start with an ELF header" in refusal(b"")
    assert "it does not start with an ELF header" in refusal(b"MZ" * 100)
    assert "not a little-endian ELF64 file" in refusal(one[:4] + b"\x01" + one[5:])
    assert "not a little-endian ELF64 file" in refusal(one[:5] + b"\x02" + one[6:])
    assert "its ELF type 2 is neither" in refusal(one[:16] + b"\x02" + one[17:])
    assert "its ELF machine 190 is neither x86-64 (62) nor aarch64 (183)" in refusal(one[:18] + b"\xbe" + one[19:])
    assert "it has no section table" in refusal(one[:60] + bytes(2) + one[62:])
    assert "its section table does not fit" in refusal(one[:-1])
    assert "its section name table does not exist" in refusal(one[:62] + b"\x63" + one[63:])
    table = struct.unpack_from("<Q", good, 40)[0]
    struct.pack_into("<Q", good, table + 64 * 3 + 32, 1 << 63)
    assert "a section reaches past the end of the file" in refusal(bytes(good))
    assert "it has no section `.nvtlifc`, where the interface stands" in refusal(elf([(b".text", b"")]))
    assert "it has 2 sections `.nvtlifc`" in refusal(elf([*sections_of(packed), (b".nvtlifc", packed.interface)]))


def test_a_static_library_has_one_catalog_and_one_code_file(packed: Packed) -> None:
    interface, catalog, code = sections_of(packed)
    what = "has one module of implementations and one code file; this one has "
    assert what + "1 and 0" in refusal(elf([interface, catalog]))
    assert what + "0 and 1" in refusal(elf([interface, code]))
    assert what + "2 and 1" in refusal(elf([interface, catalog, code, (b".nvtl.2", packed.implementation)]))


def test_a_broken_module_inside_names_its_section(packed: Packed) -> None:
    text = refusal(elf(sections_of(packed, interface=packed.interface[:-20])))
    assert text.startswith("x.tilelib(.nvtlifc):")
    text = refusal(elf(sections_of(packed, implementation=packed.implementation[:-20])))
    assert text.startswith("x.tilelib(.nvtl.0):")


def test_damaged_ltoir_is_an_error(packed: Packed) -> None:
    assert "LTOIR cut short" in refusal(elf(sections_of(packed, ltoir=packed.ltoir[:8])))


def test_mismatches_between_interface_and_implementations_are_listed(packed: Packed, toolkit: Toolkit) -> None:
    version = toolkit.bytecode_version()
    other = modules_of(ExportSet("o", (elementwise("relu"), elementwise("gelu"))), version=version)
    contents = read_library(elf(sections_of(packed, implementation=other.implementation)), "x.tilelib")
    assert [problem.what for problem in contents.mismatches()] == [
        "@gelu_impl implements @gelu, which is not declared",
        "nothing implements the declaration @scale_in_place",
        "nothing implements the declaration @warp_sum",
    ]
    swapped = read_library(elf(sections_of(packed, interface=packed.implementation)), "x.tilelib")
    assert "the interface holds an implementation, @relu_impl" in [each.what for each in swapped.mismatches()]


def test_a_difference_that_no_tool_reports_is_found(toolkit: Toolkit, packed: Packed) -> None:
    version = toolkit.bytecode_version()
    doubled = replace(SCALE, parameters=tuple(replace(each, element=ElementType.F64) for each in SCALE.parameters))
    read_only = replace(SCALE, parameters=SCALE.parameters[::-1])
    interface = modules_of(ExportSet("o", (SCALE,)), version=version).interface
    for export, expected in (
        (doubled, "differ in the element type of argument 0, f64 and f32"),
        (read_only, "differ in the access of argument 0, in and inout"),
        (replace(SCALE, parameters=SCALE.parameters[:1]), "differ in their number of arguments, 1 and 2"),
    ):
        catalog = modules_of(ExportSet("o", (export,)), version=version).implementation
        contents = read_library(elf(sections_of(packed, interface=interface, implementation=catalog)), "x.tilelib")
        prefix = "@scale_in_place_impl and its declaration @scale_in_place "
        assert contents.mismatches()[0].what == prefix + expected


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_mutated_library_gives_contents_or_one_error(packed: Packed, data: st.DataObject) -> None:
    library = bytearray(packed.library)
    table = struct.unpack_from("<Q", library, 40)[0]
    places = st.one_of(st.integers(0, 63), st.integers(table, len(library) - 1), st.integers(0, len(library) - 1))
    for place in data.draw(st.lists(places, max_size=6)):
        library[place] = data.draw(st.integers(0, 255))
    end = data.draw(st.one_of(st.just(len(library)), st.integers(0, len(library))))
    with suppress(LibraryError):
        read_library(bytes(library[:end]), "x.tilelib").mismatches()


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_after_the_magic_give_one_error(tail: bytes) -> None:
    with pytest.raises(LibraryError):
        read_library(b"\x7fELF\x02\x01\x01" + tail, "x.tilelib")


def test_many_sections_sharing_one_long_name_table_are_read_quickly(packed: Packed) -> None:
    names = b"n" * (1 << 20)
    count = 60_000
    header = struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, 64 + len(names), 0, 64, 0, 0, 64, count, 0)
    rows = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64, len(names), 0, 0, 1, 0) * count
    data = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + header + names + rows
    assert "no section `.nvtlifc`" in refusal(data)


def test_sync_warp_is_in_the_catalog(packed: Packed) -> None:
    catalog = read_library(packed.library, "x.tilelib").catalog
    assert catalog is not None
    synchronizations = [each.synchronization and each.synchronization.name for each in catalog.implementations]
    assert synchronizations == [None, None, Sync.WARP.name]
