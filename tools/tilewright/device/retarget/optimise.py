"""The optimiser: LLVM's O3 for the NVPTX target, everything but the exports internal."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.device.module import DeviceError
from tilewright.problem import Problem

_CPU = "sm_90"
_INLINE_THRESHOLD = 2000  # a function that stays out of line is a call in every tile of the caller


def llvm_version() -> tuple[int, int, int]:
    """The version of the LLVM inside llvmlite."""
    import llvmlite.binding as llvm  # type: ignore[import-untyped]

    major, minor, patch = llvm.llvm_version_info
    return int(major), int(minor), int(patch)


def optimise(text: str, exports: Sequence[str]) -> str:
    """Parses, internalises, runs O3 without vectorisers, names every value; DeviceError when it cannot read."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    with llvm.create_context() as context:
        try:
            module = llvm.parse_assembly(text, context)
            module.verify()
        except RuntimeError as error:
            number = ".".join(map(str, llvm_version()))
            raise DeviceError(
                [
                    Problem(
                        what=f"LLVM {number} of llvmlite cannot read the module",
                        detail=str(error),
                        rule="unreadable-ir",
                    )
                ]
            ) from None
        with module:
            for value in [*module.functions, *module.global_variables]:
                if not value.is_declaration:
                    value.linkage = "external" if value.name in exports else "internal"
            machine = llvm.Target.from_triple(module.triple).create_target_machine(cpu=_CPU, opt=3)
            options = llvm.create_pipeline_tuning_options(speed_level=3)
            options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
            options.inlining_threshold = _INLINE_THRESHOLD
            builder = llvm.create_pass_builder(machine, options)
            builder.getModulePassManager().run(module, builder)
            last = llvm.create_new_module_pass_manager()
            last.add_strip_dead_prototype_pass()
            last.add_instruction_namer_pass()
            last.run(module, builder)
            module.verify()
            return str(module)
