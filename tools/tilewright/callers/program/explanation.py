"""Why a tile program does not link: the assembler often says only "failed to compile Tile IR program".

Each check compares what the program calls with what its libraries hold, and gives the reason with both sides of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from tilewright.bytecode.expressions import Int, Var
from tilewright.bytecode.records import Argument, Declaration, Implementation
from tilewright.bytecode.types import Tile, Value
from tilewright.callers.program.calls import Call
from tilewright.callers.program.libraries import declarations, symbols
from tilewright.exports.naming import EXTENT, sized_base, sized_name
from tilewright.library.archive import LibraryContents
from tilewright.problem import Place, Problem

_UNRESOLVED = re.compile(r"Unresolved extern function '(?P<symbol>[^']+)'")


def explain(
    calls: Sequence[Call],
    libraries: Sequence[LibraryContents],
    arch: str,
    output: str,
    carried: Mapping[str, tuple[int, ...]] | None = None,
) -> list[Problem]:
    """Every reason found; `output` is what the tools printed, `carried` the sizes there are by implementation symbol.

    Empty when none of them is ours to find.
    """
    sizes = carried or {}
    problems: list[Problem] = []
    known = declarations(libraries)
    for call in calls:
        if call.name not in known:
            problems.append(_undeclared(call, libraries, known))
            continue
        library, declaration = known[call.name]
        problems += _wrong_call(call, declaration, library)
        problems += _no_implementation(declaration, library, arch)
        problems += _no_such_size(call, declaration, library, sizes)
    return list(dict.fromkeys([*problems, *_unresolved(output, libraries, sizes)]))


def architecture_matches(entry: str, arch: str) -> bool:
    """The assembler's comparison of an `arch` entry with its target: case and `_` aside, a last `a` optional."""
    wanted = entry.replace("_", "").lower()
    target = arch.replace("_", "").lower().removesuffix("a")
    return wanted in (target, f"{target}a")


def _undeclared(
    call: Call, libraries: Sequence[LibraryContents], known: dict[str, tuple[LibraryContents, Declaration]]
) -> Problem:
    if not libraries:
        return Problem(
            f"the program calls `{call.name}`, and no library was given", hint="give it: -l ./<name>.tilelib"
        )
    what = f"the program calls `{call.name}`, which no library declares"
    if symbol_owner := {each.name: each.implements for each in _implementations(libraries)}.get(call.name):
        return Problem(what, hint=f"`{call.name}` is an implementation symbol; call its declaration, `{symbol_owner}`")
    close = get_close_matches(call.name, list(known), n=1)
    listing = "; ".join(f"{library.file}: {_names(library)}" for library in libraries)
    return Problem(what, hint=(f"did you mean `{close[0]}`?\n" if close else "") + f"declared are: {listing}")


def _wrong_call(call: Call, declaration: Declaration, library: LibraryContents) -> Iterator[Problem]:
    place = Place(library.file)
    name = f"`{call.name}`"
    if len(call.constants) != len(declaration.const_params):
        wanted = ", ".join(parameter.name for parameter in declaration.const_params) or "none"
        what = f"{name} is called with {len(call.constants)} constant argument(s); its declaration has: {wanted}"
        yield Problem(what, place)
        return
    if len(call.inputs) != len(declaration.arguments):
        what = f"{name} is called with {len(call.inputs)} tile(s), its declaration takes {len(declaration.arguments)}"
        hint = f"declared: {_signature(declaration)}\nthe slot of a result is an argument too"
        yield Problem(what, place, hint)
        return
    extents = dict(zip((one.name for one in declaration.const_params), call.constants, strict=True))
    wrong: dict[tuple[str, str], list[int]] = {}
    for number, (given, argument) in enumerate(zip(call.inputs, declaration.arguments, strict=True)):
        wanted = tile_text(argument.type, extents)
        if given != wanted:
            wrong.setdefault((given, wanted), []).append(number)
    for (given, wanted), numbers in wrong.items():
        tiles = f"tile {numbers[0]} is" if len(numbers) == 1 else f"tiles {', '.join(map(str, numbers))} are"
        fault = _difference(given, wanted)
        what = f"{name}: {tiles} {given}, the declaration takes {wanted} ({fault})"
        yield Problem(what, place, f"declared: {_signature(declaration)}")
    if len(call.results) != len(declaration.results):
        what = f"{name} is called for {len(call.results)} result(s), its declaration gives {len(declaration.results)}"
        yield Problem(what, place, f"declared: {_signature(declaration)}")


def _difference(given: str, wanted: str) -> str:
    sizes, elements = zip(*(text.rpartition("x")[::2] for text in (given, wanted)), strict=True)
    faults = [word for word, pair in (("tile size", sizes), ("element type", elements)) if pair[0] != pair[1]]
    return " and ".join(f"another {fault}" for fault in faults)


def tile_text(value: Value, extents: dict[str, int]) -> str:
    """A tile as the disassembler prints it inside `tile<...>`, its extents replaced: `128xf32`."""
    if not isinstance(value, Tile):
        return value.text()
    parts = []
    for part in value.shape.parts:
        if isinstance(part, Int):
            parts.append(str(part.value))
        else:
            parts.append(str(extents.get(part.name, part.name)) if isinstance(part, Var) else part.text())
    element = value.element.text().removeprefix("!cuda_tile.")
    return "x".join([*parts, element])


def _signature(declaration: Declaration) -> str:
    arguments = ", ".join(_argument(argument) for argument in declaration.arguments)
    constants = ", ".join(parameter.name for parameter in declaration.const_params)
    return f"{declaration.name}{f'<{constants}>' if constants else ''}({arguments})"


def _argument(argument: Argument) -> str:
    return f"{argument.access.name.lower()} tile<{tile_text(argument.type, {})}>"


def _no_implementation(declaration: Declaration, library: LibraryContents, arch: str) -> Iterator[Problem]:
    if library.catalog is None:
        return
    candidates = [each for each in library.catalog.implementations if each.implements == declaration.name]
    fitting = [
        each for each in candidates if not each.arch or any(architecture_matches(one, arch) for one in each.arch)
    ]
    if candidates and not fitting:
        supported = ", ".join(dict.fromkeys(name for each in candidates for name in each.arch))
        what = f"`{declaration.name}` has no implementation for {arch}; its list of architectures is: {supported}"
        hint = f'add "{arch}" to the export\'s arch and build the library again, or build the program for another'
        yield Problem(what, Place(library.file), hint)


def _no_such_size(
    call: Call, declaration: Declaration, library: LibraryContents, sizes: Mapping[str, tuple[int, ...]]
) -> Iterator[Problem]:
    for each in library.catalog.implementations if library.catalog else ():
        known = each.implements == declaration.name and each.name in sizes and len(call.constants) == 1
        if known and call.constants[0] not in sizes[each.name]:
            yield _not_carried(each, call.constants[0], sizes, library)


def _not_carried(
    implementation: Implementation, size: int, sizes: Mapping[str, tuple[int, ...]], library: LibraryContents
) -> Problem:
    what = (
        f"`{implementation.implements}` is called for tiles of {size} elements, "
        f"for which the library defines no `{sized_name(implementation.name, size)}`"
    )
    there = sizes.get(implementation.name, ())
    hint = f"list {size} in the tile_shapes of the library and build it again"
    if there:
        hint = f"the library has it for {', '.join(map(str, there))}; call one of these, or {hint}"
    return Problem(what, Place(library.file), hint)


def _unresolved(
    output: str, libraries: Sequence[LibraryContents], sizes: Mapping[str, tuple[int, ...]]
) -> Iterator[Problem]:
    for symbol in dict.fromkeys(match["symbol"] for match in _UNRESOLVED.finditer(output)):
        base = sized_base(symbol)
        owner = next((one for one in libraries if symbol in symbols([one]) or (base and base in symbols([one]))), None)
        if owner is None:
            continue
        if base and base in symbols([owner]):
            size = int(symbol.rpartition(EXTENT)[2])
            yield _not_carried(next(one for one in _implementations([owner]) if one.name == base), size, sizes, owner)
        else:
            what = f"the library names the implementation `{symbol}`, and its device code does not define it"
            yield Problem(what, Place(owner.file), "build the library again with tilewright, which checks that")


def _implementations(libraries: Sequence[LibraryContents]) -> Iterator[Implementation]:
    for library in libraries:
        if library.catalog:
            yield from library.catalog.implementations


def _names(library: LibraryContents) -> str:
    return ", ".join(each.name for each in library.interface.declarations)
