"""Math functions: intrinsics and libm symbols become libdevice's `__nv_*`, with the signature checked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tilewright.device.module import DeviceError
from tilewright.device.retarget.libdevice import PREFIX, SIGNATURES, is_pure, nearest
from tilewright.device.retarget.text import entities, signature
from tilewright.problem import Problem

_INTRINSICS = "exp exp2 exp10 log log2 log10 sin cos tan asin acos atan atan2 sinh cosh tanh pow powi ldexp"
INEXACT = tuple(_INTRINSICS.split())
"""Intrinsics that are renamed before the optimiser runs, so that it neither folds nor rewrites them on its own."""

EXACT = {"fabs": "fabs", "rint": "rint", "nearbyint": "nearbyint", "round": "round", "roundeven": "rint"}
"""Intrinsics the optimiser understands exactly and libNVVM's verifier refuses: renamed when it has run."""

_SYMBOLS = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim "
    "floor fma fmax fmin fmod hypot j0 j1 ldexp lgamma log log10 log1p log2 nearbyint nextafter pow remainder rint "
    "round scalbn sin sinh sqrt tan tanh tgamma trunc y0 y1"
)
LIBM = tuple(_SYMBOLS.split())
"""Symbols of libm (and the same with `f`) that std links for the host."""

_FREM = re.compile(r"^(\s+%\S+ = )frem (?:\w+ )*?(float|double) ([^,]+), (\S+)$", re.MULTILINE)


def _renames(exact: bool) -> dict[str, str]:
    rows: dict[str, str] = {}
    for kind, letter in (("f32", "f"), ("f64", "")):
        rows |= {f"llvm.{name}.{kind}": f"{PREFIX}{name}{letter}" for name in INEXACT}
        rows |= {f"llvm.{name}.{kind}.i32": f"{PREFIX}{name}{letter}" for name in ("powi", "ldexp")}
        rows |= {f"{name}{letter}": f"{PREFIX}{name}{letter}" for name in LIBM}
        if exact:
            rows |= {f"llvm.{name}.{kind}": f"{PREFIX}{root}{letter}" for name, root in EXACT.items()}
    return {old: new for old, new in rows.items() if new in SIGNATURES}


BEFORE = _renames(exact=False)
AFTER = _renames(exact=True)


def rename_math(text: str, *, exact: bool = False) -> str:
    """Renames what is declared, and turns `frem` into `fmod`: the GPU's own expansion of it is not exact.

    With `exact` also the intrinsics the optimiser should have seen.  Definitions of the user's are left alone.
    """
    text = _FREM.sub(_remainder, text)
    table = AFTER if exact else BEFORE
    found = entities(text)
    renamed = {name: table[name] for name in found if found[name].kind == "declare" and name in table}
    for old, new in renamed.items():
        text = re.sub(rf"@{re.escape(old)}(?![\w.$])", f"@{new}", text)
    return _declare(text)


def _remainder(match: re.Match[str]) -> str:
    start, kind, left, right = match.groups()
    return f"{start}call {kind} @{PREFIX}fmod{'f' if kind == 'float' else ''}({kind} {left}, {kind} {right})"


def _declare(text: str) -> str:
    """One declaration for each libdevice function in use, with the attributes a pure function has."""
    lines = []
    used: dict[str, None] = dict.fromkeys(re.findall(rf"@({PREFIX}\w+)", text))
    problems: list[Problem] = []
    defined = {name for name, entity in entities(text).items() if entity.kind == "define"}
    for line in text.splitlines():
        match = re.match(rf"declare .*@({PREFIX}\w+)\(", line)
        if not match:
            lines.append(line)
            continue
        problems += _wrong(match[1], signature(line).types)
    if problems:
        raise DeviceError(problems)
    for name in sorted(used.keys() - defined):
        if name in SIGNATURES:
            result, parameters = SIGNATURES[name].split(" ", 1)
            effects = " willreturn memory(none)" if is_pure(name) else ""
            lines.append(f"declare {result} @{name}{parameters} nounwind{effects}")
    return "\n".join(lines) + "\n"


def _wrong(name: str, types: str) -> Iterator[Problem]:
    right = SIGNATURES.get(name)
    if right is None:
        close = nearest(name)
        yield Problem(
            what=f"`{name}` is not a function of libdevice",
            rule="unknown-libdevice",
            hint=f"did you mean `{close}`?" if close else "",
        )
    elif types != right:
        yield Problem(what=f"`{name}` is declared as `{types}`, but it is `{right}`", rule="libdevice-signature")
