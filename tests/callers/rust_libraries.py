"""Libraries made of Rust sources: their front-end results, oracles and bundles."""

from __future__ import annotations

from pathlib import Path

from callers.libraries import Library, ltoir_of
from sources.rust.project import read
from tilewright.callers.bundle import Bundle
from tilewright.callers.mock.caller import checked_exports
from tilewright.callers.oracle.host import HostOracle, native_oracle
from tilewright.callers.verification import make_bundle
from tilewright.device.workers import Workers
from tilewright.sources.rust.front_end import translation_unit
from tilewright.sources.rust.native import native_library
from tilewright.toolchain.toolkit import Toolkit

SOURCE = """\
use cuda_device::{tile_export, warp};

#[tile_export(tile_shape = 128)]
fn minus(a: f32, b: f32) -> f32 { a - b }

#[tile_export]
fn flip(x: &[f32; 4], y: &mut [f32; 4]) {
    for at in 0..4 { y[at] = x[3 - at]; }
}

#[tile_export(tile_shape = 128, sync = "warp")]
fn prefix_sum(x: f32) -> f32 {
    let (lane, mut sum, mut distance) = (warp::lane_id(), x, 1);
    while distance < 32 {
        let below = warp::shuffle_up_f32_sync(u32::MAX, sum, distance);
        if lane >= distance { sum += below; }
        distance *= 2;
    }
    sum
}

#[tile_export(tile_shape = 128)]
fn sigmoid(x: f32) -> f32 { 1.0 / (1.0 + (-x).exp()) }
"""
"""Two values, arrays without a tile size, a warp, and a function of libdevice."""


def rust_library(folder: Path, text: str) -> Library:
    """The library of a Rust source that is written to `folder`."""
    (folder / "k.rs").write_text(text)
    source = read(folder)
    return Library(source.exports, translation_unit(source.device_text, origin="k.rs", root=folder))


def rust_oracle(library: Library, folder: Path, workers: Workers) -> HostOracle:
    """The functions of the source in `folder`, compiled for this machine."""
    exports = checked_exports(library.exports).exports
    native = native_library(folder / "k.rs", exports, root=folder, library="sample")
    return native_oracle(native.data, exports, compiler=native.compiler, source="k.rs", workers=workers)


def rust_bundle(library: Library, oracle: HostOracle, toolkit: Toolkit, workers: Workers) -> Bundle:
    """The bundle for sm_90."""
    ltoir = ltoir_of(library, "sm_90", toolkit, workers)
    return make_bundle(
        library.exports,
        ltoir,
        library.module,
        name="sample.ltoir",
        arch="sm_90",
        seed=7,
        toolkit=toolkit,
        workers=workers,
        oracle=oracle,
    )
