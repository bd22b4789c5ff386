"""What bindings say about an export in every language, and how text gets into a comment without leaving it."""

from __future__ import annotations

import re
from collections.abc import Collection

from tilewright.exports.access_rules import is_unsafe_in_comments
from tilewright.exports.model import Sync, TileExport
from tilewright.exports.naming import EXTENT

GENERATOR = "tilewright bindings"

_SYNC = {
    Sync.NONE: "Each thread calls the implementation alone, once for the elements it owns.",
    Sync.WARP: "The 32 lanes of a warp call the implementation together.",
}
_TRIGRAPH = re.compile(r"\?(?=\?[/=()'<>!-])")


def banner(library: str) -> str:
    """The first line of every generated file, without its comment sign."""
    return f"Written by `{GENERATOR}` from {library}.tileexports.json; do not edit."


def facts(export: TileExport) -> list[str]:
    """What a caller has to know and cannot see in the types, a sentence a line."""
    inputs = [parameter.name for parameter in export.parameters if not parameter.access.writes]
    updated = [parameter.name for parameter in export.outputs if not parameter.is_return]
    slots = [parameter.name for parameter in export.outputs if parameter.is_return]
    elements = f"{export.tile_shape} elements" if export.tile_shape else f"{EXTENT} elements, which the call supplies"
    lines = [f"Tile: {elements}. {_SYNC[export.sync]}"]
    moves = []
    if inputs:
        moves.append(f"Reads: {', '.join(inputs)}.")
    if updated:
        moves.append(f"Reads and writes: {', '.join(updated)}.")
    if slots:
        moves.append(f"Writes: {', '.join(slots)}, a slot for the result; what it holds before does not matter.")
    lines.append(" ".join(moves))
    if export.arch:
        lines.append(f"Architectures: {', '.join(export.arch)}.")
    if export.tile_shape is None:
        lines.append("A static library has it only in the sizes it was built for.")
    return lines


def doc_lines(export: TileExport) -> list[str]:
    """The doc text and the facts as lines for a comment that ends with its line (`///`)."""
    doc = [line_comment(line) for line in export.doc.strip("\n").split("\n")] if export.doc.strip() else []
    return [*doc, *([""] if doc else []), *facts(export)]


def line_comment(text: str) -> str:
    """One line of text that can stand in a `//` comment: no control characters, no line continuation, no trigraph.

    A comment's end (`*/`) is broken too, so that commenting out the whole file stays possible.
    """
    visible = "".join(f"\\u{{{ord(one):x}}}" if is_unsafe_in_comments(one) else one for one in text.expandtabs(4))
    broken = _TRIGRAPH.sub("? ", visible).replace("*/", "* /").rstrip()
    return f"{broken} ." if broken.endswith("\\") else broken


def docstring(lines: Collection[str]) -> str:
    """Lines as the inside of a Python docstring: no quotes that end it, no escapes; the closing quotes not included."""
    return "\n".join(lines).replace("\\", "\\\\").replace('"', '\\"')


def unlike(name: str, taken: Collection[str]) -> str:
    """The name with as many trailing `_` as it takes to be none of `taken`."""
    while name in taken:
        name += "_"
    return name
