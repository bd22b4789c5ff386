"""Refusal of options before any text is made. The rule names the fault, the docstring its catalogue number."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tilewright.lowering.metal.device import SIMD_WIDTH, MetalDevice
from tilewright.lowering.metal.reductions.plan import unroll_fault
from tilewright.lowering.options import CompileOptions, Lowering
from tilewright.problem import Problem

Check = Callable[[CompileOptions, MetalDevice], Iterator[Problem]]


def tirx_route(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """B20."""
    if options.lowering in (Lowering.TIRX, Lowering.TIRX.value):
        what = "the TIRx lowering was requested, and this Metal backend is built without the optional TIRx bridge"
        yield Problem(what, hint='lowering="native"', rule="tirx-route")


def unknown_lowering(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """The route has to be one that exists."""
    if not isinstance(options.lowering, Lowering) and options.lowering not in [each.value for each in Lowering]:
        what = f"lowering {options.lowering!r} is not one of native, tirx"
        yield Problem(what, hint='lowering="native"', rule="unknown-lowering")


def tirx_options(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """B22."""
    if options.tirx is not None and options.lowering in (Lowering.NATIVE, Lowering.NATIVE.value):
        what = "Invalid lowering choice: TIRx options were passed with the native lowering"
        yield Problem(what, hint="leave `tirx` out", rule="tirx-options")


def cpu_planner_options(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """B23."""
    if options.xir is not None:
        what = "a Metal device cannot use the CPU XIR planner"
        yield Problem(what, hint="leave `xir` out", rule="cpu-planner-options")


def compile_only(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """B24. Build targets make artifacts ahead of time; a device has no archive of them."""
    if options.compile_only:
        what = "compile-only tile archives are not supported by tile.compile"
        yield Problem(what, hint="build the shader as a target, or leave `compile_only` out", rule="compile-only")


def cooperative_request(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """The switches of other targets: the matrix operation of this one is `metal_mpp`."""
    for name in ("cooperative_matrix", "cooperative_vector", "tensor_cores"):
        if getattr(options, name):
            what = f"{name.replace('_', ' ')} was requested: not supported on Metal"
            yield Problem(what, hint="metal_mpp=True asks for the native matrix operation", rule="cooperative-request")


def two_forms(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """B22: one kernel has one form."""
    if options.metal_mpp and options.subgroup_reductions:
        what = "Conflicting forms: metal_mpp and subgroup_reductions were both requested"
        yield Problem(what, hint="metal_mpp for a matrix product, subgroup_reductions for rows", rule="two-forms")


def reduction_unroll(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """The factor is in its range, and belongs to SIMD-group rows."""
    fault = unroll_fault("reduction_unroll", options.reduction_unroll)
    if fault:
        yield fault
    elif options.reduction_unroll and not options.subgroup_reductions:
        what = f"reduction_unroll={options.reduction_unroll} is an option of SIMD-group rows, which were not requested"
        rows = "" if options.metal_mpp else "subgroup_reductions=True, or "
        yield Problem(what, hint=f"{rows}leave `reduction_unroll` out", rule="reduction-unroll")


def program_order(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """B134."""
    if options.program_order:
        what = "a program-order traversal was requested: programs of a parallel have no order here"
        yield Problem(what, hint="leave `program_order` out", rule="program-order")


def planner_threads(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """B26."""
    if options.planner_threads not in (0, options.threads_per_group):
        what = (
            f"Conflicting thread constraints: planner_threads={options.planner_threads} and "
            f"threads_per_group={options.threads_per_group}"
        )
        yield Problem(what, hint="threads_per_group alone fixes the threadgroup", rule="planner-threads")


def threads_not_whole_subgroups(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """B118, B168."""
    threads = options.threads_per_group
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 0 or threads % SIMD_WIDTH:
        what = f"threads_per_group={threads!r} is not a multiple of {SIMD_WIDTH}: a whole-subgroup thread constraint"
        yield Problem(what, hint="threads_per_group=128, or 0 for a legal default", rule="threads-not-whole-subgroups")


def threads_beyond_device(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """B118, B168."""
    threads = options.threads_per_group
    if isinstance(threads, int) and threads > device.max_threads:
        what = (
            f"threads_per_group={threads} exceeds the device limits, a whole-subgroup thread constraint of at most "
            f"{device.max_threads}"
        )
        yield Problem(
            what,
            hint=f"threads_per_group={device.max_threads // SIMD_WIDTH * SIMD_WIDTH}",
            rule="threads-beyond-device",
        )


def register_limit(options: CompileOptions, device: MetalDevice) -> Iterator[Problem]:
    """Metal has no such option."""
    if options.max_registers:
        yield Problem(
            "max_registers is not an option of Metal", hint="leave `max_registers` out", rule="register-limit"
        )


CHECKS: tuple[Check, ...] = (
    tirx_route,
    unknown_lowering,
    tirx_options,
    cpu_planner_options,
    compile_only,
    cooperative_request,
    two_forms,
    reduction_unroll,
    program_order,
    planner_threads,
    threads_not_whole_subgroups,
    threads_beyond_device,
    register_limit,
)
"""Every check; all of them run, so that a caller sees all mistakes at once."""


def option_problems(options: CompileOptions, device: MetalDevice) -> list[Problem]:
    return [problem for check in CHECKS for problem in check(options, device)]
