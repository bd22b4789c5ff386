"""A driver without a GPU: host memory, the real checks of a driver on PTX, launches run by a host program or recorded.

What a driver refuses is a parameter: the newest PTX version it takes, and targets it cannot run.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tilewright.runtime.driver import UNSUPPORTED_PTX, LoadedKernel

Triple = tuple[int, int, int]


@dataclass
class EmulatedDriver:
    """Behaves like `CudaDriver`; `execute(entry, addresses)` computes a launch, which is recorded in any case."""

    name: str = "emulated"
    architecture: str = "sm_90"
    max_threads_per_block: int = 1024
    version: int = 13000
    newest_ptx: tuple[int, int] = (99, 0)
    refused_targets: frozenset[str] = frozenset()
    execute: Callable[[str, tuple[int, ...]], None] | None = None
    loads: list[bytes] = field(default_factory=list)
    launches: list[tuple[str, Triple, Triple, tuple[int, ...]]] = field(default_factory=list)
    loaded: int = 0
    memory: dict[int, Any] = field(default_factory=dict)

    def load(self, ptx: bytes, entry: str) -> LoadedKernel | str:
        assert ptx.endswith(b"\0")
        self.loads.append(ptx)
        version = re.search(rb"\.version\s+(\d+)\.(\d+)", ptx)
        target = re.search(rb"\.target\s+(\w+)", ptx)
        if version is None or target is None:
            return "CUDA_ERROR_INVALID_PTX"
        if (int(version[1]), int(version[2])) > self.newest_ptx:
            return UNSUPPORTED_PTX
        if target[1].decode() in self.refused_targets:
            return "CUDA_ERROR_NO_BINARY_FOR_GPU"
        if b".entry " + entry.encode() + b"(" not in ptx:
            return "CUDA_ERROR_NOT_FOUND"
        self.loaded += 1
        return LoadedKernel(ptx, entry)

    def unload(self, kernel: LoadedKernel) -> None:
        self.loaded -= 1

    def allocate(self, size: int) -> int:
        block = ctypes.create_string_buffer(size + 256)
        address = (ctypes.addressof(block) + 255) // 256 * 256
        self.memory[address] = block
        return address

    def free(self, address: int) -> None:
        del self.memory[address]

    def upload(self, address: int, host: int, size: int, stream: int) -> None:
        ctypes.memmove(address, host, size)

    def download(self, host: int, address: int, size: int, stream: int) -> None:
        ctypes.memmove(host, address, size)

    def launch(
        self, kernel: LoadedKernel, grid: Triple, block: Triple, addresses: tuple[int, ...], stream: int
    ) -> None:
        self.launches.append((kernel.function, grid, block, addresses))
        if self.execute:
            self.execute(kernel.function, addresses)

    def new_stream(self) -> int:
        return 1

    def end_stream(self, stream: int) -> None:
        pass

    def synchronize(self, stream: int) -> None:
        pass
