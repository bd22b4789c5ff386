"""Refusal of options before any code is made. The rule name states the fault, the docstring its catalogue number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields

from tilewright.lowering.cuda.launch import WARP
from tilewright.lowering.options import CompileOptions, DeviceLimits, Lowering
from tilewright.problem import Problem

Check = Callable[[CompileOptions, DeviceLimits], Iterator[Problem]]


def tirx_route(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """B20, B130."""
    if options.lowering in (Lowering.TIRX, Lowering.TIRX.value):
        yield Problem(
            "the TIRx lowering was requested, and this CUDA backend is built without the optional TIRx bridge",
            hint='lowering="native"',
            rule="tirx-route",
        )


def unknown_lowering(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """The route has to be one that exists."""
    if not isinstance(options.lowering, Lowering) and options.lowering not in [each.value for each in Lowering]:
        yield Problem(
            f"lowering {options.lowering!r} is not one of native, tirx",
            hint='lowering="native"',
            rule="unknown-lowering",
        )


def tirx_options(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """B22."""
    if options.tirx is not None and options.lowering in (Lowering.NATIVE, Lowering.NATIVE.value):
        yield Problem(
            "Invalid lowering choice: TIRx options were passed with the native lowering",
            hint="leave `tirx` out",
            rule="tirx-options",
        )


def cpu_planner_options(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """B23."""
    if options.xir is not None:
        yield Problem(
            "a CUDA device cannot use the CPU XIR planner", hint="leave `xir` out", rule="cpu-planner-options"
        )


def compile_only(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """B24. Build targets make artifacts ahead of time; a device has no archive of them."""
    if options.compile_only:
        yield Problem(
            "compile-only tile archives are not supported by tile.compile",
            hint="build the shader as a target, or leave `compile_only` out",
            rule="compile-only",
        )


def cooperative_request(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """B131."""
    for name in ("cooperative_matrix", "cooperative_vector", "tensor_cores"):
        if getattr(options, name):
            yield Problem(
                f"{name.replace('_', ' ')} was requested: cooperative operations are not supported by the CUDA "
                "reference route",
                hint=f"leave `{name}` out; an mma becomes ordered multiply and add",
                rule="cooperative-request",
            )


def metal_request(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """B132."""
    if options.metal_mpp:
        yield Problem("MPP was requested: it is a Metal library", hint="leave `metal_mpp` out", rule="metal-request")


def subgroup_request(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """B133."""
    if options.subgroup_reductions:
        yield Problem(
            "SIMD-group/subgroup reductions are not available on the CUDA reference route",
            hint="leave `subgroup_reductions` out; a reduction is an ordered fold",
            rule="subgroup-request",
        )
    if options.reduction_unroll:
        yield Problem(
            "an unroll factor of SIMD-group/subgroup reductions was given: they are not available on the CUDA route",
            hint="leave `reduction_unroll` out",
            rule="subgroup-request",
        )


def program_order(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """B134."""
    if options.program_order:
        yield Problem(
            "a program-order traversal was requested: programs of a parallel have no order here",
            hint="leave `program_order` out",
            rule="program-order",
        )


def planner_threads(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """B135; B26 where both are given and differ."""
    if options.planner_threads and not options.threads_per_group:
        yield Problem(
            "an exact planner thread count was given: pass threads_per_group through compile options",
            hint=f"threads_per_group={options.planner_threads}",
            rule="planner-threads",
        )
    elif options.planner_threads not in (0, options.threads_per_group):
        yield Problem(
            f"Conflicting thread constraints: planner_threads={options.planner_threads} and "
            f"threads_per_group={options.threads_per_group}",
            hint="threads_per_group alone fixes the block",
            rule="planner-threads",
        )


def threads_not_whole_warps(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """B136."""
    threads = options.threads_per_group
    if threads < 0 or threads % WARP:
        yield Problem(
            f"threads_per_group={threads!r} is not a multiple of {WARP}",
            hint="threads_per_group=256, or 0 for a legal default",
            rule="threads-not-whole-warps",
        )


def threads_beyond_device(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """B137."""
    threads = options.threads_per_group
    if threads > limits.max_threads_per_block:
        yield Problem(
            f"threads_per_group={threads} exceeds the limits of the device, "
            f"{limits.max_threads_per_block} threads a block",
            hint=f"threads_per_group={limits.max_threads_per_block // WARP * WARP}",
            rule="threads-beyond-device",
        )


def register_limit(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """The sidecar of a compiled shader has one byte for it."""
    if not 0 <= options.max_registers <= 255:
        yield Problem(
            f"max_registers={options.max_registers} is not in 0..255", hint="0 for no limit", rule="register-limit"
        )


def option_type(options: CompileOptions, limits: DeviceLimits) -> Iterator[Problem]:
    """Numbers are integers, switches are booleans, a name is text."""
    for field in fields(options):
        value, kinds = getattr(options, field.name), TYPES.get(str(field.type))
        if kinds and not (type(value) in kinds or (value is None and field.default is None)):
            words = " or ".join(kind.__name__ for kind in kinds)
            what = f"{field.name}={value!r} is not of type {words}"
            yield Problem(what, hint=f"{field.name}={field.default!r}", rule="option-type")


TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "bool": (bool,),
    "bool | None": (bool,),
    "str | None": (str,),
}
"""Types of options by how they are declared; what is not listed takes any value."""

CHECKS: tuple[Check, ...] = (
    tirx_route,
    unknown_lowering,
    tirx_options,
    cpu_planner_options,
    compile_only,
    cooperative_request,
    metal_request,
    subgroup_request,
    program_order,
    planner_threads,
    threads_not_whole_warps,
    threads_beyond_device,
    register_limit,
)
"""Every check; all of them run, so that a caller sees all mistakes at once."""


def option_problems(options: CompileOptions, limits: DeviceLimits) -> list[Problem]:
    """Every fault of the options; values of a wrong type are told alone."""
    wrong = list(option_type(options, limits))
    return wrong or [problem for check in CHECKS for problem in check(options, limits)]
