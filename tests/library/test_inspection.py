"""What `inspect` shows of a library."""

from __future__ import annotations

import json

from library.samples import THREE, Packed, elementwise
from library.test_archive import elf
from tilewright.bytecode.modules import modules_of
from tilewright.exports.model import ExportSet
from tilewright.library.archive import read_library
from tilewright.library.inspection import inspection_json, inspection_text


def test_the_text_for_the_three_exports(packed: Packed) -> None:
    nvvm_version = packed.ltoir[10]
    assert inspection_text(read_library(packed.library, "build/sm_120/three.tilelib")) == (
        "three: static tile library, Tile IR 13.5, packed for x86-64 hosts\n"
        "\n"
        "interface: 3 declaration(s)\n"
        "  @relu(tile<128xf32> in, tile<128xf32> out) -> tile<128xf32>\n"
        "  @scale_in_place(tile<128xf32> inout, tile<128xf32> in) -> tile<128xf32>\n"
        "  @warp_sum(tile<128xf32> in, tile<128xf32> out) -> tile<128xf32>\n"
        "\n"
        "implementations: 3\n"
        "  @relu_impl implements @relu: each thread alone, every architecture\n"
        "  @scale_in_place_impl implements @scale_in_place: each thread alone, every architecture\n"
        "  @warp_sum_impl implements @warp_sum: called by a whole warp, every architecture\n"
        "\n"
        f"code: LTOIR, {len(packed.ltoir)} bytes\n"
        "  made for compute_75, serves this architecture and newer ones\n"
        f"  NVVM version {nvvm_version}\n"
    )


def test_the_json_holds_the_same_facts(packed: Packed) -> None:
    record = json.loads(inspection_json(read_library(packed.library, "three.tilelib")))
    assert record["schema"] == 1
    assert (record["library"], record["form"], record["host"]) == ("three", "static", "x86-64")
    assert record["bytecode_version"] == "13.5"
    assert record["declarations"][1] == {
        "name": "scale_in_place",
        "const_params": [],
        "arguments": [{"type": "tile<128xf32>", "access": "inout"}, {"type": "tile<128xf32>", "access": "in"}],
        "results": ["tile<128xf32>"],
    }
    assert [each["symbol"] for each in record["implementations"]] == [each.symbol for each in THREE.exports]
    assert record["implementations"][2]["synchronization"] == "warp"
    assert record["implementations"][0]["architectures"] == []
    assert record["implementations"][0]["arguments"][0]["type"].startswith("preview$fragment<1xf32, local,")
    assert record["payload"] == {
        "kind": "ltoir",
        "size": len(packed.ltoir),
        "ltoir_arch": "compute_75",
        "nvvm_version": packed.ltoir[10],
    }
    assert record["problems"] == []


def test_architectures_and_parameters_of_an_implementation_are_shown() -> None:
    exports = ExportSet("m", (elementwise("relu", arch=("sm_90", "SM 120")), elementwise("any", tile_shape=None)))
    modules = modules_of(exports, version=(13, 5))
    sections = [(b".nvtlifc", modules.interface), (b".nvtl.0", modules.implementation), (b".nvtl.1", b"\x01\x02")]
    text = inspection_text(read_library(elf(sections), "m.tilelib"))
    assert '@relu_impl implements @relu: each thread alone, only sm_90, "SM 120"\n' in text
    assert "@any<[N: index]>(tile<[N]xf32> in, tile<[N]xf32> out) -> tile<[N]xf32>\n" in text
    assert text.endswith("code: of an unknown kind, beginning with 01 02, 2 bytes\n")


def test_a_provider_is_shown_as_one(packed: Packed) -> None:
    library = read_library(elf([(b".nvtlifc", packed.interface)], kind=3), "p.tilelib")
    text = inspection_text(library)
    assert text.startswith("p: provider tile library, Tile IR 13.5")
    assert "implementations: the provider names them for each call\n" in text
    record = json.loads(inspection_json(library))
    assert (record["form"], record["payload"]["kind"], record["implementations"]) == ("provider", "provider", [])


def test_names_from_the_file_cannot_reach_the_terminal_raw(packed: Packed) -> None:
    hostile = packed.interface.replace(b"relu", b"\x1b[2J")
    sections = [(b".nvtlifc", hostile), (b".nvtl.0", packed.implementation), (b".nvtl.1", packed.ltoir)]
    library = read_library(elf(sections), "x.tilelib")
    shown = inspection_text(library) + inspection_json(library) + "".join(each.what for each in library.mismatches())
    assert "\x1b" not in shown
    assert '@"\\1B[2J"(' in shown
