"""Proxies for values of the kernel: scalars, tiles, and cells that carry a value through ordered nests."""

from __future__ import annotations

from numbers import Integral, Real
from typing import NoReturn, TypeAlias

from tilewright.tile.capture import Capture, current
from tilewright.tile.errors import fail
from tilewright.tileir.broadcast import union
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Value
from tilewright.tileir.types import Element, ScalarType, element_of, space_of
from tilewright.tileir.vocabulary import Opcode


class Handle:
    """A value of the kernel being captured. Arithmetic and comparisons record operations; there is no data in it."""

    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __init__(self, capture: Capture, value: Value) -> None:
        self.capture = capture
        self._value = value

    @property
    def value(self) -> Value:
        """The SSA value it stands for now."""
        return self._value

    @property
    def element(self) -> Element:
        """Element type; a coordinate is an i64."""
        element = element_of(self.value.type)
        if element is None:
            raise AssertionError(self.value)
        return element

    @property
    def space(self) -> IndexSpace:
        """Index space of a tile; rank 0 for a scalar."""
        return space_of(self.value.type) or IndexSpace()

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of a tile; () for a scalar."""
        return self.space.shape

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.value.type}>"

    def at(self, *indices: Operand) -> Scalar:
        """One element of a tile, by one integer scalar an axis."""
        capture = current()
        values = [operand(capture, index, Element.I64) for index in indices]
        tile = operand(capture, self, None)
        with capture.writing() as build:
            return Scalar(capture, build.extract(tile, values))

    def __bool__(self) -> NoReturn:
        fail(
            "data-dependent Python branch in a tile kernel: the value is not known while the kernel is captured",
            rule="data-dependent-branch",
            hint="choose with tile.where(condition, a, b); combine conditions with & | ~",
        )

    def _no_python_value(self, *_: object) -> NoReturn:
        fail(
            "data-dependent Python value in a tile kernel: the number is not known while the kernel is captured",
            rule="data-dependent-value",
            hint="sizes and trip counts are Python integers, such as the shape of a parameter",
        )

    __int__ = __index__ = __float__ = __iter__ = __len__ = _no_python_value

    def __add__(self, other: Operand) -> Handle:
        return combine(Opcode.ADD, self, other)

    def __radd__(self, other: Operand) -> Handle:
        return combine(Opcode.ADD, other, self)

    def __sub__(self, other: Operand) -> Handle:
        return combine(Opcode.SUB, self, other)

    def __rsub__(self, other: Operand) -> Handle:
        return combine(Opcode.SUB, other, self)

    def __mul__(self, other: Operand) -> Handle:
        return combine(Opcode.MUL, self, other)

    def __rmul__(self, other: Operand) -> Handle:
        return combine(Opcode.MUL, other, self)

    def __truediv__(self, other: Operand) -> Handle:
        return _divide(self, other, whole=False)

    def __rtruediv__(self, other: Operand) -> Handle:
        return _divide(other, self, whole=False)

    def __floordiv__(self, other: Operand) -> Handle:
        return _divide(self, other, whole=True)

    def __rfloordiv__(self, other: Operand) -> Handle:
        return _divide(other, self, whole=True)

    def __mod__(self, other: Operand) -> Handle:
        return combine(Opcode.MOD, self, other)

    def __rmod__(self, other: Operand) -> Handle:
        return combine(Opcode.MOD, other, self)

    def __neg__(self) -> Handle:
        return combine(Opcode.NEG, self)

    def __abs__(self) -> Handle:
        return combine(Opcode.ABS, self)

    def __and__(self, other: Operand) -> Handle:
        return combine(Opcode.AND, self, other)

    def __rand__(self, other: Operand) -> Handle:
        return combine(Opcode.AND, other, self)

    def __or__(self, other: Operand) -> Handle:
        return combine(Opcode.OR, self, other)

    def __ror__(self, other: Operand) -> Handle:
        return combine(Opcode.OR, other, self)

    def __invert__(self) -> Handle:
        return combine(Opcode.NOT, self)

    def __lt__(self, other: Operand) -> Handle:
        return combine(Opcode.LT, self, other)

    def __le__(self, other: Operand) -> Handle:
        return combine(Opcode.LE, self, other)

    def __gt__(self, other: Operand) -> Handle:
        return combine(Opcode.GT, self, other)

    def __ge__(self, other: Operand) -> Handle:
        return combine(Opcode.GE, self, other)

    def __eq__(self, other: object) -> Handle:  # type: ignore[override]
        return combine(Opcode.EQ, self, other)

    def __ne__(self, other: object) -> Handle:  # type: ignore[override]
        return combine(Opcode.NE, self, other)


class Scalar(Handle):
    """One element."""


class Tile(Handle):
    """An immutable value over named axes."""


class Var(Handle):
    """A cell: reads give its current value, `set` and augmented assignment give it a new one.

    A cell that changes in the body of a serial, pipeline or reduce nest is carried through it.
    """

    def __init__(self, capture: Capture, value: Value) -> None:
        super().__init__(capture, value)
        self._cell = capture.add_cell(value)

    @property
    def value(self) -> Value:
        return self._cell.value

    def get(self) -> Handle:
        """The current value, unaffected by a later `set`."""
        return wrap(self.capture, self.value)

    def set(self, value: Operand) -> None:
        """The next value, of the type the cell has."""
        capture = current()
        operand(capture, self, None)
        capture.assign(self._cell, operand(capture, value, self.element))

    def __iadd__(self, other: Operand) -> Var:
        self.set(self + other)
        return self

    def __isub__(self, other: Operand) -> Var:
        self.set(self - other)
        return self

    def __imul__(self, other: Operand) -> Var:
        self.set(self * other)
        return self

    def __itruediv__(self, other: Operand) -> Var:
        self.set(self / other)
        return self


Operand: TypeAlias = Handle | bool | int | float
"""What arithmetic takes: a value of this kernel or a Python number, which gets the element type of its neighbour."""


def var(initial: Operand) -> Var:
    """A cell that starts with that value."""
    capture = current()
    return Var(capture, operand(capture, initial, None))


def wrap(capture: Capture, value: Value) -> Handle:
    """The proxy of a value."""
    return Scalar(capture, value) if space_of(value.type) is None else Tile(capture, value)


def operand(capture: Capture, thing: object, element: Element | None) -> Value:
    """The SSA value of an operand; a Python number becomes a constant of `element` (f32 or i64 if None)."""
    if isinstance(thing, Handle):
        if thing.capture is not capture:
            fail("foreign operand: the value belongs to another kernel", rule="foreign-operand")
        if not capture.is_live(thing.value):
            fail(
                "the value was made in the body of a nest that has ended",
                rule="escaped-value",
                hint="make a cell before the nest, acc = tile.var(...), and set it in the body: acc.set(...)",
            )
        return thing.value
    if element is None:
        whole = Element.BOOL if isinstance(thing, bool) else Element.I64
        element = whole if isinstance(thing, Integral) else Element.F32
    number = payload(thing, element)
    with capture.writing() as build:
        return build.constant(number, ScalarType(element))


def payload(number: object, element: Element) -> bool | int | float:
    """A Python number as the payload of a constant; what the element cannot hold is left to the rule of constants."""
    if isinstance(number, bool):
        return number
    if not isinstance(number, Real):
        fail(
            f"foreign operand: {type(number).__name__} is no value of a tile kernel",
            rule="foreign-operand",
            hint="pass arrays as parameters; Python numbers are constants",
        )
    return int(number) if isinstance(number, Integral) and not element.is_float else float(number)


def combine(opcode: Opcode, *operands: object) -> Handle:
    """Records an element-wise operation; tiles broadcast over the axes they do not share."""
    capture = current()
    typed = operands[1:] if opcode is Opcode.SELECT else operands
    element = next((each.element for each in typed if isinstance(each, Handle)), None)
    if element is None:
        floats = any(isinstance(each, Real) and not isinstance(each, Integral) for each in typed)
        element = Element.F32 if floats else None
    values = []
    for place, each in enumerate(operands):
        condition = opcode is Opcode.SELECT and place == 0
        values.append(operand(capture, each, Element.BOOL if condition else element))
    spaces = [space for value in values if (space := space_of(value.type)) is not None]
    if spaces and union(spaces) is None:
        shapes = " and ".join(str(space) for space in spaces)
        fail(
            f"`{opcode.label}` of {shapes}: extents of a shared axis have to be equal or singleton",
            rule="not-broadcastable",
        )
    with capture.writing() as build:
        return wrap(capture, build.elementwise(opcode, *values))


def _divide(left: Operand, right: Operand, *, whole: bool) -> Handle:
    handle = left if isinstance(left, Handle) else right
    if isinstance(handle, Handle) and handle.element.is_float == whole:
        word, other = ("//", "/") if whole else ("/", "//")
        fail(
            f"`{word}` is not for {handle.element}", rule="wrong-division", hint=f"write `{other}`, or tile.cast first"
        )
    return combine(Opcode.DIV, left, right)
