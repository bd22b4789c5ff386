"""Every refusal of the native matrix product, with its near miss."""

from __future__ import annotations

import re

import pytest

from lowering import programs
from lowering.metal.kernels import native_gemm
from lowering.metal.products import product, tile_type
from tileir import kernels
from tilewright import tile
from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.artifact import Form
from tilewright.lowering.metal.device import MetalDevice
from tilewright.lowering.metal.lower import lower
from tilewright.lowering.metal.mpp.table import OPERATIONS, Part
from tilewright.lowering.options import CompileOptions
from tilewright.lowering.rejection import Rejection
from tilewright.tile import f32
from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Module
from tilewright.tileir.types import Element, TileType
from tilewright.tileir.vocabulary import Kind, Opcode, Scope

MPP = CompileOptions(metal_mpp=True)


def refusal(function, *rules: str, device: MetalDevice | None = None, **options) -> str:
    with pytest.raises(LoweringError) as caught:
        lower(function, CompileOptions(metal_mpp=True, **options), device or MetalDevice())
    assert [problem.rule for problem in caught.value.problems] == list(rules), str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("element", [Element.F16, Element.F64, Element.BF16])
def test_arguments_are_dense_rank_two_fp32(element):
    """B150."""
    text = refusal(product(element=element), *["mpp-argument"] * 3)
    assert text.count("dense rank-two FP32") == 3
    assert "dense rank-two FP32" in refusal(programs.copy((64,)), "mpp-argument", "mpp-argument")


def test_addresses_are_signed_int32():
    """B151."""
    huge = native_gemm((2**16, 2**15, 16), (32, 32))
    assert "beyond signed int32 addressing" in refusal(huge, "mpp-addressing")
    assert lower(native_gemm((2**15, 2**15, 16), (32, 32)), MPP).form is Form.MPP


@pytest.mark.parametrize(
    ("scope", "child", "grandchild"),
    [
        (Scope.WORKER, None, None),
        (Scope.SUBGROUP, None, None),
        (Scope.GROUP, Scope.WORKER, None),
        (Scope.GROUP, None, "automatic"),
        (Scope.GROUP, Scope.SUBGROUP, Scope.WORKER),
    ],
)
def test_the_root_is_a_group_with_at_most_a_subgroup_child(scope, child, grandchild):
    """B152."""
    if grandchild == "automatic":
        module = Module()
        build = Builder(module.function("nested"))
        c = build.view("c", Element.F32, (16, 16))
        with build.parallel(IndexSpace.of((module.dim("g"), 1)), scope):  # noqa: SIM117
            with build.parallel(IndexSpace.of((module.dim("s"), 1))):
                build.store(c, [build.index(0), build.index(0)], build.constant(0.0, tile_type(module, 16, 16)))
        function = build.function
    else:
        function = product(scope=scope, child=child, grandchild=grandchild)
    assert "root group with optional subgroup child" in refusal(function, "mpp-scope")


def test_two_roots_are_two_launches():
    """B153."""
    module = Module()
    build = Builder(module.function("twice"))
    c = build.view("c", Element.F32, (16, 16))
    for _ in range(2):
        with build.parallel(IndexSpace.of((module.dim("g"), 1))):
            build.store(c, [build.index(0), build.index(0)], build.constant(0.0, tile_type(module, 16, 16)))
    assert "multiple root launches" in refusal(build.function, "mpp-roots")


def test_a_cohort_fits_a_threadgroup_and_is_one():
    """B154."""
    large = native_gemm((512, 512, 16), (8, 16), cohort=(8, 8))
    assert "a cohort of 64 subgroups exceeds the 1024 threads" in refusal(large, "threads", "mpp-cohort")
    assert lower(native_gemm((512, 512, 16), (8, 16), cohort=(4, 8)), MPP).block == (1024, 1, 1)

    @tile.kernel
    def mixed(a: tile.In[f32, 2], b: tile.In[f32, 2], c: tile.Out[f32, 2], d: tile.Out[f32, 2]):
        m, n, k = tile.axis("m", 16), tile.axis("n", 16), tile.axis("k", 16)
        for p in tile.parallel(1, scope="group"):
            for view, count in ((c, 2), (d, 4)):
                for q in p.parallel(count, scope="subgroup"):
                    r = q.index() * 16
                    view[(r, 0), (m, n)] = tile.mma(a[(r, 0), (m, k)], b[(0, 0), (k, n)], tile.zeros((m, n)))

    text = refusal(mixed.capture((64, 16), (16, 16), (64, 16), (64, 16)).function, "mpp-cohort")
    assert "2, 4 instances; a threadgroup has one cohort" in text


def test_an_empty_domain_has_no_static_volume():
    """B154."""
    module = Module()
    build = Builder(module.function("empty"))
    c = build.view("c", Element.F32, (16, 16))
    with build.parallel(IndexSpace.of((module.dim("g"), 0))):
        build.store(c, [build.index(0), build.index(0)], build.constant(0.0, tile_type(module, 16, 16)))
    assert "no static volume" in refusal(build.function, "mpp-domain")


@pytest.mark.parametrize("change", [{"fill": True}, {"reused": True}])
def test_operands_are_single_use_argument_loads(change):
    """B155."""
    with pytest.raises(LoweringError, match="single-use argument loads") as caught:
        lower(product(**change), MPP)
    assert {problem.rule for problem in caught.value.problems} == {"mpp-operand"}


def test_a_store_takes_a_sole_use_product_of_its_scope():
    """B156."""
    module = Module()
    build = Builder(module.function("copy"))
    c = build.view("c", Element.F32, (16, 16))
    with build.parallel(IndexSpace.of((module.dim("g"), 1))):
        build.store(c, [build.index(0), build.index(0)], build.constant(0.0, tile_type(module, 16, 16)))
    assert "sole-use, same-scope product" in refusal(build.function, "mpp-store")


@pytest.mark.parametrize("accumulator", ["one", "negative zero"])
def test_the_accumulator_is_zero(accumulator):
    """B157."""
    assert "zero initial accumulator" in refusal(product(accumulator=accumulator), "mpp-accumulator")


def test_an_ordered_product_is_refused():
    """B158."""
    assert "permitted reassociation" in refusal(native_gemm((32, 32, 32), (16, 16), ordered=True), "mpp-ordered")


@pytest.mark.parametrize("change", [{"depth": 16}, {"k_origin": 8, "depth": 24}, {"k_origin": 8}])
def test_k_is_complete(change):
    """B159."""
    text = refusal(product(**change), "mpp-depth", "mpp-depth")
    assert "complete K" in text
    assert "pipelines are not lowered" in text


@pytest.mark.parametrize("pipelined", [True, False])
def test_loops_over_k_are_not_lowered(pipelined):
    """B159, B165."""
    with pytest.raises(LoweringError, match="the complete K as one tile; pipelines and loops are not lowered"):
        lower(kernels.gemm((32, 32, 32), (16, 16, 16), pipelined=pipelined), MPP)


@pytest.mark.parametrize(
    ("block", "legal"),
    [((8, 8), False), ((8, 16), True), ((16, 8), True), ((24, 8), False), ((12, 16), False), ((16, 4), False)],
)
def test_tiles_are_multiples_of_eight_one_of_sixteen(block, legal):
    """B160."""
    function = native_gemm((48, 48, 32), block)
    if legal:
        assert lower(function, MPP).form is Form.MPP
    else:
        assert "M and N are multiples of 8, one of them of 16" in refusal(function, "mpp-tile")


def test_origins_of_operands_and_result_agree():
    """B161."""
    text = refusal(product(left_shift=8), "mpp-origin")
    assert "origins/bounds must agree and be nonnegative int32" in text
    assert "mpp-origin" in refusal(product(factor=-1), "mpp-origin")
    assert "mpp-origin" in refusal(product(factor=2**40), "mpp-origin")


def test_a_result_of_other_dims_needs_reindexing():
    """B162."""

    @tile.kernel
    def turned(a: tile.In[f32, 2], b: tile.In[f32, 2], c: tile.Out[f32, 2]):
        m, n, k = tile.axis("m", 16), tile.axis("n", 32), tile.axis("k", 20)
        for _ in tile.parallel(1):
            c[(0, 0), (n, m)] = tile.mma(a[(0, 0), (m, k)], b[(0, 0), (k, n)], tile.zeros((m, n)))

    text = refusal(turned.capture((16, 20), (20, 32), (32, 16)).function, "mpp-reindex")
    assert "a product over [m=16, n=32] is taken as one over [n=32, m=16]: that would need explicit reindexing" in text
    assert "tile.zeros((n, m)): a transposed result is native" in text
    assert lower(product(reversed_result=True), MPP).form is Form.MPP


def test_a_map_that_does_more_than_reorder_is_an_epilogue():
    """B163, and not B162: the rows come in reverse."""
    module = Module()
    build = Builder(module.function("mirrored"))
    a, b, c = (build.view(name, Element.F32, (16, 16)) for name in "abc")
    m, n, k = (module.dim(name) for name in "mnk")
    result = IndexSpace.of((m, 16), (n, 16))
    with build.parallel(IndexSpace.of((module.dim("g"), 1))):
        at = [build.index(0), build.index(0)]
        left = build.load(a, at, IndexSpace.of((m, 16), (k, 16)))
        right = build.load(b, at, IndexSpace.of((k, 16), (n, 16)))
        total = build.mma(left, right, build.constant(0.0, TileType(Element.F32, result)))
        with build.tile_map(result, Element.F32) as generator:
            row, column = generator.coordinates
            mirrored = build.elementwise(Opcode.SUB, build.index(15), row)
            build.yield_(build.extract(total, [mirrored, column]))
        build.store(c, at, generator.result)
    text = refusal(build.function, "mpp-operation", "mpp-operation")
    assert "`tile.map`: a tile epilogue is unsupported by native MPP" in text


def test_an_epilogue_is_unsupported():
    """B163."""
    text = refusal(product(epilogue=True), "mpp-store", "mpp-epilogue")
    assert "a tile epilogue is unsupported by native MPP" in text

    @tile.kernel
    def summed(a: tile.In[f32, 2], b: tile.In[f32, 2], c: tile.Out[f32, 2]):
        m, n, k, one = tile.axis("m", 16), tile.axis("n", 16), tile.axis("k", 16), tile.axis("one", 1)
        for _ in tile.parallel(1):
            total = tile.mma(a[(0, 0), (m, k)], b[(0, 0), (k, n)], tile.zeros((m, n)))
            c[(0, 0), (one, n)] = tile.sum(total, m)

    with pytest.raises(LoweringError, match="tile epilogue is unsupported by native MPP"):
        lower(summed.capture((16, 16), (16, 16), (16, 16)).function, MPP)


def test_worker_level_computation_is_unsupported():
    """B164."""

    @tile.kernel
    def scalars(x: tile.In[f32, 2], y: tile.Out[f32, 2]):
        for p in tile.parallel(4):
            y.elem(p.index(), 0).store(x.elem(p.index(), 0).load() * 2.0)

    text = refusal(scalars.capture((4, 4), (4, 4)).function, "mpp-operation", "mpp-operation", "mpp-empty")
    assert text.count("worker-level computation is unsupported by native MPP") == 2


def test_manual_memory_and_extensions_are_refused_not_erased():
    """B165."""
    with pytest.raises(LoweringError, match="manual Memory is unsupported by native MPP, and never erased"):
        lower(programs.with_memory(), MPP)
    with pytest.raises(LoweringError, match="an extension is unsupported by native MPP"):
        lower(programs.with_custom(), MPP)


def test_coordinates_are_sums_and_products_that_cannot_overflow():
    """B166."""
    assert "coordinate arithmetic is + - * of i64" in refusal(product(modulo=True), "mpp-coordinate")
    assert "a coordinate may overflow" in refusal(product(factor=2**58, shape=(128, 32, 32)), "mpp-coordinate")


def test_an_argument_is_not_both_read_and_written():
    """B167."""
    with pytest.raises(LoweringError, match="`c` is both read and written"):
        lower(product(accumulator="loaded"), MPP)


@pytest.mark.parametrize(
    ("threads", "words"), [(48, "48 is not a multiple of 32"), (2048, "exceeds the device limits")]
)
def test_threads_are_whole_subgroups_of_the_device(threads, words):
    """B168."""
    with pytest.raises(LoweringError, match="whole-subgroup thread constraint") as caught:
        lower(product(), CompileOptions(metal_mpp=True, threads_per_group=threads))
    assert words in str(caught.value)


def test_a_cohort_fixes_the_threads():
    """B27, B169."""
    function = native_gemm((64, 64, 16), (16, 16), cohort=(2, 2))
    text = refusal(function, "mpp-threads", threads_per_group=256)
    assert "conflicts with explicit subgroup" in text
    assert "one subgroup or the complete threadgroup" in text
    assert lower(function, CompileOptions(metal_mpp=True, threads_per_group=128)).block == (128, 1, 1)


def test_a_kernel_without_a_product_is_empty():
    """B170."""
    module = Module()
    build = Builder(module.function("idle"))
    build.view("c", Element.F32, (16, 16))
    with build.parallel(IndexSpace.of((module.dim("g"), 1))):
        build.index(0)
    assert "empty/unsupported" in refusal(build.function, "mpp-empty")


def test_the_grid_fits_uint32():
    """B170."""
    module = Module()
    build = Builder(module.function("wide"))
    a, b, c = (build.view(name, Element.F32, (16, 16)) for name in "abc")
    m, n, k = (module.dim(name) for name in "mnk")
    with build.parallel(IndexSpace.of((module.dim("g"), 2**26))):
        at = [build.index(0), build.index(0)]
        left = build.load(a, at, IndexSpace.of((m, 16), (k, 16)))
        right = build.load(b, at, IndexSpace.of((k, 16), (n, 16)))
        result = IndexSpace.of((m, 16), (n, 16))
        build.store(c, at, build.mma(left, right, build.constant(0.0, TileType(Element.F32, result))))
    assert "overflows uint32" in refusal(build.function, "grid-overflow")


def test_at_most_31_buffers():
    """B171."""

    def many(count):
        module = Module()
        build = Builder(module.function("many"))
        a, b = build.view("a", Element.F32, (16, 16)), build.view("b", Element.F32, (16, 16))
        results = [build.view(f"c{place}", Element.F32, (16, 16)) for place in range(count - 2)]
        m, n, k = (module.dim(name) for name in "mnk")
        with build.parallel(IndexSpace.of((module.dim("g"), 1))):
            at = [build.index(0), build.index(0)]
            for c in results:
                left = build.load(a, at, IndexSpace.of((m, 16), (k, 16)))
                right = build.load(b, at, IndexSpace.of((k, 16), (n, 16)))
                zero = build.constant(0.0, TileType(Element.F32, IndexSpace.of((m, 16), (n, 16))))
                build.store(c, at, build.mma(left, right, zero))
        return build.function

    assert lower(many(31), MPP).buffer_arguments == tuple(range(31))
    assert "32 buffers exceed the binding capacity of 31" in refusal(many(32), "buffer-count")


@pytest.mark.parametrize(
    ("device", "rule", "words"),
    [
        (MetalDevice(family=6), "metal-family", "GPU family 7"),
        (MetalDevice(os=15), "metal-os", "macOS/iOS 26"),
        (MetalDevice(os=25), "metal-os", "macOS/iOS 26, the device has 25"),
    ],
)
def test_an_older_device_or_system_is_refused(device, rule, words):
    """B105, B172."""
    assert words in refusal(product(), rule, device=device)


def test_a_pipeline_beyond_the_device_is_refused():
    """B173."""
    assert "exceeds the limits" in refusal(product(), "thread-width", device=MetalDevice(thread_width=64))
    cohort = native_gemm((64, 64, 16), (16, 16), cohort=(2, 4))
    text = refusal(cohort, "threads", "mpp-cohort", device=MetalDevice(max_threads=128))
    assert "256 threads a threadgroup exceeds the device limits" in text


def test_every_kind_of_operation_has_a_row():
    assert set(OPERATIONS) == set(Kind)
    for row in OPERATIONS.values():
        assert isinstance(row, Part) or (isinstance(row, Rejection) and re.fullmatch(r"B\d+", row.number) and row.hint)
