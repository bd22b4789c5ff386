"""From the files of a crate to its exports. Spec: Writing an export."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from tilewright.exports.model import ExportSet, TileExport
from tilewright.exports.rules import check
from tilewright.problem import Place, Problem
from tilewright.sources.rust.attribute import EXAMPLE, read_attribute
from tilewright.sources.rust.bodies import Definitions, body_problems, definitions
from tilewright.sources.rust.documentation import doc_before
from tilewright.sources.rust.grammar import RustFile, attribute_path, plain_name
from tilewright.sources.rust.items import Item, items
from tilewright.sources.rust.modules import Crate
from tilewright.sources.rust.signature import read_signature
from tilewright.sources.tree import descendants

ATTRIBUTE = "tile_export"
_MEMBERS = ("impl_item", "trait_item")
_MACROS = ("macro_definition", "macro_invocation", "macro_rule")


@dataclass
class Reading:
    """The exports of a crate as far as they could be read, and every problem."""

    exports: ExportSet
    problems: list[Problem]


@dataclass
class _Found:
    exports: list[TileExport] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)


def read_exports(crate: Crate, library: str, *, nightly_f16: bool = False) -> Reading:
    """The exports of every module, in the order of the files; all rules applied, each problem with its line below."""
    found = _Found(problems=[*crate.problems])
    known = definitions(crate.files)
    for file in crate.files:
        found.seen.clear()
        for item in items(file.root, conditional=file.conditional):
            _read_item(file, item, known, found, nightly_f16=nightly_f16)
        found.problems += _misplaced(file, found.seen)
    exports = ExportSet(library, tuple(found.exports))
    if not found.problems and not exports.exports:
        found.problems.append(_no_export(crate.files[0]))
    if exports.exports:
        found.problems += check(exports, functions=found.functions)
    return Reading(exports, [_shown(crate.files, problem) for problem in found.problems])


def _shown(files: Sequence[RustFile], problem: Problem) -> Problem:
    for file in files:
        problem = file.shown(problem)
    return problem


def _read_item(file: RustFile, item: Item, known: Definitions, found: _Found, *, nightly_f16: bool) -> None:
    node = item.node
    if node.type == "foreign_mod_item":
        found.functions |= {
            plain_name(file.words(name))
            for child in descendants(node)
            if child.type == "function_signature_item" and (name := child.child_by_field_name("name")) is not None
        }
    if node.type != "function_item":
        return
    name = node.child_by_field_name("name")
    if name is not None:
        found.functions.add(plain_name(file.words(name)))
    written = [one for one in item.attributes if attribute_path(one).rpartition("::")[2] == ATTRIBUTE]
    if not written:
        return
    marks = [_mark(file, one) for one in written]
    found.seen |= {mark.start_byte for mark in marks}
    if len(written) > 1:
        found.problems.append(file.problem(marks[1], "tile_export is given twice for one function", "keep one"))
        return
    if item.conditional:
        found.problems.append(_conditional(file, item, marks[0]))
        return
    _read_export(file, item, marks[0], written[0], known, found, nightly_f16=nightly_f16)


def _read_export(
    file: RustFile, item: Item, mark: Node, attribute: Node, known: Definitions, found: _Found, *, nightly_f16: bool
) -> None:
    """Reads one export, or says everything that is wrong with it."""
    reading = read_attribute(file, attribute)
    signature = read_signature(file, item.node, nightly_f16=nightly_f16)
    found.problems += [*reading.problems, *signature.problems]
    found.problems += body_problems(file, item.node, signature.name, known)
    if signature.problems:
        return
    export = reading.attribute().export_of(
        signature.name, signature.parameters, doc=doc_before(item.node), where=file.place(mark)
    )
    found.exports.append(export)


def _mark(file: RustFile, attribute: Node) -> Node:
    """The word `tile_export` in an attribute."""
    return next(node for node in descendants(attribute) if node.type == "identifier" and file.words(node) == ATTRIBUTE)


def _conditional(file: RustFile, item: Item, mark: Node) -> Problem:
    own = next((one for one in item.attributes if attribute_path(one) in ("cfg", "cfg_attr")), None)
    around = f"under `{file.words(own)}`" if own is not None else "in a module under a `#[cfg]`"
    return file.problem(
        mark,
        f"this tile export stands {around}",
        "put the condition into the body: the description is made before conditions are evaluated",
    )


def _misplaced(file: RustFile, seen: set[int]) -> Iterator[Problem]:
    """Uses of the attribute that make no export, each with the reason."""
    for node in descendants(file.root) if ATTRIBUTE in file.text else ():
        if node.type != "identifier" or file.words(node) != ATTRIBUTE or node.start_byte in seen:
            continue
        ancestors = list(_ancestors(node))
        kinds = [ancestor.type for ancestor in ancestors]
        hint = f"write the attribute out at each function: {EXAMPLE}"
        if "use_as_clause" in kinds:
            yield file.problem(node, "tile_export is given another name", "import it under its own name")
        elif any(kind in _MACROS for kind in kinds):
            yield file.problem(node, "tile_export is hidden in a macro", hint)
        elif "attribute_item" in kinds:
            attribute = ancestors[kinds.index("attribute_item")]
            yield _misplaced_attribute(file, node, attribute, kinds[kinds.index("attribute_item") + 1 :])


def _misplaced_attribute(file: RustFile, node: Node, attribute: Node, around: Sequence[str]) -> Problem:
    if attribute_path(attribute) == "cfg_attr":
        hint = f"write the attribute itself: {EXAMPLE}"
        return file.problem(node, "tile_export stands in `#[cfg_attr(...)]`", hint)
    if any(kind in _MEMBERS for kind in around):
        hint = "export a free function that calls the member"
        return file.problem(node, "this tile export is a member of an `impl` or a trait", hint)
    if "block" in around:
        return file.problem(node, "this tile export stands inside a function", "move it out, to a module")
    hint = "put the attribute on the definition of a function"
    return file.problem(node, "tile_export stands on something that is no function with a body", hint)


def _ancestors(node: Node) -> Iterator[Node]:
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def _no_export(file: RustFile) -> Problem:
    what = "the file is empty" if not file.text.strip() else "the file has no tile export"
    return Problem(what, Place(file.name, 1, 1), hint=f"put {EXAMPLE} in front of a function")
