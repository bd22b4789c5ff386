"""What an export reaches in its device text: libdevice, whose results need a bound, and the operations of a warp."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tilewright.device.retarget.text import Entity, entities
from tilewright.exports.model import ExportSet, Sync
from tilewright.problem import Problem

DEFAULT_MAX_ULPS = 4
"""What an export that uses libdevice and declares no bound of its own is held to, in units of the last place."""

_EXACT_ROOTS = (
    "fabs rint nearbyint round floor ceil trunc fma sqrt fmod remainder copysign fmin fmax fdim ldexp scalbn frexp modf"
)
_EXACT = frozenset(f"__nv_{name}{letter}" for name in _EXACT_ROOTS.split() for letter in ("", "f"))
_WARP = re.compile(r"llvm\.nvvm\.(?:shfl\.sync|vote\.\w+\.sync|bar\.warp\.sync)")


def with_bounds(exports: ExportSet, text: str) -> ExportSet:
    """The exports, each that reaches an inexact function of libdevice in the device code with a declared bound."""
    graph = entities(text)
    bounded = (
        replace(export, max_ulps=DEFAULT_MAX_ULPS)
        if export.max_ulps is None and any(map(_is_inexact, _reached(graph, export.symbol)))
        else export
        for export in exports.exports
    )
    return replace(exports, exports=tuple(bounded))


def lone_warp_operations(exports: ExportSet, text: str) -> Iterator[Problem]:
    """Exports that talk to other lanes without `sync = "warp"`: their lanes need not come together.

    Spec: What happens at the boundary.
    """
    graph = entities(text)
    for export in exports.exports:
        if export.sync is Sync.NONE and any(map(_WARP.match, _reached(graph, export.symbol))):
            yield Problem(
                f"`{export.function}` uses an operation of the whole warp, and its lanes need not call it together",
                export.where,
                hint='write `sync = "warp"`',
                rule="warp-without-sync",
            )


def _is_inexact(name: str) -> bool:
    return name.startswith("__nv_") and name not in _EXACT


def _reached(graph: dict[str, Entity], symbol: str) -> Iterator[str]:
    seen, waiting = {symbol}, [symbol]
    while waiting:
        name = waiting.pop()
        yield name
        entity = graph.get(name)
        follow = [one for one in entity.references if one not in seen] if entity else []
        seen.update(follow)
        waiting += follow
