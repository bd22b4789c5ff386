"""The Tile C++ header: what it says, and that nvcc compiles it and tileiras inlines what it declares."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from callers.bindings.conftest import Build
from callers.bindings.samples import ANY, BOTH, RELU, SIX, TYPES, export, given, library, slot
from needed_tools import needs
from tilewright.callers.bindings.tile_cpp import tile_cpp_header
from tilewright.callers.program.compilation import Program, compile_program
from tilewright.exports.description import read_description
from tilewright.toolchain.shadow import shadow_root, tool_environment
from tilewright.toolchain.toolkit import Toolkit

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
LIBRARIES = sorted(path for path in EXAMPLES.glob("*/*.cu") if "[[tile_export" in path.read_text(encoding="utf-8"))
TILE = "::cuda::tiles::tile<float, ::cuda::tiles::shape<128>>"


def header(*exports: object, name: str = "sample") -> str:
    return tile_cpp_header(library(*exports, name=name)).decode()  # type: ignore[arg-type]


def compiled(text: str, folder: Path, toolkit: Toolkit, *preview: str) -> str:
    """What nvcc prints for a source that holds `text`; empty when it accepts it."""
    source = folder / "caller.cu"
    source.write_text(text, encoding="utf-8")
    nvcc = shadow_root(toolkit) / "bin" / "nvcc"
    command = [nvcc, *preview, "-std=c++20", "-arch=sm_90", f"-I{folder}", "-c", "-o", folder / "caller.o", source]
    environment = tool_environment(toolkit, os.environ)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def test_an_export_is_declared_in_the_library_s_namespace() -> None:
    text = header(RELU)
    assert text.startswith("// Written by `tilewright bindings` from sample.tileexports.json; do not edit.\n")
    assert "#define TILEWRIGHT_sample_TILE_VERSION 1\n" in text
    declaration = f"""\
/// Elementwise `max(x, 0)`.
///
/// Tile: 128 elements. Each thread calls the implementation alone, once for the elements it owns.
/// Reads: x. Writes: relu_out, a slot for the result; what it holds before does not matter.
__experimental_foreign_decl__ __experimental_foreign_name__("relu")
    {TILE} relu(
        {TILE} x,
        [[cutile::experimental_inout]] {TILE} relu_out);

}}  // namespace sample
"""
    assert declaration in text


def test_a_parametric_export_is_a_template_of_its_extent() -> None:
    text = header(ANY)
    assert 'template <::std::size_t N>\n__experimental_foreign_decl__ __experimental_foreign_name__("relu_any")' in text
    assert "::cuda::tiles::shape<N>> x,\n" in text
    assert "A static library has it only in the sizes it was built for." in text


def test_the_extent_gives_way_to_an_export_of_its_name() -> None:
    assert "template <::std::size_t N_>" in header(export("N", given("x"), slot("N"), tile_shape=None))


def test_several_results_come_back_together_up_to_five() -> None:
    text = header(BOTH, SIX)
    assert f"::cuda::tiles::experimental::multi_outputs<{TILE}, {TILE}> both(" in text
    assert "/// Returns: low in F0, high in F1.\n" in text
    assert '__experimental_foreign_name__("six")' not in text
    why = "it has 6 results, and a Tile C++ function returns 5 tiles at most"
    assert f"// Not declared: `six`. Tile C++ cannot express it: {why}.\n" in text


@pytest.mark.parametrize("name", ["std", "cuda", "main"])
def test_a_library_does_not_declare_into_someone_else_s_namespace(name: str) -> None:
    assert f"namespace {name}_ {{" in header(RELU, name=name)


@needs("g++")
def test_hostile_doc_text_stays_in_its_comment(tmp_path: Path, toolkit: Toolkit) -> None:
    doc = 'ends here */ #error no\n#error "not a comment" \\\nint broken( ??/\n\tand """ quotes\\\\'
    (tmp_path / "sample_tile.h").write_bytes(tile_cpp_header(library(export("f", given("x"), slot("f"), doc=doc))))
    text = (tmp_path / "sample_tile.h").read_text(encoding="utf-8")
    assert "/// ends here * / #error no\n" in text
    assert not re.search(r"\\[ \t]*$", text, re.MULTILINE)
    use = '#include "sample_tile.h"\n#include "sample_tile.h"\nstatic_assert(TILEWRIGHT_sample_TILE_VERSION == 1);\n'
    assert compiled(use, tmp_path, toolkit, "--enable-tile", "--tile-preview", "simt") == ""


@needs("g++")
@pytest.mark.parametrize("preview", [(), ("--enable-tile",)])
def test_without_the_preview_the_header_says_what_to_add(
    preview: tuple[str, ...], tmp_path: Path, toolkit: Toolkit
) -> None:
    (tmp_path / "sample_tile.h").write_bytes(tile_cpp_header(library(RELU)))
    said = compiled('#include "sample_tile.h"\n', tmp_path, toolkit, *preview)
    assert "compile with nvcc --enable-tile --tile-preview simt" in said


@needs("g++")
def test_every_element_type_and_several_results_link_and_are_inlined(
    built: Build, tmp_path: Path, toolkit: Toolkit
) -> None:
    folder = built("types", TYPES)
    exports = read_description(folder / "types.tileexports.json").exports
    source = tmp_path / "caller.cu"
    source.write_text(caller_of_everything(exports), encoding="utf-8")
    program = Program(source, (folder / "types.tilelib",), "sm_90", cubin=True, include=(folder,))
    result = compile_program(program, toolkit)
    assert result.warnings == ()
    assert result.said == ""


def caller_of_everything(exports: object) -> str:
    """A kernel an export: every argument is a tile from memory, and every result goes back there."""
    lines = ['#include "types_tile.h"', "namespace ct = cuda::tiles;", "template <typename E, unsigned N>"]
    lines += ["__tile__ auto view(void* p) {"]
    lines += [
        "    return ct::partition_view{ct::tensor_span{static_cast<E*>(p), ct::shape<N>{}}, ct::shape<N>{}};",
        "}",
    ]
    c_names = {"f16": "__half", "f32": "float", "f64": "double", "i8": "signed char", "i16": "short", "i32": "int"}
    c_names |= {"i64": "long long", "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned int"}
    c_names |= {"u64": "unsigned long long"}
    for each in exports:  # type: ignore[attr-defined]
        views = [f"view<{c_names[one.element.label]}, {each.tile_shape}>({one.name})" for one in each.parameters]
        pointers = ", ".join(f"void* {one.name}" for one in each.parameters)
        call = f"types::{each.name}({', '.join(f'{view}.load(0)' for view in views)})"
        lines.append(f"__tile_global__ void call_{each.name}({pointers}) {{")
        lines.append(f"    auto result = {call};")
        outputs = [view for view, one in zip(views, each.parameters, strict=True) if one.access.writes]
        for number, view in enumerate(outputs):
            lines.append(f"    {view}.store(result{f'.F{number}' if len(outputs) > 1 else ''}, 0);")
        lines.append("}")
    return "\n".join(lines) + "\n"


@needs("g++")
@pytest.mark.parametrize("source", LIBRARIES, ids=lambda path: path.stem)
def test_the_headers_of_all_example_libraries_compile(
    source: Path, built: Build, tmp_path: Path, toolkit: Toolkit
) -> None:
    folder = built(source.stem, source.read_text(encoding="utf-8"), headers=source.parent.glob("*.cuh"))
    (tmp_path / f"{source.stem}_tile.h").write_bytes((folder / f"{source.stem}_tile.h").read_bytes())
    use = f'#include "{source.stem}_tile.h"\n'
    assert compiled(use, tmp_path, toolkit, "--enable-tile", "--tile-preview", "simt") == ""
