"""A provider inside somebody else's program: whatever it is asked, it answers or gives an error, and leaves nothing."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from library.provider.samples import ALL_SYMBOLS, EXPORTS, IR
from needed_tools import needs
from tilewright.library.provider.c_compiler import CCompiler
from tilewright.library.provider.making import make_provider
from tilewright.toolchain.shadow import tool_environment
from tilewright.toolchain.toolkit import Toolkit

ROOTS = ("CUDA_ROOT", "CUDA_HOME", "CUDA_PATH")
Play = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def play(player: Path, toolkit: Toolkit) -> Play:
    """Runs a player; variables that are empty are taken out of its environment."""

    def run(
        *arguments: str | Path, program: Path = player, before: tuple[str, ...] = (), **variables: str
    ) -> subprocess.CompletedProcess[str]:
        environment = {**tool_environment(toolkit, os.environ), **variables}
        return subprocess.run(
            [*before, program, *map(str, arguments)],
            env={name: value for name, value in environment.items() if value},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run


def without_roots() -> dict[str, str]:
    return dict.fromkeys(ROOTS, "")


@pytest.mark.parametrize(("language", "codes"), [("ir", 1), ("cuda", 2)])
def test_every_symbol_is_in_the_code_that_says_so(
    play: Play, providers: Mapping[str, Path], language: str, codes: int
) -> None:
    done = play(providers[language], "ask", "sm_90a", *ALL_SYMBOLS, *ALL_SYMBOLS[:2])
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "create: ok"
    assert [line.split(":")[0] for line in lines[1:]] == ["catalog"] * 6 + [f"code {n}" for n in range(codes)]
    found = [symbol for line in lines[7:] for symbol in line.split(",", 1)[1].split()]
    assert sorted(found) == sorted(name.partition("=")[2] for name in ALL_SYMBOLS)


def test_sized_exports_of_cuda_need_no_compiler(play: Play, providers: Mapping[str, Path]) -> None:
    done = play(providers["cuda"], "ask", "sm_90a", "relu=relu_impl", **without_roots())
    assert done.stdout.splitlines()[-1] == "code 0: magic ed43, relu_impl"


@pytest.mark.parametrize(
    ("arch", "question", "expected"),
    [
        ("sm_90a", "nothing=nothing_impl", "code is wanted for `nothing`, which the library does not have"),
        ("sm_90a", "relu_any__N128=relu_impl", "`relu_any` is implemented by `relu_any_impl`, and the assembler wants"),
        ("sm_90a", "relu__N128=relu_impl__N128", "code is wanted for `relu__N128`"),
        ("sm_90a", "relu_any__N128=relu_any_impl__N", "`relu_any` is implemented by `relu_any_impl`, and the"),
        ("gfx90a", "relu=relu_impl", "cannot tell the architecture to compile for (`gfx90a`)"),
        ("sm_12345", "relu=relu_impl", "libNVVM, "),
    ],
)
def test_what_it_cannot_answer_is_an_error_with_a_text(
    play: Play, providers: Mapping[str, Path], arch: str, question: str, expected: str
) -> None:
    done = play(providers["ir"], "ask", arch, question)
    assert done.returncode == 0
    assert f"error: {expected}" in done.stdout
    assert f"mixed: provider: error: {expected}" in done.stderr


def test_a_declaration_of_another_library_has_no_implementation(play: Play, providers: Mapping[str, Path]) -> None:
    assert "catalog: none" in play(providers["ir"], "ask", "sm_90a", "nothing=x").stdout


def test_an_assembler_of_another_abi_is_refused_by_both_numbers(play: Play, providers: Mapping[str, Path]) -> None:
    for version in (("0", "0", "2"), ("0", "1", "1"), ("1", "0", "1"), ("0", "0", "0")):
        done = play(providers["ir"], "version", *version)
        assert done.stdout == "create: refused\n"
        assert f"announces ABI {'.'.join(version)} " in done.stderr
        assert "provider_abi=observed, which knows 0.0.1 only" in done.stderr


def test_without_libnvvm_the_error_names_every_place(play: Play, providers: Mapping[str, Path], tmp_path: Path) -> None:
    done = play(providers["ir"], "ask", "sm_90a", "relu=relu_impl", **without_roots())
    assert "error: libNVVM was not found: nothing in /" in done.stdout
    broken = tmp_path / "nvvm" / "lib64" / "libnvvm.so"
    broken.parent.mkdir(parents=True)
    broken.write_text("no library")
    done = play(providers["ir"], "ask", "sm_90a", "relu=relu_impl", **{**without_roots(), "CUDA_PATH": str(tmp_path)})
    assert f"{broken}: " in done.stdout
    assert "set CUDA_HOME to the CUDA toolkit" in done.stdout


def test_the_first_root_with_a_library_that_opens_is_taken(
    play: Play, providers: Mapping[str, Path], toolkit: Toolkit, tmp_path: Path
) -> None:
    nvvm = toolkit.require("nvvm").path
    for name in ("root", "home"):
        (tmp_path / name / "nvvm/lib64").mkdir(parents=True)
        (tmp_path / name / "nvvm/lib64/libnvvm.so").symlink_to(nvvm)
    (tmp_path / "path/lib").mkdir(parents=True)
    (tmp_path / "path/lib/libnvvm.so.4").symlink_to(nvvm)
    roots = {"CUDA_ROOT": "root", "CUDA_HOME": "home", "CUDA_PATH": "path"}
    for variable, name in roots.items():
        rest = list(roots)[list(roots).index(variable) :]
        variables = {**without_roots(), **{each: str(tmp_path / roots[each]) for each in rest}}
        done = play(providers["ir"], "ask", "sm_90a", ALL_SYMBOLS[0], TILEWRIGHT_PROVIDER_LOG="1", **variables)
        assert f"libNVVM is {tmp_path / name}/" in done.stderr


def test_the_folder_above_the_programs_is_a_root(
    play: Play, player: Path, providers: Mapping[str, Path], toolkit: Toolkit, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libnvvm.so.4").symlink_to(toolkit.require("nvvm").path)
    program = Path(shutil.copy(player, tmp_path / "bin/assembler"))
    done = play(providers["ir"], "ask", "sm_90a", ALL_SYMBOLS[0], program=program, **without_roots())
    assert "code 0: magic ed43, relu_any_impl__N128" in done.stdout


def test_threads_do_not_disturb_each_other(
    play: Play, linked_player: Callable[[str], Path], providers: Mapping[str, Path], tmp_path: Path
) -> None:
    done = play(providers["ir"], "threads", "16", "sm_90a", *ALL_SYMBOLS)
    assert "threads: 16 of 16 answered" in done.stdout
    quiet = tmp_path / "suppressions"
    quiet.write_text("called_from_lib:libnvvm.so\n")  # its own locks are not seen by the sanitizer
    done = play(
        "-", "threads", "8", "sm_90a", *ALL_SYMBOLS,
        program=linked_player("thread"), TSAN_OPTIONS=f"suppressions={quiet}",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "threads: 8 of 8 answered" in done.stdout


def test_wild_requests_and_lost_allocations_neither_crash_nor_leak(
    play: Play, linked_player: Callable[[str], Path]
) -> None:
    program = linked_player("address,undefined")
    for seed in range(4):
        done = play("-", "fuzz", str(seed), "3000", program=program)
        assert done.returncode == 0, done.stdout + done.stderr[-4000:]
        assert "fuzzed 3000, answered some" in done.stdout
        assert "runtime error" not in done.stderr
    done = play("-", "memory", "sm_90a", *ALL_SYMBOLS, program=program)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert "memory: every allocation failed once" in done.stdout
    assert "mixed: provider: error: out of memory" in done.stderr


@needs("valgrind")
def test_valgrind_finds_no_leak_and_no_wrong_access(play: Play, providers: Mapping[str, Path]) -> None:
    valgrind = ("valgrind", "-q", "--leak-check=full", "--error-exitcode=9")
    done = play(providers["ir"], "ask", "sm_90a", *ALL_SYMBOLS, before=valgrind)
    assert (done.returncode, done.stderr) == (0, "")
    assert "code 0: magic ed43, relu" in done.stdout
    done = play(providers["cuda"], "ask", "sm_90a", *ALL_SYMBOLS, "nothing=x", before=valgrind)
    assert done.returncode == 0, done.stderr
    assert "error: code is wanted for `nothing`" in done.stdout


def test_it_writes_no_file(player: Path, providers: Mapping[str, Path], toolkit: Toolkit, tmp_path: Path) -> None:
    folder = tmp_path / "cwd"
    folder.mkdir()
    for question in (ALL_SYMBOLS, ("nothing=x",)):
        done = subprocess.run(
            [player, providers["ir"], "ask", "sm_90a", *question],
            cwd=folder,
            env={**tool_environment(toolkit, os.environ), "TILEWRIGHT_PROVIDER_LOG": "1", "TMPDIR": str(folder)},
            capture_output=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        )
        assert done.returncode == 0  # a write to a file would have been killed
        assert list(folder.iterdir()) == []


def test_a_fault_of_the_ir_is_shown_with_the_compilers_words(
    play: Play, toolkit: Toolkit, compiler: CCompiler, tmp_path: Path
) -> None:
    library = tmp_path / "bad.tilelib"
    text = IR.replace("%m = fmul float %v, %factor", "%m = fmul float %v, %missing")
    library.write_bytes(make_provider(EXPORTS, text, toolkit=toolkit, compiler=compiler))
    done = play(library, "ask", "sm_90a", "relu=relu_impl")
    assert "libNVVM, verifying: NVVM_ERROR_INVALID_IR" in done.stdout
    assert "use of undefined value '%missing'" in done.stdout
