"""The mock caller of a library with listed sizes: each is called through its own symbol, and each can fail alone."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from callers.libraries import Library, bundle_of, cuda_library
from callers.rust_libraries import rust_bundle, rust_library, rust_oracle
from callers.test_planted_bugs import failing
from needed_tools import needs
from tilewright.callers.emulate import emulate_bundle
from tilewright.callers.foreign import probe_library
from tilewright.callers.mock.caller import checked_exports
from tilewright.device.ltoir import make_ltoir
from tilewright.device.workers import Workers
from tilewright.toolchain.toolkit import Toolkit

SOURCE = """\
[[tile_export(tile_shapes = {64, 128})]] __device__ float relu_any(float x) { return x > 0.0f ? x : 0.0f; }
[[tile_export(tile_shapes = {32, 2048})]] __device__ float over(float x, float y) { return x - y; }
[[tile_export(tile_shapes = {64})]] __device__ int over(int x, int y) { return x - y; }
[[tile_export]] __device__ void twice_any(float& x) { x += x; }
""".replace("{64})]] __device__ int over", '{64}, name = "less", symbol = "less_impl")]] __device__ int over')
RUST = """\
use cuda_device::{tile_export, warp};

#[tile_export(tile_shapes = [64, 256], sync = "warp")]
fn swap_any(x: f32) -> f32 { warp::shuffle_xor_f32_sync(u32::MAX, x, 1) }

#[tile_export(tile_shapes = [64])]
fn minus(a: f32, b: f32) -> f32 { a - b }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return cuda_library(tmp_path_factory.mktemp("listed"), SOURCE)


def test_each_size_is_a_check_and_a_parametric_export_without_a_list_goes_through_its_body(library: Library) -> None:
    assert [(export.symbol, export.tile_shape) for export in checked_exports(library.exports).exports] == [
        ("relu_any_impl__N64", 64),
        ("relu_any_impl__N128", 128),
        ("over_impl__N32", 32),
        ("over_impl__N2048", 2048),
        ("less_impl__N64", 64),
        ("twice_any_impl", 128),
    ]


@needs("g++")
def test_every_size_passes_against_the_function_itself(library: Library, toolkit: Toolkit, workers: Workers) -> None:
    compiler = shutil.which("g++") or ""
    bundle = bundle_of(library, toolkit, workers, compiler)
    report = emulate_bundle(bundle, workers=workers, compiler=compiler, include=toolkit.include)
    assert failing(report) == {}
    assert report.summary.startswith("SUCCESS: 6/6")


@needs("g++")
def test_a_fault_in_one_size_fails_that_size_alone(library: Library, toolkit: Toolkit, workers: Workers) -> None:
    compiler = shutil.which("g++") or ""
    bundle = bundle_of(library, toolkit, workers, compiler)
    assert bundle.emulation is not None
    text = bundle.emulation.library
    start = text.index("void over_impl__N32(")
    wrong = text[:start] + text[start:].replace("over_impl(x, y,", "over_impl(y, x,", 1)
    assert wrong != text
    bundle = replace(bundle, emulation=replace(bundle.emulation, library=wrong))
    report = emulate_bundle(bundle, workers=workers, compiler=compiler, include=toolkit.include)
    assert failing(report).keys() == {"over__N32"}


def test_one_reference_serves_every_size(library: Library, toolkit: Toolkit, workers: Workers) -> None:
    zero = np.float32(0)
    references = {
        "relu_any": lambda x: np.where(x > zero, x, zero),
        "over": lambda x, y: x - y,
        "less": lambda x, y: x - y,
        "twice_any": lambda x: x + x,
    }
    bundle = bundle_of(library, toolkit, workers, "", references)
    assert {check.oracle for check in bundle.checks} == {"a Python reference"}
    assert len(bundle.checks) == 6


def test_device_code_without_one_of_the_sizes_is_found_out(
    library: Library, toolkit: Toolkit, workers: Workers
) -> None:
    fewer = replace(
        library.exports, exports=(replace(library.exports.exports[0], tile_shapes=(64,)), *library.exports.exports[1:])
    )
    ltoir = make_ltoir(library.module, fewer, arch="sm_90", toolkit=toolkit, workers=workers)
    report = probe_library(ltoir, library.exports, name="x.ltoir", toolkit=toolkit, workers=workers)
    (problem,) = report.problems
    assert problem.what.startswith("`relu_any__N128`: the device code does not define `relu_any_impl__N128`")


@needs("rustc")
def test_a_rust_library_passes_at_every_size(tmp_path: Path, toolkit: Toolkit, workers: Workers) -> None:
    rust = rust_library(tmp_path, RUST)
    bundle = rust_bundle(rust, rust_oracle(rust, tmp_path, workers), toolkit, workers)
    report = emulate_bundle(bundle, workers=workers, compiler="")
    assert failing(report) == {}
    assert [check.symbol for check in bundle.checks] == ["swap_any_impl__N64", "swap_any_impl__N256", "minus_impl__N64"]
