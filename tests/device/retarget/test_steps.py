"""Each text step on the smallest module that shows it."""

from __future__ import annotations

from itertools import pairwise

import llvmlite.binding as llvm
import pytest

from tilewright.device.module import DeviceError
from tilewright.device.retarget.attributes import filter_attributes, tidy_attributes
from tilewright.device.retarget.header import DATA_LAYOUT, retarget_header
from tilewright.device.retarget.libdevice import SIGNATURES, is_pure, nearest
from tilewright.device.retarget.markers import remove_markers
from tilewright.device.retarget.mathematics import rename_math
from tilewright.device.retarget.memory import define_comparisons
from tilewright.device.retarget.optimise import optimise
from tilewright.device.retarget.panics import trap_panics
from tilewright.device.retarget.reachable import forbidden, undefined
from tilewright.device.retarget.shims import SHIMS, define_shims
from tilewright.device.retarget.text import entities, path, signature
from tilewright.device.retarget.unwinding import remove_unwinding
from tilewright.toolchain.toolkit import Toolkit


def parsed(text: str) -> str:
    """The text when LLVM finds nothing wrong with it."""
    with llvm.parse_assembly(text, llvm.create_context()) as module:
        module.verify()
    return text


def test_the_header_names_the_gpu_and_nothing_of_the_host() -> None:
    host = (
        "; ModuleID = 'a.1234-cgu.0'\nsource_filename = \"a.1234-cgu.0\"\n"
        'target datalayout = "e-m:e"\ntarget triple = "x86_64-unknown-linux-gnu"\n\n'
        "define void @f(ptr %p) {\n  %x = load i8, ptr %p, align 1, !range !3, !noundef !4\n  ret void\n}\n\n"
        "!llvm.module.flags = !{!0}\n!llvm.ident = !{!2}\n!0 = !{i32 8}\n"
        '!2 = !{!"rustc"}\n!3 = !{i8 0, i8 2}\n!4 = !{}\n'
    )
    assert parsed(retarget_header(host, "a/relu.rs")) == (
        f'source_filename = "a/relu.rs"\ntarget datalayout = "{DATA_LAYOUT}"\ntarget triple = "nvptx64-nvidia-cuda"\n\n'
        "define void @f(ptr %p) {\n  %x = load i8, ptr %p, align 1\n  ret void\n}\n\n"
        "!nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0}\n"
    )


def test_attribute_groups_keep_the_allowed_words_and_become_convergent() -> None:
    group = 'attributes #1 = { inlinehint noinline nounwind nonlazybind memory(read) "probe-stack"="inline-asm" }\n'
    assert filter_attributes(group) == "attributes #1 = { convergent inlinehint nounwind }\n"
    unknown = 'attributes #0 = { tomorrow "cold"="no" }\n'
    assert filter_attributes(unknown) == "attributes #0 = { convergent }\n"


def test_call_sites_lose_their_groups() -> None:
    assert filter_attributes("  %a = call i8 @f(ptr %x) #9\n") == "  %a = call i8 @f(ptr %x)\n"
    assert filter_attributes("define i8 @f() #9 {\n") == "define i8 @f() #9 {\n"


def test_after_the_optimiser_convergence_stays_as_found() -> None:
    group = "attributes #1 = { nocallback nofree nounwind willreturn memory(none) }\n"
    assert tidy_attributes(group) == "attributes #1 = { nounwind willreturn memory(none) }\n"


def test_unwinding_remains_are_stripped() -> None:
    text = (
        "declare i32 @rust_eh_personality()\n"
        "define void @f() personality ptr @rust_eh_personality {\nstart:\n  ret void\n\n"
        "dead:\n  resume { ptr, i32 } zeroinitializer\n}\n"
    )
    assert remove_unwinding(text).splitlines()[1:] == [
        "define void @f() {", "start:", "  ret void", "", "dead:", "  unreachable", "}",
    ]  # fmt: skip


def test_markers_are_deleted_with_their_declarations() -> None:
    kept = "define void @f(ptr %p) {\n  ret void\n}\n"
    text = (
        "define void @f(ptr %p) {\n  call void @llvm.lifetime.start.p0(ptr %p)\n  call void @llvm.assume(i1 true)\n"
        "  tail call void @llvm.experimental.noalias.scope.decl(metadata !1)\n  ret void\n}\n"
        "declare void @llvm.lifetime.start.p0(ptr)\ndeclare void @llvm.assume(i1 noundef) #0\n"
        "declare void @llvm.experimental.noalias.scope.decl(metadata)\n"
    )
    assert remove_markers(text) == kept


def test_a_panic_that_is_declared_traps() -> None:
    symbol = "_RNvNtCsgEmfK2I1SDS_4core9panicking18panic_bounds_check"
    text = f"declare void @{symbol}(i64, i64, ptr align 8) unnamed_addr #7\nattributes #7 = {{ cold noreturn }}\n"
    assert parsed(trap_panics(text)) == (
        f"define internal void @{symbol}(i64, i64, ptr align 8) alwaysinline cold convergent noreturn nounwind {{\n"
        "  call void @llvm.trap()\n  unreachable\n}\nattributes #7 = { cold noreturn }\n"
        "declare void @llvm.trap() cold noreturn nounwind\n"
    )


def test_a_function_that_never_returns_for_other_reasons_is_left_undefined() -> None:
    text = "declare void @_RNvNtC3std7process4exit(i32) #7\nattributes #7 = { noreturn }\n"
    assert trap_panics(text) == text
    returning = "declare void @_RNvNtC4core9panicking5panic(i32) #7\nattributes #7 = { cold }\n"
    assert trap_panics(returning) == returning


@pytest.mark.parametrize("name", SHIMS)
def test_every_shim_has_a_body_that_llvm_accepts(name: str) -> None:
    result, parameters = SHIMS[name].types.rstrip(")").split(" (")
    text = parsed(define_shims(f"declare {result} @{name}({parameters}) unnamed_addr\n"))
    assert f"define internal {result} @{name}(" in text
    (intrinsic,) = [one.name for one in entities(text).values() if one.kind == "declare"]
    assert intrinsic.startswith("llvm.nvvm.")
    assert "convergent" in text
    assert [*undefined(text, [name], text)] == []


def test_shims_share_one_intrinsic() -> None:
    both = "".join(f"declare i32 @__tilewright_shuffle_xor_{kind}_sync(i32, i32, i32)\n" for kind in ("i32", "u32"))
    assert define_shims(both).count("declare i32 @llvm.nvvm.shfl.sync.bfly.i32(") == 1


@pytest.mark.parametrize(
    ("mode", "name", "clamp"),
    [("xor", "bfly", 31), ("up", "up", 0), ("down", "down", 31), ("idx", "idx", 31)],
)
def test_a_shuffle_clamps_at_the_edge_of_its_warp(mode: str, name: str, clamp: int) -> None:
    call = f"call float @llvm.nvvm.shfl.sync.{name}.f32(i32 %0, float %1, i32 %2, i32 {clamp})"
    assert call in SHIMS[f"__tilewright_shuffle_{mode}_f32_sync"].body


MATH = """define float @f(float %x, double %y) {{
  %a = call float @{single}(float %x)
  %b = call double @{double}(double %y)
  ret float %a
}}
declare float @{single}(float)
declare double @{double}(double)
"""


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "log2", "log10", "sin", "cos", "tan", "tanh"])
def test_intrinsics_become_libdevice(name: str) -> None:
    text = parsed(rename_math(MATH.format(single=f"llvm.{name}.f32", double=f"llvm.{name}.f64")))
    assert f"call float @__nv_{name}f(float %x)" in text
    assert f"declare double @__nv_{name}(double) nounwind willreturn memory(none)" in text
    assert "llvm." not in text


@pytest.mark.parametrize("name", ["cbrt", "expm1", "log1p", "sinh", "tanh", "erf", "tgamma"])
def test_libm_symbols_become_libdevice(name: str) -> None:
    text = parsed(rename_math(MATH.format(single=f"{name}f", double=name)))
    assert f"call float @__nv_{name}f(float %x)" in text
    assert f"call double @__nv_{name}(double %y)" in text


def test_exact_functions_stay_intrinsics_until_the_optimiser_has_run() -> None:
    text = MATH.format(single="llvm.fabs.f32", double="llvm.roundeven.f64")
    assert "@llvm.fabs.f32(float %x)" in rename_math(text)
    late = parsed(rename_math(text, exact=True))
    assert "@__nv_fabsf(float %x)" in late
    assert "@__nv_rint(double %y)" in late


def test_a_function_of_the_users_with_a_libm_name_is_left_alone() -> None:
    text = "define float @tanhf(float %x) {\n  ret float %x\n}\n"
    assert rename_math(text) == text


def test_the_remainder_is_exact() -> None:
    text = rename_math("define float @f(float %x) {\n  %r = frem float %x, 3.000000e+00\n  ret float %r\n}\n")
    assert "%r = call float @__nv_fmodf(float %x, float 3.000000e+00)" in parsed(text)


def test_the_table_of_libdevice_is_that_of_the_toolkit(toolkit: Toolkit) -> None:
    data = toolkit.require("libdevice").path.read_bytes()
    with llvm.parse_bitcode(data, llvm.create_context()) as module:
        real = {
            one.name: "{} ({})".format(str(kinds[0]), ", ".join(map(str, kinds[1:])))
            for one in module.functions
            if one.name.startswith("__nv_") and not one.is_declaration
            for kinds in [list(one.global_value_type.elements)]
        }
    assert real == SIGNATURES


def test_libdevice_functions_with_pointers_are_not_pure() -> None:
    assert is_pure("__nv_expf")
    assert not is_pure("__nv_sincosf")
    assert nearest("__nv_tanhff") == "__nv_tanhf"


def test_comparisons_of_memory_get_a_body() -> None:
    declared = "declare i32 @memcmp(ptr, ptr, i64)\ndeclare i32 @bcmp(ptr, ptr, i64) #3\nattributes #3 = { nounwind }\n"
    text = parsed(define_comparisons(declared))
    assert [one.kind for one in entities(text).values()] == ["define", "define"]


def test_entities_know_who_mentions_whom() -> None:
    found = entities(
        '@text = private constant [6 x i8] c"@three", align 1\n@cell = internal global i32 0\n'
        "@table = constant ptr @two\n@tls = thread_local constant i8 0\n"
        "define void @one() {\n; call @nobody\n  call void @two()\n  %x = load ptr, ptr @table\n  ret void\n}\n"
        "declare void @two()\n"
    )
    kinds = "text constant cell variable table constant tls variable one define two declare"
    assert " ".join(f"{name} {one.kind}" for name, one in found.items()) == kinds
    assert found["text"].references == ()
    assert found["one"].references == ("two", "table")
    assert found["one"].calls == ("two",)
    assert path(found, "table", "two") == ("table", "two")
    assert path(found, "two", "one") == ()


def test_a_signature_has_types_without_attributes() -> None:
    line = (
        "define hidden noundef range(i32 0, 2) i32 @f(ptr noalias noundef align 4 dereferenceable(16) %x, "
        "{ i64, ptr } %1, ptr sret([24 x i8]) captures(none) %2) unnamed_addr #0 {"
    )
    assert signature(line).types == "i32 (ptr, { i64, ptr }, ptr)"


def test_shared_memory_is_refused() -> None:
    tile = "@tile = internal addrspace(3) global [4 x float] undef\n"
    text = f"{tile}define void @f() {{\n  store i8 0, ptr @tile\n  ret void\n}}\n"
    (found,) = forbidden(text, ["f"])
    assert (found.rule, found.what) == (
        "shared-memory", "`tile`, which the export `f` reaches, is shared memory: a tile function owns none",
    )  # fmt: skip


def test_an_unknown_intrinsic_is_refused() -> None:
    barrier = "void @llvm.amdgcn.s.barrier()"
    text = f"define void @f() {{\n  call {barrier}\n  ret void\n}}\ndeclare {barrier}\n"
    (found,) = undefined(text, ["f"], text)
    assert found.rule == "unknown-intrinsic"
    assert found.what == "the intrinsic `llvm.amdgcn.s.barrier`, which the export `f` reaches, does not exist on a GPU"


def test_a_long_way_to_an_undefined_function_is_cut_in_the_middle() -> None:
    names = ["f", *(f"g{number}" for number in range(6)), "last"]
    bodies = (f"define void @{a}() {{\n  call void @{b}()\n  ret void\n}}\n" for a, b in pairwise(names))
    text = "".join(bodies) + "declare void @last()\n"
    (found,) = undefined(text, ["f"], text)
    assert "through `g0` -> `g1` -> `g2` -> ... -> `g5`, does not exist" in found.what


def test_ir_that_llvm_cannot_read_is_an_error_with_llvms_text() -> None:
    with pytest.raises(DeviceError, match="of llvmlite cannot read the module") as caught:
        optimise('target triple = "nvptx64-nvidia-cuda"\ndefine void @f() {\n  newer i32 %x\n}\n', ["f"])
    assert "expected instruction opcode" in caught.value.problems[0].detail


def test_vectorisers_are_off() -> None:
    body = "".join(
        f"  %p{n} = getelementptr float, ptr %p, i64 {n}\n  %a{n} = load float, ptr %p{n}, align 16\n"
        f"  %b{n} = fmul float %a{n}, %x\n  store float %b{n}, ptr %p{n}, align 16\n"
        for n in range(4)
    )
    head = f'target datalayout = "{DATA_LAYOUT}"\ntarget triple = "nvptx64-nvidia-cuda"\n'
    text = optimise(f"{head}define void @f(ptr noalias %p, float %x) {{\n{body}  ret void\n}}\n", ["f"])
    assert text.count("fmul float") == 4
