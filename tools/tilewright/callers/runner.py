"""Runs a verification bundle on a GPU through the driver: no toolkit, no compiler, only cuda-bindings and NumPy.

Spec: Verifying the ABI on CUDA 13.4.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from tilewright.callers.buffers import GUARD
from tilewright.callers.bundle import Bundle, Check
from tilewright.callers.error import CallerError
from tilewright.callers.report import Report, run_checks
from tilewright.problem import Problem

_ARCH = re.compile(r"sm_(?P<major>\d+)(?P<minor>\d)(?P<suffix>[af]?)")


class NoDevice(Exception):
    """Why nothing can run here; its text goes after `skipping: `."""


def run_bundle(bundle: Bundle) -> Report:
    """Runs every check on the first GPU. `NoDevice` without a driver, a GPU, or one that the cubin is for."""
    driver = _driver()
    device, where = _device(driver, bundle.arch)
    with _Session(driver, device, bundle.cubin) as session:
        results = run_checks(bundle, session.launch)
    return Report(bundle, where, "", results)


def ensure_device(arch: str = "") -> str:
    """The architecture of the first GPU, `sm_90`. `NoDevice` without one, or when `arch` does not run on it."""
    driver = _driver()
    device, _ = _device(driver, arch)
    return _architecture_of(driver, device)


def runs_on(arch: str, major: int, minor: int) -> bool:
    """Whether a cubin for `arch` runs on a device of that compute capability. `sm_90` runs on 9.0, not on 12.0."""
    found = _ARCH.fullmatch(arch)
    if found is None or int(found["major"]) != major:
        return False
    return int(found["minor"]) == minor if found["suffix"] == "a" else int(found["minor"]) <= minor


def _driver() -> ModuleType:
    try:
        from cuda.bindings import driver  # type: ignore[import-untyped]
    except ImportError:
        raise NoDevice("no CUDA device can be used: the Python package cuda-bindings is not installed") from None
    module: ModuleType = driver
    return module


def _device(driver: ModuleType, arch: str) -> tuple[Any, str]:
    """The first device and its description."""
    try:
        (status,) = driver.cuInit(0)
    except Exception as error:
        said = str(error).splitlines()
        raise NoDevice(f"no CUDA device: no driver ({said[0] if said else type(error).__name__})") from None
    if status:
        raise NoDevice(f"no CUDA device: {status.name}")
    status, count = driver.cuDeviceGetCount()
    if status or not count:
        raise NoDevice("no CUDA device: the driver finds none")
    device = _asked(driver.cuDeviceGet(0))
    name = _asked(driver.cuDeviceGetName(128, device)).split(b"\0")[0].decode()
    version = _asked(driver.cuDriverGetVersion())
    here = _architecture_of(driver, device)
    if arch and not runs_on(arch, *_capability(driver, device)):
        raise NoDevice(f"the code is for {arch}, and the GPU is a {name} ({here})")
    return device, f"{name} ({here}), driver for CUDA {version // 1000}.{version % 1000 // 10}"


def _capability(driver: ModuleType, device: Any) -> tuple[int, int]:
    attribute = driver.CUdevice_attribute
    names = ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR")
    major, minor = (
        _asked(driver.cuDeviceGetAttribute(getattr(attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), device)) for name in names
    )
    return int(major), int(minor)


def _architecture_of(driver: ModuleType, device: Any) -> str:
    major, minor = _capability(driver, device)
    return f"sm_{major}{minor}"


def _asked(answer: tuple[Any, ...], doing: str = "the GPU driver failed") -> Any:
    """The value of a driver call; `CallerError` with the status when it failed."""
    status, *values = answer
    if status:
        raise CallerError([Problem(f"{doing}: {status.name}")])
    return values[0] if values else None


@dataclass
class _Session:
    """The cubin in a context of its own, made anew after a fault, which leaves a context unusable."""

    driver: ModuleType
    device: Any
    cubin: bytes
    module: Any = field(default=None, init=False)

    def __enter__(self) -> _Session:
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _open(self) -> None:
        driver = self.driver
        _asked(driver.cuCtxSetCurrent(_asked(driver.cuDevicePrimaryCtxRetain(self.device))))
        try:
            self.module = _asked(driver.cuModuleLoadData(_address(self.cubin)), "the GPU driver refuses the cubin")
        except CallerError:
            driver.cuDevicePrimaryCtxRelease(self.device)
            raise

    def _close(self) -> None:
        self.module = None
        self.driver.cuDevicePrimaryCtxReset(self.device)
        self.driver.cuDevicePrimaryCtxRelease(self.device)

    def launch(self, check: Check, images: Sequence[bytes]) -> Sequence[bytes]:
        """One launch of the export's kernel; a fault of the GPU is this export's alone."""
        if self.module is None:
            self._open()
        try:
            with self._on_device(images) as pointers:
                self._start(check, [pointer + GUARD for pointer in pointers])
                return [self._read(pointer, len(image)) for pointer, image in zip(pointers, images, strict=True)]
        except CallerError:
            self._close()
            raise

    @contextmanager
    def _on_device(self, images: Sequence[bytes]) -> Iterator[list[int]]:
        pointers: list[int] = []
        try:
            for image in images:
                pointers.append(int(_asked(self.driver.cuMemAlloc(len(image)), "the GPU has no memory left")))
                _asked(self.driver.cuMemcpyHtoD(pointers[-1], _address(image), len(image)))
            yield pointers
        finally:
            for pointer in pointers:
                self.driver.cuMemFree(pointer)

    def _start(self, check: Check, tiles: Sequence[int]) -> None:
        driver = self.driver
        missing = f"`{check.name}`: the cubin has no kernel `{check.kernel}`"
        function = _asked(driver.cuModuleGetFunction(self.module, check.kernel.encode()), missing)
        values = [ctypes.c_uint64(tile) for tile in tiles]
        places = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        started = driver.cuLaunchKernel(
            function, check.blocks, 1, 1, check.threads, 1, 1, 0, 0, ctypes.addressof(places), 0
        )
        _asked(started, f"`{check.name}`: the kernel could not be started")
        _asked(driver.cuCtxSynchronize(), f"`{check.name}`: the kernel failed on the GPU")

    def _read(self, pointer: int, size: int) -> bytes:
        data = ctypes.create_string_buffer(size)
        _asked(self.driver.cuMemcpyDtoH(ctypes.addressof(data), pointer, size))
        return data.raw


def _address(data: bytes) -> int:
    """Where bytes lie, as long as the caller holds them."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
