"""Math on f16 goes through f32, as on the host: widen, call, narrow."""

from __future__ import annotations

import re

from tilewright.device.retarget.libdevice import PREFIX, SIGNATURES
from tilewright.device.retarget.mathematics import EXACT, INEXACT
from tilewright.device.retarget.text import entities

_FREM = re.compile(r"^(\s+%\S+ = )frem (?:\w+ )*?half ([^,]+), (\S+)$", re.MULTILINE)
_REMAINDER = "tilewright_fmod_f16"
_INTRINSIC = re.compile(r"llvm\.(?P<name>\w+)\.f16(?:\.i32)?$")


def widen_half_math(text: str) -> str:
    """Gives a body to every declared `llvm.*.f16` that stands for a libdevice function, and to the remainder."""
    text = _FREM.sub(rf"\1call half @{_REMAINDER}(half \2, half \3)", text)
    bodies = [_body(_REMAINDER, "fmodf")] if f"@{_REMAINDER}(" in text else []
    for entity in entities(text).values():
        match = _INTRINSIC.match(entity.name)
        if entity.kind == "declare" and match and match["name"] in (*INEXACT, *EXACT):
            name = f"tilewright_{match['name']}_f16"
            text = text.replace(entity.lines[0], "")
            text = re.sub(rf"@{re.escape(entity.name)}(?=\()", f"@{name}", text)
            bodies.append(_body(name, EXACT.get(match["name"], match["name"]) + "f"))
    return text.rstrip("\n") + "\n" + "".join(bodies)


def _body(name: str, function: str) -> str:
    kinds = SIGNATURES[PREFIX + function].removeprefix("float (").rstrip(")").split(", ")
    narrow = ["half" if kind == "float" else kind for kind in kinds]
    wide = "".join(f"  %w{n} = fpext half %{n} to float\n" for n, kind in enumerate(kinds) if kind == "float")
    arguments = ", ".join(f"float %w{n}" if kind == "float" else f"{kind} %{n}" for n, kind in enumerate(kinds))
    parameters = ", ".join(f"{kind} %{n}" for n, kind in enumerate(narrow))
    return (
        f"define internal half @{name}({parameters}) alwaysinline nounwind {{\nstart:\n{wide}"
        f"  %r = call float @{PREFIX}{function}({arguments})\n  %n = fptrunc float %r to half\n  ret half %n\n}}\n"
    )
