"""A whole module from LLVM 22's dialect to libNVVM's old one (LLVM 7): typed pointers, no newer word.

Every `ptr` becomes an `i8*` that is cast where it is used; parameters of exported functions get their element type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tilewright.device.dialect.instructions import callee, instruction
from tilewright.device.dialect.intrinsics import bodies
from tilewright.device.dialect.tokens import closing, joined, split, tokens, word_set
from tilewright.device.dialect.types import BYTE_POINTER, old_type, type_end
from tilewright.device.dialect.values import Names, Unsupported, skip_attributes, value
from tilewright.device.module import DeviceError
from tilewright.problem import Problem

_ATTRIBUTES = ("alwaysinline", "inlinehint", "cold", "convergent", "norecurse", "noreturn", "nounwind")
_HEAD_WORDS = word_set(
    "define declare internal private external hidden protected default dso_local dso_preemptable linkonce_odr linkonce "
    "weak_odr weak available_externally unnamed_addr local_unnamed_addr fastcc ccc coldcc tailcc"
)
_VERSION = "!nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0}"
_LABEL = re.compile(r'^([-\w.$]+|"[^"]*"):')


def to_typed_pointers(text: str, *, pointees: Mapping[str, Sequence[str | None]] | None = None) -> str:
    """The module in the old dialect, for compute_75 to compute_90.

    `pointees` names the element type behind each pointer parameter of an exported function, None for a parameter by
    value. Raises DeviceError with every construct that the old dialect cannot say.
    """
    lines = _named(text).splitlines()
    names = _collect(lines, pointees or {})
    problems: dict[Problem, None] = {}
    out: list[str] = []
    function = "the module"
    body: list[str] = []
    for line in lines:
        if line.startswith("define "):
            function = f"`{tokens(line)[_at_sign(tokens(line))][1:]}`"
        try:
            out += _line(line, names, pointees or {}, body)
        except (Unsupported, ValueError, IndexError, KeyError) as error:
            shown = error if isinstance(error, Unsupported) else f"the line `{line.strip()}`"
            what = f"{function} uses {shown}, which libNVVM's dialect for compute_90 and older lacks"
            problems[Problem(what=what, rule="old-dialect")] = None
    if problems:
        raise DeviceError(problems)
    return "\n".join([*out, "", *bodies(names.called), _VERSION, ""])


def _named(text: str) -> str:
    """The module printed by LLVM with a name for every argument, value and block: numbers are refused when written."""
    import llvmlite.binding as llvm  # type: ignore[import-untyped]

    with llvm.create_context() as context:
        try:
            module = llvm.parse_assembly(text, context)
        except RuntimeError as error:
            raise DeviceError(
                [Problem(what="the module is no LLVM IR", detail=str(error), rule="unreadable-ir")]
            ) from None
        with module:
            passes = llvm.create_new_module_pass_manager()
            passes.add_instruction_namer_pass()
            llvm.initialize_all_targets()
            machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine()
            passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
            return str(module)


def _collect(lines: Sequence[str], pointees: Mapping[str, Sequence[str | None]]) -> Names:
    prefix = "%cast"
    while any(prefix in line for line in lines):
        prefix += "_"
    names = Names(prefix=prefix)
    for line in lines:
        if line.startswith("%") and " = type " in line:
            words = tokens(line)
            names.types[words[0]] = words[3:]
        elif line.startswith("@"):
            words = tokens(line)
            at = _global_kind(words)
            names.globals[words[0]] = old_type(words[at + 1 : type_end(words, at + 1)])
        elif line.startswith(("define ", "declare ")):
            words = tokens(line)
            at = _at_sign(words)
            kinds = _parameter_types(words, at, pointees.get(words[at][1:], ()))
            names.globals[words[at]] = f"{_result(words[:at])} ({', '.join(kinds)})"
            if any(kind.endswith("*") and kind != BYTE_POINTER for kind in kinds):
                names.typed[words[at]] = kinds
    return names


def _line(line: str, names: Names, pointees: Mapping[str, Sequence[str | None]], body: list[str]) -> list[str]:
    """The old lines for one line. `body` holds the casts that wait for the entry block of the current function."""
    if not line or line.startswith((";", "!", "$")):
        return []
    if line.startswith(("source_filename", "target ")):
        return [line]
    if line == "}":
        return ["}", ""]
    if line.startswith("attributes "):
        return [_group(line)]
    words = tokens(line)
    if line.startswith("%"):
        return [f"{words[0]} = type {old_type(words[3:])}"]
    if line.startswith("@"):
        return [_global(words, names)]
    if line.startswith(("define ", "declare ")):
        return _head(words, names, pointees, body)
    label = _LABEL.match(line)
    if label:
        casts = list(body)
        body.clear()
        return [f"{label[1]}:", *casts]
    if words[0] == "]" or (
        len(words) > 3 and words[2] == "," and words[3] == "label" and words[0] not in ("br", "switch")
    ):
        return [f"  {joined(words)}"]
    return [f"  {one}" for one in instruction(words, names)]


def _at_sign(words: Sequence[str]) -> int:
    return next(at for at, word in enumerate(words) if word.startswith("@"))


def _result(head: Sequence[str]) -> str:
    start = 0
    while True:
        after, _ = skip_attributes(head, start)
        if after == start and head[start] not in _HEAD_WORDS:
            return old_type(head[start:])
        start = after if after > start else start + 1


def _parameter_types(words: Sequence[str], at: int, pointees: Sequence[str | None]) -> list[str]:
    kinds = []
    for index, piece in enumerate(split(words[at + 2 : closing(words, at + 1)])):
        kind = old_type(piece[: type_end(piece)])
        pointee = pointees[index] if index < len(pointees) else None
        kinds.append(f"{pointee}*" if kind == BYTE_POINTER and pointee else kind)
    return kinds


def _head(words: list[str], names: Names, pointees: Mapping[str, Sequence[str | None]], body: list[str]) -> list[str]:
    at = _at_sign(words)
    end = closing(words, at + 1)
    name = words[at][1:]
    groups = "".join(f" {word}" for word in words[end:] if word.startswith("#"))
    for piece in split(words[at + 2 : end]):
        skip_attributes(piece, type_end(piece))
    kinds = _parameter_types(words, at, pointees.get(name, ()))
    result = _result(words[:at])
    if words[0] == "declare":
        if _is_lowered(name):
            return []
        return [f"declare {result} @{callee(name)}({', '.join(kinds)}){groups}"]
    shown = []
    for kind, piece in zip(kinds, split(words[at + 2 : end]), strict=True):
        parameter = piece[-1]
        if kind != old_type(piece[: type_end(piece)]):
            parameter = names.fresh()
            body.append(f"  {piece[-1]} = bitcast {kind} {parameter} to {BYTE_POINTER}")
        shown.append(f"{kind} {parameter}")
    linkage = "internal " if {"internal", "private"} & set(words[:at]) else ""
    return [f"define {linkage}{result} @{name}({', '.join(shown)}){groups} {{"]


def _is_lowered(name: str) -> bool:
    if not name.startswith("llvm."):
        return False
    try:
        return not callee(name).startswith("llvm.")
    except Unsupported:
        return True


def _global_kind(words: Sequence[str]) -> int:
    return next((at for at, word in enumerate(words) if word in ("constant", "global")), len(words) - 2)


def _global(words: list[str], names: Names) -> str:
    at = _global_kind(words)
    if "alias" in words[:at] or "ifunc" in words[:at]:
        raise Unsupported(f"the alias `{words[0]}`")
    if "addrspace" in words[:at]:
        raise Unsupported(f"`{words[0]}`, a variable in another address space")
    initial, *more = split(words[at + 1 :])
    end = type_end(initial)
    alignment = "".join(f", {joined(piece)}" for piece in more if piece[0] == "align")
    linkage = "internal" if {"internal", "private"} & set(words[:at]) else "external"
    shown = f" {value(initial[:end], initial[end:], names)}" if len(initial) > end else ""
    return f"{words[0]} = {linkage} {words[at]} {old_type(initial[:end])}{shown}{alignment}"


def _group(line: str) -> str:
    plain = re.sub(r'"[^"]*"(?:="[^"]*")?', "", line[line.index("{") + 1 :])
    words = plain.split()
    kept = [word for word in _ATTRIBUTES if word in words]
    kept += ["readnone"] if "memory(none)" in plain else []
    return f"{line.split('=')[0]}= {{ {' '.join(kept)} }}"
