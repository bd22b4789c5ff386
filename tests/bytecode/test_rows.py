"""One row a type, an attribute, an expression and an optional field: value, bytes, what the disassembler prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from bytecode.samples import SCALAR, VERSION, full_spelling, implementation, parts, tile
from tilewright.bytecode.attributes import (
    ATTRIBUTES,
    Access,
    Array,
    Attribute,
    ConcreteType,
    ConstParam,
    Dictionary,
    MemorySpace,
    ScratchRequest,
    String,
    Synchronization,
    read_attribute,
)
from tilewright.bytecode.cursor import Cursor, File
from tilewright.bytecode.expressions import (
    EXPRESSIONS,
    Add,
    Builtin,
    CeilDiv,
    ConstStr,
    Div,
    Expression,
    FloorDiv,
    Int,
    Layout,
    Mul,
    Neg,
    Sub,
    SymbolicTuple,
    Var,
)
from tilewright.bytecode.module import Module
from tilewright.bytecode.plain_types import PLAIN_TYPES, PlainType
from tilewright.bytecode.records import Argument, Implementation
from tilewright.bytecode.sink import Encodable, Sink, tagged
from tilewright.bytecode.text import implementation_text
from tilewright.bytecode.types import TYPES, Fragment, Function, SymbolicElement, Tile, read_type
from tilewright.bytecode.writer import write_module

Disassemble = Callable[[bytes], str]

N, M = Var("N"), Var("M")
PARAMS = (ConstParam("N", PlainType.INDEX), ConstParam("M", PlainType.INDEX), ConstParam("T", PlainType.DATATYPE))

ATTRIBUTE_ROWS: tuple[tuple[Attribute, str, str], ...] = (
    (String('a"b\\c\né'), "05 00", r'"a\22b\\c\0A\C3\A9"'),
    (Array(()), "06 00", "[]"),
    (Array((Int(1), String("x"))), "06 02 D1 01 02 05 00", '[#cuda_tile<preview$expr_int<1>>, "x"]'),
    (Dictionary(()), "0A 00", "{}"),
    (Dictionary((("b", String("x")), ("a b", Int(1)))), "0A 02 00 05 01 02 D1 01 02",
     '{"a b" = #cuda_tile<preview$expr_int<1>>, b = "x"}'),
    (Int(0), "D1 01 00", "#cuda_tile<preview$expr_int<0>>"),
    (Int(-3), "D1 01 05", "#cuda_tile<preview$expr_int<-3>>"),
    (Int(63), "D1 01 7E", "#cuda_tile<preview$expr_int<63>>"),
    (Int(64), "D1 01 80 01", "#cuda_tile<preview$expr_int<64>>"),
    (Int(128), "D1 01 80 02", "#cuda_tile<preview$expr_int<128>>"),
    (Int((1 << 63) - 1), "D1 01 FE FF FF FF FF FF FF FF FF 01", "#cuda_tile<preview$expr_int<9223372036854775807>>"),
    (Int(-(1 << 63)), "D1 01 FF FF FF FF FF FF FF FF FF 01", "#cuda_tile<preview$expr_int<-9223372036854775808>>"),
    (N, "D2 01 00", '#cuda_tile<preview$expr_var<"N">>'),
    (Mul(N, Int(2)), "D3 01 D2 01 00 D1 01 04",
     '#cuda_tile<preview$expr_mul<#cuda_tile<preview$expr_var<"N">>, #cuda_tile<preview$expr_int<2>>>>'),
    (Div(N, Int(2)), "D4 01 D2 01 00 D1 01 04",
     '#cuda_tile<preview$expr_div<#cuda_tile<preview$expr_var<"N">>, #cuda_tile<preview$expr_int<2>>>>'),
    (Add(Int(2), M), "D5 01 D1 01 04 D2 01 00",
     '#cuda_tile<preview$expr_add<#cuda_tile<preview$expr_int<2>>, #cuda_tile<preview$expr_var<"M">>>>'),
    (Sub(N, M), "D6 01 D2 01 00 D2 01 01",
     '#cuda_tile<preview$expr_sub<#cuda_tile<preview$expr_var<"N">>, #cuda_tile<preview$expr_var<"M">>>>'),
    (FloorDiv(N, Int(32)), "D7 01 D2 01 00 D1 01 40",
     '#cuda_tile<preview$expr_floor_div<#cuda_tile<preview$expr_var<"N">>, #cuda_tile<preview$expr_int<32>>>>'),
    (parts(1, parts(N), parts()), "D8 01 03 D1 01 02 D8 01 01 D2 01 00 D8 01 00",
     '#cuda_tile<preview$symbolic_tuple<[#cuda_tile<preview$expr_int<1>>, #cuda_tile<preview$symbolic_tuple<'
     '[#cuda_tile<preview$expr_var<"N">>]>>, #cuda_tile<preview$symbolic_tuple<[]>>]>>'),
    (Layout(parts(), parts()), "D9 01 00 00", "#cuda_tile<preview$layout<():()>>"),
    (Layout(parts(1), parts(1)), "D9 01 01 D1 01 02 01 D1 01 02", "#cuda_tile<preview$layout<(1):(1)>>"),
    (Layout(parts(128, 1, 1), parts(1, 0, 0)),
     "D9 01 03 D1 01 80 02 D1 01 02 D1 01 02 03 D1 01 02 D1 01 00 D1 01 00",
     "#cuda_tile<preview$layout<(128, 1, 1):(1, 0, 0)>>"),
    (Layout(parts(parts(2, 2), 4), parts(parts(2, 1), N)),
     "D9 01 02 D8 01 02 D1 01 04 D1 01 04 D1 01 08 02 D8 01 02 D1 01 04 D1 01 02 D2 01 00",
     "#cuda_tile<preview$layout<((2, 2), 4):((2, 1), N)>>"),
    (Layout(parts(Div(N, M)), parts(1)), "D9 01 01 D4 01 D2 01 00 D2 01 01 01 D1 01 02",
     "#cuda_tile<preview$layout<shapes = #cuda_tile<preview$symbolic_tuple<[#cuda_tile<preview$expr_div<"
     '#cuda_tile<preview$expr_var<"N">>, #cuda_tile<preview$expr_var<"M">>>>]>>, '
     "strides = #cuda_tile<preview$symbolic_tuple<[#cuda_tile<preview$expr_int<1>>]>>>>"),
    (CeilDiv(N, Int(1)), "DA 01 D2 01 00 D1 01 02",
     '#cuda_tile<preview$expr_ceil_div<#cuda_tile<preview$expr_var<"N">>, #cuda_tile<preview$expr_int<1>>>>'),
    (ConcreteType(PlainType.F32), "DB 01 00", "#cuda_tile<preview$concrete_type<f32>>"),
    (Neg(N), "DC 01 D2 01 00", '#cuda_tile<preview$expr_neg<#cuda_tile<preview$expr_var<"N">>>>'),
    (MemorySpace.LOCAL, "DD 01 00", "#cuda_tile<preview$memory_space<local>>"),
    (MemorySpace.SMEM, "DD 01 01", "#cuda_tile<preview$memory_space<smem>>"),
    (Synchronization.NONE, "DE 01 00", "#cuda_tile<preview$synchronization<none>>"),
    (Synchronization.WARP, "DE 01 01", "#cuda_tile<preview$synchronization<warp>>"),
    (Synchronization.WARPGROUP, "DE 01 02", "#cuda_tile<preview$synchronization<warpgroup>>"),
    (Synchronization.CTA, "DE 01 03", "#cuda_tile<preview$synchronization<cta>>"),
    (Access.IN, "DF 01 00", "#cuda_tile<preview$access<in>>"),
    (Access.OUT, "DF 01 01", "#cuda_tile<preview$access<out>>"),
    (Access.INOUT, "DF 01 02", "#cuda_tile<preview$access<inout>>"),
    (ScratchRequest(Int(1024), Int(16)), "E0 01 D1 01 80 10 D1 01 20",
     "#cuda_tile<preview$scratch_request<smem.size = #cuda_tile<preview$expr_int<1024>>, "
     "smem.alignment = #cuda_tile<preview$expr_int<16>>>>"),
    (ConstParam("N", PlainType.INDEX), "E2 01 00 00", '#cuda_tile<preview$const_param<name = "N", type = index>>'),
    (ConstParam("a b", PlainType.SHAPE), "E2 01 00 00",
     '#cuda_tile<preview$const_param<name = "a b", type = !cuda_tile<preview$shape>>>'),
    (Builtin("context.num_threads"), "E3 01 00 00", '#cuda_tile<preview$expr_builtin<"context.num_threads", index>>'),
    (ConstStr("x%"), "E4 01 00", '#cuda_tile<preview$expr_const_str<"x%">>'),
)  # fmt: skip

TYPE_ROWS: tuple[tuple[Encodable, str, str], ...] = (
    (PlainType.I1, "00", "i1"),
    (PlainType.I8, "01", "i8"),
    (PlainType.I16, "02", "i16"),
    (PlainType.I32, "03", "i32"),
    (PlainType.I64, "04", "i64"),
    (PlainType.F16, "05", "f16"),
    (PlainType.BF16, "06", "bf16"),
    (PlainType.F32, "07", "f32"),
    (PlainType.TF32, "08", "tf32"),
    (PlainType.F64, "09", "f64"),
    (PlainType.F8E4M3FN, "0A", "f8E4M3FN"),
    (PlainType.F8E5M2, "0B", "f8E5M2"),
    (PlainType.TOKEN, "11", "!cuda_tile.token"),
    (PlainType.F8E8M0FNU, "12", "f8E8M0FNU"),
    (PlainType.F4E2M1FN, "13", "f4E2M1FN"),
    (PlainType.I4, "16", "i4"),
    (PlainType.FNV8E5M3FNU, "82 01", "fnv8E5M3FNU"),
    (PlainType.DATATYPE, "D3 01", "!cuda_tile<preview$Datatype>"),
    (PlainType.SHAPE, "D4 01", "!cuda_tile<preview$shape>"),
    (PlainType.STRING, "D5 01", "!cuda_tile<preview$string>"),
    (PlainType.INDEX, "D6 01", "index"),
    (PlainType.NONE, "D7 01", "none"),
    (SymbolicElement(Var("T")), "D1 01 D2 01 00", "!cuda_tile<preview$sym_t<T>>"),
    (tile(128), "0D 00 01 80 00 00 00 00 00 00 00", "!cuda_tile.tile<128xf32>"),
    (tile(), "0D 00 00", "!cuda_tile.tile<f32>"),
    (tile(2, 4, element=PlainType.I8), "0D 00 02 02 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00",
     "!cuda_tile.tile<2x4xi8>"),
    (tile(N), "0D 00 01 00 00 00 00 00 00 00 80 D8 01 01 D2 01 00", "!cuda_tile.tile<[N]xf32>"),
    (Tile(SymbolicElement(Var("T")), parts(2, N)),
     "0D 00 02 02 00 00 00 00 00 00 00 00 00 00 00 00 00 00 80 D8 01 02 D1 01 04 D2 01 01",
     "!cuda_tile.tile<2x[N]xpreview$sym_t<T>>"),
    (Function((), ()), "10 00 00", "() -> ()"),
    (Function((PlainType.I8, tile(4)), (tile(4),)), "10 02 00 02 01 02",
     "(i8, !cuda_tile.tile<4xf32>) -> !cuda_tile.tile<4xf32>"),
    (Function((), (PlainType.I8, PlainType.I8)), "10 00 02 00 00", "() -> (i8, i8)"),
    (SCALAR,
     "D2 01 D8 01 01 D1 01 02 01 01 00 00 00 00 00 00 00 00 00 D9 01 00 00 D9 01 03 D1 01 80 02 D1 01 02 D1 01 02 "
     "03 D1 01 02 D1 01 00 D1 01 00 D1 01 02",
     "!cuda_tile<preview$fragment<1xf32, local, mem_layout = <():()>, fragmap = <(128, 1, 1):(1, 0, 0)>>>"),
    (Fragment(parts(N), PlainType.F32, MemorySpace.SMEM, Layout(parts(N), parts(1)), Layout(parts(1), parts(0)), N),
     "D2 01 D8 01 01 D2 01 00 01 00 00 00 00 00 00 00 80 00 01 D9 01 01 D2 01 00 01 D1 01 02 D9 01 01 D1 01 02 "
     "01 D1 01 00 D2 01 00",
     "!cuda_tile<preview$fragment<[N]xf32, smem, mem_layout = <(N):(1)>, fragmap = <(1):(0)>, alignment = N>>"),
    (Fragment(parts(), PlainType.I8, MemorySpace.LOCAL, Layout(parts(), parts()), Layout(parts(), parts()), Int(4)),
     "D2 01 D8 01 00 00 00 00 D9 01 00 00 D9 01 00 00 D1 01 08",
     "!cuda_tile<preview$fragment<i8, local, mem_layout = <():()>, fragmap = <():()>, alignment = 4>>"),
)  # fmt: skip

SHORT_ROWS: tuple[tuple[Expression, str], ...] = (
    (Mul(N, Int(2)), "N * 2"),
    (Add(N, Int(-1)), "N + -1"),
    (Sub(N, M), "N - M"),
    (FloorDiv(N, Int(32)), "N / 32"),
    (CeilDiv(N, Int(32)), "N /+ 32"),
    (Neg(N), "-N"),
    (Neg(Neg(N)), "-(-N)"),
    (Neg(Add(N, M)), "-(N + M)"),
    (Add(N, Neg(M)), "N + -M"),
    (Mul(Add(N, M), Int(2)), "(N + M) * 2"),
    (Mul(Int(2), Add(N, M)), "2 * (N + M)"),
    (Add(Mul(N, M), Int(2)), "N * M + 2"),
    (Add(N, Add(M, N)), "N + (M + N)"),
    (Sub(Sub(N, M), N), "N - M - N"),
    (Sub(N, Sub(M, N)), "N - (M - N)"),
    (FloorDiv(FloorDiv(N, M), N), "N / M / N"),
    (FloorDiv(N, FloorDiv(M, N)), "N / (M / N)"),
    (CeilDiv(N, Mul(M, N)), "N /+ (M * N)"),
    (Mul(N, CeilDiv(N, M)), "N * (N /+ M)"),
    (Builtin("context.num_threads"), "context.num_threads"),
    (Mul(parts(1, 2), N), "(1, 2) * N"),
)

WITHOUT_SHORT = (Div(N, M), Neg(Int(3)), ConstStr("x"), Add(N, Div(N, M)), Neg(Div(N, M)), parts(Div(N, M)), Var("a b"))

OPTIONAL_ROWS: tuple[tuple[Implementation, int, str], ...] = (
    (implementation(), 0b100, ""),
    (implementation(const_params=PARAMS[:2]), 0b101, "@f_impl<[N: index, M: index]> implements @f"),
    (implementation(const_params=PARAMS[:1], const_args=(N,)), 0b111, "@f_impl<[N: index]> implements @f<[N]>"),
    (implementation(const_params=(ConstParam("?", PlainType.INDEX),)), 0b101, "@f_impl<[?]> implements @f"),
    (implementation(scratch_smem=ScratchRequest(Int(64), Int(4))), 0x14,
     " scratch {smem.size = #cuda_tile<preview$expr_int<64>>, smem.alignment = #cuda_tile<preview$expr_int<4>>}"),
    (implementation(arch=("sm_90", "sm_120")), 0x44, ' arch = ["sm_90", "sm_120"]'),
    (implementation(frontend_abi=Dictionary((("k", String("v")),))), 0x84, ' {frontendABI = {k = "v"}}'),
    (implementation(frontend_abi=Dictionary(())), 0x84, " {frontendABI = {}}"),
    (implementation(synchronization=Synchronization.NONE), 0x104,
     " synchronization = #cuda_tile<preview$synchronization<none>>"),
    (implementation(provider_score=5), 0x204, " {provider_score = 5 : i64}"),
    (implementation(provider_score=-1), 0x204, " {provider_score = -1 : i64}"),
    (implementation(
        const_params=PARAMS, const_args=(N, M, Var("T")), scratch_smem=ScratchRequest(Mul(N, Int(2)), Int(16)),
        arch=("sm_120",), frontend_abi=Dictionary((("k", Int(1)),)), synchronization=Synchronization.NONE,
        provider_score=7), 0x3D7,
     " synchronization = #cuda_tile<preview$synchronization<none>> arch = [\"sm_120\"] scratch {smem.size = "
     '#cuda_tile<preview$expr_mul<#cuda_tile<preview$expr_var<"N">>, #cuda_tile<preview$expr_int<2>>>>, '
     "smem.alignment = #cuda_tile<preview$expr_int<16>>} {frontendABI = {k = #cuda_tile<preview$expr_int<1>>}, "
     "provider_score = 7 : i64}"),
)  # fmt: skip


def name(row: Sequence[object]) -> str:
    return str(row[-1])[:50]


def self_contained(value: Encodable) -> Sink:
    out = Sink()
    tagged(out, value)
    return out


def cursor_over(sink: Sink) -> Cursor:
    """Reads a sink back with the tables it filled."""
    data = bytes(sink.data)
    file = File(data, "row")
    file.strings = list(sink.tables.strings)
    file.types = list(sink.tables.types)
    file.type_costs = [0] * len(file.types)
    return Cursor(file, 0, len(data))


def each_disassembled(records: Sequence[Implementation], disassemble: Disassemble) -> list[str]:
    """All records in one module, one line each, all called `f_impl` again."""
    named = [
        Implementation(f"f{number}_impl", *(getattr(record, field) for field in record.__slots__[1:]))
        for number, record in enumerate(records)
    ]
    lines = disassemble(write_module(Module(VERSION, implementations=tuple(named)))).splitlines()
    lines = [line for line in lines if line]
    assert len(lines) == len(records)
    return [line.replace(f"@f{number}_impl", "@f_impl", 1) for number, line in enumerate(lines)]


@pytest.mark.parametrize("row", ATTRIBUTE_ROWS, ids=name)
def test_an_attribute_has_these_bytes_and_reads_back(row: tuple[Attribute, str, str]) -> None:
    value, expected, _ = row
    sink = self_contained(value)
    assert sink.data.hex(" ").upper() == expected
    cursor = cursor_over(sink)
    assert read_attribute(cursor, "row") == value
    cursor.finish("row")


@pytest.mark.parametrize("row", TYPE_ROWS, ids=name)
def test_a_type_has_these_bytes_and_reads_back(row: tuple[Encodable, str, str]) -> None:
    value, expected, _ = row
    sink = self_contained(value)
    assert sink.data.hex(" ").upper() == expected
    cursor = cursor_over(sink)
    assert read_type(cursor) == value
    cursor.finish("row")


def test_every_tag_has_a_row() -> None:
    assert {row[0].tag for row in ATTRIBUTE_ROWS} == set(ATTRIBUTES)
    assert {row[0].tag for row in TYPE_ROWS} == {*PLAIN_TYPES, *TYPES}
    assert set(EXPRESSIONS) < set(ATTRIBUTES)


def test_the_disassembler_prints_each_attribute_as_its_row_says(disassemble: Disassemble) -> None:
    records = [implementation(frontend_abi=Dictionary((("k", row[0]),))) for row in ATTRIBUTE_ROWS]
    for row, line in zip(ATTRIBUTE_ROWS, each_disassembled(records, disassemble), strict=True):
        assert line.endswith(f" {{frontendABI = {{k = {row[2]}}}}}")
        assert row[0].text() == full_spelling(row[2])


def test_the_disassembler_prints_each_type_as_its_row_says(disassemble: Disassemble) -> None:
    records = [implementation(frontend_abi=Dictionary((("k", ConcreteType(row[0])),))) for row in TYPE_ROWS]
    for row, line in zip(TYPE_ROWS, each_disassembled(records, disassemble), strict=True):
        assert line.endswith(f" {{frontendABI = {{k = #cuda_tile<preview$concrete_type<{row[2]}>>}}}}")
        assert row[0].text() == full_spelling(row[2])


def test_the_disassembler_prints_each_short_spelling_as_its_row_says(disassemble: Disassemble) -> None:
    records = []
    for value, _ in SHORT_ROWS:
        fragmap = Layout(SymbolicTuple((value, Int(1), Int(1))), parts(1, 0, 0))
        fragment = Fragment(parts(1), PlainType.F32, MemorySpace.LOCAL, Layout(parts(1), parts(1)), fragmap)
        records.append(implementation(fragment, const_params=PARAMS))
    for row, line in zip(SHORT_ROWS, each_disassembled(records, disassemble), strict=True):
        assert f"fragmap = <({row[1]}, 1, 1):(1, 0, 0)>" in line
        assert row[0].short() == row[1]


@pytest.mark.parametrize("value", WITHOUT_SHORT, ids=lambda value: type(value).__name__)
def test_an_ambiguous_expression_has_no_short_spelling(value: Expression) -> None:
    assert value.short() is None
    assert value.text() in Layout(parts(value), parts(1)).text()


def test_each_optional_field_is_announced_by_its_bit_and_printed(disassemble: Disassemble) -> None:
    lines = each_disassembled([row[0] for row in OPTIONAL_ROWS], disassemble)
    for (record, flags, text), line in zip(OPTIONAL_ROWS, lines, strict=True):
        out = Sink()
        out.uvar(flags)
        body = Sink()
        record.body(body)
        assert body.data.startswith(out.data)
        assert text in line
        ours = implementation_text(record, {}).strip().replace("\n    ", " ")
        assert ours == full_spelling(line)


@pytest.mark.parametrize("row", OPTIONAL_ROWS, ids=lambda row: f"{row[1]:#x}")
def test_an_optional_field_reads_back(row: tuple[Implementation, int, str]) -> None:
    record = row[0]
    body = Sink()
    record.body(body)
    cursor = cursor_over(body)
    assert Implementation.read(cursor, record.name, record.signature) == record
    cursor.finish("row")


def test_an_argument_keeps_its_name_for_the_text_only() -> None:
    named, nameless = Argument(SCALAR, Access.IN, "x"), Argument(SCALAR, Access.IN)
    assert named == nameless
    assert "(%x: " in implementation_text(Implementation("f_impl", "f", (named,)), {})
    assert "(%arg0: " in implementation_text(Implementation("f_impl", "f", (nameless,)), {})
