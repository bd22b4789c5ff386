"""What every Metal form refuses: options, signatures, roots, elements, storage, devices."""

from __future__ import annotations

import re

import pytest

from lowering import programs
from lowering.metal.kernels import row_sum
from tileir import kernels
from tilewright import tile
from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.arithmetic import RULES
from tilewright.lowering.metal.device import MetalDevice
from tilewright.lowering.metal.lower import lower
from tilewright.lowering.metal.table import OPERATIONS, REJECTIONS
from tilewright.lowering.options import CompileOptions, Lowering
from tilewright.lowering.rejection import Rejection
from tilewright.tile import f32
from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.errors import TileIRError
from tilewright.tileir.graph import Module
from tilewright.tileir.types import F32, Element
from tilewright.tileir.vocabulary import Kind, Opcode, Scope


def refusal(function, rule: str, device: MetalDevice | None = None, **options) -> str:
    with pytest.raises(LoweringError) as caught:
        lower(function, CompileOptions(**options), device or MetalDevice())
    assert [problem.rule for problem in caught.value.problems] == [rule], str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("number", "options", "rule", "words"),
    [
        ("B20", {"lowering": "tirx"}, "tirx-route", "without the optional TIRx bridge"),
        ("B20", {"lowering": Lowering.TIRX}, "tirx-route", "without the optional TIRx bridge"),
        ("-", {"lowering": "mpp"}, "unknown-lowering", "'mpp' is not one of native, tirx"),
        ("B22", {"tirx": object()}, "tirx-options", "Invalid lowering choice"),
        ("B22", {"metal_mpp": True, "subgroup_reductions": True}, "two-forms", "Conflicting forms"),
        ("B23", {"xir": object()}, "cpu-planner-options", "cannot use the CPU XIR planner"),
        ("B24", {"compile_only": True}, "compile-only", "compile-only tile archives are not supported"),
        ("-", {"cooperative_matrix": True}, "cooperative-request", "cooperative matrix was requested"),
        ("-", {"cooperative_vector": True}, "cooperative-request", "cooperative vector was requested"),
        ("-", {"tensor_cores": True}, "cooperative-request", "tensor cores was requested"),
        ("B134", {"program_order": True}, "program-order", "program-order traversal"),
        ("B26", {"planner_threads": 64, "threads_per_group": 96}, "planner-threads", "Conflicting thread constraints"),
        ("B26", {"planner_threads": 64}, "planner-threads", "Conflicting thread constraints"),
        ("B168", {"threads_per_group": 33}, "threads-not-whole-subgroups", "threads_per_group=33 is not a multiple"),
        ("B168", {"threads_per_group": -32}, "threads-not-whole-subgroups", "threads_per_group=-32"),
        ("B168", {"threads_per_group": True}, "threads-not-whole-subgroups", "threads_per_group=True"),
        ("B168", {"threads_per_group": 2048}, "threads-beyond-device", "2048 exceeds the device limits"),
        ("-", {"reduction_unroll": 17}, "reduction-unroll", "reduction_unroll=17 is not an integer of 1 to 16"),
        ("-", {"reduction_unroll": 2}, "reduction-unroll", "an option of SIMD-group rows, which were not requested"),
        ("-", {"max_registers": 32}, "register-limit", "not an option of Metal"),
    ],
)
def test_options_are_honoured_or_refused(number, options, rule, words):
    """B20, B22 to B24, B26, B134, B168."""
    assert words in refusal(row_sum(4, 8), rule, **options), number


def test_all_mistakes_in_options_are_told_at_once():
    with pytest.raises(LoweringError) as caught:
        lower(row_sum(4, 8), CompileOptions(threads_per_group=33, compile_only=True))
    assert len(caught.value.problems) == 2


def test_a_root_parallel_is_required():
    """B40."""
    assert "requires a root parallel" in refusal(programs.without_root(), "no-root-parallel")


def test_one_root_parallel_is_one_launch():
    """B41, B153."""
    assert "one independent root parallel" in refusal(programs.two_roots(), "two-root-parallels")


@pytest.mark.parametrize("kind", ["store", "load", "serial"])
def test_host_work_is_a_second_launch(kind):
    """B42."""
    assert "multi-launch" in refusal(programs.root_effects(kind), "host-work")


def test_pure_work_at_the_root_is_part_of_every_program():
    assert "6.0f" in lower(programs.root_constants()).source or "* 3.0f" in lower(programs.root_constants()).source


def test_an_empty_root_is_refused():
    """B43."""
    assert "is empty" in refusal(programs.copy(programs=0), "empty-domain")


@pytest.mark.parametrize("scope", [Scope.GROUP, Scope.SUBGROUP, Scope.DEVICE, Scope.VECTOR])
def test_a_scope_that_a_thread_is_not_is_refused(scope):
    """B45, B81."""
    assert f"cannot honor a {scope.value} binding" in refusal(programs.copy(scope=scope), "execution-scope")


def test_a_worker_root_is_a_thread():
    """B64."""
    assert lower(programs.copy(scope=Scope.WORKER)).grid == (1, 1, 1)


def test_a_bound_nested_parallel_is_refused():
    """B45."""
    assert "of a nested parallel" in refusal(programs.copy(inner=Scope.SUBGROUP), "execution-scope")


def test_manual_memory_has_no_fallback():
    """B46, B120."""
    with pytest.raises(LoweringError, match="unsupported operation here, and there is no fallback"):
        lower(programs.with_memory())


@pytest.mark.parametrize("element", [Element.F16, Element.BF16, Element.F64, Element.F8E4M3])
def test_elements_that_metal_does_not_compute_in_here(element):
    """B47."""
    text = refusal(programs.with_element(element), "unsupported-element")
    assert f"unsupported scalar type {element} in `elementwise`" in text


@pytest.mark.parametrize("element", [Element.I8, Element.U8, Element.I16, Element.U32, Element.I64, Element.U64])
def test_integers_of_every_width_are_computed_in(element):
    assert lower(programs.with_element(element)).source


def test_an_extension_is_refused():
    """B48."""
    assert "an extension is an unsupported operation" in refusal(programs.with_custom(), "unsupported-operation")


def test_a_view_with_another_use_is_refused():
    """B139."""
    with pytest.raises(TileIRError, match="unknown argument effect"):
        lower(programs.view_in_custom())


def test_arguments_are_static_nonempty_views():
    """B49, B50, B54, B138."""
    module = Module()
    build = Builder(module.function("dynamic"))
    x = build.view("x", Element.F32, (module.dim("length"),))
    with build.parallel(IndexSpace.of((module.dim("g"), 4))) as nest:
        build.store_element(x, [nest.coordinates[0]], build.constant(1.0, F32))
    assert "arguments are buffer Views: nonempty, static" in refusal(build.function, "argument-abi")
    assert "int32-addressable" in refusal(programs.copy((0,), views=1), "argument-abi")
    assert "int32-addressable" in refusal(programs.copy((2**31,), views=1), "argument-abi")
    assert lower(programs.copy((2**31 - 1,), views=1)).arguments[0].minimum_bytes == 4 * (2**31 - 1)


def test_at_most_31_buffers():
    """B141, B171."""
    assert len(lower(programs.copy(views=31)).buffer_arguments) == 31
    assert "32 buffers exceed the binding capacity of 31" in refusal(programs.copy(views=32), "buffer-count")


def test_the_root_fits_int32():
    """B51, B140."""
    assert "overflows int32" in refusal(programs.copy(programs=2**31), "grid-overflow")


def test_nests_and_tiles_are_numbered_in_an_int():
    """B51."""

    def counted(trips):
        module = Module()
        build = Builder(module.function("counted"))
        y = build.view("y", Element.F32, (1,))
        with build.parallel(IndexSpace.of((module.dim("g"), 1))):
            with build.serial(IndexSpace.of((module.dim("t"), trips)), [build.constant(0.0, F32)]) as loop:
                build.yield_(build.elementwise(Opcode.ADD, loop.carried[0], build.constant(1.0, F32)))
            build.store_element(y, [build.index(0)], loop.results[0])
        return build.function

    assert lower(counted(2**31 - 1)).source
    assert f"{2**31} elements or iterations" in refusal(counted(2**31), "space-range")


def test_private_storage_has_a_budget():
    """B52."""
    assert lower(programs.big_carry(2**13)).source
    text = refusal(programs.big_carry(2**15), "private-storage")
    assert "over the expansion budget of 65536 a thread" in text


@pytest.mark.parametrize(
    ("device", "rule", "words"),
    [
        (MetalDevice(os=12), "metal-os", "requires macOS 13, the device has 12"),
        (MetalDevice(max_threads=128), "threads-beyond-device", "256 exceeds the device limits"),
    ],
)
def test_a_device_that_does_not_allow_the_kernel(device, rule, words):
    """B28, B173."""
    assert words in refusal(row_sum(4, 8), rule, device, threads_per_group=256)


def test_a_smaller_device_gets_smaller_threadgroups():
    assert lower(row_sum(1000, 8), device=MetalDevice(max_threads=100)).block == (96, 1, 1)


def test_every_kind_and_opcode_has_a_row():
    assert set(OPERATIONS) == set(Kind)
    assert set(RULES) == set(Opcode)
    for rejection in REJECTIONS.values():
        assert re.fullmatch(r"B\d+", rejection.number)
        assert rejection.hint
    assert all(isinstance(row, Rejection) or callable(row) for row in OPERATIONS.values())


def test_a_refusal_names_the_users_line():
    @tile.kernel
    def grouped(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
        e = tile.axis("e", 4)
        for _ in tile.parallel(1, scope="group"):
            y[0, e] = x[0, e]

    with pytest.raises(LoweringError) as caught:
        lower(grouped.capture((4,), (4,)).function)
    (problem,) = caught.value.problems
    assert problem.where is not None
    assert problem.where.file.endswith("test_refusals.py")
    assert problem.where.line


def test_a_refused_kernel_takes_no_other_route():
    """B110, B156: what one form refuses is not lowered by another."""
    gemm = kernels.gemm()
    assert lower(gemm).source
    with pytest.raises(LoweringError):
        lower(gemm, CompileOptions(metal_mpp=True))
