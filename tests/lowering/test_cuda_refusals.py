"""What the CUDA backend refuses: each fault by its name and its words, each near miss accepted."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from lowering import programs
from tileir import kernels
from tilewright import tile
from tilewright.lowering.cuda.arithmetic import RULES
from tilewright.lowering.cuda.function_checks import MAX_PRIVATE_ELEMENTS
from tilewright.lowering.cuda.launch import Launch
from tilewright.lowering.cuda.lower import checked_launch, lower
from tilewright.lowering.cuda.scalars import C_TYPES
from tilewright.lowering.cuda.table import OPERATIONS, REJECTIONS
from tilewright.lowering.errors import LoweringError
from tilewright.lowering.options import COMMON_LIMITS, CompileOptions, DeviceLimits, Lowering
from tilewright.lowering.rejection import Rejection
from tilewright.runtime.nvrtc import ptx_text
from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.errors import TileIRError
from tilewright.tileir.graph import Module
from tilewright.tileir.types import Element
from tilewright.tileir.vocabulary import Kind, Opcode, Resource, Scope


def refusal(function, rule: str, **options) -> str:
    with pytest.raises(LoweringError) as caught:
        lower(function, CompileOptions(**options))
    assert [problem.rule for problem in caught.value.problems] == [rule]
    return str(caught.value)


def refusal_any(function) -> str:
    with pytest.raises(LoweringError) as caught:
        lower(function)
    return str(caught.value)


@pytest.mark.parametrize(
    ("number", "options", "rule", "words"),
    [
        ("B20 B130", {"lowering": "tirx"}, "tirx-route", "without the optional TIRx bridge"),
        ("B20 B130", {"lowering": Lowering.TIRX}, "tirx-route", "without the optional TIRx bridge"),
        ("-", {"lowering": "mpp"}, "unknown-lowering", "'mpp' is not one of native, tirx"),
        ("B22", {"tirx": object()}, "tirx-options", "Invalid lowering choice"),
        ("B23", {"xir": object()}, "cpu-planner-options", "cannot use the CPU XIR planner"),
        ("B24", {"compile_only": True}, "compile-only", "compile-only tile archives are not supported"),
        ("B131", {"cooperative_matrix": True}, "cooperative-request", "cooperative operations are not supported"),
        ("B131", {"cooperative_vector": True}, "cooperative-request", "cooperative operations are not supported"),
        ("B131", {"tensor_cores": True}, "cooperative-request", "tensor cores was requested: cooperative"),
        ("B132", {"metal_mpp": True}, "metal-request", "MPP was requested"),
        ("B133", {"subgroup_reductions": True}, "subgroup-request", "SIMD-group/subgroup reductions are not available"),
        ("B133", {"reduction_unroll": 4}, "subgroup-request", "an unroll factor of SIMD-group/subgroup reductions"),
        ("B134", {"program_order": True}, "program-order", "program-order traversal"),
        ("B135", {"planner_threads": 64}, "planner-threads", "pass threads_per_group through compile options"),
        (
            "B26",
            {"planner_threads": 64, "threads_per_group": 96},
            "planner-threads",
            "Conflicting thread constraints: planner_threads=64 and threads_per_group=96",
        ),
        ("B136", {"threads_per_group": 48}, "threads-not-whole-warps", "threads_per_group=48 is not a multiple of 32"),
        ("B136", {"threads_per_group": -32}, "threads-not-whole-warps", "threads_per_group=-32"),
        ("B137", {"threads_per_group": 1056}, "threads-beyond-device", "exceeds the limits of the device, 1024"),
        ("-", {"max_registers": 256}, "register-limit", "max_registers=256 is not in 0..255"),
    ],
)
def test_an_option_of_another_route_is_refused_before_any_code(number, options, rule, words):
    """B20, B22 to B24, B26, B130 to B137: each row has its own."""
    assert words in refusal(programs.without_root(), rule, **options)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("threads_per_group", "64", "threads_per_group='64' is not of type int"),
        ("threads_per_group", True, "threads_per_group=True is not of type int"),
        ("threads_per_group", None, "threads_per_group=None is not of type int"),
        ("max_registers", 3.5, "max_registers=3.5 is not of type int"),
        ("fast_math", 1, "fast_math=1 is not of type bool"),
        ("fmad", "off", "fmad='off' is not of type bool"),
        ("name", 5, "name=5 is not of type str"),
    ],
)
def test_an_option_of_a_wrong_type_is_refused(option, value, words):
    assert words in refusal(kernels.axpb(), "option-type", **{option: value})


def test_several_wrong_options_are_told_at_once():
    with pytest.raises(LoweringError) as caught:
        lower(kernels.axpb(), CompileOptions(metal_mpp=True, threads_per_group=31, program_order=True))
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize("threads", [32, 96, 1024])
def test_an_exact_block_is_honoured(threads):
    artifact = lower(kernels.axpb(), CompileOptions(threads_per_group=threads, planner_threads=threads))
    assert artifact.block == (threads, 1, 1)
    assert artifact.grid[0] == -(-1024 // threads)


def test_every_switch_is_off_by_default():
    """B200."""
    options = CompileOptions()
    assert not any(getattr(options, field.name) for field in fields(options) if field.name != "lowering")
    assert not lower(kernels.softmax()).fast_math


@pytest.mark.parametrize("element", [Element.F16, Element.F64, Element.I32, Element.BOOL])
def test_an_argument_that_is_not_f32_is_refused(element):
    """B138."""
    text = refusal_any(programs.copy(element=element))
    assert f"`x0` is of type view<{element}, [x0.0=64]>" in text
    assert text.count("nonempty static int32-addressable FP32") == 2


def test_an_empty_argument_is_refused_and_one_of_one_element_is_not():
    """B138, B54."""
    assert "nonempty static" in refusal_any(programs.copy((0,)))
    assert lower(programs.copy((1,)))


def test_an_argument_beyond_int32_is_refused_and_the_last_one_below_is_not():
    """B138."""

    assert lower(kernels.axpb(2**31 - 1024, 1024))
    assert "int32-addressable" in refusal_any(kernels.axpb(2**31, 1024))


def test_dynamic_extents_are_refused():
    """B50, B138."""
    module = Module()
    build = Builder(module.function("dynamic"))
    build.view("x", Element.F32, (module.dim("n"),))
    with build.parallel(IndexSpace.of((module.dim("g"), module.dim("m")))):
        build.index(0)
    text = refusal_any(build.function)
    assert "nonempty static" in text
    assert "is not static [dynamic-extent]" in text


def test_more_buffers_than_slots_are_refused():
    """B141."""
    assert lower(programs.copy(views=31))
    assert "32 buffers exceed the binding capacity of 31" in refusal(programs.copy(views=32), "buffer-count")


def test_an_unknown_use_of_an_argument_is_refused():
    """B139."""
    with pytest.raises(TileIRError, match="unknown argument effect"):
        lower(programs.view_in_custom())


def test_a_kernel_needs_exactly_one_root_parallel():
    """B40, B41, B70."""
    assert "requires a root parallel" in refusal(programs.without_root(), "no-root-parallel")
    assert "multi-launch" in refusal(programs.two_roots(), "multi-launch")


@pytest.mark.parametrize("kind", ["store", "load", "serial"])
def test_host_work_is_refused_and_pure_work_is_not(kind):
    """B42, B73."""
    assert "root effects are host work" in refusal(programs.root_effects(kind), "root-effects")
    assert lower(programs.root_constants())


def test_an_empty_root_is_refused():
    """B43."""
    assert "the root parallel is empty" in refusal(programs.copy(programs=0), "empty-root")


def test_a_root_beyond_the_numbering_of_threads_is_refused():
    """B51, B140."""
    assert "beyond int32" in refusal_any(programs.copy(programs=2**31))
    assert "overflows int32" in refusal_any(kernels.nested_parallel(2**31 - 100, 1))


def test_more_blocks_than_the_device_takes_are_refused():
    """B140."""
    with pytest.raises(LoweringError, match=r"grid times block overflows"):
        lower(kernels.softmax(1024, 8), limits=DeviceLimits(max_blocks=3))


@pytest.mark.parametrize("scope", [Scope.DEVICE, Scope.GROUP, Scope.SUBGROUP, Scope.VECTOR])
def test_a_root_bound_to_anything_but_a_worker_is_refused(scope):
    """B45, B81."""
    assert f"cannot honor a {scope.value} binding" in refusal(programs.copy(scope=scope), "execution-scope")


def test_a_nested_binding_is_refused_and_a_worker_root_is_not():
    """B81, B64."""
    text = refusal(programs.copy(inner=Scope.WORKER), "execution-scope")
    assert "cannot honor a worker binding of a nested parallel" in text
    assert lower(programs.copy(scope=Scope.WORKER))


@pytest.mark.parametrize("threads", [0, 64, 96])
def test_explicit_subgroups_are_refused_whatever_the_block(threads):
    """B27: without a child domain there is nothing that a block could conflict with."""
    text = refusal(programs.copy(inner=Scope.SUBGROUP), "execution-scope", threads_per_group=threads)
    assert "cannot honor a subgroup binding" in text


def test_a_kernel_is_compiled_for_the_block_it_is_launched_with(toolkit):
    """B28: the compiler is held to it, so that no kernel supports fewer threads than its launch has."""
    for function, threads in ((kernels.axpb(), 1024), (kernels.softmax(), 0)):
        artifact = lower(function, CompileOptions(threads_per_group=threads))
        ptx = ptx_text(artifact, "sm_90", nvrtc=str(toolkit.require("nvrtc").path)).decode()
        assert re.search(rf"\.maxntid {artifact.block[0]}\b", ptx)


@pytest.mark.parametrize("resource", [None, Resource.PRIVATE, Resource.SHARED])
def test_manual_memory_is_refused(resource):
    """B46."""
    text = refusal_any(programs.with_memory(resource))
    assert "manual Memory is an unsupported operation" in text
    assert "no fallback" in text


def test_an_extension_is_refused():
    """B48."""
    assert "unsupported operation" in refusal(programs.with_custom(), "unsupported-operation")


@pytest.mark.parametrize("element", list(Element))
def test_an_element_is_computed_in_or_refused(element):
    """B47."""
    if element in C_TYPES:
        assert lower(programs.with_element(element))
    else:
        assert f"unsupported scalar type {element}" in refusal_any(programs.with_element(element))


def test_a_tile_beyond_the_budget_is_refused_and_one_at_it_is_not():
    """B52."""
    assert lower(programs.big_carry(MAX_PRIVATE_ELEMENTS))
    assert "expansion budget" in refusal_any(programs.big_carry(MAX_PRIVATE_ELEMENTS + 1))


@pytest.mark.parametrize(
    ("geometry", "exact", "rule"),
    [
        (Launch(48, 1, 48), 0, "block-not-warp-aligned"),
        (Launch(0, 0, 0), 0, "block-not-warp-aligned"),
        (Launch(64, 1, 2048), 0, "block-not-warp-aligned"),
        (Launch(64, 1, 64), 32, "block-not-exact"),
        (Launch(2**31, 2**26, 32), 0, "grid-overflow"),
    ],
)
def test_generated_geometry_is_checked_again(geometry, exact, rule):
    """B137, B140."""
    with pytest.raises(LoweringError) as caught:
        checked_launch(kernels.axpb(), geometry, CompileOptions(threads_per_group=exact), COMMON_LIMITS)
    assert [problem.rule for problem in caught.value.problems] == [rule]


def test_every_kind_and_opcode_has_a_row():
    assert set(OPERATIONS) == set(Kind)
    assert set(RULES) == set(Opcode)
    for rejection in REJECTIONS.values():
        assert re.fullmatch(r"B\d+", rejection.number)
        assert rejection.hint
    assert all(isinstance(row, Rejection) or callable(row) for row in OPERATIONS.values())


def test_a_refusal_names_the_users_line():
    @tile.kernel
    def grouped(x: tile.In[tile.f32, 1], y: tile.Out[tile.f32, 1]):
        e = tile.axis("e", 4)
        for _ in tile.parallel(1, scope="group"):
            y[0, e] = x[0, e]

    with pytest.raises(LoweringError) as caught:
        lower(grouped.capture((4,), (4,)).function)
    (problem,) = caught.value.problems
    assert problem.where is not None
    assert problem.where.file.endswith("test_cuda_refusals.py")
    assert problem.where.line
