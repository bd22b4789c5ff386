"""Expected values from the user's own functions, compiled for the CPU and called on whole arrays.

CUDA C++ is compiled here; of other languages the shared object is given (`native_oracle`).  Neither wrapper nor
description of the ABI takes part: a function is called by name, its parameters are taken from its own type, and its
lanes run in lockstep where it is warp-synchronous.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.callers.error import CallerError
from tilewright.callers.host.compiler import compile_host, run_host
from tilewright.callers.inputs import Tile, dtype_of
from tilewright.callers.templates import rendered
from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.workers import Workers
from tilewright.exports.model import Sync, TileExport
from tilewright.exports.sizes import own_symbol
from tilewright.problem import Place, Problem

UNIT = "expected.cpp"
_ASSERTED = re.compile(r"^static_assert\(tilewright_generated::is_exactly<(?P<type>.+)>\(&(?P<name>::[\w:]+)\),$", re.M)


@dataclass(frozen=True, slots=True)
class UserFunction:
    """The user's function behind an export: its qualified name and its C++ type, `float(const float &)`."""

    export: TileExport
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class HostOracle:
    """A shared object for this CPU that has `const char *tilewright_expected_<n>(void *const *tiles)` for export n.

    The entry gets every parameter's whole tile, results filled with zeros, and gives "" or what went wrong.  `name`
    goes into the report, `source` is the user's file for messages.
    """

    library: bytes
    exports: tuple[TileExport, ...]
    name: str
    source: str
    workers: Workers

    def expected(self, export: TileExport, tiles: Mapping[str, Tile]) -> dict[str, Tile]:
        """Runs the function in a worker; a crash is reported as the export's."""
        entry = f"tilewright_expected_{self.exports.index(export)}"
        images = []
        for parameter in export.parameters:
            size = (export.tile_shape or 0) * parameter.element.size
            images.append(tiles[parameter.name].tobytes() if parameter.name in tiles else bytes(size))
        said, after = run_for(export.name, self.workers, self.library, entry, images, 0, self.source)
        if said:
            what = f"`{export.name}`: the function compiled for the CPU failed: {said}"
            raise CallerError([Problem(what, Place(self.source))])
        return {
            parameter.name: np.frombuffer(image, dtype_of(parameter.element))
            for parameter, image in zip(export.parameters, after, strict=True)
            if parameter.access.writes
        }


def host_oracle(
    module: DeviceModule,
    exports: Sequence[TileExport],
    *,
    workers: Workers,
    compiler: str,
    include: Sequence[Path] = (),
) -> HostOracle:
    """Compiles the user's functions of sized exports. `CallerError` with the C++ compiler's errors."""
    functions = user_functions(module, exports)
    text = module.text + rendered("oracle/expected.cpp.j2", functions=functions)
    library = compile_host({UNIT: text}, module.headers, source=module.name, compiler=compiler, include=include)
    return native_oracle(library, exports, compiler=Path(compiler).name, source=module.name, workers=workers)


def native_oracle(
    library: bytes, exports: Sequence[TileExport], *, compiler: str, source: str, workers: Workers
) -> HostOracle:
    """The oracle of a shared object that was made of the functions of sized exports, in their order, by `compiler`."""
    lanes = any(export.sync is Sync.WARP for export in exports)
    lockstep = ", 32 lanes in lockstep where it is warp-synchronous" if lanes else ""
    name = f"the function itself compiled for the CPU by {compiler}{lockstep}"
    return HostOracle(library, tuple(exports), name, source, workers)


def user_functions(module: DeviceModule, exports: Sequence[TileExport]) -> tuple[UserFunction, ...]:
    """The user's function of each export, as the translation unit asserts its type."""
    asserted: dict[str, list[tuple[str, str]]] = {}
    for found in _ASSERTED.finditer(module.text):
        asserted.setdefault(found["name"].rpartition("::")[2], []).append((found["name"], found["type"]))
    functions, problems = [], []
    known: dict[str, tuple[str, str]] = {}
    for export in exports:
        waiting = asserted.get(export.function)
        if waiting and own_symbol(export) not in known:
            known[own_symbol(export)] = waiting.pop(0)
        if own_symbol(export) in known:
            functions.append(UserFunction(export, *known[own_symbol(export)]))
        else:
            what = (
                f"`{export.name}`: the device code has no function `{export.function}`; the description is not its own"
            )
            problems.append(Problem(what, Place(module.name), hint="build the library and its description again"))
    if problems:
        raise CallerError(problems)
    return tuple(functions)


def run_for(
    export: str, workers: Workers, library: bytes, entry: str, images: Sequence[bytes], offset: int, source: str
) -> tuple[str, tuple[bytes, ...]]:
    """`run_host` in a worker; `CallerError` naming the export when the code crashes."""
    try:
        return workers.run(run_host, library, entry, images, offset)
    except DeviceError as error:
        hint = "dividing by zero and leaving the fragment end a process; leave such inputs to a reference"
        raise CallerError(
            Problem(f"`{export}`: {problem.what}", Place(source), hint=hint, detail=problem.detail)
            for problem in error.problems
        ) from None
