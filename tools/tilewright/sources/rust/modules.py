"""The files of a crate: `mod`, `#[path]` and `include!` followed from its root file, read or only scanned."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tree_sitter import Node

from tilewright.problem import Problem
from tilewright.sources.attribute import string_value
from tilewright.sources.rust.grammar import (
    COMMENTS,
    RustFile,
    attribute_path,
    attribute_text,
    parse,
    plain_name,
)
from tilewright.sources.rust.items import Item, items
from tilewright.sources.source import SourceError
from tilewright.sources.text import read_text
from tilewright.sources.tree import descendants

_INCLUDES = ("include", "include_str", "include_bytes")


@dataclass
class Crate:
    """The Rust files of a crate in the order they were found, every file that was read, and the problems on the way."""

    files: list[RustFile] = field(default_factory=list)
    dependencies: dict[Path, None] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class _Link:
    """A file to read: `owner` holds when modules of it lie beside it (`lib.rs`, `mod.rs`, `#[path]`, `include!`)."""

    path: Path
    owner: bool
    conditional: bool


def read_crate(root_file: Path, *, root: Path) -> Crate:
    """Reads a crate. SourceError when the root file cannot be read; missing modules are left for rustc to report."""
    crate = Crate()
    waiting = [_Link(Path(os.path.abspath(root_file)), True, False)]
    while waiting:
        link = waiting.pop(0)
        if link.path in crate.dependencies:
            continue
        name = Path(os.path.relpath(link.path, root)).as_posix()
        try:
            text = read_text(link.path, name)
        except SourceError as error:
            if not crate.files or not link.conditional:
                crate.problems += error.problems
            continue
        file = parse(text, name=name, path=link.path, conditional=link.conditional)
        crate.files.append(file)
        crate.dependencies[link.path] = None
        waiting += _modules(file, link)
        waiting += _included(file, crate)
    return crate


def scan(root_file: Path, *, root: Path) -> tuple[Path, ...]:
    """Every file of the user's that a build of the crate reads, the root file first; what is not there is left out."""
    return tuple(read_crate(root_file, root=root).dependencies)


def _modules(file: RustFile, link: _Link) -> Iterator[_Link]:
    for item in items(file.root, conditional=link.conditional):
        if item.node.type == "mod_item" and item.node.child_by_field_name("body") is None:
            found = _module_file(file, item, owner=link.owner)
            if found is not None:
                yield found


def _module_file(file: RustFile, item: Item, *, owner: bool) -> _Link | None:
    folder = file.path.parent
    nested = folder if owner else folder / file.path.stem
    inside = nested.joinpath(*(plain_name(module) for module in item.modules))
    written = [attribute_text(one) for one in item.attributes if attribute_path(one) == "path"]
    if written and written[0] is not None:
        base = inside if item.modules else folder
        return _existing(base / written[0], owner=True, item=item)
    name = item.node.child_by_field_name("name")
    if name is None:
        return None
    label = plain_name(file.words(name))
    beside = _existing(inside / f"{label}.rs", owner=False, item=item)
    return beside or _existing(inside / label / "mod.rs", owner=True, item=item)


def _existing(path: Path, *, owner: bool, item: Item) -> _Link | None:
    plain = Path(os.path.normpath(path))
    return _Link(plain, owner, item.conditional) if plain.is_file() else None


def _included(file: RustFile, crate: Crate) -> Iterator[_Link]:
    """Follows `include!`; the files of `include_str!` and `include_bytes!` are only noted."""
    for node in descendants(file.root):
        if node.type != "identifier" or file.words(node) not in _INCLUDES:
            continue
        arguments = _macro_arguments(node)
        if arguments is None:
            continue
        inner = [child for child in arguments.children[1:-1] if child.type not in (*COMMENTS, ",")]
        written = string_value(inner[0]) if len(inner) == 1 else None
        if written is None:
            what = f"`{file.words(node)}!` names its file by an expression, so a change of the file would go unseen"
            crate.problems.append(file.problem(arguments, what, hint="write the path as a plain string literal"))
            continue
        path = Path(os.path.normpath(file.path.parent / written))
        if path.is_file():
            if file.words(node) == "include":
                yield _Link(path, True, file.conditional)
            else:
                crate.dependencies[path] = None


def _macro_arguments(name: Node) -> Node | None:
    """The token tree of `name!(...)`, in code or among the tokens of another macro; `std::name!` too."""
    head = name.parent if name.parent is not None and name.parent.type == "scoped_identifier" else name
    mark = head.next_sibling
    tree = mark.next_sibling if mark is not None and mark.type == "!" else None
    return tree if tree is not None and tree.type == "token_tree" else None
