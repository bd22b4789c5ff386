"""Small exports and device code that the tests of this room share, and jobs for worker processes."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from tilewright.device.module import DeviceError, DeviceModule
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, TileExport
from tilewright.problem import Place, Problem

LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)
IR_HEAD = f'target datalayout = "{LAYOUT}"\ntarget triple = "nvptx64-nvidia-cuda"\n'
IR_TAIL = "!nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0}\n"
RELU_CUDA = 'extern "C" __device__ void relu_impl(float x, float *relu_out) { *relu_out = x > 0.0f ? x : 0.0f; }\n'


def export(name: str, *values: str, footprint: int = 1) -> TileExport:
    """`export("relu", "f32")`: by-value inputs `x`, `x1`... of those elements and a return slot of the first."""
    inputs = [
        Parameter("x" + (str(number) if number else ""), element(label), Access.IN, footprint, by_value=footprint == 1)
        for number, label in enumerate(values)
    ]
    slot = Parameter(f"{name}_out", element(values[0]), Access.OUT, footprint, is_return=True)
    return TileExport(name, f"{name}_impl", name, (*inputs, slot), 128, where=Place("a/k.cu", 7, 3))


def element(label: str) -> ElementType:
    found = ElementType.named(label)
    assert found is not None
    return found


def library(*exports: TileExport) -> ExportSet:
    return ExportSet("sample", exports)


RELU = library(export("relu", "f32"))


def cuda(text: str, name: str = "a/k.cu", headers: tuple[tuple[str, str], ...] = ()) -> DeviceModule:
    """CUDA C++ as the front end writes it: one line of ours, then the user's file from its line 1."""
    return DeviceModule("cuda", f'// Written by tilewright\n#line 1 "{name}"\n{text}', name, headers)


def ir(body: str, name: str = "a/k.ll") -> DeviceModule:
    """An NVVM module with triple, data layout and version around `body`."""
    return DeviceModule("nvvm", IR_HEAD + body + IR_TAIL, name)


def relu_ir(parameters: str = "float %x, float* %o", store: str = "store float %x, float* %o") -> DeviceModule:
    return ir(f"define void @relu_impl({parameters}) {{\n  {store}\n  ret void\n}}\n")


@dataclass(frozen=True)
class Named:
    """An argument that says which source it stands for, as `DeviceModule` does."""

    name: str


def plus_one(number: int) -> int:
    return number + 1


def where_am_i() -> tuple[str, int]:
    return os.getcwd(), os.getpid()


def main_module_file() -> str | None:
    import sys

    return getattr(sys.modules["__main__"], "__file__", None)


def modules_named(*names: str) -> list[str]:
    import sys

    return [name for name in names if name in sys.modules]


def refuse(what: str) -> None:
    raise DeviceError([Problem(what, Place("a/k.cu", 3))])


def crash(source: Named) -> None:
    """Dying on purpose. For tests."""
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(code: int) -> None:
    os._exit(code)


def unpicklable() -> object:
    return lambda: None


def wait_for(path: str) -> str:
    """Says by a file that it runs, then sleeps for a minute."""
    import time

    Path(path).touch()
    time.sleep(60)
    return path


def loaded_libraries(part: str) -> set[str]:
    """Files with `part` in their name that this process has mapped."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {line.split()[-1] for line in lines if part in line.rsplit("/", 1)[-1]}
