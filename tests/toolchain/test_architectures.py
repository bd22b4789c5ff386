"""Spellings of an architecture, and what the tools of the toolkit offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tilewright.toolchain.architectures import (
    ltoir_fits,
    normalize,
    number_of,
    nvrtc_architectures,
    parse_architectures,
    parse_ltoir_architecture,
)
from tilewright.toolchain.roots import in_root
from tilewright.toolchain.toolkit import ToolchainError, Toolkit, resolve
from toolchain.conftest import MakeRoot


@pytest.fixture
def fake(environ: Mapping[str, str], make_root: MakeRoot) -> Toolkit:
    """A toolkit whose assembler lists sm_80, sm_90 and sm_120."""
    return resolve(environ, among=[in_root(make_root("cuda", assembler="13.5"), "CUDA_HOME")])


@pytest.mark.parametrize(
    "text", ["sm_120", "SM_120", "120", "sm_120a", "sm_120f", "compute_120", "Compute_120A", "sm120", " sm_120 "]
)
def test_every_spelling_is_one_name(text: str, fake: Toolkit) -> None:
    assert normalize(text) == "sm_120"
    assert parse_architectures(text, fake) == ("sm_120",)


@pytest.mark.parametrize("text", ["", "sm_", "sm_1", "sm_120b", "sm_120af", "lto_120", "sm-120", "sm_1200", "12\u0660"])
def test_what_is_no_spelling_is_refused(text: str) -> None:
    with pytest.raises(ToolchainError, match="is not an architecture\n  hint: write it like sm_120"):
        normalize(text)


def test_a_list_keeps_its_order_and_drops_repetitions(fake: Toolkit) -> None:
    assert parse_architectures(" sm_120, 90 ,,SM_120a, compute_80,", fake) == ("sm_120", "sm_90", "sm_80")


@pytest.mark.parametrize("text", ["", "  ", ",", " , "])
def test_an_empty_list_is_told_the_choices(text: str, fake: Toolkit) -> None:
    with pytest.raises(ToolchainError) as caught:
        parse_architectures(text, fake)
    assert str(caught.value) == "error: `arch` is empty\n  hint: choose from: sm_80, sm_90, sm_120"


def test_every_unknown_architecture_is_named_with_the_nearest(fake: Toolkit) -> None:
    with pytest.raises(ToolchainError) as caught:
        parse_architectures("sm_12,90,blackwell,sm_121", fake)
    assert str(caught.value) == (
        "error: `sm_12` is not an architecture that the toolkit offers\n"
        "  hint: did you mean arch=sm_120?\n"
        "        choose from: sm_80, sm_90, sm_120\n"
        "error: `blackwell` is not an architecture that the toolkit offers\n"
        "  hint: choose from: sm_80, sm_90, sm_120\n"
        "error: `sm_121` is not an architecture that the toolkit offers\n"
        "  hint: did you mean arch=sm_120?\n"
        "        choose from: sm_80, sm_90, sm_120"
    )


def test_what_a_hint_proposes_is_accepted(toolkit: Toolkit) -> None:
    with pytest.raises(ToolchainError) as caught:
        parse_architectures("sm120x", toolkit)
    proposed = caught.value.problems[0].hint.partition("arch=")[2].partition("?")[0]
    assert parse_architectures(proposed, toolkit) == ("sm_120",)


def test_the_real_assembler_lists_what_it_compiles_for(toolkit: Toolkit) -> None:
    assert toolkit.architectures()[:2] == ("sm_80", "sm_86")
    assert parse_architectures("sm_90,sm_100,sm_120", toolkit) == ("sm_90", "sm_100", "sm_120")
    with pytest.raises(ToolchainError):
        parse_architectures("sm_75", toolkit)


def test_nvrtc_decides_without_an_assembler(toolkit: Toolkit) -> None:
    bare = replace(toolkit, assembler=None)
    assert bare.architectures()[0] == "sm_75"
    assert parse_architectures("75,sm_120a", bare) == ("sm_75", "sm_120")


def test_without_assembler_and_nvrtc_the_missing_part_is_named(environ: Mapping[str, str]) -> None:
    with pytest.raises(ToolchainError, match="NVRTC is missing: no part of a CUDA toolkit was found"):
        parse_architectures("sm_120", resolve(environ, among=()))


def test_ltoir_may_be_older_than_any_target(toolkit: Toolkit) -> None:
    assert nvrtc_architectures(toolkit)[0] == 75
    for text in ("compute_75", "sm_75", "75", "SM_75"):
        assert parse_ltoir_architecture(text, toolkit) == "compute_75"


def test_ltoir_newer_than_a_target_is_refused_for_each_target(toolkit: Toolkit) -> None:
    assert parse_ltoir_architecture("90", toolkit, archs=("sm_90", "sm_120")) == "compute_90"
    with pytest.raises(ToolchainError) as caught:
        parse_ltoir_architecture("100", toolkit, archs=("sm_90", "sm_120", "sm_80"))
    assert str(caught.value) == (
        "error: ltoir_arch=compute_100 is newer than arch=sm_90, which could not use it\n"
        "  hint: ltoir_arch=compute_90 or older\n"
        "error: ltoir_arch=compute_100 is newer than arch=sm_80, which could not use it\n"
        "  hint: ltoir_arch=compute_80 or older"
    )


@pytest.mark.parametrize(
    ("text", "number"), [("sm_120a", "120a"), ("SM_90F", "90f"), ("75", "75"), ("compute_100", "100")]
)
def test_the_number_keeps_its_suffix(text: str, number: str) -> None:
    assert number_of(text) == number


def test_an_unknown_ltoir_architecture_is_told_the_choices(toolkit: Toolkit) -> None:
    with pytest.raises(ToolchainError) as caught:
        parse_ltoir_architecture("compute_70", toolkit)
    (problem,) = caught.value.problems
    assert problem.what == "`compute_70` is not an architecture that the toolkit offers"
    assert problem.hint.startswith("did you mean ltoir_arch=compute_")
    assert "choose from: compute_75, compute_80" in problem.hint
    with pytest.raises(ToolchainError, match="`ltoir_arch` takes one architecture, not `75,80`"):
        parse_ltoir_architecture("75,80", toolkit)


def test_an_nvrtc_that_cannot_be_loaded_is_an_error(environ: Mapping[str, str], make_root: MakeRoot) -> None:
    toolkit = resolve(environ, among=[in_root(make_root("cuda", nvrtc="13.5.20"), "CUDA_HOME")])
    with pytest.raises(ToolchainError) as caught:
        toolkit.architectures()
    assert caught.value.problems[0].what.startswith("NVRTC does not tell its architectures")
    assert "libnvrtc.so.13" in caught.value.problems[0].detail


@pytest.mark.parametrize(
    ("ltoir", "arch", "fits"),
    [
        ("compute_75", "sm_120", True),
        ("sm_120", "sm_120", True),
        ("sm_100a", "sm_120", True),
        ("compute_120", "sm_103", False),
        ("compute_90", "sm_89", False),
    ],
)
def test_ltoir_fits_the_same_or_a_newer_target(ltoir: str, arch: str, fits: bool) -> None:
    assert ltoir_fits(ltoir, arch) is fits
