"""The Rust crates on the host: user code is checked and tested by cargo unchanged, and nothing but itself is needed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sources.project import write
from sources.rust.project import SPEC, environment
from tilewright.device.retarget.shims import SHIMS
from tilewright.sources.rust.crates_cache import CRATES
from tilewright.sources.rust.rustc import find_rustc

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cargo's build folder, outside the repository."""
    return tmp_path_factory.mktemp("target")


def cargo(folder: Path, target: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    rustc = Path(find_rustc(environment(), folder=folder).path)
    variables = environment(PATH=f"{rustc.parent}:{os.environ['PATH']}", CARGO_TARGET_DIR=str(target))
    command = ["cargo", *arguments, "--offline"]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def crate(root: Path, files: dict[str, str], edition: str = "2021") -> Path:
    dependency = f'[dependencies]\ncuda_device = {{ path = "{CRATES.resolve() / "cuda_device"}" }}\n'
    manifest = f'[package]\nname = "user"\nedition = "{edition}"\n[workspace]\n{dependency}'
    return write(root, {"Cargo.toml": manifest, **files})


def test_the_crates_pass_their_own_tests(tmp_path: Path, target: Path) -> None:
    for name in ("Cargo.toml", "cuda_device", "cuda_device_macros"):
        source = CRATES / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    done = cargo(tmp_path, target, "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
    assert "warning" not in done.stderr


@pytest.mark.parametrize("edition", ["2021", "2024"])
def test_user_code_is_checked_without_a_warning(edition: str, tmp_path: Path, target: Path) -> None:
    done = cargo(crate(tmp_path, {"src/lib.rs": SPEC}, edition), target, "check")
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


def test_the_math_example_passes_its_tests_on_the_host(tmp_path: Path, target: Path) -> None:
    files = {name: (EXAMPLES / "tilelib_math" / name).read_text() for name in ("tilelib_math.rs", "across_warp.rs")}
    files["src/lib.rs"] = files.pop("tilelib_math.rs")
    files["src/across_warp.rs"] = files.pop("across_warp.rs")
    done = cargo(crate(tmp_path, files), target, "test", "--lib")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("struct S;", "something that is no function"),
        ("async fn f(x: f32) -> f32 { x }", "no `async` function"),
        ("fn f<T>(x: f32) -> f32 { x }", "no generic parameters"),
        ("fn f(x: &[f32]) -> f32 { x[0] }", "slice has no known length"),
        ("fn f((a, b): (f32, f32)) -> f32 { a + b }", "plain name with a type"),
        ("fn f(x: f32) -> f32 where f32: Copy { x }", ""),
    ],
)
def test_the_macro_reports_what_would_make_wrong_rust(item: str, words: str, tmp_path: Path, target: Path) -> None:
    text = f"use cuda_device::tile_export;\n#[tile_export(tile_shape = 128)]\npub {item}\n"
    done = cargo(crate(tmp_path, {"src/lib.rs": text}), target, "check")
    if words:
        assert re.search(rf"error: .*{words}", done.stderr)
        assert "src/lib.rs:3:" in done.stderr
    else:
        assert done.returncode == 0, done.stderr


def test_the_crate_declares_exactly_the_operations_of_the_shim_table() -> None:
    text = (CRATES / "cuda_device" / "src" / "device.rs").read_text()
    assert sorted(re.findall(r"(__tilewright_\w+) is ", text)) == sorted(SHIMS)


def test_the_crates_depend_on_nothing_outside() -> None:
    for name in ("cuda_device", "cuda_device_macros"):
        manifest = (CRATES / name / "Cargo.toml").read_text()
        dependencies = manifest.partition("[dependencies]\n")[2].partition("\n[")[0].strip()
        assert dependencies in ("", 'cuda_device_macros = { path = "../cuda_device_macros" }')
