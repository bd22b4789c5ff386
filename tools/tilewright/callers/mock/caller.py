"""The source of the mock caller, made from the descriptions alone. Spec: Verifying the ABI on CUDA 13.4.

One kernel an export. A thread is one participant of one invocation, and hands the implementation its own fragment:
the table of the layouts as plain index arithmetic.  Spec: What happens at the boundary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.callers.inputs import tile_size
from tilewright.callers.templates import rendered
from tilewright.exports.abi import C_NAMES, NativeParameter, native_parameters, prototype
from tilewright.exports.elements import ElementType
from tilewright.exports.model import WARP_SIZE, Access, ExportSet, Parameter, Sync, TileExport
from tilewright.exports.shape_rules import fitting_tile
from tilewright.exports.sizes import linked

LARGEST_BLOCK = 1024
KERNEL_PREFIX = "tilewright_mock_"
USUAL_TILE = 128
CALLER_SOURCE = "mock/caller.cu"
CALLER_IR = "mock/caller.ll"


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is started: one block up to 1024 threads, then as many blocks of 1024 as it takes."""

    kernel: str
    blocks: int
    threads: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the call: the native parameter, and the kernel's pointer to the whole tile it comes from."""

    native: NativeParameter
    parameter: Parameter

    @property
    def name(self) -> str:
        """As in the description."""
        return self.parameter.name

    @property
    def tile(self) -> str:
        """The kernel's own name for it, which no built-in variable has."""
        return f"{self.name}_tile"

    @property
    def pointer(self) -> str:
        """The kernel's own parameter: `const float *x_tile`."""
        const = "const " if self.parameter.access is Access.IN else ""
        element = C_NAMES[self.parameter.element]
        if self.native.by_value and self.parameter.element is ElementType.F16:
            element = self.native.c
        return f"{const}{element} *{self.tile}"


@dataclass(frozen=True, slots=True)
class Call:
    """What the templates know of an export."""

    export: TileExport
    launch: Launch
    arguments: tuple[Argument, ...]

    @property
    def prototype(self) -> str:
        """The implementation as the ABI table predicts it."""
        return prototype(self.export)

    @property
    def warp(self) -> bool:
        """Whether 32 lanes make up one invocation."""
        return self.export.sync is Sync.WARP

    @property
    def footprint(self) -> int:
        """Elements of one fragment; in a warp, from one lane to the next."""
        return self.export.footprint

    @property
    def stride(self) -> int:
        """Elements from one invocation to the next."""
        return self.export.footprint * self.export.participants


def checked_exports(exports: ExportSet) -> ExportSet:
    """Every export with a tile size: a parametric one in each size that is listed, else of 128 elements through its
    body, or of the next size that its footprint fills.
    """
    return ExportSet(
        exports.library,
        tuple(
            export if export.tile_shape is not None else replace(export, tile_shape=fitting_tile(export, USUAL_TILE))
            for export in linked(exports).exports
        ),
    )


def launch_of(export: TileExport) -> Launch:
    """A sized export's kernel. 4096 elements, footprint 1: 4 blocks of 1024 threads."""
    threads = tile_size(export) // export.footprint
    block = min(threads, LARGEST_BLOCK)
    return Launch(KERNEL_PREFIX + export.name, threads // block, block)


def call_of(export: TileExport) -> Call:
    """The call of a sized export."""
    natives = native_parameters(export)
    arguments = tuple(Argument(*both) for both in zip(natives, export.parameters, strict=True))
    return Call(export, launch_of(export), arguments)


def needs_ir(export: TileExport) -> bool:
    """Whether C++ cannot express the export's ABI: it takes a half by value."""
    return any(parameter.by_value and parameter.element is ElementType.F16 for parameter in export.parameters)


def split(exports: ExportSet) -> tuple[ExportSet, ExportSet]:
    """The exports that are called from C++, and those that are called from NVVM IR."""
    cuda = tuple(export for export in exports.exports if not needs_ir(export))
    nvvm = tuple(export for export in exports.exports if needs_ir(export))
    return ExportSet(exports.library, cuda), ExportSet(exports.library, nvvm)


def caller_files(exports: ExportSet) -> dict[str, str]:
    """The caller of sized exports as files by name: `mock/caller.cu`, and `mock/caller.ll` for what C++ cannot express.

    Either is left out when no export needs it.
    """
    cuda, nvvm = split(exports)
    files = {CALLER_SOURCE: caller_source(cuda)} if cuda.exports else {}
    return files | ({CALLER_IR: caller_ir(nvvm)} if nvvm.exports else {})


def caller_source(exports: ExportSet) -> str:
    """`mock/caller.cu`: prototypes and kernels of sized exports, good for NVRTC, nvcc and a host compiler.

    A half by value is declared by its bits, which is its ABI on the CPU and not on the GPU: see `split`.
    """
    calls = [call_of(export) for export in exports.exports]
    halves = any(
        C_NAMES[ElementType.F16] in text
        for call in calls
        for text in (call.prototype, *(each.pointer for each in call.arguments))
    )
    return rendered("mock/caller.cu.j2", library=exports.library, calls=calls, halves=halves, warp_size=WARP_SIZE)


def caller_ir(exports: ExportSet) -> str:
    """The same kernels as NVVM IR with typed pointers, which every architecture reads; no kernel is dropped."""
    from tilewright.device.probe import DATA_LAYOUT

    calls = [call_of(export) for export in exports.exports]
    return rendered("mock/caller.ll.j2", library=exports.library, calls=calls, layout=DATA_LAYOUT, warp_size=WARP_SIZE)
