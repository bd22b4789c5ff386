"""A Rust file as text and as a tree, with problems shown as rustc shows them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

from tilewright.problem import Place, Problem, visible
from tilewright.sources.attribute import string_value

_TAB = "    "
_WIDEST = 200  # characters of a line that are shown
COMMENTS = ("line_comment", "block_comment")


@dataclass(frozen=True)
class RustFile:
    """One file of a crate under its project-relative `name`.

    `conditional` holds for a file that a `#[cfg]` may leave out.  `lengths` remembers how many characters each
    position handed out covers on its line.
    """

    name: str
    path: Path
    text: str
    root: Node
    conditional: bool = False
    lengths: dict[tuple[int, int], int] = field(default_factory=dict)

    def place(self, node: Node) -> Place:
        """Where a node starts."""
        row = node.start_point[0]
        line = self.lines[row].encode()
        column = len(line[: node.start_point[1]].decode(errors="replace"))
        end = node.end_point[1] if node.end_point[0] == row else len(line)
        self.lengths[row + 1, column + 1] = len(line[:end].decode(errors="replace")) - column
        return Place(self.name, row + 1, column + 1)

    def words(self, node: Node) -> str:
        """A node as written, runs of white space made one blank."""
        return " ".join((node.text or b"").decode(errors="replace").split())

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return self.text.split("\n")

    def problem(self, node: Node, what: str, hint: str = "", rule: str = "", last: Node | None = None) -> Problem:
        """A problem at a node, or at a run of nodes to `last`, the line shown below it."""
        where = self.place(node)
        if last is not None and last.end_point[0] == node.start_point[0]:
            self.lengths[where.line, where.column] += len((self.text_between(node, last)).decode(errors="replace"))
        return self.shown(Problem(what, where, hint=hint, rule=rule))

    def text_between(self, first: Node, last: Node) -> bytes:
        """What stands behind the first node, to the end of the last."""
        return self.text.encode()[first.end_byte : last.end_byte]

    def shown(self, problem: Problem) -> Problem:
        """The problem with its line and carets as detail, when it is in this file and has none yet."""
        where = problem.where
        if where is None or where.file != self.name or problem.detail or not 0 < where.line <= len(self.lines):
            return problem
        line, start = self.lines[where.line - 1].rstrip("\r"), where.column - 1
        first = max(0, start - _WIDEST // 2) if len(line) > _WIDEST else 0
        window = line[first : first + _WIDEST]
        length = self.lengths.get((where.line, where.column), 1)
        before, marked = _shown(window[: start - first]), _shown(window[start - first :][:length])
        number = str(where.line)
        margin = " " * len(number)
        carets = " " * len(before) + "^" * max(len(marked), 1)
        rows = (f"{margin} |", f"{number} | {_shown(window)}", f"{margin} | {carets}")
        return replace(problem, detail="\n".join(rows))


def _shown(text: str) -> str:
    return visible(text.replace("\t", _TAB))


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_rust.language()))


def parse(text: str, *, name: str, path: Path, conditional: bool = False) -> RustFile:
    """Parses a file; what the grammar cannot read is left in the tree as an error node."""
    return RustFile(name, path, text, _parser().parse(text.encode()).root_node, conditional)


def plain_name(text: str) -> str:
    """An identifier without the mark of a raw one."""
    return text.removeprefix("r#")


def attribute_path(item: Node) -> str:
    """What an `attribute_item` names: `cuda_device::tile_export`, `cfg`; empty when it cannot be read."""
    attribute = next((child for child in item.named_children if child.type == "attribute"), None)
    if attribute is None or not attribute.children:
        return ""
    first = attribute.children[0]
    return "".join((first.text or b"").decode(errors="replace").split())


def attribute_text(item: Node) -> str | None:
    """The value of `#[path = "..."]` or `#[doc = "..."]`."""
    attribute = next((child for child in item.named_children if child.type == "attribute"), None)
    value = attribute.child_by_field_name("value") if attribute is not None else None
    return string_value(value) if value is not None else None
