"""Panics trap: what never returns and only reports gets a body of two instructions, and its messages vanish."""

from __future__ import annotations

import re

from tilewright.device.retarget.demangle import demangle
from tilewright.device.retarget.text import attribute_groups, attributes_of, entities, signature

_REPORTING = re.compile(
    r"^(?:core::|alloc::|<(?:core|alloc)::|std::(?:panicking|rt|process::abort)\b|std::sys::\S*abort|"
    r"__rustc::(?:rust_begin_unwind|rust_panic)|abort$|rust_begin_unwind$)"
)
"""Whose functions may be replaced when they never return; `std::process::exit`, say, may not."""

_PANIC_DEFINED = re.compile(r"^(?:core::panicking::|std::panicking::|std::rt::|core::option::|core::result::)")


def trap_panics(text: str) -> str:
    """Replaces every declared function of core, alloc or std's panic machinery that never returns by a trap.

    Functions of the panic machinery that rustc instantiated in this module are replaced too.
    """
    groups = attribute_groups(text)
    lines = text.splitlines()
    replaced: dict[str, str] = {}
    dropped: set[str] = set()
    for entity in entities(text).values():
        if entity.kind not in ("declare", "define") or entity.name.startswith("llvm."):
            continue
        readable = demangle(entity.name)
        pattern = _REPORTING if entity.kind == "declare" else _PANIC_DEFINED
        if pattern.match(readable) and "noreturn" in attributes_of(entity.lines[0], groups):
            replaced[entity.lines[0]] = _trap(entity.lines[0])
            if entity.kind == "define":
                dropped.add(entity.lines[0])
    kept: list[str] = []
    inside = False
    for line in lines:
        if line in replaced:
            kept.append(replaced[line])
            inside = line in dropped
        elif not inside:
            kept.append(line)
        elif line == "}":
            inside = False
    result = "\n".join(kept) + "\n"
    if replaced and "@llvm.trap()" not in text:
        result += "declare void @llvm.trap() cold noreturn nounwind\n"
    return result


def _trap(line: str) -> str:
    cut = signature(line)
    kinds = ", ".join(cut.parameters)
    if line.startswith("define"):
        kinds = ", ".join(re.sub(r"\s%\S+$", "", one) for one in cut.parameters)
    result = cut.result.split()[-1] if "{" not in cut.result else cut.result[cut.result.index("{") :].strip()
    return (
        f"define internal {result} @{cut.name}({kinds}) alwaysinline cold convergent noreturn nounwind {{\n"
        "  call void @llvm.trap()\n  unreachable\n}"
    )
