"""The evidence kernels of the CUDA route: shapes, inputs and tolerances. For emulation and for the GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tile import kernels as dsl
from tileir import kernels as built
from tilewright import tile
from tilewright.tile import f32
from tilewright.tileir.graph import Function
from tilewright.tileir.types import ViewType
from tilewright.tileir.usage import Usage, usages

Array = NDArray[np.float32]
GUARD = 17.0


@dataclass(frozen=True)
class Case:
    """One kernel at one shape: |got - want| <= tolerance * (1 + |want|) for every element of every argument.

    `inputs` replaces the random contents of a parameter. `threads` is an exact block.
    """

    name: str
    capture: Callable[[], Function]
    tolerance: float
    inputs: Mapping[str, Callable[[np.random.Generator], NDArray[np.float64]]] = field(default_factory=dict)
    threads: int = 0


def arguments(function: Function, case: Case, seed: int) -> list[Array]:
    """Contents before the launch: random numbers, and NaN where the kernel only writes."""
    random = np.random.default_rng(seed)
    found = []
    for parameter, usage in zip(function.parameters, usages(function), strict=True):
        assert isinstance(parameter.type, ViewType)
        shape = parameter.type.space.shape
        if parameter.name in case.inputs:
            found.append(case.inputs[parameter.name](random).astype(np.float32))
        elif usage is Usage.WRITE:
            found.append(np.full(shape, np.nan, np.float32))
        else:
            found.append(random.standard_normal(shape).astype(np.float32))
    return found


def worst(got: Array, want: NDArray[np.float64], tolerance: float) -> float:
    """The largest error as a share of what is allowed; inf where one side is NaN or infinite and the other is not."""
    got64 = got.astype(np.float64)
    same = (got64 == want) | (np.isnan(got64) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(got64 - want) / (tolerance * (1.0 + np.abs(want))))
    return float(np.max(np.where(np.isnan(error), np.inf, error), initial=0.0))


def linear_row(columns: int) -> Callable[[], Function]:
    """y = 1.25 x - 0.75, its absolute value by a select, and the sum of each row."""

    @tile.kernel
    def row_program(x: tile.In[f32, 2], y: tile.Out[f32, 2], total: tile.Out[f32, 1]):
        one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
        for row in tile.parallel(x.shape[0]):
            at = (row.index(), 0)
            v = x[at, (one, n)] * 1.25 - 0.75
            v = tile.where(v > 0.0, v, -v)
            y[at, (one, n)] = v
            total[row.index(), one] = tile.sum(v, n)

    return lambda: row_program.capture((17, columns), (17, columns), (17,)).function


def overwritten(pipelined: bool, trips: int) -> Callable[[], Function]:
    return lambda: built.recurrence(19, trips, pipelined=pipelined)


def wrapped_origin() -> Function:
    """Program i reads from i * (2**63 - 1) of a view of length 2: 0, far outside, and -2 after the overflow."""

    @tile.kernel
    def wrapped(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
        one = tile.axis("one", 1)
        for p in tile.parallel(3):
            y[p.index(), one] = x[p.index() * (2**63 - 1), one]

    return wrapped.capture((2,), (3,)).function


def permuted() -> Function:
    """Four parameters of 97 elements, the second one unused: d is read, a is written from c + d."""

    @tile.kernel
    def four(a: tile.Out[f32, 1], unused: tile.In[f32, 1], c: tile.In[f32, 1], d: tile.In[f32, 1]):
        e = tile.axis("e", 32)
        for p in tile.parallel(tile.cdiv(97, 32)):
            o = p.index() * 32
            a[o, e] = c[o, e] * 2.0 + d[o, e]

    return four.capture((97,), (97,), (97,), (97,)).function


def cross_entropy(rows: int, columns: int) -> Function:
    """The loss of each row; labels are floats, of which those outside 0..columns-1 give 0: a guarded gather."""

    @tile.kernel
    def loss(x: tile.In[f32, 2], label: tile.In[f32, 1], y: tile.Out[f32, 1]):
        one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
        for row in tile.parallel(x.shape[0]):
            r = row.index()
            wanted = tile.cast(label.elem(r).load(), tile.i64)
            known = (wanted >= 0) & (wanted < x.shape[1])
            logit = x.elem(r, wanted).load(known, 0.0)
            total = tile.log_sum_exp(x[(r, 0), (one, n)], n)
            y[r, one] = tile.where(known, total - logit, 0.0)

    return loss.capture((rows, columns), (rows,), (rows,)).function


def integers() -> Function:
    """Division and remainder of both signs by constants and by data, wrapping products, selects of index values."""

    @tile.kernel
    def whole(x: tile.In[f32, 1], y: tile.Out[f32, 2]):
        one, n = tile.axis("one", 1), tile.axis("n", 40)
        for p in tile.parallel(6):
            i = tile.iota(n) - 20
            j = tile.cast(x[0, n] * 4.0, tile.i32)
            values = [
                i // 7,
                i % 7,
                tile.cast(tile.cast(i, tile.i32) * 1_000_000_000 + j, tile.i64) // 1000,
                tile.cast(tile.cast(i, tile.i32) // j, tile.i64),
                tile.where(i % 2 == 0, tile.maximum(i, p.index()), abs(i) * 3),
                tile.cast((tile.cast(i, tile.i32) // 100 - 2**30 - 2**30) // j, tile.i64),
            ]
            picked = values[0]
            for place, value in enumerate(values[1:], 1):
                picked = tile.where(p.index() == place, value, picked)
            y[(p.index(), 0), (one, n)] = tile.cast(picked, f32)

    return whole.capture((40,), (6, 40)).function


def long_chain(width: int) -> Callable[[], Function]:
    """600 operations one after the other on each element."""

    @tile.kernel
    def chain(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
        e = tile.axis("e", width)
        for p in tile.parallel(2):
            value = x[p.index() * width, e]
            for _ in range(300):
                value = value * 0.5 + 1.0
            y[p.index() * width, e] = value

    return lambda: chain.capture((2 * width,), (2 * width,)).function


def chained_rows() -> Function:
    """A long chain below a reduction, so that the program of a row stays whole."""

    @tile.kernel
    def rows(x: tile.In[f32, 2], y: tile.Out[f32, 1]):
        one, n = tile.axis("one", 1), tile.axis("n", 6)
        for p in tile.parallel(3):
            value = x[(p.index(), 0), (one, n)]
            for _ in range(100):
                value = value * 0.5 + 1.0
            y[p.index(), one] = tile.sum(value, n)

    return rows.capture((3, 6), (3,)).function


def narrow_types() -> Function:
    """Wrapping arithmetic in every integer type, and what double precision gives."""

    @tile.kernel
    def narrow(x: tile.In[f32, 1], y: tile.Out[f32, 2]):
        one, n = tile.axis("one", 1), tile.axis("n", 16)
        elements = (tile.i8, tile.u8, tile.i16, tile.u16, tile.i32, tile.u32, tile.i64, tile.u64)
        for _ in tile.parallel(1):
            start = tile.iota(n) * 37
            for place, element in enumerate(elements):
                v = tile.cast(start, element)
                w = v * v * v + v - tile.cast(start * 3, element)
                w = tile.where(v > tile.cast(start - 1, element), w, tile.maximum(v, w))
                w = w // tile.cast(start + 3, element)
                y[(place, 0), (one, n)] = tile.cast(tile.cast(w, tile.i32) % 1000, f32)
            wide = tile.exp(tile.cast(x[0, n], tile.f64)) / 3.0
            y[(8, 0), (one, n)] = tile.cast(wide + tile.abs(-wide), f32)

    return narrow.capture((16,), (9, 16)).function


def rotation(trips: int) -> Function:
    """Three tiles and two scalars change places in each trip."""

    @tile.kernel
    def rotate(x: tile.In[f32, 2], y: tile.Out[f32, 2]):
        one, n = tile.axis("one", 1), tile.axis("n", 5)
        for p in tile.parallel(2):
            tiles = [tile.var(x[(row, 0), (one, n)]) for row in range(3)]
            low, high = tile.var(x.elem(0, 0).load()), tile.var(x.elem(2, 4).load())
            for _ in tile.serial(trips):
                first = tile.Tile(tiles[0].capture, tiles[0].value)
                tiles[0].set(tiles[1])
                tiles[1].set(tiles[2])
                tiles[2].set(first)
                kept = tile.Scalar(low.capture, low.value)
                low.set(high)
                high.set(kept)
            for row in range(3):
                y[(p.index() * 3 + row, 0), (one, n)] = tiles[row] * 2.0 + (low - high)

    return rotate.capture((3, 5), (6, 5)).function


def shifted_in_place() -> Function:
    """Each program moves its eight elements one place on, in the buffer it read them from."""

    @tile.kernel
    def shift(x: tile.InOut[f32, 1]):
        e = tile.axis("e", 8)
        for p in tile.parallel(3):
            x[p.index() * 9 + 1, e] = x[p.index() * 9, e] * 2.0

    return shift.capture((27,)).function


def singletons() -> Function:
    """A row and a column stretched over a block; the axes are positions, so each shares a dim of extent 1."""

    @tile.kernel
    def outer(x: tile.In[f32, 2], y: tile.In[f32, 2], z: tile.Out[f32, 2]):
        for p in tile.parallel(2):
            z[(p.index() * 3, 0), (3, 8)] = x[(p.index(), 0), (1, 8)] - y[(p.index() * 3, 0), (3, 1)]

    return outer.capture((2, 8), (6, 1), (6, 8)).function


def empty_axis() -> Function:
    """A sum over no elements is 0; a store of no elements writes nothing."""

    @tile.kernel
    def nothing(x: tile.In[f32, 2], y: tile.Out[f32, 1], z: tile.Out[f32, 1]):
        one, n = tile.axis("one", 1), tile.axis("n", 0)
        for p in tile.parallel(3):
            z[p.index(), n] = 3.0
            y[p.index(), one] = tile.sum(x[(p.index(), 0), (one, n)], n) + 1.0

    return nothing.capture((3, 4), (3,), (3,)).function


def gemm_cases() -> list[Case]:
    flips = [(a, b) for a in (False, True) for b in (False, True)]
    sizes = [
        ((16, 24, 16), (1, 1, 8), 0.0, 2e-5),
        ((17, 19, 13), (2, 3, 4), 0.25, 2e-5),
        ((48, 32, 24), (4, 4, 8), 0.0, 2e-4),
        ((32, 64, 32), (8, 8, 8), 0.0, 2e-4),
    ]
    cases = [
        Case(
            f"gemm-{'x'.join(map(str, shape))}",
            lambda s=shape, t=tiles, c=start: built.gemm(s, t, start_value=c),
            limit,
        )
        for shape, tiles, start, limit in sizes
    ]
    for a, b in flips:
        word = f"{'t' if a else 'n'}{'t' if b else 'n'}"
        cases.append(
            Case(
                f"gemm-ordered-{word}",
                lambda a=a, b=b: built.gemm(
                    (7, 11, 9), (2, 3, 4), transposed=(a, b), start_value=0.5, allow_reassociation=False
                ),
                2e-5,
            )
        )
        for free in (False, True):
            cases.append(
                Case(
                    f"gemm-tile16-{word}-{'free' if free else 'ordered'}",
                    lambda a=a, b=b, free=free: built.gemm(
                        (32, 32, 16), (16, 16, 16), transposed=(a, b), allow_reassociation=free
                    ),
                    2e-4,
                )
            )
    cases.append(Case("gemm-patched", lambda: built.gemm((128, 128, 16), (4, 8, 8)), 2e-4))
    batched = dsl.make_batched_gemm(4)
    cases.append(Case("gemm-batched", lambda: batched.capture((3, 17, 13), (3, 13, 19), (3, 17, 19)).function, 2e-4))
    return cases


def row_cases() -> list[Case]:
    cases = []
    for columns in (1, 7, 17):
        cases.append(Case(f"row-program-{columns}", linear_row(columns), 2e-5))
        cases.append(Case(f"softmax-17x{columns}", lambda n=columns: built.softmax(17, n), 2e-5))
    for columns in (7, 32, 65):
        shape, weight = (17, columns), (columns,)
        for name, definition, shapes in (
            ("rms_norm", dsl.rms_norm, (shape, weight, shape)),
            ("layer_norm", dsl.layer_norm, (shape, weight, weight, shape)),
            ("swiglu", dsl.swiglu, (shape, shape, shape)),
            ("gelu_residual", dsl.gelu_residual, (shape, shape, shape)),
            ("masked_softmax", dsl.masked_softmax, (shape, shape)),
        ):
            cases.append(Case(f"{name}-17x{columns}", lambda d=definition, s=shapes: d.capture(*s).function, 5e-5))
    for columns in (6, 32, 66):
        half = columns // 2
        angles = np.outer(np.arange(17.0), 1e4 ** (-np.arange(half) / half))
        cases.append(
            Case(
                f"rope-17x{columns}",
                lambda n=columns, h=half: dsl.rope.capture((17, n), (17, h), (17, h), (17, n)).function,
                5e-5,
                {"cosine": lambda _, a=angles: np.cos(a), "sine": lambda _, a=angles: np.sin(a)},
            )
        )
    for name, b, hq, hkv, q, k, d, dv in (
        ("prefill", 1, 2, 2, 4, 5, 4, 3),
        ("gqa", 2, 4, 2, 7, 11, 8, 7),
        ("decode", 2, 4, 2, 1, 17, 8, 7),
    ):
        shapes = (b, hq, q, d), (b, hkv, k, d), (b, hkv, k, dv), (b, hq, q, dv)
        attention = tile.attention(2, 3)
        cases.append(Case(f"attention-{name}", lambda a=attention, s=shapes: a.capture(*s).function, 5e-5))
    return cases


def cases() -> list[Case]:
    """All of them; the elementwise, sum, extrema and softmax rows have the shapes of the CUDA suite."""
    labels = {"label": lambda random: np.array([0, 30, -1, 31, 7, 12, 29], np.float64)}
    return [
        Case("axpb-1003", lambda: dsl.axpb.capture((1003,), (1003,)).function, 2e-4),
        Case("axpb-1024", lambda: dsl.axpb.capture((1024,), (1024,)).function, 2e-4),
        Case("axpb-1003-block-64", lambda: dsl.axpb.capture((1003,), (1003,)).function, 2e-4, threads=64),
        Case("row_sum-37x19", lambda: dsl.row_sum.capture((37, 19), (37,)).function, 2e-4),
        Case("row_extrema-17x31", lambda: dsl.row_extrema.capture((17, 31), (17,), (17,)).function, 2e-4),
        Case("softmax-9x13", lambda: dsl.softmax.capture((9, 13), (9, 13)).function, 2e-4),
        Case("softmax-5x260", lambda: dsl.softmax.capture((5, 260), (5, 260)).function, 2e-4),
        Case("permuted-97", permuted, 1e-6),
        Case("long_chain-16", long_chain(16), 2e-5),
        Case("long_chain-7", long_chain(7), 2e-5),
        Case("chained_rows", chained_rows, 2e-5),
        Case("narrow_types", narrow_types, 2e-6),
        Case("rotation-1", lambda: rotation(1), 2e-6),
        Case("rotation-4", lambda: rotation(4), 2e-6),
        Case("shifted_in_place", shifted_in_place, 2e-6),
        Case("singletons", singletons, 2e-6),
        Case("empty_axis", empty_axis, 1e-6),
        Case("nested_parallel", built.nested_parallel, 1e-6),
        Case("cross_entropy-7x31", lambda: cross_entropy(7, 31), 5e-5, labels),
        Case("clipped_origin-1", lambda: built.clipped_origin(1), 2e-5),
        Case("clipped_origin-far", lambda: built.clipped_origin(2**63 - 1), 2e-5),
        Case("wrapped_origin", wrapped_origin, 2e-5),
        Case(
            "integers",
            integers,
            1e-6,
            {"x": lambda random: np.where(np.arange(40) % 4, np.arange(40) - 20, 0) / 4.0},
        ),
        *(
            Case(f"recurrence-{'pipeline' if piped else 'serial'}-{trips}", overwritten(piped, trips), 2e-5)
            for piped in (False, True)
            for trips in (0, 1, 5)
        ),
        *gemm_cases(),
        *row_cases(),
    ]
