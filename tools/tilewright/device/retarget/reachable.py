"""What an export may reach: no mutable state, no shared memory, no host assembly, nothing undefined."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tilewright.device.retarget.demangle import demangle
from tilewright.device.retarget.libdevice import SIGNATURES
from tilewright.device.retarget.text import Entity, entities, path, reached
from tilewright.problem import Problem

ALLOWED_INTRINSICS = re.compile(
    r"llvm\.(?:"
    r"(?:sqrt|fma|fmuladd|floor|ceil|trunc|maxnum|minnum|maximum|minimum|maximumnum|minimumnum|copysign|is\.fpclass)\.f\d+"
    r"|(?:ctpop|ctlz|cttz)\.i(?:8|16|32|64)|bswap\.i(?:16|32|64)"
    r"|(?:bitreverse|fshl|fshr|abs|smax|smin|umax|umin)\.i\d+"
    r"|[su](?:add|sub|shl)\.sat\.i\d+|[su](?:add|sub|mul)\.with\.overflow\.i(?:16|32|64)|[su]cmp\.i\d+\.i\d+"
    r"|fpto[su]i\.sat\.i\d+\.f\d+"
    r"|mem(?:cpy|move)(?:\.inline)?\.p0\.p0\.i\d+|memset(?:\.inline)?\.p0\.i\d+|trap"
    r"|nvvm\.shfl\.sync\.(?:bfly|up|down|idx)\.[if]32|nvvm\.vote\.(?:ballot|any|all)\.sync|nvvm\.bar\.warp\.sync"
    r"|nvvm\.read\.ptx\.sreg\.(?:laneid|(?:tid|ctaid|ntid)\.[xyz])"
    r")$"
)
"""Every intrinsic that may be left; libNVVM's old dialect would take any other for an ordinary function, silently."""


def forbidden(text: str, exports: Sequence[str]) -> Iterator[Problem]:
    """What is wrong with the module as the source wrote it, before the optimiser can hide it."""
    graph = entities(text)
    for symbol in exports:
        entity = graph.get(symbol)
        if entity is None or entity.kind != "define":
            yield Problem(what=f"the module does not define the export `{symbol}`", rule="missing-symbol")
    for name in sorted(reached(graph, exports) & graph.keys()):
        entity = graph[name]
        if entity.kind == "variable":
            yield _state(entity, _way(graph, exports, name))
        elif _has_assembly(entity):
            yield _assembly(entity, _way(graph, exports, name))


def _has_assembly(entity: Entity) -> bool:
    return entity.kind == "define" and any(_ASSEMBLY.search(line) for line in entity.lines)


_ASSEMBLY = re.compile(r'\bcall [^@"]*\basm [^@"]*"')


def _assembly(entity: Entity, way: Sequence[str]) -> Problem:
    return Problem(
        what=f"`{demangle(entity.name)}`, which {_reached(way)}, holds assembly for the host", rule="inline-assembly"
    )


def _state(entity: Entity, way: Sequence[str]) -> Problem:
    line = entity.lines[0]
    subject = f"`{demangle(entity.name)}`, which {_reached(way)}, is"
    if "addrspace(3)" in line:
        return Problem(what=f"{subject} shared memory: a tile function owns none", rule="shared-memory")
    if "thread_local" in line:
        return Problem(what=f"{subject} thread-local: a GPU has no such thing", rule="thread-local")
    return Problem(
        what=f"{subject} mutable: a static's value would be shared by all invocations",
        rule="mutable-static",
        hint="pass the value as a parameter, or make it a `const`",
    )


def undefined(text: str, exports: Sequence[str], source: str | None = None) -> Iterator[Problem]:
    """What is declared and neither an allowed intrinsic nor libdevice's, by the name a user knows, and who needs it.

    `source` is the module before the optimiser ran: its call graph still has the functions in between. Without it the
    module itself is asked, along direct calls only.
    """
    calls_only = source is None
    graph = entities(source if source is not None else text)
    for entity in entities(text).values():
        name = entity.name
        if entity.kind != "declare" or name in SIGNATURES or ALLOWED_INTRINSICS.match(name):
            continue
        way = _way(graph, exports, name, calls_only=calls_only)
        if not way and calls_only:
            continue
        intrinsic = name.startswith("llvm.")
        subject = f"the intrinsic `{name}`" if intrinsic else f"`{demangle(name)}`"
        clause = f", which {_reached(way)}, " if way else ", left over in the device module, "
        rule = "unknown-intrinsic" if intrinsic else "undefined-function"
        yield Problem(what=f"{subject}{clause}does not exist on a GPU", rule=rule)


_WIDE = re.compile(r"\b(?:fpto[su]i [^@]* to i128|[su]itofp i128 |fpto[su]i\.sat\.i128)")


def unsupported_arithmetic(text: str) -> Iterator[Problem]:
    """Conversions between floats and 128-bit integers: libNVVM has no code for them and says so only at the link."""
    for entity in entities(text).values():
        if entity.kind == "define" and any(_WIDE.search(line) for line in entity.lines):
            yield Problem(
                what=f"`{demangle(entity.name)}` converts between a float and a 128-bit integer, which a GPU cannot",
                rule="wide-conversion",
                hint="convert through u64 or i64",
            )


def _way(graph: dict[str, Entity], exports: Sequence[str], target: str, *, calls_only: bool = False) -> tuple[str, ...]:
    ways = (path(graph, one, target, calls_only=calls_only) for one in exports)
    return next((way for way in ways if way), ())


def _reached(way: Sequence[str]) -> str:
    names = [f"`{demangle(name)}`" for name in way[1:-1] if name.startswith("_R") or name.isidentifier()]
    if len(names) > _SHOWN:
        names = [*names[: _SHOWN - 1], "...", names[-1]]
    return f"the export `{way[0]}` reaches" + (f" through {' -> '.join(names)}" if names else "")


_SHOWN = 4  # functions named between an export and what it must not reach
