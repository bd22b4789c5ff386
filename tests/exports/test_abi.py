"""The ABI table of the specification, row by row."""

from __future__ import annotations

import pytest

from tilewright.exports.abi import C_NAMES, llvm_prototype, native_parameters, prototype
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, Parameter, Sync, TileExport

F32 = ElementType.F32
RELU_OUT = Parameter("relu_out", F32, Access.OUT, is_return=True)
WARP_SUM_OUT = Parameter("warp_sum_out", F32, Access.OUT, is_return=True)
X = Parameter("x", F32, Access.IN, by_value=True)
FACTOR = Parameter("factor", F32, Access.IN, by_value=True)

SPECIFIED = [
    (TileExport("relu", "relu_impl", "relu", (X, RELU_OUT), 128), "void relu_impl(float x, float *relu_out)"),
    (
        TileExport("scale_in_place", "scale_in_place_impl", "scale", (Parameter("x", F32, Access.INOUT), FACTOR), 128),
        "void scale_in_place_impl(float *x, float factor)",
    ),
    (
        TileExport("warp_sum", "warp_sum_impl", "warp_sum", (X, WARP_SUM_OUT), 128, Sync.WARP),
        "void warp_sum_impl(float x, float *warp_sum_out)",
    ),
]


@pytest.mark.parametrize(("export", "text"), SPECIFIED)
def test_the_prototypes_are_those_of_the_specification(export: TileExport, text: str) -> None:
    assert prototype(export) == text


def test_the_ir_of_relu_is_that_of_the_specification() -> None:
    assert llvm_prototype(SPECIFIED[0][0]) == "define void @relu_impl(float, ptr)"


@pytest.mark.parametrize(
    ("element", "llvm", "c", "pointee"),
    [
        ("f16", "half", "unsigned short", "__half"),
        ("f32", "float", "float", "float"),
        ("f64", "double", "double", "double"),
        ("i8", "i8", "signed char", "signed char"),
        ("i16", "i16", "short", "short"),
        ("i32", "i32", "int", "int"),
        ("i64", "i64", "long long", "long long"),
        ("u8", "i8", "unsigned char", "unsigned char"),
        ("u16", "i16", "unsigned short", "unsigned short"),
        ("u32", "i32", "unsigned int", "unsigned int"),
        ("u64", "i64", "unsigned long long", "unsigned long long"),
    ],
)
def test_only_an_input_scalar_travels_by_value(element: str, llvm: str, c: str, pointee: str) -> None:
    kind = ElementType.named(element)
    assert kind is not None
    written = (
        Parameter("value", kind, Access.IN, by_value=True),
        Parameter("one", kind, Access.IN),
        Parameter("four", kind, Access.IN, 4),
        Parameter("changed", kind, Access.INOUT),
        Parameter("changed_four", kind, Access.INOUT, 4),
        Parameter("f_out", kind, Access.OUT, is_return=True),
    )
    natives = native_parameters(TileExport("f", "f_impl", "f", written, 128))
    assert [native.llvm for native in natives] == [llvm, *["ptr"] * 5]
    assert [native.c for native in natives] == [c, *[f"const {pointee}*"] * 2, *[f"{pointee}*"] * 3]
    assert [native.name for native in natives] == [parameter.name for parameter in written]
    assert natives[0].declaration == f"{c} value"
    assert natives[1].declaration == f"const {pointee} *one"


def test_every_element_type_has_a_c_name() -> None:
    assert set(C_NAMES) == set(ElementType)
