"""Library and caller as NVVM IR, compiled for the CPU by LLVM and called there. Runs in workers."""

from __future__ import annotations

import ctypes
import hashlib
import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from tilewright.callers.bundle import Check
from tilewright.callers.host.compiler import aligned
from tilewright.callers.ir.lanes import Lanes
from tilewright.callers.ir.warp_functions import EXCHANGE, PREFIX, REGISTER, RENAMED, definitions
from tilewright.device.module import DeviceError
from tilewright.exports.model import WARP_SIZE, Sync
from tilewright.problem import Place, Problem

LIBDEVICE = "__nv_"
_GPU_LINES = re.compile(r"^target (?:triple|datalayout) = .*$", re.MULTILINE)
_NEEDS_WARP = 'a warp function was called, and the export does not say sync = "warp"'
IN_THE_C_LIBRARY = {
    "fmaf_rn": "fmaf",
    "fma_rn": "fma",
    "fsqrt_rn": "sqrtf",
    "dsqrt_rn": "sqrt",
    "fast_expf": "expf",
    "fast_exp10f": "exp10f",
    "fast_logf": "logf",
    "fast_log2f": "log2f",
    "fast_log10f": "log10f",
    "fast_sinf": "sinf",
    "fast_cosf": "cosf",
    "fast_tanf": "tanf",
    "fast_tanhf": "tanhf",
    "fast_powf": "powf",
    "powif": "__powisf2",
    "powi": "__powidf2",
}
"""Functions of libdevice that the C library or the compiler's has under another name; the rest bear the same name."""


@dataclass(frozen=True, slots=True)
class IrPair:
    """The two modules that meet at the native ABI; `name` is the user's source for messages."""

    name: str
    library: str
    caller: str


@dataclass
class _Machine:
    """What a JIT-compiled function may call back into, and what keeps it alive."""

    engine: Any
    callbacks: tuple[Any, ...]
    place: threading.local
    lanes: list[Lanes]
    fault: list[str]


def run_ir(pair: IrPair, check: Check, images: Sequence[bytes], offset: int) -> tuple[str, tuple[bytes, ...]]:
    """Running on the CPU. To be done by a worker, as user code may crash.

    One launch of a check's kernel on the images of its tiles, which begin `offset` bytes in; gives what went wrong in
    words ("" for nothing) and the images afterwards.  `DeviceError` when the IR cannot be compiled for the CPU.
    """
    machine = _machine(pair)
    memory = [aligned(image, offset) for image in images]
    tiles = [ctypes.addressof(buffer) + start + offset for buffer, start in memory]
    address = machine.engine.get_function_address(check.kernel)
    kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(tiles))(address)
    machine.fault.clear()

    def thread(block: int, first: int, lane: int) -> None:
        index = first + lane
        machine.place.registers = (index, check.threads, block, check.blocks, index % WARP_SIZE, WARP_SIZE)
        kernel(*tiles)

    for block in range(check.blocks):
        if check.sync is Sync.NONE:
            for index in range(check.threads):
                thread(block, index, 0)
        else:
            for first in range(0, check.threads, WARP_SIZE):
                machine.lanes[:] = [Lanes()]
                if fault := machine.lanes[0].run(partial(thread, block, first)):
                    machine.fault.append(fault)
                machine.lanes.clear()
        if machine.fault:
            break
    after = tuple(buffer.raw[start : start + len(image)] for (buffer, start), image in zip(memory, images, strict=True))
    return (machine.fault[0] if machine.fault else ""), after


_machines: dict[bytes, _Machine] = {}


def _machine(pair: IrPair) -> _Machine:
    """The compiled pair, once a process."""
    key = hashlib.sha256("\0".join((pair.library, pair.caller)).encode()).digest()
    if key not in _machines:
        _machines[key] = _compiled(pair)
    return _machines[key]


def _compiled(pair: IrPair) -> _Machine:
    import llvmlite.binding as llvm  # type: ignore[import-untyped]

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=1, jit=True)
    module = _parsed(llvm, pair.library, pair.name)
    module.link_in(_parsed(llvm, pair.caller, "the caller"))
    module.link_in(_parsed(llvm, definitions(), "the warp functions"))
    _bind(llvm, module, pair.name)
    place, lanes, fault = threading.local(), list[Lanes](), list[str]()

    def exchange(operation: int, mask: int, value: int, b: int, c: int) -> int:
        if not lanes:
            fault.append(_NEEDS_WARP)
            return 0
        return lanes[0].exchange(place.registers[4], operation, mask, value, b, c)

    word = ctypes.c_uint32
    callbacks = (
        ctypes.CFUNCTYPE(word, word, word, word, word, word)(exchange),
        ctypes.CFUNCTYPE(word, word)(lambda which: place.registers[which]),
    )
    for name, callback in zip((EXCHANGE, REGISTER), callbacks, strict=True):
        llvm.add_symbol(name, ctypes.cast(callback, ctypes.c_void_p).value)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return _Machine(engine, callbacks, place, lanes, fault)


def _parsed(llvm: Any, text: str, name: str) -> Any:
    text = _GPU_LINES.sub("", text).replace(PREFIX, RENAMED).replace("define ptx_kernel ", "define ")
    try:
        module = llvm.parse_assembly(text)
        module.triple = llvm.get_default_triple()
        module.verify()
    except RuntimeError as error:
        what = f"the IR cannot be run on the CPU: {str(error).strip().splitlines()[-1]}"
        raise DeviceError([Problem(what, Place(name), detail=str(error).strip())]) from None
    return module


def _bind(llvm: Any, module: Any, name: str) -> None:
    """Gives every undefined function an address; libdevice's are those of the C library."""
    libraries = [ctypes.CDLL("libm.so.6")]
    with suppress(OSError):  # also conversions of half, where the CPU has none
        libraries.append(ctypes.CDLL("libgcc_s.so.1", mode=ctypes.RTLD_GLOBAL))
    problems = []
    for function in module.functions:
        if not function.is_declaration or function.name in (EXCHANGE, REGISTER) or function.name.startswith("llvm."):
            continue
        plain = function.name.removeprefix(LIBDEVICE)
        there = IN_THE_C_LIBRARY.get(plain, plain) if function.name.startswith(LIBDEVICE) else ""
        found = next((library[there] for library in libraries if there and hasattr(library, there)), None)
        if found is None:
            shown = function.name.replace(RENAMED, PREFIX)
            what = f"the device code calls `{shown}`, which is not emulated on the CPU"
            problems.append(Problem(what, Place(name), hint="verify on a GPU"))
        else:
            llvm.add_symbol(function.name, ctypes.cast(found, ctypes.c_void_p).value)
    if problems:
        raise DeviceError(problems)
