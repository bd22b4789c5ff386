"""Native matrix products: selection, launch and text."""

from __future__ import annotations

import re

import pytest

from lowering.metal.kernels import native_gemm, two_products
from lowering.metal.products import product
from tilewright.lowering.metal.artifact import Form
from tilewright.lowering.metal.lower import lower
from tilewright.lowering.options import CompileOptions
from tilewright.tileir.text.printer import print_module
from tilewright.tileir.vocabulary import Scope

MPP = CompileOptions(metal_mpp=True)


def test_the_product_without_a_fault_is_native():
    artifact = lower(product(), MPP)
    assert artifact.form is Form.MPP
    assert (artifact.grid, artifact.block) == ((4, 1, 1), (128, 1, 1))
    assert artifact.requires_metal4
    assert artifact.language == "4.0"


@pytest.mark.parametrize(("scope", "child"), [(None, None), (Scope.GROUP, Scope.SUBGROUP), (None, Scope.SUBGROUP)])
def test_automatic_and_group_roots_are_taken(scope, child):
    artifact = lower(product(scope=scope, child=child), MPP)
    assert artifact.block == ((32, 1, 1) if child else (128, 1, 1))


def test_the_whole_group_takes_part_in_a_group_atom():
    """B169."""
    for threads in (32, 64, 256):
        source = lower(product(), CompileOptions(metal_mpp=True, threads_per_group=threads)).source
        assert f"execution_simdgroups<{threads // 32}>" in source


def test_fast_math_and_relaxed_precision_are_off():
    """B174."""
    artifact = lower(product(), MPP)
    assert not artifact.fast_math
    assert artifact.math_flags == ("-fmetal-math-mode=safe", "-fmetal-math-fp32-functions=precise")
    descriptors = re.findall(r"matmul2d_descriptor\(([^)]*)\)", artifact.source)
    assert [each.split(", ")[5] for each in descriptors] == ["false"]
    assert lower(product(), CompileOptions(metal_mpp=True, fast_math=True)).math_flags[0] == "-fmetal-math-mode=fast"


FLIPS = [(False, False), (True, False), (False, True), (True, True)]


@pytest.mark.parametrize("flips", FLIPS)
def test_transposes_are_read_off_the_tile_dims(flips):
    """B203: A and B as stored, the result by rows."""
    source = lower(native_gemm((37, 53, 23), (32, 16), flips=flips), MPP).source
    words = [str(flip).lower() for flip in flips]
    assert f"matmul2d_descriptor(32, 16, ops::dynamic_length_v<int>, {words[0]}, {words[1]}, false" in source
    assert ("ta.slice<32, dynamic_extent>(row, 0)" in source) == flips[0]
    assert ("tb.slice<dynamic_extent, 16>(0, column)" in source) == flips[1]


@pytest.mark.parametrize("flips", FLIPS)
def test_a_transposed_result_is_the_product_of_the_transposes(flips):
    """B203: (A B)' = B' A', so the operands change places and every matrix is still written by rows."""
    artifact = lower(native_gemm((37, 53, 23), (32, 16), flips=flips, flipped_result=True), MPP)
    a, b = (str(not flip).lower() for flip in flips)
    assert f"matmul2d_descriptor(16, 32, ops::dynamic_length_v<int>, {b}, {a}, false" in artifact.source
    assert "atom0(p1, p0, p2, " in artifact.source
    assert "tc(c, dextents<int, 2>(37, 53), array<int, 2>{1, 37})" in artifact.source
    assert "get_multidimensional_index" not in artifact.source
    assert artifact.grid == lower(native_gemm((37, 53, 23), (32, 16), flips=flips), MPP).grid


def test_exact_tilings_have_no_edge_and_small_matrices_no_interior():
    exact = lower(native_gemm((64, 64, 7), (32, 32)), MPP).source
    assert "slice(" not in exact
    small = lower(native_gemm((5, 3, 2), (8, 16)), MPP).source
    assert "slice<" not in small
    assert "if (row <= 95 && column <= 161)" in lower(native_gemm((127, 193, 61), (32, 32)), MPP).source


def test_names_change_the_entry_and_nothing_else():
    """B190, B193: also a name that is a word of the language."""
    plain = lower(native_gemm((32, 32, 32), (16, 16)), MPP)
    for name in ("kernel", "matmul2d", "copy"):
        other = lower(native_gemm((32, 32, 32), (16, 16), name=name), MPP)
        assert other.entry == f"tile_{name}"
        assert other.source.replace(other.entry, plain.entry) == plain.source


def test_one_kernel_may_hold_group_and_subgroup_atoms():
    artifact = lower(two_products(), MPP)
    assert artifact.block == (64, 1, 1)
    assert "2 atoms (1 by one subgroup)" in artifact.realization
    assert "execution_simdgroups<2>" in artifact.source
    assert "execution_simdgroups<1>" in artifact.source


def test_lowering_leaves_the_function_as_it_was_and_repeats_itself():
    """B192."""
    function = two_products()
    before = print_module(function.module)
    assert lower(function, MPP) == lower(function, MPP)
    assert print_module(function.module) == before
