"""A GPU through cuda-bindings: load a cubin, launch a kernel on arrays, take the arrays back, measure.

A tile kernel's block size is the compiler's: it is launched with one thread a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.callers.error import CallerError
from tilewright.callers.launch.cubin import find_kernel, kernels_of
from tilewright.problem import Problem

Grid = tuple[int, int, int]
_NO_DRIVER = "a driver and a GPU are needed to launch; building needs neither"


@dataclass(frozen=True, slots=True)
class Device:
    """An open device: the driver bindings, and its architecture such as "sm_90"."""

    driver: Any
    architecture: str
    name: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that is ready to launch. `parameter_sizes` in bytes; empty when the driver cannot tell."""

    name: str
    function: Any
    parameter_sizes: tuple[int, ...]


@contextmanager
def open_device(number: int = 0) -> Iterator[Device]:
    """The device with its primary context current. CallerError without cuda-bindings, driver or GPU."""
    try:
        driver: Any = import_module("cuda.bindings.driver")
    except ImportError as missing:
        what = f"cuda-bindings cannot be imported: {missing}"
        raise CallerError([Problem(what, hint="pip install 'cuda-bindings>=13,<14'")]) from missing
    try:
        _call(driver, driver.cuInit(0), "start the driver", _NO_DRIVER)
    except RuntimeError as failure:  # the bindings found no libcuda
        raise CallerError([Problem(f"cannot start the driver: {failure}", hint=_NO_DRIVER)]) from failure
    device = _call(driver, driver.cuDeviceGet(number), f"open GPU {number}", _NO_DRIVER)
    context = _call(driver, driver.cuDevicePrimaryCtxRetain(device), "make a context")
    try:
        _call(driver, driver.cuCtxSetCurrent(context), "use the context")
        attribute = driver.CUdevice_attribute
        major, minor = (
            _call(driver, driver.cuDeviceGetAttribute(which, device), "ask the GPU")
            for which in (
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        name = _call(driver, driver.cuDeviceGetName(96, device), "ask the GPU").split(b"\0")[0].decode()
        yield Device(driver, f"sm_{major}{minor}", name)
    finally:
        driver.cuDevicePrimaryCtxRelease(device)


@contextmanager
def load_kernel(device: Device, cubin: bytes, name: str, file: str) -> Iterator[Kernel]:
    """A kernel of a cubin, by its full name or its name in the source."""
    driver = device.driver
    full = find_kernel(name, kernels_of(cubin, file), file)
    module = _call(driver, driver.cuModuleLoadData(cubin), f"load {file} on {device.name} ({device.architecture})")
    try:
        function = _call(driver, driver.cuModuleGetFunction(module, full.encode()), f"find `{full}`")
        _call(driver, driver.cuFuncLoad(function), f"load `{full}`")
        yield Kernel(full, function, _parameter_sizes(driver, function))
    finally:
        driver.cuModuleUnload(module)


def launch(
    device: Device, kernel: Kernel, values: Sequence[NDArray[Any]], grid: Grid, *, block: int = 1
) -> list[NDArray[Any]]:
    """Run once: every value as it is afterwards, arrays copied back, scalars (rank 0) as they were."""
    with _arguments(device, kernel, values) as (pointers, memory):
        _start(device, kernel, pointers, grid, block)
        return [_fetch(device, memory[at], value) if at in memory else value for at, value in enumerate(values)]


def measure(
    device: Device, kernel: Kernel, values: Sequence[NDArray[Any]], grid: Grid, *, runs: int, block: int = 1
) -> list[float]:
    """The time of each of `runs` launches in milliseconds, by events, after three that do not count."""
    driver = device.driver
    with _arguments(device, kernel, values) as (pointers, _):
        for _warm_up in range(3):
            _start(device, kernel, pointers, grid, block)
        events = [_call(driver, driver.cuEventCreate(0), "make an event") for _ in range(2)]
        times = []
        for _run in range(runs):
            _call(driver, driver.cuEventRecord(events[0], 0), "record an event")
            _start(device, kernel, pointers, grid, block, wait=False)
            _call(driver, driver.cuEventRecord(events[1], 0), "record an event")
            _call(driver, driver.cuEventSynchronize(events[1]), f"run `{kernel.name}`")
            times.append(float(_call(driver, driver.cuEventElapsedTime(*events), "read the time")))
        for event in events:
            driver.cuEventDestroy(event)
        return times


@contextmanager
def _arguments(
    device: Device, kernel: Kernel, values: Sequence[NDArray[Any]]
) -> Iterator[tuple[NDArray[np.uint64], dict[int, Any]]]:
    """Device memory for the arrays, and the table of pointers to the arguments that a launch takes."""
    _check(kernel, values)
    driver = device.driver
    memory: dict[int, Any] = {}
    try:
        cells: list[NDArray[Any]] = []
        for at, value in enumerate(values):
            if value.ndim == 0:
                cells.append(np.atleast_1d(value).copy())
                continue
            memory[at] = _call(driver, driver.cuMemAlloc(value.nbytes), f"get {value.nbytes} bytes on the GPU")
            _call(driver, driver.cuMemcpyHtoD(memory[at], value.ctypes.data, value.nbytes), "copy to the GPU")
            cells.append(np.array([int(memory[at])], dtype=np.uint64))
        yield np.array([cell.ctypes.data for cell in cells], dtype=np.uint64), memory
        cells.clear()
    finally:
        for pointer in memory.values():
            driver.cuMemFree(pointer)


def _check(kernel: Kernel, values: Sequence[NDArray[Any]]) -> None:
    given = tuple(8 if value.ndim else value.dtype.itemsize for value in values)
    if kernel.parameter_sizes and given != kernel.parameter_sizes:
        what = (
            f"`{kernel.name}` takes {len(kernel.parameter_sizes)} argument(s) of {_sizes(kernel.parameter_sizes)} "
            f"bytes; given are {len(given)} of {_sizes(given)}"
        )
        raise CallerError([Problem(what, hint="an array is a pointer of 8 bytes; i32=5 is a scalar of 4")])


def _sizes(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes)) or "none"


def _parameter_sizes(driver: Any, function: Any) -> tuple[int, ...]:
    sizes: list[int] = []
    while True:
        error, _offset, size = driver.cuFuncGetParamInfo(function, len(sizes))
        if error != driver.CUresult.CUDA_SUCCESS:
            return tuple(sizes)
        sizes.append(int(size))


def _start(
    device: Device, kernel: Kernel, pointers: NDArray[np.uint64], grid: Grid, block: int, *, wait: bool = True
) -> None:
    driver = device.driver
    table = pointers.ctypes.data if len(pointers) else 0
    launched = driver.cuLaunchKernel(kernel.function, *grid, block, 1, 1, 0, 0, table, 0)
    _call(driver, launched, f"launch `{kernel.name}` with grid {grid} and {block} thread(s) a block")
    if wait:
        _call(driver, driver.cuCtxSynchronize(), f"run `{kernel.name}`")


def _fetch(device: Device, pointer: Any, like: NDArray[Any]) -> NDArray[Any]:
    found = np.empty_like(like)
    copied = device.driver.cuMemcpyDtoH(found.ctypes.data, pointer, found.nbytes)
    _call(device.driver, copied, "copy from the GPU")
    return found


def _call(driver: Any, answer: tuple[Any, ...], deed: str, hint: str = "") -> Any:
    """The value of a driver call; CallerError with the driver's name for what went wrong."""
    error, *value = answer
    if error != driver.CUresult.CUDA_SUCCESS:
        raise CallerError([Problem(f"cannot {deed}: {getattr(error, 'name', error)}", hint=hint)])
    return value[0] if len(value) == 1 else tuple(value)
