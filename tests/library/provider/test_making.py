"""From exports and device code to a provider, and what is refused on the way."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from library.provider.samples import CUDA, EXPORTS, HEAD, IR, TAIL
from library.samples import elementwise
from tilewright.exports.description import ExportError
from tilewright.exports.model import ExportSet
from tilewright.library.archive import PayloadKind, read_library
from tilewright.library.errors import LibraryError
from tilewright.library.provider.abi import ENTRY, HEADER_VARIABLE, OBSERVED, choose_abi
from tilewright.library.provider.bodies import code_of_ir
from tilewright.library.provider.c_compiler import CCompiler, compile_shared, find_c_compiler
from tilewright.library.provider.identity import provider_identity
from tilewright.library.provider.making import RUNTIME, make_provider, provider_sources
from tilewright.toolchain.toolkit import Toolkit


def refused(requested: str, **environ: str) -> str:
    with pytest.raises(LibraryError) as caught:
        choose_abi(requested, environ)
    return str(caught.value)


def test_the_observed_abi_must_be_asked_for_by_name() -> None:
    assert choose_abi("observed", {}) == OBSERVED
    text = refused("")
    assert "linkage provider header, which is part of that compiler's source tree and of no CUDA toolkit" in text
    assert f"{HEADER_VARIABLE}, the folder it is in, is not set" in text
    assert "hint: provider_abi=observed" in text
    assert "undocumented" in text
    assert "no provider ABI `guessed`" in refused("guessed")


def test_a_vendor_header_is_recognised_and_not_taken_for_the_observed_abi(tmp_path: Path) -> None:
    assert f"{tmp_path}, in which no header declares `{ENTRY}`" in refused("", **{HEADER_VARIABLE: str(tmp_path)})
    header = tmp_path / "inner" / "provider.h"
    header.parent.mkdir()
    header.write_text(f"int {ENTRY}(void);\n")
    text = refused("", **{HEADER_VARIABLE: str(tmp_path)})
    assert f"{header} declares the provider ABI in names that this version of tilewright does not know" in text
    assert choose_abi("observed", {HEADER_VARIABLE: str(tmp_path)}) == OBSERVED


def test_the_library_holds_the_interface_of_all_exports_and_a_shared_object(providers: Mapping[str, Path]) -> None:
    for path in providers.values():
        contents = read_library(path.read_bytes(), path.name)
        assert contents.payload.kind is PayloadKind.PROVIDER
        assert contents.catalog is None
        assert [each.name for each in contents.interface.declarations] == [each.name for each in EXPORTS.exports]


def test_the_bytes_depend_on_no_path(
    providers: Mapping[str, Path],
    toolkit: Toolkit,
    compiler: CCompiler,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    again = make_provider(EXPORTS, IR, toolkit=toolkit, compiler=compiler)
    assert again == providers["ir"].read_bytes()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("define void @relu_any_impl(double %x, float* %o)", "parameter 1 (`x`, f32) is double, must be float"),
        ("define void @relu_any_impl(float* %o, float %x)", "parameter 1 (`x`, f32) is ptr, must be float"),
        ("define void @relu_any_impl(float %x)", "it takes 2 parameters: x, relu_any_out"),
        ("define float @relu_any_impl(float %x, float* %o)", "return nothing"),
        ("define internal void @relu_any_impl(float %x, float* %o)", "it must be an external device function"),
        ("define void @relu_any_impl(float %x, float* byval %o)", "is ptr byval, must be ptr"),
        ("define void @other(float %x, float* %o)", "no function `relu_any_impl`"),
        ("declare void @relu_any_impl(float, float*)\n;", "a declaration is not enough"),
    ],
)
def test_a_wrong_signature_is_refused_before_anything_is_compiled(toolkit: Toolkit, head: str, expected: str) -> None:
    exports = ExportSet("l", (elementwise("relu_any", tile_shape=None),))
    text = f"{HEAD}{head} {{\n  ret void\n}}\n{TAIL}"
    nothing = CCompiler(("false",), "the test")
    with pytest.raises(LibraryError) as caught:
        make_provider(exports, text, toolkit=toolkit, compiler=nothing)
    assert expected in str(caught.value)


def test_only_the_bodies_of_parametric_exports_are_hidden_from_the_linker() -> None:
    ir = code_of_ir(EXPORTS, IR).ir
    assert "define internal void @relu_any_impl(" in ir
    assert "define internal void @warp_sum_any_impl(" in ir
    assert "define void @relu_impl(" in ir
    assert "define void @scale_in_place_impl(" in ir


def test_attributes_of_parameters_are_not_part_of_their_types() -> None:
    exports = ExportSet("l", (elementwise("relu_any", tile_shape=None),))
    head = "define dso_local void @relu_any_impl(float noundef %x, float* noalias align 4 dereferenceable(4) %o) #1"
    (body,) = code_of_ir(exports, f"{HEAD}{head} {{\n  ret void\n}}\n{TAIL}").bodies
    assert body.types == ("float", "float*")


def test_opaque_pointers_are_given_types() -> None:
    exports = ExportSet("l", (elementwise("relu_any", tile_shape=None),))
    text = f"{HEAD}define void @relu_any_impl(float %x, ptr %o) {{\n  store float %x, ptr %o\n  ret void\n}}\n{TAIL}"
    code = code_of_ir(exports, text)
    assert code.bodies[0].types == ("float", "float*")
    assert "ptr" not in code.ir.replace("nvptx", "")


def test_libdevice_is_needed_only_where_it_is_called() -> None:
    assert not code_of_ir(EXPORTS, IR).needs_libdevice
    assert code_of_ir(EXPORTS, f"{IR}declare float @__nv_expf(float)\n").needs_libdevice


def test_code_that_is_not_ltoir_is_refused(toolkit: Toolkit, compiler: CCompiler) -> None:
    with pytest.raises(LibraryError, match="not LTOIR"):
        make_provider(EXPORTS, CUDA.encode(), toolkit=toolkit, compiler=compiler)


def test_a_library_without_exports_and_an_abi_that_is_not_known_are_refused(
    toolkit: Toolkit, compiler: CCompiler
) -> None:
    with pytest.raises(LibraryError, match="would be empty"):
        make_provider(ExportSet("none", ()), IR, toolkit=toolkit, compiler=compiler)
    with pytest.raises(LibraryError, match="the ABI `other`"):
        make_provider(EXPORTS, IR, toolkit=toolkit, compiler=compiler, abi="other")


def test_names_that_break_a_rule_never_reach_the_c_compiler(toolkit: Toolkit, compiler: CCompiler) -> None:
    evil = replace(EXPORTS.exports[0], name='x", system("id"), "')
    with pytest.raises(ExportError):
        make_provider(ExportSet("mixed", (evil,)), IR, toolkit=toolkit, compiler=compiler)


def test_the_identity_names_sources_and_compiler_and_no_path(compiler: CCompiler) -> None:
    identity = provider_identity(compiler)
    assert identity == provider_identity(compiler)
    assert str(RUNTIME) not in identity
    assert re.match(r"provider [0-9a-f]{16}, (cc|gcc|clang|Debian|Ubuntu)", identity)
    assert provider_identity(CCompiler(("false",), "the test")) != identity


def test_without_an_assembler_the_error_says_what_to_install(toolkit: Toolkit, compiler: CCompiler) -> None:
    with pytest.raises(LibraryError, match="tileiras is missing"):
        make_provider(EXPORTS, IR, toolkit=replace(toolkit, assembler=None), compiler=compiler)


def test_the_compiler_is_the_one_named_else_the_first_on_the_path_else_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_c_compiler({"CC": "ccache gcc -m64"}).command == ("ccache", "gcc", "-m64")
    for name in ("clang", "gcc"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
        assert find_c_compiler({"PATH": str(tmp_path)}) == CCompiler((str(tmp_path / name),), "PATH")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if name == "ziglang" else None)
    wheel = find_c_compiler({"PATH": str(tmp_path / "nowhere")})
    assert wheel == CCompiler((sys.executable, "-m", "ziglang", "cc"), "the ziglang wheel")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(LibraryError, match="no C compiler was found") as caught:
        find_c_compiler({"PATH": str(tmp_path / "nowhere")})
    assert "pip install ziglang" in str(caught.value)


def test_a_compiler_that_refuses_is_quoted_whole(compiler: CCompiler) -> None:
    with pytest.raises(LibraryError) as caught:
        compile_shared({"a.c": b"int x = nonsense;\n"}, "a.so", compiler=compiler, environ=os.environ)
    text = str(caught.value)
    assert "the C compiler could not make `a.so` (exit code 1)" in text
    assert "nonsense" in text
    silent = CCompiler(("true",), "the test")
    with pytest.raises(LibraryError, match=r"reported success but wrote no `a\.so`"):
        compile_shared({"a.c": b""}, "a.so", compiler=silent, environ=os.environ)


def test_the_runtime_compiles_without_a_warning(compiler: CCompiler) -> None:
    strict = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wstrict-prototypes", "-Werror")
    picky = CCompiler((*compiler.command, *strict), "the test")
    sources = provider_sources("mixed", code_of_ir(EXPORTS, IR), (13, 5))
    assert compile_shared(sources, "p.so", compiler=picky, environ=os.environ)
