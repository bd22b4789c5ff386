"""The Tile C++ header: a foreign declaration an export. Spec: Calling it from Tile C++; The provider form."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.callers.bindings.words import banner, doc_lines, unlike
from tilewright.callers.templates import rendered
from tilewright.exports.abi import C_NAMES
from tilewright.exports.elements import ElementType
from tilewright.exports.model import ExportSet, Parameter, TileExport
from tilewright.exports.naming import EXTENT

FORM = 1
"""The version macro's value; it counts up when a caller's source has to change for a new form of header."""

MOST_RESULTS = 5
"""`cuda::tiles::experimental::multi_outputs`, the type of several results, is defined for that many and not more."""

FOREIGN_NAMESPACES = frozenset({"cuda", "cutile", "main", "std"})
"""Namespaces that are not ours to add to, whatever a library is called."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """An export as the template shows it; `extent` is empty when the tile size is fixed, `why_not` when it is shown."""

    name: str
    doc: list[str]
    extent: str
    result: str
    parameters: list[str]
    why_not: str = ""


def tile_cpp_header(exports: ExportSet) -> bytes:
    """`<lib>_tile.h`: every export that Tile C++ can express, in a namespace called after the library."""
    library = exports.library
    has_half = any(
        parameter.element is ElementType.F16 for export in exports.exports for parameter in export.parameters
    )
    text = rendered(
        "bindings/tile_cpp.h.j2",
        banner=banner(library),
        library=library,
        namespace=namespace_of(library),
        form=FORM,
        has_half=has_half,
        declarations=[_declaration(export) for export in exports.exports],
    )
    return text.encode()


def namespace_of(library: str) -> str:
    """The namespace of a library's declarations: its name, or `std_` where that is someone else's."""
    return unlike(library, FOREIGN_NAMESPACES)


def _declaration(export: TileExport) -> Declaration:
    extent = ""
    if export.tile_shape is None:
        extent = unlike(EXTENT, {export.name, *(parameter.name for parameter in export.parameters)})
    size = extent or str(export.tile_shape)
    results = [_tile(parameter, size) for parameter in export.outputs]
    result = results[0] if len(results) == 1 else f"::cuda::tiles::experimental::multi_outputs<{', '.join(results)}>"
    why_not = ""
    if len(results) > MOST_RESULTS:
        why_not = f"it has {len(results)} results, and a Tile C++ function returns {MOST_RESULTS} tiles at most"
    doc = doc_lines(export)
    if 1 < len(results) <= MOST_RESULTS:
        fields = ", ".join(f"{parameter.name} in F{number}" for number, parameter in enumerate(export.outputs))
        doc.append(f"Returns: {fields}.")
    parameters = [_parameter(parameter, size) for parameter in export.parameters]
    return Declaration(export.name, doc, extent, result, parameters, why_not)


def _parameter(parameter: Parameter, size: str) -> str:
    """What the library reads carries no attribute; what it writes is `inout` and comes back as a result."""
    attribute = "[[cutile::experimental_inout]] " if parameter.access.writes else ""
    return f"{attribute}{_tile(parameter, size)} {parameter.name}"


def _tile(parameter: Parameter, size: str) -> str:
    return f"::cuda::tiles::tile<{C_NAMES[parameter.element]}, ::cuda::tiles::shape<{size}>>"
