"""The functions of a Rust source called on this machine over whole arrays, lanes in lockstep, faults named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from callers.test_warp_functions import VALUES, at, lanes_where
from needed_tools import needs
from sources.project import write
from tilewright.callers.error import CallerError
from tilewright.callers.mock.caller import checked_exports
from tilewright.callers.oracle.host import HostOracle, native_oracle
from tilewright.device.workers import Workers
from tilewright.exports.model import TileExport
from tilewright.sources.rust.modules import read_crate
from tilewright.sources.rust.native import native_library
from tilewright.sources.rust.reader import read_exports

pytestmark = [needs("rustc"), needs("cc")]

WARP = '#[tile_export(tile_shape = 32, sync = "warp")]'
SHARED = "const ALL: u32 = u32::MAX;\nfn lane() -> u32 { warp::lane_id() }\n"
BODIES: dict[str, tuple[str, Callable[[int], int]]] = {
    "shuffle": ("warp::shuffle_u32_sync(ALL, x, 5)", lambda lane: at(5)),
    "shuffle beyond the warp": ("warp::shuffle_u32_sync(ALL, x, 37)", lambda lane: at(5)),
    "shuffle in a ring": ("warp::shuffle_u32_sync(ALL, x, lane() + 1)", lambda lane: at((lane + 1) % 32)),
    "up": ("warp::shuffle_up_u32_sync(ALL, x, 3)", lambda lane: at(lane - 3 if lane >= 3 else lane)),
    "down": ("warp::shuffle_down_u32_sync(ALL, x, 3)", lambda lane: at(lane + 3 if lane < 29 else lane)),
    "xor": ("warp::shuffle_xor_u32_sync(ALL, x, 6)", lambda lane: at(lane ^ 6)),
    "signed": ("warp::shuffle_xor_i32_sync(ALL, x as i32, 1) as u32", lambda lane: at(lane ^ 1)),
    "float": ("warp::shuffle_down_f32_sync(ALL, f32::from_bits(x), 1).to_bits()", lambda lane: at(min(lane + 1, 31))),
    "ballot": ("warp::ballot(ALL, x & 1 == 1)", lambda lane: lanes_where(VALUES & 1 == 1)),
    "any": ("warp::any(ALL, lane() == 31) as u32", lambda lane: 1),
    "all": ("warp::all(ALL, lane() != 31) as u32", lambda lane: 0),
    "all of a half": ("warp::all(ALL, lane() < 32) as u32", lambda lane: 1),
    "barrier": ("{ warp::sync(ALL); lane() }", lambda lane: lane),
    "one half at a time": (
        "if lane() < 16 { warp::shuffle_xor_u32_sync(0xffff, x, 1) } "
        "else { warp::shuffle_xor_u32_sync(0xffff_0000, x, 2) }",
        lambda lane: at(lane ^ (1 if lane < 16 else 2)),
    ),
}

PLAIN = """\
use cuda_device::{thread, tile_export, warp};
mod inside {
    use cuda_device::tile_export;
    #[tile_export(tile_shape = 8, symbol = "lowered")]
    fn private(x: i16, r#type: &i64) -> i64 { crate::doubled(x as i64) - r#type }
}
fn doubled(x: i64) -> i64 { 2 * x }
#[tile_export(tile_shape = 8)]
fn both(x: &[u8; 2], y: &mut [u8; 2]) { (y[0], y[1]) = (x[1], x[0].wrapping_add(y[1])); }
#[tile_export(tile_shape = 8)]
fn several<'a>(x: &'a mut f64, y: &'a f64) -> u16 { *x += *y; *x as u16 }
#[tile_export(tile_shape = 8)]
fn beyond(x: u32) -> u32 { [1, 2, 3][x as usize] }
#[tile_export(tile_shape = 64, sync = "warp")]
fn beyond_in_warp(x: u32) -> u32 { warp::shuffle_xor_u32_sync(u32::MAX, [1, 2, 3][x as usize], 1) }
#[tile_export(tile_shape = 64, sync = "warp")]
fn some_lanes(x: u32) -> u32 { if x > 40 { warp::ballot(u32::MAX, true) } else { 0 } }
#[tile_export(tile_shape = 64, sync = "warp")]
fn different(x: u32) -> u32 { if x % 2 == 0 { warp::any(u32::MAX, true) as u32 } else { warp::ballot(u32::MAX, true) } }
#[tile_export(tile_shape = 64, sync = "warp")]
fn not_in_mask(x: u32) -> u32 { warp::shuffle_up_u32_sync(0xff, x, 1) }
#[tile_export(tile_shape = 8)]
fn lonely(x: u32) -> u32 { warp::shuffle_up_u32_sync(u32::MAX, x, 1) }
#[tile_export(tile_shape = 8)]
fn somewhere(x: u32) -> u32 { x + thread::index_x() }
"""


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory, workers: Workers) -> HostOracle:
    folder = tmp_path_factory.mktemp("oracle")
    functions = [
        f"{WARP} fn f{number}(x: u32) -> u32 {{ {body} }}\n" for number, (body, _) in enumerate(BODIES.values())
    ]
    write(folder, {"k.rs": "//! In the user's words.\n" + PLAIN + SHARED + "".join(functions)})
    return made(folder, workers)


def made(folder: Path, workers: Workers) -> HostOracle:
    reading = read_exports(read_crate(folder / "k.rs", root=folder), "sample", nightly_f16=True)
    exports = checked_exports(reading.exports).exports
    native = native_library(folder / "k.rs", exports, root=folder, library="sample")
    return native_oracle(native.data, exports, compiler=native.compiler, source="k.rs", workers=workers)


def named(oracle: HostOracle, name: str) -> TileExport:
    return next(export for export in oracle.exports if export.name == name)


def counted(kind: str, count: int = 8) -> NDArray[np.generic]:
    return np.arange(count).astype(kind)


def fault(oracle: HostOracle, name: str) -> str:
    export = named(oracle, name)
    with pytest.raises(CallerError) as raised:
        oracle.expected(export, {"x": counted("u4", export.tile_shape or 0)})
    return str(raised.value)


def test_lanes_do_what_the_manual_says(oracle: HostOracle) -> None:
    for number, (case, (_, model)) in enumerate(BODIES.items()):
        found = oracle.expected(named(oracle, f"f{number}"), {"x": VALUES})[f"f{number}_out"]
        assert found.tolist() == [model(lane) for lane in range(32)], case


def test_every_way_to_pass_a_parameter(oracle: HostOracle) -> None:
    private = oracle.expected(named(oracle, "private"), {"x": counted("i2"), "type": counted("i8") * 10})
    assert private["private_out"].tolist() == [-8 * at for at in range(8)]
    both = oracle.expected(named(oracle, "both"), {"x": counted("u1"), "y": counted("u1") + np.uint8(100)})
    assert both["y"].tolist() == [1, 101, 3, 105, 5, 109, 7, 113]
    several = oracle.expected(named(oracle, "several"), {"x": counted("f8"), "y": counted("f8") / 2})
    assert several["x"].tolist() == [1.5 * at for at in range(8)]
    assert several["several_out"].tolist() == [0, 1, 3, 4, 6, 7, 9, 10]


def test_it_says_who_compiled_the_functions(oracle: HostOracle) -> None:
    assert oracle.name.startswith("the function itself compiled for the CPU by rustc 1.")
    assert oracle.name.endswith(", 32 lanes in lockstep where it is warp-synchronous")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "beyond",
            "panicked at k.rs:14:28: index out of bounds: the len is 3 but the index is 3, at element 3",
        ),
        (
            "beyond_in_warp",
            "lane 3 panicked at k.rs:16:73: index out of bounds: the len is 3 but the index is 3, at element 3",
        ),
        ("some_lanes", "lane 9 waits in `warp::ballot` for lanes that never come"),
        ("different", "lane 0 waits in `warp::any` for lanes that never come"),
        ("not_in_mask", "`warp::shuffle_up_u32_sync`: lane 8 is not in its own mask"),
        ("lonely", '`warp::shuffle_up_u32_sync` needs a warp, and the export does not say sync = "warp", at element 0'),
        (
            "somewhere",
            "`thread::index_x` depends on the launch of the tile kernel, so that nothing can be expected of it",
        ),
    ],
)
def test_a_fault_is_the_exports(name: str, words: str, oracle: HostOracle) -> None:
    text = fault(oracle, name)
    assert text.startswith(f"k.rs: error: `{name}`: the function compiled for the CPU failed: ")
    assert words in text


def test_halves_are_computed_by_the_host(tmp_path: Path, workers: Workers) -> None:
    text = "use cuda_device::tile_export;\n#[tile_export(tile_shape = 8)]\nfn half(x: f16, y: &mut f16) { *y += x; }\n"
    oracle = made(write(tmp_path, {"k.rs": text}), workers)
    found = oracle.expected(oracle.exports[0], {"x": counted("f2") / np.float16(8), "y": counted("f2")})
    assert found["y"].tolist() == [1.125 * at for at in range(8)]
