"""What a `.tilelib` holds, as text for people and as JSON for programs."""

from __future__ import annotations

import json
from pathlib import PurePath

from tilewright.bytecode.module import dotted
from tilewright.bytecode.records import Argument, Declaration, Implementation
from tilewright.bytecode.spelling import bare_or_quoted, symbol
from tilewright.bytecode.text import const_params_text
from tilewright.bytecode.types import Value
from tilewright.library.archive import LibraryContents, PayloadKind
from tilewright.library.sizes import Carried

SCHEMA = 1
NOTHING_CARRIED = Carried({})


def inspection_text(contents: LibraryContents, carried: Carried = NOTHING_CARRIED) -> str:
    """One section each for interface, implementations and code; ends in a newline."""
    interface, catalog = contents.interface, contents.catalog
    form = "provider" if catalog is None else "static"
    version = dotted(interface.version)
    lines = [f"{library_name(contents)}: {form} tile library, Tile IR {version}, packed for {contents.machine} hosts"]
    lines += ["", f"interface: {len(interface.declarations)} declaration(s)"]
    lines += [f"  {_declaration_line(each)}" for each in interface.declarations]
    if catalog is None:
        lines += ["", "implementations: the provider names them for each call"]
    else:
        lines += ["", f"implementations: {len(catalog.implementations)}"]
        lines += [f"  {_implementation_line(each)}{_sizes(each, carried)}" for each in catalog.implementations]
    lines += ["", f"code: {_code(contents)}, {len(contents.payload.data)} bytes"]
    if header := contents.payload.ltoir:
        lines += [f"  made for compute_{header.arch}, serves this architecture and newer ones"]
        lines += [f"  NVVM version {header.nvvm_version}"]
    return "\n".join(lines) + "\n"


def inspection_json(contents: LibraryContents, carried: Carried = NOTHING_CARRIED) -> str:
    """The same facts under keys that stay; ends in a newline."""
    header = contents.payload.ltoir
    record = {
        "schema": SCHEMA,
        "library": library_name(contents),
        "form": "provider" if contents.catalog is None else "static",
        "host": contents.machine,
        "bytecode_version": dotted(contents.interface.version),
        "declarations": [_declaration_record(each) for each in contents.interface.declarations],
        "implementations": [
            _implementation_record(each, carried)
            for each in (contents.catalog.implementations if contents.catalog else ())
        ],
        "payload": {
            "kind": contents.payload.kind.name.lower(),
            "size": len(contents.payload.data),
            "ltoir_arch": f"compute_{header.arch}" if header else None,
            "nvvm_version": header.nvvm_version if header else None,
        },
        "problems": [problem.what for problem in contents.mismatches()],
    }
    return json.dumps(record, indent=2) + "\n"


def library_name(contents: LibraryContents) -> str:
    """The library's name, which only its file name tells: `relu` of `build/relu.tilelib`."""
    return PurePath(contents.file).name.removesuffix(".tilelib")


def _declaration_line(declaration: Declaration) -> str:
    arguments = ", ".join(f"{_type(each.type)} {_access(each)}" for each in declaration.arguments)
    results = ", ".join(map(_type, declaration.results)) or "nothing"
    parameters = const_params_text(declaration.const_params)
    return f"{symbol(declaration.name)}{parameters}({arguments}) -> {results}"


def _implementation_line(implementation: Implementation) -> str:
    together = _synchronization(implementation)
    called = "each thread alone" if together == "none" else f"called by a whole {together}"
    only = ", ".join(map(bare_or_quoted, implementation.arch))
    where = f"only {only}" if only else "every architecture"
    return f"{symbol(implementation.name)} implements {symbol(implementation.implements)}: {called}, {where}"


def _sizes(implementation: Implementation, carried: Carried) -> str:
    """What follows the line of a parametric implementation."""
    if not implementation.const_params:
        return ""
    if implementation.name not in carried.sizes:
        return f", in sizes not known here: {carried.unknown}" if carried.unknown else ""
    return f", in tiles of {', '.join(map(str, carried.sizes[implementation.name])) or 'no'} elements"


def _code(contents: LibraryContents) -> str:
    kind, data = contents.payload.kind, contents.payload.data
    beginning = f", beginning with {data[:8].hex(' ')}" if kind is PayloadKind.UNKNOWN else ""
    return f"{kind.value}{beginning}"


def _declaration_record(declaration: Declaration) -> dict[str, object]:
    return {
        "name": declaration.name,
        "const_params": [parameter.short() for parameter in declaration.const_params],
        "arguments": [{"type": _type(each.type), "access": _access(each)} for each in declaration.arguments],
        "results": [_type(each) for each in declaration.results],
    }


def _implementation_record(implementation: Implementation, carried: Carried) -> dict[str, object]:
    return {
        "symbol": implementation.name,
        "implements": implementation.implements,
        "synchronization": _synchronization(implementation),
        "architectures": list(implementation.arch),
        "provider_score": implementation.provider_score,
        "tile_shapes": list(carried.sizes[implementation.name]) if implementation.name in carried.sizes else None,
        "arguments": [{"type": _type(each.type), "access": _access(each)} for each in implementation.arguments],
    }


def _type(value: Value) -> str:
    return value.text().replace("!cuda_tile.", "").replace("#cuda_tile.", "")


def _access(argument: Argument) -> str:
    return argument.access.name.lower()


def _synchronization(implementation: Implementation) -> str:
    return implementation.synchronization.name.lower() if implementation.synchronization else "none"
