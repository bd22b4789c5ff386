"""Both emulations of warp functions, the fibers in C++ and the threads in Python, against a plain model of the ISA."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from callers.libraries import cuda_library
from tilewright.callers.ir.lanes import Lanes
from tilewright.callers.ir.warp_functions import OPERATIONS, exchanged
from tilewright.callers.oracle.host import host_oracle
from tilewright.device.workers import Workers

VALUES = np.random.default_rng(3).integers(0, 2**32, 32, dtype=np.uint32)
FULL = 0xFFFFFFFF
LEAST = int(VALUES.view(np.int32).min().view(np.uint32))


def at(lane: int) -> int:
    return int(VALUES[lane])


def lanes_where(chosen: NDArray[np.bool_]) -> int:
    return sum(1 << lane for lane in range(32) if chosen[lane])


BODIES: dict[str, tuple[str, Callable[[int], int]]] = {
    "shfl": ("__shfl_sync(~0u, x, 5)", lambda lane: at(5)),
    "shfl of width 8": ("__shfl_sync(~0u, x, 5, 8)", lambda lane: at(lane // 8 * 8 + 5)),
    "shfl beyond the warp": ("__shfl_sync(~0u, x, 37)", lambda lane: at(5)),
    "up": ("__shfl_up_sync(~0u, x, 3)", lambda lane: at(lane - 3 if lane >= 3 else lane)),
    "up of width 16": ("__shfl_up_sync(~0u, x, 3, 16)", lambda lane: at(lane - 3 if lane % 16 >= 3 else lane)),
    "down": ("__shfl_down_sync(~0u, x, 3)", lambda lane: at(lane + 3 if lane < 29 else lane)),
    "xor": ("__shfl_xor_sync(~0u, x, 6)", lambda lane: at(lane ^ 6)),
    "xor of width 4": (
        "__shfl_xor_sync(~0u, x, 6, 4)",
        lambda lane: at(lane ^ 6 if (lane ^ 6) <= (lane | 3) else lane),
    ),
    "ballot": ("__ballot_sync(~0u, x & 1)", lambda lane: lanes_where(VALUES & 1 == 1)),
    "any": ("unsigned(__any_sync(~0u, threadIdx.x % 32 == 31))", lambda lane: 1),
    "all": ("unsigned(__all_sync(~0u, threadIdx.x % 32 != 31))", lambda lane: 0),
    "match": ("__match_any_sync(~0u, x % 3)", lambda lane: lanes_where(VALUES[lane] % 3 == VALUES % 3)),
    "sum": ("__reduce_add_sync(~0u, x)", lambda lane: int(VALUES.sum(dtype=np.uint32))),
    "least": ("unsigned(__reduce_min_sync(~0u, int(x)))", lambda lane: LEAST),
    "one half at a time": (
        "threadIdx.x % 32 < 16 ? __shfl_xor_sync(0x0000ffffu, x, 1) : __shfl_xor_sync(0xffff0000u, x, 2)",
        lambda lane: at(lane ^ (1 if lane < 16 else 2)),
    ),
}


def test_fibers_do_what_the_manual_says(tmp_path: Path, workers: Workers, compiler: str) -> None:
    attribute = '[[tile_export(tile_shape = 32, sync = "warp")]]'
    source = "".join(
        f"{attribute} __device__ unsigned f{number}(unsigned x) {{ return {body}; }}\n"
        for number, (body, _) in enumerate(BODIES.values())
    )
    library = cuda_library(tmp_path, source)
    oracle = host_oracle(library.module, library.exports.exports, workers=workers, compiler=compiler)
    for export, (case, (_, model)) in zip(library.exports.exports, BODIES.items(), strict=True):
        found = oracle.expected(export, {"x": VALUES})[export.parameters[-1].name]
        assert found.tolist() == [model(lane) for lane in range(32)], case


@pytest.mark.parametrize(
    ("operation", "b", "c", "source"),
    [
        ("shfl.sync.idx", 5, 31, lambda lane: 5),
        ("shfl.sync.idx", 5, 0x181F, lambda lane: lane // 8 * 8 + 5),
        ("shfl.sync.up", 3, 0, lambda lane: lane - 3 if lane >= 3 else lane),
        ("shfl.sync.down", 3, 31, lambda lane: lane + 3 if lane < 29 else lane),
        ("shfl.sync.bfly", 6, 31, lambda lane: lane ^ 6),
    ],
)
def test_threads_shuffle_as_the_manual_says(operation: str, b: int, c: int, source: Callable[[int], int]) -> None:
    values = [int(value) for value in VALUES]
    lanes, found = Lanes(), dict[int, int]()

    def body(lane: int) -> None:
        found[lane] = lanes.exchange(lane, OPERATIONS.index(operation), FULL, values[lane], b, c)

    assert lanes.run(body) == ""
    assert [found[lane] for lane in range(32)] == [values[source(lane)] for lane in range(32)]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("vote.ballot.sync", FULL),
        ("redux.sync.add", int(VALUES.sum(dtype=np.uint32))),
        ("redux.sync.umax", int(VALUES.max())),
        ("redux.sync.min", LEAST),
        ("redux.sync.xor", int(np.bitwise_xor.reduce(VALUES))),
        ("bar.warp.sync", 0),
    ],
)
def test_threads_reduce_as_the_manual_says(operation: str, expected: int) -> None:
    assert exchanged(operation, 3, [int(value) for value in VALUES], FULL, 0, 0) == expected


def test_a_lane_outside_of_its_mask_is_named() -> None:
    lanes = Lanes()
    fault = lanes.run(lambda lane: lanes.exchange(lane, 0, 0xFF, 1, 0, 31) if lane == 9 else None)
    assert fault == "`shfl.sync.idx`: lane 9 is not in its own mask"


def test_different_functions_do_not_meet() -> None:
    lanes = Lanes()
    fault = lanes.run(lambda lane: lanes.exchange(lane, lane % 2, FULL, 1, 0, 31))
    assert fault == "lane 0 waits in `shfl.sync.idx` for lanes that never come"
