"""The device text of the examples computes what their Rust computes on the host, bit for bit.

It covers our text steps and the optimiser, on the host: `__nv_*` is bound to the functions that the native code calls.
GPU code generation, shuffles and libdevice's own accuracy are not covered.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from device.retarget.differential import differences, host_math, native_library
from sources.rust.project import environment
from tilewright.exports.model import Parameter, Sync, TileExport
from tilewright.sources.rust.crates_cache import CRATES, built_crates
from tilewright.sources.rust.front_end import read_rust_file
from tilewright.sources.rust.rustc import compile_rust, find_rustc
from tilewright.sources.source import Source

EXAMPLES = Path(__file__).parents[3] / "examples"
COMPARED = {
    "tilelib_relu_rust": ("relu", "scale_in_place"),
    "tilelib_math": ("gelu", "silu", "softplus", "erf", "clamp", "quantise", "dequantise", "softmax4"),
}


@dataclass(frozen=True)
class Example:
    """An example as device text and as a native library, and the host's math."""

    source: Source
    library: Path
    math: Path

    def export(self, name: str) -> TileExport:
        return next(export for export in self.source.exports.exports if export.name == name)


def kind(parameter: Parameter) -> str:
    """The parameter as the comparison reads it: `f32`, `*f32`, `*f32x4`."""
    count = f"x{parameter.footprint}" if parameter.footprint > 1 else ""
    return parameter.element.label if parameter.by_value else f"*{parameter.element.label}{count}"


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Example]:
    folder = tmp_path_factory.mktemp("native")
    rustc = find_rustc(environment(), folder=folder)
    macros = built_crates(rustc, environ=environment()).folder
    crate = ("--edition=2021", "--crate-type=rlib", "--crate-name=cuda_device", "-Cpanic=abort", f"--out-dir={folder}")
    extern = f"--extern=cuda_device_macros={macros / 'libcuda_device_macros.so'}"
    root_file = str(CRATES / "cuda_device" / "src" / "lib.rs")
    compile_rust(rustc, (*crate, extern, root_file), folder=folder, environ=environment())
    flags = (f"--extern=cuda_device={folder / 'libcuda_device.rlib'}", f"-Ldependency={macros}")
    math = host_math(Path(rustc.path), folder)
    made = {}
    for name in COMPARED:
        path = EXAMPLES / name / f"{name}.rs"
        source = read_rust_file(path, name=path.name, root=path.parent, library=name)
        made[name] = Example(source, native_library(Path(rustc.path), path, folder / f"lib{name}.so", *flags), math)
    return made


@pytest.mark.parametrize(("example", "name"), [(example, name) for example in COMPARED for name in COMPARED[example]])
def test_an_export_computes_what_its_rust_computes(example: str, name: str, examples: dict[str, Example]) -> None:
    made = examples[example]
    export = made.export(name)
    kinds = [kind(parameter) for parameter in export.parameters]
    found = differences(export.symbol, kinds, made.source.device_text, made.library, made.math)
    assert found.inputs >= 10_000
    assert found.mismatches == 0, found.first


def test_every_export_is_compared_or_needs_a_warp(examples: dict[str, Example]) -> None:
    for name, made in examples.items():
        alone = [export.name for export in made.source.exports.exports if export.sync is Sync.NONE]
        assert sorted(alone) == sorted(COMPARED[name])


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("clamp", "fcmp ogt float %low.x.i", "fcmp ugt float %low.x.i"),
        ("quantise", "%over, i8 127", "%over, i8 126"),
        ("dequantise", "sitofp i8", "uitofp i8"),
    ],
)
def test_a_broken_lowering_is_caught(name: str, right: str, wrong: str, examples: dict[str, Example]) -> None:
    made = examples["tilelib_math"]
    export = made.export(name)
    broken = made.source.device_text.replace(right, wrong)
    assert broken != made.source.device_text
    kinds = [kind(parameter) for parameter in export.parameters]
    assert differences(export.symbol, kinds, broken, made.library, made.math).mismatches > 0
