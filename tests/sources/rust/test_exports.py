"""What a Rust source says about its exports, and that rustc and the device compiler agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sources import project as cuda
from sources.project import write
from sources.rust.project import RELU, SPEC, TILE, USE, environment, exports_of, ltoir, read, refusal, source_of
from tilewright.device.workers import Workers
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, Parameter, Sync
from tilewright.problem import Place
from tilewright.toolchain.toolkit import Toolkit

STABLE = [element for element in ElementType if element is not ElementType.F16]
FORMS = {
    "x: {T}": ("x", Access.IN, 1, True),
    "x: &{T}": ("*x", Access.IN, 1, False),
    "x: &'a {T}": ("*x", Access.IN, 1, False),
    "x: &[{T}; 1]": ("x[0]", Access.IN, 1, False),
    "x: &[{T}; 0x10]": ("x[15]", Access.IN, 16, False),
    "x: &mut {T}": ("*x", Access.INOUT, 1, False),
    "x: &mut [{T}; 4_usize]": ("x[3]", Access.INOUT, 4, False),
}


def test_the_specifications_functions_are_the_same_exports_as_in_cuda(tmp_path: Path) -> None:
    rust = source_of(tmp_path, SPEC).exports
    assert rust == cuda.read(write(tmp_path, {"k.cu": cuda.SPEC})).exports
    assert [export.name for export in rust.exports] == ["relu", "scale_in_place", "warp_sum"]


@pytest.mark.parametrize("form", FORMS)
def test_every_element_type_passes_in_every_form(form: str, tmp_path: Path, toolkit: Toolkit, workers: Workers) -> None:
    value, access, footprint, by_value = FORMS[form]
    functions = []
    for element in STABLE:
        parameters = form.replace("{T}", element.label)
        generics = "<'a>" if "'a" in form else ""
        body = f"{{ let y = {value}; out[0] = y; }}"
        out = f"out: &mut [{element.label}; {footprint}]"
        functions.append(f"{TILE}pub fn f_{element.label}{generics}({parameters}, {out}) {body}\n")
    source = source_of(tmp_path, USE + "".join(functions))
    for export, element in zip(source.exports.exports, STABLE, strict=True):
        assert export.parameters[0] == Parameter("x", element, access, footprint, by_value)
    assert ltoir(source, "sm_120", toolkit, workers)
    assert ltoir(source, "compute_75", toolkit, workers)


@pytest.mark.parametrize("element", STABLE)
def test_every_element_type_is_returned_through_the_slot(element: ElementType, tmp_path: Path) -> None:
    (export,) = exports_of(tmp_path, f"{USE}{TILE}pub fn f(x: {element.label}) -> {element.label} {{ x }}\n")
    assert export.parameters[1] == Parameter("f_out", element, Access.OUT, is_return=True)


def test_arguments_of_the_attribute(tmp_path: Path) -> None:
    (export,) = exports_of(
        tmp_path,
        "#[cuda_device::tile_export(\n    tile_shape = 1_024u32, /* elements */\n"
        '    name = "rectify", symbol = "native", sync = "warp", // lanes\n'
        '    arch = ["sm_90", "sm_120a",], max_ulps = 7,\n)]\n'
        "#[inline]\npub(crate) fn relu(x: f32) -> f32 { x.max(0.0) }\n",
    )
    assert (export.name, export.symbol, export.function) == ("rectify", "native", "relu")
    assert (export.tile_shape, export.sync, export.arch) == (1024, Sync.WARP, ("sm_90", "sm_120a"))
    assert export.max_ulps == 7


@pytest.mark.parametrize("attribute", ["#[tile_export]", "#[tile_export()]"])
def test_without_a_size_the_call_supplies_it(attribute: str, tmp_path: Path) -> None:
    (export,) = exports_of(tmp_path, f"{USE}{attribute}\nfn relu(x: f32) -> f32 {{ x }}\n")
    assert export.tile_shape is None


def test_positions_are_those_of_the_attribute_and_of_each_parameter(tmp_path: Path) -> None:
    (export,) = exports_of(tmp_path, f"// größer: é\n{USE}{TILE}pub fn f(/* ö */ x: f32) -> f32 {{ x }}\n")
    assert export.where == Place("k.rs", 3, 3)
    assert [parameter.where for parameter in export.parameters] == [Place("k.rs", 4, 18), Place("k.rs", 4, 29)]


def test_doc_comments_of_every_kind_are_the_doc_text(tmp_path: Path) -> None:
    text = (
        "//! The file's own.\n" + USE + "/// One.\n// plain\n/** Two,\n * three. */\n"
        '#[doc = "Four."]\n' + TILE + "/// Five.\n//// none\nfn f(x: f32) -> f32 { x }\n"
    )
    (export,) = exports_of(tmp_path, text)
    assert export.doc == "One.\nTwo,\nthree.\nFour.\nFive."


def test_exports_in_modules_keep_the_order_of_the_files(tmp_path: Path) -> None:
    write(tmp_path, {"m.rs": RELU, "part.in": f"{TILE}fn included(x: f32) -> f32 {{ x }}\n"})
    inner = f"mod inner {{ {USE}{TILE}fn deep(x: f32) -> f32 {{ x }} }}\n"
    exports = exports_of(tmp_path, f'{USE}mod m;\n{inner}include!("part.in");\n{TILE}fn own(x: f32) -> f32 {{ x }}\n')
    assert [export.name for export in exports] == ["deep", "own", "relu", "included"]
    assert [export.where.file for export in exports if export.where] == ["k.rs", "k.rs", "m.rs", "part.in"]


def test_a_raw_name_is_known_without_its_mark(tmp_path: Path) -> None:
    message = refusal(write(tmp_path, {"k.rs": f"{USE}{TILE}fn r#match(x: f32) -> f32 {{ x }}\n"}))
    assert "function `match` is a keyword of Rust [keyword-name]" in message


def test_a_parameter_may_have_the_name_of_its_function(tmp_path: Path) -> None:
    (export,) = exports_of(tmp_path, f"{USE}{TILE}fn twice(twice: f32) -> f32 {{ twice * 2.0 }}\n")
    assert export.parameters[0].name == "twice"


def test_all_problems_of_all_files_come_at_once(tmp_path: Path) -> None:
    write(tmp_path, {"m.rs": f"{USE}{TILE}fn g(x: bool) -> f32 {{ 0.0 }}\n"})
    root = write(tmp_path, {"k.rs": f"{USE}mod m;\n#[tile_export(tile_shape = 3, sink = 1)]\nfn f(x: f32) {{}}\n"})
    message = refusal(root)
    assert [line.split(": error")[0] for line in message.splitlines() if ": error" in line] == [
        "k.rs:3:3",
        "k.rs:3:3",
        "k.rs:3:31",
        "m.rs:3:9",
    ]


def test_half_floats_are_compiled_with_the_switch_which_says_so(
    tmp_path: Path, toolkit: Toolkit, workers: Workers
) -> None:
    text = f"{USE}{TILE}fn h(x: f16, y: &f16, z: &mut [f16; 1]) -> f16 {{ z[0] = x + *y; x }}\n"
    assert "write f32, or build with nightly_f16=1" in refusal(write(tmp_path, {"k.rs": text}))
    source = source_of(tmp_path, text, nightly_f16=True)
    assert {parameter.element for parameter in source.exports.exports[0].parameters} == {ElementType.F16}
    assert re.search(r"^; .*RUSTC_BOOTSTRAP=1.*nightly-f16", source.device_text, re.MULTILINE)
    for arch in ("compute_75", "sm_90", "sm_120"):
        assert ltoir(source, arch, toolkit, workers)
    enabled = source_of(tmp_path, f"#![feature(f16)]\n{text}", nightly_f16=True)
    assert enabled.exports == source.exports


def test_without_the_switch_the_environment_admits_no_unstable_feature(tmp_path: Path) -> None:
    message = refusal(write(tmp_path, {"k.rs": f"#![feature(f128)]\n{RELU}"}), environ=environment(RUSTC_BOOTSTRAP="1"))
    assert "may not be used on the stable release channel [E0554]" in message


def test_the_error_bound_is_declared_where_libdevice_is_inexact(tmp_path: Path) -> None:
    text = (
        f"use cuda_device::{{math, tile_export}};\n{TILE}"
        f"fn exact(x: f32) -> f32 {{ x.sqrt().floor().mul_add(x, 1.0) }}\n{TILE}"
        "fn bounded(x: f32) -> f32 { helper(x) }\n#[inline(never)]\nfn helper(x: f32) -> f32 { math::erf_f32(x) }\n"
        "#[tile_export(tile_shape = 128, max_ulps = 9)]\nfn declared(x: f64) -> f64 { x.exp() }\n"
        "#[tile_export(tile_shape = 128, max_ulps = 0)]\nfn strict(x: f64) -> f64 { x + 1.0 }\n"
    )
    assert {export.name: export.max_ulps for export in exports_of(tmp_path, text)} == {
        "exact": None,
        "bounded": 4,
        "declared": 9,
        "strict": 0,
    }


def test_a_crate_folder_is_a_source(tmp_path: Path) -> None:
    manifest = (
        '[package]\nname = "tiles"\nedition = "2024"\n[features]\ndefault = ["wide"]\nwide = []\nnarrow = []\n'
        '[dependencies]\ncuda_device = { path = "../cuda_device" }\n'
    )
    library = (
        f'{USE}mod m;\n#[cfg(feature = "wide")]\nconst X: f32 = 1.0;\n{TILE}fn f(x: f32) -> f32 {{ x + X + m::Y }}\n'
    )
    write(tmp_path, {"c/Cargo.toml": manifest, "c/src/lib.rs": library, "c/src/m.rs": "pub const Y: f32 = 2.0;\n"})
    source = read(tmp_path, "c")
    assert [export.name for export in source.exports.exports] == ["f"]
    assert source.exports.exports[0].where == Place("c/src/lib.rs", 5, 3)
    names = [path.relative_to(tmp_path).as_posix() for path in source.dependencies]
    assert names == ["c/Cargo.toml", "c/src/lib.rs", "c/src/m.rs"]
    assert read(tmp_path, "c/Cargo.toml").exports == source.exports
    assert source.device_text.startswith("; Written by tilewright from c; do not edit.\n")


@pytest.mark.parametrize(
    ("manifest", "files", "words"),
    [
        ("[package\n", {}, r"c/Cargo\.toml:1:\d+: error: the manifest is not TOML"),
        ('[workspace]\nmembers = ["a"]\n', {}, "describes no package"),
        ('[package]\nedition = "2077"\n', {}, "`2077` is no edition"),
        ("[package]\nedition.workspace = true\n", {}, "edition is inherited"),
        ('[package]\nedition = "2021"\n[dependencies]\nlibm = "1"\n', {}, "depends on `libm`"),
        ('[package]\nedition = "2021"\n[target.x.dependencies]\nlibm = "1"\n', {}, "depends on `libm`"),
        ('[package]\nedition = "2021"\n', {"c/build.rs": "fn main() {}\n"}, "build script"),
        ('[package]\nedition = "2021"\n', {}, r"no file `c/src/lib\.rs`"),
        ('[package]\nedition = "2021"\n[features]\ndefault = 3\n', {"c/src/lib.rs": ""}, "the file is empty"),
        (
            '[package]\nedition = "2021"\n[features]\ndefault = ["a\\u0000"]\n"a\\u0000" = []\n',
            {"c/src/lib.rs": RELU},
            "did not start",
        ),
        ('[package]\nedition = "2021"\n[lib]\npath = 3\n', {}, "path of the library is not a string"),
    ],
)
def test_a_manifest_that_needs_cargo_is_refused(
    manifest: str, files: dict[str, str], words: str, tmp_path: Path
) -> None:
    assert re.search(words, refusal(write(tmp_path, {"c/Cargo.toml": manifest, **files}), "c"))
