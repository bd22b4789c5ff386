"""Which sizes of its parametric implementations a static library carries; LTOIR alone can tell, by a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.bytecode.records import Implementation
from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.probe import functions_of, probe
from tilewright.device.workers import Workers
from tilewright.exports.naming import sized_name
from tilewright.exports.shape_rules import LARGEST_TILE
from tilewright.library.archive import LibraryContents
from tilewright.toolchain.toolkit import Toolkit

EVERY_SIZE = tuple(1 << exponent for exponent in range(LARGEST_TILE.bit_length()))


@dataclass(frozen=True, slots=True)
class Carried:
    """The sizes by implementation symbol, ascending; `unknown` is the reason when they could not be found out."""

    sizes: Mapping[str, tuple[int, ...]]
    unknown: str = ""


def parametric_implementations(contents: LibraryContents) -> tuple[Implementation, ...]:
    """The implementations of a static library whose calls supply the tile size."""
    if contents.catalog is None or contents.payload.ltoir is None:
        return ()
    return tuple(each for each in contents.catalog.implementations if each.const_params)


def carried_sizes(contents: LibraryContents, toolkit: Toolkit, workers: Workers) -> Carried:
    """Links the library's LTOIR with a request for every size there is, and looks which of them it defines."""
    parametric = parametric_implementations(contents)
    header = contents.payload.ltoir
    if not parametric or header is None:
        return Carried({})
    components = [toolkit.component(name) for name in ("nvvm", "libdevice", "nvjitlink")]
    paths = [str(component.path) for component in components if component]
    if len(paths) < len(components):
        return Carried({}, "libNVVM, libdevice and nvJitLink tell, and one of them was not found")
    wanted = {(each.name, size): sized_name(each.name, size) for each in parametric for size in EVERY_SIZE}
    source = DeviceModule("nvvm", "", contents.file)
    nvvm, libdevice, nvjitlink = paths
    symbols, arch = tuple(wanted.values()), str(header.arch)
    try:
        ptx = workers.run(probe, contents.payload.data, source, symbols, arch, (nvvm, libdevice, nvjitlink))
    except DeviceError as error:
        return Carried({}, error.problems[0].what)
    functions = functions_of(ptx)
    there = {key for key, symbol in wanted.items() if symbol in functions and functions[symbol].defined}
    return Carried({each.name: tuple(size for size in EVERY_SIZE if (each.name, size) in there) for each in parametric})
