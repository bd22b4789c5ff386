"""Running a bundle on a GPU: what it needs, when it is skipped, and how faults of the GPU are told.

The driver of these tests stands in for one that this machine does not have: its memory is the process's own, and its
kernels are Python functions.
"""

from __future__ import annotations

import ctypes
import enum
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tilewright.callers import runner
from tilewright.callers.buffers import GUARD
from tilewright.callers.bundle import Bundle, Check, Tensor
from tilewright.callers.error import CallerError
from tilewright.callers.runner import NoDevice, runs_on
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, Sync

TOOLS = str(Path(__file__).parents[2] / "tools")
HEAVY = ("msgspec", "jinja2", "llvmlite", "tree_sitter", "SCons", "cuda")
F32 = ElementType.F32


class Status(int, enum.Enum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


FINE = Status.CUDA_SUCCESS
Kernel = Callable[[list[int]], Status]


class StandInDriver:
    """The calls that the runner makes, on memory of this process; counts what is open."""

    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=76
    )

    def __init__(self, kernels: dict[bytes, Kernel], capability: tuple[int, int] = (9, 0)) -> None:
        self.kernels, self.capability = kernels, capability
        self.memory: dict[int, Any] = {}
        self.contexts = 0
        self.opened = 0
        self.status = FINE
        self.start = self.load = FINE

    def cuInit(self, flags: int) -> tuple[Status]:
        return (self.start,)

    def cuDeviceGetCount(self) -> tuple[Status, int]:
        return FINE, 1

    def cuDeviceGet(self, ordinal: int) -> tuple[Status, int]:
        return FINE, ordinal

    def cuDeviceGetName(self, size: int, device: int) -> tuple[Status, bytes]:
        return FINE, b"Stand-in\0\0\0"

    def cuDriverGetVersion(self) -> tuple[Status, int]:
        return FINE, 13020

    def cuDeviceGetAttribute(self, attribute: int, device: int) -> tuple[Status, int]:
        return FINE, self.capability[attribute - 75]

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[Status, str]:
        self.contexts += 1
        self.opened += 1
        return FINE, "context"

    def cuDevicePrimaryCtxReset(self, device: int) -> tuple[Status]:
        self.status = FINE
        return (FINE,)

    def cuDevicePrimaryCtxRelease(self, device: int) -> tuple[Status]:
        self.contexts -= 1
        return (FINE,)

    def cuCtxSetCurrent(self, context: str) -> tuple[Status]:
        return (FINE,)

    def cuModuleLoadData(self, image: int) -> tuple[Status, bytes]:
        return self.load, ctypes.string_at(image, 4)

    def cuModuleGetFunction(self, module: bytes, name: bytes) -> tuple[Status, Kernel | None]:
        return (FINE, self.kernels[name]) if name in self.kernels else (Status.CUDA_ERROR_NOT_FOUND, None)

    def cuMemAlloc(self, size: int) -> tuple[Status, int]:
        buffer = ctypes.create_string_buffer(size)
        self.memory[ctypes.addressof(buffer)] = buffer
        return self.status, ctypes.addressof(buffer)

    def cuMemFree(self, pointer: int) -> tuple[Status]:
        del self.memory[pointer]
        return (self.status,)

    def cuMemcpyHtoD(self, target: int, source: int, size: int) -> tuple[Status]:
        ctypes.memmove(target, source, size)
        return (self.status,)

    def cuMemcpyDtoH(self, target: int, source: int, size: int) -> tuple[Status]:
        ctypes.memmove(target, source, size)
        return (self.status,)

    def cuLaunchKernel(self, function: Kernel, *arguments: int) -> tuple[Status]:
        *shape, parameters, extra = arguments
        assert shape == [1, 1, 1, 4, 1, 1, 0, 0]
        assert extra == 0
        places = (ctypes.c_void_p * 2).from_address(parameters)
        self.status = function([ctypes.c_uint64.from_address(place).value for place in places if place])
        return (FINE,)

    def cuCtxSynchronize(self) -> tuple[Status]:
        return (self.status,)


def doubled(pointers: list[int]) -> Status:
    x, y = ((ctypes.c_float * 4).from_address(pointer) for pointer in pointers)
    for at in range(4):
        y[at] = 2 * x[at]
    return FINE


def writes_beyond(pointers: list[int]) -> Status:
    doubled(pointers)
    ctypes.memset(pointers[1] + 16, 0, 8)
    ctypes.memset(pointers[1] - 3, 0, 1)
    return FINE


def writes_its_input(pointers: list[int]) -> Status:
    doubled(pointers)
    ctypes.memset(pointers[0] + 8, 0xEE, 4)
    return FINE


def faults(pointers: list[int]) -> Status:
    return Status.CUDA_ERROR_ILLEGAL_ADDRESS


def check(name: str) -> Check:
    before = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], "<f4")
    tensors = (Tensor("x", F32, Access.IN, before, None), Tensor("y", F32, Access.OUT, None, 2 * before))
    return Check(name, f"{name}_impl", name, 4, 1, 4, Sync.NONE, 0, ("one", "two"), "a model", tensors)


def bundle(*names: str) -> Bundle:
    return Bundle("sample", "sm_90", ("-fma=0",), 1, b"\x7fELF", tuple(check(name) for name in names), None, "d1")


KERNELS: dict[bytes, Kernel] = {
    b"good": doubled, b"beyond": writes_beyond, b"input": writes_its_input, b"fault": faults, b"none": lambda _: FINE,
}  # fmt: skip


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> StandInDriver:
    stand_in = StandInDriver(KERNELS)
    monkeypatch.setattr(runner, "_driver", lambda: stand_in)
    return stand_in


def test_a_pass_is_said_as_the_specification_says_it(driver: StandInDriver) -> None:
    report = runner.run_bundle(bundle("good"))
    assert report.text() == (
        "note: library `sample` for sm_90, on Stand-in (sm_90), driver for CUDA 13.2; bundle d1\n"
        "note: inputs of seed 1\n"
        "note: expected values of good: a model\n"
        "note: a PASS is about the mock link (-fma=0): the assembler's own link may contract multiply-adds\n"
        "PASS good: 4 elements through `good_impl`, one and two\n"
        "SUCCESS: 1/1 tile exports verified through the native ABI\n"
    )
    assert (driver.memory, driver.contexts) == ({}, 0)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("none", "`y`: element 0 is 0xbfffffff (-1.99999988), expected 0x40000000 (2); element 1 is "),
        ("beyond", "`y`: 1 bytes were written before the start of the tile, the nearest 3 bytes away"),
        ("input", "`x` is an input, and element 2 of it was written"),
        ("fault", "`fault`: the kernel failed on the GPU: CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("absent", "`absent`: the cubin has no kernel `absent`: CUDA_ERROR_NOT_FOUND"),
    ],
)
def test_a_fault_is_this_exports_alone(driver: StandInDriver, name: str, fault: str) -> None:
    report = runner.run_bundle(bundle("good", name, "good"))
    assert [result.passed for result in report.results] == [True, False, True]
    lines = report.text().splitlines()
    assert lines[5].startswith(f"FAIL {name}: {fault}")
    assert lines[-1] == "FAILURE: 2/3 tile exports verified through the native ABI"
    assert (driver.memory, driver.contexts) == ({}, 0)


def test_both_guard_bands_are_watched(driver: StandInDriver) -> None:
    (result,) = runner.run_bundle(bundle("beyond")).results
    assert result.faults[1] == ("one", "`y`: 8 bytes were written past the end of the tile, the nearest 1 bytes away")
    assert GUARD % 256 == 0


def test_a_context_is_made_anew_after_a_fault_only(driver: StandInDriver) -> None:
    runner.run_bundle(bundle("good", "good"))
    assert driver.opened == 1
    runner.run_bundle(bundle("fault", "good"))
    assert driver.opened == 1 + 3


def test_a_cubin_that_the_driver_refuses(driver: StandInDriver) -> None:
    driver.load = Status.CUDA_ERROR_INVALID_IMAGE
    with pytest.raises(CallerError, match="error: the GPU driver refuses the cubin: CUDA_ERROR_INVALID_IMAGE"):
        runner.run_bundle(bundle("good"))
    assert driver.contexts == 0


def test_another_architecture_is_skipped(driver: StandInDriver) -> None:
    driver.capability = (12, 0)
    with pytest.raises(NoDevice, match=r"the code is for sm_90, and the GPU is a Stand-in \(sm_120\)"):
        runner.run_bundle(bundle("good"))


def test_no_device_is_skipped(driver: StandInDriver) -> None:
    driver.start = Status.CUDA_ERROR_NO_DEVICE
    with pytest.raises(NoDevice, match="no CUDA device: CUDA_ERROR_NO_DEVICE"):
        runner.run_bundle(bundle("good"))


@pytest.mark.parametrize(
    ("arch", "capability", "runs"),
    [
        ("sm_90", (9, 0), True),
        ("sm_90a", (9, 0), True),
        ("sm_90", (10, 0), False),
        ("sm_86", (8, 9), True),
        ("sm_89", (8, 6), False),
        ("sm_120", (12, 1), True),
        ("sm_120a", (12, 1), False),
        ("sm_120f", (12, 1), True),
        ("sm_75", (8, 0), False),
    ],
)
def test_which_devices_run_a_cubin(arch: str, capability: tuple[int, int], runs: bool) -> None:
    assert runs_on(arch, *capability) is runs


def test_the_runner_needs_python_and_numpy_only() -> None:
    script = (
        "import sys, tilewright.cli, tilewright.cli.verify, tilewright.callers.runner, tilewright.callers.bundle\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    environment = {**os.environ, "PYTHONPATH": TOOLS}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
