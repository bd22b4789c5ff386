"""Our modules against the independent encoder's, the disassembler and the specification's dump."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from bytecode.samples import EXPORTS_OF, GOLDEN, RELU, VERSION, export, full_spelling, parameter
from tilewright.bytecode.module import Module
from tilewright.bytecode.modules import (
    implementation_module,
    interface_module,
    merged_module,
    modules_of,
)
from tilewright.bytecode.reader import read_module
from tilewright.bytecode.text import print_module
from tilewright.bytecode.writer import write_module
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Sync

Disassemble = Callable[[bytes], str]

SPECIFIED_TEXT = """\
// tilelib_relu.iface.tilebc: the interface a cuTile program calls
cuda_tile.module @tilelib_relu {
  cuda_tile.preview$func extern @relu(%x: !cuda_tile.tile<128xf32> {cuda_tile.preview$access = #cuda_tile.preview$access<in>}, %relu_out: !cuda_tile.tile<128xf32> {cuda_tile.preview$access = #cuda_tile.preview$access<out>}) -> !cuda_tile.tile<128xf32>
  cuda_tile.preview$func extern @scale_in_place(%x: !cuda_tile.tile<128xf32> {cuda_tile.preview$access = #cuda_tile.preview$access<inout>}, %factor: !cuda_tile.tile<128xf32> {cuda_tile.preview$access = #cuda_tile.preview$access<in>}) -> !cuda_tile.tile<128xf32>
  cuda_tile.preview$func extern @warp_sum(%x: !cuda_tile.tile<128xf32> {cuda_tile.preview$access = #cuda_tile.preview$access<in>}, %warp_sum_out: !cuda_tile.tile<128xf32> {cuda_tile.preview$access = #cuda_tile.preview$access<out>}) -> !cuda_tile.tile<128xf32>
}
// tilelib_relu.impl.tilebc: the implementations the LTOIR defines
cuda_tile.module @tilelib_relu {
  cuda_tile.preview$extern_impl @relu_impl implements @relu(%x: !cuda_tile.preview$fragment<1xf32, local, mem_layout = #cuda_tile.preview$layout<():()>, fragmap = #cuda_tile.preview$layout<(128, 1, 1):(1, 0, 0)>> {cuda_tile.preview$access = #cuda_tile.preview$access<in>}, %relu_out: !cuda_tile.preview$fragment<1xf32, local, mem_layout = #cuda_tile.preview$layout<(1):(1)>, fragmap = #cuda_tile.preview$layout<(128, 1, 1):(1, 0, 0)>> {cuda_tile.preview$access = #cuda_tile.preview$access<out>})
  cuda_tile.preview$extern_impl @scale_in_place_impl implements @scale_in_place(%x: !cuda_tile.preview$fragment<1xf32, local, mem_layout = #cuda_tile.preview$layout<(1):(1)>, fragmap = #cuda_tile.preview$layout<(128, 1, 1):(1, 0, 0)>> {cuda_tile.preview$access = #cuda_tile.preview$access<inout>}, %factor: !cuda_tile.preview$fragment<1xf32, local, mem_layout = #cuda_tile.preview$layout<():()>, fragmap = #cuda_tile.preview$layout<(128, 1, 1):(1, 0, 0)>> {cuda_tile.preview$access = #cuda_tile.preview$access<in>})
  cuda_tile.preview$extern_impl @warp_sum_impl implements @warp_sum(%x: !cuda_tile.preview$fragment<1xf32, local, mem_layout = #cuda_tile.preview$layout<():()>, fragmap = #cuda_tile.preview$layout<(4, 32, 1):(32, 1, 0)>> {cuda_tile.preview$access = #cuda_tile.preview$access<in>}, %warp_sum_out: !cuda_tile.preview$fragment<1xf32, local, mem_layout = #cuda_tile.preview$layout<(1):(1)>, fragmap = #cuda_tile.preview$layout<(4, 32, 1):(32, 1, 0)>> {cuda_tile.preview$access = #cuda_tile.preview$access<out>})
    synchronization = #cuda_tile.preview$synchronization<warp>
}
"""  # noqa: E501


@pytest.mark.parametrize("stem", EXPORTS_OF)
def test_our_modules_disassemble_to_the_golden_texts(stem: str, disassemble: Disassemble) -> None:
    ours = modules_of(EXPORTS_OF[stem], version=VERSION)
    assert disassemble(ours.interface) == (GOLDEN / f"{stem}.iface.tilebc.txt").read_text()
    assert disassemble(ours.implementation) == (GOLDEN / f"{stem}.impl.tilebc.txt").read_text()


@pytest.mark.parametrize("stem", EXPORTS_OF)
def test_the_independent_bytes_hold_the_same_values_as_ours(stem: str) -> None:
    interface = read_module((GOLDEN / f"{stem}.iface.tilebc").read_bytes(), stem)
    catalog = read_module((GOLDEN / f"{stem}.impl.tilebc").read_bytes(), stem)
    assert interface == interface_module(EXPORTS_OF[stem], VERSION)
    assert catalog == implementation_module(EXPORTS_OF[stem], VERSION)


@pytest.mark.parametrize("stem", ["relu", "three"])
def test_where_both_encoders_order_their_tables_alike_the_bytes_are_equal(stem: str) -> None:
    ours = modules_of(EXPORTS_OF[stem], version=VERSION)
    assert ours.interface == (GOLDEN / f"{stem}.iface.tilebc").read_bytes()
    assert ours.implementation == (GOLDEN / f"{stem}.impl.tilebc").read_bytes()


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.tilebc")), ids=lambda path: path.name)
def test_the_stored_texts_are_what_the_present_disassembler_prints(golden: Path, disassemble: Disassemble) -> None:
    assert disassemble(golden.read_bytes()) == golden.with_name(f"{golden.name}.txt").read_text()


def test_the_text_of_the_three_exports_is_the_specified_dump() -> None:
    assert modules_of(EXPORTS_OF["three"], version=VERSION).text == SPECIFIED_TEXT


def test_the_parametric_text_names_the_extent_in_brackets() -> None:
    text = modules_of(EXPORTS_OF["relu_any"], version=VERSION).text
    assert "extern @relu_any<[N: index]>(%x: !cuda_tile.tile<[N]xf32> {" in text
    assert "}) -> !cuda_tile.tile<[N]xf32>\n" in text
    assert "extern_impl @relu_any_impl<[N: index]> implements @relu_any<[N]>(%x: " in text
    assert "fragmap = #cuda_tile.preview$layout<(N, 1, 1):(1, 0, 0)>" in text


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.tilebc")), ids=lambda path: path.name)
def test_the_text_of_a_module_read_back_is_the_disassembly_with_the_dialect_spelled_out(golden: Path) -> None:
    ours = print_module(read_module(golden.read_bytes(), golden.name), "any_name")
    lines = ours.replace("\n    synchronization", " synchronization").splitlines()
    assert lines[0] == "cuda_tile.module @any_name {"
    assert lines[-1] == "}"
    expected = full_spelling(golden.with_name(f"{golden.name}.txt").read_text())
    assert [line.strip() for line in lines[1:-1]] == expected.splitlines()


def every_shape(size: int | None) -> ExportSet:
    """Each element type with each footprint and synchronization, at one tile size."""
    exports = []
    for element, footprint, sync in product(ElementType, (1, 2, 4, 8, 16), Sync):
        parameters = (
            parameter("x", Access.IN, element, footprint),
            parameter("y", Access.INOUT, element, footprint),
            parameter("out", Access.OUT, element, footprint),
        )
        exports.append(export(f"{element.label}_{footprint}_{sync.value}", *parameters, size=size, sync=sync))
    return ExportSet("every_shape", tuple(exports))


@pytest.mark.parametrize("size", [512, 1 << 24, None])
def test_the_disassembler_accepts_every_element_footprint_and_synchronization(
    size: int | None, disassemble: Disassemble
) -> None:
    exports = every_shape(size)
    merged = merged_module(exports, version=VERSION)
    lines = disassemble(merged).splitlines()
    implementations = [line for line in lines if "implements" in line]
    for one, line in zip(exports.exports, implementations, strict=True):
        assert line.count(f"preview$fragment<{one.footprint}x{one.parameters[0].element.tile}, local") == 3
    assert len(implementations) == 110
    ours = print_module(read_module(merged, "merged"), "m").replace("\n    synchronization", " synchronization")
    assert [line.strip() for line in ours.splitlines()[1:-1]] == full_spelling("\n".join(lines)).splitlines()


@pytest.mark.parametrize(
    ("footprint", "sync", "size", "fragmap"),
    [
        (1, Sync.NONE, 128, "(128, 1, 1):(1, 0, 0)"),
        (4, Sync.NONE, 128, "(32, 1, 4):(4, 0, 1)"),
        (1, Sync.WARP, 128, "(4, 32, 1):(32, 1, 0)"),
        (4, Sync.WARP, 128, "(1, 32, 4):(128, 4, 1)"),
        (1, Sync.NONE, None, "(N, 1, 1):(1, 0, 0)"),
        (4, Sync.NONE, None, "(N / 4, 1, 4):(4, 0, 1)"),
        (1, Sync.WARP, None, "(N / 32, 32, 1):(32, 1, 0)"),
        (4, Sync.WARP, None, "(N / 128, 32, 4):(128, 4, 1)"),
    ],
)
def test_the_fragmap_divides_the_tile_among_the_invocations(
    footprint: int, sync: Sync, size: int | None, fragmap: str, disassemble: Disassemble
) -> None:
    one = export("f", parameter("x", Access.INOUT, footprint=footprint), size=size, sync=sync)
    assert f"fragmap = <{fragmap}>" in disassemble(merged_module(ExportSet("one", (one,)), version=VERSION))


def test_several_outputs_are_the_results_in_order(disassemble: Disassemble) -> None:
    two = export(
        "f", parameter("a", Access.INOUT, ElementType.F16), parameter("f_out", Access.OUT, ElementType.U32), size=64
    )
    modules = modules_of(ExportSet("two", (two,)), version=VERSION)
    assert "-> (tile<64xf16>, tile<64xi32>)" in disassemble(modules.interface)
    assert "-> (!cuda_tile.tile<64xf16>, !cuda_tile.tile<64xi32>)\n" in modules.text


def test_the_arch_list_is_written(disassemble: Disassemble) -> None:
    limited = replace(RELU, arch=("sm_90", "sm_120"))
    modules = modules_of(ExportSet("limited", (limited,)), version=VERSION)
    assert 'arch = ["sm_90", "sm_120"]' in disassemble(modules.implementation)
    assert '\n    arch = ["sm_90", "sm_120"]\n' in modules.text
    assert read_module(modules.implementation, "limited").implementations[0].arch == ("sm_90", "sm_120")


def test_the_disassembler_refuses_an_implementation_that_does_not_cover_its_declaration(
    disassemble: Disassemble,
) -> None:
    half = export("relu", parameter("x"), parameter("relu_out", Access.OUT), size=64)
    declarations = interface_module(EXPORTS_OF["relu"], VERSION).declarations
    implementations = implementation_module(ExportSet("half", (half,)), VERSION).implementations
    with pytest.raises(AssertionError, match="64"):
        disassemble(write_module(Module(VERSION, declarations, implementations)))


def test_the_version_is_written_into_the_header() -> None:
    data = modules_of(EXPORTS_OF["relu"], version=(13, 7)).interface
    assert data[8:12] == bytes((13, 7, 1, 0))
    assert read_module(data, "newer").version == (13, 7)


def test_equal_exports_give_equal_bytes() -> None:
    first, second = (modules_of(every_shape(512), version=VERSION) for _ in range(2))
    assert first == second
