"""Intrinsics of LLVM 22 that the old dialect lacks, as internal functions in the old dialect's own words.

The old reader takes an unknown `llvm.*` name for an ordinary function and leaves an extern behind, silently; so each
intrinsic is either in `KNOWN`, or has a body here, or is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

KNOWN = re.compile(
    r"llvm\.(?:"
    r"(?:sqrt|fma|floor|ceil|trunc|maxnum|minnum|copysign)\.f(?:16|32|64)"
    r"|(?:ctpop|ctlz|cttz)\.i(?:8|16|32|64)|bswap\.i(?:16|32|64)|(?:bitreverse|fshl|fshr)\.i\d+|[su](?:add|sub|mul)\.with\.overflow\.i(?:16|32|64)"
    r"|mem(?:cpy|move)\.p0i8\.p0i8\.i\d+|memset\.p0i8\.i\d+|trap"
    r"|nvvm\.shfl\.sync\.(?:bfly|up|down|idx)\.[if]32|nvvm\.vote\.(?:ballot|any|all)\.sync|nvvm\.bar\.warp\.sync"
    r"|nvvm\.read\.ptx\.sreg\.(?:laneid|(?:tid|ctaid|ntid)\.[xyz])"
    r")$"
)
"""What the old dialect knows itself, by its old name."""

PREFIX = "tilewright_"


@dataclass(frozen=True, slots=True)
class Lowered:
    """A function that stands for an intrinsic: its name, the whole definition in the old dialect, what that needs."""

    name: str
    definition: str
    needs: tuple[str, ...] = ()


def _function(name: str, result: str, parameters: str, body: str, needs: tuple[str, ...] = ()) -> Lowered:
    lines = "\n".join(f"  {line.strip()}" for line in body.strip().splitlines())
    attributes = "alwaysinline nounwind readnone"
    text = f"define internal {result} @{name}({parameters}) {attributes} {{\nstart:\n{lines}\n}}\n"
    return Lowered(name, text, needs)


def _extreme(name: str, kind: str, match: re.Match[str]) -> Lowered:
    sign, which = match["op"][0], match["op"][1:]
    predicate = sign + ("gt" if which == "max" else "lt")
    body = f"%c = icmp {predicate} {kind} %a, %b\n%r = select i1 %c, {kind} %a, {kind} %b\nret {kind} %r"
    return _function(name, kind, f"{kind} %a, {kind} %b", body)


def _absolute(name: str, kind: str, match: re.Match[str]) -> Lowered:
    body = f"%n = sub {kind} 0, %a\n%c = icmp slt {kind} %a, 0\n%r = select i1 %c, {kind} %n, {kind} %a\nret {kind} %r"
    return _function(name, kind, f"{kind} %a, i1 %poison_at_min", body)


def _compare(name: str, kind: str, match: re.Match[str]) -> Lowered:
    sign, operand = match["op"][0], match["operand"]
    body = f"""%l = icmp {sign}lt {operand} %a, %b
    %g = icmp {sign}gt {operand} %a, %b
    %s = select i1 %g, {kind} 1, {kind} 0
    %r = select i1 %l, {kind} -1, {kind} %s
    ret {kind} %r"""
    return _function(name, kind, f"{operand} %a, {operand} %b", body)


def _saturating(name: str, kind: str, match: re.Match[str]) -> Lowered:
    sign, operation = match["op"][0], match["op"][1:4]
    if operation == "shl":
        return _saturating_shift(name, kind, sign)
    low, high = _bounds(kind, sign)
    if sign == "u":
        body = {
            "add": f"%v = add {kind} %a, %b\n%o = icmp ult {kind} %v, %a\n%r = select i1 %o, {kind} -1, {kind} %v",
            "sub": f"%v = sub {kind} %a, %b\n%o = icmp ult {kind} %a, %b\n%r = select i1 %o, {kind} 0, {kind} %v",
        }[operation]
    else:
        # Overflow: of an addition when the operands agree in sign, of a subtraction when they differ.
        agree = f"%x = xor {kind} %a, %b\n" + (f"%n = xor {kind} %x, -1" if operation == "add" else "")
        same = "%n" if operation == "add" else "%x"
        body = f"""%v = {operation} {kind} %a, %b
        {agree.strip()}
        %y = xor {kind} %a, %v
        %z = and {kind} {same}, %y
        %o = icmp slt {kind} %z, 0
        %s = icmp slt {kind} %a, 0
        %e = select i1 %s, {kind} {low}, {kind} {high}
        %r = select i1 %o, {kind} %e, {kind} %v"""
    return _function(name, kind, f"{kind} %a, {kind} %b", f"{body}\nret {kind} %r")


def _saturating_shift(name: str, kind: str, sign: str) -> Lowered:
    low, high = _bounds(kind, sign)
    back = "ashr" if sign == "s" else "lshr"
    limit = (
        f"%s = icmp slt {kind} %a, 0\n%e = select i1 %s, {kind} {low}, {kind} {high}"
        if sign == "s"
        else f"%e = or {kind} 0, -1"
    )
    body = f"""%v = shl {kind} %a, %b
    %w = {back} {kind} %v, %b
    %o = icmp ne {kind} %w, %a
    {limit}
    %r = select i1 %o, {kind} %e, {kind} %v
    ret {kind} %r"""
    return _function(name, kind, f"{kind} %a, {kind} %b", body)


def _bounds(kind: str, sign: str) -> tuple[int, int]:
    bits = int(kind[1:])
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if sign == "s" else (0, 2**bits - 1)


_MANTISSA = {"half": 11, "float": 24, "double": 53}
_FLOATS = {"f16": "half", "f32": "float", "f64": "double"}


def _literal(value: int, source: str) -> str:
    """`value` rounded towards zero to one that `source` has, as LLVM writes it; ValueError when out of range."""
    import struct

    extra = max(0, abs(value).bit_length() - _MANTISSA[source])
    exact = (abs(value) >> extra << extra) * (1 if value >= 0 else -1)
    if source == "half":
        if abs(exact) > 65504:
            raise ValueError("half")
        return "0xH" + struct.pack(">e", float(exact)).hex().upper()
    return "0x" + struct.pack(">d", float(exact)).hex().upper()


def _saturating_cast(name: str, kind: str, match: re.Match[str]) -> Lowered:
    """Below the smallest value: that; above the largest: that; NaN: 0. The plain cast happens in range only.

    `low` and `high` are the bounds rounded towards zero; between the rounded and the true bound lies no float.
    """
    sign = match["op"][4]
    source = _FLOATS[match["operand"]]
    low, high = _bounds(kind, sign)
    if source == "half" and int(kind[1:]) >= 16:
        callee = f"@{PREFIX}fpto{sign}i_sat_{kind}_f32"
        widened = f"%w = fpext half %a to float\n%r = call {kind} {callee}(float %w)\nret {kind} %r"
        return _function(name, kind, "half %a", widened, needs=(f"llvm.fpto{sign}i.sat.{kind}.f32",))
    least, most = _literal(low, source), _literal(high, source)
    body = f"""%under = fcmp olt {source} %a, {least}
    %over = fcmp ogt {source} %a, {most}
    %nan = fcmp uno {source} %a, %a
    %u = or i1 %under, %over
    %out = or i1 %u, %nan
    %in = select i1 %out, {source} {"0xH0000" if source == "half" else "0.0"}, {source} %a
    %v = fpto{sign}i {source} %in to {kind}
    %x = select i1 %over, {kind} {high if sign == "s" else -1}, {kind} %v
    %r = select i1 %under, {kind} {low}, {kind} %x
    ret {kind} %r"""
    return _function(name, kind, f"{source} %a", body)


def _ieee_extreme(name: str, kind: str, match: re.Match[str]) -> Lowered:
    """`maximum` gives NaN for a NaN, `maximumnum` the other operand; both know that -0.0 is below 0.0."""
    which, number = match["op"][:7], match["op"].endswith("num")
    integer = {"half": "i16", "float": "i32", "double": "i64"}[kind]
    predicate = "ogt" if which == "maximum" else "olt"
    combine = "and" if which == "maximum" else "or"
    special = (
        f"%q = select i1 %na, {kind} %b, {kind} %m\n%r = select i1 %nb, {kind} %a, {kind} %q"
        if number
        else f"%s = fadd {kind} %a, %b\n%n = or i1 %na, %nb\n%r = select i1 %n, {kind} %s, {kind} %m"
    )
    body = f"""%c = fcmp {predicate} {kind} %a, %b
    %p = select i1 %c, {kind} %a, {kind} %b
    %ia = bitcast {kind} %a to {integer}
    %ib = bitcast {kind} %b to {integer}
    %iz = {combine} {integer} %ia, %ib
    %z = bitcast {integer} %iz to {kind}
    %e = fcmp oeq {kind} %a, %b
    %m = select i1 %e, {kind} %z, {kind} %p
    %na = fcmp uno {kind} %a, %a
    %nb = fcmp uno {kind} %b, %b
    {special}
    ret {kind} %r"""
    return _function(name, kind, f"{kind} %a, {kind} %b", body)


def _class(name: str, kind: str, match: re.Match[str]) -> Lowered:
    """`is.fpclass`: the class of the bits as one of ten flags, and whether the mask has it."""
    bits, mantissa = {"half": (16, 10), "float": (32, 23), "double": (64, 52)}[kind]
    word = f"i{bits}"
    infinity = ((1 << (bits - 1 - mantissa)) - 1) << mantissa
    quiet, normal, largest = infinity | 1 << (mantissa - 1), 1 << mantissa, (1 << (bits - 1)) - 1
    # Flags, positive and negative: zero 64 and 32, subnormal 128 and 16, normal 256 and 8, infinity 512 and 4.
    body = f"""%i = bitcast {kind} %a to {word}
    %s = icmp slt {word} %i, 0
    %m = and {word} %i, {largest}
    %zero = select i1 %s, i32 32, i32 64
    %small = select i1 %s, i32 16, i32 128
    %usual = select i1 %s, i32 8, i32 256
    %endless = select i1 %s, i32 4, i32 512
    %c1 = icmp ugt {word} %m, 0
    %f1 = select i1 %c1, i32 %small, i32 %zero
    %c2 = icmp uge {word} %m, {normal}
    %f2 = select i1 %c2, i32 %usual, i32 %f1
    %c3 = icmp uge {word} %m, {infinity}
    %f3 = select i1 %c3, i32 %endless, i32 %f2
    %c4 = icmp ugt {word} %m, {infinity}
    %f4 = select i1 %c4, i32 1, i32 %f3
    %c5 = icmp uge {word} %m, {quiet}
    %f5 = select i1 %c5, i32 2, i32 %f4
    %t = and i32 %f5, %mask
    %r = icmp ne i32 %t, 0
    ret i1 %r"""
    return _function(name, "i1", f"{kind} %a, i32 %mask", body)


def _fused(name: str, kind: str, match: re.Match[str]) -> Lowered:
    body = f"%p = fmul {kind} %a, %b\n%r = fadd {kind} %p, %c\nret {kind} %r"
    return _function(name, kind, f"{kind} %a, {kind} %b, {kind} %c", body)


BODIES: tuple[tuple[re.Pattern[str], Callable[[str, str, re.Match[str]], Lowered]], ...] = (
    (re.compile(r"llvm\.(?P<op>[su](?:max|min))\.(?P<type>i\d+)$"), _extreme),
    (re.compile(r"llvm\.(?P<op>abs)\.(?P<type>i\d+)$"), _absolute),
    (re.compile(r"llvm\.(?P<op>[su]cmp)\.(?P<type>i\d+)\.(?P<operand>i\d+)$"), _compare),
    (re.compile(r"llvm\.(?P<op>[su](?:add|sub|shl))\.sat\.(?P<type>i\d+)$"), _saturating),
    (re.compile(r"llvm\.(?P<op>fpto[su]i)\.sat\.(?P<type>i\d+)\.(?P<operand>f\d+)$"), _saturating_cast),
    (re.compile(r"llvm\.(?P<op>(?:maximum|minimum)(?:num)?)\.(?P<type>f\d+)$"), _ieee_extreme),
    (re.compile(r"llvm\.(?P<op>is\.fpclass)\.(?P<type>f\d+)$"), _class),
    (re.compile(r"llvm\.(?P<op>fmuladd)\.(?P<type>f\d+)$"), _fused),
)
"""Intrinsic pattern -> what writes its body."""


def old_name(intrinsic: str) -> str:
    """The old spelling of an intrinsic's type suffixes: `llvm.memcpy.p0.p0.i64` is `llvm.memcpy.p0i8.p0i8.i64`."""
    return re.sub(r"\.p0(?=\.|$)", ".p0i8", intrinsic.replace(".inline", ""))


def lowered(intrinsic: str) -> Lowered | None:
    """The function that stands for an intrinsic the old dialect lacks; None when nobody wrote one."""
    for pattern, write in BODIES:
        match = pattern.match(intrinsic)
        if match:
            name = PREFIX + intrinsic.removeprefix("llvm.").replace(".", "_")
            return write(name, _FLOATS.get(match["type"], match["type"]), match)
    return None


def bodies(intrinsics: Iterable[str]) -> Iterator[str]:
    """The definitions of all lowered functions that stand for these intrinsics, each once, what they need included."""
    queue, done = list(intrinsics), set()
    for intrinsic in queue:
        body = lowered(intrinsic) if intrinsic.startswith("llvm.") else None
        if body and not KNOWN.match(old_name(intrinsic)) and body.name not in done:
            done.add(body.name)
            queue += body.needs
            yield body.definition
