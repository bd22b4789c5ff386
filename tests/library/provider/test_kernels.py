"""Kernels compiled against providers by the real assembler. Spec: The provider form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from library.provider.conftest import Compiled
from library.provider.samples import CALLER_HEAD, CUDA, EXPORTS, HEAD, SIZES_CALLER, TAIL
from library.samples import Packed, elementwise
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, TileExport
from tilewright.library.provider.c_compiler import CCompiler
from tilewright.library.provider.making import make_provider
from tilewright.toolchain.toolkit import Toolkit

Compile = Callable[..., Compiled]
ARCHITECTURES = ("sm_90", "sm_120")


def counted(text: str, *instructions: str) -> list[int]:
    return [sum(f" {name}" in line for line in text.splitlines()) for name in instructions]


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("language", ["ir", "cuda"])
def test_exports_with_and_without_sizes_are_inlined_at_every_size_a_kernel_asks_for(
    providers: Mapping[str, Path], compile_caller: Compile, language: str, arch: str
) -> None:
    made = compile_caller(SIZES_CALLER, providers[language], arch=arch)
    assert made.code == 0, made.said
    assert made.said == ""
    assert made.calls == 0
    relus, shuffles = counted(made.machine_code, "FMNMX", "SHFL.BFLY")
    assert relus >= 4  # one element a thread at 128, two at 256, one for the export of its own size
    assert shuffles >= 5


@pytest.mark.parametrize("variable", ["TILEWRIGHT_PROVIDER_LOG", "OXIDE_TILE_PROVIDER_LOG"])
def test_the_log_names_every_question_and_every_symbol_once(
    providers: Mapping[str, Path], compile_caller: Compile, variable: str
) -> None:
    twice = SIZES_CALLER.replace("CALL(256,", "CALL(128, relu_any<128>, x, large)\n    CALL(256,")
    lines = compile_caller(twice, providers["ir"], arch="sm_90", **{variable: "1"}).said.splitlines()
    assert all(line.startswith("mixed: provider: ") for line in lines)
    asked = [line for line in lines if "asked for implementations of relu_any for sm_90" in line]
    assert len(asked) == 3
    for symbol in ("relu_any_impl__N128", "relu_any_impl__N256", "warp_sum_any_impl__N64", "relu_impl"):
        assert [line for line in lines if line.endswith(f"wants {symbol}")] == [f"mixed: provider: wants {symbol}"]
    assert sum("wrapper relu_any_impl__N128 around relu_any_impl" in line for line in lines) == 1
    assert not any("wrapper relu_impl" in line for line in lines)
    assert any("libNVVM is " in line for line in lines)
    assert any("compiled for compute_90a: " in line for line in lines)


def test_a_zero_is_no_wish_for_a_log(providers: Mapping[str, Path], compile_caller: Compile) -> None:
    assert compile_caller(SIZES_CALLER, providers["ir"], arch="sm_90", TILEWRIGHT_PROVIDER_LOG="0").said == ""


def kinds() -> ExportSet:
    """By value f16, a libdevice function, and four elements an invocation."""
    half = tuple(replace(each, element=ElementType.F16) for each in elementwise("half_any").parameters)
    four = (
        Parameter("x", ElementType.F32, Access.IN, footprint=4),
        Parameter("o", ElementType.F32, Access.INOUT, footprint=4),
    )
    return ExportSet(
        "kinds",
        (
            elementwise("exp_any", tile_shape=None),
            TileExport("half_any", "half_any_impl", "half_any", half),
            TileExport("turn_any", "turn_any_impl", "turn_any", four),
        ),
    )


TURN = "".join(
    f"  %p{n} = getelementptr float, float* %x, i32 {n}\n  %v{n} = load float, float* %p{n}\n"
    f"  %q{n} = getelementptr float, float* %o, i32 {3 - n}\n  store float %v{n}, float* %q{n}\n"
    for n in range(4)
)
KINDS_IR = f"""{HEAD}
declare float @__nv_expf(float)
define void @exp_any_impl(float %x, float* %o) {{
  %e = call float @__nv_expf(float %x)
  store float %e, float* %o
  ret void
}}
define void @half_any_impl(half %x, half* %o) {{
  %e = fmul half %x, %x
  store half %e, half* %o
  ret void
}}
define void @turn_any_impl(float* %x, float* %o) {{
{TURN}  ret void
}}
{TAIL}"""
KINDS_CUDA = """
#include <cuda_fp16.h>
extern "C" __device__ void exp_any_impl(float x, float *o) { *o = expf(x); }
extern "C" __device__ void half_any_impl(unsigned short x, __half *o) {
  __half h = __ushort_as_half(x); *o = h * h;
}
extern "C" __device__ void turn_any_impl(const float *x, float *o) { for (int i = 0; i < 4; i++) o[3 - i] = x[i]; }
"""
KINDS_CALLER = (
    CALLER_HEAD
    + """\
ANY(float, exp_any)
ANY(__half, half_any)
ANY(float, turn_any)
extern "C" __tile_global__ void kinds(float* x, float* a, float* b, __half* h, __half* c) {
    CALL(128, exp_any<128>, x, a)
    CALL(64, half_any<64>, h, c)
    CALL(512, turn_any<512>, x, b)
}
"""
)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("language", ["typed", "opaque", "cuda"])
def test_every_kind_of_parameter_is_inlined(
    toolkit: Toolkit,
    compiler: CCompiler,
    compile_caller: Compile,
    ltoir_of: Callable[[ExportSet, str, str], bytes],
    tmp_path: Path,
    language: str,
    arch: str,
) -> None:
    code = {
        "typed": lambda: KINDS_IR,
        "opaque": lambda: KINDS_IR.replace("float*", "ptr").replace("half*", "ptr"),
        "cuda": lambda: ltoir_of(kinds(), KINDS_CUDA, "compute_75"),
    }[language]()
    library = tmp_path / "kinds.tilelib"
    library.write_bytes(make_provider(kinds(), code, toolkit=toolkit, compiler=compiler))
    made = compile_caller(KINDS_CALLER, library, arch=arch)
    assert made.code == 0, made.said
    assert made.calls == 0
    exponents, products = counted(made.machine_code, "MUFU.EX2", "HMUL2")
    assert exponents
    assert products


@pytest.fixture(scope="module")
def adders(toolkit: Toolkit, compiler: CCompiler, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two libraries, each with one export, which adds 1 or 2."""
    folder = tmp_path_factory.mktemp("adders")
    for number in (1, 2):
        exports = ExportSet(f"l{number}", (elementwise(f"add{number}", tile_shape=None),))
        text = (
            f"{HEAD}define void @add{number}_impl(float %x, float* %o) {{\n  %r = fadd float %x, {number}.0\n"
            f"  store float %r, float* %o\n  ret void\n}}\n{TAIL}"
        )
        made = make_provider(exports, text, toolkit=toolkit, compiler=compiler)
        (folder / f"add{number}.tilelib").write_bytes(made)
    return sorted(folder.iterdir())


def added(machine_code: str) -> set[str]:
    """The constants that are added."""
    return set(re.findall(r"FADD R\d+, R\d+, (\d)\b", machine_code))


def test_two_providers_and_a_static_library_serve_one_kernel(
    adders: list[Path], compile_caller: Compile, packed: Packed, tmp_path: Path
) -> None:
    static = tmp_path / "three.tilelib"
    static.write_bytes(packed.library)
    caller = CALLER_HEAD + (
        "ANY(float, add1)\nANY(float, add2)\nSIZED(float, 128, relu)\n"
        'extern "C" __tile_global__ void all(float* x, float* a, float* b, float* c) {\n'
        "    CALL(128, add1<128>, x, a)\n    CALL(256, add2<256>, x, b)\n    CALL(128, relu, x, c)\n}\n"
    )
    made = compile_caller(caller, adders[0], static, adders[1], arch="sm_90", TILEWRIGHT_PROVIDER_LOG="1")
    assert made.code == 0, made.said
    assert made.calls == 0
    assert added(made.machine_code) == {"1", "2"}
    assert "l1: provider: asked for implementations of relu for sm_90: none, it is not of this library" in made.said


def test_a_provider_that_nothing_is_called_from_is_no_obstacle(adders: list[Path], compile_caller: Compile) -> None:
    caller = CALLER_HEAD + (
        'ANY(float, add2)\nextern "C" __tile_global__ void k(float* x, float* a) {\n    CALL(64, add2<64>, x, a)\n}\n'
    )
    for libraries in (adders, adders[::-1]):
        made = compile_caller(caller, *libraries, arch="sm_90")
        assert (made.code, made.said) == (0, "")
        assert added(made.machine_code) == {"2"}


def test_code_for_a_newer_architecture_than_the_kernels_is_a_clear_error(
    toolkit: Toolkit,
    compiler: CCompiler,
    compile_caller: Compile,
    ltoir_of: Callable[[ExportSet, str, str], bytes],
    tmp_path: Path,
) -> None:
    library = tmp_path / "new.tilelib"
    ltoir = ltoir_of(EXPORTS, CUDA, "compute_120")
    library.write_bytes(make_provider(EXPORTS, ltoir, toolkit=toolkit, compiler=compiler))
    made = compile_caller(SIZES_CALLER, library, arch="sm_90")
    assert made.code
    assert "mixed: provider: error: the device code was compiled for sm_120, and the kernel is for sm_90a" in made.said
    assert compile_caller(SIZES_CALLER, library, arch="sm_120").calls == 0
