"""Reading: equal values back, and a clear refusal for everything that is no module of a tile library."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bytecode.samples import (
    EXPORTS_OF,
    GOLDEN,
    SCALAR,
    VERSION,
    declaration,
    export,
    implementation,
    module_of,
    parameter,
    parts,
    tile,
)
from bytecode.values import modules
from tilewright.bytecode.attributes import Array, ConcreteType, ConstParam, Dictionary, String
from tilewright.bytecode.cursor import MAX_DEPTH
from tilewright.bytecode.expressions import Builtin, Expression, Int, Layout, Neg, Var
from tilewright.bytecode.module import Module
from tilewright.bytecode.modules import modules_of
from tilewright.bytecode.plain_types import PlainType
from tilewright.bytecode.reader import BytecodeError, read_module
from tilewright.bytecode.records import Declaration
from tilewright.bytecode.sections import MAGIC, Section, table_payload, write_section
from tilewright.bytecode.sink import Sink, Tables
from tilewright.bytecode.text import print_module
from tilewright.bytecode.types import Function, SymbolicElement, Tile
from tilewright.bytecode.writer import write_module
from tilewright.exports.model import Access, ExportSet

INTERFACE = (GOLDEN / "relu.iface.tilebc").read_bytes()
CATALOG = (GOLDEN / "relu.impl.tilebc").read_bytes()
HEADER = MAGIC + bytes((13, 5, 1, 0))


@given(modules)
@settings(max_examples=80, deadline=None)
def test_what_was_written_reads_back_equal(module: Module) -> None:
    data = write_module(module)
    read = read_module(data, "module")
    assert read == module
    assert write_module(read) == data
    assert print_module(read, "m").startswith("cuda_tile.module @m {\n")


def test_a_producer_is_kept_and_shown_by_the_disassembler(disassemble: Callable[[bytes], str]) -> None:
    module = Module(VERSION, (declaration(tile(4)),), producer="tilewright 1")
    data = write_module(module)
    assert read_module(data, "m") == module
    assert disassemble(data).startswith("// Producer: tilewright 1\n")


def patched(data: bytes, at: int, new: str) -> bytes:
    """`data` with the bytes from `at` on replaced, same length."""
    replacement = bytes.fromhex(new)
    return data[:at] + replacement + data[at + len(replacement) :]


def sections(*parts_of: tuple[Section, bytes]) -> bytes:
    """A file with these payloads."""
    out = Sink()
    out.data += HEADER
    for section, payload in parts_of:
        write_section(out, section, payload)
    out.byte(0)
    return bytes(out.data)


STRINGS = (Section.STRING, bytes(table_payload([b"f"])))
NO_FUNCTIONS = (Section.FUNCTION, b"\x00")


def with_types(*items: str) -> bytes:
    """A file without functions whose type table has these items."""
    return sections(
        NO_FUNCTIONS, (Section.TYPE, bytes(table_payload([bytes.fromhex(item) for item in items]))), STRINGS
    )


# Offsets are those of the annotated listing: 0x10 entries, 0x11 name, 0x12 signature, 0x13 flags, 0x15 attributes, …
REFUSED: tuple[tuple[str, bytes, int, str], ...] = (
    ("empty file", b"", 0, "not Tile IR bytecode"),
    ("other magic", b"MZ" + INTERFACE, 0, "not Tile IR bytecode, which starts with 7F 54 69 6C"),
    ("magic alone", MAGIC, 8, "the file ends before the major version"),
    ("header alone", HEADER, 12, "the file ends before a section number"),
    ("older version", patched(INTERFACE, 8, "0D 04"), 8, "is of version 13.4, tile libraries need 13.5 or newer"),
    ("older major", patched(INTERFACE, 8, "0C 09"), 8, "is of version 12.9, tile libraries need 13.5 or newer"),
    ("no preview", patched(INTERFACE, 10, "00 00"), 10, "version tag is 0x0000, preview content has 0x0001"),
    ("unknown tag bit", patched(INTERFACE, 10, "03 00"), 10, "version tag is 0x0003"),
    ("unknown section", patched(INTERFACE, 12, "88"), 12, "unknown section 8"),
    ("section 0 with alignment", patched(INTERFACE, 12, "80"), 12, "unknown section 0"),
    ("section twice", sections(NO_FUNCTIONS, NO_FUNCTIONS), 17, "the function section occurs twice"),
    ("section too long", patched(INTERFACE, 13, "7F"), 16, "the function section of 127 bytes runs past the end"),
    ("alignment 3", patched(INTERFACE, 14, "03"), 14, "has the alignment 3, not a power of two up to 4096"),
    ("alignment 0", patched(INTERFACE, 14, "00"), 14, "has the alignment 0"),
    ("no strings", sections(NO_FUNCTIONS), 18, "the string section is missing"),
    ("no functions", sections(STRINGS), 26, "the function section is missing"),
    ("bytes after the end", INTERFACE + b"\0", 125, "the module has 1 bytes too many"),
    ("a global", sections(NO_FUNCTIONS, STRINGS, (Section.GLOBAL, b"\1\0")), 31, "has no global section"),
    ("a constant", sections(NO_FUNCTIONS, STRINGS, (Section.CONSTANT, b"\1\0")), 32, "has no constant section"),
    ("producer too long", sections(NO_FUNCTIONS, STRINGS, (Section.PRODUCER, b"\0\0")), 32, "1 bytes too many"),
    ("many functions", patched(INTERFACE, 0x10, "7F"), 0x10, "127 functions do not fit into the 21 bytes left"),
    ("no function read", patched(INTERFACE, 0x10, "00"), 0x11, "the function section has 21 bytes too many"),
    ("unknown name", patched(INTERFACE, 0x11, "02"), 0x11, "a function name is string 2, the file has 2"),
    ("unknown signature", patched(INTERFACE, 0x12, "03"), 0x12, "a signature is type 3, only 3 are known"),
    ("signature a tile", patched(INTERFACE, 0x12, "01"), 0x12, "`!cuda_tile.tile<128xf32>` is not a function type"),
    ("public", patched(INTERFACE, 0x13, "00"), 0x13, "the function `relu` is public"),
    ("kernel", patched(INTERFACE, 0x13, "02"), 0x13, "the function `relu` is a kernel"),
    ("reserved flags", patched(INTERFACE, 0x13, "11"), 0x13, "the function `relu` has the unknown flags 0x11"),
    ("attributes no array", patched(INTERFACE, 0x15, "05"), 0x15, "unknown tag 5 for the argument attributes"),
    ("one dictionary missing", patched(INTERFACE, 0x15, "06 00 00 06 00"), 0x15, "0 argument dictionaries for 2"),
    ("other key", patched(INTERFACE, 0x19, "00"), 0x15, "argument 0 has other attributes than cuda_tile.preview$acc"),
    ("other attribute", patched(INTERFACE, 0x1A, "DE 01 00"), 0x15, "argument 0 has other attributes than"),
    (
        "unknown attribute",
        patched(INTERFACE, 0x1A, "E1 01"),
        0x1A,
        "unknown tag 225 for the value of `cuda_tile.preview$access`",
    ),
    ("access 3", patched(INTERFACE, 0x1C, "03"), 0x1C, "3 is no access"),
    ("a body", patched(INTERFACE, 0x23, "01"), 0x23, "the function `relu` has a body"),
    ("params no array", patched(INTERFACE, 0x24, "0A"), 0x24, "unknown tag 10 for the constant parameters"),
    (
        "first item not at 0",
        patched(INTERFACE, 0x30, "01"),
        0x30,
        "item 0 of the type table starts at 1, not from 0 to 0",
    ),
    ("items out of order", patched(INTERFACE, 0x34, "0D"), 0x38, "item 2 of the type table starts at 12, not from 13"),
    (
        "item past the end",
        patched(INTERFACE, 0x38, "13"),
        0x38,
        "item 2 of the type table starts at 19, not from 1 to 18",
    ),
    ("table too long", patched(INTERFACE, 0x2C, "7F"), 0x2C, "127 items of the type table do not fit"),
    ("text not UTF-8", patched(INTERFACE, 0x62, "FF"), 0x62, "a string is not UTF-8"),
    ("unknown type", with_types("0C"), 28, "unknown tag 12 for a type"),
    ("empty type", with_types(""), 28, "the file ends before the tag of a type"),
    ("type too long", with_types("07 00"), 29, "a type has 1 bytes too many"),
    ("type names itself", with_types("0D 00 00"), 29, "the element type of a tile is type 0, only 0 are known"),
    ("tile of tiles", with_types("07", "0D 00 00", "0D 01 00"), 41, "is `!cuda_tile.tile<f32>`, not an element type"),
    ("tile of none", with_types("D7 01", "0D 00 00"), 35, "the element type of a tile is `none`, not an element"),
    ("extents missing", with_types("07", "0D 00 02"), 35, "2 extents of a tile do not fit into the 0 bytes left"),
    ("function of function", with_types("10 00 00", "10 01 00 00"), 37, "an argument has a function type"),
    ("symbolic, no shape", with_types("07", "0D 00 01" + "00" * 7 + "80"), 35, "lacks its symbolic shape"),
    (
        "two shapes",
        with_types("07", "0D 00 01 04" + "00" * 7 + "D8 01 01 D1 01 10"),
        35,
        "extents beside it differ",
    ),
    (
        "shape no tuple",
        with_types("07", "0D 00 01 04" + "00" * 7 + "D1 01 08"),
        44,
        "unknown tag 209 for the symbolic shape of a tile",
    ),
    ("element name a number", with_types("D1 01 D1 01 00"), 30, "the name of an element type is not a variable"),
    ("number without end", with_types("D1 01 D1 01" + "80" * 10), 32, "does not end within ten bytes"),
    ("number too large", with_types("D1 01 D1 01" + "80" * 9 + "02"), 32, "does not fit 64 bits"),
    ("unknown flags", patched(CATALOG, 0x15, "84 08"), 0x15, "the implementation flags 0x404 have unknown bits"),
    ("config", patched(CATALOG, 0x15, "24"), 0x15, "an implementation cannot carry `config`"),
    ("no access", patched(CATALOG, 0x15, "00"), 0x19, "0 argument dictionaries for 2 arguments"),
    ("results", patched(CATALOG, 0xAD, "10 01 01 01 02"), 0x18, "the implementation `relu_impl` has results"),
    ("result attributes", patched(CATALOG, 0x15, "0C"), 0x26, "the implementation `relu_impl` has result attributes"),
    ("two regions", patched(CATALOG, 0x26, "02"), 0x26, "the implementation `relu_impl` has 2 regions, expected 1"),
    ("a block", patched(CATALOG, 0x27, "01"), 0x27, "has 1 blocks, expected 0"),
    ("body bytes", patched(CATALOG, 0x28, "01"), 0x28, "has 1 body bytes, expected 0"),
    ("memory space 2", patched(CATALOG, 0x57, "02"), 0x57, "2 is no memory_space"),
)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[0])
def test_a_malformed_field_is_refused_with_its_offset(case: tuple[str, bytes, int, str]) -> None:
    _, data, offset, message = case
    with pytest.raises(BytecodeError) as raised:
        read_module(data, "lib/x.tilebc")
    (problem,) = raised.value.problems
    assert message in problem.what
    assert str(problem.where) == f"lib/x.tilebc:byte {offset}"


VALUES_REFUSED = (
    (implementation(scratch_smem=None, frontend_abi=Dictionary((("k", Int(1)), ("k", Int(2))))), "`k` occurs twice"),
    (implementation(const_args=(Builtin("num_threads"),)), "`num_threads` does not start with `context.`"),
    (implementation(const_params=(ConstParam("N", PlainType.F32),)), "`N` cannot be of type `f32`"),
    (implementation(const_params=(String("N"),)), "unknown tag 5 for a constant parameter"),
    (Declaration("f", (), (), (String("N"),)), "the constant parameters hold another attribute"),  # type: ignore[arg-type]
    (Declaration("f", (), (Function((), ()),)), "a result has a function type"),  # type: ignore[arg-type]
)


@pytest.mark.parametrize(("record", "message"), VALUES_REFUSED, ids=lambda value: str(value)[:40])
def test_a_value_that_tile_ir_does_not_allow_is_refused(record: object, message: str) -> None:
    with pytest.raises(BytecodeError, match=message):
        read_module(write_module(module_of(record)), "x")  # type: ignore[arg-type]


def test_an_architecture_that_is_no_string_is_refused() -> None:
    data = write_module(module_of(implementation(arch=("f",))))
    at = data.index(b"\x01\x05\x01")
    with pytest.raises(BytecodeError, match="the arch list holds something that is not a string"):
        read_module(patched(data, at, "01 06 00"), "x")


def test_newer_versions_are_tried() -> None:
    assert read_module(patched(INTERFACE, 8, "0D 09"), "x").version == (13, 9)
    assert read_module(patched(INTERFACE, 8, "0E 00"), "x").version == (14, 0)


def test_names_from_the_file_cannot_write_to_the_terminal() -> None:
    with pytest.raises(BytecodeError) as raised:
        read_module(write_module(Module(VERSION, (declaration(tile(4), name="\x1b[31mx\n" + "y" * 1000),)))[:-1], "x")
    assert len(str(raised.value)) < 600
    kernel = write_module(Module(VERSION, (Declaration("\x1b[31mx\n" + "y" * 1000, (), ()),)))
    flags = kernel.index(b"\x00\x00\x01\x00", 16) + 2
    with pytest.raises(BytecodeError) as raised:
        read_module(patched(kernel, flags, "02"), "x")
    assert r"\u{1b}[31mx\u{a}" in str(raised.value)
    assert "is a kernel" not in str(raised.value)
    assert len(str(raised.value)) < 600


def test_names_from_the_file_cannot_pass_for_syntax() -> None:
    evil = 'x>, local) {"\n'
    generic = Tile(SymbolicElement(Var(evil)), parts(Var(evil)))
    record = Declaration(evil, (), (generic,), (ConstParam(evil, PlainType.INDEX),))
    text = print_module(read_module(write_module(module_of(record)), "x"), evil)
    assert len(text.splitlines()) == 3
    assert text.count(r'"x>, local) {\22\0A"') == 5


def nested(levels: int) -> Expression:
    value: Expression = Int(1)
    for _ in range(levels):
        value = Neg(value)
    return value


def test_nesting_has_a_limit() -> None:
    allowed = implementation(const_args=(nested(MAX_DEPTH - 1),))
    assert read_module(write_module(module_of(allowed)), "x").implementations == (allowed,)
    with pytest.raises(BytecodeError, match=f"nested more than {MAX_DEPTH} levels"):
        read_module(write_module(module_of(implementation(const_args=(nested(MAX_DEPTH),)))), "x")


def deep_arrays(levels: int) -> bytes:
    """A declaration whose argument attributes are arrays of one array, written without recursion."""
    tables = Tables()
    out = Sink(tables)
    out.uvar(1)
    out.string("f")
    out.type(Function((), ()))
    out.data += b"\x01\x00" + b"\x06\x01" * levels + b"\x06\x00"
    types = bytes(table_payload(tables.type_items))
    return sections((Section.FUNCTION, bytes(out.data)), (Section.TYPE, types), STRINGS)


def test_nesting_beyond_any_stack_is_refused_not_a_recursion_error() -> None:
    with pytest.raises(BytecodeError, match="nested more than"):
        read_module(deep_arrays(100_000), "x")


def test_a_short_file_cannot_stand_for_a_huge_value() -> None:
    """A type or a string of some 5,000 bytes, named 5,000 times: refused before much of it is there."""
    large = replace(SCALAR, fragmap=Layout(parts(*range(600)), parts(*range(600))))
    wide = ConcreteType(Function((large,) * 5000, ()))
    by_type = implementation(frontend_abi=Dictionary((("k", wide),)))
    name = ConstParam("y" * 5000, PlainType.INDEX)
    by_string = implementation(frontend_abi=Dictionary((("k", Array((name,) * 5000)),)))
    for record in (by_type, by_string):
        data = write_module(module_of(record))
        assert len(data) < 50_000
        tracemalloc.start()
        try:
            with pytest.raises(BytecodeError, match="the file expands to more than"):
                read_module(data, "x")
            assert tracemalloc.get_traced_memory()[1] < 20 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("count", ["FF FF FF FF 0F", "FF FF FF FF FF FF FF FF FF 01"])
def test_a_huge_count_costs_nothing(count: str) -> None:
    number = bytes.fromhex(count)
    files = [
        sections((Section.FUNCTION, number), STRINGS),
        sections(NO_FUNCTIONS, (Section.STRING, number)),
        sections(NO_FUNCTIONS, (Section.TYPE, number), STRINGS),
        with_types(f"10 {count}"),
        with_types("07", f"0D 00 {count}"),
        HEADER + bytes((Section.FUNCTION.number,)) + number,
        HEADER + bytes((Section.FUNCTION.number | 0x80, 1)) + number,
    ]
    tracemalloc.start()
    try:
        for data in files:
            with pytest.raises(BytecodeError):
                read_module(data, "x")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def attempt(data: bytes) -> None:
    """Reads; what is accepted can be printed and written, and reads back equal."""
    try:
        module = read_module(data, "fuzz.tilebc")
    except BytecodeError as error:
        refused = error
    else:
        assert print_module(module, "m")
        assert read_module(write_module(module), "again") == module
        return
    file, _, offset = str(refused.problems[0].where).partition(":byte ")
    assert file == "fuzz.tilebc"
    assert 0 <= int(offset) <= len(data)


GOLDENS = [path.read_bytes() for path in sorted(GOLDEN.glob("*.tilebc"))]


@pytest.mark.parametrize("data", GOLDENS, ids=len)
def test_every_truncation_is_refused(data: bytes) -> None:
    for size in range(len(data)):
        with pytest.raises(BytecodeError):
            read_module(data[:size], "x")


@pytest.mark.parametrize("data", [INTERFACE, CATALOG], ids=len)
def test_any_single_byte_may_be_anything_telling(data: bytes) -> None:
    for position in range(len(data)):
        for value in {0, 1, 2, 0x7F, 0x80, 0xFF, data[position] ^ 1, (data[position] + 1) & 0xFF}:
            attempt(data[:position] + bytes((value,)) + data[position + 1 :])


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_random_bytes_are_refused_or_read(data: bytes) -> None:
    attempt(data)
    attempt(HEADER + data)
    attempt(sections((Section.FUNCTION, data), (Section.TYPE, data), STRINGS))
    attempt(sections(NO_FUNCTIONS, (Section.TYPE, bytes(table_payload([b"\x07", data]))), STRINGS))


@given(st.sampled_from(GOLDENS), st.data())
@settings(max_examples=300, deadline=None)
def test_mutated_modules_are_refused_or_read(golden: bytes, choices: st.DataObject) -> None:
    data = bytearray(golden)
    for _ in range(choices.draw(st.integers(1, 4))):
        at = choices.draw(st.integers(12, len(data) - 1))
        kind = choices.draw(st.sampled_from(("replace", "insert", "remove")))
        new = choices.draw(st.binary(min_size=1, max_size=4))
        if kind == "replace":
            data[at : at + len(new)] = new
        elif kind == "insert":
            data[at:at] = new
        else:
            del data[at : at + len(new)]
        if len(data) < 14:
            break
    attempt(bytes(data))


def test_offsets_of_a_table_that_overlap_are_refused() -> None:
    """Items may not share bytes: a table of n overlapping strings would take n times the file."""
    starts = struct.pack("<4I", 0, 4, 2, 4)
    payload = b"\x04\xcb\xcb\xcb" + starts + b"abcdefgh"
    with pytest.raises(BytecodeError, match="item 2 of the string table starts at 2, not from 4 to 8"):
        read_module(sections(NO_FUNCTIONS, (Section.STRING, payload)), "x")


def test_a_library_of_many_parameters_stays_within_the_allowance() -> None:
    inputs = [parameter(f"x{number}") for number in range(30)]
    many = tuple(
        export(f"f{number}", *inputs, parameter("y", Access.INOUT), size=2 ** (number % 20)) for number in range(800)
    )
    made = modules_of(ExportSet("many", many), version=VERSION)
    assert len(read_module(made.implementation, "x").implementations) == 800
    assert len(read_module(made.interface, "x").declarations) == 800


def test_twice_the_exports_take_about_twice_the_time() -> None:
    def seconds(count: int) -> float:
        relu = EXPORTS_OF["relu"].exports[0]
        many = tuple(replace(relu, name=f"f{number}", symbol=f"f{number}_impl") for number in range(count))
        start = process_time()
        made = modules_of(ExportSet("many", many), version=VERSION)
        assert len(read_module(made.interface, "x").declarations) == count
        assert len(read_module(made.implementation, "x").implementations) == count
        return process_time() - start

    seconds(100)
    assert seconds(4000) < 8 * min(seconds(1000) for _ in range(3))
