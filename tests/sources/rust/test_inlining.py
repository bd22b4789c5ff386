"""A CUDA C++ caller links with the examples and nothing of the call is left: no function, no `CALL`, no stack frame."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from sources.rust.project import ltoir
from tilewright.device.module import DeviceModule
from tilewright.device.nvjitlink import link
from tilewright.device.nvrtc import compile_cuda
from tilewright.device.workers import Workers
from tilewright.exports.abi import native_parameters, prototype
from tilewright.exports.model import ExportSet, TileExport
from tilewright.sources.rust.front_end import read_rust_file
from tilewright.sources.source import Source
from tilewright.toolchain.toolkit import Toolkit

EXAMPLES = Path(__file__).parents[3] / "examples"
SLOW_PATHS = {"quantise": 1, "silu": 1, "softmax4": 4}
"""Exports that divide: the compiler calls its own helper for operands near the ends of the range, once a division."""


def caller(exports: ExportSet) -> str:
    """A kernel for each export: elements come from memory, pointers are to the thread's own copies."""
    return "\n".join(_kernel(export) for export in exports.exports)


def _kernel(export: TileExport) -> str:
    lines, arguments, stores = [], [], []
    for at, native in enumerate(native_parameters(export)):
        element = native.c.removeprefix("const ").rstrip("*")
        count = export.footprint
        lines.append(f"{element} v{at}[{count}];")
        lines.append(f"for (int i = 0; i < {count}; ++i) v{at}[i] = p{at}[threadIdx.x * {count} + i];")
        arguments.append(f"v{at}[0]" if native.by_value else f"v{at}")
        stores.append(f"for (int i = 0; i < {count}; ++i) p{at}[threadIdx.x * {count} + i] = v{at}[i];")
    pointers = ", ".join(
        f"{native.c.removeprefix('const ').rstrip('*')} *p{at}" for at, native in enumerate(native_parameters(export))
    )
    body = "\n  ".join([*lines, f"{export.symbol}({', '.join(arguments)});", *stores])
    return (
        f'extern "C" __device__ {prototype(export)};\n'
        f'extern "C" __global__ void call_{export.name}({pointers}) {{\n  {body}\n}}\n'
    )


@pytest.fixture(scope="module", params=["tilelib_relu_rust", "tilelib_math"])
def source(request: pytest.FixtureRequest) -> Source:
    path = EXAMPLES / request.param / f"{request.param}.rs"
    return read_rust_file(path, name=path.name, root=path.parent, library=request.param)


@pytest.mark.parametrize(("made_for", "arch"), [("sm_90", "sm_90"), ("sm_120", "sm_120"), ("compute_75", "sm_120")])
def test_every_export_is_inlined(
    source: Source, made_for: str, arch: str, toolkit: Toolkit, workers: Workers, tmp_path: Path
) -> None:
    text = f'// Written by a test\n#line 1 "caller.cu"\n{caller(source.exports)}'
    nvrtc, nvjitlink = (str(toolkit.require(name).path) for name in ("nvrtc", "nvjitlink"))
    module = DeviceModule("cuda", text, "caller.cu")
    called = workers.run(compile_cuda, module, arch.replace("sm_", "compute_"), nvrtc, toolkit.include).ltoir
    inputs = [("library", ltoir(source, made_for, toolkit, workers)), ("caller", called)]
    (tmp_path / "a.cubin").write_bytes(workers.run(link, inputs, arch=arch, nvjitlink=nvjitlink))
    nvdisasm = str(toolkit.require("nvdisasm").path)
    done = subprocess.run([nvdisasm, "-c", tmp_path / "a.cubin"], capture_output=True, text=True, check=True)
    functions = re.split(r"^\.text\.(\w+):$", done.stdout, flags=re.MULTILINE)
    kernels = dict(zip(functions[1::2], functions[2::2], strict=True))
    assert set(kernels) == {f"call_{export.name}" for export in source.exports.exports}
    for export in source.exports.exports:
        calls = re.findall(r"\bCALL\S* .*", kernels[f"call_{export.name}"])
        assert len(calls) == SLOW_PATHS.get(export.name, 0), (export.name, calls)
        assert all("div_rn_noftz_f32_slowpath" in call for call in calls)
