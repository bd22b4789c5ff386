"""From the LLVM IR of a stock stable rustc for the host to NVVM IR, one step after the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.device.dialect.convert import to_typed_pointers
from tilewright.device.module import DeviceError
from tilewright.device.nvvm import OLD_DIALECT
from tilewright.device.nvvm import llvm_version as llvm_version_of
from tilewright.device.retarget.attributes import filter_attributes, tidy_attributes
from tilewright.device.retarget.half import widen_half_math
from tilewright.device.retarget.header import retarget_header
from tilewright.device.retarget.markers import remove_markers
from tilewright.device.retarget.mathematics import rename_math
from tilewright.device.retarget.memory import define_comparisons
from tilewright.device.retarget.optimise import llvm_version, optimise
from tilewright.device.retarget.panics import trap_panics
from tilewright.device.retarget.reachable import forbidden, undefined, unsupported_arithmetic
from tilewright.device.retarget.shims import define_shims
from tilewright.device.retarget.unwinding import remove_unwinding
from tilewright.device.retarget.widths import lower_widths
from tilewright.problem import Problem


@dataclass(frozen=True, slots=True)
class NvvmText:
    """NVVM IR text and the dialect it is in (7 or 22, as libNVVM counts); `notes` say what was done differently."""

    text: str
    dialect: int
    notes: tuple[Problem, ...] = ()


def prepare(ir: str, exports: Sequence[str], *, name: str) -> str:
    """The text steps: a module for the GPU that no optimiser has seen; DeviceError with all that is forbidden."""
    _refuse_assembly(ir)
    text = trap_panics(ir)
    text = filter_attributes(text)
    text = define_shims(text)
    text = define_comparisons(text)
    text = rename_math(widen_half_math(lower_widths(text)))
    text = remove_markers(text)
    text = retarget_header(remove_unwinding(text), name)
    problems = list(forbidden(text, exports))
    if problems:
        raise DeviceError(problems)
    return text


def _refuse_assembly(ir: str) -> None:
    lines = re.findall(r'^module asm "(.*)"$', ir, re.MULTILINE)
    if lines:
        what = "the crate holds global assembly for the host"
        raise DeviceError([Problem(what=what, rule="inline-assembly", detail="\n".join(lines))])


def retarget(ir: str, exports: Sequence[str], *, name: str) -> str:
    """NVVM IR for compute_100 and up from rustc's LLVM IR (`flags.RUSTC_FLAGS`).

    `exports` are the symbols that stay visible, `name` the logical name of the source. Every value has a name, every
    declaration is an allowed intrinsic or libdevice's; anything else is a DeviceError.
    """
    prepared = prepare(ir, exports, name=name)
    text = _tidy(optimise(prepared, exports), name)
    problems = [*undefined(text, exports, prepared), *unsupported_arithmetic(text)]
    if problems:
        raise DeviceError(problems)
    return text


def _tidy(text: str, name: str) -> str:
    """What the optimiser brought back in is taken out again."""
    text = tidy_attributes(
        remove_markers(rename_math(widen_half_math(lower_widths(_COMMENT.sub("", text))), exact=True))
    )
    return retarget_header(text, name)


_COMMENT = re.compile(r"^; .*\n", re.MULTILINE)


def retarget_unoptimised(ir: str, exports: Sequence[str], *, name: str) -> str:
    """The same without llvmlite, for an IR newer than its LLVM: larger LTOIR, for compute_100 and up only."""
    text = retarget_header(rename_math(prepare(ir, exports, name=name), exact=True), name)
    visible = "|".join(map(re.escape, exports)) or "$"
    hidden = re.compile(rf"^define (?:hidden |internal |private |linkonce_odr )*(?!.*@(?:{visible})\()", re.MULTILINE)
    text = hidden.sub("define internal ", text)
    problems = [*undefined(text, exports), *unsupported_arithmetic(text)]
    if problems:
        raise DeviceError(problems)
    return text


def nvvm_text(
    ir: str,
    exports: Sequence[str],
    arch: str,
    *,
    name: str,
    nvvm: str,
    rustc_llvm: tuple[int, ...] | None = None,
    pointees: Mapping[str, Sequence[str | None]] | None = None,
) -> NvvmText:
    """The text that libNVVM takes for `arch` (`compute_75`, `sm_120`), in the dialect it has for that.

    `nvvm` is the path of libNVVM; `rustc_llvm` the LLVM version that `rustc -vV` prints; `pointees` the element
    type behind each pointer parameter of an export, for the old dialect (`{"relu_impl": [None, "float"]}`).
    """
    dialect = llvm_version_of(arch.replace("sm_", "compute_"), nvvm)
    if rustc_llvm and rustc_llvm[0] > llvm_version()[0]:
        note = _newer(rustc_llvm)
        if dialect == OLD_DIALECT:
            raise DeviceError([note])
        return NvvmText(retarget_unoptimised(ir, exports, name=name), dialect, (note,))
    text = retarget(ir, exports, name=name)
    if dialect == OLD_DIALECT:
        text = to_typed_pointers(text, pointees=pointees or {})
    return NvvmText(text, dialect)


def _newer(rustc_llvm: tuple[int, ...]) -> Problem:
    found, ours = ".".join(map(str, rustc_llvm)), ".".join(map(str, llvm_version()))
    return Problem(
        what=f"rustc has LLVM {found}, llvmlite only {ours}: libNVVM gets the IR as it is, for compute_100 and up only",
        rule="newer-llvm",
        hint="upgrade llvmlite, or use an older rustc, to build for compute_90 and older",
    )
