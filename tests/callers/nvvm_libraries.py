"""A library written in NVVM IR, and Python references for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from callers.libraries import Library
from tilewright.device.module import DeviceModule
from tilewright.device.probe import DATA_LAYOUT
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, Sync, TileExport

F16, F32 = ElementType.F16, ElementType.F32
HEAD = f'target datalayout = "{DATA_LAYOUT}"\ntarget triple = "nvptx64-nvidia-cuda"\n'
BODY = """
define void @relu_impl(float %x, float* %relu_out) {
  %c = fcmp ogt float %x, 0.0
  %r = select i1 %c, float %x, float 0.0
  store float %r, float* %relu_out
  ret void
}
define void @minus_impl(float %a, float %b, float* %minus_out) {
  %r = fsub float %a, %b
  store float %r, float* %minus_out
  ret void
}
define void @halves_impl(half %x, half* %y) {
  %v = load half, half* %y
  %r = fadd half %x, %v
  store half %r, half* %y
  ret void
}
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
define void @warp_sum_impl(float %x, float* %warp_sum_out) {
"""


def _sum() -> str:
    total, lines = "%x", []
    for step in (16, 8, 4, 2, 1):
        call = f"call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float {total}, i32 {step}, i32 31)"
        lines += [f"  %s{step} = {call}", f"  %t{step} = fadd float {total}, %s{step}"]
        total = f"%t{step}"
    return "\n".join([*lines, f"  store float {total}, float* %warp_sum_out", "  ret void", "}", ""])


TAIL = "!nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0}\n"


def value(name: str, element: ElementType) -> Parameter:
    return Parameter(name, element, Access.IN, by_value=True)


def result(name: str, element: ElementType) -> Parameter:
    return Parameter(name, element, Access.OUT, is_return=True)


def nvvm_library() -> Library:
    """relu, minus, halves (f16 by value, in place, 4096 elements) and warp_sum."""
    exports = (
        TileExport("relu", "relu_impl", "relu", (value("x", F32), result("relu_out", F32)), 128),
        TileExport("minus", "minus_impl", "minus", (value("a", F32), value("b", F32), result("minus_out", F32)), 128),
        TileExport("halves", "halves_impl", "halves", (value("x", F16), Parameter("y", F16, Access.INOUT)), 4096),
        TileExport(
            "warp_sum", "warp_sum_impl", "warp_sum", (value("x", F32), result("warp_sum_out", F32)), 128, Sync.WARP
        ),
    )
    return Library(ExportSet("sample", exports), DeviceModule("nvvm", HEAD + BODY + _sum() + TAIL, "sample.ll"))


def warp_sum(x: NDArray[Any]) -> NDArray[Any]:
    lanes = x.reshape(-1, 32)
    for step in (16, 8, 4, 2, 1):
        lanes = lanes + lanes[:, np.arange(32) ^ step]
    return lanes.reshape(-1)


REFERENCES = {
    "relu": lambda x: np.where(x > 0, x, np.float32(0)),
    "minus": lambda a, b: a - b,
    "halves": lambda x, y: x + y,
    "warp_sum": warp_sum,
}
