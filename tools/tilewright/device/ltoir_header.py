"""The readable part of an LTOIR container; the rest is scrambled."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tilewright.device import magic
from tilewright.device.module import DeviceError
from tilewright.problem import Problem

SIZE = 0x1C
RENAMED = {101: 110}
"""Containers keep the number that an architecture had before CUDA 13 renamed it."""


@dataclass(frozen=True, slots=True)
class LtoirHeader:
    """`arch` is the number of the architecture it was made for, 120; `nvvm_version` 7 below 100, 23 for CUDA 13.5."""

    arch: int
    nvvm_version: int


def read_header(data: bytes) -> LtoirHeader:
    """Magic at 0, NVVM version in the byte at 10, ten times the architecture as u16 LE at 0x1a.

    `DeviceError` for anything that is not LTOIR.
    """
    if not data.startswith(magic.LTOIR):
        what = f"not LTOIR: it begins with {data[:4].hex(' ') or 'nothing'}, not {magic.LTOIR.hex(' ')}"
        hint = "name an .ltoir file: `tilewright build` writes one beside each library"
        raise DeviceError([Problem(what, hint=hint)])
    if len(data) < SIZE:
        what = f"LTOIR cut short: {len(data)} bytes, the header alone has {SIZE}"
        raise DeviceError([Problem(what, hint="write the file again, whole")])
    (tenfold,) = struct.unpack_from("<H", data, 0x1A)
    if tenfold % 10 or not tenfold:
        what = f"LTOIR names no architecture: {tenfold} is not a number times ten"
        raise DeviceError([Problem(what, hint="compile it again with the toolkit that `tilewright doctor` shows")])
    number = tenfold // 10
    return LtoirHeader(arch=RENAMED.get(number, number), nvvm_version=data[10])
