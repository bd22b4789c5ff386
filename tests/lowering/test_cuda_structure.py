"""Fields of the artifact and properties of the emitted text that numbers alone do not show."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lowering import programs
from lowering.evidence_cases import cases, permuted, shifted_in_place
from tile import kernels as dsl
from tileir import kernels
from tilewright import lowering, tile
from tilewright.lowering.cuda.launch import launch
from tilewright.lowering.cuda.lower import entry_symbol, lower
from tilewright.lowering.identity import lowering_identity
from tilewright.lowering.options import CompileOptions, DeviceLimits
from tilewright.tileir.text.printer import print_module
from tilewright.tileir.usage import Usage
from tilewright.tileir.vocabulary import Form


@pytest.mark.parametrize(
    ("extent", "most", "blocks", "threads"),
    [
        (1, 1024, 1, 32),
        (31, 1024, 1, 32),
        (32, 1024, 1, 32),
        (33, 1024, 1, 64),
        (255, 1024, 1, 256),
        (257, 1024, 2, 256),
        (1003, 1024, 4, 256),
        (1003, 100, 11, 96),
        (64, 33, 2, 32),
    ],
)
def test_blocks_are_whole_warps(extent, most, blocks, threads):
    found = launch(extent, DeviceLimits(max_threads_per_block=most))
    assert (found.blocks, found.threads) == (blocks, threads)
    assert found.guarded == (blocks * threads != extent)


def test_padding_lanes_are_discarded_and_an_exact_grid_has_no_guard():
    assert "if (linear < 17)" in lower(kernels.softmax(17, 7)).source
    assert "linear <" not in lower(kernels.softmax(64, 7)).source


def test_unused_parameters_have_no_slot_but_stay_in_the_signature():
    """C.3."""
    artifact = lower(permuted())
    assert artifact.buffer_arguments == (0, 2, 3)
    assert [each.usage for each in artifact.arguments] == [Usage.WRITE, Usage.NONE, Usage.READ, Usage.READ]
    assert re.findall(r"(\w+(?: float)?)\* __restrict__ (\w+)", artifact.source) == [
        ("float", "p0"),
        ("const float", "p2"),
        ("const float", "p3"),
    ]


def test_a_parameter_that_is_read_and_written_is_copied_where_it_is_read():
    artifact = lower(kernels.recurrence())
    assert artifact.arguments[0].usage == Usage.READ | Usage.WRITE
    lines = artifact.source.splitlines()
    read = next(place for place, line in enumerate(lines) if re.search(r"= p0\[", line))
    written = next(place for place, line in enumerate(lines) if re.search(r"p0\[.*\] = 17", line))
    assert read < written


@pytest.mark.parametrize("name", ["gemm", "matmul", "softmax", "float", "expf", "threadIdx"])
def test_a_name_changes_the_entry_symbol_and_nothing_else(name):
    """B190, B193."""
    plain, renamed = kernels.gemm(), kernels.gemm()
    plain.name, renamed.name = "a", name
    for value in renamed.parameters:
        value.name = "float p0;"
    first, second = lower(plain), lower(renamed)
    assert second.entry == f"tile_{name}"
    assert second.source.replace(second.entry, first.entry) == first.source
    assert (second.grid, second.block, second.buffer_arguments) == (first.grid, first.block, first.buffer_arguments)


def test_any_name_gives_a_c_symbol():
    assert entry_symbol("a b-ü") == "tile_a_x20_b_x2d__xfc_"


@pytest.mark.parametrize("case", cases()[::7], ids=lambda case: case.name)
def test_lowering_leaves_the_function_as_it_was_and_repeats_itself(case):
    """B192, B194."""
    function = case.capture()
    before = print_module(function.module)
    first, second = lower(function), lower(function)
    assert print_module(function.module) == before
    assert function.form is Form.CANDIDATE
    assert first == second
    assert first.to_json() == second.to_json()


def test_metadata_is_deterministic_json_without_the_source():
    artifact = lower(kernels.axpb())
    data = artifact.to_json()
    record = json.loads(data)
    assert data.endswith(b"}\n")
    assert record["grid"] == [4, 1, 1]
    assert record["dispatch_size"] == [1024, 1, 1]
    assert record["arguments"][1] == {"name": "y", "element": "f32", "minimum_bytes": 4012, "usage": "write"}
    assert record["source_sha256"] == artifact.source_sha256
    assert "__global__" not in data.decode()


def test_elementwise_programs_become_an_element_grid():
    artifact = lower(dsl.swiglu.capture((4, 64), (4, 64), (4, 64)).function)
    assert artifact.dispatch_size == (64, 1, 1)
    assert "element grid, 4 element(s) a thread" in artifact.realization
    assert "for (" not in artifact.source
    vector, plain = artifact.source.split("else {")
    assert vector.count("float4*>(p") == 3
    assert "& 15ull) == 0" in vector
    assert "float4" not in plain


def test_a_ragged_row_has_no_vectors():
    artifact = lower(dsl.swiglu.capture((4, 65), (4, 65), (4, 65)).function)
    assert artifact.dispatch_size == (512, 1, 1)
    assert "float4" not in artifact.source


def test_a_vector_needs_a_proved_multiple_of_four():
    """One row in four of a width of 6 would be aligned: none is read as a vector."""

    def shifted(offset):
        @tile.kernel
        def moved(x: tile.In[tile.f32, 1], y: tile.Out[tile.f32, 1]):
            e = tile.axis("e", 8)
            for p in tile.parallel(4):
                y[p.index() * 8, e] = x[p.index() * 8 + offset, e]

        return lower(moved.capture((64,), (32,)).function).source

    assert "const float4*" in shifted(4)
    assert "const float4*" not in shifted(2)
    assert "reinterpret_cast<float4*>" in shifted(2)


def test_a_promise_of_bounds_is_none_of_alignment():
    @tile.kernel
    def rows(x: tile.In[tile.f32, 2], y: tile.Out[tile.f32, 2]):
        one, n = tile.axis("one", 1), tile.axis("n", 4)
        for p in tile.parallel(3):
            at = (p.index(), 0)
            y[at, (one, n)] = x.at(at, (one, n), bounds="assume").load()

    assert "const float4*" not in lower(rows.capture((3, 6), (3, 4)).function).source
    assert "const float4*" in lower(rows.capture((3, 8), (3, 4)).function).source


WHOLE = [shifted_in_place, kernels.softmax, kernels.rms_norm, kernels.gemm, kernels.recurrence]


@pytest.mark.parametrize("kernel", WHOLE)
def test_programs_with_folds_or_overwritten_inputs_stay_whole(kernel):
    assert "one program a thread" in lower(kernel()).realization


def test_stores_that_may_meet_stay_in_one_thread():
    assert "element grid" in lower(programs.two_stores(8)).realization
    assert "one program a thread" in lower(programs.two_stores(7)).realization


def test_a_value_with_two_consumers_is_computed_once():
    """B205."""
    source = lower(kernels.softmax(17, 300)).source.split("else {")[-1]
    assert source.count("expf(") == 1


def test_a_proved_bound_has_no_guard_and_an_open_one_has():
    assert "?" not in lower(kernels.gemm((16, 16, 8), (4, 4, 4))).source
    assert "< 17" in lower(kernels.gemm((17, 16, 8), (4, 4, 4))).source


def test_an_assumed_bound_has_no_guard():
    @tile.kernel
    def promised(x: tile.In[tile.f32, 1], y: tile.Out[tile.f32, 1]):
        e = tile.axis("e", 4)
        for p in tile.parallel(3):
            y.at(p.index() * 4, e, bounds="assume").store(x.at(p.index() * 4, e, bounds="assume").load())

    source = lower(promised.capture((11,), (11,)).function).source
    assert "?" not in source
    assert source.count("if (linear") == source.count("if (") - 1 == 2


def test_neighbouring_programs_of_a_contraction_form_patches():
    artifact = lower(kernels.gemm((128, 128, 16), (4, 8, 8)))
    assert "patches of 16x16" in artifact.realization
    assert artifact.grid == (2, 1, 1)
    assert "patches" not in lower(kernels.gemm((132, 128, 16), (4, 8, 8))).realization


def test_ordered_contractions_turn_contraction_of_roundings_off():
    assert lower(kernels.gemm(allow_reassociation=True)).fmad
    assert not lower(kernels.gemm(allow_reassociation=False)).fmad
    assert lower(kernels.gemm(allow_reassociation=False), CompileOptions(fmad=True)).fmad
    assert not lower(kernels.gemm(allow_reassociation=True), CompileOptions(fmad=False)).fmad


def test_a_requested_pipeline_is_reported_as_ordered():
    """B196."""
    assert lower(kernels.gemm(pipelined=True)).realization.startswith("cuda reference, ordered")


def test_the_identity_of_a_lowering_covers_its_own_sources_only():
    assert re.fullmatch(r"cuda [0-9a-f]{64}", lowering_identity("cuda"))
    assert lowering_identity("cuda").split()[1] != lowering_identity("another").split()[1]


def test_the_lowering_needs_neither_runtime_nor_compiler():
    """B191."""
    program = (
        "import sys\nimport tilewright.lowering.cuda.lower\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('cuda', 'tvm', 'llvmlite')"
        " or name.startswith(('tilewright.runtime', 'tilewright.tile.', 'tilewright.device'))])"
    )
    tools = str(Path(lowering.__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": tools}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[]"
