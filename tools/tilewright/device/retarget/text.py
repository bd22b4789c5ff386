"""Reading LLVM IR text by line: the few shapes that every retarget step looks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

NAME = r'@(?:"(?:[^"\\]|\\.)*"|[-\w.$]+)'
"""A global name as LLVM writes it, with the at sign."""

_SYMBOL = re.compile(NAME)
_STRING = re.compile(r'\bc"[^"]*"')
_FUNCTION = re.compile(rf"^(?P<keyword>define|declare) (?P<head>.*?)(?P<name>{NAME})\(")
_GLOBAL = re.compile(rf"^(?P<name>{NAME}) = (?P<rest>.*)$")
_GROUP = re.compile(r"^attributes #(\d+) = \{(.*)\}$")
_GROUP_USE = re.compile(r" #(\d+)\b")


@dataclass(frozen=True, slots=True)
class Entity:
    """One global of a module: `kind` is `define`, `declare`, `constant`, `variable` or `alias`.

    `name` has no at sign and no quotes; `lines` are its lines in the module.
    """

    name: str
    kind: str
    lines: tuple[str, ...]

    @property
    def references(self) -> tuple[str, ...]:
        """The globals that the body or initialiser mentions, in order of first mention."""
        return _mentioned(self.lines, self.name)

    @property
    def calls(self) -> tuple[str, ...]:
        """The functions that the body calls by name, in order of first call."""
        return _called(self.lines)


def bare(name: str) -> str:
    """A global name without at sign and quotes."""
    return name.removeprefix("@").strip('"')


def entities(text: str) -> dict[str, Entity]:
    """Every function, variable and alias of a module, by name."""
    return {entity.name: entity for entity in _entities(text.splitlines())}


def _entities(lines: Iterable[str]) -> Iterator[Entity]:
    rows = iter(lines)
    for line in rows:
        function = _FUNCTION.match(line)
        variable = None if function else _GLOBAL.match(line)
        if function:
            name, body = bare(function["name"]), [line]
            if function["keyword"] == "define":
                for row in rows:
                    body.append(row)
                    if row == "}":
                        break
            yield Entity(name, function["keyword"], tuple(body))
        elif variable:
            name = bare(variable["name"])
            yield Entity(name, _variable_kind(variable["rest"]), (line,))


def _variable_kind(rest: str) -> str:
    words = rest.split("{")[0].split("[")[0].split()
    if "alias" in words:
        return "alias"
    return "constant" if "constant" in words and "thread_local" not in rest.split("constant")[0] else "variable"


def _mentioned(lines: Iterable[str], own: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for line in lines:
        code = line.lstrip()
        if not code.startswith(";"):
            found |= dict.fromkeys(bare(name) for name in _SYMBOL.findall(_STRING.sub("", code.split(" ; ")[0])))
    found.pop(own, None)
    return tuple(found)


def _called(lines: Iterable[str]) -> tuple[str, ...]:
    calls = (re.search(rf"\b(?:call|invoke)\b[^@]*?({NAME})\(", line) for line in lines if not line.startswith(";"))
    return tuple(dict.fromkeys(bare(call[1]) for call in calls if call))


def attribute_groups(text: str) -> dict[str, str]:
    """The attribute groups of a module: `"6"` -> `cold noinline noreturn nounwind`."""
    return {match[1]: match[2] for match in map(_GROUP.match, text.splitlines()) if match}


def attributes_of(line: str, groups: dict[str, str]) -> set[str]:
    """The plain words among the attributes of a `define` or `declare` line: its own and those of its groups."""
    tail = line[line.rindex(")") :] if ")" in line else line
    words = set(re.findall(r"\b[a-z]+\b", tail))
    for number in _GROUP_USE.findall(tail):
        words |= set(re.findall(r"\b[a-z]+\b", re.sub(r'"[^"]*"', "", groups.get(number, ""))))
    return words


@dataclass(frozen=True, slots=True)
class Signature:
    """The head of a function line, cut at name and parameter list. `parameters` are the texts between commas."""

    result: str
    name: str
    parameters: tuple[str, ...]

    @property
    def types(self) -> str:
        """`float (float, i32)`: result and parameter types without attributes and names."""
        return f"{plain_type(self.result)} ({', '.join(plain_type(one) for one in self.parameters)})"


_LINKAGE = re.compile(
    r"\b(?:define|declare|internal|private|external|hidden|protected|default|dso_local|dso_preemptable|linkonce_odr|"
    r"linkonce|weak_odr|weak|available_externally|extern_weak|common|unnamed_addr|local_unnamed_addr|fastcc|ccc|coldcc|"
    r"tailcc|preserve_mostcc)\b"
)
_ATTRIBUTE = re.compile(
    r"\b(?:noundef|zeroext|signext|inreg|noalias|nonnull|readonly|readnone|writeonly|nofree|returned|immarg|nest|"
    r"dead_on_unwind|dead_on_return|writable|align \d+|"
    r"(?:sret|byval|captures|dereferenceable|dereferenceable_or_null|range|align|initializes|nofpclass)\((?:[^()]|\([^()]*\))*\))"
    r"(?=[\s,)]|$)"
)


def plain_type(text: str) -> str:
    """The type at the start of a parameter or result, without linkage, attributes and name."""
    cut = re.sub(r"(?<=\s)%[-\w.$\"]+$", "", _ATTRIBUTE.sub("", _LINKAGE.sub("", text)).strip())
    return " ".join(cut.split())


def signature(line: str) -> Signature:
    """Cuts a `define` or `declare` line. The line must be one; attributes may hold parentheses."""
    match = _FUNCTION.match(line)
    if match is None:
        raise ValueError(f"not a function line: {line}")
    start = match.end()
    depth, end = 1, start
    while depth:
        depth += {"(": 1, ")": -1}.get(line[end], 0)
        end += 1
    return Signature(match["head"], bare(match["name"]), tuple(split_commas(line[start : end - 1])))


def split_commas(text: str) -> list[str]:
    """The pieces of a list, cut at commas outside of every bracket."""
    pieces, depth, last = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            pieces.append(text[last:at].strip())
            last = at + 1
    rest = text[last:].strip()
    return [*pieces, rest] if rest else pieces


def path(graph: dict[str, Entity], start: str, target: str, *, calls_only: bool = False) -> tuple[str, ...]:
    """The shortest way from one global to another along references (or calls), both included; empty if none."""
    before: dict[str, str] = {start: ""}
    queue = [start]
    for name in queue:
        if name == target:
            way = [name]
            while before[way[-1]]:
                way.append(before[way[-1]])
            return tuple(reversed(way))
        entity = graph.get(name)
        for follower in () if entity is None else entity.calls if calls_only else entity.references:
            if follower not in before:
                before[follower] = name
                queue.append(follower)
    return ()


def reached(graph: dict[str, Entity], starts: Iterable[str]) -> set[str]:
    """Every global that one of the globals mentions, directly or not, and these themselves."""
    found = dict.fromkeys(starts)
    queue = list(found)
    for name in queue:
        for follower in graph[name].references if name in graph else ():
            if follower not in found:
                found[follower] = None
                queue.append(follower)
    return set(found)
