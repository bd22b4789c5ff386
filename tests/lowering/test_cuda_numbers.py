"""Emitted CUDA C against the FP64 interpreter on the evidence kernels. Evidence: CPU-emulated.

The text is compiled by g++ with address and undefined-behaviour sanitizers, every output is filled with NaN before,
every buffer lies between guard elements, and the offsets are once aligned for vectors and once not.
"""

from __future__ import annotations

import numpy as np
import pytest

from lowering.emulation import build, launch
from lowering.evidence_cases import GUARD, Case, arguments, cases, worst
from lowering.random_programs import random_program
from tilewright.lowering.cuda.lower import lower
from tilewright.lowering.options import CompileOptions
from tilewright.tileir.interpreter.run import evaluate

FAMILIES = 4
"""Programs the cases are compiled into; each is one run of the host compiler."""


@pytest.mark.parametrize("family", range(FAMILIES))
def test_emitted_code_computes_what_the_interpreter_does(family, tmp_path):
    chosen = cases()[family::FAMILIES]
    functions = [case.capture() for case in chosen]
    artifacts = [
        lower(function, CompileOptions(threads_per_group=case.threads))
        for function, case in zip(functions, chosen, strict=True)
    ]
    check(chosen, functions, artifacts, tmp_path)


@pytest.mark.parametrize("first", [0, 60])
def test_random_programs_compute_what_the_interpreter_does(first, tmp_path):
    functions = [random_program(seed) for seed in range(first, first + 60)]
    artifacts = [lower(function) for function in functions]
    chosen = [Case(function.name, lambda f=function: f, 1e-4) for function in functions]
    assert 5 < sum("element grid" in artifact.realization for artifact in artifacts) < 55
    check(chosen, functions, artifacts, tmp_path)


def check(chosen, functions, artifacts, folder):
    """Every argument and every guard element of every case, with aligned and with odd offsets."""
    program = build(artifacts, folder)
    for number, (case, function, artifact) in enumerate(zip(chosen, functions, artifacts, strict=True)):
        given = arguments(function, case, seed=11)
        expected = evaluate(function, given)
        for shift in (20, 19):
            offsets = [shift + (slot if shift % 4 else 0) for slot in range(len(artifact.buffer_arguments))]
            memory = [guarded(given[slot], at) for slot, at in zip(artifact.buffer_arguments, offsets, strict=True)]
            after = launch(program, number, memory, offsets, folder)
            for slot, parameter in enumerate(artifact.buffer_arguments):
                size, offset = given[parameter].size, offsets[slot]
                band = np.concatenate([after[slot][:offset], after[slot][offset + size :]])
                assert (band == GUARD).all(), (case.name, parameter, shift)
                found = after[slot][offset : offset + size].reshape(given[parameter].shape)
                assert worst(found, expected[parameter], case.tolerance) <= 1.0, (case.name, parameter, shift)


def guarded(contents, offset):
    """The contents with that many guard elements before them and some behind."""
    return np.concatenate([np.full(offset, GUARD), contents.ravel(), np.full(23, GUARD)]).astype(np.float32)
