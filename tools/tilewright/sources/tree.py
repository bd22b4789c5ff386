"""Walks through the trees of tree-sitter, which every source language has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tree_sitter import Node


def descendants(node: Node) -> Iterator[Node]:
    """The node and everything below it, in source order."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        yield here
        waiting += reversed(here.children)


def faults(nodes: Iterable[Node]) -> Iterator[Node]:
    """What the grammar could not read in some nodes: wrong pieces and missing ones."""
    return (
        below for node in nodes if node.has_error for below in descendants(node) if below.is_error or below.is_missing
    )
