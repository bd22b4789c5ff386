"""Fields, files and keys of Metal artifacts, and properties of the reference text."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from lowering.evidence_cases import permuted
from lowering.metal.kernels import native_gemm, row_sum
from tile import kernels as dsl
from tileir import kernels
from tilewright.lowering.metal.artifact import Form, metal_files
from tilewright.lowering.metal.lower import lower
from tilewright.lowering.metal.msl import entry_symbol, float_literal, integer_literal
from tilewright.lowering.options import CompileOptions
from tilewright.tileir.text.printer import print_module
from tilewright.tileir.types import Element
from tilewright.tileir.usage import Usage
from tilewright.tileir.vocabulary import Form as IrForm

ROWS = CompileOptions(subgroup_reductions=True)
MPP = CompileOptions(metal_mpp=True)


def test_the_files_of_a_build():
    artifact = lower(native_gemm((32, 32, 32), (16, 16)), MPP)
    files = metal_files(artifact, "gemm")
    assert list(files) == ["gemm.metal", "gemm.json"]
    assert files["gemm.metal"].decode() == artifact.source
    assert files["gemm.json"].endswith(b"}\n")
    record = json.loads(files["gemm.json"])
    assert record["entry"] == "tile_gemm"
    assert record["form"] == "native mpp"
    assert (record["grid"], record["block"], record["dispatch_size"]) == ([4, 1, 1], [128, 1, 1], [512, 1, 1])
    assert record["buffers"] == [{"slot": slot, "parameter": slot, "name": "abc"[slot]} for slot in range(3)]
    assert record["arguments"][2] == {"name": "c", "element": "f32", "minimum_bytes": 4096, "usage": "write"}
    assert (record["language"], record["requires_metal4"]) == ("4.0", True)
    assert (record["required_family"], record["required_os"], record["thread_width"]) == (7, 26, 32)
    assert record["compiled_by_apple"] is False
    assert record["run_on_hardware"] is False
    assert "; matmul2d of FP32" in record["note"]
    assert artifact.source not in files["gemm.json"].decode()


@pytest.mark.parametrize(
    ("options", "language", "family", "system", "width"),
    [(CompileOptions(), "3.0", 0, 13, 0), (ROWS, "3.0", 7, 13, 32)],
)
def test_the_older_language_needs_less(options, language, family, system, width):
    record = json.loads(lower(row_sum(3, 1024), options).to_json())
    assert record["language"] == language
    assert record["requires_metal4"] is False
    assert (record["required_family"], record["required_os"], record["thread_width"]) == (family, system, width)
    assert record["threadgroup_memory"] == (16 if options is ROWS else 0)
    note = "written without Apple's compiler, not run on a Mac; a library's .metallib.json says what it compiled since"
    assert record["note"] == note


def test_unused_parameters_have_no_slot_but_stay_in_the_signature():
    """C.3, C.4."""
    artifact = lower(permuted())
    assert artifact.buffer_arguments == (0, 2, 3)
    assert [each.usage for each in artifact.arguments] == [Usage.WRITE, Usage.NONE, Usage.READ, Usage.READ]
    assert re.findall(r"device (const )?float \*(\w+) \[\[buffer\((\d)\)\]\]", artifact.source) == [
        ("", "p0", "0"),
        ("const ", "p2", "1"),
        ("const ", "p3", "2"),
    ]


def test_keys_of_msl_3_artifacts_do_not_know_the_language_version():
    """C.9, B201."""
    reference = lower(kernels.axpb())
    assert reference.compile_key == key_without_language(reference)
    native = lower(native_gemm((32, 32, 32), (16, 16)), MPP)
    assert native.compile_key != key_without_language(native)


def key_without_language(artifact):
    """The key as it was before there was a second language version."""
    import hashlib

    facts = {
        "source": artifact.source_sha256,
        "entry": artifact.entry,
        "abi": "tile-direct-buffers-v1",
        "block": artifact.block,
        "fast_math": artifact.fast_math,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def test_what_changes_the_compilation_changes_the_key():
    """C.9."""
    function = kernels.axpb()
    options = [
        CompileOptions(),
        CompileOptions(fast_math=True),
        CompileOptions(fmad=False),
        CompileOptions(debug=True),
        CompileOptions(threads_per_group=64),
    ]
    assert len({lower(function, each).compile_key for each in options}) == len(options)
    assert lower(function).compile_key == lower(kernels.axpb()).compile_key


def test_math_is_safe_unless_asked_for():
    """B174, B200."""
    safe = ("-fmetal-math-mode=safe", "-fmetal-math-fp32-functions=precise")
    assert lower(kernels.axpb()).math_flags == safe
    assert lower(kernels.gemm(allow_reassociation=False)).math_flags == (*safe, "-ffp-contract=off")
    fast = lower(kernels.axpb(), CompileOptions(fast_math=True))
    assert fast.math_flags == ("-fmetal-math-mode=fast", "-fmetal-math-fp32-functions=fast")
    assert fast.realization.endswith("fast math on")


@pytest.mark.parametrize("name", ["kernel", "device", "float", "main", "a b-ü"])
def test_a_name_is_never_a_word_of_the_language(name):
    """B190, B193."""
    plain, renamed = kernels.gemm(), kernels.gemm()
    plain.name, renamed.name = "a", name
    for value in renamed.parameters:
        value.name = "threadgroup float"
    first, second = lower(plain), lower(renamed)
    assert re.fullmatch(r"tile_\w+", second.entry, re.ASCII)
    assert second.source.replace(second.entry, first.entry) == first.source
    assert (second.grid, second.block, second.buffer_arguments) == (first.grid, first.block, first.buffer_arguments)


def test_any_name_gives_a_symbol():
    assert entry_symbol("a b-ü") == "tile_a_x20_b_x2d__xfc_"


@pytest.mark.parametrize("value", [0.0, 1.0, -2.5, 0.1, 1e-5, 3.4e38, 1e-45, 0.044715, -1e30, 16777217.0])
def test_float_literals_round_to_their_value_and_end_in_f(value):
    text = float_literal(value).strip("()")
    assert text.endswith("f")
    assert re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?f", text)
    assert np.float32(text[:-1]) == np.float32(value)


def test_special_floats_by_their_bits():
    assert float_literal(float("inf")) == "as_type<float>(0x7f800000u)"
    assert float_literal(1e39) == "as_type<float>(0x7f800000u)"
    assert float_literal(-0.0) == "(-0.0f)"


def test_integer_literals_have_the_type_they_are_held_in():
    assert integer_literal(7, Element.I64) == "7"
    assert integer_literal(2**31, Element.I64) == "2147483648L"
    assert integer_literal(-(2**31), Element.I32) == "(-2147483647 - 1)"
    assert integer_literal(-(2**63), Element.I64) == "((-9223372036854775807L) - 1)"
    assert integer_literal(3, Element.U32) == "3u"


def test_lowering_leaves_the_function_as_it_was_and_repeats_itself():
    """B192, B194."""
    for function in (kernels.gemm(), kernels.recurrence(), dsl.layer_norm.capture((3, 8), (8,), (8,), (3, 8)).function):
        before = print_module(function.module)
        first, second = lower(function), lower(function)
        assert print_module(function.module) == before
        assert function.form is IrForm.CANDIDATE
        assert first == second
        assert first.to_json() == second.to_json()


def test_a_requested_pipeline_is_reported_as_ordered():
    """B196."""
    assert "ordered" in lower(kernels.gemm(pipelined=True)).realization


def test_a_value_with_two_consumers_is_computed_once():
    """B205."""
    for options in (CompileOptions(), ROWS):
        assert lower(kernels.softmax(17, 300), options).source.count("exp(") == 1


def test_a_proved_bound_has_no_guard_and_an_open_one_has():
    assert "?" not in lower(kernels.gemm((16, 16, 8), (4, 4, 4))).source
    assert "< 17" in lower(kernels.gemm((17, 16, 8), (4, 4, 4))).source


def test_padding_threads_are_discarded_and_an_exact_grid_has_no_guard():
    assert "if (linear < 17u)" in lower(kernels.softmax(17, 7)).source
    assert "linear <" not in lower(kernels.softmax(64, 7)).source


def test_the_default_form_has_neither_collectives_nor_cooperative_scopes():
    """B146 and B199 for this backend."""
    source = lower(kernels.gemm()).source
    assert not re.search("simd|threadgroup|mpp|matmul2d", source)
    assert lower(kernels.gemm()).form is Form.REFERENCE


def test_the_lowering_needs_neither_runtime_nor_compiler():
    """B191."""
    program = (
        "import sys\nimport tilewright.lowering.metal.lower\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('cuda', 'tvm', 'llvmlite', 'objc')"
        " or name.startswith(('tilewright.runtime', 'tilewright.tile.', 'tilewright.lowering.metal.check'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
