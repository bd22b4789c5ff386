"""A package names the tools that made what is in it, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.packages.tools import FRONT_ENDS, tools_of
from tilewright.toolchain.toolkit import Toolkit

OTHERS = {
    "rustc": lambda: "rustc 1.95.0",
    "llvmlite": lambda: "llvmlite 0.50.0",
    "c-compiler": lambda: "",
    "host-compiler": lambda: "g++ 12.2.0",
}


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        (["exports", "bytecode", "bindings"], []),
        (["library", *FRONT_ENDS["cuda"]], ["assembler", "nvrtc"]),
        (["library", *FRONT_ENDS["nvvm"]], ["assembler", "libdevice", "llvmlite", "nvvm", "rustc"]),
        (["provider"], ["assembler"]),
        (["link"], ["nvjitlink"]),
        (["program"], ["assembler", "host-compiler", "nvcc", "nvjitlink", "nvvm"]),
    ],
)
def test_a_step_names_its_tools_in_order_and_what_is_not_there_made_nothing(
    toolkit: Toolkit, steps: list[str], names: list[str]
) -> None:
    assert list(tools_of(steps, toolkit, OTHERS)) == names


def test_an_identity_tells_the_version_and_never_the_place(toolkit: Toolkit) -> None:
    assert toolkit.nvrtc is not None
    steps = ["ltoir", "rust", "library"]
    here = tools_of(steps, toolkit, OTHERS)
    assert here["nvrtc"] == f"nvrtc {toolkit.nvrtc.version}"
    elsewhere = replace(toolkit, nvrtc=replace(toolkit.nvrtc, path=Path("/elsewhere/libnvrtc.so")))
    assert tools_of(steps, elsewhere, OTHERS) == here
    newer = tools_of(steps, replace(toolkit, nvrtc=replace(toolkit.nvrtc, version="13.5.99")), OTHERS)
    assert newer == {**here, "nvrtc": "nvrtc 13.5.99"}
    assert "nvrtc" not in tools_of(steps, replace(toolkit, nvrtc=None), OTHERS)
