"""Any verified kernel as one program a thread, everything else ordinary loops. MSL 3.0."""

from __future__ import annotations

from math import prod

from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.arithmetic import apply
from tilewright.lowering.metal.artifact import MetalArtifact
from tilewright.lowering.metal.device import SIMD_WIDTH, MetalDevice, device_problems
from tilewright.lowering.metal.emission import Emission, Program
from tilewright.lowering.metal.function_checks import MAX_THREADS, REFERENCE_CHECKS, fault, function_problems, roots
from tilewright.lowering.metal.placement import stored_tiles
from tilewright.lowering.metal.scalars import Scalar, index, integer
from tilewright.lowering.metal.signature import artifact_of, kernel_text, pointer_names
from tilewright.lowering.metal.table import STEPS
from tilewright.lowering.metal.writer import Writer
from tilewright.lowering.options import CompileOptions
from tilewright.tileir.graph import Function
from tilewright.tileir.ops.nests import Parallel
from tilewright.tileir.types import Element
from tilewright.tileir.vocabulary import Opcode

DEFAULT_THREADS = 256
WHERE = ("uint linear [[thread_position_in_grid]]",)


def lower_reference(
    function: Function, options: CompileOptions, device: MetalDevice, why: str = "as requested"
) -> MetalArtifact:
    """The reference form of a verified function; `why` says in one word group why no other was taken."""
    refused = function_problems(function, REFERENCE_CHECKS)
    if refused:
        raise LoweringError(refused)
    (root,) = roots(function)
    programs = prod(root.space.shape)
    most = min(DEFAULT_THREADS, device.max_threads // SIMD_WIDTH * SIMD_WIDTH)
    threads = options.threads_per_group or min(most, -(-programs // SIMD_WIDTH) * SIMD_WIDTH)
    groups = -(-programs // threads)
    problems = list(device_problems(function.name, device, metal4=False, subgroups=False, threads=threads, memory=0))
    if groups * threads > MAX_THREADS:
        what = f"{groups} threadgroups of {threads} threads: grid times threads overflows int32"
        problems.append(fault(function, what, "grid-overflow", "use larger tiles", root))
    if problems:
        raise LoweringError(problems)
    writer = Writer()
    program = Program(STEPS, pointer_names(function), stored_tiles(function))
    if groups * threads == programs:
        emit_program(Emission(program, writer), function, root, index("int(linear)", programs))
    else:
        with writer.block(f"if (linear < {programs}u)"):
            emit_program(Emission(program, writer), function, root, index("int(linear)", programs))
    return artifact_of(
        function,
        options,
        kernel_text(function, WHERE, writer.lines),
        (groups, 1, 1),
        (threads, 1, 1),
        f"metal reference ({why}), ordered: one program a thread, {programs} programs in {groups} threadgroups of "
        f"{threads}",
    )


def emit_program(emission: Emission, function: Function, root: Parallel, linear: Scalar) -> None:
    """One instance of the root: its coordinates, then what the kernel computes before and in the parallel."""
    bind_coordinates(emission, root, emission.writer.bind(linear))
    for operation in function.body.block.operations:
        if operation is not root:
            emission.program.steps[operation.kind](emission, operation)
    emission.run(root.body)


def bind_coordinates(emission: Emission, root: Parallel, linear: Scalar) -> None:
    """The mixed-radix digits of a flat program number, one a coordinate of the root."""
    for coordinate, place in zip(root.coordinates, unflattened(emission, linear, root.space.shape), strict=True):
        emission.set_scalar(coordinate, place)


def unflattened(emission: Emission, flat: Scalar, shape: tuple[int, ...]) -> tuple[Scalar, ...]:
    """The index in a row-major space whose element `flat` numbers."""
    places: list[Scalar] = []
    for axis, extent in enumerate(shape):
        inner = prod(shape[axis + 1 :])
        place = apply(Opcode.DIV, (flat, integer(inner)), Element.I64) if inner > 1 else flat
        if prod(shape[:axis]) > 1:
            place = apply(Opcode.MOD, (place, integer(extent)), Element.I64)
        places.append(integer(0) if extent == 1 else emission.writer.bind(place))
    return tuple(places)
