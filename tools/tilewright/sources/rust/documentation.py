"""Doc comments in front of an export, without their marks."""

from __future__ import annotations

import re

from tree_sitter import Node

from tilewright.sources.rust.grammar import COMMENTS, attribute_path, attribute_text

_LINE = re.compile(r"///(?!/)")
_BLOCK = re.compile(r"/\*\*(?![*/])")


def doc_before(item: Node) -> str:
    """The text of the `///` lines, `/** */` blocks and `#[doc = "..."]` of an item, empty when there are none.

    One blank after the mark is dropped, as are blank lines at either end; plain comments in between are skipped.
    """
    lines: list[str] = []
    sibling = item.prev_named_sibling
    while sibling is not None and (sibling.type in COMMENTS or sibling.type == "attribute_item"):
        lines = [*_lines(sibling), *lines]
        sibling = sibling.prev_named_sibling
    return "\n".join(lines).strip("\n")


def _lines(node: Node) -> list[str]:
    if node.type == "attribute_item":
        text = attribute_text(node) if attribute_path(node) == "doc" else None
        return [line.removeprefix(" ").rstrip() for line in text.splitlines()] if text is not None else []
    comment = (node.text or b"").decode(errors="replace").rstrip()
    if _LINE.match(comment):
        return [comment[3:].removeprefix(" ").rstrip()]
    if not _BLOCK.match(comment):
        return []
    first, *rest = comment[3:-2].splitlines() or [""]
    starred = [re.sub(r"^\s*\*? ?", "", line) for line in rest]
    return [first.removeprefix(" ").rstrip(), *(line.rstrip() for line in starred)]
