"""Calls that only inform an optimiser: lifetimes, assumptions, alias scopes. libNVVM crashes on some of them."""

from __future__ import annotations

import re

_MARKERS = (
    r"llvm\.(?:lifetime\.(?:start|end)|invariant\.(?:start|end)|assume|experimental\.noalias\.scope\.decl|"
    r"sideeffect|donothing)"
)
_CALL = re.compile(rf"^\s+(?:%\S+ = )?(?:tail )?call .*@{_MARKERS}(?:\.\w+)*\(.*\n", re.MULTILINE)
_DECLARATION = re.compile(rf"^declare .*@{_MARKERS}(?:\.\w+)*\(.*\n", re.MULTILINE)


def remove_markers(text: str) -> str:
    """Deletes the calls and the declarations of every marker."""
    return _DECLARATION.sub("", _CALL.sub("", text))
