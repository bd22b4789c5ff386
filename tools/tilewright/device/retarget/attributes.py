"""Function attributes: an allow-list, and `convergent` for all."""

from __future__ import annotations

import re

ALLOWED = ("alwaysinline", "inlinehint", "cold", "nounwind", "noreturn")
"""What stays of rustc's groups; the rest describes the host (`probe-stack`, `target-cpu`) or is unknown to libNVVM."""

_GROUP = re.compile(r"^(attributes #\d+ = \{)(.*)\}$", re.MULTILINE)
_CALL_GROUP = re.compile(r"^(\s.*\b(?:call|invoke)\b.*\)) #\d+$", re.MULTILINE)
_QUOTED = re.compile(r'"[^"]*"(?:="[^"]*")?')


def filter_attributes(text: str) -> str:
    """Keeps `ALLOWED`, adds `convergent` to every function, and drops the groups at call sites.

    A call site has the attributes of its callee; with `convergent` of its own it would keep LLVM from finding out
    that most functions need none.
    """
    return _CALL_GROUP.sub(r"\1", _GROUP.sub(_filtered, text))


def _filtered(match: re.Match[str]) -> str:
    words = re.sub(r"\w+\([^)]*\)", "", _QUOTED.sub("", match[2])).split()
    return f"{match[1]} {' '.join(['convergent', *(word for word in ALLOWED if word in words)])} }}"


_AFTER = (*ALLOWED, "convergent", "mustprogress", "norecurse", "willreturn")


def tidy_attributes(text: str) -> str:
    """The same after the optimiser: what libNVVM of both dialects has known for long, and memory effects."""

    def tidied(match: re.Match[str]) -> str:
        plain = _QUOTED.sub("", match[2])
        words = plain.split()
        effects = [effect for effect in re.findall(r"memory\([^)]*\)", plain) if effect == "memory(none)"]
        return f"{match[1]} {' '.join([*(word for word in _AFTER if word in words), *effects])} }}"

    return _CALL_GROUP.sub(r"\1", _GROUP.sub(tidied, text))
