"""What the body of an export must not do: own shared memory, or wait for the block.

A tile kernel's shared memory is the tile compiler's, and its threads do not all reach the call.  Looks into the
functions and macros of the same file that the body names, not into headers.  Spec: What happens at the boundary.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.problem import Problem
from tilewright.sources.cuda.lexer import SourceText, Token
from tilewright.sources.cuda.structure import Function, Structure, macros

_BARRIER = re.compile(r"__syncthreads(_count|_and|_or)?|__barrier_sync(_count)?|__cluster_barrier_\w+|__nv_bar0_\w+")
_GROUPS = frozenset({"this_thread_block", "this_cluster", "this_grid", "this_multi_grid"})
_WAITS = ([".", "sync"], [".", "barrier_arrive"])
_ASSEMBLY = frozenset({"asm", "__asm", "__asm__"})
_ASSEMBLY_BARRIER = re.compile(r"\b(?:bar\.(?:cta\.)?|barrier\.(?:cta\.|cluster\.)?)(?:sync|red|arrive|wait)\b")
_ASSEMBLY_SHARED = re.compile(r"\.shared\s+\.")
_SHARED_HINT = "keep to registers and the parameters: shared memory belongs to the tile kernel"
_BARRIER_HINT = 'a tile export may wait for its warp only: write sync = "warp" in the attribute, and __syncwarp()'


@dataclass(frozen=True, slots=True)
class Offence:
    """A use that an export must not make: what it is called, and the token where it stands."""

    what: str
    hint: str
    token: Token


Chain = tuple[Offence, tuple[str, ...]]


def offenders(structure: Structure) -> dict[str, Chain]:
    """The names of the file behind which an offence stands, directly or through others, with the way to it.

    Names are functions, macros, and variables in shared memory at namespace scope.  A name with several bodies
    (overloads) counts only when each of them offends: which one is meant is not known.
    """
    bodies = _bodies(structure)
    functions = {function.name for function in structure.functions}
    users: dict[str, list[tuple[str, int]]] = defaultdict(list)
    found: dict[str, dict[int, Chain]] = defaultdict(dict)
    waiting: deque[str] = deque()
    result: dict[str, Chain] = {}
    for name, alternatives in bodies.items():
        for number, body in enumerate(alternatives):
            if direct := next(offences(body), None):
                found[name][number] = (direct, (name,))
            for used in {token.text for token in _uses(body, bodies.keys(), functions)}:
                users[used].append((name, number))
        if len(found[name]) == len(alternatives):
            waiting.append(name)
    while waiting:
        name = waiting.popleft()
        if name in result:
            continue
        offence, way = result[name] = found[name][0]
        for user, number in users[name]:
            found[user].setdefault(number, (offence, (user, *way)))
            if len(found[user]) == len(bodies[user]):
                waiting.append(user)
    return result


def body_problems(
    structure: Structure, function: Function, name: str, parameters: Collection[str], known: Mapping[str, Chain]
) -> Iterator[Problem]:
    """Every offence in the body itself, and for each name that it uses the first one behind that name."""
    body = structure.body(function)
    for offence in offences(body):
        yield Problem(f"`{name}` {offence.what}", structure.source.place(offence.token.start), hint=offence.hint)
    others = known.keys() - {name, function.name, *parameters}
    functions = {other.name for other in structure.functions}
    first_uses = {token.text: token for token in reversed(list(_uses(body, others, functions)))}
    for token in first_uses.values():
        yield _indirect(structure.source, name, token, known[token.text])


def _uses(body: Sequence[Token], names: Collection[str], functions: Collection[str]) -> Iterator[Token]:
    """The tokens that mean one of `names`: no members, and of a function only calls."""
    for index, token in enumerate(body):
        if token.kind != "name" or token.text not in names:
            continue
        before = body[index - 1].text if index else ""
        after = body[index + 1].text if index + 1 < len(body) else ""
        if before not in (".", "->") and (token.text not in functions or after in ("(", "<")):
            yield token


def _bodies(structure: Structure) -> dict[str, list[Sequence[Token]]]:
    bodies: dict[str, list[Sequence[Token]]] = defaultdict(list)
    for function in structure.functions:
        bodies[function.name].append(structure.body(function))
    for macro in macros(structure.directives):
        bodies[macro.name].append(macro.body)
    for name, declaration in _shared_variables(structure):
        bodies[name].append(declaration)
    return bodies


def offences(body: Sequence[Token]) -> Iterator[Offence]:
    """The offences of a run of tokens, in order."""
    groups: set[str] = set()
    for index, token in enumerate(body):
        if token.kind != "name":
            continue
        following = [part.text for part in body[index + 1 : index + 5]]
        if token.text == "__shared__":
            yield Offence("declares `__shared__` memory", _SHARED_HINT, token)
        elif _BARRIER.fullmatch(token.text):
            yield Offence(f"calls the block barrier `{token.text}`", _BARRIER_HINT, token)
        elif token.text in _GROUPS and following[:2] == ["(", ")"]:
            if following[2:] in _WAITS or _is_sync_argument(body, index):
                yield Offence(f"waits for `{token.text}()`", _BARRIER_HINT, token)
            elif following[2:3] in ([";"], ["}"]) and (variable := _variable(body, index)):
                groups.add(variable)
        elif token.text in groups and (following[:2] in _WAITS or _is_sync_argument(body, index)):
            yield Offence(f"waits for the block through `{token.text}`", _BARRIER_HINT, token)
        elif token.text in _ASSEMBLY:
            yield from _assembly(body, index)


def _assembly(body: Sequence[Token], index: int) -> Iterator[Offence]:
    depth = 0
    for token in body[index + 1 :]:
        if token.kind in ("string", "raw"):
            if found := _ASSEMBLY_BARRIER.search(token.text):
                yield Offence(f"waits for the block with `{found.group()}`", _BARRIER_HINT, token)
            if _ASSEMBLY_SHARED.search(token.text):
                yield Offence("declares `.shared` memory", _SHARED_HINT, token)
        elif token.kind == "mark":
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0:
                return


def _is_sync_argument(body: Sequence[Token], index: int) -> bool:
    """Whether a group is the argument of `sync(...)`, with or without namespaces before it: `cg::sync(block)`."""
    before = index - 1
    while before > 0 and body[before].text in ("::", "cooperative_groups", "cg"):
        before -= 1
    return before > 0 and body[before].text == "(" and body[before - 1].text == "sync"


def _variable(body: Sequence[Token], index: int) -> str:
    """The variable that is initialised with the group at `index`: `auto block = cg::this_thread_block();`."""
    before = index - 1
    while before > 0 and (body[before].kind == "name" or body[before].text == "::"):
        before -= 1
    is_start = before > 0 and body[before].text in ("=", "{", "(") and body[before - 1].kind == "name"
    return body[before - 1].text if is_start else ""


def _indirect(source: SourceText, name: str, token: Token, chain: Chain) -> Problem:
    offence, names = chain
    way = ", which uses ".join(f"`{step}`" for step in names)
    where = source.place(offence.token.start)
    return Problem(
        f"`{name}` uses {way}, which {offence.what} (line {where.line})",
        source.place(token.start),
        hint=offence.hint,
    )


def _shared_variables(structure: Structure) -> Iterator[tuple[str, Sequence[Token]]]:
    """`__shared__` declarations outside functions, by the name they declare."""
    inside = [range(function.opening, function.closing or len(structure.tokens)) for function in structure.functions]
    for index, token in enumerate(structure.tokens):
        if token.kind != "name" or token.text != "__shared__" or any(index in body for body in inside):
            continue
        declared = ""
        for part in structure.tokens[index + 1 :]:
            if part.kind == "mark" and part.text in ("[", ";", "="):
                break
            if part.kind == "name":
                declared = part.text
        if declared:
            yield declared, structure.tokens[index : index + 1]
