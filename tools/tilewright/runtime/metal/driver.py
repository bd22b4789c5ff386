"""One Metal GPU through PyObjC: shared memory, command queues, launches.

The address of a buffer is where the CPU sees it. So copies are plain copies that wait for the queue, and every check of
a call works on true addresses; a launch finds the buffer of each address again.
"""

from __future__ import annotations

import ctypes
import itertools
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tilewright.lowering.metal.device import SIMD_WIDTH, MetalDevice
from tilewright.runtime.driver import LoadedKernel, Triple
from tilewright.runtime.errors import refusal
from tilewright.runtime.metal.system import error_text, open_system

SHARED = 0
"""MTLResourceStorageModeShared."""
FAILED = 5
"""MTLCommandBufferStatusError."""
APPLE_FAMILIES = range(1, 100)
"""MTLGPUFamilyApple1 is 1001."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """A buffer, its length in bytes, and the view of its contents, which keeps them where they are."""

    buffer: Any
    size: int
    contents: Any


@dataclass(slots=True)
class Queue:
    """A command queue, what was committed and not waited for, and the seconds that the GPU took for the rest."""

    handle: Any
    running: list[Any] = field(default_factory=list)
    gpu_seconds: float = 0.0


class MetalDriver:
    """GPU `number` of this Mac, 0 = the default one. ShaderError without macOS, PyObjC or GPU."""

    def __init__(self, number: int = 0) -> None:
        self.system = open_system()
        with self.system.calls("open the GPU"):
            self.gpu = self._opened(number)
            self.name = str(self.gpu.name())
        self._memory: dict[int, Allocation] = {}
        self._queues: dict[int, Queue] = {}
        self._handles = itertools.count(1)

    def _opened(self, number: int) -> Any:
        metal = self.system.metal
        if number == 0:
            found = [each for each in (metal.MTLCreateSystemDefaultDevice(),) if each is not None]
        else:
            found = list(metal.MTLCopyAllDevices() or ())
        if not 0 <= number < len(found):
            raise refusal(f"there is no Metal GPU {number}", "no-gpu", f"{len(found)} found")
        return found[number]

    @cached_property
    def limits(self) -> MetalDevice:
        """What the GPU says; the width of a SIMD-group is said by each pipeline."""
        with self.system.calls("ask the GPU"):
            gpu = self.gpu
            version = self.system.foundation.NSProcessInfo.processInfo().operatingSystemVersion()
            return MetalDevice(
                family=max((each for each in APPLE_FAMILIES if gpu.supportsFamily_(1000 + each)), default=0),
                os=macos_of(int(version.majorVersion)),
                thread_width=SIMD_WIDTH,
                max_threads=int(gpu.maxThreadsPerThreadgroup().width),
                threadgroup_memory=int(gpu.maxThreadgroupMemoryLength()),
            )

    def unload(self, kernel: LoadedKernel) -> None:
        """Nothing: a pipeline ends with the last reference to it."""

    def allocate(self, size: int) -> int:
        with self.system.calls(f"get {size} bytes on the GPU"):
            buffer = None
            if size <= self.gpu.maxBufferLength():
                buffer = self.gpu.newBufferWithLength_options_(size, SHARED)
            if buffer is None:
                raise refusal(f"cannot get {size} bytes on the GPU", "driver-error")
            contents = buffer.contents().as_buffer(size)
        address = int(np.frombuffer(contents, np.uint8).ctypes.data)
        self._memory[address] = Allocation(buffer, size, contents)
        return address

    def free(self, address: int) -> None:
        """Drops the buffer; commands that use it keep it until they are done."""
        del self._memory[address]

    def memory_at(self, address: int, size: int = 1) -> tuple[Allocation, int]:
        """The memory that holds these bytes, and the offset of the first one in it."""
        exact = self._memory.get(address)
        if exact is not None and size <= exact.size:
            return exact, 0
        for start, memory in tuple(self._memory.items()):
            if start <= address and address + size <= start + memory.size:
                return memory, address - start
        what = f"{size} bytes at address {address:#x} are in no buffer of {self.name}"
        raise refusal(what, "foreign-memory", "copy the data: device.buffer_of(array)")

    def upload(self, address: int, host: int, size: int, stream: int) -> None:
        self.memory_at(address, size)
        self.synchronize(stream)
        ctypes.memmove(address, host, size)

    def download(self, host: int, address: int, size: int, stream: int) -> None:
        self.memory_at(address, size)
        self.synchronize(stream)
        ctypes.memmove(host, address, size)

    def launch(
        self, kernel: LoadedKernel, grid: Triple, block: Triple, addresses: tuple[int, ...], stream: int
    ) -> None:
        """`grid` threadgroups of `block` threads; slot `n` gets the buffer of address `n`, at its offset (C.4)."""
        queue = self.queue(stream)
        bound = [self.memory_at(address) for address in addresses]
        size = self.system.metal.MTLSize
        with self.system.calls(f"launch grid {grid} block {block}"):
            commands = queue.handle.commandBuffer()
            encoder = commands.computeCommandEncoder()
            try:  # Metal ends the process when an encoder is dropped that was not ended
                encoder.setComputePipelineState_(kernel.function)
                for slot, (memory, offset) in enumerate(bound):
                    encoder.setBuffer_offset_atIndex_(memory.buffer, offset, slot)
                encoder.dispatchThreadgroups_threadsPerThreadgroup_(size(*grid), size(*block))
            finally:
                encoder.endEncoding()
            commands.commit()
        queue.running.append(commands)

    def new_stream(self) -> int:
        with self.system.calls("make a queue"):
            queue = self.gpu.newCommandQueue()
        if queue is None:
            raise refusal("cannot make a queue", "driver-error")
        handle = next(self._handles)
        self._queues[handle] = Queue(queue)
        return handle

    def end_stream(self, stream: int) -> None:
        self._queues.pop(stream, None)

    def queue(self, stream: int) -> Queue:
        if stream not in self._queues:
            raise refusal(f"the stream {stream} is closed, or of another device", "stream-closed")
        return self._queues[stream]

    def synchronize(self, stream: int) -> None:
        """Waits for everything committed; ShaderError with the first error of the GPU."""
        queue = self.queue(stream)
        running, queue.running = queue.running, []
        faults = []
        with self.system.calls("wait for the GPU"):
            for commands in running:
                commands.waitUntilCompleted()
                if commands.status() == FAILED:
                    faults.append(error_text(commands.error()))
                queue.gpu_seconds += float(commands.GPUEndTime() - commands.GPUStartTime())
        if faults:
            raise refusal("the GPU failed in a launch", "launch-failed", detail=faults[0])


def macos_of(major: int) -> int:
    """The major version of macOS: 26 also where it says 16, as it does to programs built against an older SDK."""
    return major + 10 if 16 <= major < 26 else major
