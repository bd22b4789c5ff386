"""The part of PyObjC that the runtime uses, where there is no Mac. Evidence made with it: "MSL, CPU-emulated".

As strict as the frameworks where a mistake would end the process or go unnoticed there: names and order of selectors,
results with an error beside them, states of command buffers and encoders, lengths. MSL is compiled and run by
`standin_msl`, when a command buffer is waited for: what does not wait reads old data. As with Metal, the default is
fast math and contraction.
"""

from __future__ import annotations

import mmap
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

from runtime.standin_machine import Mac, MTLSize, NSError, ObjectiveCError, Version, strictly
from runtime.standin_msl import Function, run
from tilewright.lowering.errors import LoweringError

NO_CONTRACTION = "#pragma METAL fp contract(off)"
OPTIONS_CHECKED = ("setMathMode:", "setMathFloatingPointFunctions:", "setFastMathEnabled:", "setLanguageVersion:")


class Options:
    """MTLCompileOptions."""

    def __init__(self, mac: Mac) -> None:
        self._mac = mac
        self.version = 0
        self.math_mode = 2
        self.functions = 0
        self.fast_math = True

    @property
    def is_fast(self) -> bool:
        return self.math_mode == 2 if self._mac.os >= 15 else self.fast_math

    def respondsToSelector_(self, selector: str) -> bool:
        assert selector in OPTIONS_CHECKED
        return self._mac.os >= 15 or not selector.startswith("setMath")

    def setLanguageVersion_(self, version: int) -> None:
        known = {0x30000: 13, 0x30001: 14, 0x30002: 15, 0x40000: 26}
        strictly(known.get(version, 99) <= self._mac.os, f"language version {version:#x}")
        self.version = version

    def setMathMode_(self, mode: int) -> None:
        self._needs_15("setMathMode:")
        strictly(mode in (0, 1, 2), f"math mode {mode}")
        self.math_mode = mode

    def setMathFloatingPointFunctions_(self, functions: int) -> None:
        self._needs_15("setMathFloatingPointFunctions:")
        strictly(functions in (0, 1), f"functions {functions}")
        self.functions = functions

    def setFastMathEnabled_(self, on: bool) -> None:
        self.fast_math = bool(on)

    def _needs_15(self, selector: str) -> None:
        if self._mac.os < 15:
            raise AttributeError(f"'MTLCompileOptions' object has no attribute {selector!r}")


class Contents:
    """`objc.varlist`."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory

    def as_buffer(self, count: int) -> memoryview:
        return memoryview(self._memory)[:count]


class Buffer:
    """MTLBuffer in shared memory, at the start of a page."""

    def __init__(self, mac: Mac, length: int) -> None:
        self.memory = mmap.mmap(-1, length)
        self.size = length
        mac.buffers.add(self)

    def contents(self) -> Contents:
        return Contents(self.memory)

    def length(self) -> int:
        return self.size


class Library:
    def __init__(self, mac: Mac, functions: dict[str, Function]) -> None:
        self._mac = mac
        self._functions = functions

    def newFunctionWithName_(self, name: str) -> Function | None:
        self._mac.called("newFunctionWithName:")
        return self._functions.get(name)

    def functionNames(self) -> tuple[str, ...]:
        return tuple(self._functions)


class Pipeline:
    def __init__(self, mac: Mac, function: Function) -> None:
        self._mac = mac
        self.function = function

    def threadExecutionWidth(self) -> int:
        return self._mac.width

    def maxTotalThreadsPerThreadgroup(self) -> int:
        return self._mac.max_threads

    def staticThreadgroupMemoryLength(self) -> int:
        """Of arrays of floats and ints."""
        found = re.findall(r"^\s*threadgroup \w+ \w+\[(\d+)\];", self.function.source, re.MULTILINE)
        return 4 * sum(map(int, found))


class Encoder:
    """MTLComputeCommandEncoder."""

    def __init__(self, mac: Mac, commands: Commands) -> None:
        self._mac = mac
        self._commands = commands
        self._pipeline: Pipeline | None = None
        self._slots: dict[int, tuple[Buffer, int]] = {}
        mac.open_encoders += 1

    def setComputePipelineState_(self, pipeline: Pipeline) -> None:
        strictly(isinstance(pipeline, Pipeline), "no pipeline state")
        self._pipeline = pipeline

    def setBuffer_offset_atIndex_(self, buffer: Buffer, offset: int, index: int) -> None:
        strictly(isinstance(buffer, Buffer), "no buffer")
        strictly(0 <= offset < buffer.length(), f"offset {offset} of {buffer.length()} bytes")
        strictly(0 <= index < 31, f"buffer index {index}")
        self._slots[index] = buffer, offset

    def dispatchThreadgroups_threadsPerThreadgroup_(self, groups: MTLSize, threads: MTLSize) -> None:
        strictly(self._pipeline is not None, "no pipeline state")
        strictly(isinstance(groups, MTLSize) and isinstance(threads, MTLSize), "no MTLSize")
        strictly(min(*groups, *threads) > 0 and np.prod(threads) <= self._mac.max_threads, f"size {groups} {threads}")
        assert self._pipeline is not None
        self._commands.launches.append((self._pipeline.function, groups, threads, dict(self._slots)))

    def endEncoding(self) -> None:
        strictly(self._commands.state == "encoding", "the encoder was ended before")
        self._commands.state = "ended"
        self._mac.open_encoders -= 1


class Commands:
    """MTLCommandBuffer; it keeps what it uses."""

    def __init__(self, mac: Mac, queue: Queue) -> None:
        self._mac = mac
        self._queue = queue
        self.state = "new"
        self.launches: list[tuple[Function, MTLSize, MTLSize, dict[int, tuple[Buffer, int]]]] = []

    def computeCommandEncoder(self) -> Encoder:
        strictly(self.state == "new", f"an encoder of a command buffer that is {self.state}")
        self.state = "encoding"
        return Encoder(self._mac, self)

    def commit(self) -> None:
        strictly(self.state == "ended", f"committed while {self.state}")
        self.state = "committed"
        self._queue.committed.append(self)

    def waitUntilCompleted(self) -> None:
        """Runs the queue up to this one."""
        strictly(self.state in ("committed", "completed"), "not committed")
        while self.state == "committed":
            self._queue.committed.pop(0).execute()

    def execute(self) -> None:
        self.state = "completed"
        if self._mac.fails_launches:
            return
        for function, groups, threads, slots in self.launches:
            assert sorted(slots) == list(range(len(slots)))
            bound = [slots[place] for place in range(len(slots))]
            views = [(np.frombuffer(buffer.memory, np.uint8)[: buffer.size], offset) for buffer, offset in bound]
            run(function, groups, threads, views, self._mac.folder)

    def status(self) -> int:
        strictly(self.state == "completed", "asked before it was waited for")
        return 5 if self._mac.fails_launches else 4

    def error(self) -> NSError | None:
        return NSError("Caused GPU Timeout Error") if self._mac.fails_launches else None

    def GPUStartTime(self) -> float:
        strictly(self.state == "completed", "asked before it was waited for")
        return 2.0

    def GPUEndTime(self) -> float:
        return 2.0 + 0.25 * len(self.launches)


class Queue:
    """MTLCommandQueue."""

    def __init__(self, mac: Mac) -> None:
        self._mac = mac
        self.committed: list[Commands] = []
        mac.queues.add(self)

    def commandBuffer(self) -> Commands:
        self._mac.called("commandBuffer")
        return Commands(self._mac, self)


class Gpu:
    """MTLDevice."""

    def __init__(self, mac: Mac) -> None:
        self._mac = mac

    def name(self) -> str:
        return self._mac.name

    def supportsFamily_(self, family: int) -> bool:
        return 1001 <= family <= 1000 + self._mac.family

    def maxThreadsPerThreadgroup(self) -> MTLSize:
        return MTLSize(self._mac.max_threads, self._mac.max_threads, self._mac.max_threads)

    def maxThreadgroupMemoryLength(self) -> int:
        return self._mac.threadgroup_memory

    def maxBufferLength(self) -> int:
        return 1 << 30

    def newBufferWithLength_options_(self, length: int, options: int) -> Buffer | None:
        self._mac.called("newBufferWithLength:options:")
        strictly(0 < length <= self.maxBufferLength(), f"length {length}")
        strictly(options == 0, f"storage mode {options}")
        return Buffer(self._mac, length)

    def newCommandQueue(self) -> Queue:
        self._mac.called("newCommandQueue")
        return Queue(self._mac)

    def newLibraryWithSource_options_error_(
        self, source: str, options: Options, error: None
    ) -> tuple[Library | None, NSError | None]:
        self._mac.called("newLibraryWithSource:options:error:")
        strictly(isinstance(source, str) and isinstance(options, Options), "no source, or no options")
        self._mac.compiled.append((source, options))
        try:
            library = self._library(source, options)
        except LoweringError as refused:
            return None, NSError("\n".join(each.detail for each in refused.problems))
        return library, NSError(self._mac.warns) if self._mac.warns else None

    def newLibraryWithURL_error_(self, url: Url, error: None) -> tuple[Library | None, NSError | None]:
        self._mac.called("newLibraryWithURL:error:")
        if not os.path.isfile(url.path):
            return None, NSError(f"The file \u201c{os.path.basename(url.path)}\u201d couldn\u2019t be opened")
        exact = Options(self._mac)
        exact.math_mode, exact.fast_math, exact.version = 0, False, 0x30000
        return self._library(Path(url.path).read_text(), exact), None

    def newComputePipelineStateWithFunction_error_(
        self, function: Function, error: None
    ) -> tuple[Pipeline | None, NSError | None]:
        self._mac.called("newComputePipelineStateWithFunction:error:")
        strictly(isinstance(function, Function), "no function")
        if self._mac.no_pipeline:
            return None, NSError(self._mac.no_pipeline)
        return Pipeline(self._mac, function), None

    def _library(self, source: str, options: Options) -> Library:
        mac = self._mac
        fused = mac.ignores_contraction or NO_CONTRACTION not in source
        fast = mac.ignores_math_mode or options.is_fast
        version = 400 if options.version >= 0x40000 else 300
        return Library(mac, mac.builder.functions(source, version, fast=fast, fused=fused))


@dataclass
class Url:
    path: str


def modules(mac: Mac) -> dict[str, ModuleType]:
    """`Metal`, `Foundation` and `objc`."""

    class MTLCompileOptions:
        @classmethod
        def alloc(cls) -> MTLCompileOptions:
            return cls()

        def init(self) -> Options:
            return Options(mac)

    class NSProcessInfo:
        @classmethod
        def processInfo(cls) -> NSProcessInfo:
            return cls()

        def operatingSystemVersion(self) -> Version:
            return Version(mac.reported_os or mac.os, 0, 0)

    class NSURL:
        @classmethod
        def fileURLWithPath_(cls, path: str) -> Url:
            strictly(os.path.isabs(path), f"a relative path: {path}")
            return Url(path)

    class autorelease_pool:
        def __enter__(self) -> None:
            mac.pools += 1

        def __exit__(self, *_: object) -> None:
            mac.pools -= 1

    def default() -> Gpu | None:
        mac.called("MTLCreateSystemDefaultDevice")
        return Gpu(mac) if mac.gpus else None

    def all_devices() -> tuple[Gpu, ...]:
        return tuple(Gpu(mac) for _ in range(mac.gpus))

    contents: dict[str, dict[str, Any]] = {
        "Metal": {
            "MTLSize": MTLSize,
            "MTLCompileOptions": MTLCompileOptions,
            "MTLCreateSystemDefaultDevice": default,
            "MTLCopyAllDevices": all_devices,
        },
        "Foundation": {"NSProcessInfo": NSProcessInfo, "NSURL": NSURL},
        "objc": {"error": ObjectiveCError, "autorelease_pool": autorelease_pool},
    }
    found = {}
    for name, members in contents.items():
        found[name] = ModuleType(name)
        vars(found[name]).update(members)
    return found


@contextmanager
def installed(mac: Mac) -> Iterator[Mac]:
    """The stand-in in place of PyObjC on macOS."""
    with mock.patch.dict(sys.modules, modules(mac)), mock.patch("platform.system", return_value="Darwin"):
        yield mac
