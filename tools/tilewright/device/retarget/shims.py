"""The warp and thread operations that Rust source names by a private prefix, and what they are in NVVM IR.

This table is the whole contract with the Rust crate, which declares in an `extern "C"` block, `u32` being `i32` here:

| symbol | Rust signature |
| --- | --- |
| `__tilewright_shuffle_{xor,up,down,idx}_{f32,i32,u32}_sync` | `(mask: u32, value: T, lane_or_delta: u32) -> T` |
| `__tilewright_ballot_sync` | `(mask: u32, predicate: u32) -> u32` |
| `__tilewright_any_sync`, `__tilewright_all_sync` | `(mask: u32, predicate: u32) -> u32`, the result is 0 or 1 |
| `__tilewright_warp_sync` | `(mask: u32)` |
| `__tilewright_lane_id` | `() -> u32` |
| `__tilewright_{thread_index,block_index,block_dim}_{x,y,z}` | `() -> u32` |

A predicate is true when it is not zero.  `__nv_*` names are libdevice's and need no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.device.module import DeviceError
from tilewright.device.retarget.text import entities, signature
from tilewright.problem import Problem

PREFIX = "__tilewright_"


@dataclass(frozen=True, slots=True)
class Shim:
    """One row: `types` as in `float (i32, float, i32)`, `body` over `%0`, `%1`, ... and the intrinsic it declares."""

    types: str
    body: str
    intrinsic: str


def _shuffles() -> Iterator[tuple[str, Shim]]:
    # The last operand is the clamp: the lowest lane for `up`, the highest of the segment (31) for the others.
    for name, mode, clamp in (("xor", "bfly", 31), ("up", "up", 0), ("down", "down", 31), ("idx", "idx", 31)):
        for suffix, kind, short in (("f32", "float", "f32"), ("i32", "i32", "i32"), ("u32", "i32", "i32")):
            callee = f"@llvm.nvvm.shfl.sync.{mode}.{short}"
            call = f"%r = call {kind} {callee}(i32 %0, {kind} %1, i32 %2, i32 {clamp})\n  ret {kind} %r"
            yield (
                f"{PREFIX}shuffle_{name}_{suffix}_sync",
                Shim(f"{kind} (i32, {kind}, i32)", call, f"{kind} {callee}(i32, {kind}, i32, i32)"),
            )


def _votes() -> Iterator[tuple[str, Shim]]:
    for name, result in (("ballot", "i32"), ("any", "i1"), ("all", "i1")):
        callee = f"@llvm.nvvm.vote.{name}.sync"
        last = "ret i32 %r" if result == "i32" else "%w = zext i1 %r to i32\n  ret i32 %w"
        body = f"%p = icmp ne i32 %1, 0\n  %r = call {result} {callee}(i32 %0, i1 %p)\n  {last}"
        yield f"{PREFIX}{name}_sync", Shim("i32 (i32, i32)", body, f"{result} {callee}(i32, i1)")


def _registers() -> Iterator[tuple[str, Shim]]:
    rows = [("lane_id", "laneid")]
    rows += [
        (f"{name}_{axis}", f"{register}.{axis}")
        for name, register in (("thread_index", "tid"), ("block_index", "ctaid"), ("block_dim", "ntid"))
        for axis in "xyz"
    ]
    for name, register in rows:
        callee = f"i32 @llvm.nvvm.read.ptx.sreg.{register}()"
        yield PREFIX + name, Shim("i32 ()", f"%r = call {callee}\n  ret i32 %r", callee)


SHIMS: dict[str, Shim] = {
    **dict(_shuffles()),
    **dict(_votes()),
    PREFIX + "warp_sync": Shim(
        "void (i32)", "call void @llvm.nvvm.bar.warp.sync(i32 %0)\n  ret void", "void @llvm.nvvm.bar.warp.sync(i32)"
    ),
    **dict(_registers()),
}
"""Symbol -> row."""


def define_shims(text: str) -> str:
    """Gives every declared shim its body, internal and always inlined; a wrong signature or name is refused."""
    found = entities(text)
    declared = [e for e in found.values() if e.kind == "declare" and e.name.startswith(PREFIX)]
    problems = [problem for entity in declared for problem in _mismatch(entity.name, entity.lines[0])]
    if problems:
        raise DeviceError(problems)
    intrinsics: dict[str, None] = {}
    for entity in declared:
        shim = SHIMS[entity.name]
        result, parameters = shim.types.rstrip(")").split(" (")
        arguments = ", ".join(f"{one} %{at}" for at, one in enumerate(filter(None, parameters.split(", "))))
        head = f"define internal {result} @{entity.name}({arguments}) alwaysinline convergent nounwind {{"
        text = text.replace(entity.lines[0], f"{head}\nstart:\n  {shim.body}\n}}")
        if shim.intrinsic.partition("@")[2].partition("(")[0] not in found:
            intrinsics[f"declare {shim.intrinsic} convergent nounwind\n"] = None
    return text.rstrip("\n") + "\n" + "".join(intrinsics)


def _mismatch(name: str, line: str) -> Iterator[Problem]:
    if name not in SHIMS:
        yield Problem(what=f"`{name}` is no device operation", rule="unknown-shim", hint="use the cuda_device crate")
    elif (types := signature(line).types) != SHIMS[name].types:
        yield Problem(
            what=f"`{name}` is declared as `{types}`, but it is `{SHIMS[name].types}`",
            rule="shim-signature",
            hint="use the cuda_device crate of this release",
        )
