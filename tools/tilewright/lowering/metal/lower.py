"""A verified function to a Metal artifact, in the form the options ask for. One form never stands in for another:
only an automatic root under `subgroup_reductions` may keep the reference form, and the artifact says so."""

from __future__ import annotations

from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.artifact import MetalArtifact
from tilewright.lowering.metal.device import COMMON_DEVICE, MetalDevice
from tilewright.lowering.metal.function_checks import fault, roots
from tilewright.lowering.metal.mpp.lower import lower_mpp
from tilewright.lowering.metal.option_checks import option_problems
from tilewright.lowering.metal.reductions.lower import lower_rows
from tilewright.lowering.metal.reductions.plan import PlannerOptions
from tilewright.lowering.metal.reference import lower_reference
from tilewright.lowering.options import DEFAULTS, CompileOptions
from tilewright.tileir.graph import Function
from tilewright.tileir.usage import usages
from tilewright.tileir.verifier.verify import ensure
from tilewright.tileir.vocabulary import Scope


def lower(
    function: Function,
    options: CompileOptions = DEFAULTS,
    device: MetalDevice = COMMON_DEVICE,
    planner: PlannerOptions | None = None,
) -> MetalArtifact:
    """The artifact of a function; the function stays as it is.

    `metal_mpp`: the native matrix product. `subgroup_reductions`: SIMD-group rows, which also permits their tree order.
    Neither: one program a thread. TileIRError for a function that does not verify, LoweringError for every option and
    operation that is refused.
    """
    refused = option_problems(options, device)
    if refused:
        raise LoweringError(refused)
    ensure(function)
    usages(function)
    if options.metal_mpp:
        return lower_mpp(function, options, device)
    if not options.subgroup_reductions:
        return lower_reference(function, options, device)
    found = lower_rows(function, options, device, planner)
    if isinstance(found, MetalArtifact):
        return found
    if any(root.scope is Scope.SUBGROUP for root in roots(function)):
        what = "the explicit subgroup binding of the root cannot be realised as SIMD-group rows"
        raise LoweringError(
            [fault(function, what, "subgroup-root", "leave the scope out for the reference form"), *found]
        )
    if options.reduction_unroll:
        what = f"reduction_unroll={options.reduction_unroll} asks for SIMD-group rows, which the kernel cannot have"
        raise LoweringError([fault(function, what, "reduction-unroll", "leave `reduction_unroll` out"), *found])
    try:
        return lower_reference(function, options, device, f"rows refused: {found[0].rule}")
    except LoweringError as error:
        raise LoweringError([*found, *error.problems]) from error
