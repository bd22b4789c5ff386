"""8 x 8 simdgroup matrices of the shim, whose layout over the lanes is opaque."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.check.programs import Bound, Order, build, launch, type_check
from tilewright.lowering.metal.check.units import Msl

KERNEL = """\
kernel void product(const device half *a [[buffer(0)]], const device float *b [[buffer(1)]],
                    device float *c [[buffer(2)]], uint lane [[thread_index_in_simdgroup]]) {{
  threadgroup float staged[64];
  simdgroup_half8x8 left;
  simdgroup_float8x8 right, sum;
{body}
}}
"""
ORIGIN = """\
  simdgroup_load(left, a, 16, ulong2(3ul, 5ul), true);
  simdgroup_load(right, b, 24, ulong2(9ul, 2ul));
  simdgroup_multiply(sum, left, right);
  simdgroup_multiply_accumulate(sum, left, right, sum);
  simdgroup_store(sum, staged);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  simdgroup_load(right, staged);
  simdgroup_store(right, c, 20, ulong2(4ul, 1ul), true);"""
UNFILLED = "  simdgroup_store(sum, c, 20);"
DIVERGENT = "  if (lane < 8) { simdgroup_load(right, b, 24); }"


BODIES = (ORIGIN, UNFILLED, DIVERGENT)
A = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float16)
B = np.random.default_rng(1).standard_normal((12, 24)).astype(np.float32)


def source(body: str, version: int = 300) -> Msl:
    return Msl("product.metal", "using namespace metal;\n" + KERNEL.format(body=body), "product", version)


@pytest.fixture(scope="module")
def run(clang, tmp_path_factory):
    """Runs a body on the same three buffers."""
    folder = tmp_path_factory.mktemp("matrices")
    program = build(clang, [source(body) for body in BODIES], folder)

    def launched(body, threads=32, **options):
        buffers = [Bound(each) for each in (A, B, np.full((12, 20), 7, np.float32))]
        return launch(program, BODIES.index(body), (1, 1, 1), (threads, 1, 1), buffers, folder, **options)

    return launched


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_origins_transposes_and_sums_do_not_depend_on_the_layout(seed, run):
    outcome = run(ORIGIN, seed=seed, order=Order.PERMUTED)
    assert outcome.fault == ""
    wanted = np.full((12, 20), 7.0)
    wanted[1:9, 4:12] = (2 * A.astype(np.float64)[5:13, 3:11].T @ B[2:10, 9:17]).T
    assert np.abs(outcome.contents[2] - wanted).max() < 1e-5


def test_a_matrix_that_nothing_filled_is_not_a_number(run):
    outcome = run(UNFILLED)
    assert np.isnan(outcome.contents[2][:8, :8]).all()
    assert (outcome.contents[2][:8, 8:] == 7).all()


def test_every_lane_has_to_take_part(run):
    outcome = run(DIVERGENT)
    assert "simdgroup_load at line 7 is not reached by every lane of its simdgroup (24 have returned" in outcome.fault


def test_a_simdgroup_has_to_be_whole(run):
    outcome = run(UNFILLED, threads=40)
    assert "simdgroup_store at line 7 in a simdgroup of 8 lanes" in outcome.fault


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("  simdgroup_matrix<float, 8, 4> small;", "a simdgroup matrix is 8 x 8"),
        ("  simdgroup_matrix<int, 8, 8> whole;", "no simdgroup matrix of this element type"),
        ("  simdgroup_matrix<bfloat, 8, 8> brain;", "no simdgroup matrix of this element type"),
        ("  simdgroup_load(left, b);", "simdgroup_load converts no types"),
        ("  simdgroup_store(sum, a);", "simdgroup_store converts no types"),
        ("  float own[64]; simdgroup_load(right, own);", "simdgroup_load reads device or threadgroup memory"),
        ("  float own[64]; simdgroup_store(sum, own);", "simdgroup_store writes device or threadgroup memory"),
        ("  simdgroup_store(sum, b);", "read-only variable is not assignable"),
    ],
)
def test_what_msl_has_not_is_refused(body, words, clang, tmp_path):
    with pytest.raises(LoweringError) as refused:
        type_check(clang, [source(body)], tmp_path)
    assert words in refused.value.problems[0].detail


def test_bfloat_matrices_came_with_msl_3_1(clang, tmp_path):
    type_check(clang, [source("  simdgroup_bfloat8x8 brain;", 310)], tmp_path)
