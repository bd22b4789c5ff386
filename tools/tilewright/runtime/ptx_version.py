"""Lowering the version that PTX text claims, for a driver older than the compiler. Pure text and byte edits."""

from __future__ import annotations

import re

DIRECTIVE = re.compile(r"\.version[ \t]*([0-9.]*)")
NUMBER = re.compile(r"([0-9]+)\.[0-9.]+")


def patch_ptx_version(text: str) -> tuple[str, str]:
    """The text with the minor of its first `.version` set to 0, and a warning ("" when all is well).

    `.version 9.5` becomes `.version 9.0`. A missing or malformed directive leaves the text as it is.
    """
    found = DIRECTIVE.search(text)
    if found is None:
        return text, "the PTX has no .version directive"
    number = NUMBER.fullmatch(found[1])
    if number is None:
        return text, f"the .version directive of the PTX is malformed: {found[0]!r}"
    return text[: found.start(1)] + f"{number[1]}.0" + text[found.end(1) :], ""


def patch_ptx_version_bytes(data: bytes) -> tuple[bytes, str]:
    """The same for an image with or without a NUL at its end; the result has exactly one."""
    text, warning = patch_ptx_version(data.removesuffix(b"\0").decode("latin-1"))
    return text.encode("latin-1") + b"\0", warning


def target_directive(data: bytes) -> str:
    """The `.target` line of PTX, for messages; "" when it has none."""
    found = re.search(rb"^\s*(\.target[^\r\n]*)", data, re.MULTILINE)
    return found[1].decode("latin-1").strip() if found else ""


def version_directive(data: bytes) -> str:
    """The number of the first `.version` directive; "" when it has none."""
    found = DIRECTIVE.search(data.decode("latin-1"))
    return found[1] if found else ""
