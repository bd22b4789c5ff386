"""The device code of a provider as NVVM IR that wrappers can be added to, one a tile size that a kernel uses.

libNVVM reads typed pointers for every architecture, so the text has those.  A body without IR, which is LTOIR from
CUDA C++, is declared; the linker then sees two pieces of code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.device.dialect.convert import to_typed_pointers
from tilewright.device.dialect.tokens import closing, joined, split, tokens, word_set
from tilewright.device.dialect.types import type_end
from tilewright.device.ltoir_header import read_header
from tilewright.device.module import DeviceError
from tilewright.device.retarget.header import DATA_LAYOUT, TRIPLE
from tilewright.device.signatures import PASSED_IN_MEMORY, IrFunction, ensure
from tilewright.exports.elements import ElementType
from tilewright.exports.model import ExportSet, Parameter, TileExport
from tilewright.library.errors import LibraryError

_HEAD = re.compile(r"^[ \t]*(?:define|declare)\b[^\n]*@[^\n]*", re.MULTILINE)
_OPAQUE = re.compile(r"""(?<![%@\w.$"-])ptr(?![\w.$"-])""")
_LIBDEVICE = re.compile(r"@__nv_\w+")
_LINKAGES = word_set(
    "internal private external weak weak_odr linkonce linkonce_odr available_externally common extern_weak ptx_kernel"
)


@dataclass(frozen=True, slots=True)
class Body:
    """The function of one export: the types of its parameters as IR with typed pointers spells them."""

    export: TileExport
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What a provider embeds: IR, whether it calls libdevice, LTOIR (empty for none) with its architecture's number."""

    bodies: tuple[Body, ...]
    ir: str
    needs_libdevice: bool
    ltoir: bytes = b""
    ltoir_arch: int = 0


def code_of_ir(exports: ExportSet, text: str) -> DeviceCode:
    """The code of a library whose bodies are NVVM IR, in either kind of pointers.

    Raises LibraryError when a symbol is absent or has another signature than its export, or when the text cannot be
    said with typed pointers.
    """
    try:
        if _OPAQUE.search(text):
            text = to_typed_pointers(text, pointees={each.symbol: _pointees(each) for each in exports.exports})
        heads = dict(_heads(text, {export.symbol for export in exports.exports}))
        ensure({symbol: _function(head) for symbol, head in heads.items()}, exports, f"{exports.library}.ll")
    except DeviceError as error:
        raise LibraryError(error.problems) from error
    bodies = tuple(Body(export, _types(heads[export.symbol])) for export in exports.exports)
    inner = {export.symbol for export in exports.exports if export.tile_shape is None}
    return DeviceCode(bodies, _internal(text, inner), _LIBDEVICE.search(text) is not None)


def code_of_ltoir(exports: ExportSet, ltoir: bytes) -> DeviceCode:
    """The code of a library whose bodies are LTOIR that was checked against the exports when it was made."""
    try:
        arch = read_header(ltoir).arch
    except DeviceError as error:
        raise LibraryError(error.problems) from error
    bodies = tuple(
        Body(export, tuple(_cuda_type(parameter) for parameter in export.parameters)) for export in exports.exports
    )
    declared = [
        f"declare void @{body.export.symbol}({', '.join(body.types)}) convergent nounwind"
        for body in bodies
        if body.export.tile_shape is None
    ]
    lines = [
        f'target datalayout = "{DATA_LAYOUT}"',
        f'target triple = "{TRIPLE}"',
        *declared,
        "!nvvmir.version = !{!0}",
        "!0 = !{i32 2, i32 0}",
    ]
    return DeviceCode(bodies, "\n".join(lines), False, ltoir, arch)


def _heads(text: str, symbols: set[str]) -> Iterator[tuple[str, list[str]]]:
    """The words of the line that defines, or declares, each symbol."""
    for match in _HEAD.finditer(text):
        words = tokens(match[0])
        if (name := _name(words)) in symbols:
            yield name, words


def _internal(text: str, symbols: set[str]) -> str:
    """The text with those functions hidden from the linker: of them, only wrappers are wanted."""

    def shown(match: re.Match[str]) -> str:
        return match[0].replace("define", "define internal", 1) if _name(tokens(match[0])) in symbols else match[0]

    return _HEAD.sub(shown, text)


def _name(words: list[str]) -> str:
    return next((word for word in words if word.startswith("@")), "").strip('@"')


def _function(words: list[str]) -> IrFunction:
    """A head as the check of signatures sees it: every pointer is `ptr`."""
    at = next(at for at, word in enumerate(words) if word.startswith("@"))
    linkage = next((word for word in words[:at] if word in _LINKAGES), "external")
    parameters = []
    for piece in split(words[at + 2 : closing(words, at + 1)]):
        end = _type_end(piece)
        marks = [word for word in piece[end:] if word.startswith(PASSED_IN_MEMORY)]
        parameters.append(" ".join(["ptr" if piece[end - 1] == "*" else joined(piece[:end]), *marks]))
    return IrFunction(words[0], linkage, words[at - 1], tuple(parameters))


def _types(words: list[str]) -> tuple[str, ...]:
    at = next(at for at, word in enumerate(words) if word.startswith("@"))
    return tuple(joined(piece[: _type_end(piece)]) for piece in split(words[at + 2 : closing(words, at + 1)]))


def _type_end(piece: list[str]) -> int:
    end = type_end(piece)
    while end < len(piece) and piece[end] == "*":
        end += 1
    return end


def _pointees(export: TileExport) -> list[str | None]:
    return [None if parameter.by_value else parameter.element.llvm for parameter in export.parameters]


def _cuda_type(parameter: Parameter) -> str:
    """C++ passes a by-value `f16` as its 16 bits."""
    if not parameter.by_value:
        return f"{parameter.element.llvm}*"
    return "i16" if parameter.element is ElementType.F16 else parameter.element.llvm
