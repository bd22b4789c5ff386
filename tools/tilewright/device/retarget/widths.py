"""Intrinsics at widths that libNVVM's verifier refuses: bit counts of 128 bits, overflow checks of 8 and 128."""

from __future__ import annotations

import re

from tilewright.device.retarget.text import entities

_PATTERN = re.compile(
    r"llvm\.(?:(?P<bits>ctlz|cttz|ctpop|bswap)\.i128|(?P<sign>[su])(?P<op>add|sub|mul)\.with\.overflow\.i(?P<width>\d+))$"
)
_ACCEPTED = ("16", "32", "64")
_PRODUCTS = (*range(1, 65), 128)  # widths of a product that the bodies below cover; others are left to be refused

_HALVES = "%l = trunc i128 %x to i64\n%s = lshr i128 %x, 64\n%h = trunc i128 %s to i64\n"
_COUNT = """%a = call i64 @llvm.{name}.i64(i64 {first}, i1 false)
%b = call i64 @llvm.{name}.i64(i64 {second}, i1 false)
%more = add i64 %b, 64
%none = icmp eq i64 {first}, 0
%n = select i1 %none, i64 %more, i64 %a
%r = zext i64 %n to i128
"""
_BITS = {
    "ctlz": ("i128 %x, i1 %p", "i64, i1 immarg", _COUNT.format(name="ctlz", first="%h", second="%l")),
    "cttz": ("i128 %x, i1 %p", "i64, i1 immarg", _COUNT.format(name="cttz", first="%l", second="%h")),
    "ctpop": (
        "i128 %x",
        "i64",
        "%a = call i64 @llvm.ctpop.i64(i64 %l)\n%b = call i64 @llvm.ctpop.i64(i64 %h)\n"
        "%n = add i64 %a, %b\n%r = zext i64 %n to i128\n",
    ),
    "bswap": (
        "i128 %x",
        "i64",
        "%a = call i64 @llvm.bswap.i64(i64 %l)\n%b = call i64 @llvm.bswap.i64(i64 %h)\n"
        "%u = zext i64 %a to i128\n%t = shl i128 %u, 64\n%w = zext i64 %b to i128\n%r = or i128 %t, %w\n",
    ),
}

_BOTH = "%m = and {t} %p, %q\n%o = icmp slt {t} %m, 0\n"
_OVERFLOW = {
    "uadd": "%v = add {t} %a, %b\n%o = icmp ult {t} %v, %a\n",
    "usub": "%v = sub {t} %a, %b\n%o = icmp ult {t} %a, %b\n",
    # The result differs in sign from both operands, or for a difference from the first, the second being of its sign.
    "sadd": "%v = add {t} %a, %b\n%p = xor {t} %a, %v\n%q = xor {t} %b, %v\n" + _BOTH,
    "ssub": "%v = sub {t} %a, %b\n%p = xor {t} %a, %v\n%q = xor {t} %a, %b\n" + _BOTH,
}
_PRODUCT = """%wa = {e} {t} %a to {w}
%wb = {e} {t} %b to {w}
%wv = mul {w} %wa, %wb
%v = trunc {w} %wv to {t}
%back = {e} {t} %v to {w}
%o = icmp ne {w} %back, %wv
"""
# By halves: both high halves, or a cross product beyond 64 bits, or the carry of the sum of cross and low products.
_WIDE_PRODUCT = """%al = and i128 {a}, 18446744073709551615
%ah = lshr i128 {a}, 64
%bl = and i128 {b}, 18446744073709551615
%bh = lshr i128 {b}, 64
%za = icmp ne i128 %ah, 0
%zb = icmp ne i128 %bh, 0
%both = and i1 %za, %zb
%c1 = mul i128 %ah, %bl
%c2 = mul i128 %al, %bh
%cross = add i128 %c1, %c2
%far = icmp ugt i128 %cross, 18446744073709551615
%low = mul i128 %al, %bl
%carried = lshr i128 %low, 64
%near = and i128 %cross, 18446744073709551615
%sum = add i128 %near, %carried
%carry = icmp ugt i128 %sum, 18446744073709551615
%either = or i1 %both, %far
%over = or i1 %either, %carry
"""
_SIGNED = """%na = sub i128 0, %a
%sa = icmp slt i128 %a, 0
%ma = select i1 %sa, i128 %na, i128 %a
%nb = sub i128 0, %b
%sb = icmp slt i128 %b, 0
%mb = select i1 %sb, i128 %nb, i128 %b
"""
_SIGNED_CHECK = """%v = mul i128 %a, %b
%size = mul i128 %ma, %mb
%negative = xor i1 %sa, %sb
%most = zext i1 %negative to i128
%bound = add i128 %most, 170141183460469231731687303715884105727
%beyond = icmp ugt i128 %size, %bound
%o = or i1 %over, %beyond
"""


def lower_widths(text: str) -> str:
    """Replaces every declared intrinsic at such a width by an internal function of instructions."""
    found = entities(text)
    added: dict[str, None] = {}
    for entity in found.values():
        match = _PATTERN.match(entity.name) if entity.kind == "declare" else None
        if (
            match is None
            or match["width"] in _ACCEPTED
            or (match["op"] == "mul" and int(match["width"]) not in _PRODUCTS)
        ):
            continue
        name = "tilewright_" + entity.name.removeprefix("llvm.").replace(".", "_")
        text = text.replace(f"{entity.lines[0]}\n", "").replace(f"@{entity.name}(", f"@{name}(")
        if match["bits"]:
            added |= dict.fromkeys(_bits(name, match["bits"], declared=f"llvm.{match['bits']}.i64" in found))
        else:
            added[_overflow(name, match["sign"], match["op"], int(match["width"]))] = None
    return f"{text.rstrip()}\n{''.join(added)}" if added else text


def _bits(name: str, operation: str, *, declared: bool) -> list[str]:
    parameters, narrow, body = _BITS[operation]
    function = _function(name, "i128", parameters, f"{_HALVES}{body}ret i128 %r\n")
    return [function] if declared else [function, f"declare i64 @llvm.{operation}.i64({narrow})\n"]


def _overflow(name: str, sign: str, operation: str, width: int) -> str:
    kind = f"i{width}"
    if operation != "mul":
        body = _OVERFLOW[sign + operation].format(t=kind)
    elif width <= 64:
        body = _PRODUCT.format(t=kind, w=f"i{2 * width}", e="zext" if sign == "u" else "sext")
    elif width == 128 and sign == "u":
        body = _WIDE_PRODUCT.format(a="%a", b="%b") + "%v = mul i128 %a, %b\n%o = or i1 %over, false\n"
    else:
        body = _SIGNED + _WIDE_PRODUCT.format(a="%ma", b="%mb") + _SIGNED_CHECK
    pair = f"{{ {kind}, i1 }}"
    packed = f"%r0 = insertvalue {pair} poison, {kind} %v, 0\n%r = insertvalue {pair} %r0, i1 %o, 1\nret {pair} %r\n"
    return _function(name, pair, f"{kind} %a, {kind} %b", body + packed)


def _function(name: str, result: str, parameters: str, body: str) -> str:
    lines = "".join(f"  {line}\n" for line in body.splitlines())
    return f"define internal {result} @{name}({parameters}) alwaysinline nounwind {{\nstart:\n{lines}}}\n"
