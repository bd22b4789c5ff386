"""The shape of a CUDA C++ file: scopes, function bodies, conditional blocks, and every `tile_export` in it.

Works on tokens, so that what the grammar cannot read elsewhere in the file neither hides an export nor refuses one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tilewright.sources.cuda.lexer import SourceText, Token

ATTRIBUTE = "tile_export"
_OPENING = {"(": ")", "[": "]", "{": "}"}
_ALTERNATIVES = frozenset({"else", "elif", "elifdef", "elifndef"})
_CLASSES = frozenset({"class", "struct", "union", "enum"})
_WITH_ARGUMENTS = {
    *("__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__block_size__", "__attribute__", "__declspec"),
    *("__align__", "alignas", "decltype", "noexcept", "explicit", "requires", "sizeof", "if", "while", "for", "switch"),
}


@dataclass(frozen=True, slots=True)
class Scope:
    """`kind` is namespace, linkage (`extern "C" {`), class or other; `names` are the parts of a namespace's name."""

    kind: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a body. All numbers are token indices: first of the head, `{`, `}` (None when never closed)."""

    name: str
    head: int
    opening: int
    scopes: tuple[Scope, ...]
    conditionals: tuple[int, ...]
    closing: int | None = None
    closing_conditionals: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Occurrence:
    """The name `tile_export` in code: its token, the token where its statement starts, and what it stands inside of.

    `brackets` are the token indices of the open `(`, `[` and `{`; `conditionals` those of the open `#if` lines,
    include guards left out.
    """

    index: int
    statement: int
    scopes: tuple[Scope, ...]
    brackets: tuple[int, ...]
    conditionals: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Block:
    """What a `{` opened, and the frame around it; `is_global` when no named namespace and no class is around either."""

    scope: Scope
    outer: _Frame | None = None
    function: int | None = None
    is_global: bool = True

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """Its scope and those around it, the outermost first."""
        found = [self.scope]
        frame = self.outer
        while frame is not None:
            found.append(frame.block.scope)
            frame = frame.block.outer
        return tuple(reversed(found))


@dataclass(frozen=True, slots=True, eq=False)
class _Bracket:
    """The token index of an open `(` or `[`, and the one opened before it in the same frame."""

    index: int
    before: _Bracket | None


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """Where the walk stands in a block. It never changes, so that an `#if` can keep it: what follows is a new one."""

    block: _Block
    statement: int
    bracket: _Bracket | None = None


@dataclass(frozen=True)
class Structure:
    """`declared` names every function declared or defined outside named namespaces and classes."""

    source: SourceText
    tokens: tuple[Token, ...]
    functions: tuple[Function, ...]
    occurrences: tuple[Occurrence, ...]
    directives: tuple[Token, ...]
    declared: frozenset[str]

    @cached_property
    def function_at(self) -> dict[int, Function]:
        """Functions by the token index at which their statement starts."""
        return {function.head: function for function in reversed(self.functions)}

    def body(self, function: Function) -> tuple[Token, ...]:
        """The tokens between the braces, preprocessor lines included."""
        return self.tokens[function.opening + 1 : function.closing]


def structure_of(source: SourceText) -> Structure:
    """Reads a file's shape; never fails: what cannot be told apart is a scope of kind `other`."""
    tokens = tuple(_live(token for token in source.tokens if token.kind != "comment"))
    walk = _Walk(tokens)
    for index, token in enumerate(tokens):
        walk.step(index, token)
    directives = tuple(token for token in tokens if token.kind == "directive")
    return Structure(
        source, tokens, tuple(walk.functions), tuple(walk.occurrences), directives, frozenset(walk.declared)
    )


def _live(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens without what stands under `#if 0`, which people use as a comment."""
    disabled = 0
    for token in tokens:
        if disabled == 0:
            yield token
            disabled = int(token.directive == "if" and [part.text for part in token.inner[1:]] in (["0"], ["false"]))
        elif token.directive in ("if", "ifdef", "ifndef"):
            disabled += 1
        elif token.directive == "endif" or (disabled == 1 and token.directive in _ALTERNATIVES):
            disabled -= 1
            if disabled == 0:
                yield token


class _Walk:
    """One pass over the tokens. `#else` goes back to the scopes at its `#if`, so that halves do not add up."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.frame = _Frame(_Block(Scope("namespace")), 0)
        self.functions: list[Function] = []
        self.occurrences: list[Occurrence] = []
        self.declared: set[str] = set()
        self.open_conditionals: list[tuple[int, bool, _Frame]] = []

    def step(self, index: int, token: Token) -> None:
        if token.kind == "directive":
            self.directive(index, token)
        elif token.kind == "name" and token.text == ATTRIBUTE:
            frame = self.frame
            found = Occurrence(index, frame.statement, frame.block.scopes, _brackets(frame), self.conditionals())
            self.occurrences.append(found)
        elif token.kind == "mark":
            self.mark(index, token.text)

    def mark(self, index: int, mark: str) -> None:
        frame = self.frame
        if mark == "{":
            self.open_brace(index)
        elif mark == "}" and frame.block.outer is not None:
            self.close_brace(index, frame.block, frame.block.outer)
        elif mark in _OPENING:
            self.frame = replace(frame, bracket=_Bracket(index, frame.bracket))
        elif mark in (")", "]") and frame.bracket is not None:
            self.frame = replace(frame, bracket=frame.bracket.before)
        elif mark == ";" and frame.bracket is None:
            self.note_declaration(frame, index)
            self.frame = replace(frame, statement=index + 1)

    def open_brace(self, index: int) -> None:
        outer = self.frame
        head = range(outer.statement, index)
        nested = outer.bracket is not None or outer.block.scope.kind == "other"
        scope, name = (Scope("other"), "") if nested else _opened(self.tokens, head)
        function = None
        if name:
            function = len(self.functions)
            scopes = outer.block.scopes
            self.functions.append(Function(name, outer.statement, index, scopes, self.conditionals()))
            if outer.block.is_global:
                self.declared.add(name)
        is_global = outer.block.is_global and scope.kind in ("namespace", "linkage") and not scope.names
        self.frame = _Frame(_Block(scope, outer, function, is_global), index + 1)

    def close_brace(self, index: int, inner: _Block, outer: _Frame) -> None:
        if inner.function is not None:
            closed = replace(self.functions[inner.function], closing=index, closing_conditionals=self.conditionals())
            self.functions[inner.function] = closed
        ends = outer.bracket is None and inner.scope.kind != "class"
        self.frame = replace(outer, statement=index + 1) if ends else outer

    def directive(self, index: int, token: Token) -> None:
        if self.frame.statement == index:
            self.frame = replace(self.frame, statement=index + 1)
        if token.directive in ("if", "ifdef", "ifndef"):
            self.open_conditionals.append((index, _is_guard(self.tokens, index), self.frame))
        elif token.directive in _ALTERNATIVES and self.open_conditionals:
            opening, _, saved = self.open_conditionals[-1]
            starts = saved.statement == opening + 1
            self.frame = replace(saved, statement=index + 1) if starts else saved
        elif token.directive == "endif" and self.open_conditionals:
            self.open_conditionals.pop()

    def conditionals(self) -> tuple[int, ...]:
        return tuple(index for index, guard, _ in self.open_conditionals if not guard)

    def note_declaration(self, frame: _Frame, index: int) -> None:
        if frame.block.is_global and (name := _function_name(self.tokens, range(frame.statement, index))):
            self.declared.add(name)


def _brackets(frame: _Frame) -> tuple[int, ...]:
    """The token indices of all open `(` and `[`, in order."""
    found: list[int] = []
    here: _Frame | None = frame
    while here is not None:
        bracket = here.bracket
        while bracket is not None:
            found.append(bracket.index)
            bracket = bracket.before
        here = here.block.outer
    return tuple(reversed(found))


def _opened(tokens: Sequence[Token], head: range) -> tuple[Scope, str]:
    """What a `{` opens, told from the tokens before it, and the function's name if it is a function."""
    words = [tokens[index] for index in head if tokens[index].kind != "directive"]
    texts = [word.text for word in words]
    if texts[:1] == ["namespace"] or texts[:2] == ["inline", "namespace"]:
        return Scope("namespace", tuple(_namespace_names(words))), ""
    if len(words) == 2 and texts[0] == "extern" and words[1].kind == "string":
        return Scope("linkage"), ""
    if name := _function_name(tokens, head):
        return Scope("other"), name
    return Scope("class" if _CLASSES.intersection(texts) else "other"), ""


def _namespace_names(words: Sequence[Token]) -> Iterator[str]:
    """The parts of `inline namespace [[deprecated]] a::b`."""
    depth = 0
    for word in words:
        if word.kind == "mark":
            depth += (word.text in _OPENING) - (word.text in _OPENING.values())
        elif word.kind == "name" and depth == 0 and word.text not in {"namespace", "inline", *_WITH_ARGUMENTS}:
            yield word.text


def _function_name(tokens: Sequence[Token], head: range) -> str:
    """The name directly before the first `(` that is no attribute's and no specifier's; empty when there is none."""
    depth = 0
    previous: Token | None = None
    operator = False
    for index in head:
        token = tokens[index]
        if token.kind == "mark" and token.text == "(" and depth == 0 and previous is not None:
            if operator or (previous.kind == "name" and previous.text not in _WITH_ARGUMENTS):
                return "operator" if operator else previous.text
            depth += 1
        elif token.kind == "mark" and token.text in _OPENING:
            depth += 1
        elif token.kind == "mark" and token.text in _OPENING.values():
            depth -= 1
        elif token.kind == "mark" and token.text == "=" and depth == 0 and not operator:
            return ""
        operator = operator or token.text == "operator"
        previous = token
    return ""


def _is_guard(tokens: Sequence[Token], index: int) -> bool:
    """Whether an `#if` line is an include guard: `#ifndef NAME` or `#if !defined(NAME)`, then `#define NAME`."""
    condition = [token.text for token in tokens[index].inner]
    follower = tokens[index + 1] if index + 1 < len(tokens) else None
    if follower is None or follower.directive != "define" or len(follower.inner) < 2:
        return False
    name = follower.inner[1].text
    return condition in (["ifndef", name], ["if", "!", "defined", "(", name, ")"], ["if", "!", "defined", name])


@dataclass(frozen=True, slots=True)
class Macro:
    """A `#define`; `body` is what it stands for, `called` whether it takes arguments."""

    name: str
    body: tuple[Token, ...]
    called: bool


def macros(directives: Sequence[Token]) -> Iterator[Macro]:
    """Every `#define`, in order; a name may come more than once."""
    for token in directives:
        if token.directive != "define" or len(token.inner) < 2:
            continue
        name, rest = token.inner[1], token.inner[2:]
        called = bool(rest) and rest[0].text == "(" and rest[0].start == name.end
        if called:
            closing = next((at for at, part in enumerate(rest) if part.text == ")"), len(rest) - 1)
            rest = rest[closing + 1 :]
        yield Macro(name.text, rest, called)
