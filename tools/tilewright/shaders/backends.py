"""The backends of a shader, one row each: what is made of a `.tileir`, and what that depends on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright.problem import Problem
from tilewright.shaders.errors import KernelFileError

if TYPE_CHECKING:
    from tilewright.lowering.artifact import DeviceArtifact
    from tilewright.lowering.options import CompileOptions
    from tilewright.tileir.graph import Function

Made = TypeVar("Made", bound="DeviceArtifact")
Make = Callable[[str, str, Mapping[str, Any], str, str], dict[str, bytes]]
"""Text of the `.tileir`, name for messages, options, architecture, path of the compiler, to contents by suffix."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One row: `suffixes` of the outputs; `folder` below the build folder, "" for that of each architecture of `arch=`.

    `component` is the part of the toolkit that `make` is given the path of, "" when it needs none.
    """

    name: str
    suffixes: tuple[str, ...]
    make: Make
    folder: str = ""
    component: str = ""


def make_cuda(text: str, file: str, options: Mapping[str, Any], arch: str, nvrtc: str) -> dict[str, bytes]:
    """Lowering a kernel to CUDA and compiling it to PTX; fit for a worker process."""
    from tilewright.lowering.cuda.lower import lower
    from tilewright.runtime.nvrtc import ptx_text

    artifact = _lowered(text, file, options, lower)
    return {
        ".cu": artifact.source.encode(),
        ".tile.ptx": ptx_text(artifact, arch, nvrtc=nvrtc),
        ".json": artifact.to_json(),
    }


def make_metal(text: str, file: str, options: Mapping[str, Any], arch: str, compiler: str) -> dict[str, bytes]:
    """Lowering a kernel to MSL, which is the product: Apple's compiler exists on macOS only."""
    from tilewright.lowering.metal.lower import lower

    artifact = _lowered(text, file, options, lower)
    return {".metal": artifact.source.encode(), ".json": artifact.to_json()}


BACKENDS = (
    Backend("cuda", (".cu", ".tile.ptx", ".json"), make_cuda, component="nvrtc"),
    Backend("metal", (".metal", ".json"), make_metal, folder="metal"),
)
"""A new backend is a new row."""


def backends_named(names: object) -> tuple[Backend, ...]:
    """The rows of these names, in order; KernelFileError for any other name, and for none."""
    rows = {row.name: row for row in BACKENDS}
    listing = ", ".join(rows)
    given = [names] if isinstance(names, str) else list(names) if isinstance(names, Collection) else [names]
    problems = [
        Problem(f"the backend `{name}` is not in this build", hint=f"the backends are: {listing}", rule="backend")
        for name in given
        if name not in rows
    ]
    if problems:
        raise KernelFileError(problems)
    if not given:
        raise KernelFileError([Problem("a shader needs a backend", hint=f"the backends are: {listing}")])
    return tuple(rows[name] for name in dict.fromkeys(given))


def check_options(options: object, *, own: bool = True) -> dict[str, Any]:
    """The options by name; KernelFileError for names that no compilation has, and values of another type.

    Under the name of a backend stand options for that one alone. Which of them it honours is for its lowering to say.
    """
    from tilewright.lowering.options import CompileOptions

    if not isinstance(options, Mapping):
        raise KernelFileError([Problem("the options of a shader are a mapping", hint='options={"fast_math": True}')])
    known = {field.name: field.default for field in fields(CompileOptions)}
    backends = [row.name for row in BACKENDS]
    problems: list[Problem] = []
    checked: dict[str, Any] = {}
    for name, value in options.items():
        checked[name] = value
        if own and name in backends:
            try:
                checked[name] = check_options(value, own=False)
            except KernelFileError as error:
                problems.extend(error.problems)
        elif name not in known:
            near = get_close_matches(str(name), known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"the options are: {', '.join(known)}"
            problems.append(Problem(f"there is no option `{name}`", hint=hint, rule="unknown-option"))
        elif not _fits(name, value, known[name]):
            kind = type(value).__name__
            problems.append(Problem(f"the option `{name}` is {value!r}, a {kind}", rule="option-type"))
    if problems:
        raise KernelFileError(problems)
    return dict(sorted(checked.items()))


def options_for(options: Mapping[str, Any], backend: str) -> dict[str, Any]:
    """Of checked options, those that a backend is given: the common ones, and its own in their place."""
    names = {row.name for row in BACKENDS}
    common = {name: value for name, value in options.items() if name not in names}
    return dict(sorted({**common, **options.get(backend, {})}.items()))


def _fits(name: str, value: object, default: object) -> bool:
    """A switch is a bool, a count an int; what belongs to other routes may be anything that can be written down."""
    if isinstance(default, bool) or name == "fmad":
        return isinstance(value, bool) or (value is None and name == "fmad")
    if isinstance(default, int):
        return isinstance(value, int) and not isinstance(value, bool)
    return value is None or isinstance(value, (bool, int, str))


def _lowered(
    text: str,
    file: str,
    options: Mapping[str, Any],
    lower: Callable[[Function, CompileOptions], Made],
) -> Made:
    from tilewright.lowering.options import CompileOptions
    from tilewright.tileir.text.parser import parse_module

    module = parse_module(text, file)
    if len(module.functions) != 1:
        what = f"`{file}` holds {len(module.functions)} functions, and a shader is made of one"
        raise KernelFileError([Problem(what)])
    return lower(module.functions[0], CompileOptions(**options))
