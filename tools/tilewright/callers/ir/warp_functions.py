"""The NVVM intrinsics of a thread in a warp as ordinary functions over two that the host provides.

`@tilewright_exchange(operation, mask, value, b, c)` is called by all lanes of the mask together, and
`@tilewright_register(which)` reads a special register.  PTX ISA: shfl.sync, vote.sync, match.sync, redux.sync.
"""

from __future__ import annotations

from collections.abc import Sequence

PREFIX = "llvm.nvvm."
RENAMED = "tilewright.nvvm."
"""What the prefix becomes, as no host has the intrinsics."""

EXCHANGE = "tilewright_exchange"
REGISTER = "tilewright_register"

OPERATIONS = (
    "shfl.sync.idx", "shfl.sync.up", "shfl.sync.down", "shfl.sync.bfly", "vote.ballot.sync", "match.any.sync",
    "bar.warp.sync", "redux.sync.add", "redux.sync.and", "redux.sync.or", "redux.sync.xor", "redux.sync.umin",
    "redux.sync.umax", "redux.sync.min", "redux.sync.max",
)  # fmt: skip
REGISTERS = ("tid.x", "ntid.x", "ctaid.x", "nctaid.x", "laneid", "warpsize")
"""Registers by number; the other axes are 0 and their sizes 1."""

_EXACT = {
    "fma.rn.f": ("float", "llvm.fma.f32", 3),
    "fma.rn.d": ("double", "llvm.fma.f64", 3),
    "sqrt.rn.f": ("float", "llvm.sqrt.f32", 1),
    "sqrt.rn.d": ("double", "llvm.sqrt.f64", 1),
}
_LIBDEVICE = """\
define float @__nv_rsqrtf(float %x) {
  %d = fpext float %x to double
  %s = call double @llvm.sqrt.f64(double %d)
  %q = fdiv double 1.0, %s
  %r = fptrunc double %q to float
  ret float %r
}
define double @__nv_rsqrt(double %x) {
  %s = call double @llvm.sqrt.f64(double %x)
  %r = fdiv double 1.0, %s
  ret double %r
}
define float @__nv_saturatef(float %x) {
  %p = fcmp ogt float %x, 0.0
  %l = select i1 %p, float %x, float 0.0
  %o = fcmp ogt float %l, 1.0
  %r = select i1 %o, float 1.0, float %l
  ret float %r
}
"""
"""Functions of libdevice that no C library has."""

_ARITHMETIC = {"add.rn": "fadd", "mul.rn": "fmul", "div.rn": "fdiv"}
_REDUCTIONS = [name for name in OPERATIONS if name.startswith("redux")]


def definitions() -> str:
    """A module that defines every function of the table; what nobody calls is dropped by the link's user."""
    lines = [f"declare i32 @{EXCHANGE}(i32, i32, i32, i32, i32)", f"declare i32 @{REGISTER}(i32)"]
    for number, operation in enumerate(OPERATIONS):
        if operation.startswith("shfl"):
            lines += _shuffle(number, operation)
    ballot = OPERATIONS.index("vote.ballot.sync")
    exchange = f"call i32 @{EXCHANGE}(i32 {ballot}, i32 %m, i32 %v, i32 0, i32 0)"
    head = ["%v = zext i1 %p to i32", f"%r = {exchange}"]
    lines += _function("i32", "vote.ballot.sync", "i32 %m, i1 %p", [*head, "ret i32 %r"])
    lines += _function("i1", "vote.any.sync", "i32 %m, i1 %p", [*head, "%b = icmp ne i32 %r, 0", "ret i1 %b"])
    lines += _function("i1", "vote.all.sync", "i32 %m, i1 %p", [*head, "%b = icmp eq i32 %r, %m", "ret i1 %b"])
    match = OPERATIONS.index("match.any.sync")
    call = f"%r = call i32 @{EXCHANGE}(i32 {match}, i32 %m, i32 %v, i32 0, i32 0)"
    lines += _function("i32", "match.any.sync.i32", "i32 %m, i32 %v", [call, "ret i32 %r"])
    for name in _REDUCTIONS:
        call = f"%r = call i32 @{EXCHANGE}(i32 {OPERATIONS.index(name)}, i32 %m, i32 %v, i32 0, i32 0)"
        lines += _function("i32", name, "i32 %v, i32 %m", [call, "ret i32 %r"])
    barrier = OPERATIONS.index("bar.warp.sync")
    call = f"%r = call i32 @{EXCHANGE}(i32 {barrier}, i32 %m, i32 0, i32 0, i32 0)"
    lines += _function("void", "bar.warp.sync", "i32 %m", [call, "ret void"])
    lines += _registers()
    lines += _rounded()
    return "\n".join(lines) + "\n"


def _shuffle(number: int, operation: str) -> list[str]:
    call = f"call i32 @{EXCHANGE}(i32 {number}, i32 %m, i32 %i, i32 %b, i32 %c)"
    whole = _function("i32", f"{operation}.i32", "i32 %m, i32 %i, i32 %b, i32 %c", [f"%r = {call}", "ret i32 %r"])
    body = ["%i = bitcast float %v to i32", f"%r = {call}", "%f = bitcast i32 %r to float", "ret float %f"]
    return whole + _function("float", f"{operation}.f32", "i32 %m, float %v, i32 %b, i32 %c", body)


def _registers() -> list[str]:
    lines: list[str] = []
    for number, name in enumerate(REGISTERS):
        lines += _function(
            "i32", f"read.ptx.sreg.{name}", "", [f"%r = call i32 @{REGISTER}(i32 {number})", "ret i32 %r"]
        )
    for name, value in (("tid", 0), ("ctaid", 0), ("ntid", 1), ("nctaid", 1)):
        for axis in "yz":
            lines += _function("i32", f"read.ptx.sreg.{name}.{axis}", "", [f"ret i32 {value}"])
    return lines


def _rounded() -> list[str]:
    """The intrinsics that round to nearest, which is what the plain operations of a host do, and libdevice's own."""
    lines: list[str] = []
    for name, (kind, intrinsic, count) in _EXACT.items():
        letters = "abc"[:count]
        arguments = ", ".join(f"{kind} %{letter}" for letter in letters)
        lines.append(f"declare {kind} @{intrinsic}({', '.join([kind] * count)})")
        lines += _function(kind, name, arguments, [f"%r = call {kind} @{intrinsic}({arguments})", f"ret {kind} %r"])
    for name, instruction in _ARITHMETIC.items():
        for kind, letter in (("float", "f"), ("double", "d")):
            body = [f"%r = {instruction} {kind} %a, %b", f"ret {kind} %r"]
            lines += _function(kind, f"{name}.{letter}", f"{kind} %a, {kind} %b", body)
    return [*lines, *_LIBDEVICE.splitlines()]


def _function(result: str, name: str, parameters: str, body: Sequence[str]) -> list[str]:
    return [f"define {result} @{RENAMED}{name}({parameters}) {{", *(f"  {line}" for line in body), "}"]


def exchanged(operation: str, lane: int, values: Sequence[int], mask: int, b: int, c: int) -> int:
    """What a lane gets from an operation, given the values of all lanes. One row of the PTX tables a branch."""
    if operation.startswith("shfl"):
        return values[_source(operation, lane, mask, b, c)]
    members = [other for other in range(32) if mask >> other & 1]
    if operation == "vote.ballot.sync":
        return sum(1 << other for other in members if values[other])
    if operation == "match.any.sync":
        return sum(1 << other for other in members if values[other] == values[lane])
    if operation == "bar.warp.sync":
        return 0
    total = values[members[0]]
    for other in members[1:]:
        total = _folded(operation.rpartition(".")[2], total, values[other]) & 0xFFFFFFFF
    return total


def _source(operation: str, lane: int, mask: int, b: int, c: int) -> int:
    segment, clamp, step = c >> 8 & 31, c & 31, b & 31
    highest = (lane & segment) | (clamp & ~segment & 31)
    source, inside = {
        "shfl.sync.up": (lane - step, lane - step >= highest),
        "shfl.sync.down": (lane + step, lane + step <= highest),
        "shfl.sync.bfly": (lane ^ step, lane ^ step <= highest),
        "shfl.sync.idx": ((lane & segment) | (step & ~segment & 31), True),
    }[operation]
    if operation == "shfl.sync.idx":
        inside = source <= highest
    return source if inside and mask >> source & 1 else lane


def _folded(name: str, a: int, b: int) -> int:
    signed = [value - (1 << 32) if value >> 31 else value for value in (a, b)]
    return {
        "add": a + b,
        "and": a & b,
        "or": a | b,
        "xor": a ^ b,
        "umin": min(a, b),
        "umax": max(a, b),
        "min": min(signed),
        "max": max(signed),
    }[name]
