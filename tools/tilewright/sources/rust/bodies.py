"""What the body of an export must not do: use a mutable static, own shared memory, or wait for the block.

Looks into the functions and macros of the same crate that the body names.  What hides elsewhere is found in the IR.
Spec: What happens at the boundary.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from tilewright.problem import Problem
from tilewright.sources.rust.grammar import RustFile, attribute_path
from tilewright.sources.tree import descendants

_SHARED = frozenset({"SharedArray", "DynamicSharedArray", "SharedMemory"})
_BARRIERS = frozenset({"sync_threads", "syncthreads", "__syncthreads", "barrier_sync", "cluster_sync"})
_SHARED_HINT = "keep to registers and the parameters: shared memory belongs to the tile kernel"
_BARRIER_HINT = (
    'a tile export may wait for its warp only: write sync = "warp" in the attribute, and warp::sync(u32::MAX)'
)
_STATIC_HINT = "pass the value as a parameter, or make it a `const`: all invocations would share it"
_DEFINING = ("function_item", "macro_definition", "static_item")
_NAMES = ("identifier", "type_identifier")


@dataclass
class Definitions:
    """Of a whole crate: bodies of functions and macros by name, and the statics that can change or lie in sections.

    `chains` remembers what was found behind a name.
    """

    bodies: dict[str, list[tuple[RustFile, Node]]] = field(default_factory=lambda: defaultdict(list))
    statics: dict[str, str] = field(default_factory=dict)
    chains: dict[str, _Chain | None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Offence:
    what: str
    hint: str
    node: Node


def definitions(files: Sequence[RustFile]) -> Definitions:
    """Collects every definition of the crate."""
    known = Definitions()
    for file in files:
        for node in descendants(file.root):
            name = node.child_by_field_name("name") if node.type in _DEFINING else None
            if name is None:
                continue
            body = node.child_by_field_name("body") if node.type == "function_item" else None
            if node.type == "macro_definition":
                body = node
            if body is not None:
                known.bodies[file.words(name)].append((file, body))
            elif node.type == "static_item" and any(child.type == "mutable_specifier" for child in node.children):
                known.statics[file.words(name)] = "uses the mutable static"
            elif node.type == "static_item" and _in_section(node):
                known.statics[file.words(name)] = "uses a section of its own for"
    return known


def _in_section(static: Node) -> bool:
    sibling = static.prev_named_sibling
    while sibling is not None and sibling.type == "attribute_item":
        if "link_section" in attribute_path(sibling) or b"link_section" in (sibling.text or b""):
            return True
        sibling = sibling.prev_named_sibling
    return False


def body_problems(file: RustFile, function: Node, name: str, known: Definitions) -> Iterator[Problem]:
    """Every offence in the body itself, and for each name that it uses the first one behind that name."""
    body = function.child_by_field_name("body")
    if body is None:
        return
    reported: set[str] = set()
    for node in descendants(body):
        if node.type not in _NAMES:
            continue
        text = file.words(node)
        if text in reported:
            continue
        if offence := _offence(file, node, known):
            reported.add(text)
            yield file.problem(node, f"`{name}` {offence.what}", offence.hint)
        elif text != name and (chain := _remembered(text, known)):
            reported.add(text)
            yield _indirect(file, name, node, chain)


def _offence(file: RustFile, node: Node, known: Definitions) -> _Offence | None:
    text = file.words(node)
    if text in _SHARED:
        return _Offence(f"declares shared memory, `{text}`", _SHARED_HINT, node)
    if text in _BARRIERS:
        return _Offence(f"waits for the whole block, `{text}`", _BARRIER_HINT, node)
    if text in known.statics and not (node.parent is not None and node.parent.type == "static_item"):
        return _Offence(f"{known.statics[text]} `{text}`", _STATIC_HINT, node)
    return None


@dataclass(frozen=True)
class _Chain:
    """The functions from the one named in the body to the offence, and where that stands."""

    names: tuple[str, ...]
    file: RustFile
    offence: _Offence


def _remembered(name: str, known: Definitions) -> _Chain | None:
    if name not in known.bodies:
        return None
    if name not in known.chains:
        known.chains[name] = _behind(name, known)
    return known.chains[name]


def _behind(start: str, known: Definitions) -> _Chain | None:
    """The shortest way from a name to an offence."""
    seen = {start}
    waiting: list[tuple[str, ...]] = [(start,)]
    while waiting:
        names = waiting.pop(0)
        for file, body in known.bodies.get(names[-1], ()):
            for node in descendants(body):
                if node.type not in _NAMES:
                    continue
                if offence := _offence(file, node, known):
                    return _Chain(names, file, offence)
                text = file.words(node)
                if text not in seen and text in known.bodies:
                    seen.add(text)
                    waiting.append((*names, text))
    return None


def _indirect(file: RustFile, name: str, node: Node, chain: _Chain) -> Problem:
    way = " -> ".join(f"`{step}`" for step in chain.names)
    where = chain.file.place(chain.offence.node)
    what = f"`{name}` reaches {way}, which {chain.offence.what} ({where})"
    return file.problem(node, what, chain.offence.hint)
