"""The recorder behind the DSL: the function under construction, the open nests, and the cells they carry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from tilewright.problem import Place
from tilewright.tile.axes import Axis, shape_items
from tilewright.tile.errors import CaptureError, fail, user_place
from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import Dim, IndexSpace
from tilewright.tileir.graph import Block, Module, Operation, Value
from tilewright.tileir.verifier.verify import verify_operation
from tilewright.tileir.vocabulary import ORDERED_NESTS, Kind


class CellState:
    """The SSA value a cell holds now. `home` is the depth of the nest it was made in."""

    __slots__ = ("home", "value")

    def __init__(self, value: Value, home: int) -> None:
        self.value = value
        self.home = home


@dataclass(eq=False)
class Frame:
    """An open block: the body of the function (operation None), of a nest or of a map.

    `coordinates` are the indices of a nest by axis. `entered` holds, for an ordered nest, each live cell with its value
    before and the body argument that stands for it.
    """

    operation: Operation | None
    block: Block
    opened: Place
    coordinates: dict[Axis, Value] = field(default_factory=dict)
    cells: list[CellState] = field(default_factory=list)
    entered: list[tuple[CellState, Value, Value]] = field(default_factory=list)

    @property
    def carries_nothing(self) -> bool:
        return self.operation is not None and self.operation.kind not in ORDERED_NESTS


class Capture:
    """One kernel being recorded."""

    def __init__(self, name: str) -> None:
        self.module = Module()
        self.function = self.module.function(name)
        self.build = Builder(self.function)
        self.frames = [Frame(None, self.function.body.block, user_place())]
        self.abandoned: Frame | None = None
        self._named: dict[Axis, Dim] = {}
        self._positional: dict[int, Dim] = {}

    @property
    def frame(self) -> Frame:
        """The innermost open block."""
        return self.frames[-1]

    def dim(self, axis: Axis) -> Dim:
        """The dimension that stands for a named axis in this kernel."""
        if axis not in self._named:
            self._named[axis] = self.module.dim(axis.name)
        return self._named[axis]

    def space(self, shape: object) -> IndexSpace:
        """A shape as an index space; plain extents get the dims `pos0`, `pos1`, ... counted from the right."""
        items = shape_items(shape)
        axes: list[tuple[Dim, int]] = []
        for place, item in enumerate(reversed(items)):
            if isinstance(item, Axis):
                axes.insert(0, (self.dim(item), item.extent))
                continue
            if place not in self._positional:
                self._positional[place] = self.module.dim(f"pos{place}")
            axes.insert(0, (self._positional[place], item))
        space = IndexSpace.of(*axes)
        if len(set(space.dims)) != space.rank:
            fail(f"an axis stands twice in the shape {space}", rule="axis-repeated")
        return space

    @contextmanager
    def writing(self) -> Iterator[Builder]:
        """The builder, positioned in the innermost block and stamped with the user's line.

        What was written is checked against the rules on single operations at once.
        """
        if self.abandoned is not None:
            self.unterminated(self.abandoned)
        self.build.block = self.frame.block
        self.build.place = user_place()
        first = len(self.frame.block.operations)
        yield self.build
        for operation in self.frame.block.operations[first:]:
            problems = verify_operation(operation)
            if problems:
                raise CaptureError(problems)

    def is_live(self, value: Value) -> bool:
        """Whether the value may be used in the innermost block."""
        return any(frame.block is value.block for frame in self.frames)

    def add_cell(self, value: Value) -> CellState:
        cell = CellState(value, len(self.frames) - 1)
        self.frame.cells.append(cell)
        return cell

    def assign(self, cell: CellState, value: Value) -> None:
        """Gives a cell its next value; parallel bodies and maps may not change cells of outside."""
        for frame in self.frames[cell.home + 1 :]:
            if frame.carries_nothing:
                kind = frame.operation.kind.value if frame.operation else ""
                fail(
                    f"a {kind} cannot mutate an outer value",
                    rule="outer-value-mutated",
                    hint="its instances are independent; fold with tile.reduce, or use a serial nest",
                )
        if value.type != cell.value.type:
            fail(
                f"the value changed type from {cell.value.type} to {value.type}",
                rule="cell-changed-type",
                hint="bring it to the axes and the element of the cell: tile.broadcast_to, tile.cast",
            )
        cell.value = value

    def open(self, operation: Operation, block: Block) -> Frame:
        """Enters a block. In an ordered nest every live cell becomes a body argument until `close` knows better."""
        frame = Frame(operation, block, user_place())
        if operation.kind in ORDERED_NESTS:
            for cell in (cell for outer in self.frames for cell in outer.cells):
                argument = block.add_argument(cell.value.type)
                frame.entered.append((cell, cell.value, argument))
                cell.value = argument
        self.frames.append(frame)
        return frame

    def close(self, frame: Frame) -> None:
        """Leaves the innermost block: changed cells become carries, the others get their outer value back."""
        if self.frame is not frame:
            self.unterminated(self.frame)
        self.frames.pop()
        operation = frame.operation
        if operation is None:
            return
        changed = [each for each in frame.entered if each[0].value is not each[2]]
        if changed:
            self.build.block, self.build.place = frame.block, operation.place
            self.build.yield_(*(cell.value for cell, _, _ in changed))
        for cell, initial, argument in frame.entered:
            if cell.value is argument:
                argument.replace_all_uses_with(initial)
                frame.block.arguments.remove(argument)
                cell.value = initial
            else:
                operation.add_operand(initial)
                cell.value = operation.add_result(initial.type)
        for place, argument in enumerate(frame.block.arguments):
            argument.index = place

    def unterminated(self, frame: Frame) -> None:
        """Raises the fault of a nest that was not run to its end."""
        kind = frame.operation.kind if frame.operation else Kind.PARALLEL
        fail(
            f"unterminated {kind.value} nest: its body was left by break, return or an unfinished iterator",
            rule="unterminated-nest",
            hint="let the `for` over a nest run to its end; it is captured once",
            where=frame.opened,
        )


_ACTIVE: ContextVar[Capture | None] = ContextVar("tilewright_capture", default=None)


def current() -> Capture:
    """The capture in progress."""
    capture = _ACTIVE.get()
    if capture is None:
        fail("used outside of a kernel", rule="no-capture", hint="call it in a function decorated with @tile.kernel")
    return capture


@contextmanager
def capturing(capture: Capture) -> Iterator[None]:
    """Makes that capture the one in progress; there is one at a time."""
    if _ACTIVE.get() is not None:
        fail("nested capture: a kernel is being captured already", rule="nested-capture")
    token = _ACTIVE.set(capture)
    try:
        yield
    finally:
        _ACTIVE.reset(token)
