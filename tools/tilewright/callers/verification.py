"""Makes verification bundles: the mock caller linked with a library, input tiles, and the values to expect."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.callers.bundle import Bundle, Check, Emulation, Tensor
from tilewright.callers.error import CallerError
from tilewright.callers.inputs import Tile, tile_size, tiles_of
from tilewright.callers.mock.caller import caller_ir, caller_source, checked_exports, launch_of
from tilewright.callers.mock.linked import LINK_OPTIONS, linked_cubin
from tilewright.callers.oracle.expectation import Oracle
from tilewright.callers.oracle.host import host_oracle
from tilewright.callers.oracle.reference import Reference, ReferenceOracle
from tilewright.device import signatures
from tilewright.device.module import DeviceModule
from tilewright.device.sizes import with_sizes
from tilewright.device.workers import Workers
from tilewright.exports.abi import prototype
from tilewright.exports.model import ExportSet, TileExport
from tilewright.exports.sizes import own_name
from tilewright.problem import Place, Problem
from tilewright.toolchain.toolkit import Toolkit


def make_bundle(
    exports: ExportSet,
    ltoir: bytes,
    module: DeviceModule | None,
    *,
    name: str,
    arch: str,
    seed: int,
    toolkit: Toolkit,
    workers: Workers,
    compiler: str = "",
    references: Mapping[str, Reference] | None = None,
    references_file: str = "",
    oracle: Oracle | None = None,
) -> Bundle:
    """The bundle of a library for `arch` (`sm_90`): every export, a parametric one in each listed size.

    `ltoir` is the library's device code and `name` its file, `module` its source (None: LTOIR from elsewhere, which
    needs a reference for every export).  Exports without a reference are `oracle`'s; without one, CUDA C++ is compiled
    for the CPU by `compiler`.  Equal arguments give an equal bundle.  `CallerError`, `DeviceError`, `ToolchainError`.
    """
    checked = checked_exports(exports)
    ensure_described(exports, module, workers)
    module = with_sizes(module, exports) if module else None
    _ensure_used(references or {}, exports, references_file)
    from_references = ReferenceOracle(references or {}, references_file)
    oracles = oracles_for(checked.exports, module, toolkit, workers, compiler, from_references, oracle)
    cubin = linked_cubin(checked, ltoir, name=name, arch=arch, toolkit=toolkit, workers=workers)
    checks = tuple(check_of(export, oracles[export.name], seed) for export in checked.exports)
    return Bundle(checked.library, arch, LINK_OPTIONS, seed, cubin, checks, emulation_of(checked, module))


def _ensure_used(references: Mapping[str, Reference], exports: ExportSet, file: str) -> None:
    """A file of references in which no function is named as an export would be passed over without a word."""
    names = [export.name for export in exports.exports]
    if references and not references.keys() & set(names):
        what = f"no function there is named as an export of `{exports.library}`: {', '.join(sorted(references))}"
        raise CallerError([Problem(what, Place(file) if file else None, hint=f"name them: {', '.join(names)}")])


def ensure_described(exports: ExportSet, module: DeviceModule | None, workers: Workers) -> None:
    """Refuses a description that is not that of the source: CUDA C++ by its wrappers, NVVM IR by its signatures."""
    if module is None:
        return
    if module.language == "nvvm":
        symbols = tuple(export.symbol for export in exports.exports)
        signatures.ensure(workers.run(signatures.read_functions, module, symbols), exports, module.name)
        return
    problems = []
    for export in exports.exports:
        if f'extern "C" __device__ {prototype(export)}\n' not in module.text:
            found = re.search(rf'^extern "C" __device__ (void {export.symbol}\(.*\))$', module.text, re.MULTILINE)
            there = f"has `{found[1]}`" if found else f"does not define `{export.symbol}`"
            what = f"`{export.name}`: the device code {there}, the description needs `{prototype(export)}`"
            problems.append(Problem(what, Place(module.name), hint="build the library and its description again"))
    if problems:
        raise CallerError(problems)


def oracles_for(
    exports: Sequence[TileExport],
    module: DeviceModule | None,
    toolkit: Toolkit,
    workers: Workers,
    compiler: str,
    references: ReferenceOracle,
    other: Oracle | None = None,
) -> dict[str, Oracle]:
    """The oracle of each export: its reference where there is one, else `other`, else its CUDA C++ compiled here."""
    oracles: dict[str, Oracle] = {
        export.name: references for export in exports if own_name(export) in references.references
    }
    rest = [export for export in exports if export.name not in oracles]
    if other is not None:
        return oracles | {export.name: other for export in rest}
    if rest and (module is None or module.language != "cuda"):
        why = "the source behind the IR is not known" if module else "the source of the device code is not known"
        raise CallerError(
            Problem(
                f"`{export.name}`: nothing gives its expected values: {why}",
                Place(module.name) if module else None,
                hint=f"name it: --source FILE; or define `def {own_name(export)}(...)` in a file: --reference FILE.py",
            )
            for export in rest
        )
    if rest and module is not None:
        host = host_oracle(module, rest, workers=workers, compiler=compiler, include=toolkit.include)
        oracles |= {export.name: host for export in rest}
    return oracles


def check_of(export: TileExport, oracle: Oracle, seed: int) -> Check:
    """Inputs and expected values of a sized export, a row a kind of input."""
    names: list[str] = []
    before: dict[str, list[Tile]] = {}
    after: dict[str, list[Tile]] = {}
    for kind, tiles in tiles_of(export, seed):
        names.append(kind)
        for parameter, tile in tiles.items():
            before.setdefault(parameter, []).append(tile)
        for parameter, tile in oracle.expected(export, tiles).items():
            after.setdefault(parameter, []).append(tile)
    launch = launch_of(export)
    return Check(
        name=export.name,
        symbol=export.symbol,
        kernel=launch.kernel,
        tile_shape=tile_size(export),
        blocks=launch.blocks,
        threads=launch.threads,
        sync=export.sync,
        max_ulps=int(getattr(export, "max_ulps", 0) or 0),
        cases=tuple(names),
        oracle=oracle.name,
        tensors=tuple(
            Tensor(
                parameter.name,
                parameter.element,
                parameter.access,
                np.stack(before[parameter.name]) if parameter.name in before else None,
                np.stack(after[parameter.name]) if parameter.name in after else None,
            )
            for parameter in export.parameters
        ),
    )


def emulation_of(exports: ExportSet, module: DeviceModule | None) -> Emulation | None:
    """What `verify --emulate` runs: the library's source and the caller of all exports in the same language."""
    if module is None:
        return None
    caller = caller_source(exports) if module.language == "cuda" else caller_ir(exports)
    return Emulation(module.language, module.name, module.text, caller, module.headers)
