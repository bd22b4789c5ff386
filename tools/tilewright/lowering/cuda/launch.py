"""Launch geometry: how many threads, in blocks that are whole warps. Spec: CUDA device artifact and PTX ABI."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.lowering.options import DeviceLimits

WARP = 32
DEFAULT_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Launch:
    """`extent` instances in `blocks` blocks of `threads`; `guarded` when the last block has padding lanes."""

    extent: int
    blocks: int
    threads: int

    @property
    def guarded(self) -> bool:
        return self.blocks * self.threads != self.extent


def launch(extent: int, limits: DeviceLimits, exact: int = 0) -> Launch:
    """The launch of `extent` instances; `exact` is the block that a caller fixed (0 = choose).

    A partial domain is rounded up to the warp, a cap that is no multiple of it down: 1003 instances give 4 blocks of
    256, 37 give one of 64.
    """
    cap = min(DEFAULT_BLOCK, limits.max_threads_per_block) // WARP * WARP
    threads = exact or min(cap, rounded_up(extent))
    return Launch(extent, -(-extent // threads) if threads else 0, threads)


def rounded_up(extent: int) -> int:
    """The next multiple of the warp: 1 gives 32, 33 gives 64."""
    return -(-extent // WARP) * WARP
