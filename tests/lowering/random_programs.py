"""Random valid kernels over every operation the CUDA route lowers: loads at any origin, folds, gathers, loops, MMAs.

Values stay tame (sums, products through tanh), so that rounding does not decide what is right.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import Dim, IndexSpace
from tilewright.tileir.graph import Function, Module, Value
from tilewright.tileir.types import F32, Element, TileType, space_of
from tilewright.tileir.vocabulary import Opcode

ORDERED = ("serial", "pipeline", "reduce")
INTEGER_CODES = [Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.DIV, Opcode.MOD, Opcode.MAX, Opcode.MIN]


def random_program(seed: int) -> Function:
    """x (A, B), w (B,), and y, which is written in disjoint blocks and in some programs read before."""
    return Author(seed).write()


class Author:
    """Pools of tiles, scalars and integers to draw operands from."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.module = Module()
        self.build = Builder(self.module.function(f"random_{seed}"))
        self.m, self.n, self.k = (self.module.dim(name) for name in "mnk")
        sizes = ([1, 2, 3, 4, 8], [1, 3, 4, 5, 8, 12], [1, 2, 4])
        dims = (self.m, self.n, self.k)
        self.extent = {dim: self.draw.choice(choice) for dim, choice in zip(dims, sizes, strict=True)}
        self.tiles: list[Value] = []
        self.scalars: list[Value] = []
        self.integers: list[Value] = []

    def write(self) -> Function:
        draw, build = self.draw, self.build
        programs = draw.choice([1, 2, 5]), draw.choice([1, 3, 16])
        width = draw.choice([4, 8, 9, 16])
        self.x = build.view("x", Element.F32, (draw.choice([4, 7, 8, 16]), width))
        self.w = build.view("w", Element.F32, (width,))
        rows = max(1, programs[0] * self.extent[self.m] - draw.choice([0, 0, 1]))
        y = build.view("y", Element.F32, (rows, programs[1] * self.extent[self.n]))
        with build.parallel(IndexSpace.of(*zip(self.module_dims("pq"), programs, strict=True))) as nest:
            self.integers = [*nest.coordinates, build.index(draw.randint(-3, 9))]
            self.scalars = [build.constant(round(draw.uniform(-2, 2), 2), F32)]
            at = [
                build.elementwise(Opcode.MUL, place, build.index(self.extent[dim]))
                for place, dim in zip(nest.coordinates, (self.m, self.n), strict=True)
            ]
            reads = draw.random() < 0.3
            self.tiles = [build.load(y, at, self.space(self.m, self.n))] if reads else []
            self.tiles.append(self.load())
            for _ in range(draw.randint(1, 9)):
                self.step(2)
            build.store(y, at, self.whole(draw.choice(self.tiles)))
        return build.function

    def module_dims(self, names: str) -> list[Dim]:
        return [self.module.dim(name) for name in names]

    def space(self, *dims: Dim) -> IndexSpace:
        return IndexSpace.of(*((dim, self.extent[dim]) for dim in dims))

    def whole(self, tile: Value) -> Value:
        """The tile stretched over m and n."""
        space = self.space(self.m, self.n)
        zero = self.build.constant(0.0, TileType(Element.F32, space))
        type = TileType(Element.F32, space)
        return tile if space_of(tile.type) == space else self.build.elementwise(Opcode.ADD, zero, tile, type=type)

    def integer(self) -> Value:
        """An expression that may leave every bound."""
        value = self.draw.choice(self.integers)
        for _ in range(self.draw.randint(0, 2)):
            code = self.draw.choice(INTEGER_CODES)
            other = self.build.index(self.draw.choice([1, 2, 3, 4, 8, -2, -1]))
            if code in (Opcode.ADD, Opcode.SUB, Opcode.MAX, Opcode.MIN):
                other = self.draw.choice([*self.integers, other])
            value = self.build.elementwise(code, value, other)
        return value

    def load(self) -> Value:
        fill = self.draw.choice([None, self.build.constant(7.5, F32)])
        if self.draw.random() < 0.4:
            return self.build.load(self.w, [self.integer()], self.space(self.draw.choice([self.m, self.n])), fill=fill)
        dims = self.draw.choice([(self.m, self.n), (self.n, self.m)])
        return self.build.load(self.x, [self.integer(), self.integer()], self.space(*dims), fill=fill)

    def tame(self, value: Value) -> Value:
        return self.build.elementwise(Opcode.TANH, value)

    def step(self, depth: int) -> None:
        """One more value in a pool."""
        kinds = [self.add_load, self.pointwise, self.pointwise, self.choose, self.add_integer, self.fold, self.gather]
        kinds += [self.contract, *([lambda: self.loop(depth - 1)] if depth else [])]
        self.draw.choice(kinds)()

    def add_load(self) -> None:
        self.tiles.append(self.load())

    def add_integer(self) -> None:
        self.integers.append(self.integer())

    def pointwise(self) -> None:
        a, b = (self.draw.choice([*self.tiles, self.draw.choice(self.scalars)]) for _ in range(2))
        code = self.draw.choice([Opcode.ADD, Opcode.SUB, Opcode.MUL, Opcode.MIN, Opcode.MAX])
        value = self.build.elementwise(code, a, b)
        value = self.tame(value) if code is Opcode.MUL else value
        (self.tiles if isinstance(value.type, TileType) else self.scalars).append(value)

    def choose(self) -> None:
        comparison = self.draw.choice([Opcode.LT, Opcode.GE, Opcode.EQ, Opcode.NE])
        condition = self.build.elementwise(comparison, self.integer(), self.integer())
        a, b = self.draw.choice(self.tiles), self.draw.choice(self.tiles)
        self.tiles.append(self.build.elementwise(Opcode.SELECT, condition, a, b))

    def fold(self) -> None:
        tile = self.draw.choice(self.tiles)
        space = space_of(tile.type)
        if space is None or not space.rank:
            return
        dim = self.draw.choice(space.dims)
        kept = space.without([dim])
        with self.build.tile_map(kept, Element.F32) as generator:
            with self.build.reduce(self.space(dim), [self.build.constant(0.25, F32)]) as nest:
                index = dict(zip(kept.dims, generator.coordinates, strict=True)) | {dim: nest.coordinates[0]}
                read = self.build.extract(tile, [index[each] for each in space.dims])
                code = self.draw.choice([Opcode.ADD, Opcode.MAX, Opcode.MIN])
                self.build.yield_(self.build.elementwise(code, nest.carried[0], read))
            self.build.yield_(nest.results[0])
        self.tiles.append(generator.result)

    def gather(self) -> None:
        """A map whose elements are read at computed places."""
        tile = self.draw.choice(self.tiles)
        dims = self.draw.choice([(self.m, self.n), (self.n, self.m), (self.m,), (self.n,), ()])
        with self.build.tile_map(self.space(*dims), Element.F32) as generator:
            index = []
            for extent in space_of(tile.type).shape:
                place = self.draw.choice([*generator.coordinates, self.draw.choice(self.integers)])
                place = self.build.elementwise(Opcode.ADD, place, self.build.index(self.draw.randint(0, 3)))
                place = self.build.elementwise(Opcode.ABS, place)
                index.append(self.build.elementwise(Opcode.MOD, place, self.build.index(extent)))
            value = self.build.extract(tile, index)
            self.build.yield_(self.build.elementwise(Opcode.ADD, value, self.draw.choice(self.scalars)))
        self.tiles.append(generator.result)

    def contract(self) -> None:
        a = self.build.load(self.x, [self.integer(), self.integer()], self.space(self.m, self.k))
        dims = self.draw.choice([(self.k, self.n), (self.n, self.k)])
        b = self.build.load(self.x, [self.integer(), self.integer()], self.space(*dims))
        c = self.tame(self.whole(self.draw.choice(self.tiles)))
        self.tiles.append(self.tame(self.build.mma(a, b, c, allow_reassociation=self.draw.random() < 0.5)))

    def loop(self, depth: int) -> None:
        """An ordered nest that carries up to two tiles, a scalar and an integer, which may change places."""
        draw = self.draw
        tiles = [draw.choice(self.tiles) for _ in range(draw.randint(0, 2))]
        scalars = [draw.choice(self.scalars) for _ in range(draw.randint(0, 1))]
        integers = [
            self.build.elementwise(Opcode.ADD, draw.choice(self.integers), self.build.index(0))
            for _ in range(draw.randint(0, 1))
        ]
        axes = [(self.module.dim("t"), draw.choice([0, 1, 2, 3, 4]))]
        axes += [(self.module.dim("u"), draw.choice([1, 4]))] if draw.random() < 0.4 else []
        outer = list(self.tiles), list(self.scalars), list(self.integers)
        open_nest = getattr(self.build, draw.choice(ORDERED))
        with open_nest(IndexSpace.of(*axes), [*tiles, *scalars, *integers]) as nest:
            self.take(nest.carried, len(tiles), len(scalars))
            self.integers += nest.coordinates
            for _ in range(draw.randint(0, 3)):
                self.step(depth)
            following = [self.next_value(value) for value in nest.carried]
            if following:
                self.build.yield_(*following)
        self.tiles, self.scalars, self.integers = outer
        self.take(nest.results, len(tiles), len(scalars))

    def take(self, values: Sequence[Value], tiles: int, scalars: int) -> None:
        self.tiles += values[:tiles]
        self.scalars += values[tiles : tiles + scalars]
        self.integers += values[tiles + scalars :]

    def next_value(self, carried: Value) -> Value:
        if isinstance(carried.type, TileType):
            value = self.draw.choice([tile for tile in self.tiles if tile.type == carried.type])
            change = self.draw.random() < 0.6
            return self.tame(self.build.elementwise(Opcode.ADD, carried, value)) if change else value
        if carried.type == F32:
            return self.draw.choice(self.scalars)
        return self.build.elementwise(Opcode.MOD, self.integer(), self.build.index(11))
