"""Device code from elsewhere held against a description: what a probe link shows, and what it cannot.

Widths and order of the native parameters are seen, and whether a symbol is there; not what stands behind a pointer,
nor an integer from a float of its size.  Only running the code tells those, which is what `verify` is for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright.device.ltoir_header import read_header
from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.probe import PROVIDED, PtxFunction, functions_of, probe, problems_of
from tilewright.device.workers import Workers
from tilewright.exports.abi import NativeParameter, native_parameters, prototype
from tilewright.exports.elements import ElementType
from tilewright.exports.model import ExportSet, Parameter, TileExport
from tilewright.exports.sizes import linked
from tilewright.problem import Place, Problem, render
from tilewright.toolchain.toolkit import Toolkit


@dataclass(frozen=True, slots=True)
class ForeignReport:
    """What a probe of a library found: its problems, what was found right, and what a probe link cannot tell."""

    library: str
    arch: str
    exports: tuple[TileExport, ...]
    problems: tuple[Problem, ...]

    @property
    def sound(self) -> tuple[TileExport, ...]:
        """The exports that no problem names."""
        return tuple(
            export
            for export in self.exports
            if not any(problem.what.startswith(f"`{export.name}`:") for problem in self.problems)
        )

    def untold(self) -> Iterator[str]:
        """One line for each thing that the widths leave open."""
        for export in self.sound:
            values = [parameter for parameter in export.parameters if parameter.by_value]
            pointers = [parameter for parameter in export.parameters if not parameter.by_value]
            if values:
                yield f"{export.name}: whether {_listed(values)} is that type or another of its width"
            if pointers:
                yield f"{export.name}: what stands behind {_listed(pointers)}, and whether it is only read"
            for first, second in _alike(export):
                yield f"{export.name}: whether `{first.name}` and `{second.name}` are swapped"

    def text(self) -> str:
        """For people; ends in a newline."""
        lines = [
            f"{export.name}: `{export.symbol}` is there, its {len(export.parameters)} parameters have the right widths"
            for export in self.sound
        ]
        lines += ["", "A probe link cannot tell:", *(f"  {line}" for line in self.untold())] if self.sound else []
        if self.sound:
            lines.append("`tilewright verify` tells these, by running the code")
        count = f"{len(self.sound)}/{len(self.exports)} exports fit"
        head = f"{self.library}: {count} as far as a probe link shows ({self.arch})"
        said = [render(self.problems)] if self.problems else []
        return "\n".join([head, *lines, *said]) + "\n"

    def json(self) -> str:
        """The same for programs."""
        record = {
            "schema": 1,
            "library": self.library,
            "arch": self.arch,
            "fit": [export.name for export in self.sound],
            "problems": [str(problem) for problem in self.problems],
            "cannot_tell": list(self.untold()),
        }
        return json.dumps(record, indent=2) + "\n"


def probe_library(
    ltoir: bytes, exports: ExportSet, *, name: str, toolkit: Toolkit, workers: Workers, arch: str = ""
) -> ForeignReport:
    """Probes LTOIR of any compiler against a description; `arch` defaults to the one it was made for.

    DeviceError for anything that is not LTOIR: nothing can be said of its exports.
    """
    exports = linked(exports)
    try:
        arch = arch or f"sm_{read_header(ltoir).arch}"
    except DeviceError as error:
        raise DeviceError(replace(problem, where=Place(name)) for problem in error.problems) from None
    problems = library_problems(ltoir, exports, name=name, arch=arch, toolkit=toolkit, workers=workers)
    return ForeignReport(name, arch, exports.exports, tuple(problems))


def library_problems(
    ltoir: bytes, exports: ExportSet, *, name: str, arch: str, toolkit: Toolkit, workers: Workers
) -> list[Problem]:
    """Everything in which the device code differs from the exports, each with its export and its parameter."""
    nvvm, libdevice, nvjitlink = (str(toolkit.require(part).path) for part in ("nvvm", "libdevice", "nvjitlink"))
    symbols = tuple(dict.fromkeys(export.symbol for export in exports.exports))
    number = arch.rpartition("_")[2]
    source = DeviceModule("nvvm", "", name)
    ptx = workers.run(probe, ltoir, source, symbols, number, (nvvm, libdevice, nvjitlink))
    functions = functions_of(ptx)
    found = [problem for export in exports.exports for problem in _differences(export, functions, name)]
    known = {f"`{export.name}`:" for export in exports.exports}
    others = [problem for problem in problems_of(ptx, exports, name) if problem.what.split(" ", 1)[0] not in known]
    return found + others


def _differences(export: TileExport, functions: dict[str, PtxFunction], name: str) -> Iterator[Problem]:
    where = Place(name)
    hint = f"the description needs: {prototype(export)}"
    found = functions.get(export.symbol)
    if found is None or not found.defined:
        there = sorted(known for known, each in functions.items() if each.defined and known not in PROVIDED)
        listed = f"; it defines {', '.join(there[:8])}" if there else ""
        yield Problem(f"`{export.name}`: the device code does not define `{export.symbol}`{listed}", where, hint)
        return
    if found.result:
        yield Problem(
            f"`{export.name}`: `{export.symbol}` returns {found.result}, and must return nothing", where, hint
        )
    expected = native_parameters(export)
    if len(found.parameters) != len(expected):
        yield Problem(_miscounted(export, expected, found.parameters), where, hint)
        return
    for number, (parameter, actual) in enumerate(zip(expected, found.parameters, strict=True), start=1):
        if actual not in widths_of(parameter):
            what = (
                f"`{export.name}`: parameter {number} (`{parameter.name}`, {_kind(parameter)}) of `{export.symbol}` is "
                f"{actual} in the device code, and must be {widths_of(parameter)[0]}"
            )
            yield Problem(what, where, hint)


def _miscounted(export: TileExport, expected: tuple[NativeParameter, ...], found: tuple[str, ...]) -> str:
    has = f"`{export.symbol}` has {len(found)} parameters in the device code"
    head = f"`{export.name}`: {has}, and must have {len(expected)}"
    differs = next(
        (at for at, pair in enumerate(zip(expected, found, strict=False)) if pair[1] not in widths_of(pair[0])),
        min(len(expected), len(found)),
    )
    if differs < len(expected):
        return f"{head}: they differ from parameter {differs + 1} (`{expected[differs].name}`) on"
    return f"{head}: nothing stands for parameter {differs + 1} ({found[differs]})"


def widths_of(parameter: NativeParameter) -> tuple[str, ...]:
    """How PTX may show a native parameter, the usual way first.

    Integers below 32 bits are widened; a half by value is its 16 bits, or since compute_100 two bytes as well.
    """
    if not parameter.by_value or parameter.element.size == 8:
        return (".b64",)
    return (".b32", ".b8[2]") if parameter.element is ElementType.F16 else (".b32",)


def _kind(parameter: NativeParameter) -> str:
    return parameter.element.label if parameter.by_value else f"pointer to {parameter.element.label}"


def _alike(export: TileExport) -> Iterator[tuple[Parameter, Parameter]]:
    """Neighbours that could change places unseen."""
    natives = native_parameters(export)
    for at in range(len(natives) - 1):
        if widths_of(natives[at]) == widths_of(natives[at + 1]):
            yield export.parameters[at], export.parameters[at + 1]


def _listed(parameters: list[Parameter]) -> str:
    return ", ".join(f"`{parameter.name}` ({parameter.element.label})" for parameter in parameters)
