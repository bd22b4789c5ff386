"""Calls as the disassembler prints them, and the assembler's comparison of architectures."""

from __future__ import annotations

import pytest

from tilewright.callers.program.calls import Call, calls_in
from tilewright.callers.program.explanation import architecture_matches
from tilewright.callers.program.machine_code import calls_left

TOKENS = "!cuda_tile.token, !cuda_tile.token, "
TILE = "!cuda_tile.tile<{}>"


def line(name: str, inputs: list[str], results: list[str]) -> str:
    given, made = (TOKENS + ", ".join(TILE.format(tile) for tile in tiles) for tiles in (inputs, results))
    return f"  %1:3 = preview$call @{name}(%0, %0, %tile, %tile_0) : ({given}) -> ({made})\n"


def test_calls_are_read_without_their_tokens_and_each_once() -> None:
    text = line("relu", ["128xf32", "128xf32"], ["128xf32"])
    call = Call("relu", (), ("128xf32", "128xf32"), ("128xf32",))
    assert calls_in(text + text) == (call,)


def test_a_size_and_several_results() -> None:
    text = line("relu_any<[256]>", ["256xf32"], ["256xf32", "256xi32"])
    assert calls_in(text) == (Call("relu_any", (256,), ("256xf32",), ("256xf32", "256xi32")),)


@pytest.mark.parametrize("entry", ["sm_120", "sm_120a", "SM_120", "sm120"])
def test_an_entry_that_the_assembler_takes(entry: str) -> None:
    assert architecture_matches(entry, "sm_120")
    assert architecture_matches(entry, "sm_120a")


@pytest.mark.parametrize("entry", ["compute_120", "120", "sm_121", "sm_120f", "sm_12"])
def test_an_entry_that_it_does_not_take(entry: str) -> None:
    assert not architecture_matches(entry, "sm_120")


def test_a_function_counts_as_left_over_only_beside_a_call() -> None:
    label = "$_Z9call_reluPfS_$relu_impl:\n"
    call = "        /*0110*/                   CALL.REL.NOINC R2 `(_Z9call_reluPfS_) ;\n"
    assert calls_left(call + label, ["relu_impl", "other_impl"]) == ("relu_impl",)
    sizes = label.replace("_impl", "_impl__N64") + label.replace("_impl", "_impl__N128")
    assert calls_left(call + sizes, ["relu_impl"]) == ("relu_impl__N64", "relu_impl__N128")
    assert calls_left(label, ["relu_impl"]) == ()
    assert calls_left(call, ["relu_impl"]) == ()
