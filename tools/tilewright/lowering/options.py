"""What a caller may ask of a compilation, and what a device allows.

Every option is exact: it is honoured or refused, never taken as a hint.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Lowering(Enum):
    """The route. Only the native one is built."""

    NATIVE = "native"
    TIRX = "tirx"


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Options of `tile.compile`; all switches that change numbers or placement are off.

    `threads_per_group`: threads of a block, 0 = a legal default. `fmad`: whether a*b+c may become one rounding; None
    = yes, unless the kernel has an ordered MMA. `name`: a stable name for the compiled shader in the user's store.
    `max_registers`: 0 = no limit. `reduction_unroll`: of the loops of SIMD-group rows, how many chunks one iteration
    takes, 1 to 16, in the same order of operations; 0 = one, and any form. The other options below `name` belong to
    other routes or other targets.
    """

    threads_per_group: int = 0
    lowering: Lowering | str = Lowering.NATIVE
    fast_math: bool = False
    fmad: bool | None = None
    debug: bool = False
    max_registers: int = 0
    name: str | None = None
    compile_only: bool = False
    xir: object | None = None
    tirx: object | None = None
    cooperative_matrix: bool = False
    cooperative_vector: bool = False
    tensor_cores: bool = False
    metal_mpp: bool = False
    subgroup_reductions: bool = False
    reduction_unroll: int = 0
    program_order: bool = False
    planner_threads: int = 0


DEFAULTS = CompileOptions()


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """What a launch may ask of a device."""

    max_threads_per_block: int = 1024
    max_blocks: int = 2**31 - 1


COMMON_LIMITS = DeviceLimits()
"""What every device of the architectures at hand allows."""
