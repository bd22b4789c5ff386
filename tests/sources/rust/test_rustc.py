"""The user's rustc: which one, how old, and its errors under the user's own paths."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sources.project import write
from sources.rust.project import RELU, TILE, USE, environment, read, refusal
from tilewright.sources.rust.crates_cache import built_crates
from tilewright.sources.rust.front_end import rust_identity
from tilewright.sources.rust.rustc import find_rustc

VERSION = "rustc {release} (0123456 2024-01-01)\nbinary: rustc\nrelease: {release}\nLLVM version: 19.1.7\n"


def fake(folder: Path, answer: str, status: int = 0) -> str:
    """A program that answers like a rustc of another version."""
    program = folder / "bin" / "rustc"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}END\nexit {status}\n")
    program.chmod(0o755)
    return str(program.parent)


def test_errors_of_rustc_stand_at_the_users_own_lines(tmp_path: Path) -> None:
    write(tmp_path, {"lib/m.rs": "pub fn g() -> u32 {\n    1.0\n}\n"})
    write(tmp_path, {"lib/k.rs": f"{USE}mod m;\n{TILE}fn f(x: f32) -> f32 {{ x + missing }}\n"})
    message = refusal(tmp_path, "lib/k.rs")
    assert "lib/k.rs:4:27: error: rustc: cannot find value `missing` in this scope [E0425]" in message
    assert "lib/m.rs:2:5: error: rustc: mismatched types [E0308]" in message
    assert "    2 |     1.0\n      |     ^^^ expected `u32`, found floating-point number" in message
    assert str(tmp_path) not in message
    assert "aborting" not in message


def test_a_head_that_cannot_be_parsed_is_explained_by_rustc(tmp_path: Path) -> None:
    message = refusal(write(tmp_path, {"k.rs": f"{USE}{TILE}fn f(x: f32 -> f32 {{ x }}\n"}))
    assert "error: rustc: " in message
    assert "cannot read the head" not in message


def test_warnings_are_no_errors_and_are_handed_over_at_the_users_own_lines(tmp_path: Path) -> None:
    found = read(write(tmp_path, {"lib/k.rs": f"{RELU}fn unused() {{ let x = 1; }}\n"}), "lib/k.rs")
    assert "warning: unused variable: `x`" in found.warnings
    assert "--> lib/k.rs:" in found.warnings
    assert "warnings emitted" not in found.warnings


def test_a_clean_source_gives_no_warnings(tmp_path: Path) -> None:
    assert read(write(tmp_path, {"k.rs": RELU})).warnings == ""


@pytest.mark.parametrize("release", ["1.84.1", "1.60.0", "0.9.0"])
def test_an_older_rustc_is_refused_with_both_versions(release: str, tmp_path: Path) -> None:
    path = fake(tmp_path, VERSION.format(release=release))
    message = refusal(write(tmp_path, {"k.rs": RELU}), environ=environment(PATH=path + ":/usr/bin:/bin"))
    assert f"rustc {release} is too old, 1.85.0 or newer is needed: {path}/rustc" in message
    assert "hint: rustup update stable" in message


def test_the_oldest_that_will_do_is_taken(tmp_path: Path) -> None:
    path = fake(tmp_path, VERSION.format(release="1.85.0"))
    found = find_rustc(environment(PATH=path + ":/usr/bin:/bin"), folder=tmp_path)
    assert (found.release, found.llvm) == ((1, 85, 0), (19, 1, 7))


def test_the_identity_names_the_compiler_and_no_folder(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    path = fake(tmp_path / "one", VERSION.format(release="1.86.0"))
    other = fake(tmp_path / "two", VERSION.format(release="1.87.0"))
    first, second = (
        rust_identity(root=tmp_path, environ=environment(PATH=one + ":/usr/bin:/bin")) for one in (path, other)
    )
    assert "release: 1.86.0; LLVM version: 19.1.7; cuda_device " in first
    assert first.replace("1.86.0", "1.87.0") == second
    assert str(tmp_path) not in first


def test_a_missing_rustc_says_where_it_was_looked_for(tmp_path: Path) -> None:
    root = write(tmp_path, {"k.rs": RELU})
    message = refusal(root, environ={"PATH": "/nowhere", "HOME": str(tmp_path)})
    assert "Rust sources need rustc 1.85.0 or newer, and none was found: not on PATH" in message
    assert "https://rustup.rs" in message
    message = refusal(root, environ={"PATH": "/nowhere", "RUSTC": "rustc-9", "HOME": str(tmp_path)})
    assert "RUSTC names `rustc-9`, which cannot be run" in message


@pytest.mark.parametrize(("answer", "status"), [("hello\n", 0), ("error: no toolchain\n", 1)])
def test_a_program_that_is_no_rustc_is_shown_with_its_answer(answer: str, status: int, tmp_path: Path) -> None:
    path = fake(tmp_path, answer, status)
    message = refusal(write(tmp_path, {"k.rs": RELU}), environ=environment(PATH=path + ":/usr/bin:/bin"))
    assert answer.strip() in message
    assert f"{path}/rustc" in message


def test_the_crates_are_built_once_and_several_builds_may_start_at_once(tmp_path: Path) -> None:
    rustc = find_rustc(environment(), folder=tmp_path)

    def build(_: int) -> Path:
        return built_crates(rustc, environ=environment(), cache=tmp_path / "cache").folder

    with ThreadPoolExecutor(3) as pool:
        (folder,) = set(pool.map(build, range(3)))
    made = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert set(made) == {"libcuda_device.rlib", "libcuda_device_macros.so"}
    assert build(0) == folder
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == made
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    (folder / "libcuda_device.rlib").unlink()
    assert {path.name for path in build(0).iterdir()} == set(made)


def test_a_full_temporary_folder_is_a_clean_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"k.rs": RELU})
    assert read(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    assert "set TMPDIR to a folder with space" in refusal(tmp_path)


@pytest.mark.parametrize("name", ["-k.rs", "@k.rs", "--version.rs"])
def test_a_file_named_like_an_option_is_a_file(name: str, tmp_path: Path) -> None:
    assert read(write(tmp_path, {name: RELU}), name).exports.exports


def test_a_cache_that_cannot_be_written_is_a_clean_error(tmp_path: Path) -> None:
    blocked = write(tmp_path, {"k.rs": RELU, "file": ""}) / "file"
    message = refusal(tmp_path, cache=blocked)
    assert "cannot keep the built cuda_device crate" in message
    assert "set TILEWRIGHT_CACHE" in message


def test_without_a_linker_the_error_says_what_needs_one(tmp_path: Path) -> None:
    rustc = Path(find_rustc(environment(), folder=tmp_path).path)
    write(tmp_path, {"k.rs": RELU})
    variables = environment(PATH=f"{rustc.parent}", TILEWRIGHT_CACHE=str(tmp_path / "cache"))
    message = refusal(tmp_path, environ=variables)
    assert "the cuda_device crate cannot be built" in message
    assert "linker `cc` not found" in message
    assert "install cc" in message
    assert not [path for path in (tmp_path / "cache" / "rust").iterdir() if path.name.startswith("building")]
