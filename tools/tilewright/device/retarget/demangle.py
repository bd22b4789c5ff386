"""Names that a user can read for Rust's symbols: `_RNvC1a1f` (v0, RFC 2603) and `_ZN1a1f17h..E` (legacy) are `a::f`."""

from __future__ import annotations

import re
from collections.abc import Callable

_ROWS = """
a i8   b bool c char d f64  e str  f f32  h u8   i isize j usize l i32  m u32
n i128 o u128 p _    s i16  t u16  u ()   v ...  x i64   y u64   z !
"""
_BASIC = dict(zip(_ROWS.split()[::2], _ROWS.split()[1::2], strict=True))


def demangle(symbol: str) -> str:
    """The path of a symbol without crate hashes; any other name, or one that cannot be read, comes back as it is."""
    if symbol.startswith("_ZN"):
        return _legacy(symbol)
    if not symbol.startswith("_R") or len(symbol) < 4 or not symbol[2].isupper():
        return symbol
    try:
        return _Reader(symbol[2:].split(".")[0]).path(value=True)
    except (IndexError, ValueError, KeyError, RecursionError):
        return symbol


_ESCAPES = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}


def _legacy(symbol: str) -> str:
    """`_ZN4core9panicking5panic17h0123456789abcdefE`: names with their lengths, a hash at the end."""
    parts, rest = [], symbol[3:]
    while digits := re.match(r"\d+", rest):
        end = digits.end() + int(digits[0])
        parts.append(rest[digits.end() : end])
        rest = rest[end:]
    if len(parts) < 2 or not rest.startswith("E") or not re.fullmatch(r"h[0-9a-f]{16}", parts[-1]):
        return symbol
    path = "::".join(part.removeprefix("_") if part.startswith("_$") else part for part in parts[:-1])
    path = re.sub(r"\$u([0-9a-f]+)\$", lambda code: chr(int(code[1], 16)), path.replace("..", "::"))
    return re.sub(r"\$(\w+)\$", lambda code: _ESCAPES.get(code[1], code[0]), path)


class _Reader:
    """A recursive reader of one symbol; `at` is the position behind `_R`. IndexError or ValueError at its end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.binders = 0

    def take(self) -> str:
        letter = self.text[self.at]
        self.at += 1
        return letter

    def skip(self, letter: str) -> bool:
        found = self.text[self.at : self.at + 1] == letter
        self.at += found
        return found

    def base62(self) -> int:
        if self.skip("_"):
            return 0
        value = 0
        while (letter := self.take()) != "_":
            digit = int(letter, 36) if not letter.isupper() else ord(letter) - ord("A") + 36
            value = value * 62 + digit
        return value + 1

    def optional(self, letter: str) -> int:
        return self.base62() + 1 if self.skip(letter) else 0

    def identifier(self) -> str:
        coded = self.skip("u")
        digits = ""
        while self.text[self.at : self.at + 1].isdigit() and digits != "0":
            digits += self.take()
        self.skip("_")
        name = self.text[self.at : self.at + int(digits)]
        self.at += int(digits)
        if coded:
            ascii_part, _, delta = name.rpartition("_")
            return f"{ascii_part}-{delta}".encode().decode("punycode")
        return name

    def back(self, read: Callable[[], str]) -> str:
        target = self.base62()
        here, self.at = self.at, target
        result = read()
        self.at = here
        return result

    def path(self, *, value: bool = False) -> str:
        tag = self.take()
        if tag == "B":
            return self.back(lambda: self.path(value=value))
        if tag == "C":
            self.optional("s")
            return self.identifier()
        if tag == "N":
            space = self.take()
            parent = self.path(value=value)
            number, name = self.optional("s"), self.identifier()
            if space.isupper():
                kind = {"C": "closure", "S": "shim"}.get(space, space)
                return f"{parent}::{{{kind}{':' + name if name else ''}#{number}}}"
            return f"{parent}::{name}" if name else parent
        if tag in "MX":
            self.optional("s")
            self.path()
            owner = self.type()
            return f"<{owner}>" if tag == "M" else f"<{owner} as {self.path()}>"
        if tag == "Y":
            owner = self.type()
            return f"<{owner} as {self.path()}>"
        if tag == "I":
            base = self.path(value=value)
            return f"{base}{'::' if value else ''}<{', '.join(self.until_end(self.argument))}>"
        raise ValueError(tag)

    def until_end(self, read: Callable[[], str]) -> list[str]:
        found = []
        while not self.skip("E"):
            found.append(read())
        return [one for one in found if one]

    def argument(self) -> str:
        if self.skip("L"):
            return self.lifetime()
        return self.constant() if self.skip("K") else self.type()

    def lifetime(self) -> str:
        index = self.base62()
        depth = self.binders - index
        return "'_" if index == 0 else f"'{chr(ord('a') + depth)}" if 0 <= depth < 26 else "'_"

    def type(self) -> str:
        tag = self.take()
        if tag in _BASIC:
            return _BASIC[tag]
        if tag == "B":
            return self.back(self.type)
        if tag in "RQ":
            lifetime = self.lifetime() if self.skip("L") else "'_"
            shown = "" if lifetime == "'_" else f"{lifetime} "
            return f"&{shown}{'mut ' if tag == 'Q' else ''}{self.type()}"
        if tag in "PO":
            return f"*{'const' if tag == 'P' else 'mut'} {self.type()}"
        if tag == "A":
            element = self.type()
            return f"[{element}; {self.constant()}]"
        if tag == "S":
            return f"[{self.type()}]"
        if tag == "T":
            parts = self.until_end(self.type)
            return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
        if tag == "F":
            return self.function()
        if tag == "D":
            return self.dynamic()
        self.at -= 1
        return self.path()

    def binder(self) -> str:
        bound = self.optional("G")
        self.binders += bound
        names = ", ".join(f"'{chr(ord('a') + self.binders - bound + index)}" for index in range(bound))
        return f"for<{names}> " if bound else ""

    def function(self) -> str:
        outer = self.binders
        binder = self.binder()
        unsafe = "unsafe " if self.skip("U") else ""
        convention = ""
        if self.skip("K"):
            convention = f'extern "{"C" if self.skip("C") else self.identifier().replace("_", "-")}" '
        parameters = ", ".join(self.until_end(self.type))
        result = self.type()
        self.binders = outer
        return f"{binder}{unsafe}{convention}fn({parameters}){'' if result == '()' else f' -> {result}'}"

    def dynamic(self) -> str:
        outer = self.binders
        binder = self.binder()
        bounds = self.until_end(self.bound)
        self.binders = outer
        self.skip("L")
        lifetime = self.lifetime()
        return f"dyn {binder}{' + '.join(bounds)}{'' if lifetime == chr(39) + '_' else f' + {lifetime}'}"

    def bound(self) -> str:
        trait = self.path()
        bindings = []
        while self.skip("p"):
            name = self.identifier()
            bindings.append(f"{name} = {self.type()}")
        if not bindings:
            return trait
        joined = ", ".join(bindings)
        return f"{trait[:-1]}, {joined}>" if trait.endswith(">") else f"{trait}<{joined}>"

    def constant(self) -> str:
        tag = self.take()
        if tag == "p":
            return "_"
        if tag == "B":
            return self.back(self.constant)
        sign = "-" if self.skip("n") else ""
        digits = ""
        while (letter := self.take()) != "_":
            digits += letter
        number = int(digits or "0", 16)
        if tag == "b":
            return "true" if number else "false"
        if tag == "c":
            return repr(chr(number))
        if tag not in _BASIC:
            raise ValueError(tag)
        return f"{sign}{number}"
