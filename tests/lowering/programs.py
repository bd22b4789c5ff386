"""Small functions that break exactly one rule of the CUDA backend, and good ones beside them."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import Extent, IndexSpace
from tilewright.tileir.graph import Function, Module
from tilewright.tileir.types import F32, Element, ScalarType, TileType
from tilewright.tileir.vocabulary import Opcode, Resource, Scope


def copy(
    extents: Sequence[Extent] = (64,),
    *,
    element: Element = Element.F32,
    programs: int = 1,
    scope: Scope | None = None,
    inner: Scope | None = None,
    views: int = 2,
    name: str = "copy",
) -> Function:
    """y = x, by a program for each of `programs`, through a nested parallel when `inner` is given."""
    module = Module()
    build = Builder(module.function(name))
    parameters = [build.view(f"x{place}", element, extents) for place in range(views)]
    shape = IndexSpace.of(*((module.dim("e"), extent if isinstance(extent, int) else 8) for extent in extents))
    with build.parallel(IndexSpace.of((module.dim("g"), programs)), scope):
        at = [build.index(0) for _ in extents]
        if inner:
            with build.parallel(IndexSpace.of((module.dim("s"), 2)), inner):
                build.store(parameters[-1], at, build.load(parameters[0], at, shape))
        else:
            for view in parameters[1:]:
                build.store(view, at, build.load(parameters[0], at, shape))
    return build.function


def without_root() -> Function:
    module = Module()
    build = Builder(module.function("rootless"))
    build.view("x", Element.F32, (4,))
    return build.function


def two_roots() -> Function:
    module = Module()
    build = Builder(module.function("twice"))
    y = build.view("y", Element.F32, (4,))
    for _ in range(2):
        with build.parallel(IndexSpace.of((module.dim("g"), 4))) as nest:
            build.store_element(y, [nest.coordinates[0]], build.constant(1.0, F32))
    return build.function


def root_effects(kind: str) -> Function:
    """A root parallel with host work beside it: `store`, `load` or `serial`."""
    module = Module()
    build = Builder(module.function("host"))
    y = build.view("y", Element.F32, (4,))
    with build.parallel(IndexSpace.of((module.dim("g"), 4))) as nest:
        build.store_element(y, [nest.coordinates[0]], build.constant(1.0, F32))
    if kind == "store":
        build.store_element(y, [build.index(0)], build.constant(1.0, F32))
    elif kind == "load":
        build.load_element(y, [build.index(0)])
    else:
        with build.serial(IndexSpace.of((module.dim("s"), 2))):
            build.index(0)
    return build.function


def root_constants() -> Function:
    """Pure work before the root parallel, which every program may see."""
    module = Module()
    build = Builder(module.function("pure"))
    y = build.view("y", Element.F32, (4,))
    two = build.constant(2.0, F32)
    six = build.elementwise(Opcode.MUL, two, build.constant(3.0, F32))
    with build.parallel(IndexSpace.of((module.dim("g"), 4))) as nest:
        build.store_element(y, [nest.coordinates[0]], six)
    return build.function


def with_memory(resource: Resource | None = None) -> Function:
    module = Module()
    build = Builder(module.function("memory"))
    y = build.view("y", Element.F32, (4,))
    space = IndexSpace.of((module.dim("e"), 4))
    with build.parallel(IndexSpace.of((module.dim("g"), 1))):
        alloc = build.alloc(Element.F32, space, resource=resource)
        state = build.memory_store(alloc.memory, alloc.state, build.constant(1.0, TileType(Element.F32, space)))
        build.store(y, [build.index(0)], build.memory_load(alloc.memory, state))
    return build.function


def with_custom() -> Function:
    module = Module()
    build = Builder(module.function("extended"))
    build.view("y", Element.F32, (4,))
    with build.parallel(IndexSpace.of((module.dim("g"), 1))):
        build.custom("prefetch")
    return build.function


def with_element(element: Element) -> Function:
    """A value of that element between two casts."""
    module = Module()
    build = Builder(module.function("casts"))
    x, y = build.view("x", Element.F32, (4,)), build.view("y", Element.F32, (4,))
    with build.parallel(IndexSpace.of((module.dim("g"), 4))) as nest:
        at = [nest.coordinates[0]]
        there = build.cast(build.load_element(x, at), element)
        build.store_element(y, at, build.cast(there, Element.F32))
    return build.function


def view_in_custom() -> Function:
    """A parameter used by something other than a view access."""
    module = Module()
    build = Builder(module.function("escapes"))
    x = build.view("x", Element.F32, (4,))
    with build.parallel(IndexSpace.of((module.dim("g"), 1))):
        build.custom("peek", [x], [ScalarType(Element.F32)])
    return build.function


def big_carry(size: int) -> Function:
    """A loop that carries a tile of `size` elements."""
    module = Module()
    build = Builder(module.function("big"))
    y = build.view("y", Element.F32, (size,))
    space = IndexSpace.of((module.dim("e"), size))
    with build.parallel(IndexSpace.of((module.dim("g"), 1))):
        start = build.constant(0.0, TileType(Element.F32, space))
        with build.serial(IndexSpace.of((module.dim("t"), 2)), [start]) as loop:
            build.yield_(build.elementwise(Opcode.ADD, loop.carried[0], build.constant(1.0, F32)))
        build.store(y, [build.index(0)], loop.results[0])
    return build.function


def two_stores(distance: int, *, size: int = 8) -> Function:
    """Two stores of `size` elements into one view, `distance` elements apart."""
    module = Module()
    build = Builder(module.function("halves"))
    x, y = build.view("x", Element.F32, (size,)), build.view("y", Element.F32, (2 * size,))
    space = IndexSpace.of((module.dim("e"), size))
    with build.parallel(IndexSpace.of((module.dim("g"), 1))):
        tile = build.load(x, [build.index(0)], space)
        build.store(y, [build.index(0)], tile)
        build.store(y, [build.index(distance)], build.elementwise(Opcode.NEG, tile))
    return build.function
