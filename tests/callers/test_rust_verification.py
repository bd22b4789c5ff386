"""Rust libraries verified on the CPU: sound ones pass, a bug in the device code fails at the right export."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from callers.libraries import Library, ltoir_of
from callers.rust_libraries import SOURCE, rust_bundle, rust_library, rust_oracle
from callers.test_planted_bugs import failing
from callers.test_verify_command import Run, run
from needed_tools import needs
from tilewright.callers.bundle import Bundle
from tilewright.callers.emulate import emulate_bundle
from tilewright.callers.oracle.host import HostOracle
from tilewright.device.workers import Workers
from tilewright.exports.description import write_description
from tilewright.toolchain.toolkit import Toolkit

pytestmark = [needs("rustc"), needs("cc")]

__all__ = ["run"]

IN_DEVICE_CODE = {
    "swapped arguments": ("minus", "fsub float %a, %b", "fsub float %b, %a"),
    "fragment too far": ("flip", "i8* %y, i64 12", "i8* %y, i64 28"),
    "lane off by one": ("prefix_sum", "i32 4, i32 0", "i32 5, i32 0"),
    "wrong sign": ("sigmoid", "fsub float -0.0, %x", "fadd float 0.0, %x"),
}
"""Export, what its device text has, what it gets instead."""


class Made(NamedTuple):
    """A sound library with its oracle and bundle."""

    library: Library
    oracle: HostOracle
    bundle: Bundle


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, toolkit: Toolkit, workers: Workers) -> Made:
    folder = tmp_path_factory.mktemp("sound")
    library = rust_library(folder, SOURCE)
    oracle = rust_oracle(library, folder, workers)
    return Made(library, oracle, rust_bundle(library, oracle, toolkit, workers))


def emulated(made: Made, text: str, workers: Workers) -> dict[str, str]:
    """The exports that fail when the bundle's library has another device text."""
    assert made.bundle.emulation is not None
    bundle = replace(made.bundle, emulation=replace(made.bundle.emulation, library=text))
    return failing(emulate_bundle(bundle, workers=workers, compiler=""))


def test_a_sound_library_passes(sound: Made, workers: Workers) -> None:
    report = emulate_bundle(sound.bundle, workers=workers, compiler="")
    assert failing(report) == {}
    assert report.summary.startswith("SUCCESS: 4/4 tile exports verified through the native ABI, CPU-emulated (")
    assert "note: expected values of minus, flip, prefix_sum, sigmoid: the function itself compiled" in report.text()
    assert "NaN where a NaN was expected; largest error 0 ulp of 4 allowed" in report.text()


@pytest.mark.parametrize("bug", IN_DEVICE_CODE)
def test_a_bug_in_device_code_fails(bug: str, sound: Made, workers: Workers) -> None:
    export, old, new = IN_DEVICE_CODE[bug]
    assert list(emulated(sound, sound.library.changed(old, new).module.text, workers)) == [export]


def test_a_lane_off_by_one_fails(sound: Made, tmp_path: Path, workers: Workers) -> None:
    wrong = rust_library(tmp_path, SOURCE.replace("lane >= distance", "lane > distance"))
    found = emulated(sound, wrong.module.text, workers)
    assert list(found) == ["prefix_sum"]
    assert found["prefix_sum"].startswith("FAIL prefix_sum: `prefix_sum_out`: element 1 is 0x")


def test_a_result_beyond_the_bound_fails(sound: Made, tmp_path: Path, workers: Workers) -> None:
    near = rust_library(tmp_path, SOURCE.replace("{ 1.0 / (1.0", "{ (1.0 + 2.0 * f32::EPSILON) / (1.0"))
    report = emulated(sound, near.module.text, workers)
    far = rust_library(tmp_path, SOURCE.replace("{ 1.0 / (1.0", "{ (1.0 + 9.0 * f32::EPSILON) / (1.0"))
    assert report == {}
    assert list(emulated(sound, far.module.text, workers)) == ["sigmoid"]


def test_functions_of_libdevice_run_on_the_cpu(tmp_path: Path, toolkit: Toolkit, workers: Workers) -> None:
    text = """\
use cuda_device::tile_export;
unsafe extern "C" { fn __nv_rsqrtf(x: f32) -> f32; fn __nv_saturatef(x: f32) -> f32; fn __nv_rsqrt(x: f64) -> f64; }
#[tile_export(tile_shape = 128)] fn inverse(x: f32) -> f32 { unsafe { __nv_rsqrtf(__nv_saturatef(x)) } }
#[tile_export(tile_shape = 128)] fn wide(x: f64) -> f64 { unsafe { __nv_rsqrt(x) } }
#[tile_export(tile_shape = 128)] fn powers(x: f32, n: i32) -> f32 { x.powi(n % 8) + x.powf(1.5) % 3.0 + x.round() }
#[tile_export(tile_shape = 128)] fn angles(x: f64, y: f64) -> f64 { x.hypot(y).max(y.exp2().cbrt().atan()) }
"""
    library = rust_library(tmp_path, text)
    bundle = rust_bundle(library, rust_oracle(library, tmp_path, workers), toolkit, workers)
    report = emulate_bundle(bundle, workers=workers, compiler="")
    assert failing(report) == {}
    assert report.summary.startswith("SUCCESS: 4/4 ")


@pytest.fixture
def project(sound: Made, tmp_path: Path, toolkit: Toolkit, workers: Workers, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that a build of the library leaves, and its source."""
    (tmp_path / "k.rs").write_text(SOURCE)
    (tmp_path / "sample.tileexports.json").write_bytes(write_description(sound.library.exports))
    (tmp_path / "sample.ll").write_text(sound.library.module.text)
    (tmp_path / "sample.ltoir").write_bytes(ltoir_of(sound.library, "sm_90", toolkit, workers))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_crate_behind_the_ir_is_found(project: Path, run: Run) -> None:
    outcome = run("verify", "sample.tileexports.json", "--emulate", "--json")
    record = json.loads(outcome.out)
    assert (outcome.code, record["passed"], record["total"]) == (0, 4, 4)
    assert {export["name"]: export["max_ulps"] for export in record["exports"]}["sigmoid"] == 4
    assert all("compiled for the CPU by rustc 1." in export["oracle"] for export in record["exports"])


def test_the_users_own_crate_will_do(project: Path, run: Run) -> None:
    (project / "sample.ll").unlink()
    outcome = run("verify", "sample.tileexports.json", "--emulate", "--source", "k.rs")
    assert (outcome.code, outcome.err) == (0, "")
    assert "SUCCESS: 4/4 tile exports" in outcome.out


def test_a_bug_in_the_build_fails(project: Path, run: Run) -> None:
    text = (project / "sample.ll").read_text()
    (project / "sample.ll").write_text(text.replace("fsub float %a, %b", "fsub float %b, %a"))
    outcome = run("verify", "sample.tileexports.json", "--emulate")
    assert outcome.code == 1
    assert "\nFAIL minus: `minus_out`: element 0 is 0x" in outcome.out
    assert "\nFAILURE: 3/4 tile exports verified" in outcome.out


def test_ir_without_its_source_needs_references(project: Path, run: Run) -> None:
    (project / "k.rs").unlink()
    outcome = run("verify", "sample.tileexports.json", "--emulate")
    assert outcome.code == 1
    assert "`minus`: nothing gives its expected values: the source behind the IR is not known" in outcome.err


def test_a_source_that_changed_its_exports_is_refused(project: Path, run: Run) -> None:
    (project / "k.rs").write_text(SOURCE.replace("fn minus(a: f32, b: f32)", "fn minus(a: f32, b: &f32)"))
    outcome = run("verify", "sample.tileexports.json", "--emulate")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "k.rs: error: `minus`: the source has no such export; the description is not its own\n"
        "  hint: build the library and its description again\n"
    )
