"""The emitted text through the real NVRTC and ptxas, for both architectures, without a GPU."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from lowering.evidence_cases import cases
from tileir import kernels
from tilewright.lowering.cuda.lower import lower
from tilewright.lowering.options import CompileOptions
from tilewright.runtime.errors import ShaderError
from tilewright.runtime.nvrtc import Nvrtc, artifact_options, compile_ptx, open_nvrtc, options_of, ptx_text

NEVER = re.compile(rb"mma|simd_|cooperative|cudadevrt|cudaLaunchDevice|\.shared|bar\.sync|shfl", re.IGNORECASE)
"""What a kernel of this route must not hold: matrix units, warp or block cooperation, launches from the device."""

ENTRY = re.compile(rb"\.visible \.entry (\w+)\(([^)]*)\)")


@pytest.fixture(scope="module")
def library(toolkit) -> str:
    return str(toolkit.require("nvrtc").path)


@pytest.mark.parametrize("architecture", ["sm_90", "sm_120"])
def test_every_evidence_kernel_compiles_and_assembles(architecture, library, toolkit, tmp_path):
    ptxas = toolkit.require("ptxas").path

    def compiled(numbered):
        number, case = numbered
        artifact = lower(case.capture(), CompileOptions(threads_per_group=case.threads))
        ptx = compile_ptx(artifact.source, options_of(architecture, fmad=artifact.fmad), nvrtc=library)
        assert not NEVER.search(ptx), (case.name, NEVER.search(ptx))
        assert not NEVER.search(artifact.source.encode()), case.name
        (entry,) = ENTRY.findall(ptx)
        assert entry[0].decode() == artifact.entry
        assert entry[1].count(b".param") == len(artifact.buffer_arguments), "one pointer a slot and nothing else"
        file = tmp_path / f"{number}.ptx"
        file.write_bytes(ptx.rstrip(b"\0"))
        return file

    def assembled(file):
        command = [ptxas, f"-arch={architecture}", "-O1", file, "-o", file.with_suffix(".cubin")]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    with ThreadPoolExecutor(2) as pool:
        texts = list(pool.map(compiled, enumerate(cases())))
        assert [done.stderr for done in pool.map(assembled, texts) if done.returncode] == []


def test_a_forbidden_word_would_be_found():
    for text in (b"mma.sync.aligned", b"wmma.load", b"WMMA", b"simd_sum(x)", b".shared .align 4", b"cudadevrt"):
        assert NEVER.search(text)


def test_a_build_gets_text_without_a_nul_and_with_the_artifacts_switches(library):
    ordered = lower(kernels.gemm((8, 8, 8), (2, 2, 4), allow_reassociation=False), CompileOptions(max_registers=32))
    text = ptx_text(ordered, "sm_120", nvrtc=library)
    assert text.endswith(b"\n")
    assert b"\0" not in text
    assert b"fma.rn" not in text
    assert artifact_options(ordered, "sm_120")[-2:] == ("--fmad=false", "--maxrregcount=32")


def test_the_ptx_names_the_architecture_and_ends_in_one_nul(library):
    artifact = lower(kernels.axpb())
    ptx = compile_ptx(artifact.source, options_of("sm_120"), nvrtc=library)
    assert b".target sm_120" in ptx
    assert ptx.endswith(b"\0")
    assert not ptx.endswith(b"\0\0")


def test_an_ordered_contraction_is_not_fused_and_a_free_one_is(library):
    for free in (False, True):
        artifact = lower(kernels.gemm((8, 8, 8), (2, 2, 4), allow_reassociation=free))
        ptx = compile_ptx(artifact.source, options_of("sm_90", fmad=artifact.fmad), nvrtc=library)
        assert artifact.fmad is free
        assert (b"fma.rn.f32" in ptx) is free


def test_fast_math_is_off_unless_asked_for(library):
    artifact = lower(kernels.softmax())
    assert "--use_fast_math" not in options_of("sm_90")
    exact = compile_ptx(artifact.source, options_of("sm_90"), nvrtc=library)
    fast = compile_ptx(artifact.source, options_of("sm_90", fast_math=True), nvrtc=library)
    assert b"div.approx" not in exact
    assert b"div.approx" in fast


def test_text_that_does_not_compile_carries_the_log(library):
    with pytest.raises(ShaderError, match=r"gave no PTX for broken\.cu") as caught:
        compile_ptx("extern void f( {", options_of("sm_90"), nvrtc=library, name="broken.cu")
    assert "broken.cu(1): error" in caught.value.problems[0].detail


def test_an_architecture_the_compiler_lacks_is_its_error(library):
    with pytest.raises(ShaderError, match="no PTX"):
        compile_ptx("", options_of("sm_60"), nvrtc=library)
    with pytest.raises(ShaderError, match="'gfx90a' is no architecture"):
        options_of("gfx90a")


def test_the_fallback_is_the_oldest_architecture_but_not_before_60(library):
    assert open_nvrtc(library).fallback == "compute_75"
    assert Nvrtc("", (11, 8), (35, 50, 60, 90)).fallback == "compute_60"
    assert Nvrtc("", (13, 5), (75, 90)).fallback == "compute_75"


def test_a_library_that_is_none_is_named(tmp_path):
    file = tmp_path / "libnvrtc.so.13"
    file.write_text("not a library")
    with pytest.raises(ShaderError, match=r"cannot open .*libnvrtc\.so\.13"):
        open_nvrtc(str(file))


def test_debug_and_register_options_reach_the_compiler():
    assert "-lineinfo" in options_of("sm_90", debug=True)
    assert "--maxrregcount=64" in options_of("sm_90", max_registers=64)
    assert "--fmad=false" in options_of("sm_90", fmad=False)
