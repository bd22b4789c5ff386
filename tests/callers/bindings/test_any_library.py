"""Bindings of every library that passes the rules: well-formed, whatever the names and the doc text are."""

from __future__ import annotations

import ast

import tree_sitter_rust
from hypothesis import given, settings
from tree_sitter import Language, Parser

from exports.strategies import export_sets
from tilewright.callers.bindings.every_language import bindings_of
from tilewright.exports.model import ExportSet

RUST = Parser(Language(tree_sitter_rust.language()))


@settings(max_examples=150, deadline=None)
@given(export_sets())
def test_python_and_rust_are_well_formed_and_name_every_export(exports: ExportSet) -> None:
    files = bindings_of(exports)
    module = ast.parse(files[f"{exports.library}_tile.py"])
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    assert len({function.name for function in functions}) == len(exports.exports)
    for function, export in zip(functions, exports.exports, strict=True):
        names = [argument.arg for argument in function.args.args]
        slots = sum(parameter.is_return for parameter in export.parameters)
        assert len(set(names)) == len(export.parameters) - slots + (export.tile_shape is None)
        assert function.name.rstrip("_") == export.name.rstrip("_")
    assert not RUST.parse(files[f"{exports.library}_tile.rs"]).root_node.has_error


@settings(max_examples=150, deadline=None)
@given(export_sets())
def test_no_line_of_the_header_is_continued_and_every_export_is_in_it(exports: ExportSet) -> None:
    header = bindings_of(exports)[f"{exports.library}_tile.h"].decode()
    assert not any(line.rstrip().endswith("\\") for line in header.split("\n"))
    for export in exports.exports:
        declared = f'__experimental_foreign_name__("{export.name}")\n' in header
        assert declared != (f"// Not declared: `{export.name}`." in header)
        assert declared == (len(export.outputs) <= 5)
