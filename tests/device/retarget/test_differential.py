"""The optimised and the down-converted text compute what native Rust computes, bit for bit."""

from __future__ import annotations

import pytest

from device.retarget.cases import CASES, ON_A_GPU_ONLY, Case
from device.retarget.conftest import Functions
from device.retarget.differential import differences
from tilewright.device.dialect.convert import to_typed_pointers
from tilewright.device.retarget.driver import retarget_unoptimised


@pytest.fixture(scope="session")
def old_text(functions: Functions) -> str:
    return to_typed_pointers(functions.text, pointees={"relu_impl": [None, "float"], "softmax_impl": ["float"]})


@pytest.fixture(scope="session")
def unoptimised_old_text(functions: Functions) -> str:
    return to_typed_pointers(retarget_unoptimised(functions.ir, functions.exports, name="functions.rs"))


FORMATTING = ("extreme_impl", "messages_impl", "compare_impl")  # mention std's formatting until the optimiser drops it


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.symbol not in FORMATTING], ids=lambda case: case.symbol
)
def test_the_conversion_also_holds_for_everything_that_the_optimiser_removes(
    case: Case, functions: Functions, unoptimised_old_text: str
) -> None:
    text = unoptimised_old_text
    found = differences(
        case.symbol, case.parameters, text, functions.library, functions.math, inputs=case.inputs, keep=case.keep
    )
    assert found.mismatches == 0, found.first


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.symbol)
@pytest.mark.parametrize("dialect", ["optimised", "old"])
def test_the_text_computes_what_native_rust_computes(
    case: Case, dialect: str, functions: Functions, old_text: str
) -> None:
    text = functions.text if dialect == "optimised" else old_text
    found = differences(
        case.symbol, case.parameters, text, functions.library, functions.math, inputs=case.inputs, keep=case.keep
    )
    assert found.inputs >= 10_000
    assert found.mismatches == 0, found.first


def test_every_function_is_compared_or_named_as_gpu_only(functions: Functions) -> None:
    assert {case.symbol for case in CASES} | set(ON_A_GPU_ONLY) == set(functions.exports)


@pytest.mark.parametrize(
    ("symbol", "right", "wrong"),
    [
        ("mix_impl", "icmp sgt i16 %a, %b", "icmp ugt i16 %a, %b"),
        ("mix_impl", "xor i8 %x, -1", "xor i8 %x, 0"),
        ("casts_impl", "or i1 %u, %nan", "or i1 %u, %u"),
        ("hash_impl", "call i64 @llvm.bswap.i64", "call i64 @llvm.bitreverse.i64"),
        ("relu_impl", "fcmp ogt float %x, 0.000000e+00", "fcmp ugt float %x, 0.000000e+00"),
    ],
)
def test_a_broken_lowering_is_caught(symbol: str, right: str, wrong: str, functions: Functions, old_text: str) -> None:
    (case,) = [one for one in CASES if one.symbol == symbol]
    broken = old_text.replace(right, wrong)
    assert broken != old_text
    found = differences(symbol, case.parameters, broken, functions.library, functions.math)
    assert found.mismatches > 0
    assert found.first.startswith(f"{symbol}(")


def test_a_function_that_needs_a_gpu_is_refused_by_the_comparison(functions: Functions) -> None:
    with pytest.raises(AssertionError, match=r"`warp_sum_impl` needs `llvm.nvvm.shfl.sync.bfly.f32`"):
        differences("warp_sum_impl", ("f32", "*f32"), functions.text, functions.library, functions.math)
