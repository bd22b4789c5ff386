"""The cuTile Python module: a wrapper an export around `foreign_call`. Spec: Calling it from cuTile Python."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright import __version__
from tilewright.callers.bindings.words import banner, docstring, facts, unlike
from tilewright.callers.templates import rendered
from tilewright.exports.access_rules import is_unsafe_in_comments
from tilewright.exports.elements import ElementType
from tilewright.exports.model import ExportSet, Parameter, TileExport
from tilewright.exports.naming import EXTENT

_DTYPES = {"f": "float", "i": "int", "u": "uint"}
OWN_NAMES = frozenset(
    {
        *("Any", "AVAILABLE", "LIBRARY", "TILELIB", "TYPE_CHECKING", "Tile", "TypeAlias", "annotations"),
        *("_ct", "_os", "_results", "_tp"),
    }
)
"""Names of the generated module itself."""

TAKEN = OWN_NAMES | frozenset(keyword.kwlist)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """An export as the template shows it. `inputs` has an expression for every argument of the declaration."""

    name: str
    symbol_name: str
    parameters: list[str]
    extent: str
    inputs: list[str]
    output_types: list[str]
    doc: str

    @property
    def signature(self) -> str:
        """`relu_any(x: Tile, N: int) -> Tile`."""
        given = [f"{name}: Tile" for name in self.parameters] + ([f"{self.extent}: int"] if self.extent else [])
        results = ["Tile"] * len(self.output_types)
        returned = "Tile" if len(results) == 1 else f"tuple[{', '.join(results)}]"
        return f"{self.name}({', '.join(given)}) -> {returned}"

    @property
    def returned(self) -> str:
        """One tile as it is, several as a tuple."""
        results = [f"_results[{number}]" for number in range(len(self.output_types))]
        return results[0] if len(results) == 1 else f"({', '.join(results)})"


def cutile_python_module(exports: ExportSet) -> bytes:
    """`<lib>_tile.py`: importable without cuTile, typed, one function an export with the result slots made inside."""
    text = rendered(
        "bindings/cutile_python.py.j2",
        banner=banner(exports.library),
        library=exports.library,
        variable=f"TILEWRIGHT_{exports.library}_TILELIB",
        version=__version__,  # under which cuTile files the library; equal for one path in all modules of a program
        wrappers=list(_wrappers(exports)),
    )
    return text.encode()


def dtype(element: ElementType) -> str:
    """The cuTile name of an element type: `float16`, `uint32`."""
    return f"{_DTYPES[element.label[0]]}{element.size * 8}"


def _wrappers(exports: ExportSet) -> Iterator[Wrapper]:
    taken = set(TAKEN)
    for export in exports.exports:
        name = unlike(export.name, taken)
        taken.add(name)
        yield _wrapper(export, name)


def _wrapper(export: TileExport, name: str) -> Wrapper:
    taken = set(TAKEN)
    names: dict[str, str] = {}
    for parameter in export.parameters:
        names[parameter.name] = unlike(parameter.name, taken)
        taken.add(names[parameter.name])
    extent = unlike(EXTENT, taken) if export.tile_shape is None else ""
    size = extent or str(export.tile_shape)
    passed = [parameter for parameter in export.parameters if not parameter.is_return]
    return Wrapper(
        name=name,
        symbol_name=export.name,
        parameters=[names[parameter.name] for parameter in passed],
        extent=extent,
        inputs=[_slot(one, size) if one.is_return else names[one.name] for one in export.parameters],
        output_types=[f"(_ct.{dtype(parameter.element)}, ({size},))" for parameter in export.outputs],
        doc=docstring(_doc(export, passed, names)),
    )


def _slot(parameter: Parameter, size: str) -> str:
    return f"_ct.zeros(({size},), dtype=_ct.{dtype(parameter.element)})"


def _doc(export: TileExport, passed: list[Parameter], names: dict[str, str]) -> list[str]:
    doc = [_visible(line) for line in export.doc.strip().split("\n")] if export.doc.strip() else []
    head = doc or [f"`{export.name}` of the tile library."]
    types = [f"{names[one.name]}: a tile of {dtype(one.element)}, {one.access.value}" for one in passed]
    returned = ", ".join(names[one.name] for one in export.outputs)
    lines = [*head, "", *facts(export), "", *types, f"Returns: {returned}."]
    return [lines[0], *(f"    {line}" if line else "" for line in lines[1:])]


def _visible(text: str) -> str:
    safe = (f"\\u{{{ord(one):x}}}" if is_unsafe_in_comments(one) else one for one in text.expandtabs(4))
    return "".join(safe).rstrip()
