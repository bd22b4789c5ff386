"""The cuTile Rust module, which no compiler of that language has seen: Rust's own grammar accepts it."""

from __future__ import annotations

import tree_sitter_rust
from tree_sitter import Language, Parser

from callers.bindings.samples import ANY, BOTH, RELU, SIX, export, given, library, slot
from tilewright.callers.bindings.cutile_rust import cutile_rust_module
from tilewright.callers.bindings.every_language import BINDINGS, bindings_of, bindings_reference, file_names

HOSTILE = export("f", given("x"), slot("f"), doc="ends */ here\nmod broken { \\\n\u201cquotes\u201d")


def test_it_says_that_it_was_not_compiled() -> None:
    lines = cutile_rust_module(library(RELU)).decode().splitlines()
    assert lines[0] == "// Written by `tilewright bindings` from sample.tileexports.json; do not edit."
    assert lines[2].startswith("// Generated, not compiled:")


def test_an_export_is_a_foreign_function() -> None:
    declaration = """\
    #[cutile::foreign]
    pub fn relu(
        x: Tile<f32, { [128] }>,
        relu_out: Tile<f32, { [128] }>,
    ) -> Tile<f32, { [128] }> {
        unreachable!()
    }
"""
    assert declaration in cutile_rust_module(library(RELU)).decode()


def test_every_form_is_rust() -> None:
    text = cutile_rust_module(library(RELU, BOTH, SIX, ANY, HOSTILE))
    tree = Parser(Language(tree_sitter_rust.language())).parse(text)
    assert not tree.root_node.has_error
    assert b"pub fn relu_any<const N: i32>(" in text


def test_bindings_follow_from_the_description_alone_and_say_how_they_were_proved() -> None:
    exports = library(RELU)
    files = bindings_of(exports)
    assert tuple(files) == file_names("sample") == ("sample_tile.h", "sample_tile.py", "sample_tile.rs")
    assert files == bindings_of(library(RELU))
    assert bindings_of(exports, ["tile-cpp"]) == {"sample_tile.h": files["sample_tile.h"]}
    reference = bindings_reference()
    assert all(row.proof in reference for row in BINDINGS)
