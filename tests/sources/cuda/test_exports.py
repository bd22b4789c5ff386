"""What a CUDA C++ source says about its exports, and that the compiler agrees."""

from __future__ import annotations

from pathlib import Path

import pytest

from sources.project import RELU, SPEC, TILE, exports_of, ltoir, read, unit, write
from tilewright.device.ltoir import make_ltoir
from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.nvjitlink import link
from tilewright.device.nvrtc import compile_cuda
from tilewright.device.workers import Workers
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, Sync, TileExport
from tilewright.toolchain.toolkit import Toolkit

E = ElementType
NAMES = {
    E.F16: ("__half", "half"),
    E.F32: ("float",),
    E.F64: ("double",),
    E.I8: ("signed char", "char signed", "int8_t", "std::int8_t"),
    E.I16: ("short", "short int", "signed short int", "int16_t", "::std::int16_t"),
    E.I32: ("int", "signed", "signed int", "int32_t", "::int32_t"),
    E.I64: ("long long", "long long int", "int long signed long", "int64_t", "std::int64_t"),
    E.U8: ("unsigned char", "char unsigned", "uint8_t", "std::uint8_t"),
    E.U16: ("unsigned short", "short unsigned int", "uint16_t", "std::uint16_t"),
    E.U32: ("unsigned", "unsigned int", "int unsigned", "uint32_t", "std::uint32_t"),
    E.U64: ("unsigned long long", "long long unsigned int", "uint64_t", "cuda::std::uint64_t"),
}
INCLUDES = "#include <cstdint>\n#include <cuda/std/cstdint>\n#include <cuda_fp16.h>\n"
FORMS = {
    "{T} x": ("x", Access.IN, 1, True),
    "const {T} x": ("x", Access.IN, 1, True),
    "const {T}& x": ("x[0]", Access.IN, 1, False),
    "{T} const &x": ("x[0]", Access.IN, 1, False),
    "const {T} (&x)[1]": ("x[0]", Access.IN, 1, False),
    "const {T} (&x)[4]": ("x[3]", Access.IN, 4, False),
    "{T} const (& x) [0x10]": ("x[15]", Access.IN, 16, False),
    "{T}& x": ("x[0]", Access.INOUT, 1, False),
    "{T} &__restrict__ x": ("x[0]", Access.INOUT, 1, False),
    "{T} (&x)[1]": ("x[0]", Access.INOUT, 1, False),
    "{T} (&x)[4]": ("x[3]", Access.INOUT, 4, False),
}


def spec_exports(library: str) -> ExportSet:
    """The three exports of the specification's example."""
    x, out = Parameter("x", E.F32, Access.IN, by_value=True), "_out"

    def slot(name: str) -> Parameter:
        return Parameter(name + out, E.F32, Access.OUT, is_return=True)

    scale = (Parameter("x", E.F32, Access.INOUT), Parameter("factor", E.F32, Access.IN, by_value=True))
    return ExportSet(
        library,
        (
            TileExport("relu", "relu_impl", "relu", (x, slot("relu")), 128, doc="Elementwise `max(x, 0)`."),
            TileExport(
                "scale_in_place",
                "scale_in_place_impl",
                "scale",
                scale,
                128,
                doc="Scale a tile in place. The cuTile side knows it as `scale_in_place`.",
            ),
            TileExport(
                "warp_sum",
                "warp_sum_impl",
                "warp_sum",
                (x, slot("warp_sum")),
                128,
                Sync.WARP,
                doc="Sum over the 32 lanes of each warp; every lane gets the warp total.",
            ),
        ),
    )


def test_the_three_functions_of_the_specification_give_its_exports(tmp_path: Path) -> None:
    source = read(write(tmp_path, {"k.cu": SPEC}))
    assert source.exports == spec_exports("sample")
    assert source.device_suffix == ".device.cu"
    assert source.dependencies == (tmp_path / "k.cu",)


def test_positions_are_the_users_own(tmp_path: Path) -> None:
    scale = exports_of(tmp_path, SPEC)[1]
    assert str(scale.where) == "k.cu:8:3"
    assert [str(parameter.where) for parameter in scale.parameters] == ["k.cu:13:30", "k.cu:13:39"]


@pytest.mark.parametrize("element", list(ElementType), ids=lambda element: element.label)
def test_every_form_of_every_name_is_read_and_compiles(
    element: ElementType, tmp_path: Path, toolkit: Toolkit, workers: Workers
) -> None:
    lines, expected = [INCLUDES], []
    for spelling in NAMES[element]:
        for form, (value, access, footprint, by_value) in FORMS.items():
            name = f"f{len(expected)}"
            argument = form.format(T=spelling)
            taken = value if "[" in form or by_value else "x"
            returned, body = ("void", f"{taken} = {taken};") if access.writes else (spelling, f"return {taken};")
            if footprint > 1 and not access.writes:
                argument += f", {spelling} (&y)[{footprint}]"
                returned, body = "void", f"y[0] = {taken};"
            lines.append(f"[[tile_export]] __device__ {returned} {name}({argument}) {{ {body} }}")
            parameters = [Parameter("x", element, access, footprint, by_value=by_value)]
            if footprint > 1 and not access.writes:
                parameters.append(Parameter("y", element, Access.INOUT, footprint))
            elif not access.writes:
                parameters.append(Parameter(f"{name}_out", element, Access.OUT, is_return=True))
            expected.append(TileExport(name, f"{name}_impl", name, tuple(parameters)))
    assert exports_of(tmp_path, "\n".join(lines)) == tuple(expected)
    assert ltoir(tmp_path, toolkit, workers)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        ("()", {}),
        ("(tile_shape = 0x80)", {"tile_shape": 128}),
        ("(tile_shape = 0b1000'0000u)", {"tile_shape": 128}),
        ("(tile_shape = 0200LL)", {"tile_shape": 128}),
        ('(sync = "warp", /* why */ tile_shape = 1\'024)', {"tile_shape": 1024, "sync": Sync.WARP}),
        ('(sync = "none", name = "a", symbol = "b")', {"name": "a", "symbol": "b"}),
        ('(arch = {"sm_120", "sm_90a",})', {"arch": ("sm_120", "sm_90a")}),
    ],
)
def test_the_arguments_of_the_attribute(arguments: str, expected: dict[str, object], tmp_path: Path) -> None:
    (export,) = exports_of(tmp_path, f"[[tile_export{arguments}]] __device__ float f(float x) {{ return x; }}")
    defaults = {"name": "f", "symbol": "f_impl", "tile_shape": None, "sync": Sync.NONE, "arch": ()}
    found = {key: getattr(export, key) for key in defaults}
    assert found == {**defaults, **expected}


@pytest.mark.parametrize(
    ("comment", "doc"),
    [
        ("/// One.\n", "One."),
        ("/// One.\n///\n///   Two.\n", "One.\n\n  Two."),
        ("//! One.\n", "One."),
        ("/** One. */\n", "One."),
        ("/**\n * One.\n *\n *   Two.\n */\n", "One.\n\n  Two."),
        ("/**\n One.\n Two.\n*/\n", "One.\nTwo."),
        ("/// Not this one.\n\n/// One.\n", "One."),
        ("/** Not this one. */\n/// One.\n", "One."),
        ("// not documentation\n", ""),
        ("//// not documentation\n", ""),
        ("/*** not documentation */\n", ""),
        ("/// Of something else.\n// not documentation\n", ""),
        ("__device__ int a; ///< Of a.\n", ""),
        ("__device__ int a; /// Of a.\n", ""),
        ("/// Of a.\n__device__ int a;\n", ""),
        ("/// Größer.\n", "Größer."),
    ],
)
def test_documentation_comments_become_the_doc(comment: str, doc: str, tmp_path: Path) -> None:
    (export,) = exports_of(tmp_path, comment + RELU)
    assert export.doc == doc


def test_the_source_is_in_the_device_text_as_it_was_written(tmp_path: Path) -> None:
    text = SPEC.replace("\n", "\r\n", 3)
    source = read(write(tmp_path, {"a/k.cu": text}), "a/k.cu")
    head, _, rest = source.device_text.partition('#line 1 "a/k.cu"\n')
    assert head == "// Written by tilewright from a/k.cu; do not edit.\n"
    assert rest.startswith(text)
    assert 'extern "C" __device__ void relu_impl(float x, float *relu_out)' in rest
    assert str(tmp_path) not in source.device_text


def test_an_edited_body_leaves_the_exports_equal(tmp_path: Path) -> None:
    before = read(write(tmp_path, {"k.cu": RELU}))
    after = read(write(tmp_path, {"k.cu": RELU.replace("0.0f;", "1.0f;\n")}))
    assert before.exports == after.exports
    assert before.device_text != after.device_text


@pytest.mark.parametrize("element", list(ElementType), ids=lambda element: element.label)
def test_the_wrappers_leave_no_call(element: ElementType, tmp_path: Path, toolkit: Toolkit, workers: Workers) -> None:
    name = NAMES[element][0]
    text = f"{INCLUDES}{TILE}__device__ {name} same({name} x) {{ return x; }}\n"
    text += f"{TILE}__device__ void copy(const {name} (&x)[4], {name} (&y)[4]) {{ y[3] = x[0]; }}\n"
    library = ltoir(write(tmp_path, {"k.cu": text}), toolkit, workers)
    native = "unsigned short" if element is E.F16 else name
    caller = f"""{INCLUDES}extern "C" __device__ void same_impl({native} x, {name} *o);
extern "C" __device__ void copy_impl(const {name} *x, {name} *y);
extern "C" __global__ void k({native} *p, {name} *q) {{
    {name} a[4], b[4];
    a[0] = q[5];
    same_impl(p[0], q);
    copy_impl(a, b);
    q[1] = b[3];
}}
"""
    paths = {part: str(toolkit.require(part).path) for part in ("nvrtc", "nvjitlink")}
    module = DeviceModule("cuda", caller, "caller.cu")
    called = workers.run(compile_cuda, module, "compute_120", paths["nvrtc"], toolkit.include).ltoir
    inputs = [("library", library), ("caller", called)]
    ptx = workers.run(link, inputs, arch="sm_120", nvjitlink=paths["nvjitlink"], ptx=True).decode()
    assert ".entry k" in ptx
    assert "call" not in ptx
    assert "cvt." not in ptx, "a half is converted instead of taken as its bits"
    assert ".local" not in ptx


@pytest.mark.parametrize(
    "text",
    [
        f"#define short int\n{TILE}__device__ short f(short x) {{ return x; }}\n",
        f"namespace n {{ using uint32_t = float;\n{TILE}__device__ void f(uint32_t& x) {{ x = 1; }} }}\n",
    ],
)
def test_a_type_that_is_not_what_it_is_called_is_refused_at_the_attribute(
    text: str, tmp_path: Path, toolkit: Toolkit, workers: Workers
) -> None:
    with pytest.raises(DeviceError) as caught:
        ltoir(write(tmp_path, {"k.cu": text}), toolkit, workers)
    assert str(caught.value).startswith("k.cu:2:")
    assert "the type of f is not what its declaration shows: a macro or typedef changes it" in str(caught.value)
    assert len(caught.value.problems) == 1


def test_an_error_of_the_compiler_stands_at_the_users_line(tmp_path: Path, toolkit: Toolkit, workers: Workers) -> None:
    text = f"{TILE}\n__device__ float f(float x) {{\n    return y;\n}}\n"
    module, exports = unit(write(tmp_path, {"kernels/k.cu": text}), "kernels/k.cu")
    with pytest.raises(DeviceError) as caught:
        make_ltoir(module, exports, arch="sm_120", toolkit=toolkit, workers=workers)
    assert str(caught.value).startswith('kernels/k.cu:4:12: error: identifier "y" is undefined')
