"""Reads a piece of a CUDA C++ file with the tree-sitter grammar, positions given in the whole file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from tilewright.problem import Place
from tilewright.sources.cuda.lexer import SourceText


@dataclass(frozen=True)
class Fragment:
    """A parsed piece of `source` that starts at character `offset`; `data` may have blanks where the file has words."""

    source: SourceText
    offset: int
    data: bytes
    root: Node

    def place(self, node: Node) -> Place:
        """Where a node starts in the file."""
        return self.source.place(self.offset + len(self.data[: node.start_byte].decode()))

    def text(self, node: Node) -> str:
        """A node as written, runs of white space made one blank."""
        return " ".join(self.data[node.start_byte : node.end_byte].decode().split())


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def parse(source: SourceText, offset: int, text: str) -> Fragment:
    """Parses `text`, which stands at `offset` of the file (same length, some words blanked)."""
    data = text.encode()
    return Fragment(source, offset, data, _parser().parse(data).root_node)
