"""One function for each listed size of a parametric export, added to the text of the device code.

A tile compiler asks for `relu_any_impl__N128`; code is never generic in Tile IR.  What one invocation does is the same
for every size, so each function hands its arguments on to the one body.  Spec: The provider form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tilewright.device.dialect.tokens import closing, joined, split, tokens
from tilewright.device.dialect.types import type_end
from tilewright.device.module import DeviceModule
from tilewright.exports.abi import native_parameters, prototype
from tilewright.exports.model import ExportSet, TileExport
from tilewright.exports.sizes import instances, own_symbol

_DEFINITION = re.compile(r"^[ \t]*define\b[^\n]*@[^\n]*", re.MULTILINE)


def with_sizes(module: DeviceModule, exports: ExportSet) -> DeviceModule:
    """The module with the functions of all listed sizes; the same module when no size is listed.

    The bodies are defined in the module, with the ABI of their exports.
    """
    listed = [each for export in exports.parametric() for each in instances(export)]
    if not listed:
        return module
    write = _cuda_text if module.language == "cuda" else _ir_text
    return replace(module, text=f"{module.text.rstrip()}\n{write(module.text, exports.library, listed)}")


def _cuda_text(text: str, library: str, listed: list[TileExport]) -> str:
    """Names that could be macros of the user's are undefined, as those of the wrappers before are."""
    parts = [f'\n#line 1 "{library}.sizes.cu"\n// One function for each tile size.\n']
    for export in listed:
        arguments = ", ".join(native.name for native in native_parameters(export))
        parts.append(
            f"#undef {export.symbol}\n"
            f'extern "C" __device__ {prototype(export)}\n{{\n    {own_symbol(export)}({arguments});\n}}\n'
        )
    return "".join(parts)


def _ir_text(text: str, library: str, listed: list[TileExport]) -> str:
    types = dict(_parameter_types(text))
    parts = []
    for export in listed:
        arguments = [f"{kind} %a{at}" for at, kind in enumerate(types[own_symbol(export)])]
        given = ", ".join(arguments)
        parts.append(
            f"define void @{export.symbol}({given}) convergent nounwind {{\n"
            f"  call void @{own_symbol(export)}({given})\n  ret void\n}}\n"
        )
    return "".join(parts)


def _parameter_types(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The types of each defined function's parameters, in whichever kind of pointers the text has."""
    for match in _DEFINITION.finditer(text):
        words = tokens(match[0])
        at = next(at for at, word in enumerate(words) if word.startswith("@"))
        pieces = split(words[at + 2 : closing(words, at + 1)])
        yield words[at].strip('@"'), tuple(joined(piece[: _type_end(piece)]) for piece in pieces)


def _type_end(piece: list[str]) -> int:
    end = type_end(piece)
    while end < len(piece) and piece[end] == "*":
        end += 1
    return end
