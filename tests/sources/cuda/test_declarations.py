"""Declarations of every shape that are exported, and what around them is not held against them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sources.project import RELU, TILE, exports_of, ltoir, read, refusal, write
from tilewright.device.workers import Workers
from tilewright.toolchain.toolkit import Toolkit

DECLARATIONS = {
    "namespaces": f"""namespace a {{ namespace b::c {{ {TILE} static __device__ float f(float x) {{ return x; }} }} }}
        namespace a::b::c {{ __device__ float g(float x) {{ return f(x); }} }}""",
    "anonymous and inline namespaces": f"""namespace {{ {TILE} __device__ float f(float x) {{ return x; }} }}
        namespace n {{ inline namespace v1 {{ namespace {{
        {TILE} __device__ float g(float x) {{ return x; }} }} }} }}""",
    "overloads": f"""__device__ float f(const float& x) {{ return 1.0f; }}
        __device__ double f(double x) {{ return x; }}
        template <class T> __device__ T f(T x) {{ return x; }}
        {TILE} __device__ float f(float x) {{ return x; }}
        __device__ int f(int a, int b) {{ return a; }}""",
    "C linkage": f"""extern "C" {TILE} __device__ float f(float x) {{ return x; }}
        extern "C" {{ {TILE} __device__ float g(float x) {{ return x; }} }}""",
    "specifiers in macros": f"""
#ifdef __CUDACC__
#define HD __host__ __device__
#else
#define HD
#endif
#define INLINED HD __forceinline__
        {TILE} HD float f(float x) {{ return x; }}
        {TILE} static INLINED float g(float x) {{ return x; }}""",
    "a namespace with attributes": f"""namespace [[deprecated("old")]] a {{
        {TILE} __device__ float f(float x) {{ return x; }} }}""",
    "a kernel of the same file": f"""{TILE} __device__ float f(float x) {{ return x; }}
        __global__ void k(float *p) {{ p[threadIdx.x] = f(p[threadIdx.x]); }}""",
    "specifiers in any order": f"""__device__ {TILE} float f(float x) {{ return x; }}
        {TILE} inline static __host__ __device__ constexpr float g(float x) noexcept {{ return x; }}
        [[nodiscard]] {TILE} __device__ float h(float x) {{ return x; }}
        [[nodiscard, tile_export(tile_shape = 64)]] __device__ __attribute__((unused)) float i(float x) {{ return x; }}
        {TILE} [[nodiscard]] __device__ auto j([[maybe_unused]] float x) -> float {{ return x; }}""",
    "no parameters": f"""{TILE} __device__ float f() {{ return 1.0f; }}
        {TILE} __device__ float g(void) {{ return 1.0f; }}""",
    "comments everywhere": f"""{TILE} /* a */ __device__ /* {"{"} */ float // c
        f /* ( */ (float /* e */ x /* f */) /* g */ {{ return x; }}""",
    "names that repeat": f"""{TILE} __device__ float f(float f) {{ return f; }}
        namespace q {{ {TILE} __device__ float g(float q) {{ return q; }} }}""",
    "macros that would change the wrappers": f"""{TILE} __device__ float f(float x) {{ return x; }}
#define x 3
#define float double
#define const
#define f_out 4""",
    "macros without semicolon before the attribute": f"""
#define DECLARE(a) __device__ int a##_v;
#define BEGIN {{
#define END }}
        DECLARE(q)
        {TILE} __device__ float f(float x) {{ return x; }}
        __device__ int odd() BEGIN return 1; END
        {TILE} __device__ float g(float x) {{ return x; }}""",
    "strings that look like code": f"""__device__ const char *text = R"x([[tile_export]] {{ " )" /* )x";
        {TILE} __device__ float f(float x) {{ return x > '}}' ? x : "}}//"[0]; /* }} */ }} // }}
        {TILE} __device__ float g(float x) {{ return x; }}""",
    "an include guard around the file": f"#ifndef K_CU\n#define K_CU\n{RELU}#endif",
    "disabled text": f"#if 0\nit's {{ broken \" here [[tile_export(nonsense)]]\n#else\n#endif\n{RELU}",
    "Windows line ends": RELU.replace("\n", "\r\n"),
    "a byte order mark": "\ufeff" + RELU,
    "a last line that goes on": RELU + "// ends with \\",
    "modern C++ around": f"""template <class A, class... B> struct S : A {{ using A::A; template <int N> __device__
        auto m() && noexcept(N > 3) -> int {{ return 1'000; }} }};
        template <int N> requires (N > 1) __device__ int c() {{ return N; }}
        enum class E : int {{ a, b }}; struct P {{ float a; }};
        __device__ struct P make(float x) {{ return {{x}}; }}
        {TILE} __device__ float f(float x) {{ auto l = [&](float y) {{ return y + x; }};
            if constexpr (true) return x < 1 ? make(l(x)).a : 3; }}
        __global__ void k(float *p) {{ *p = f(*p) + c<2>(); }}""",
}


@pytest.mark.parametrize("case", DECLARATIONS)
def test_declarations_that_are_exported_and_compile(
    case: str, tmp_path: Path, toolkit: Toolkit, workers: Workers
) -> None:
    text = DECLARATIONS[case]
    exports = exports_of(tmp_path, text)
    named = [export.function for export in exports]
    count = text.partition("#if 0")[0].count("tile_export") - text.count('R"x([[tile_export') or 1
    assert named == (["relu"] if "relu" in text else list("fghij"[:count]))
    assert ltoir(tmp_path, toolkit, workers)


@pytest.mark.parametrize(
    "text",
    [
        "__device__ void meet(int) {} __device__ void meet(float) { __syncthreads(); } "
        "{TILE} __device__ float f(float x) { meet(1); return x; }",
        "struct W; __device__ W& warp(); __device__ void sync() { __syncthreads(); } "
        "{TILE} __device__ float f(float x) { warp().sync(); return x; }",
        "__shared__ float buffer[4]; {TILE} __device__ float f(float buffer) { return buffer; }",
        "__device__ float meet() { __syncthreads(); return 1; } "
        "{TILE} __device__ float f(float x) { float meet = x; return meet; }",
        "{TILE} __device__ float f(float x) { /* __syncthreads() */ return x; }",
    ],
)
def test_a_barrier_that_the_export_does_not_reach_is_not_held_against_it(text: str, tmp_path: Path) -> None:
    assert len(exports_of(tmp_path, text.replace("{TILE}", TILE))) == 1


def test_specifiers_may_come_from_a_macro_of_a_header(tmp_path: Path, toolkit: Toolkit, workers: Workers) -> None:
    text = '#include "hd.cuh"\n' + RELU.replace("__device__", "INLINED")
    head = "#define HD __host__ __device__ // both\n#define INLINED \\\n    HD __forceinline__\n#define x 1\n"
    write(tmp_path, {"k.cu": text.replace(" x", " y").replace("x ", "y "), "hd.cuh": head})
    assert [parameter.name for parameter in read(tmp_path).exports.exports[0].parameters] == ["y", "relu_out"]
    assert ltoir(tmp_path, toolkit, workers)


@pytest.mark.parametrize("attributes", ["nodiscard, tile_exprot(tile_shape = 128)", "Tile_Export", "tileexport"])
def test_a_misspelt_attribute_is_not_passed_over(attributes: str, tmp_path: Path) -> None:
    write(tmp_path, {"k.cu": f"{RELU}[[{attributes}]] __device__ float f(float x) {{ return x; }}\n"})
    message = refusal(tmp_path)
    assert message.startswith("k.cu:3:")
    assert "error: there is no attribute `" in message
    assert "  hint: did you mean `tile_export`?" in message
