"""Which files are read as sources, and what is said of the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sources.project import RELU, read, refusal, write
from tilewright.sources.front_end import FRONT_ENDS, read_source
from tilewright.sources.languages import CUDA, LANGUAGES, RUST, language_of, language_of_device_code
from tilewright.sources.source import SourceError


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "lib/k.py",
            "lib/k.py: error: Python sources are not supported yet\n"
            "  hint: write the exports in a file of one of these: .cu, .rs",
        ),
        (
            "k.cpp",
            "k.cpp: error: tile libraries are not made of this kind of file\n  hint: rename the file to .cu",
        ),
        ("k", "k: error: tile libraries are not made of this kind of file\n  hint: the suffixes are .cu, .rs"),
        (
            "gone.cu",
            "gone.cu: error: there is no file `gone.cu`\n  hint: create it, or name another file",
        ),
        (
            "lib/latn.cu",
            "lib/latn.cu: error: there is no file `lib/latn.cu`\n  hint: did you mean `lib/latin.cu`?",
        ),
        (
            "folder.cu",
            "folder.cu: error: `folder.cu` is a folder, not a source file\n"
            "  hint: name the file in it that holds the exports",
        ),
        (
            "latin.cu",
            "latin.cu:2: error: the file is not UTF-8 text: byte 0xfc\n  hint: save it as UTF-8",
        ),
        (
            "nul.cu",
            "nul.cu:2: error: the file holds a NUL byte, so it is no source text\n"
            "  hint: delete it, or save the file as UTF-8 if it is UTF-16",
        ),
        (
            "empty.cu",
            "empty.cu:1:1: error: the file is empty\n"
            "  hint: put [[tile_export(tile_shape = 128)]] in front of a __device__ function",
        ),
    ],
)
def test_what_is_no_source_is_refused_with_the_exact_message(name: str, message: str, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "lib/k.py": "",
            "k.cpp": RELU,
            "k": RELU,
            "folder.cu/x": "",
            "lib/latin.cu": b"",
            "latin.cu": b"// \n// \xfc\n" + RELU.encode(),
            "nul.cu": f"// \n// \0\n{RELU}",
            "empty.cu": "",
        },
    )
    assert refusal(tmp_path, name) == message


def test_a_header_that_is_no_text_is_refused_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, {"k.cu": f'#include "sub/k.cuh"\n{RELU}', "sub/k.cuh": b"// \xfc\n"})
    assert refusal(tmp_path).startswith("sub/k.cuh:1: error: the file is not UTF-8 text: byte 0xfc\n")


@pytest.mark.parametrize("name", [b"k\xff.cu", b"d\xff/k.cu", b'k\n#error "line".cu', b"k\x1b[2J.cu"])
def test_a_name_that_no_line_of_code_could_hold_is_refused(name: bytes, tmp_path: Path) -> None:
    text = os.fsdecode(name)
    message = refusal(write(tmp_path, {text: RELU}), text)
    assert message.endswith(
        ": error: the name of the file or its folder has characters that are no text\n"
        "  hint: rename it: the name is written into the device code"
    )
    assert message.encode("utf-8").decode().replace("\n", "").isprintable()


def test_the_name_of_a_header_is_held_to_the_same(tmp_path: Path) -> None:
    folder = os.fsdecode(b"d\xff")
    write(tmp_path, {"k.cu": f'#include "k.cuh"\n{RELU}', f"{folder}/k.cuh": "\n"})
    assert refusal(tmp_path, "k.cu", folder).startswith("d\\u{dcff}/k.cuh: error: the name of the file")


def test_the_suffix_of_the_device_code_is_known_before_the_source_is_read(tmp_path: Path) -> None:
    assert language_of(tmp_path / "gone.cu", "gone.cu") is CUDA
    assert read(write(tmp_path, {"k.cu": RELU})).device_suffix == CUDA.device_suffix == ".device.cu"
    assert language_of(tmp_path / "gone.rs", "gone.rs") is RUST
    assert language_of(write(tmp_path, {"crate/Cargo.toml": ""}) / "crate", "crate") is RUST
    with pytest.raises(SourceError, match=r"src/k\.py: error: Python sources are not supported yet"):
        language_of(Path("src/k.py"), "src/k.py")


def test_device_code_tells_its_language_by_its_suffix() -> None:
    assert language_of_device_code(Path("out/k.device.cu"), "k.device.cu") is CUDA
    assert language_of_device_code(Path("out/k.ll"), "k.ll") is RUST
    with pytest.raises(SourceError, match=r"k\.cu: error: this is no device code\n  hint: .*\.device\.cu, \.ll"):
        language_of_device_code(Path("k.cu"), "k.cu")


def test_every_language_has_a_front_end() -> None:
    assert set(FRONT_ENDS) == set(LANGUAGES.values())


def test_a_source_outside_of_the_project_is_named_relative_to_it(tmp_path: Path) -> None:
    write(tmp_path, {"elsewhere/k.cu": RELU, "project/x": ""})
    source = read_source(tmp_path / "elsewhere/k.cu", root=tmp_path / "project", library="sample")
    assert '#line 1 "../elsewhere/k.cu"' in source.device_text
    assert str(tmp_path) not in source.device_text
