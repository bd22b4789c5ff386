"""A verified function to a CUDA artifact: checks, geometry, text. Spec: CUDA device artifact and PTX ABI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import cast

from tilewright.lowering.artifact import Argument, DeviceArtifact, Format
from tilewright.lowering.cuda.emission import VECTOR, Emission, Program, element, tile_space
from tilewright.lowering.cuda.function_checks import function_problems
from tilewright.lowering.cuda.grids import Grid, coordinates, fused_elements, patch_of, store_spaces
from tilewright.lowering.cuda.launch import WARP, Launch, launch
from tilewright.lowering.cuda.option_checks import option_problems
from tilewright.lowering.cuda.placement import chain_cuts, mutable_views, placed
from tilewright.lowering.cuda.scalars import lanes
from tilewright.lowering.cuda.table import STEPS
from tilewright.lowering.cuda.tiles import Index, projected
from tilewright.lowering.cuda.views import store_points
from tilewright.lowering.cuda.writer import Writer
from tilewright.lowering.errors import LoweringError
from tilewright.lowering.options import COMMON_LIMITS, DEFAULTS, CompileOptions, DeviceLimits
from tilewright.problem import Problem
from tilewright.tileir.broadcast import broadcasts
from tilewright.tileir.graph import Function, Value
from tilewright.tileir.ops.nests import Parallel
from tilewright.tileir.ops.values import Mma
from tilewright.tileir.ops.views import StoreTile
from tilewright.tileir.usage import Usage, usages
from tilewright.tileir.verifier.verify import ensure
from tilewright.tileir.vocabulary import Kind

MAX_THREADS = 2**31 - 1
"""Threads are numbered in an int."""
ALIGNMENT_MASK = 4 * VECTOR - 1


def lower(
    function: Function, options: CompileOptions = DEFAULTS, limits: DeviceLimits = COMMON_LIMITS
) -> DeviceArtifact:
    """The artifact of a function; the function stays as it is.

    TileIRError for a function that does not verify, LoweringError with every option and operation that is refused.
    """
    refused = option_problems(options, limits)
    if refused:
        raise LoweringError(refused)
    ensure(function)
    used = usages(function)
    refused = function_problems(function)
    if refused:
        raise LoweringError(refused)
    root = next(cast(Parallel, each) for each in function.body.block.operations if each.kind is Kind.PARALLEL)
    grid, geometry, body = emitted(function, root, options, limits)
    checked_launch(function, geometry, options, limits)
    slots = tuple(place for place, usage in enumerate(used) if usage is not Usage.NONE)
    entry = entry_symbol(function.name)
    fmad = not has_ordered_mma(function) if options.fmad is None else options.fmad
    return DeviceArtifact(
        format=Format.CUDA_SOURCE,
        entry=entry,
        source=kernel_text(entry, [(f"p{slot}", used[slot]) for slot in slots], geometry, body),
        grid=(geometry.blocks, 1, 1),
        block=(geometry.threads, 1, 1),
        buffer_arguments=slots,
        arguments=tuple(
            Argument(value.name, element(value), prod(tile_space(value).shape) * element(value).size, usage)
            for value, usage in zip(function.parameters, used, strict=True)
        ),
        fast_math=options.fast_math,
        fmad=fmad,
        debug=options.debug,
        max_registers=options.max_registers,
        realization=f"cuda reference, ordered: {grid.words}, {geometry.extent} threads in {geometry.blocks} blocks of "
        f"{geometry.threads}, fmad {'on' if fmad else 'off'}, fast math {'on' if options.fast_math else 'off'}",
        function=function,
    )


def emitted(
    function: Function, root: Parallel, options: CompileOptions, limits: DeviceLimits
) -> tuple[Grid, Launch, Writer]:
    """Geometry and body, with float4 accesses where any is proved possible."""
    mutable = mutable_views(function)
    cuts = chain_cuts(function)
    elements = fused_elements(root, mutable, cuts)
    pointers = pointer_names(function)
    if elements:
        if elements[-1] % VECTOR == 0:
            grid, geometry = geometry_of(root, options, limits, elements, VECTOR)
            vector = program(pointers, mutable, frozenset(), vectors=True)
            body = versioned(function, root, grid, geometry, vector)
            if body is not None and numbered(geometry, limits):
                return grid, geometry, body
        grid, geometry = geometry_of(root, options, limits, elements, 1)
        if numbered(geometry, limits):
            plain = program(pointers, mutable, frozenset(), vectors=False)
            return grid, geometry, whole(function, root, grid, geometry, plain)
    stored = placed(function)
    grid, geometry = geometry_of(root, options, limits, (), 1)
    body = versioned(function, root, grid, geometry, program(pointers, mutable, stored, vectors=True))
    if body is None:
        body = whole(function, root, grid, geometry, program(pointers, mutable, stored, vectors=False))
    return grid, geometry, body


def numbered(geometry: Launch, limits: DeviceLimits) -> bool:
    """Whether every thread of the launch has a number of its own."""
    return geometry.blocks <= limits.max_blocks and geometry.blocks * geometry.threads <= MAX_THREADS


def geometry_of(
    root: Parallel, options: CompileOptions, limits: DeviceLimits, elements: tuple[int, ...], vector: int
) -> tuple[Grid, Launch]:
    grid = Grid(root.space.shape, elements, vector)
    geometry = launch(grid.instances, limits, options.threads_per_group)
    patch = None if elements or geometry.guarded else patch_of(root, geometry.threads)
    return Grid(root.space.shape, elements, vector, patch), geometry


def program(
    pointers: Mapping[Value, str], mutable: frozenset[Value], stored: frozenset[Value], *, vectors: bool
) -> Program:
    return Program(STEPS, pointers, mutable, stored, vectors)


def whole(function: Function, root: Parallel, grid: Grid, geometry: Launch, program: Program) -> Writer:
    """The body of the kernel in one version."""
    writer = Writer(1)
    writer.line(f"const int linear = (int)(blockIdx.x * {geometry.threads}u + threadIdx.x);")
    if geometry.guarded:
        with writer.block(f"if (linear < {geometry.extent})"):
            emit_program(Emission(program, writer), function, root, grid, geometry)
    else:
        emit_program(Emission(program, writer), function, root, grid, geometry)
    return writer


def versioned(function: Function, root: Parallel, grid: Grid, geometry: Launch, program: Program) -> Writer | None:
    """Two versions of the body, chosen by the alignment of the pointers; None when no vector access is possible.

    In the plain version of a fused grid a thread still has its `vector` elements, one access each.
    """
    vector = whole(function, root, grid, geometry, program)
    if not program.vector_pointers:
        return None
    plain = whole(
        function, root, grid, geometry, Program(STEPS, program.pointers, program.mutable, program.placed, False)
    )
    writer = Writer(1)
    addresses = " | ".join(f"(unsigned long long){name}" for name in sorted(program.vector_pointers))
    with writer.block(f"if ((({addresses}) & {ALIGNMENT_MASK}ull) == 0)"):
        writer.lines += [f"  {line}" for line in vector.lines]
    with writer.block("else"):
        writer.lines += [f"  {line}" for line in plain.lines]
    return writer


def emit_program(emission: Emission, function: Function, root: Parallel, grid: Grid, geometry: Launch) -> None:
    """One instance of the root: its coordinates, then what the kernel computes before and in the parallel."""
    cuts = chain_cuts(function) if grid.elements else frozenset()
    places = coordinates(emission.writer, grid, geometry)
    for coordinate, place in zip(root.coordinates, places, strict=False):
        emission.set_scalar(coordinate, place)
    for operation in function.body.block.operations:
        if operation is not root:
            STEPS[operation.kind](emission, operation)
    if not grid.elements:
        emission.run(root.body)
        return
    at: Index = tuple(places[len(grid.root) :])
    vectors = lanes(at[-1], grid.vector) if grid.vector > 1 else [at[-1]]
    points = [(*at[:-1], last) for last in vectors]
    for operation in root.body.operations:
        if operation.kind is Kind.STORE_TILE:
            store_points(emission, cast(StoreTile, operation), points)
            continue
        STEPS[operation.kind](emission, operation)
        for result in cuts.intersection(operation.results):
            space = next(space for space in store_spaces(root) if broadcasts(tile_space(result), space))
            for point in points:
                emission.tile(result).at(projected(point, tile_space(result), space))


def pointer_names(function: Function) -> dict[Value, str]:
    """`p0`, `p1`, ... by position in the signature: no name of the user gets into the text."""
    return {parameter: f"p{place}" for place, parameter in enumerate(function.parameters)}


def kernel_text(entry: str, slots: list[tuple[str, Usage]], geometry: Launch, body: Writer) -> str:
    """The translation unit: one kernel whose parameters are one pointer a slot, nothing else."""
    parameters = ", ".join(
        f"{'float' if Usage.WRITE in usage else 'const float'}* __restrict__ {name}" for name, usage in slots
    )
    head = f'extern "C" __global__ void __launch_bounds__({geometry.threads}) {entry}({parameters}) {{'
    return "\n".join([head, *body.lines, "}"]) + "\n"


def entry_symbol(name: str) -> str:
    """The kernel's symbol: `tile_` and its name, characters that C does not take as their hexadecimal code."""
    return "tile_" + re.sub(r"[^A-Za-z0-9_]", lambda found: f"_x{ord(found[0]):x}_", name)


def has_ordered_mma(function: Function) -> bool:
    return any(each.kind is Kind.MMA and not cast(Mma, each).allow_reassociation for each in function.walk())


def checked_launch(function: Function, geometry: Launch, options: CompileOptions, limits: DeviceLimits) -> None:
    """B137 and B140, asked of what was generated."""
    problems = []
    name = f"`{function.name}`"
    threads, exact = geometry.threads, options.threads_per_group
    if threads == 0 or threads % WARP or threads > limits.max_threads_per_block:
        what = f"{name}: a block of {threads} is not warp aligned within {limits.max_threads_per_block} threads"
        problems.append(Problem(what, rule="block-not-warp-aligned"))
    if exact and threads != exact:
        what = f"{name}: the exact thread constraint threads_per_group={exact} is not met by a block of {threads}"
        problems.append(Problem(what, rule="block-not-exact"))
    if not numbered(geometry, limits):
        what = f"{name}: {geometry.blocks} blocks of {threads} threads: grid times block overflows int32"
        problems.append(Problem(what, hint="use larger tiles", rule="grid-overflow"))
    if problems:
        raise LoweringError(problems)
