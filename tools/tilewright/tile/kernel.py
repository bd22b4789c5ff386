"""Kernels: the decorator, and what a capture gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, overload

from tilewright.problem import Place
from tilewright.tile.annotations import ParameterType, parameters_of
from tilewright.tile.axes import checked_extent
from tilewright.tile.capture import Capture, capturing
from tilewright.tile.errors import CaptureError, fail
from tilewright.tile.views import View
from tilewright.tileir.graph import Function, Module
from tilewright.tileir.text.printer import print_module
from tilewright.tileir.verifier.verify import verify_module

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Kernel:
    """A captured and verified kernel: its module with one function, and what was declared of each parameter."""

    name: str
    module: Module
    function: Function
    parameters: tuple[tuple[str, ParameterType], ...]

    def text(self) -> str:
        """The readable text form, the contents of a `.tileir` file."""
        return print_module(self.module)


class KernelDefinition:
    """A function decorated with `@tile.kernel`; `capture` with a shape a parameter gives a `Kernel`."""

    def __init__(self, function: Callable[..., None], name: str) -> None:
        self.body = function
        self.name = name
        self.parameters = parameters_of(function)
        self.where = Place(function.__code__.co_filename, function.__code__.co_firstlineno)
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"<tile kernel {self.name}>"

    def __call__(self, *_: object, **__: object) -> None:
        fail(
            f"`{self.name}` is a kernel: it is captured, not called",
            rule="kernel-called",
            hint=f"{self.name}.capture(shape, ...)",
        )

    def capture(self, *shapes: Iterable[int], **named: Iterable[int]) -> Kernel:
        """Runs the function once with proxies; every fault is a CaptureError with the line in the user's file."""
        sizes = self._shapes(shapes, named)
        recorder = Capture(self.name)
        with capturing(recorder):
            views = [
                View(recorder, recorder.build.view(name, declared.element, sizes[name]), declared.access)
                for name, declared in self.parameters.items()
            ]
            self.body(*views)
            if recorder.abandoned is not None or len(recorder.frames) > 1:
                recorder.unterminated(recorder.abandoned or recorder.frame)
        problems = verify_module(recorder.module)
        if problems:
            raise CaptureError(problems)
        return Kernel(self.name, recorder.module, recorder.function, tuple(self.parameters.items()))

    def _shapes(self, shapes: tuple[Iterable[int], ...], named: dict[str, Iterable[int]]) -> dict[str, tuple[int, ...]]:
        """A shape of non-negative extents for every parameter, positional ones first."""
        names = list(self.parameters)
        given = dict(zip(names, shapes, strict=False))
        twice = [name for name in named if name in given]
        if twice:
            fail(f"`{self.name}`: the shape of {', '.join(twice)} is not unique: given twice", rule="shape-repeated")
        given |= named
        if len(shapes) > len(names) or set(given) != set(names):
            wanted = ", ".join(f"{name}=(...)" for name in names)
            fail(f"`{self.name}` needs one shape a parameter", rule="shape-count", hint=f"capture({wanted})")
        sizes: dict[str, tuple[int, ...]] = {}
        for name in names:
            shape = given[name]
            sizes[name] = tuple(
                checked_extent(extent) for extent in (shape if isinstance(shape, Iterable) else (shape,))
            )
            rank = self.parameters[name].rank
            if len(sizes[name]) != rank:
                fitting = (*sizes[name], *(1 for _ in range(rank)))[:rank]
                fail(
                    f"`{self.name}`: `{name}` has rank {rank}, its shape {sizes[name]} has not",
                    rule="shape-rank",
                    hint=f"a shape of that rank: {name}={fitting}",
                )
        return sizes


@overload
def kernel(function: Callable[..., None], /) -> KernelDefinition: ...


@overload
def kernel(*, name: str) -> Callable[[Callable[..., None]], KernelDefinition]: ...


def kernel(function: Callable[..., None] | None = None, /, *, name: str = "") -> Any:
    """Decorator: makes a function a kernel, named after it or as given; the name is the entry symbol."""
    if name and not IDENTIFIER.fullmatch(name):
        fail(f"{name!r} is no name for a kernel", rule="kernel-name", hint="letters, digits and underscores")
    if function is None:
        return lambda body: KernelDefinition(body, name or body.__name__)
    return KernelDefinition(function, function.__name__)
