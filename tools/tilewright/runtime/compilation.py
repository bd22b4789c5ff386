"""The public entry: a captured kernel and options to a shader on a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from tilewright.lowering.options import CompileOptions
from tilewright.problem import Problem, ProblemError
from tilewright.runtime.errors import ShaderError, refusal
from tilewright.runtime.shader import Shader
from tilewright.tileir.errors import TileIRError
from tilewright.tileir.graph import Function

if TYPE_CHECKING:
    from tilewright.runtime.device import Device


def compile(device: object, kernel: object, options: CompileOptions | None = None, **named: Any) -> Shader:
    """The shader of a kernel: a capture, or a TileIR function. Options as a value or by name.

    It is falsy, with `metadata.error`, where anything is refused; no other route is tried.
    """
    factory: Callable[..., Shader] | None = getattr(device, "create_tile_kernel", None)
    if factory is None:
        return Shader.refused(
            refusal("tile kernels are unavailable on this device", "no-tile-factory", "device = runtime.open_device()")
        )
    return factory(kernel, options, **named)


def options_from(options: CompileOptions | None, named: dict[str, Any]) -> CompileOptions:
    """Options by value or by name, not both; a misspelt name gets a suggestion."""
    if options is not None and named:
        raise refusal("options were given as a value and by name", "options-twice", "CompileOptions(...) alone")
    known = [field.name for field in fields(CompileOptions)]
    problems = []
    for name in named:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(known)}"
            problems.append(Problem(f"`{name}` is no option of tile.compile", hint=hint, rule="unknown-option"))
    if problems:
        raise ShaderError(problems)
    return options or CompileOptions(**named)


def create(device: Device, kernel: object, given: CompileOptions | None, named: dict[str, Any]) -> Shader:
    """Verifies, lowers, compiles and loads; every refusal becomes a falsy shader (B18, B30)."""
    function = getattr(kernel, "function", kernel)
    try:
        options = options_from(given, named)
        if not isinstance(function, Function):
            raise refusal(f"{kernel!r} is no captured kernel", "no-kernel", "softmax.capture((17, 7), (17, 7))")
        return device.shader(device.lower(function, options), options.name)
    except TileIRError as error:
        problems = [
            Problem(f"invalid TileIR: {each.what}", each.where, each.hint, each.rule) for each in error.problems
        ]
        return Shader.refused(ShaderError(problems))
    except ProblemError as error:
        return Shader.refused(error if isinstance(error, ShaderError) else ShaderError(error.problems))
