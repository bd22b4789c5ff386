"""How names and strings are spelled in Tile IR text, so that no name from a file can pass for syntax."""

from __future__ import annotations

import re

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")


def is_bare(name: str) -> bool:
    """Whether a name can stand in the text without quotes."""
    return _BARE.fullmatch(name) is not None


def quoted(text: str) -> str:
    """A string literal: a doubled backslash, and hexadecimal escapes for the quote and all but printable ASCII."""
    return f'"{"".join(_literal(byte) for byte in text.encode())}"'


def _literal(byte: int) -> str:
    if byte == ord("\\"):
        return "\\\\"
    return chr(byte) if 32 <= byte < 127 and byte != ord('"') else f"\\{byte:02X}"


def bare_or_quoted(name: str) -> str:
    """A dictionary key or parameter name: `N`, or `"two words"`."""
    return name if is_bare(name) else quoted(name)


def symbol(name: str) -> str:
    """A symbol reference: `@relu`, or `@"two words"` for a name that is not an identifier."""
    return f"@{bare_or_quoted(name)}"
