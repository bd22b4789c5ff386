"""Symbols become the paths that rustc itself writes beside them."""

from __future__ import annotations

import re

import pytest

from device.retarget.conftest import Functions
from tilewright.device.retarget.demangle import demangle

_COMMENTED = re.compile(r"^; (.*)\n(?:; Function Attrs.*\n)?(?:define|declare) .*?@(_R\w+)\(", re.MULTILINE)


def test_every_symbol_reads_as_in_rustcs_own_comment(functions: Functions) -> None:
    pairs = _COMMENTED.findall(functions.ir)
    assert len(pairs) > 150
    assert [(symbol, demangle(symbol), comment) for comment, symbol in pairs if demangle(symbol) != comment] == []


@pytest.mark.parametrize(
    ("symbol", "path"),
    [
        ("_RNvC1a1f", "a::f"),
        ("_RNvCs4fqI2P2rA04_1a1f.llvm.123", "a::f"),
        ("_RNCNvC1a1f0", "a::f::{closure#0}"),
        ("_RNCNvC1a1fs0_0", "a::f::{closure#2}"),
        ("_RINvC1a1fmRShE", "a::f::<u32, &[u8]>"),
        ("_RINvC1a1fAmj4_E", "a::f::<[u32; 4]>"),
        ("_RINvC1a1fKin5_Kb1_E", "a::f::<-5, true>"),
        ("_RNvMC1aNtC1a1T1f", "<a::T>::f"),
        ("_RNvXC1aNtC1a1TNtC1a1P1f", "<a::T as a::P>::f"),
        ("_RINvC1a1fFmEhE", "a::f::<fn(u32) -> u8>"),
        ("_RINvC1a1fDNtC1a1PEL_E", "a::f::<dyn a::P>"),
        ("_RINvC1a1fTmhEE", "a::f::<(u32, u8)>"),
        ("_RINvC1a1fOmPhE", "a::f::<*mut u32, *const u8>"),
        ("_RNvC1au10mnchen_3ya", "a::m\u00fcnchen"),
        ("_ZN4core9panicking5panic17h0123456789abcdefE", "core::panicking::panic"),
        ("_ZN40_$LT$f32$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE", "<f32 as core::fmt::Debug>::fmt"),
        ("_ZN3abc1fEv", "_ZN3abc1fEv"),
        ("relu_impl", "relu_impl"),
        ("_Rubbish", "_Rubbish"),
        ("_RNvC1a", "_RNvC1a"),
    ],
)
def test_a_symbol_becomes_a_path_or_stays(symbol: str, path: str) -> None:
    assert demangle(symbol) == path
