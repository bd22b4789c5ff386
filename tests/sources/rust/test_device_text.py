"""The NVVM IR of a Rust source: what it depends on, what libNVVM makes of it, and what cannot be on a GPU."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sources.project import write
from sources.rust.project import RELU, SPEC, TILE, USE, ltoir, read, refusal, source_of
from tilewright.device.ltoir import read_header
from tilewright.device.workers import Workers
from tilewright.sources.rust import compile as compiling
from tilewright.sources.rust.front_end import read_rust_file
from tilewright.toolchain.toolkit import Toolkit

EXAMPLES = Path(__file__).parents[3] / "examples"
ARCHITECTURES = ("compute_75", "sm_90", "sm_120")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_specifications_functions_become_ltoir(
    arch: str, tmp_path: Path, toolkit: Toolkit, workers: Workers
) -> None:
    made = ltoir(source_of(tmp_path, SPEC), arch, toolkit, workers)
    assert read_header(made).arch == int(arch.partition("_")[2])


@pytest.mark.parametrize("name", ["tilelib_relu_rust", "tilelib_math"])
def test_the_examples_become_ltoir_for_every_architecture(name: str, toolkit: Toolkit, workers: Workers) -> None:
    path = EXAMPLES / name / f"{name}.rs"
    source = read_rust_file(path, name=f"examples/{name}/{name}.rs", root=EXAMPLES.parent, library=name)
    for arch in ARCHITECTURES:
        assert ltoir(source, arch, toolkit, workers)


def test_the_math_example_declares_a_bound_for_exactly_what_uses_libdevice() -> None:
    path = EXAMPLES / "tilelib_math" / "tilelib_math.rs"
    source = read_rust_file(path, name=path.name, root=path.parent, library="tilelib_math")
    bounds = {export.name: export.max_ulps for export in source.exports.exports}
    assert len(bounds) >= 8
    assert {name for name, bound in bounds.items() if bound is not None} == {
        "gelu",
        "silu",
        "softplus",
        "erf",
        "softmax4",
    }


def test_the_text_is_the_same_in_two_folders_and_with_another_cache(tmp_path: Path) -> None:
    text = SPEC + f"{TILE}fn pick(x: &[f32; 4], out: &mut [f32; 4]) {{ out[0] = x[x[1] as usize].exp(); }}\n"
    files = {"lib/k.rs": text + "mod m;\n", "lib/m.rs": RELU.replace("relu", "other")}
    made = [
        read(write(tmp_path / folder, files), "lib/k.rs", cache=tmp_path / f"cache-{folder}").device_text
        for folder in ("one", "deeper/two")
    ]
    assert made[0] == made[1]
    assert str(tmp_path) not in made[0]


@pytest.mark.parametrize("name", ['a "quoted" name.rs', "back\\slash.rs", "größe.rs", "percent%s @x.rs"])
def test_any_file_name_is_text_in_the_module(name: str, tmp_path: Path, toolkit: Toolkit, workers: Workers) -> None:
    source = read(write(tmp_path, {name: RELU}), name)
    assert ltoir(source, "sm_90", toolkit, workers)
    assert ltoir(source, "sm_120", toolkit, workers)


def test_a_comment_in_a_module_changes_nothing_and_a_body_changes_the_text_alone(tmp_path: Path) -> None:
    module = RELU.replace("relu", "other").replace("x.max(0.0)", "[x, 1.0][x as usize]")
    write(tmp_path, {"k.rs": f"{RELU}mod m;\n", "m.rs": module})
    before = read(tmp_path)
    write(tmp_path, {"m.rs": f"// A comment.\n\n{module}"})
    commented = read(tmp_path)
    assert (commented.device_text, commented.exports) == (before.device_text, before.exports)
    write(tmp_path, {"m.rs": module.replace("1.0", "2.0")})
    edited = read(tmp_path)
    assert edited.device_text != before.device_text
    assert edited.exports == before.exports


def test_a_shuffle_between_branches_stays_one(tmp_path: Path) -> None:
    text = (
        'use cuda_device::{tile_export, warp};\n#[tile_export(tile_shape = 128, sync = "warp")]\n'
        "fn branches(x: f32, c: u32) -> f32 {\n    let m = if c != 0 { x * 2.0 } else { x + 1.0 };\n"
        "    let y = warp::shuffle_xor_f32_sync(u32::MAX, m, 1);\n"
        "    if c != 0 { y * 3.0 } else { y - 1.0 }\n}\n"
    )
    assert source_of(tmp_path, text).device_text.count("call float @llvm.nvvm.shfl.sync.bfly.f32") == 1


def test_every_warp_and_thread_operation_has_its_instruction(
    tmp_path: Path, toolkit: Toolkit, workers: Workers
) -> None:
    calls = [
        *(
            f"warp::shuffle{mode}_{kind}_sync(u32::MAX, x as {kind}, 1) as u32"
            for mode in ("_xor", "_up", "_down", "")
            for kind in ("f32", "i32", "u32")
        ),
        "warp::lane_id()",
        "warp::ballot(u32::MAX, x > 1)",
        "warp::any(u32::MAX, x > 1) as u32",
        "warp::all(u32::MAX, x > 1) as u32",
        "{ warp::sync(u32::MAX); 0 }",
        *(f"thread::{name}_{axis}()" for name in ("index", "block_index", "block_dim") for axis in "xyz"),
    ]
    functions = (
        f'#[tile_export(tile_shape = 128, sync = "warp")]\nfn f{number}(x: u32) -> u32 {{ {call} }}\n'
        for number, call in enumerate(calls)
    )
    source = source_of(tmp_path, "use cuda_device::{thread, tile_export, warp};\n" + "".join(functions))
    declared = set(re.findall(r"^declare .*@(llvm\.nvvm\.[\w.]+)\(", source.device_text, re.MULTILINE))
    assert len(declared) == 8 + 3 + 1 + 1 + 9
    for arch in ARCHITECTURES:
        assert ltoir(source, arch, toolkit, workers)


IMPOSSIBLE = {
    "allocation": ("let v: Vec<f32> = (0..x as usize).map(|n| n as f32).collect(); v[1]", r"alloc"),
    "output": ('println!("{x}"); x', r"std::io|print"),
    "a thread": ("std::thread::spawn(|| 1); x", r"std::thread"),
    "a clock": ("std::time::Instant::now().elapsed().as_secs_f32()", r"std::(?:time|sys)"),
    "a foreign function": ("unsafe { outside(x) }", r"`outside`"),
    "a cell": ("COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed); x", r"COUNT.*\[mutable-static\]"),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_what_cannot_be_on_a_gpu_is_named_with_the_export_that_reaches_it(what: str, tmp_path: Path) -> None:
    body, named = IMPOSSIBLE[what]
    text = (
        f"{USE}use std::sync::atomic::AtomicU32;\npub static COUNT: AtomicU32 = AtomicU32::new(0);\n"
        f'extern "C" {{ fn outside(x: f32) -> f32; }}\nfn helper(x: f32) -> f32 {{ {body} }}\n'
        f"{TILE}fn innocent(x: f32) -> f32 {{ x }}\n{TILE}fn guilty(x: f32) -> f32 {{ helper(x) }}\n"
    )
    message = refusal(write(tmp_path, {"k.rs": text}))
    first = message.splitlines()[0]
    assert first.startswith("k.rs:8:3: error: ")
    assert re.search(named, message)
    assert "the export `guilty` reaches through" in first
    assert "`innocent`" not in message
    assert "    8 | #[tile_export(tile_shape = 128)]" in message


def test_panics_and_bounds_checks_trap(tmp_path: Path) -> None:
    text = f"{USE}{TILE}fn at(x: &[f32; 4], out: &mut [f32; 4]) {{ out[x[0] as usize] = x[3]; assert!(x[1] > 0.0); }}\n"
    made = source_of(tmp_path, text).device_text
    assert "call void @llvm.trap()" in made
    assert "panicking" not in made


def test_an_llvm_newer_than_llvmlites_is_said_in_the_text_and_still_compiles(
    tmp_path: Path, toolkit: Toolkit, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "llvm_version", lambda: (20, 1, 0))
    source = source_of(tmp_path, SPEC)
    second = source.device_text.splitlines()[1]
    assert re.fullmatch(r"; For compute_100 and up only: rustc has LLVM [\d.]+, llvmlite only 20\.1\.0\.", second)
    assert ltoir(source, "sm_120", toolkit, workers)
