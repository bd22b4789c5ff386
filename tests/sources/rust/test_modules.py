"""Which files a Rust source reads: modules, paths and includes, compared with what rustc itself reads."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sources.project import write
from sources.rust.project import RELU, TILE, USE, environment, read, refusal
from tilewright.sources.rust.crates_cache import built_crates
from tilewright.sources.rust.front_end import scan_rust
from tilewright.sources.rust.rustc import find_rustc

PUB = "pub const X: f32 = 1.0;\n"
TREE = {
    "k.rs": RELU + 'mod a;\nmod d;\nmod inline { pub mod e; #[path = "odd.rs"] pub mod f; }\n'
    '#[path = "elsewhere/g.rs"] mod g;\ninclude!("parts/h.rs");\n'
    'const TEXT: &str = include_str!("data.txt");\nconst BYTES: &[u8] = std::include_bytes!("data.bin");\n'
    "#[cfg(test)] mod tests;\nmod r#match;\n",
    "a.rs": "mod b;\nmod inner { mod c; }\n",
    "a/b.rs": PUB,
    "a/inner/c.rs": PUB,
    "d/mod.rs": "mod sub;\n",
    "d/sub.rs": PUB,
    "inline/e.rs": PUB,
    "inline/odd.rs": PUB,
    "elsewhere/g.rs": "mod beside;\n",
    "elsewhere/beside.rs": PUB,
    "parts/h.rs": 'fn h() -> f32 { include!("../value.in") }\n',
    "value.in": "1.5",
    "data.txt": "text",
    "data.bin": "\0",
    "match.rs": PUB,
    "unrelated.rs": PUB,
}


def dep_info(root: Path) -> set[str]:
    """What rustc says it read."""
    rustc = find_rustc(environment(), folder=root)
    crates = built_crates(rustc, environ=environment())
    command = [
        rustc.path,
        "--edition=2021",
        "--crate-type=lib",
        "--emit=dep-info",
        *crates.arguments,
        "k.rs",
        "-o",
        "k.d",
    ]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    named = (root / "k.d").read_text().splitlines()[0].partition(": ")[2].split()
    return {os.path.normpath(name) for name in named}


def scanned(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in scan_rust(root / "k.rs", root=root)}


def test_every_file_that_rustc_reads_is_a_dependency(tmp_path: Path) -> None:
    root = write(tmp_path, TREE)
    expected = dep_info(root)
    assert len(expected) == 15
    assert scanned(root) == expected
    source = read(root)
    assert {path.relative_to(root).as_posix() for path in source.dependencies} == expected
    assert source.dependencies[0] == root / "k.rs"


def test_a_module_under_a_condition_counts_when_it_is_there(tmp_path: Path) -> None:
    root = write(tmp_path, {**TREE, "tests.rs": "this is no Rust {{{\n"})
    assert scanned(root) == dep_info(root) | {"tests.rs"}
    assert read(root)


def test_a_missing_module_is_reported_by_rustc_where_it_is_declared(tmp_path: Path) -> None:
    message = refusal(write(tmp_path, {"k.rs": f"{RELU}mod gone;\n"}))
    assert "k.rs:4:1: error: rustc: file not found for module `gone` [E0583]" in message


def test_modules_that_name_each_other_end(tmp_path: Path) -> None:
    root = write(tmp_path, {"k.rs": f"{RELU}mod a;\n", "a.rs": '#[path = "k.rs"] mod again;\ninclude!("a.rs");\n'})
    assert scanned(root) == {"k.rs", "a.rs"}
    assert "error: rustc: " in refusal(root)


def test_an_export_in_a_module_that_only_tests_have_is_refused(tmp_path: Path) -> None:
    root = write(
        tmp_path, {"k.rs": f"{RELU}#[cfg(test)] mod t;\n", "t.rs": f"{USE}{TILE}fn f(x: f32) -> f32 {{ x }}\n"}
    )
    assert "t.rs:2:3: error: this tile export stands in a module under a `#[cfg]`" in refusal(root)


@pytest.mark.parametrize("macro", ["include_str", "include_bytes"])
def test_a_file_named_by_an_expression_is_refused(macro: str, tmp_path: Path) -> None:
    text = f'{RELU}const T: usize = {macro}!(concat!("a", ".txt")).len();\n'
    assert f"`{macro}!` names its file by an expression" in refusal(write(tmp_path, {"k.rs": text, "a.txt": "x"}))


def test_the_scanner_never_raises(tmp_path: Path) -> None:
    root = write(tmp_path, {"bad.rs": b"\xff\xfe", "c/Cargo.toml": "[", "deep.rs": "(" * 20_000})
    for name in ("bad.rs", "c", "absent.rs", "deep.rs", "."):
        assert isinstance(scan_rust(root / name, root=root), tuple)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe", r"the file is not UTF-8 text"),
        (b"fn f() {}\0", "NUL byte"),
        (("(" * 20_000).encode(), "no tile export"),
        ((USE + TILE + "fn f(" + "x: f32, " * 5_000 + ") -> f32 { x }").encode(), "two parameters are called"),
        ((USE + "#[tile_export(" + "(" * 5_000 + ")]\nfn f(x: f32) -> f32 { x }").encode(), "error"),
    ],
)
def test_hostile_files_are_clean_errors(content: bytes, words: str, tmp_path: Path) -> None:
    assert words in refusal(write(tmp_path, {"k.rs": content}))


def test_a_missing_source_and_a_folder_without_a_crate_are_clean_errors(tmp_path: Path) -> None:
    assert "there is no file `k.rs`" in refusal(tmp_path)
    (tmp_path / "folder").mkdir()
    assert "`folder` is a folder" in refusal(tmp_path, "folder")
