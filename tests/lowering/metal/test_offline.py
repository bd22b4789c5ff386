"""Commands for Apple's compiler and the reasons it cannot run, planned without it: it exists only on macOS."""

from __future__ import annotations

from pathlib import Path

import pytest

from lowering.metal.cases import MPP
from lowering.metal.kernels import native_gemm, row_sum
from tilewright.lowering.metal.lower import lower
from tilewright.lowering.metal.offline import air_command, compiler_identity, executed, library_command, skip_reason
from tilewright.lowering.options import CompileOptions


def native():
    return lower(native_gemm((32, 32, 32), (16, 16)), MPP)


def machine(**answers):
    """A Mac where commands with these words give (status, text); everything else succeeds."""

    def run(command):
        words = " ".join(command)
        return next((answer for key, answer in answers.items() if key.replace("_", "-") in words), (0, "26.1\n"))

    return run


def test_math_flags_and_version_are_always_explicit():
    command = air_command(native(), Path("gemm.metal"), Path("gemm.air"))
    assert command == [
        "xcrun", "-sdk", "macosx", "metal", "-std=metal4.0", "-mmacosx-version-min=26.0", "-O2",
        "-fmetal-math-mode=safe", "-fmetal-math-fp32-functions=precise", "-c", "gemm.metal", "-o", "gemm.air",
    ]  # fmt: skip
    older = air_command(lower(row_sum(2, 8), CompileOptions(debug=True)), Path("a.metal"), Path("a.air"))
    assert {"-std=metal3.0", "-mmacosx-version-min=13.0", "-gline-tables-only"} <= set(older)


def test_a_library_is_linked_from_all_kernels():
    command = library_command([Path("a.air"), Path("b.air")], Path("tile.metallib"))
    assert command == ["xcrun", "-sdk", "macosx", "metallib", "a.air", "b.air", "-o", "tile.metallib"]


@pytest.mark.parametrize(
    ("system", "answers", "words"),
    [
        ("Linux", {}, "exists only on macOS"),
        ("Windows", {}, "exists only on macOS"),
        ("Darwin", {"__find": (1, "")}, "Command Line Tools only; install Xcode"),
        ("Darwin", {"metal --version": (1, "")}, "xcodebuild -downloadComponent MetalToolchain"),
        ("Darwin", {"show_sdk_version": (0, "15.5\n")}, "needs the macOS 26 SDK, this is 15.5"),
        ("Darwin", {"show_sdk_version": (1, "")}, "needs the macOS 26 SDK, this is none"),
    ],
)
def test_each_reason_has_its_own_words(system, answers, words):
    assert words in skip_reason(native(), system, machine(**answers))


def test_a_complete_mac_has_no_reason_and_an_older_sdk_still_makes_msl_3():
    assert skip_reason(native(), "Darwin", machine()) == ""
    older = machine(show_sdk_version=(0, "15.5\n"))
    assert skip_reason(lower(row_sum(2, 8)), "Darwin", older) == ""


def test_the_compiler_is_part_of_a_signature():
    assert (
        compiler_identity(lambda _: (0, "Apple metal version 32023.1\nTarget: air64\n"))
        == "Apple metal version 32023.1"
    )
    assert compiler_identity(lambda _: (1, "")) == "none"


def test_a_missing_program_is_a_status():
    assert executed(["tilewright-no-such-program"])[0] == 127
