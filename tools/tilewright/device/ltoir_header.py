"""The readable part of an LTOIR container; the rest is scrambled."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tilewright.device.module import DeviceError
from tilewright.problem import Problem

MAGIC = b"\xed\x43\x4e\x7f"
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
    if not data.startswith(MAGIC):
        raise DeviceError(
            [Problem(f"not LTOIR: it begins with {data[:4].hex(' ') or 'nothing'}, not {MAGIC.hex(' ')}")]
        )
    if len(data) < SIZE:
        raise DeviceError([Problem(f"LTOIR cut short: {len(data)} bytes, the header alone has {SIZE}")])
    (tenfold,) = struct.unpack_from("<H", data, 0x1A)
    if tenfold % 10 or not tenfold:
        raise DeviceError([Problem(f"LTOIR names no architecture: {tenfold} is not a number times ten")])
    number = tenfold // 10
    return LtoirHeader(arch=RENAMED.get(number, number), nvvm_version=data[10])
