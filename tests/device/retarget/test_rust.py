"""Stock rustc's IR becomes LTOIR for every architecture, or is refused by a name that the user knows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from device.retarget.compiled import body as body_of
from device.retarget.compiled import externs, ptx
from device.retarget.conftest import Functions, compile_rust
from tilewright.device.dialect.convert import to_typed_pointers
from tilewright.device.ltoir import read_header
from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.nvvm import compile_ir
from tilewright.device.retarget.driver import NvvmText, nvvm_text, retarget, retarget_unoptimised
from tilewright.device.retarget.flags import RUSTC_FLAGS
from tilewright.device.retarget.optimise import llvm_version
from tilewright.device.workers import Workers
from tilewright.problem import Problem
from tilewright.toolchain.toolkit import Toolkit

Compile = Callable[..., str]
EXTERN_C = '#[no_mangle] pub unsafe extern "C" fn'


def _nvvm(toolkit: Toolkit) -> str:
    return str(toolkit.require("nvvm").path)


def _libdevice(toolkit: Toolkit) -> str:
    return str(toolkit.require("libdevice").path)


def problems(ir: str, *exports: str) -> tuple[Problem, ...]:
    with pytest.raises(DeviceError) as caught:
        retarget(ir, exports or ("f_impl",), name="a.rs")
    return caught.value.problems


def function(expression: str, before: str = "", parameters: str = "a: u32", result: str = "u32") -> str:
    return f"{before}\n{EXTERN_C} f_impl({parameters}, out: *mut {result}) {{ *out = {expression} }}\n"


@pytest.mark.parametrize(("arch", "dialect"), [("compute_75", 7), ("sm_90", 7), ("compute_120", 22)])
def test_every_function_becomes_ltoir_and_ptx_without_externs(
    arch: str, dialect: int, functions: Functions, toolkit: Toolkit, workers: Workers
) -> None:
    found = nvvm_text(functions.ir, functions.exports, arch, name="functions.rs", nvvm=_nvvm(toolkit))
    assert (found.dialect, found.notes) == (dialect, ())
    module, compute = DeviceModule("nvvm", found.text, "functions.rs"), arch.replace("sm_", "compute_")
    ltoir = workers.run(compile_ir, module, compute, _nvvm(toolkit), _libdevice(toolkit))
    assert read_header(ltoir).arch == int(compute.removeprefix("compute_"))
    code = workers.run(ptx, found.text, compute, _libdevice(toolkit))
    assert externs(code) == []
    for symbol in functions.exports:
        assert body_of(code, symbol)


def test_the_old_text_serves_the_new_architectures_too(
    functions: Functions, toolkit: Toolkit, workers: Workers
) -> None:
    text = to_typed_pointers(functions.text)
    module = DeviceModule("nvvm", text, "functions.rs")
    ltoir = workers.run(compile_ir, module, "compute_120", _nvvm(toolkit), _libdevice(toolkit))
    assert read_header(ltoir).arch == 120
    assert externs(workers.run(ptx, text, "compute_120", _libdevice(toolkit))) == []


@pytest.mark.parametrize("arch", ["compute_90", "compute_120"])
def test_a_plain_function_has_no_call_and_a_panic_is_a_trap(
    arch: str, functions: Functions, toolkit: Toolkit, workers: Workers
) -> None:
    found = nvvm_text(functions.ir, functions.exports, arch, name="functions.rs", nvvm=_nvvm(toolkit))
    code = workers.run(ptx, found.text, arch, _libdevice(toolkit))
    for symbol in ("relu_impl", "iterate_impl", "sorted_impl", "match_impl", "mix_impl", "warp_sum_impl"):
        assert "call" not in body_of(code, symbol), symbol
    for symbol in ("pick_impl", "divide_impl", "messages_impl"):
        assert "trap;" in body_of(code, symbol), symbol
    assert "is too much" not in found.text


def test_a_shuffle_between_branches_is_not_copied_into_them(device_ir: Compile) -> None:
    source = (
        'extern "C" { fn __tilewright_shuffle_xor_f32_sync(mask: u32, value: f32, lane: u32) -> f32; }\n'
        f"{EXTERN_C} f_impl(x: f32, c: u32, out: *mut f32) {{\n"
        "    let m = if c != 0 { x * 2.0 } else { x + 1.0 };\n"
        "    let y = __tilewright_shuffle_xor_f32_sync(u32::MAX, m, 1);\n"
        "    *out = if c != 0 { y * 3.0 } else { y - 1.0 };\n}\n"
    )
    shuffle = "@llvm.nvvm.shfl.sync.bfly.f32(i32 "
    text = retarget(device_ir(source), ["f_impl"], name="a.rs")
    assert len(_calls(text, shuffle)) == 1
    assert len(_calls(to_typed_pointers(text), shuffle)) == 1
    optimised_by_rustc = device_ir(source, [flag.replace("opt-level=0", "opt-level=1") for flag in RUSTC_FLAGS])
    copied = retarget(optimised_by_rustc, ["f_impl"], name="a.rs")
    assert len(_calls(copied, shuffle)) == 2, "the reason for level 0 is gone"


def _calls(text: str, callee: str) -> list[str]:
    return [line for line in text.splitlines() if callee in line and " call " in line]


def test_the_warp_sum_keeps_its_five_shuffles(functions: Functions) -> None:
    text = retarget(functions.ir, ["warp_sum_impl"], name="functions.rs")
    assert text.count("@llvm.nvvm.shfl.sync.bfly.f32(i32 -1,") == 5


CELLS = "use std::cell::Cell;"
ATOMICS = "use std::sync::atomic::{*, Ordering::*};"
REFUSED = {
    "print": (
        function("helper(a)", "fn helper(a: u32) -> u32 { println!(); a }"),
        "undefined-function",
        "`std::io::stdio::_print`, which the export `f_impl` reaches through `a::helper`, does not exist on a GPU",
    ),
    "allocation": (
        function("*Box::new(a)"),
        "undefined-function",
        "`__rustc::__rust_alloc`, which the export `f_impl` reaches through `<alloc::boxed::Box<u32>>::new`",
    ),
    "clock": (
        function("std::time::Instant::now().elapsed().as_secs() as u32 + a"),
        "undefined-function",
        "`<std::time::Instant>::now`, which the export `f_impl` reaches, does not exist on a GPU",
    ),
    "exit": (
        function("if a == 0 { std::process::exit(3) } else { 1 }"),
        "undefined-function",
        "`std::process::exit`, which the export `f_impl` reaches, does not exist on a GPU",
    ),
    "foreign function": (
        function("mine(a)", 'extern "C" { fn mine(a: u32) -> u32; }'),
        "undefined-function",
        "`mine`, which the export `f_impl` reaches, does not exist on a GPU",
    ),
    "static mut": (
        function("{ COUNTER += a; COUNTER }", "static mut COUNTER: u32 = 0;"),
        "mutable-static",
        "`a::COUNTER`, which the export `f_impl` reaches, is mutable",
    ),
    "atomic": (
        function("X.load(Relaxed) + a", f"{ATOMICS} static X: AtomicU32 = AtomicU32::new(0);"),
        "mutable-static",
        "`a::X`, which the export `f_impl` reaches, is mutable",
    ),
    "thread_local": (
        function("X.with(|x| x.get()) + a", f"{CELLS} thread_local! {{ static X: Cell<u32> = Cell::new(1); }}"),
        "thread-local",
        "is thread-local: a GPU has no such thing",
    ),
    "assembly": (
        function('{ let x: u32; std::arch::asm!("mov {0:e}, 5", out(reg) x); x + a }'),
        "inline-assembly",
        "`f_impl`, which the export `f_impl` reaches, holds assembly for the host",
    ),
    "unknown shim": (
        function("{ __tilewright_barrier(); 1 }", 'extern "C" { fn __tilewright_barrier(); }'),
        "unknown-shim",
        "`__tilewright_barrier` is no device operation",
    ),
    "shim with another signature": (
        function("__tilewright_lane_id() as u32", 'extern "C" { fn __tilewright_lane_id() -> u64; }'),
        "shim-signature",
        "`__tilewright_lane_id` is declared as `i64 ()`, but it is `i32 ()`",
    ),
    "libdevice with another signature": (
        function("__nv_erff(a as f64) as u32", 'extern "C" { fn __nv_erff(x: f64) -> f64; }'),
        "libdevice-signature",
        "`__nv_erff` is declared as `double (double)`, but it is `float (float)`",
    ),
    "unknown libdevice function": (
        function("__nv_erfff(a as f32) as u32", 'extern "C" { fn __nv_erfff(x: f32) -> f32; }'),
        "unknown-libdevice",
        "`__nv_erfff` is not a function of libdevice",
    ),
    "float to 128 bits": (
        function("(a as u128 >> 3) as u64", parameters="a: f32", result="u64"),
        "wide-conversion",
        "`f_impl` converts between a float and a 128-bit integer",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_gpu_cannot_do_is_refused_by_name(name: str, device_ir: Compile) -> None:
    source, rule, what = REFUSED[name]
    found = problems(device_ir(source))
    assert [problem.what for problem in found if problem.rule == rule and what in problem.what], found


def test_a_thread_is_refused_with_the_call_that_starts_it(device_ir: Compile) -> None:
    found = problems(device_ir(function("std::thread::spawn(move || a).join().unwrap()")))
    assert any("through `std::thread::functions::spawn::<a::f_impl::{closure#0}, u32>`" in one.what for one in found)


def test_only_what_an_export_reaches_is_refused(device_ir: Compile) -> None:
    unused = "static mut COUNTER: u32 = 0; pub fn unused() -> u32 { println!(); unsafe { COUNTER += 1; COUNTER } }"
    assert "@f_impl(" in retarget(device_ir(function("a + 1", unused)), ["f_impl"], name="a.rs")


def test_a_missing_export_is_named(device_ir: Compile) -> None:
    (found,) = problems(device_ir(function("a")), "f_impl", "g_impl")
    assert str(found) == "error: the module does not define the export `g_impl` [missing-symbol]"


def test_other_functions_are_not_visible(device_ir: Compile) -> None:
    fib = "pub fn fib(n: u32) -> u32 { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }"
    text = retarget(device_ir(function("fib(a & 7)", fib)), ["f_impl"], name="a.rs")
    visible = [line for line in text.splitlines() if re.match("define (?!internal)", line)]
    assert len(visible) == 1
    assert "@f_impl(" in visible[0]
    assert "define internal" in text


def test_std_code_that_could_unwind_is_kept_and_cannot(functions: Functions) -> None:
    assert "personality" in functions.ir
    assert "resume" in functions.ir
    assert "personality" not in functions.text
    assert "resume" not in functions.text


def test_unwinding_code_is_refused(device_ir: Compile) -> None:
    source = function(
        "helper(&D(a))",
        "pub struct D(u32); impl Drop for D { fn drop(&mut self) { unsafe { other() } } } "
        'extern "Rust" { fn other(); } '
        "#[inline(never)] pub fn helper(_: &D) -> u32 { let _d = D(1); unsafe { other() }; 1 }",
    )
    unwinding = device_ir(source, [flag.replace("panic=abort", "panic=unwind") for flag in RUSTC_FLAGS])
    (found,) = [one for one in problems(unwinding) if "a::helper" in one.what]
    assert found.rule == "unwinding"
    assert "`a::helper` unwinds (`invoke`): a GPU cannot" in found.what


def test_an_older_llvmlite_is_said_and_newer_architectures_still_build(
    functions: Functions, toolkit: Toolkit, workers: Workers
) -> None:
    newer = (llvm_version()[0] + 1, 0, 0)

    def built(arch: str) -> NvvmText:
        return nvvm_text(
            functions.ir, functions.exports, arch, name="functions.rs", nvvm=_nvvm(toolkit), rustc_llvm=newer
        )

    found = built("sm_120")
    assert [note.rule for note in found.notes] == ["newer-llvm"]
    assert found.notes[0].what.startswith(f"rustc has LLVM {newer[0]}.0.0, llvmlite only {llvm_version()[0]}.")
    module = DeviceModule("nvvm", found.text, "functions.rs")
    assert workers.run(compile_ir, module, "compute_120", _nvvm(toolkit), _libdevice(toolkit))
    with pytest.raises(DeviceError, match=r"for compute_100 and up only \[newer-llvm\]"):
        built("sm_90")


def test_the_fallback_too_refuses_what_a_gpu_cannot_do(device_ir: Compile) -> None:
    with pytest.raises(DeviceError, match="`std::process::exit`, which the export `f_impl` reaches"):
        retarget_unoptimised(
            device_ir(function("if a == 0 { std::process::exit(3) } else { 1 }")), ["f_impl"], name="a"
        )


def test_the_same_source_gives_the_same_text_wherever_it_lies(rustc: Path, tmp_path: Path) -> None:
    texts = set()
    for folder in (tmp_path / "one", tmp_path / "two" / "deeper"):
        folder.mkdir(parents=True)
        source = folder / "a.rs"
        source.write_text(function("[1, 2, 3][a as usize] + helper(a)", "fn helper(x: u32) -> u32 { x / (x >> 7) }"))
        compile_rust(rustc, source, folder / "a.ll", "--crate-type=lib", *RUSTC_FLAGS)
        ir = (folder / "a.ll").read_text()
        assert str(tmp_path) in ir
        texts.add(retarget(ir, ["f_impl"], name="a.rs"))
    (text,) = texts
    assert str(tmp_path) not in text


def test_global_assembly_is_refused(device_ir: Compile) -> None:
    (found,) = problems(device_ir(function("a", 'std::arch::global_asm!("nop");')))
    assert found.rule == "inline-assembly"
    assert found.what == "the crate holds global assembly for the host"
    assert "nop" in found.detail


def test_libdevice_functions_with_pointers_are_linked_in(
    device_ir: Compile, toolkit: Toolkit, workers: Workers
) -> None:
    declared = (
        'extern "C" { fn __nv_sincosf(x: f32, s: *mut f32, c: *mut f32); fn __nv_frexpf(x: f32, e: *mut i32) -> f32; }'
    )
    body = (
        "{ let (mut s, mut c, mut e) = (0.0f32, 0.0, 0); __nv_sincosf(x, &mut s, &mut c); "
        "s + c * __nv_frexpf(x, &mut e) + e as f32 }"
    )
    ir = device_ir(function(body, declared, "x: f32", "f32"))
    for arch in ("compute_75", "compute_120"):
        found = nvvm_text(ir, ["f_impl"], arch, name="a.rs", nvvm=_nvvm(toolkit))
        code = workers.run(ptx, found.text, arch, _libdevice(toolkit))
        assert externs(code) == []
        assert "call" not in body_of(code, "f_impl")
