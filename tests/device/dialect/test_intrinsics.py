"""Every lowered intrinsic against LLVM's own one, compiled for the host: same bits on many inputs."""

from __future__ import annotations

import ctypes
import itertools
import re

import llvmlite.binding as llvm
import numpy as np
import pytest

from device.retarget.differential import Kind, host_text, special
from tilewright.device.dialect.convert import to_typed_pointers
from tilewright.device.dialect.intrinsics import BODIES, bodies, lowered, old_name
from tilewright.device.retarget.header import DATA_LAYOUT, VERSION

HEAD = f'target datalayout = "{DATA_LAYOUT}"\ntarget triple = "nvptx64-nvidia-cuda"\n'
FLOATS = {"f32": "float", "f64": "double"}
WIDTHS = (8, 16, 32, 64)

TWO_INTEGERS = [f"llvm.{op}.i{bits}" for op in ("smax", "smin", "umax", "umin") for bits in WIDTHS]
TWO_INTEGERS += [f"llvm.{op}.sat.i{bits}" for op in ("uadd", "sadd", "usub", "ssub", "ushl", "sshl") for bits in WIDTHS]
TWO_INTEGERS += [f"llvm.{op}.i8.i{bits}" for op in ("scmp", "ucmp") for bits in WIDTHS]
TWO_FLOATS = [f"llvm.{op}.{kind}" for op in ("maximum", "minimum", "maximumnum", "minimumnum") for kind in FLOATS]
CASTS = [f"llvm.fpto{s}i.sat.i{bits}.{kind}" for s in "su" for bits in WIDTHS for kind in FLOATS]
OTHERS = [f"llvm.abs.i{bits}" for bits in WIDTHS] + [f"llvm.is.fpclass.{kind}" for kind in FLOATS]


def shape(name: str) -> tuple[str, list[str], str]:
    """Result type, kinds of the operands, and the constant operand that is written out (`i1 false`)."""
    last = name.rsplit(".", 1)[1]
    if "fpclass" in name:
        return "i1", [last], ""
    if "fpto" in name:
        return name.split(".")[-2], [last], ""
    if "abs" in name:
        return last, [last], ", i1 false"
    return ("i8" if "cmp" in name else FLOATS.get(last, last)), [last, last], ""


def compiled(text: str, count: int) -> object:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(host_text(text), llvm.create_context())
    module.verify()
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine(opt=1))
    engine.finalize_object()
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (count + 1))
    return engine, prototype(engine.get_function_address("rows"))


def loop(name: str, mask: int = 0) -> str:
    """A function that applies the intrinsic to every row of its columns."""
    result, kinds, constant = shape(name)
    types = [FLOATS.get(kind, kind) for kind in kinds]
    stored = "i8" if result == "i1" else result
    loads, arguments = "", []
    for at, kind in enumerate(types):
        loads += f"  %p{at} = getelementptr {kind}, ptr %c{at}, i64 %row\n  %v{at} = load {kind}, ptr %p{at}, align 1\n"
        arguments.append(f"{kind} %v{at}")
    if ".shl" in name or "shl.sat" in name:  # a shift by the width or more is poison
        loads += f"  %m = and {types[1]} %v1, {int(types[1][1:]) - 1}\n"
        arguments[1] = f"{types[1]} %m"
    constant = f", i32 {mask}" if "fpclass" in name else constant
    declared = ", ".join(types) + (", " + constant.split()[1] if constant else "")
    widen = "  %w = zext i1 %r to i8\n" if result == "i1" else ""
    columns = "".join(f", ptr %c{at}" for at in range(len(kinds)))
    return f"""{HEAD}
declare {result} @{name}({declared})
define void @rows(i64 %count{columns}, ptr %out) {{
start:
  br label %loop
loop:
  %row = phi i64 [ 0, %start ], [ %next, %loop ]
{loads}  %r = call {result} @{name}({", ".join(arguments)}{constant})
{widen}  %o = getelementptr {stored}, ptr %out, i64 %row
  store {stored} {"%w" if widen else "%r"}, ptr %o, align 1
  %next = add i64 %row, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  ret void
}}
{VERSION}"""


def columns(name: str) -> list[np.ndarray]:
    """All pairs of 256 values: every byte, or the special ones and random bits."""
    kinds = [Kind.of(kind) for kind in shape(name)[1]]
    generator = np.random.default_rng(7)
    pools = []
    for kind in kinds:
        if kind.dtype.itemsize == 1:
            pools.append(np.arange(256, dtype=np.uint8).view(kind.dtype))
            continue
        raw = generator.integers(0, 256, size=256 * kind.dtype.itemsize, dtype=np.uint8).view(kind.dtype)
        pools.append(np.concatenate([special(kind), raw]))
    if len(pools) == 1:
        kind = kinds[0]
        edges = [np.asarray(2.0**power, kind.dtype) for power in range(65)] if kind.dtype.kind == "f" else []
        near = [np.nextafter(edge, np.asarray(to, kind.dtype)) for edge in edges for to in (0, np.inf)]
        extra = np.asarray([*edges, *near], dtype=kind.dtype)
        return [np.concatenate([pools[0], extra, -extra])]
    return [np.ascontiguousarray(grid.ravel()) for grid in np.meshgrid(*pools)]


def results(text: str, name: str, inputs: list[np.ndarray]) -> np.ndarray:
    result = shape(name)[0]
    width = 1 if result == "i1" else {"float": 4, "double": 8}.get(result) or int(result[1:]) // 8
    kind = "f" if result in FLOATS.values() else "u"
    out = np.zeros(len(inputs[0]), dtype=f"{kind}{width}")
    engine, rows = compiled(text, len(inputs))
    rows(len(out), *[column.ctypes.data for column in inputs], out.ctypes.data)  # type: ignore[operator]
    assert engine
    return out


def unequal(left: np.ndarray, right: np.ndarray) -> int:
    bits = f"u{left.dtype.itemsize}"
    differ = left.view(bits) != right.view(bits)
    return int((differ & ~((left != left) & (right != right))).sum())


@pytest.mark.parametrize("name", [*TWO_INTEGERS, *TWO_FLOATS, *CASTS, *OTHERS])
def test_the_body_computes_what_llvms_intrinsic_computes(name: str) -> None:
    for mask in (3, 4 | 512, 8 | 256, 16 | 128, 32, 64) if "fpclass" in name else (0,):
        text = loop(name, mask)
        old = to_typed_pointers(text)
        assert f"@{name}(" not in old
        inputs = columns(name)
        assert unequal(results(text, name, inputs), results(old, name, inputs)) == 0


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("llvm.smax.i32", "icmp sgt", "icmp ugt"),
        ("llvm.sadd.sat.i16", "xor i16 %x, -1", "xor i16 %x, 0"),
        ("llvm.fptosi.sat.i32.f32", "or i1 %u, %nan", "or i1 %u, %u"),
        ("llvm.fptoui.sat.i8.f64", "select i1 %under", "select i1 %over"),
        ("llvm.maximum.f32", "and i32", "or i32"),
        ("llvm.is.fpclass.f32", "i32 16, i32 128", "i32 128, i32 16"),
    ],
)
def test_a_broken_body_is_caught(name: str, right: str, wrong: str) -> None:
    text = loop(name, 128)
    old = to_typed_pointers(text)
    broken = old.replace(right, wrong)
    assert broken != old
    inputs = columns(name)
    assert unequal(results(text, name, inputs), results(broken, name, inputs)) > 0


def test_every_kind_of_body_is_compared() -> None:
    compared = [*TWO_INTEGERS, *TWO_FLOATS, *CASTS, *OTHERS, "llvm.fmuladd.f32"]
    assert all(any(pattern.match(name) for name in compared) for pattern, _ in BODIES)


def test_a_body_brings_what_it_needs_once() -> None:
    texts = list(bodies(["llvm.fptosi.sat.i32.f16", "llvm.fptosi.sat.i32.f32", "llvm.fptosi.sat.i32.f16", "other"]))
    names = [re.search(r"@(\w+)\(", text)[1] for text in texts]  # type: ignore[index]
    assert names == ["tilewright_fptosi_sat_i32_f16", "tilewright_fptosi_sat_i32_f32"]


def test_names_of_the_old_dialect() -> None:
    assert old_name("llvm.memcpy.p0.p0.i64") == "llvm.memcpy.p0i8.p0i8.i64"
    assert old_name("llvm.memset.inline.p0.i64") == "llvm.memset.p0i8.i64"
    assert old_name("llvm.sqrt.f32") == "llvm.sqrt.f32"
    assert lowered("llvm.vector.reduce.add.v4i32") is None
    assert all(lowered(f"llvm.{op}.i{bits}") for op, bits in itertools.product(["smax", "abs"], [8, 24, 128]))
