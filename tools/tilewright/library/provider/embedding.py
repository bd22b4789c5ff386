"""The C file that makes the runtime one library's provider: descriptions and device code as constants."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.bytecode.module import Version
from tilewright.bytecode.modules import modules_of
from tilewright.exports.model import ExportSet
from tilewright.library.provider.bodies import Body, DeviceCode

_BYTES_A_LINE = 32


def embedded_source(library: str, code: DeviceCode, version: Version) -> str:
    """C11 that defines `embedded`.

    The assembler asks about one declaration at a time and refuses an answer about more, so each export has a catalog of
    its own.  Every name in here is an ASCII identifier by the rules of exports.
    """
    return "\n".join(_lines(library, code, version))


def _lines(library: str, code: DeviceCode, version: Version) -> Iterator[str]:
    yield f"/* Written by tilewright for the library {library}; do not edit. */"
    yield '#include "embedded.h"'
    rows = []
    for number, body in enumerate(code.bodies):
        catalog = modules_of(ExportSet(library, (body.export,)), version=version).implementation
        yield from _array(f"catalog_{number}", catalog)
        rows.append(f"    {_row(body, number, len(catalog))},")
    yield f"static const struct embedded_export exports[{len(rows)}] = {{"
    yield from rows
    yield "};"
    ir = code.ir.encode()
    yield from _array("ir", ir)
    if code.ltoir:
        yield from _array("ltoir", code.ltoir)
    yield "const struct embedded_library embedded = {"
    yield f'    "{library}", exports, {len(rows)}, ir, {len(ir)},'
    yield f"    {'ltoir' if code.ltoir else '0'}, {len(code.ltoir)}, {code.ltoir_arch}, {int(code.needs_libdevice)},"
    yield "};"
    yield ""


def _row(body: Body, number: int, size: int) -> str:
    export = body.export
    parameters = ", ".join(f"{kind} %p{at}" for at, kind in enumerate(body.types))
    parametric = int(export.tile_shape is None)
    return f'{{"{export.name}", "{export.symbol}", "{parameters}", {parametric}, catalog_{number}, {size}}}'


def _array(name: str, data: bytes) -> Iterator[str]:
    """The bytes, one zero behind them: C has no empty array."""
    yield f"static _Alignas(16) const unsigned char {name}[{len(data) + 1}] = {{"
    for start in range(0, len(data), _BYTES_A_LINE):
        yield ",".join(map(str, data[start : start + _BYTES_A_LINE])) + ","
    yield "0};"
