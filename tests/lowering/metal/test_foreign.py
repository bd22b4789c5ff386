"""MSL that another program wrote, as a control: the shim was not made for it. Evidence: "MSL, CPU-emulated"."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from needed_tools import needed
from tilewright.lowering.metal.check.programs import Bound, Order, Variant, build, launch, type_check
from tilewright.lowering.metal.check.units import Msl

SOFTMAX = """\
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
shared float part[4];
const uint N = 300u;
void main() {
  uint row = gl_WorkGroupID.x, t = gl_LocalInvocationID.x;
  float top = -1e30;
  for (uint e = t; e < N; e += 128u) top = max(top, x[row * N + e]);
  top = subgroupMax(top);
  if (gl_SubgroupInvocationID == 0u) part[gl_SubgroupID] = top;
  barrier();
  top = max(max(part[0], part[1]), max(part[2], part[3]));
  barrier();
  float total = 0.0;
  for (uint e = t; e < N; e += 128u) total += exp(x[row * N + e] - top);
  total = subgroupAdd(total);
  if (gl_SubgroupInvocationID == 0u) part[gl_SubgroupID] = total;
  barrier();
  total = part[0] + part[1] + part[2] + part[3];
  for (uint e = t; e < N; e += 128u) y[row * N + e] = exp(x[row * N + e] - top) / total;
}
"""
FIRST = "barrier();\n  top"
SECOND = "barrier();\n  float"
ROWS, COLUMNS = 3, 300


@pytest.fixture(scope="module")
def cross(tmp_path_factory):
    """GLSL to MSL by glslang and SPIRV-Cross."""
    glslang, spirv_cross = needed("glslangValidator"), needed("spirv-cross")
    folder = tmp_path_factory.mktemp("glsl")

    def compile(name: str, text: str) -> Msl:
        source, binary = folder / f"{name}.comp", folder / f"{name}.spv"
        source.write_text(text)
        first = [glslang, "-V", "--target-env", "vulkan1.1", source, "-o", binary]
        subprocess.run(first, check=True, capture_output=True)
        second = [spirv_cross, "--msl", "--msl-version", "30000", binary]
        done = subprocess.run(second, check=True, capture_output=True, text=True)
        return Msl(f"{name}.metal", done.stdout, "main0")

    return compile


def test_softmax_of_another_compiler_is_right_in_every_order_and_variant(cross, clang, tmp_path):
    source = cross("softmax", SOFTMAX)
    type_check(clang, [source], tmp_path)
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    for variant in Variant:
        program = build(clang, [source], tmp_path, variant)
        for order in Order:
            buffers = [Bound(x), Bound(np.full_like(x, np.nan))]
            outcome = launch(program, 0, (ROWS, 1, 1), (128, 1, 1), buffers, tmp_path, order=order)
            assert outcome.fault == ""
            assert np.abs(outcome.contents[1] - powers / powers.sum(axis=1, keepdims=True)).max() < 1e-7


@pytest.mark.parametrize("removed", [FIRST, SECOND])
def test_a_barrier_missing_in_it_is_found(removed, cross, clang, tmp_path):
    """The second one separates two uses of one array: only the thread sanitizer sees it."""
    assert removed in SOFTMAX
    source = cross("raced", SOFTMAX.replace(removed, removed.removeprefix("barrier();\n")))
    program = build(clang, [source], tmp_path, Variant.TSAN)
    x = np.zeros((1, COLUMNS), np.float32)
    outcome = launch(program, 0, (1, 1, 1), (128, 1, 1), [Bound(x), Bound(x.copy())], tmp_path)
    assert "data race" in outcome.fault
