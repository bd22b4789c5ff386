"""Commands for Apple's compiler and the reasons it cannot run, planned without it: it exists only on macOS."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from lowering.metal.cases import MPP
from lowering.metal.kernels import native_gemm, row_sum
from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.lower import lower
from tilewright.lowering.metal.offline import (
    Compilation,
    MetalTools,
    air_command,
    by_hand,
    compilation_of,
    described,
    executed,
    find_tools,
    library_command,
    library_record,
    made_by,
    planned_language,
    refuse_equal_kernels,
    skip_reason,
)
from tilewright.lowering.options import CompileOptions

VERSION = "Apple metal version 32023.1 (metalfe-32023.1)\nTarget: air64-apple-darwin25\n"
MAC = MetalTools("Apple metal version 32023.1 (metalfe-32023.1)", "26.1")


def native():
    return lower(native_gemm((32, 32, 32), (16, 16)), MPP)


def machine(**answers):
    """A Mac where commands with these words give (status, output, errors); the others answer as on a complete one."""
    usual = {"version": (0, VERSION, ""), "show_sdk": (0, "26.1\n", ""), "find": (0, "/x/metal\n", "")}
    words = {"version": "metal --version", "show_sdk": "--show-sdk-version", "find": "--find metal"}

    def run(command):
        (key,) = (each for each, text in words.items() if " ".join(command).endswith(text))
        return (usual | answers)[key]

    return run


def no_command(command):
    raise AssertionError(command)


def test_math_flags_and_version_are_always_explicit():
    command = air_command(compilation_of(native()), "gemm.metal", Path("gemm.air"))
    assert command == [
        "xcrun", "-sdk", "macosx", "metal", "-std=metal4.0", "-mmacosx-version-min=26.0", "-O2",
        "-fmetal-math-mode=safe", "-fmetal-math-fp32-functions=precise", "-c", "gemm.metal", "-o", "gemm.air",
    ]  # fmt: skip
    older = compilation_of(lower(row_sum(2, 8), CompileOptions(debug=True)))
    words = air_command(older, "a.metal", Path("a.air"), [Path("/own headers")])
    assert {"-std=metal3.0", "-mmacosx-version-min=13.0", "-gline-tables-only"} <= set(words)
    assert words[words.index("-I") + 1] == "/own headers"


@pytest.mark.parametrize("options", [CompileOptions(), CompileOptions(fast_math=True, debug=True), MPP])
def test_the_json_beside_a_source_says_how_to_compile_it_and_the_options_which_language_it_will_be(options):
    kernel = native_gemm((32, 32, 32), (16, 16)) if options is MPP else row_sum(2, 8)
    artifact = lower(kernel, options)
    assert described(artifact.to_json()) == compilation_of(artifact)
    given = {"metal_mpp": options.metal_mpp}
    assert planned_language(given) == artifact.language
    assert by_hand(artifact.language).required_os == artifact.required_os


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b'{"format": "cuda"}', b'{"format": "metal"}', b"null"])
def test_any_other_file_describes_nothing(data):
    assert described(data) is None


def test_a_source_written_by_hand_has_safe_math_and_a_known_language():
    assert by_hand("3.1") == Compilation(
        "3.1", 14, ("-fmetal-math-mode=safe", "-fmetal-math-fp32-functions=precise"), debug=False, entry=""
    )
    with pytest.raises(LoweringError, match=r"no MSL 5\.0 here.*\n.*3\.0, 3\.1, 3\.2, 4\.0"):
        by_hand("5.0")


def test_a_library_is_linked_from_all_kernels():
    command = library_command(["a.air", "b.air"], Path("tile.metallib"))
    assert command == ["xcrun", "-sdk", "macosx", "metallib", "a.air", "b.air", "-o", "tile.metallib"]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"find": (72, "", "xcrun: error: no metal\n")}, "Command Line Tools only; install Xcode"),
        ({"find": (72, "", "xcrun: error: no metal\n")}, "(xcrun: error: no metal)"),
        ({"version": (1, "", "error: cannot execute tool\n")}, "xcodebuild -downloadComponent MetalToolchain"),
        ({"version": (0, "", "")}, "is a stub"),
        ({"show_sdk": (0, "15.5\n", "")}, "`gemm` needs the macOS 26 SDK, this is 15.5"),
        ({"show_sdk": (1, "", "")}, "needs the macOS 26 SDK, this is none"),
    ],
)
def test_each_reason_of_a_mac_has_its_own_words(answers, words):
    assert words in skip_reason(find_tools("Darwin", machine(**answers)), "gemm", 26)


@pytest.mark.parametrize("system", ["Linux", "Windows"])
def test_other_systems_are_asked_nothing(system):
    assert "exists only on macOS" in skip_reason(find_tools(system, no_command), "gemm", 26)


def test_a_complete_mac_has_no_reason_and_an_older_sdk_still_makes_msl_3():
    assert find_tools("Darwin", machine()) == MAC
    assert skip_reason(MAC, "gemm", 26) == ""
    older = find_tools("Darwin", machine(show_sdk=(0, "15.5\n", "")))
    assert skip_reason(older, "sum", 13) == ""
    assert skip_reason(older, "gemm", 26) != ""


def test_a_missing_program_is_a_status():
    assert executed(["tilewright-no-such-program"])[0] == 127


def test_what_a_command_writes_is_taken_and_its_folder_goes_away(tmp_path):
    paths = []

    def command(out):
        paths.append(out)
        return ["/bin/sh", "-c", 'printf "%s" "$PWD" > "$0"; echo said', str(out)]

    assert made_by(command, "x.air", tmp_path) == (str(tmp_path).encode(), "said")
    assert paths[0].name == "x.air"
    assert not paths[0].parent.exists()


@pytest.mark.parametrize(
    ("script", "words"),
    [("echo one; echo two >&2; exit 3", "failed with status 3"), ("echo one; echo two >&2", "wrote no `x.air`")],
)
def test_a_command_that_makes_nothing_is_an_error_with_all_that_it_said(tmp_path, script, words):
    with pytest.raises(LoweringError) as caught:
        made_by(lambda out: ["/bin/sh", "-c", script, str(out)], "x.air", tmp_path)
    (problem,) = caught.value.problems
    assert words in problem.what
    assert problem.detail == "one\ntwo"


def test_a_record_says_which_compiler_saw_which_source_or_why_none_did():
    sources = {"gemm.metal": (b"text", compilation_of(native()))}
    made = json.loads(library_record("tile", sources, library=b"x", tools=MAC))
    assert (made["metallib"], made["compiler"], made["sdk"]) == ("compiled", MAC.compiler, "26.1")
    assert made["sources"][0]["compiled_by_apple"] is True
    assert made["sources"][0]["source_sha256"] == hashlib.sha256(b"text").hexdigest()
    assert made["sha256"] == hashlib.sha256(b"x").hexdigest()
    skipped = json.loads(library_record("tile", sources, reason="because"))
    assert (skipped["metallib"], skipped["reason"], skipped["compiler"]) == ("skipped", "because", "")
    assert skipped["sources"][0]["compiled_by_apple"] is False
    assert made["run_on_hardware"] is skipped["run_on_hardware"] is False


def test_a_library_holds_a_kernel_name_once():
    refuse_equal_kernels({"a.metal": "tile_a", "b.metal": "tile_b"})
    with pytest.raises(LoweringError, match=r"`a.metal` and `b.metal` both have the kernel `tile_a`"):
        refuse_equal_kernels({"a.metal": "tile_a", "b.metal": "tile_a"})
