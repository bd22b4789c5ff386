"""What a kernel may ask of an Apple GPU, as a description: nothing here talks to one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.problem import Problem

SIMD_WIDTH = 32
MAX_BUFFERS = 31
METAL4_FAMILY = 7
SUBGROUP_FAMILY = 7
METAL4_OS = 26
MSL3_OS = 13


@dataclass(frozen=True, slots=True)
class MetalDevice:
    """`family`: number of the Apple GPU family. `os`: major version of macOS. `thread_width`: threads of a SIMD-group.

    `max_threads` and `threadgroup_memory` (bytes) are limits of one threadgroup.
    """

    family: int = 7
    os: int = 26
    thread_width: int = SIMD_WIDTH
    max_threads: int = 1024
    threadgroup_memory: int = 32768


COMMON_DEVICE = MetalDevice()
"""The least that runs everything made here: any M1 under macOS 26."""


def device_problems(
    name: str, device: MetalDevice, *, metal4: bool, subgroups: bool, threads: int, memory: int
) -> Iterator[Problem]:
    """B28, B105, B118, B172, B173: what a kernel of `threads` a threadgroup needs and the device lacks."""
    if metal4 and device.os < METAL4_OS:
        yield Problem(f"`{name}` needs Metal 4: it requires macOS/iOS 26, the device has {device.os}", rule="metal-os")
    if not metal4 and device.os < MSL3_OS:
        yield Problem(f"`{name}` needs Metal 3: it requires macOS 13, the device has {device.os}", rule="metal-os")
    family = METAL4_FAMILY if metal4 else SUBGROUP_FAMILY if subgroups else 0
    if device.family < family:
        what = f"`{name}` needs GPU family {family} (Apple{family}) or newer, the device is of family {device.family}"
        yield Problem(what, rule="metal-family")
    if (metal4 or subgroups) and device.thread_width != SIMD_WIDTH:
        what = (
            f"`{name}` is written for SIMD-groups of {SIMD_WIDTH}: a width of {device.thread_width} exceeds the limits"
        )
        yield Problem(what, rule="thread-width")
    if threads > device.max_threads:
        what = f"`{name}`: {threads} threads a threadgroup exceeds the device limits, {device.max_threads} at most"
        yield Problem(what, hint=f"threads_per_group={device.max_threads // SIMD_WIDTH * SIMD_WIDTH}", rule="threads")
    if memory > device.threadgroup_memory:
        what = f"`{name}`: {memory} bytes of threadgroup memory exceeds the device limits, {device.threadgroup_memory}"
        yield Problem(what, rule="threadgroup-memory")
