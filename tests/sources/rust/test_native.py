"""A crate compiled for this machine: what is refused, in whose words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sources.project import write
from sources.rust.project import RELU, environment
from tilewright.exports.model import TileExport
from tilewright.sources.rust.modules import read_crate
from tilewright.sources.rust.native import native_identity, native_library
from tilewright.sources.rust.reader import read_exports
from tilewright.sources.source import SourceError


def exports_of(root: Path) -> tuple[TileExport, ...]:
    return read_exports(read_crate(root / "k.rs", root=root), "sample").exports.exports


def refusal(root: Path, exports: tuple[TileExport, ...], **options: dict[str, str]) -> str:
    with pytest.raises(SourceError) as caught:
        native_library(root / "k.rs", exports, root=root, library="sample", **options)
    return str(caught.value)


def test_an_error_of_rustc_is_in_the_users_file(tmp_path: Path) -> None:
    write(tmp_path, {"k.rs": RELU.replace("x.max(0.0)", "x.max(y)")})
    text = refusal(tmp_path, exports_of(tmp_path))
    assert text.startswith("k.rs:3:36: error: rustc: cannot find value `y` in this scope [E0425]\n")


def test_code_for_the_device_alone_is_left_out(tmp_path: Path) -> None:
    text = RELU + '#[cfg(tilewright_device)]\ncompile_error!("for a GPU");\n'
    native = native_library(write(tmp_path, {"k.rs": text}) / "k.rs", exports_of(tmp_path), root=tmp_path, library="s")
    assert b"tilewright_expected_0\0" in native.data
    assert b"relu_impl" not in native.data
    assert native.compiler.startswith("rustc 1.")


def test_exports_of_another_source_are_refused_together(tmp_path: Path) -> None:
    (relu,) = exports_of(write(tmp_path, {"k.rs": RELU}))
    other = replace(relu, name="other", symbol="other_impl")
    wide = replace(relu, parameters=relu.parameters[:1])
    text = refusal(tmp_path, (other, wide))
    assert "k.rs: error: `other`: the source has no such export; the description is not its own" in text
    assert "k.rs: error: `relu`: the source has no such export" in text
    assert refusal(tmp_path, (replace(relu, tile_shape=64, max_ulps=4), other)).count("error: ") == 1


def test_without_rustc_it_says_what_is_needed(tmp_path: Path) -> None:
    exports = exports_of(write(tmp_path, {"k.rs": RELU}))
    nowhere = environment(PATH="", HOME=str(tmp_path), CARGO_HOME=str(tmp_path))
    nowhere.pop("RUSTC", None)
    assert "Rust sources need rustc 1.85.0 or newer, and none was found" in refusal(tmp_path, exports, environ=nowhere)


def test_the_identity_names_the_compiler_and_the_flags(tmp_path: Path) -> None:
    identity = native_identity(root=tmp_path)
    assert identity.startswith("rustc 1.")
    assert "; cuda_device " in identity
    assert "; -Cpanic=unwind; -Copt-level=1; " in identity
    assert str(tmp_path) not in identity


def test_a_function_that_this_machine_lacks_is_named(tmp_path: Path) -> None:
    declared = 'unsafe extern "C" { fn __nv_normcdff(x: f32) -> f32; fn __nv_rsqrtf(x: f32) -> f32; }\n'
    text = RELU.replace("x.max(0.0)", "unsafe { __nv_normcdff(__nv_rsqrtf(x)) }")
    write(tmp_path, {"k.rs": declared + text})
    assert refusal(tmp_path, exports_of(tmp_path)) == (
        "k.rs: error: the crate calls `__nv_normcdff`, which this machine does not have: the function cannot run on "
        "the CPU\n  hint: give the expected values by a reference (a Python function)"
    )
