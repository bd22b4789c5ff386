"""Which functions of `functions.rs` run on the host, with their native parameters and the inputs that do not panic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from device.retarget.differential import Array

Keep = Callable[[list[Array]], NDArray[np.bool_]]


def _divides(columns: list[Array]) -> NDArray[np.bool_]:
    a, b = (column[:, 0] for column in columns[:2])
    return np.asarray((b != 0) & ~((a == np.iinfo(np.int32).min) & (b == -1)))


def _remains(columns: list[Array]) -> NDArray[np.bool_]:
    a, b = (column[:, 0] for column in columns[:2])
    return np.asarray((b | 1 != -1) | (a != np.iinfo(np.int32).min))


def _in_range(columns: list[Array]) -> NDArray[np.bool_]:
    return np.asarray(columns[1][:, 0] < 4)


def _small(columns: list[Array]) -> NDArray[np.bool_]:
    return np.asarray(columns[0][:, 0] < 40)


@dataclass(frozen=True)
class Case:
    """`parameters` as `differential.Kind` reads them."""

    symbol: str
    parameters: tuple[str, ...]
    keep: Keep | None = None
    inputs: int = 12_000


CASES = (
    Case("relu_impl", ("f32", "*f32")),
    Case("scale_in_place_impl", ("*f32", "f32")),
    Case("gelu_impl", ("f32", "*f32")),
    Case("math32_impl", ("f32", "f32", "*f32")),
    Case("math64_impl", ("f64", "f64", "*f64")),
    Case("exact32_impl", ("f32", "f32", "*f32")),
    Case("sign_impl", ("f32", "f32", "*f32")),
    Case("order_impl", ("f32", "f32", "*i32")),
    Case("extreme_impl", ("f64", "f64", "*f64")),
    Case("softmax_impl", ("*f32x4",)),
    Case("pick_impl", ("*f32x4", "u32", "*f32"), _in_range, 90_000),
    Case("divide_impl", ("i32", "i32", "*i32"), _divides),
    Case("messages_impl", ("u32", "*u32"), _small, 30_000),
    Case("hash_impl", ("u64", "*u64")),
    Case("mix_impl", ("i8", "u8", "i16", "u16", "*i16")),
    Case("casts_impl", ("f32", "f64", "*u64")),
    Case("wide_impl", ("u64", "u64", "*u64")),
    Case("wide_division_impl", ("u64", "u64", "*u64")),
    Case("checked_impl", ("i32", "i32", "*i32"), _remains),
    Case("compare_impl", ("i64", "i64", "*i32")),
    Case("roots_impl", ("u32", "*u32")),
    Case("arrays_impl", ("u64", "u64", "*u32")),
    Case("iterate_impl", ("*i32x4", "*i32")),
    Case("sorted_impl", ("u32", "u32", "u32", "*u32")),
    Case("match_impl", ("i32", "f32", "*f32")),
    Case("tables_impl", ("u32", "*f32")),
    Case("indirect_impl", ("u32", "f32", "*f32")),
    Case("wide_bits_impl", ("u64", "u64", "*u64")),
    Case("narrow_overflow_impl", ("i8", "u8", "i8", "u8", "*u8")),
    Case("wide_overflow_impl", ("u64", "u64", "u64", "u64", "*u64"), inputs=30_000),
    Case("structs_impl", ("*f64x4", "u32")),
)
ON_A_GPU_ONLY = ("warp_sum_impl", "branches_impl")
