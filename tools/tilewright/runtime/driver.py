"""The CUDA driver through cuda-bindings: the only file of this room that talks to it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from tilewright.runtime.errors import refusal

UNSUPPORTED_PTX = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
_HINT = "a driver and a GPU are needed to run a shader; building needs neither"
Triple = tuple[int, int, int]


class Driver(Protocol):
    """What buffers, streams and shaders ask of a driver. Addresses are integers, errors ShaderErrors."""

    name: str

    def unload(self, kernel: LoadedKernel) -> None: ...

    def allocate(self, size: int) -> int: ...

    def free(self, address: int) -> None: ...

    def upload(self, address: int, host: int, size: int, stream: int) -> None: ...

    def download(self, host: int, address: int, size: int, stream: int) -> None: ...

    def launch(
        self, kernel: LoadedKernel, grid: Triple, block: Triple, addresses: tuple[int, ...], stream: int
    ) -> None: ...

    def new_stream(self) -> int: ...

    def end_stream(self, stream: int) -> None: ...

    def synchronize(self, stream: int) -> None: ...


class PtxDriver(Driver, Protocol):
    """A driver that takes PTX."""

    architecture: str
    max_threads_per_block: int
    version: int

    def load(self, ptx: bytes, entry: str) -> LoadedKernel | str:
        """The kernel of a NUL-terminated image, or the driver's name for why there is none."""


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """What a driver made of a kernel, and what it launches: a module and a function, a library and a pipeline."""

    module: Any
    function: Any


class CudaDriver:
    """One GPU with its primary context; any thread may use it."""

    def __init__(self, number: int = 0) -> None:
        try:
            self._cuda: Any = import_module("cuda.bindings.driver")
        except ImportError as missing:
            hint = "pip install 'cuda-bindings>=13,<14'"
            raise refusal(f"cuda-bindings cannot be imported: {missing}", "no-driver", hint) from missing
        try:
            self._call(self._cuda.cuInit(0), "start the driver", _HINT)
        except RuntimeError as failure:  # the bindings found no libcuda
            raise refusal(f"cannot start the driver: {failure}", "no-driver", _HINT) from failure
        device = self._call(self._cuda.cuDeviceGet(number), f"open GPU {number}", _HINT)
        self._device = device
        self._context = self._call(self._cuda.cuDevicePrimaryCtxRetain(device), "make a context")
        self._enter()
        self.name = self._call(self._cuda.cuDeviceGetName(96, device), "ask the GPU").split(b"\0")[0].decode()
        major, minor, threads = (
            int(self._attribute(name))
            for name in ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR", "MAX_THREADS_PER_BLOCK")
        )
        self.architecture = f"sm_{major}{minor}"
        self.max_threads_per_block = threads
        self.version = int(self._call(self._cuda.cuDriverGetVersion(), "ask the driver"))

    def _enter(self) -> None:
        """Makes the context current in this thread; another device or library may have changed that."""
        self._call(self._cuda.cuCtxSetCurrent(self._context), "use the context")

    def _attribute(self, name: str) -> Any:
        which = getattr(self._cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return self._call(self._cuda.cuDeviceGetAttribute(which, self._device), "ask the GPU")

    def _call(self, answer: tuple[Any, ...], deed: str, hint: str = "") -> Any:
        error, *value = answer
        if error != self._cuda.CUresult.CUDA_SUCCESS:
            raise refusal(f"cannot {deed}: {getattr(error, 'name', error)}", "driver-error", hint)
        return value[0] if value else None

    def load(self, ptx: bytes, entry: str) -> LoadedKernel | str:
        self._enter()
        error, module = self._cuda.cuModuleLoadData(ptx)
        if error != self._cuda.CUresult.CUDA_SUCCESS:
            return str(getattr(error, "name", error))
        error, function = self._cuda.cuModuleGetFunction(module, entry.encode())
        if error != self._cuda.CUresult.CUDA_SUCCESS:
            self._cuda.cuModuleUnload(module)
            return str(getattr(error, "name", error))
        return LoadedKernel(module, function)

    def unload(self, kernel: LoadedKernel) -> None:
        self._cuda.cuModuleUnload(kernel.module)

    def allocate(self, size: int) -> int:
        self._enter()
        return int(self._call(self._cuda.cuMemAlloc(size), f"get {size} bytes on the GPU"))

    def free(self, address: int) -> None:
        self._cuda.cuMemFree(address)

    def upload(self, address: int, host: int, size: int, stream: int) -> None:
        self._enter()
        self._call(self._cuda.cuMemcpyHtoDAsync(address, host, size, stream), "copy to the GPU")

    def download(self, host: int, address: int, size: int, stream: int) -> None:
        self._enter()
        self._call(self._cuda.cuMemcpyDtoHAsync(host, address, size, stream), "copy from the GPU")

    def launch(
        self, kernel: LoadedKernel, grid: Triple, block: Triple, addresses: tuple[int, ...], stream: int
    ) -> None:
        """A direct launch: one pointer a parameter, no shared memory, nothing behind the pointers."""
        self._enter()
        cells = np.array(addresses, dtype=np.uint64)
        table = cells.ctypes.data + 8 * np.arange(len(addresses), dtype=np.uint64)
        where = int(table.ctypes.data) if len(addresses) else 0
        answer = self._cuda.cuLaunchKernel(kernel.function, *grid, *block, 0, stream, where, 0)
        self._call(answer, f"launch grid {grid} block {block}")

    def new_stream(self) -> int:
        self._enter()
        return int(self._call(self._cuda.cuStreamCreate(0), "make a stream"))

    def end_stream(self, stream: int) -> None:
        self._cuda.cuStreamDestroy(stream)

    def synchronize(self, stream: int) -> None:
        self._enter()
        self._call(self._cuda.cuStreamSynchronize(stream), "wait for the GPU")
