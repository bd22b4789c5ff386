"""One instruction of LLVM 22 as one or more lines of the old dialect; one function an opcode family."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.device.dialect.intrinsics import KNOWN, lowered, old_name
from tilewright.device.dialect.tokens import closing, joined, split, word_set
from tilewright.device.dialect.types import BYTE_POINTER, old_type, type_end
from tilewright.device.dialect.values import (
    GEP_FLAGS,
    Names,
    Unsupported,
    operand,
    pair,
    skip_attributes,
    stepped,
    value,
)

_FAST = word_set("fast nnan ninf nsz arcp contract afn reassoc")
_WRAP = word_set("nuw nsw exact")
_NEWER = word_set("disjoint samesign nneg nusw")
_CONVENTIONS = word_set("fastcc ccc coldcc tailcc preserve_mostcc preserve_allcc")

Rewrite = Callable[[str, str, list[str], Names], list[str]]


def instruction(words: list[str], names: Names) -> list[str]:
    """The lines for one instruction, its metadata dropped; raises Unsupported for what the old dialect cannot say."""
    pieces = split(words)
    words = joined_words([piece for piece in pieces if not (piece and piece[0].startswith("!"))])
    result, rest = (words[0], words[2:]) if words[1:2] == ["="] else ("", words)
    if rest[0] in ("tail", "musttail", "notail"):
        rest = rest[1:]
    if "addrspace" in rest:
        raise Unsupported("a pointer to another address space")
    rewrite = _REWRITES.get(rest[0])
    if rewrite is None:
        raise Unsupported(f"the instruction `{rest[0]}`")
    return rewrite(result, rest[0], rest[1:], names)


def joined_words(pieces: Sequence[Sequence[str]]) -> list[str]:
    """Pieces put together again with commas between them."""
    found: list[str] = []
    for at, piece in enumerate(pieces):
        found += [",", *piece] if at else piece
    return found


def _flags(words: list[str], keep: frozenset[str]) -> tuple[str, list[str]]:
    at = 0
    while words[at] in _FAST | _WRAP | _NEWER:
        at += 1
    return "".join(f"{word} " for word in words[:at] if word in keep), words[at:]


def _two(words: list[str], names: Names) -> str:
    """`T a, b`: the second operand has the type of the first."""
    left, right = split(words)
    end = type_end(left)
    return f"{pair(left, names)}, {value(left[:end], right, names)}"


def _binary(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    flags, rest = _flags(words, _FAST | _WRAP)
    return [f"{result} = {opcode} {flags}{_two(rest, names)}"]


def _compare(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    flags, rest = _flags(words, _FAST)
    return [f"{result} = {opcode} {flags}{rest[0]} {_two(rest[1:], names)}"]


def _negate(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    flags, rest = _flags(words, _FAST)
    kind, negated = operand(rest, names)
    if kind not in ("half", "float", "double"):
        raise Unsupported(f"fneg of `{kind}`")
    zero = "0xH8000" if kind == "half" else "-0.0"
    return [f"{result} = fsub {flags}{kind} {zero}, {negated}"]


def _cast(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    _, rest = _flags(words, frozenset())
    at = len(rest) - 1 - rest[::-1].index("to")
    opcode = "ptrtoint" if opcode == "ptrtoaddr" else opcode
    return [f"{result} = {opcode} {pair(rest[:at], names)} to {old_type(rest[at + 1 :])}"]


def _operands(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    """`select`, vectors and aggregates: operands with types, then bare indices."""
    _, rest = _flags(words, frozenset())
    shown = [pair(piece, names) if len(piece) > 1 else piece[0] for piece in split(rest)]
    return [f"{result} = {opcode} {', '.join(shown)}"]


def _freeze(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    shown = pair(words, names)
    return [f"{result} = select i1 true, {shown}, {shown}"]


def _phi(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    _, rest = _flags(words, frozenset())
    end = type_end(rest)
    arms = []
    for arm in split(rest[end:]):
        incoming, label = split(arm[1:-1])
        arms.append(f"[ {value(rest[:end], incoming, names)}, {label[0]} ]")
    return [f"{result} = phi {old_type(rest[:end])} {', '.join(arms)}"]


def _pointer(kind: str, words: Sequence[str], names: Names) -> tuple[list[str], str]:
    """The lines that give a byte pointer its type, and the operand: (`%cast1 = bitcast ...`, `float* %cast1`)."""
    _, plain = operand(words, names)
    if kind == "i8":
        return [], f"{BYTE_POINTER} {plain}"
    name = names.fresh()
    return [f"{name} = bitcast {BYTE_POINTER} {plain} to {kind}*"], f"{kind}* {name}"


def _load(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    volatile, rest = _volatile(words)
    kind, address, *more = split(rest)
    spelled = old_type(kind)
    lines, shown = _pointer(spelled, address, names)
    return [*lines, f"{result} = load {volatile}{spelled}, {shown}{_alignment(more)}"]


def _store(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    volatile, rest = _volatile(words)
    stored, address, *more = split(rest)
    kind, shown = operand(stored, names)
    lines, target = _pointer(kind, address, names)
    return [*lines, f"store {volatile}{kind} {shown}, {target}{_alignment(more)}"]


def _volatile(words: list[str]) -> tuple[str, list[str]]:
    if words[0] == "atomic":
        raise Unsupported("an atomic load or store")
    return ("volatile ", words[1:]) if words[0] == "volatile" else ("", words)


def _alignment(pieces: Sequence[Sequence[str]]) -> str:
    return "".join(f", {joined(piece)}" for piece in pieces)


def _alloca(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    kind, *more = split(words)
    name, spelled = names.fresh(), old_type(kind)
    rest = "".join(f", {joined(piece)}" for piece in more)
    return [f"{name} = alloca {spelled}{rest}", f"{result} = bitcast {spelled}* {name} to {BYTE_POINTER}"]


def _address(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    at, flag = 0, ""
    while words[at] in GEP_FLAGS:
        flag = "inbounds " if words[at] == "inbounds" else flag
        at = closing(words, at + 1) + 1 if words[at + 1] == "(" else at + 1
    kind, base, *indices = split(words[at:])
    if base[0] != "ptr":
        raise Unsupported("an address of a vector of pointers")
    spelled = old_type(kind)
    shown = ", ".join(pair(index, names) for index in indices)
    lines, pointer = _pointer(spelled, base, names)
    if spelled == "i8":
        return [f"{result} = getelementptr {flag}i8, {pointer}, {shown}"]
    reached, name = old_type(stepped(kind, indices, names.types)), names.fresh()
    if reached == "i8":
        return [*lines, f"{result} = getelementptr {flag}{spelled}, {pointer}, {shown}"]
    return [
        *lines,
        f"{name} = getelementptr {flag}{spelled}, {pointer}, {shown}",
        f"{result} = bitcast {reached}* {name} to {BYTE_POINTER}",
    ]


def _call(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    flags, rest = _flags(words, _FAST)
    while rest[0] in _CONVENTIONS:
        rest = rest[1:]
    start, _ = skip_attributes(rest, 0)
    end = type_end(rest, start)
    if rest[end] == "asm":
        raise Unsupported("inline assembly")
    target = rest[end]
    arguments, lines = _arguments(target, rest[end + 2 : closing(rest, end + 1)], names)
    result_type = old_type(rest[start:end])
    if target.startswith("@"):
        names.called[target[1:]] = None
        shown = f"@{callee(target[1:])}"
    else:
        shown = names.fresh()
        kinds = ", ".join(kind for kind, _ in arguments)
        lines.append(f"{shown} = bitcast {BYTE_POINTER} {target} to {result_type} ({kinds})*")
    listed = ", ".join(" ".join(argument) for argument in arguments)
    head = f"{result} = " if result else ""
    return [*lines, f"{head}call {flags}{result_type} {shown}({listed})"]


def _arguments(target: str, words: Sequence[str], names: Names) -> tuple[list[tuple[str, str]], list[str]]:
    """Type and value of each argument, and the casts before the call; memory intrinsics keep their alignments."""
    wanted = names.typed.get(target, [])
    memory = target.startswith(("@llvm.memcpy", "@llvm.memmove", "@llvm.memset"))
    arguments, lines = [], []
    for at, piece in enumerate(split(words)):
        kind, shown = operand(piece, names)
        if at < len(wanted) and wanted[at] != kind:
            cast = names.fresh()
            lines.append(f"{cast} = bitcast {kind} {shown} to {wanted[at]}")
            kind, shown = wanted[at], cast
        _, alignment = skip_attributes(piece, type_end(piece))
        arguments.append((kind, f"{alignment} {shown}" if memory and alignment else shown))
    return arguments, lines


def callee(name: str) -> str:
    """What a called function is called in the old dialect; raises Unsupported for an intrinsic that has no equal."""
    if not name.startswith("llvm."):
        return name
    old = old_name(name)
    if KNOWN.match(old):
        return old
    body = lowered(name)
    if body is None:
        raise Unsupported(f"the intrinsic `{name}`")
    return body.name


def _branch(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    return [f"{opcode} {joined('undef' if word == 'poison' else word for word in words)}"]


def _return(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    return ["ret void" if words == ["void"] else f"ret {pair(words, names)}"]


def _switch(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    subject, default = split(words[: words.index("[")])
    return [f"switch {pair(subject, names)}, {joined(default)} ["]


def _nothing(result: str, opcode: str, words: list[str], names: Names) -> list[str]:
    return [opcode]


_REWRITES: dict[str, Rewrite] = {
    **dict.fromkeys(
        word_set("add sub mul shl udiv sdiv lshr ashr and or xor urem srem fadd fsub fmul fdiv frem"), _binary
    ),
    **dict.fromkeys(("icmp", "fcmp"), _compare),
    **dict.fromkeys(
        word_set("trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp bitcast ptrtoint inttoptr ptrtoaddr"), _cast
    ),
    **dict.fromkeys(word_set("select extractvalue insertvalue extractelement insertelement shufflevector"), _operands),
    "fneg": _negate,
    "freeze": _freeze,
    "phi": _phi,
    "load": _load,
    "store": _store,
    "alloca": _alloca,
    "getelementptr": _address,
    "call": _call,
    "br": _branch,
    "ret": _return,
    "switch": _switch,
    "unreachable": _nothing,
}
