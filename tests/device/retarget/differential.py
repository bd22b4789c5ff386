"""Device text against native code, without a GPU: the text is compiled for the host and both run on the same inputs.

It covers what the text steps and the optimiser do.  It says nothing of GPU code generation, shuffles or libdevice:
`__nv_*` is bound to the very functions that native Rust calls (`host_math.rs`).

Elsewhere: `math = host_math(rustc, folder)`, `library = native_library(rustc, source, folder / "liba.so")`, then
`differences("relu_impl", ("f32", "*f32"), text, library, math)`.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]

LLVM = {
    "f32": "float", "f64": "double", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64",
    "u8": "i8", "u16": "i16", "u32": "i32", "u64": "i64",
}  # fmt: skip
_WIDTH = re.compile(r"(?P<pointer>\*?)(?P<letter>[fiu])(?P<bits>\d+)(?:x(?P<count>\d+))?$")


@dataclass(frozen=True)
class Kind:
    """A native parameter: `f32` by value, `*f32` a pointer to one element, `*i32x4` to four; pointees are compared."""

    element: str
    pointer: bool
    count: int

    @classmethod
    def of(cls, text: str) -> Kind:
        match = _WIDTH.match(text)
        assert match, text
        return cls(match["letter"] + match["bits"], bool(match["pointer"]), int(match["count"] or 1))

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return np.dtype(f"{self.element[0]}{int(self.element[1:]) // 8}")


@dataclass(frozen=True)
class Outcome:
    """How many inputs were tried, how many gave other bytes, and the first of those as text."""

    inputs: int
    mismatches: int
    first: str


def differences(
    symbol: str,
    parameters: Sequence[str],
    text: str,
    library: Path,
    math: Path,
    *,
    inputs: int = 12_000,
    keep: Callable[[list[Array]], NDArray[np.bool_]] | None = None,
) -> Outcome:
    """Runs `symbol` of the device `text` and of the cdylib on the same inputs and compares what is behind the pointers.

    `parameters` are `Kind` texts. NaN equals any NaN; all else is compared bit for bit. `keep` chooses the inputs on
    which neither side panics.
    """
    kinds = [Kind.of(one) for one in parameters]
    generator = np.random.default_rng(int.from_bytes(symbol.encode(), "little") % 2**32)
    columns = _columns(kinds, inputs, generator)
    if keep is not None:
        chosen = keep(columns)
        columns = [np.ascontiguousarray(column[chosen]) for column in columns]
    native = [column.copy() for column in columns]
    device = [column.copy() for column in columns]
    engine = _engine(text, symbol, math)
    handle = ctypes.CDLL(str(library))
    _run(kinds, ctypes.cast(handle[symbol], ctypes.c_void_p).value or 0, native)
    _run(kinds, engine.get_function_address(symbol), device)
    wrong = np.zeros(len(columns[0]), dtype=bool)
    for left, right in zip(native, device, strict=True):
        wrong |= _unequal(left, right)
    first = ""
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        shown = ", ".join(f"{kind.element}: {column[at]!r}" for kind, column in zip(kinds, columns, strict=True))
        got = [column[at].tolist() for kind, column in zip(kinds, device, strict=True) if kind.pointer]
        want = [column[at].tolist() for kind, column in zip(kinds, native, strict=True) if kind.pointer]
        first = f"{symbol}({shown}): native {want}, device text {got}"
    return Outcome(len(columns[0]), int(wrong.sum()), first)


def _unequal(left: Array, right: Array) -> NDArray[np.bool_]:
    bits = np.dtype(f"u{left.dtype.itemsize}")
    unequal = left.view(bits) != right.view(bits)
    if left.dtype.kind == "f":
        unequal &= ~(_is_nan(left) & _is_nan(right))
    return np.asarray(unequal.any(axis=1))


def _is_nan(values: Array) -> NDArray[np.bool_]:
    return np.asarray(values != values)


def special(kind: Kind) -> Array:
    """The values where functions break: zeros, ones, extremes, and for floats infinities, NaN and denormals."""
    if kind.dtype.kind == "f":
        info = np.finfo(kind.dtype)
        values = [0.0, 1.0, 0.5, 2.0, 3.0, 1.5, 2.5, float(info.tiny), float(info.smallest_subnormal), float(info.max)]
        values += [float(info.eps), 127.5, 128.0, 255.0, 256.0, 32768.0, 65536.0, 2.0**31, 2.0**32, 2.0**63, 2.0**64]
        values += [
            float("inf"),
            float("nan"),
            float(np.nextafter(np.asarray(1, kind.dtype), np.asarray(2, kind.dtype))),
        ]
        with np.errstate(over="ignore"):
            return np.asarray([*values, *(-value for value in values)], dtype=kind.dtype)
    low, high = int(np.iinfo(kind.dtype).min), int(np.iinfo(kind.dtype).max)
    values = {low, low + 1, high, high - 1, high // 2, 0, 1, 2, 3, 7, 10, 31, 32, 63, 64, 100, 127}
    values |= {-1, -2, -7, -100} if low else set()
    return np.asarray(sorted(value for value in values if low <= value <= high), dtype=kind.dtype)


def _columns(kinds: Sequence[Kind], inputs: int, generator: np.random.Generator) -> list[Array]:
    """A third special values in random combinations, a third random bits, a third of everyday size."""
    columns = []
    for kind in kinds:
        shape = (inputs, kind.count)
        column = generator.choice(special(kind), size=shape)
        raw = generator.integers(0, 256, size=(inputs, kind.count * kind.dtype.itemsize), dtype=np.uint8).view(
            kind.dtype
        )
        if kind.dtype.kind == "f":
            usual = (generator.standard_normal(shape) * 10.0 ** generator.integers(-3, 3, shape)).astype(kind.dtype)
        else:
            usual = generator.integers(0, 40, shape).astype(kind.dtype)
        which = generator.integers(0, 3, size=shape)
        columns.append(np.where(which == 0, column, np.where(which == 1, raw, usual)))
    return columns


def host_text(text: str) -> str:
    """The same module for this machine."""
    target = llvm.Target.from_default_triple()
    layout = target.create_target_machine().target_data
    text = re.sub(r"^target datalayout = .*$", f'target datalayout = "{layout}"', text, flags=re.MULTILINE)
    text = re.sub(r"^target triple = .*$", f'target triple = "{llvm.get_process_triple()}"', text, flags=re.MULTILINE)
    return re.sub(r"^!nvvmir\.version.*$", "", text, flags=re.MULTILINE)


def _engine(text: str, symbol: str, math: Path) -> llvm.ExecutionEngine:
    """Compiles what `symbol` needs and nothing else; an unresolved name would abort, so it is looked for."""
    _start()
    module = llvm.parse_assembly(host_text(text), llvm.create_context())
    for value in [*module.functions, *module.global_variables]:
        if not value.is_declaration and value.name != symbol:
            value.linkage = "internal"
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0)
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    module.verify()
    for function in module.functions:
        if function.is_declaration and function.name.startswith("__nv_"):
            _bind(function.name, math)
        elif function.is_declaration:
            portable = function.name.startswith("llvm.") and not function.name.startswith("llvm.nvvm.")
            assert portable, f"`{symbol}` needs `{function.name}`, which exists on a GPU only"
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _KEPT.append(engine)
    return engine


_KEPT: list[object] = []  # engines and libraries whose code is still referred to by address


def _start() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.load_library_permanently("libgcc_s.so.1")  # 128-bit division


def native_library(rustc: Path, source: Path, output: Path, *flags: str) -> Path:
    """A cdylib of `source`, as exact as rustc makes it: no optimisation, no checks, panics abort."""
    options = ("-Cpanic=abort", "-Copt-level=0", "-Coverflow-checks=off", "-Cdebug-assertions=off", "-Awarnings")
    command = [rustc, "--edition", "2021", "--crate-type=cdylib", *options, *flags, source, "-o", output]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return output


def host_math(rustc: Path, folder: Path) -> Path:
    """The library of `host_math.rs`, which has a host function for each `__nv_*` that std's methods need."""
    return native_library(rustc, Path(__file__).with_name("host_math.rs"), folder / "libhost_math.so")


def _bind(name: str, math: Path) -> None:
    """Gives a libdevice function the host function of the same meaning: of `math`, else libm's."""
    libraries = (ctypes.CDLL(str(math)), name), (ctypes.CDLL("libm.so.6"), name.removeprefix("__nv_"))
    for library, symbol in libraries:
        _KEPT.append(library)
        if hasattr(library, symbol):
            llvm.add_symbol(name, ctypes.cast(library[symbol], ctypes.c_void_p).value)
            return
    raise AssertionError(f"no host function for `{name}`")


def _run(kinds: Sequence[Kind], address: int, columns: Sequence[Array]) -> None:
    """Calls the function once for each row, in a loop that is compiled for its signature."""
    _start()
    module = llvm.parse_assembly(_loop(kinds), llvm.create_context())
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine(opt=1))
    engine.finalize_object()
    pointers = [column.ctypes.data for column in columns]
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * len(pointers))
    prototype(engine.get_function_address("rows"))(address, len(columns[0]), *pointers)


def _loop(kinds: Sequence[Kind]) -> str:
    lines, arguments = [], []
    for at, kind in enumerate(kinds):
        element = LLVM[kind.element]
        lines.append(f"%a{at} = getelementptr [{kind.count} x {element}], ptr %p{at}, i64 %row")
        if kind.pointer:
            arguments.append(f"ptr %a{at}")
            continue
        lines.append(f"%v{at} = load {element}, ptr %a{at}")
        # The C ABI of the host extends small integers; device text does not look at the upper bits.
        extension = {"i": "signext ", "u": "zeroext "}.get(kind.element[0], "") if element in ("i8", "i16") else ""
        arguments.append(f"{element} {extension}%v{at}")
    body = "\n  ".join(lines)
    columns = "".join(f", ptr %p{at}" for at in range(len(kinds)))
    return f"""
define void @rows(ptr %function, i64 %count{columns}) {{
start:
  %none = icmp eq i64 %count, 0
  br i1 %none, label %end, label %loop
loop:
  %row = phi i64 [ 0, %start ], [ %next, %loop ]
  {body}
  call void %function({", ".join(arguments)})
  %next = add i64 %row, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""
