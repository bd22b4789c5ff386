"""The items of a module, each with the attributes in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from tilewright.sources.rust.grammar import COMMENTS, attribute_path

_INNER = ("inner_attribute_item", "empty_statement")


@dataclass(frozen=True)
class Item:
    """An item, its outer attributes in order, and whether it or a module around it stands under a `#[cfg]`.

    `modules` are the names of the inline modules around it.
    """

    node: Node
    attributes: tuple[Node, ...]
    conditional: bool
    modules: tuple[str, ...] = ()


def items(container: Node, *, conditional: bool = False, modules: tuple[str, ...] = ()) -> Iterator[Item]:
    """Every item below a source file or a module body, inline modules entered, function bodies not."""
    attributes: list[Node] = []
    for child in container.named_children:
        if child.type == "attribute_item":
            attributes.append(child)
        elif child.type not in COMMENTS and child.type not in _INNER:
            under = conditional or any(attribute_path(attribute) in ("cfg", "cfg_attr") for attribute in attributes)
            yield Item(child, tuple(attributes), under, modules)
            body = child.child_by_field_name("body")
            if child.type == "mod_item" and body is not None:
                name = child.child_by_field_name("name")
                label = (name.text or b"").decode() if name is not None else ""
                yield from items(body, conditional=under, modules=(*modules, label))
            attributes = []
