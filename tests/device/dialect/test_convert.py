"""Each construct of LLVM 22 in the old dialect, read back by LLVM and accepted by libNVVM for compute_75."""

from __future__ import annotations

import re
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from tilewright.device.dialect.convert import to_typed_pointers
from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.nvvm import compile_ir
from tilewright.device.retarget.header import DATA_LAYOUT, VERSION
from tilewright.device.workers import Workers
from tilewright.toolchain.toolkit import Toolkit

HEAD = f'target datalayout = "{DATA_LAYOUT}"\ntarget triple = "nvptx64-nvidia-cuda"\n'


def module(body: str, parameters: str = "ptr %p, i32 %i, float %x", before: str = "") -> str:
    text = f"{HEAD}{before}\ndefine void @f({parameters}) {{\nstart:\n"
    return text + "".join(f"  {line.strip()}\n" for line in body.strip().splitlines()) + f"  ret void\n}}\n{VERSION}"


def converted(text: str, **options: object) -> str:
    """The old text, which LLVM must read and find correct."""
    old = to_typed_pointers(text, **options)  # type: ignore[arg-type]
    with llvm.parse_assembly(old, llvm.create_context()) as parsed:
        parsed.verify()
    return old


def lines(body: str, **options: str) -> list[str]:
    """The old lines of the body, without the closing `ret void`."""
    text = converted(module(body, **options)).splitlines()
    start = text.index("start:")
    return [line.strip() for line in text[start + 1 : text.index("}", start)]][:-1]


def _rows() -> dict[str, tuple[str, list[str]]]:
    sections = Path(__file__).with_name("rows.txt").read_text().split("\n== ")[1:]
    split = (section.split("\n", 1) for section in sections)
    return {name: (body.split("->\n")[0], body.split("->\n")[1].split("\n")[:-1]) for name, body in split}


ROWS = {name: (body, [line for line in expected if line]) for name, (body, expected) in _rows().items()}


@pytest.mark.parametrize("name", ROWS)
def test_an_instruction_becomes_these_lines(name: str) -> None:
    body, expected = ROWS[name]
    assert lines(body) == expected


def test_numbered_values_and_labels_get_names() -> None:
    text = converted(
        f"{HEAD}define void @f(i32 %0) {{\n  %2 = add i32 %0, 1\n  br label %3\n\n3:\n  ret void\n}}\n{VERSION}"
    )
    assert "define void @f(i32 %arg) {\nbb:\n  %i = add i32 %arg, 1\n  br label %bb1\nbb1:\n  ret void\n}" in text


def test_new_names_do_not_meet_old_ones() -> None:
    assert lines("%cast1 = load float, ptr %p, align 4")[0] == "%cast_1 = bitcast i8* %p to float*"


def test_control_flow_survives() -> None:
    body = """switch i32 %i, label %end [
      i32 0, label %one
      i32 -1, label %one
    ]

one:
    %a = phi ptr [ %p, %start ], [ null, %start ]
    br i1 poison, label %one2, label %end

one2:
    unreachable

end:"""
    text = converted(module(body.replace("[ %p, %start ], [ null, %start ]", "[ %p, %start ], [ %p, %start ]")))
    assert "  switch i32 %i, label %end [\n    i32 0, label %one\n    i32 -1, label %one\n  ]" in text.replace(
        "\n  i32", "\n    i32"
    )
    assert "%a = phi i8* [ %p, %start ], [ %p, %start ]" in text
    assert "br i1 undef, label %one2, label %end" in text


def test_exported_parameters_get_their_element_type_and_calls_to_them_too() -> None:
    before = "define void @g(ptr noundef captures(none) %q) {\nstart:\n  store i8 1, ptr %q, align 1\n  ret void\n}\n"
    text = converted(module("call void @g(ptr noundef %p)", before=before), pointees={"g": ["float"], "f": [None]})
    assert "define void @g(float* %cast1) {\nstart:\n  %q = bitcast float* %cast1 to i8*\n" in text
    assert "bitcast i8* %p to float*\n  call void @g(float* %cast" in text
    assert "define void @f(i8* %p, i32 %i, float %x) {" in text


def test_calls_lose_markers_conventions_and_parameter_attributes() -> None:
    before = (
        "define internal fastcc noundef zeroext i8 @g(i8 noundef zeroext range(i8 0, 2) %a, "
        "ptr align 4 dereferenceable(4) %b) unnamed_addr #0 {\nstart:\n  ret i8 %a\n}\n"
        'attributes #0 = { nofree nounwind memory(none) "x"="y" }\n'
    )
    call = "%a = tail call fastcc noundef zeroext range(i8 0, 2) i8 @g(i8 noundef zeroext 1, ptr nonnull %p) #0"
    text = converted(module(call, before=before))
    assert "%a = call i8 @g(i8 1, i8* %p)" in text
    assert "define internal i8 @g(i8 %a, i8* %b) #0 {" in text
    assert "attributes #0 = { nounwind readnone }" in text


def test_constants_are_cast_where_they_are_used() -> None:
    before = (
        '@text = private unnamed_addr constant [3 x i8] c"ptr", align 1\n'
        "@pair = internal constant <{ ptr, [2 x i32] }> <{ ptr @text, [2 x i32] [i32 1, i32 poison] }>, align 8\n"
        "@inner = internal constant ptr getelementptr inbounds (i8, ptr @pair, i64 8)\n"
    )
    text = converted(module("%a = load i32, ptr getelementptr inbounds (i8, ptr @pair, i64 8), align 4", before=before))
    pair = "<{ i8*, [2 x i32] }>"
    text = text.replace("< {", "<{").replace("} >", "}>")
    assert '@text = internal constant [3 x i8] c"ptr", align 1' in text
    value = "<{ i8* bitcast ([3 x i8]* @text to i8*), [2 x i32] [ i32 1, i32 undef ] }>"
    assert f"@pair = internal constant {pair} {value}" in text
    assert f"i8* getelementptr inbounds (i8, i8* bitcast ({pair}* @pair to i8*), i64 8)" in text


def test_memory_intrinsics_get_their_old_names_and_keep_alignment() -> None:
    before = "declare void @llvm.memcpy.p0.p0.i64(ptr noalias captures(none), ptr readonly, i64, i1 immarg)\n"
    body = (
        "call void @llvm.memcpy.p0.p0.i64(ptr noundef align 4 dereferenceable(8) %p, ptr align 8 %p, i64 8, i1 false)"
    )
    text = converted(module(body, before=before))
    assert "call void @llvm.memcpy.p0i8.p0i8.i64(i8* align 4 %p, i8* align 8 %p, i64 8, i1 false)" in text
    assert "declare void @llvm.memcpy.p0i8.p0i8.i64(i8*, i8*, i64, i1)" in text


REFUSED = {
    "atomicrmw": ("%a = atomicrmw add ptr %p, i32 1 monotonic", "the instruction `atomicrmw`"),
    "atomic load": ("%a = load atomic i32, ptr %p monotonic, align 4", "an atomic load or store"),
    "fence": ("fence seq_cst", "the instruction `fence`"),
    "address space": ("%a = addrspacecast ptr %p to ptr addrspace(3)", "a pointer to another address space"),
    "assembly": ('call void asm sideeffect "nop", ""()', "inline assembly"),
    "vector of pointers": ("%a = getelementptr i8, <2 x ptr> poison, i64 1", "an address of a vector of pointers"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_old_dialect_cannot_say_is_refused_with_the_function(name: str) -> None:
    body, what = REFUSED[name]
    with pytest.raises(DeviceError) as caught:
        to_typed_pointers(module(body))
    (found,) = caught.value.problems
    assert found.rule == "old-dialect"
    assert found.what == f"`f` uses {what}, which libNVVM's dialect for compute_90 and older lacks"


@pytest.mark.parametrize(
    ("before", "what"),
    [
        ("declare void @g(ptr byval({ i64, i64, i64 }) align 8)\n", "the module uses a `byval` parameter"),
        ("define void @h() {\nstart:\n  ret void\n}\n@other = alias void (), ptr @h\n", "uses the alias `@other`"),
        ("@tile = internal addrspace(3) global i32 undef\n", "uses `@tile`, a variable in another address space"),
    ],
)
def test_declarations_that_the_old_dialect_cannot_say_are_refused(before: str, what: str) -> None:
    with pytest.raises(DeviceError) as caught:
        to_typed_pointers(module("", before=before))
    assert any(what in problem.what for problem in caught.value.problems)


def test_an_intrinsic_that_nobody_lowered_is_refused() -> None:
    before = "declare float @llvm.vector.reduce.fadd.v2f32(float, <2 x float>)\n"
    body = "%a = call float @llvm.vector.reduce.fadd.v2f32(float %x, <2 x float> zeroinitializer)"
    with pytest.raises(DeviceError, match=r"`f` uses the intrinsic `llvm.vector.reduce.fadd.v2f32`"):
        to_typed_pointers(module(body, before=before))


def test_every_problem_is_found_in_one_go() -> None:
    with pytest.raises(DeviceError) as caught:
        to_typed_pointers(module("fence seq_cst\n%a = atomicrmw add ptr %p, i32 1 monotonic"))
    assert len(caught.value.problems) == 2


def test_text_that_is_no_ir_is_an_error_with_llvms_text() -> None:
    with pytest.raises(DeviceError, match="the module is no LLVM IR"):
        to_typed_pointers("define nonsense")


def test_libnvvm_accepts_the_result_for_compute_75(toolkit: Toolkit, workers: Workers) -> None:
    numbered = (re.sub(r"%([a-h])\b", rf"%\g<1>{n}", body) for n, (body, _) in enumerate(ROWS.values()))
    body = "\n".join(numbered)
    old = DeviceModule("nvvm", converted(module(body)), "a.ll")
    paths = str(toolkit.require("nvvm").path), str(toolkit.require("libdevice").path)
    assert workers.run(compile_ir, old, "compute_75", *paths)
