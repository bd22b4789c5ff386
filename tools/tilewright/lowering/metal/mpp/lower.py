"""A function to a native matrix product: frame, atoms, launch, text. MSL 4.0. Spec: First native realization."""

from __future__ import annotations

from math import prod

from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.artifact import Form, MetalArtifact
from tilewright.lowering.metal.device import SIMD_WIDTH, MetalDevice, device_problems
from tilewright.lowering.metal.function_checks import fault, function_problems, roots
from tilewright.lowering.metal.mpp.atoms import Selection, select
from tilewright.lowering.metal.mpp.emission import emit_kernel
from tilewright.lowering.metal.mpp.function_checks import CHECKS, MAX_VOLUME
from tilewright.lowering.metal.signature import artifact_of
from tilewright.lowering.options import CompileOptions
from tilewright.problem import Problem
from tilewright.tileir.graph import Function

DEFAULT_THREADS = 128


def lower_mpp(function: Function, options: CompileOptions, device: MetalDevice) -> MetalArtifact:
    """The native form of a verified function; LoweringError says everything that has none."""
    refused = function_problems(function, CHECKS)
    if refused:
        raise LoweringError(refused)
    (root,) = roots(function)
    selection = select(function, root)
    if not isinstance(selection, Selection):
        raise LoweringError(selection)
    groups = prod(root.space.shape)
    threads = selection.subgroups * SIMD_WIDTH or options.threads_per_group or min(DEFAULT_THREADS, device.max_threads)
    problems = launch_problems(function, selection, options, device, threads, groups)
    if problems:
        raise LoweringError(problems)
    own = sum(1 for atom in selection.atoms if atom.by_subgroup)
    return artifact_of(
        function,
        options,
        emit_kernel(function, selection, threads),
        (groups, 1, 1),
        (threads, 1, 1),
        f"metal native MPP: {len(selection.atoms)} atoms ({own} by one subgroup), {groups} threadgroups of {threads}, "
        "dynamic K, relaxed precision off",
        form=Form.MPP,
    )


def launch_problems(
    function: Function, selection: Selection, options: CompileOptions, device: MetalDevice, threads: int, groups: int
) -> list[Problem]:
    """B27, B154, B169, B170, B172, B173."""
    problems = list(device_problems(function.name, device, metal4=True, subgroups=True, threads=threads, memory=0))
    exact = options.threads_per_group
    if selection.subgroups and exact and exact != threads:
        what = (
            f"threads_per_group={exact} conflicts with explicit subgroup children, {threads} threads: a collective "
            "uses one subgroup or the complete threadgroup"
        )
        problems.append(fault(function, what, "mpp-threads", f"threads_per_group={threads}"))
    if selection.subgroups * SIMD_WIDTH > device.max_threads:
        what = f"a cohort of {selection.subgroups} subgroups exceeds the {device.max_threads} threads of a threadgroup"
        problems.append(fault(function, what, "mpp-cohort", "use fewer subgroups"))
    if groups * threads > MAX_VOLUME:
        what = f"{groups} groups of {threads} threads: grid times threads overflows uint32"
        problems.append(fault(function, what, "grid-overflow", "use larger tiles"))
    return problems
