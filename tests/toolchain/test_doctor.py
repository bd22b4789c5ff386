"""The doctor's report on a healthy toolkit and on sick ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from needed_tools import needs
from tilewright.toolchain.doctor import report
from tilewright.toolchain.parts import PARTS
from tilewright.toolchain.roots import candidates, in_root
from tilewright.toolchain.shadow import shadow_root
from tilewright.toolchain.toolkit import Toolkit, resolve
from toolchain.conftest import MakeRoot, script, tool_script

KEYS = [
    "schema", "root", "shadow", "origin", "components", "host_compiler", "others", "architectures",
    "ltoir_architectures", "bytecode_versions", "writes_bytecode", "can_pack", "cache", "notes", "problems",
]  # fmt: skip


@pytest.fixture
def gcc(tmp_path: Path) -> Path:
    """A folder with a compiler called gcc."""
    return script(tmp_path / "host/bin/gcc", 'echo "gcc (Debian 12.2.0-14) 12.2.0"').parent


def headers(root: Path) -> None:
    for name in ("include/cuda_runtime.h", "include/crt/host_config.h", "nvvm/bin/cicc"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


@needs("gcc")
def test_the_real_toolkit_is_healthy(toolkit: Toolkit) -> None:
    found = report(toolkit)
    assert found.problems == ()
    assert found.text().endswith("No problems found.\n")
    assert found.can_pack
    assert found.ltoir_architectures[0] == "compute_75"


def test_the_report_is_aligned_and_complete(environ: Mapping[str, str], make_root: MakeRoot, gcc: Path) -> None:
    root = make_root("cuda", assembler="13.5", nvcc="13.5.37")
    headers(root)
    versions = {"cuda_cudart": {"version": "13.5.36"}, "cuda_crt": {"version": "13.5.35"}}
    (root / "version.json").write_text(json.dumps(versions))
    search = {**environ, "PATH": f"{gcc}:{environ['PATH']}"}
    old = make_root("old", assembler="13.4", nvrtc="13.4.20")
    toolkit = resolve(search, among=[in_root(old, "PATH"), in_root(root, "CUDA_HOME")])
    assert report(toolkit, search).text() == (
        f"CUDA toolkit: {root} (CUDA_HOME)\n"
        "\n"
        f"tileiras      13.5.20  CUDA_HOME  {root}/bin/tileiras\n"
        f"nvcc          13.5.37  CUDA_HOME  {root}/bin/nvcc\n"
        "tileirdisasm  not found (checks declarations and implementations against each other)\n"
        "NVRTC         not found (compiles CUDA C++ to LTOIR)\n"
        "libNVVM       not found (compiles NVVM IR to LTOIR)\n"
        "libdevice     not found (holds the math functions)\n"
        "nvJitLink     not found (links device code and checks symbols)\n"
        "ptxas         not found (assembles PTX)\n"
        "nvdisasm      not found (shows machine code)\n"
        "CCCL          not found (holds the headers of libcu++)\n"
        f"CUDA headers  13.5.36  CUDA_HOME  {root}/include/cuda_runtime.h\n"
        f"CRT headers   13.5.35  CUDA_HOME  {root}/include/crt/host_config.h\n"
        f"gcc           12.2.0   PATH       {gcc}/gcc\n"
        "\n"
        "architectures:  sm_80, sm_90, sm_120\n"
        "LTOIR for:      none\n"
        "bytecode:       13.1, 13.2, 13.3, 13.4, 13.5; writes 13.5, libraries can be packed\n"
        f"cache:          {environ['TILEWRIGHT_CACHE']}\n"
        "\n"
        f"note: passed over {old}/bin/tileiras (lists 13.1 to 13.4; packing needs 13.5 or newer)\n"
        "\n"
        "error: tileirdisasm, NVRTC, libNVVM, libdevice and nvJitLink are missing:"
        f" {root} (found through CUDA_HOME) has tileiras 13.5.20, nvcc 13.5.37, CUDA headers 13.5.36,"
        " CRT headers 13.5.35\n"
        "  hint: pip install 'scons-tilelib[toolkit]'\n"
        "        or install CUDA 13.5 or newer and put its bin folder on PATH (or set CUDA_HOME to it)\n"
    )


def test_the_folder_of_links_is_named_where_the_tools_need_one(environ: Mapping[str, str], make_root: MakeRoot) -> None:
    root = make_root("nvidia/cu13", assembler="13.5", nvcc="13.5.37", nvjitlink="13")
    toolkit = resolve(environ, among=candidates(environ, standard=(), wheels=[root]))
    found = report(toolkit, environ)
    assert json.loads(found.json())["shadow"] == str(shadow_root(toolkit)) != str(root)
    assert (shadow_root(toolkit) / "bin/nvcc").is_file()
    assert f"\nrun nvcc in:    {shadow_root(toolkit)}\n" in found.text()


def test_missing_wheels_are_named_one_by_one(environ: Mapping[str, str], make_root: MakeRoot) -> None:
    root = make_root("nvidia/cu13", assembler="13.5", nvrtc="13.5.20", disassembler="13.5.20")
    toolkit = resolve(environ, among=candidates(environ, standard=(), wheels=[root]))
    missing = {problem.what.partition(":")[0]: problem.hint for problem in report(toolkit, environ).problems[:2]}
    assert missing == {
        "libNVVM and libdevice are missing": "pip install 'nvidia-nvvm~=13.5.0'",
        "nvJitLink is missing": "pip install 'nvidia-nvjitlink~=13.5.0'",
    }


def test_an_nvrtc_that_cannot_be_loaded_is_a_problem(environ: Mapping[str, str], make_root: MakeRoot) -> None:
    root = make_root("cuda", nvrtc="13.5.20")
    found = report(resolve(environ, among=[in_root(root, "CUDA_HOME")]), environ)
    assert found.architectures == ()
    (problem,) = [one for one in found.problems if "architectures" in one.what]
    assert problem.what == f"NVRTC does not tell its architectures: {root}/lib64/libnvrtc.so.13"
    assert problem.detail == f"{root}/lib64/libnvrtc.so.13: file too short"


def test_an_old_assembler_is_a_problem(environ: Mapping[str, str], make_root: MakeRoot) -> None:
    root = make_root("cuda", assembler="13.4")
    found = report(resolve(environ, among=[in_root(root, "CUDA_HOME")]), environ)
    assert not found.can_pack
    assert found.writes_bytecode == "13.5"
    assert f"{root}/bin/tileiras cannot create tile libraries: it lists 13.1 to 13.4; packing needs 13.5 or newer" in [
        problem.what for problem in found.problems
    ]


def test_nvcc_is_told_what_it_lacks(environ: Mapping[str, str], make_root: MakeRoot, gcc: Path) -> None:
    root = make_root("nvidia/cu13", assembler="13.5", nvcc="13.5.37")
    toolkit = resolve(environ, among=candidates(environ, standard=(), wheels=[root]))
    lacking = {problem.what: problem.hint for problem in report(toolkit, environ).problems}
    start = f"nvcc will not work: {root} has no "
    assert lacking[start + "cuda_runtime.h"] == "pip install 'nvidia-cuda-runtime~=13.5.0'"
    assert lacking[start + "crt/host_config.h"] == "pip install 'nvidia-cuda-crt~=13.5.0'"
    assert lacking[start + "nvvm/bin/cicc"] == "pip install 'nvidia-nvvm~=13.5.0'"
    no_gcc = "nvcc has no host compiler: there is no gcc on PATH (libraries need none, callers compiled by nvcc do)"
    assert lacking[no_gcc] == "install gcc and g++, for example: apt-get install g++"
    headers(root)
    toolkit = resolve(environ, among=candidates(environ, standard=(), wheels=[root]))
    healthy = report(toolkit, {"PATH": str(gcc)})
    assert not any("nvcc" in problem.what.split(":")[0] for problem in healthy.problems)
    assert healthy.host_compiler.version == "12.2.0"


def test_another_host_compiler_has_to_be_named(environ: Mapping[str, str], make_root: MakeRoot, tmp_path: Path) -> None:
    toolkit = resolve(environ, among=[in_root(make_root("cuda", nvcc="13.5.37"), "CUDA_HOME")])
    clang = script(tmp_path / "clang/bin/clang", tool_script("19.1.7"))
    search = {"PATH": str(clang.parent)}
    hint = report(toolkit, search).problems[-1].hint
    assert hint == f"export NVCC_CCBIN={clang}"
    named = report(toolkit, {**search, "NVCC_CCBIN": str(clang)}).host_compiler
    assert (named.title, named.version, named.origin, named.path) == ("clang", "19.1.7", "NVCC_CCBIN", clang)
    wrong = report(toolkit, {**search, "NVCC_CCBIN": "gone"}).problems[-1]
    assert wrong.what == "NVCC_CCBIN names `gone`, which is not a program"


def test_no_toolkit_is_one_problem(environ: Mapping[str, str]) -> None:
    found = report(resolve(environ, among=()), environ)
    assert [problem.what for problem in found.problems] == ["no part of a CUDA toolkit was found"]
    assert found.text().startswith("CUDA toolkit: none found\n")


def test_the_json_has_stable_keys_and_no_lost_facts(toolkit: Toolkit, environ: Mapping[str, str]) -> None:
    for kit in (toolkit, resolve(environ, among=())):
        record = json.loads(report(kit, environ).json())
        assert list(record) == KEYS
        assert record["schema"] == 1
        assert [row["name"] for row in record["components"]] == [part.name for part in PARTS]
        for row in (*record["components"], record["host_compiler"]):
            assert list(row) == ["name", "title", "found", "version", "origin", "path"]
            assert row["found"] == (row["path"] is not None)
        for problem in record["problems"]:
            assert list(problem) == ["what", "hint", "detail"]
