"""The check itself: what its two passes accept and refuse, and the words of its findings."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.check.clang import find_clang
from tilewright.lowering.metal.check.programs import Bound, Order, Variant, build, launch, type_check
from tilewright.lowering.metal.check.units import Msl, rewritten

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
HEAD4 = (
    HEAD + "#include <metal_tensor>\n#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>\n"
    "namespace ops = mpp::tensor_ops;\n"
)


def kernel(body: str, *, signature: str = "", head: str = HEAD, version: int = 300) -> Msl:
    places = "device float *x [[buffer(0)]], uint t [[thread_index_in_threadgroup]]" + signature
    return Msl("k.metal", f"{head}kernel void k({places}) {{\n{body}\n}}\n", "k", version)


def product(
    descriptor: str = "16, 32",
    scope: str = "execution_simdgroup",
    body: str = "op.run(a, b, sum); sum.store(c);",
    types: str = "float",
) -> Msl:
    """A matmul2d of one subgroup with one part replaced."""
    return kernel(
        f"""
  tensor<device {types}, dextents<int, 2>, tensor_inline> a((device {types} *)x, dextents<int, 2>(16, 16));
  tensor<device float, dextents<int, 2>, tensor_inline> b(x, dextents<int, 2>(32, 16));
  tensor<device float, dextents<int, 2>, tensor_inline> c(x, dextents<int, 2>(32, 16));
  constexpr auto shape = ops::matmul2d_descriptor({descriptor});
  ops::matmul2d<shape, {scope}> op;
  auto sum = op.get_destination_cooperative_tensor<decltype(a), decltype(b), float>();
  {body}""",
        head=HEAD4,
        version=400,
    )


ACCEPTED = {
    "threadgroup storage": kernel("  threadgroup float part[4];\n  part[t] = x[t];\n  x[t] = part[t];"),
    "scalar storage": kernel("  threadgroup uint seen;\n  if (t == 0) { seen = 1u; }"),
    "two dimensions": kernel("  threadgroup float part[4][8];\n  part[0][t] = x[t];"),
    "threadgroup pointer": kernel("  threadgroup float part[4];\n  threadgroup float *at = part;\n  at[t] = 1.0f;"),
    "constant reference": kernel("  x[t] = float(n);", signature=", constant uint &n [[buffer(1)]]"),
    "three coordinates": kernel("  x[t] = float(g.x);", signature=", uint3 g [[threadgroup_position_in_grid]]"),
    "product": product(),
    "dynamic product": product("16, 32, static_cast<int>(dynamic_extent)"),
    "static k": product("16, 32, 16"),
    "product into a tensor": product(body="op.run(a, b, c);"),
}

REFUSED = {
    "threadgroup pointer as a device pointer": (
        kernel("  threadgroup float part[4];\n  device float *at = part;\n  at[t] = 1.0f;"),
        "cannot initialize a variable of type 'device float",
    ),
    "plain pointer to device memory": (kernel("  float *at = x;\n  at[t] = 1.0f;"), "lvalue of type 'device float"),
    "write to constant": (kernel("  n = 1u;", signature=", constant uint &n [[buffer(1)]]"), "const"),
    "write to device const": (
        kernel("  y[t] = 1.0f;", signature=", device const float *y [[buffer(1)]]"),
        "read-only|const",
    ),
    "literal of another language": (kernel("  x[t] = 0.1;"), "implicit conversion"),
    "double": (kernel("  double y = 1.0f;\n  x[t] = float(y);"), "poisoned"),
    "function of the C library": (kernel("  x[t] = expf(x[t]);"), "poisoned"),
    "new": (kernel("  float *y = new float[4];\n  y[t] = 1.0f;"), "poisoned"),
    "goto": (kernel("  goto end;\nend:\n  x[t] = 1.0f;"), "poisoned"),
    "array of run-time size": (kernel("  float y[t];\n  y[0] = 1.0f;\n  x[t] = y[0];"), "variable length"),
    "unknown function": (kernel("  x[t] = simd_median(x[t]);"), "undeclared"),
    "8x8 tile": (product("8, 8"), "multiples of 8, one of them of 16"),
    "k of 8": (product("16, 32, 8"), "dynamic or a multiple of 16"),
    "element types": (product(types="half"), "no matmul2d of these element types"),
    "static_slice": (product(body="auto s = a.static_slice<16, 16>(0, 0); op.run(s, b, sum);"), "static_slice"),
    "get_mask": (product(body="op.run(a, b, sum); if (sum.get_mask(0)) { sum.store(c); }"), "get_mask"),
    "execution_threadgroup": (product(scope="execution_threadgroup"), "execution_threadgroup"),
    "temporary operand": (product(body="op.run(a.slice(0, 0), b, sum);"), "lvalue"),
    "store with conversion": (
        product(
            body="tensor<device half, dextents<int, 2>, tensor_inline> h((device half *)x, dextents<int, 2>(32, 16));"
            " sum.store(h);"
        ),
        "store converts no types",
    ),
    "tensor_offset": (
        product(body="tensor<device float, dextents<int, 2>, tensor_offset> h(x, dextents<int, 2>(32, 16));"),
        "inline tensors only",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name, clang, tmp_path):
    type_check(clang, [ACCEPTED[name]], tmp_path)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_text_of_clang(name, clang, tmp_path):
    source, words = REFUSED[name]
    with pytest.raises(LoweringError, match=words) as caught:
        type_check(clang, [source], tmp_path)
    (problem,) = caught.value.problems
    assert problem.rule == "msl-rejected"
    assert "not Apple's compiler" in problem.what
    assert "k.metal:" in problem.detail or "tw_" in problem.detail


@pytest.mark.parametrize("header", ["metal_tensor", "MetalPerformancePrimitives/MetalPerformancePrimitives.h"])
def test_msl_3_has_no_tensors(header, clang, tmp_path):
    with pytest.raises(LoweringError, match=r"need(s)? MSL 4\.0"):
        type_check(clang, [Msl("k.metal", f"#include <{header}>\nkernel void k() {{}}\n", "k")], tmp_path)


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        (", device float *y [[buffer(0)]]", "two parameters have one buffer slot"),
        (", device float *y [[buffer(31)]]", r"\[\[buffer\(31\)\]\] is not a slot of 0 to 30"),
        (", float *y [[buffer(1)]]", "a pointer or reference to device or constant"),
        (", uint2 y [[thread_index_in_threadgroup]]", "cannot be of type uint2"),
        (", float y [[thread_position_in_grid]]", "cannot be of type float"),
        (", uint y [[thread_in_grid]]", r"\[\[thread_in_grid\]\] is not known"),
        (", uint y", "has no attribute"),
    ],
)
def test_clang_does_not_know_attributes_so_the_check_does(signature, words, clang, tmp_path):
    with pytest.raises(LoweringError, match=words) as caught:
        build(clang, [kernel("  x[t] = 1.0f;", signature=signature)], tmp_path)
    assert caught.value.problems[0].rule == "msl-signature"


def test_a_missing_entry_is_named(clang, tmp_path):
    with pytest.raises(LoweringError, match="no `kernel void other"):
        build(clang, [Msl("k.metal", HEAD, "other")], tmp_path)


def test_the_rewrite_keeps_lines_and_leaves_pointers_alone():
    text = "  threadgroup float a[4];\n  threadgroup float *p = a;\n  threadgroup_barrier(mem_flags::mem_none);\n"
    changed = rewritten(text)
    assert changed.splitlines()[0] == "  TW_STORAGE(float, a, [4], 0);"
    assert changed.splitlines()[1:] == text.splitlines()[1:]


FAULTS = {
    "barrier in a branch": (
        kernel("  if (t < 32) { threadgroup_barrier(mem_flags::mem_threadgroup); }"),
        "threadgroup_barrier at line 4 is not reached by every thread (96 have returned, 0 wait elsewhere)",
    ),
    "collective in a branch": (
        kernel("  if (t % 2 == 0) { x[t] = simd_sum(x[t]); }"),
        "simd_sum at line 4 is not reached by every lane of its simdgroup",
    ),
    "two barriers": (
        kernel(
            "  if (t < 64) {\n  threadgroup_barrier(mem_flags::mem_none);\n  } else {\n"
            "  threadgroup_barrier(mem_flags::mem_none);\n  }"
        ),
        "wait elsewhere",
    ),
    "too much storage": (
        kernel("  threadgroup float a[8000];\n  threadgroup float b[200];\n  a[t] = 1.0f;\n  b[t] = a[t];"),
        "threadgroup storage at line 5 makes 32800 bytes of 32768",
    ),
    "past the end": (kernel("  x[t + 1] = 1.0f;"), "access outside a buffer"),
    "whole group without its threads": (
        product(scope="execution_simdgroups<2>"),
        "runs on 2 simdgroups of a threadgroup of 4",
    ),
    "extent 0": (
        kernel(
            "  tensor<device float, dextents<int, 2>, tensor_inline> a(x, dextents<int, 2>(0, 16));\n  x[t] = 0.0f;",
            head=HEAD4,
            version=400,
        ),
        "an inline tensor of extent 0",
    ),
}


@pytest.fixture(scope="module")
def faulty(clang, tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    return build(clang, [source for source, _ in FAULTS.values()], folder), folder


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("order", Order)
def test_the_runtime_names_the_fault_and_the_line(name, order, faulty):
    program, folder = faulty
    outcome = launch(
        program,
        list(FAULTS).index(name),
        (1, 1, 1),
        (128, 1, 1),
        [Bound(np.zeros(128 if name == "past the end" else 1024, np.float32))],
        folder,
        order=order,
    )
    assert FAULTS[name][1] in outcome.fault


def test_fresh_storage_is_nan_and_a_launch_ends(clang, tmp_path):
    source = kernel("  threadgroup float part[32];\n  x[t] = part[t];")
    outcome = launch(
        build(clang, [source], tmp_path), 0, (1, 1, 1), (32, 1, 1), [Bound(np.zeros(32, np.float32))], tmp_path
    )
    assert outcome.fault == ""
    assert np.isnan(outcome.contents[0]).all()


def test_a_launch_that_does_not_end_is_stopped(clang, tmp_path):
    source = kernel("  while (x[0] == 0.0f) { x[1] += 1.0f; }")
    program = build(clang, [source], tmp_path)
    outcome = launch(program, 0, (1, 1, 1), (32, 1, 1), [Bound(np.zeros(32, np.float32))], tmp_path, seconds=0.5)
    assert outcome.fault == "still running after 0.5 s"


def test_a_race_is_reported_with_both_lines(clang, tmp_path):
    source = kernel(
        "  threadgroup float part[64];\n  part[t] = x[t];\n  x[t] = part[(t + 32) % 64];",
    )
    program = build(clang, [source], tmp_path, Variant.TSAN)
    outcome = launch(program, 0, (1, 1, 1), (64, 1, 1), [Bound(np.zeros(64, np.float32))], tmp_path)
    assert "data race" in outcome.fault
    assert "k.metal:5" in outcome.fault
    assert "k.metal:6" in outcome.fault


def test_two_threadgroups_that_write_one_element_race(clang, tmp_path):
    program = build(clang, [kernel("  x[t] = 1.0f;")], tmp_path, Variant.TSAN)
    buffers = [Bound(np.zeros(32, np.float32))]
    assert launch(program, 0, (1, 1, 1), (32, 1, 1), buffers, tmp_path).fault == ""
    assert "data race" in launch(program, 0, (2, 1, 1), (32, 1, 1), buffers, tmp_path).fault


def test_threadgroups_with_many_threads_between_them_race(clang, tmp_path):
    """The first and the last one of 9 x 256 threads write the same elements, each of the others its own."""
    body = "  x[g == n - 1 ? t : g * 256 + t] = 1.0f;"
    places = ", uint g [[threadgroup_position_in_grid]], uint n [[threadgroups_per_grid]]"
    program = build(clang, [kernel(body, signature=places)], tmp_path, Variant.TSAN)
    buffers = [Bound(np.zeros(9 * 256, np.float32))]
    for groups in (0, 4):
        outcome = launch(program, 0, (9, 1, 1), (256, 1, 1), buffers, tmp_path, groups=groups)
        assert "data race" in outcome.fault


@pytest.mark.parametrize(("groups", "ran"), [(0, range(10)), (1, [0]), (2, [0, 9]), (4, [0, 1, 2, 9]), (99, range(10))])
@pytest.mark.parametrize("order", Order)
def test_a_part_of_a_launch_is_its_first_threadgroups_and_the_last(groups, ran, order, parts):
    """Each of them stands in the whole launch."""
    program, folder = parts
    buffers = [Bound(np.zeros(10, np.float32))]
    outcome = launch(program, 0, (5, 2, 1), (1, 1, 1), buffers, folder, order=order, groups=groups)
    assert outcome.fault == ""
    np.testing.assert_array_equal(outcome.contents[0], [5.0 * (each in ran) for each in range(10)])


@pytest.fixture(scope="module")
def parts(clang, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    places = ", uint2 g [[threadgroup_position_in_grid]], uint2 n [[threadgroups_per_grid]]"
    return build(clang, [kernel("  x[g.y * n.x + g.x] = float(n.x);", signature=places)], folder), folder


def test_no_clang_says_what_to_install(tmp_path):
    with pytest.raises(LoweringError, match="the MSL check needs clang 16 or newer") as caught:
        find_clang({"PATH": str(tmp_path)})
    assert caught.value.problems[0].hint == "apt-get install clang-19 libclang-rt-19-dev llvm-19"


def test_an_old_clang_is_passed_over_with_its_version(tmp_path):
    old = tmp_path / "clang++"
    old.write_text("#!/bin/sh\necho 'Debian clang version 14.0.6'\n")
    old.chmod(0o755)
    with pytest.raises(LoweringError, match=r"clang\+\+ is clang 14"):
        find_clang({"PATH": str(tmp_path)})


def test_the_variable_names_the_compiler(clang):
    found = find_clang({"PATH": "", "TILEWRIGHT_CLANG": str(clang.path)})
    assert found.version == clang.version
    with pytest.raises(LoweringError, match="TILEWRIGHT_CLANG names nothing, which is no program"):
        find_clang({"PATH": "", "TILEWRIGHT_CLANG": "nothing"})
