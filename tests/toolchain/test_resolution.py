"""One situation a test: which root wins, and what the user is told. Spec: The tileiras requirement."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest

from tilewright.toolchain import answers
from tilewright.toolchain.parts import PARTS
from tilewright.toolchain.roots import Candidate, candidates, in_root, root_of_tool, standard_roots
from tilewright.toolchain.toolkit import NOWHERE, ToolchainError, resolve
from toolchain.conftest import MakeRoot, assembler_script, script

Environ = Mapping[str, str]


def found(*roots: Path) -> list[Candidate]:
    return [in_root(root, "standard location") for root in roots]


def on_path(environ: Environ, *folders: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join([*map(str, folders), environ["PATH"]])
    return {**environ, "PATH": path, **more}


def test_nothing_found_is_a_toolkit_without_parts(environ: Environ) -> None:
    toolkit = resolve(environ, among=())
    assert toolkit.root == NOWHERE
    assert toolkit.components() == ()
    assert toolkit.notes == ()
    assert toolkit.bytecode_version() == (13, 5)
    assert toolkit.architectures() == ()
    with pytest.raises(ToolchainError) as caught:
        toolkit.require("nvrtc")
    assert str(caught.value) == (
        "error: NVRTC is missing: no part of a CUDA toolkit was found\n"
        "  hint: pip install 'scons-tilelib[toolkit]'\n"
        "        or install CUDA 13.5 or newer and put its bin folder on PATH (or set CUDA_HOME to it)"
    )


def test_a_missing_component_is_named_beside_what_is_there(environ: Environ, make_root: MakeRoot) -> None:
    root = make_root("cuda", assembler="13.5", nvcc="13.5.20")
    toolkit = resolve(environ, among=found(root))
    with pytest.raises(ToolchainError) as caught:
        toolkit.require("nvjitlink")
    (problem,) = caught.value.problems
    assert problem.what == (
        f"nvJitLink is missing: {root} (found through standard location) has tileiras 13.5.20, nvcc 13.5.20"
    )


def test_a_missing_wheel_is_named_with_the_release_of_the_others(environ: Environ, make_root: MakeRoot) -> None:
    make_root("site/nvidia/cu13", assembler="13.6")
    roots = candidates(environ, standard=(), wheels=[Path(environ["TILEWRIGHT_CACHE"]).parent / "site/nvidia/cu13"])
    with pytest.raises(ToolchainError) as caught:
        resolve(environ, among=roots).require("nvrtc")
    assert caught.value.problems[0].hint == "pip install 'nvidia-cuda-nvrtc~=13.6.0'"


def test_an_old_assembler_wins_when_there_is_no_other(environ: Environ, make_root: MakeRoot) -> None:
    old, older = make_root("a", assembler="13.4", nvrtc="13.4.20"), make_root("b", assembler="13.3")
    toolkit = resolve(environ, among=found(old, older))
    assert toolkit.root == old
    assert toolkit.assembler is not None
    assert not toolkit.assembler.can_pack
    assert toolkit.assembler.bytecode_versions == ((13, 1), (13, 2), (13, 3), (13, 4))
    assert toolkit.bytecode_version() == (13, 5)
    assert toolkit.notes == ()


def test_an_old_assembler_is_passed_over_with_one_line(environ: Environ, make_root: MakeRoot) -> None:
    old, new = make_root("old", assembler="13.4", nvrtc="13.4.20"), make_root("new", assembler="13.5", nvrtc="13.5.20")
    toolkit = resolve(environ, among=found(old, new, make_root("later", assembler="13.4")))
    assert toolkit.root == new
    assert toolkit.nvrtc is not None
    assert toolkit.nvrtc.version == "13.5.20"
    assert toolkit.notes == (f"passed over {old}/bin/tileiras (lists 13.1 to 13.4; packing needs 13.5 or newer)",)


def test_a_newer_assembler_sets_the_bytecode_version(environ: Environ, make_root: MakeRoot) -> None:
    toolkit = resolve(environ, among=found(make_root("cuda", assembler="13.10")))
    assert toolkit.bytecode_version() == (13, 10)
    assert toolkit.identity("assembler") == "tileiras release 13.10, V13.10.20, Build fake.1_"


def test_a_root_without_assembler_is_mentioned_only_as_first_choice(environ: Environ, make_root: MakeRoot) -> None:
    plain, other = make_root("plain", nvcc="13.0.88"), make_root("other", nvcc="13.0.88")
    new = make_root("new", assembler="13.5")
    first = on_path(environ, plain / "bin", CUDA_HOME=str(other), CUDA_PATH=str(new))
    toolkit = resolve(first, among=candidates(first, standard=(), wheels=()))
    assert toolkit.root == new
    assert toolkit.notes == (f"passed over {plain} (found through PATH; it has no tileiras)",)


def test_cuda_home_that_is_not_there_is_mentioned(environ: Environ, make_root: MakeRoot, tmp_path: Path) -> None:
    wrong = {**environ, "CUDA_HOME": str(tmp_path / "gone")}
    toolkit = resolve(wrong, among=candidates(wrong, standard=(), wheels=[make_root("new", assembler="13.5")]))
    assert toolkit.notes == (f"passed over {tmp_path}/gone (found through CUDA_HOME; no such folder)",)


def test_without_assembler_the_first_root_with_nvrtc_wins(environ: Environ, make_root: MakeRoot) -> None:
    roots = found(make_root("a", nvcc="13.5.20"), make_root("b", nvrtc="13.5.20"), make_root("c", nvrtc="13.5.20"))
    toolkit = resolve(environ, among=roots)
    assert toolkit.root.name == "b"
    assert toolkit.assembler is None
    assert toolkit.nvcc is None


def test_the_path_variable_is_final_for_the_assembler_alone(environ: Environ, make_root: MakeRoot) -> None:
    old, new = make_root("old", assembler="13.4", nvrtc="13.4.20"), make_root("new", assembler="13.5", nvrtc="13.5.20")
    fixed = {**environ, "CUTILE_TILEIRAS_PATH": str(old / "bin/tileiras")}
    toolkit = resolve(fixed, among=found(new))
    assert toolkit.assembler is not None
    assert (toolkit.assembler.path, toolkit.assembler.origin) == (old / "bin/tileiras", "CUTILE_TILEIRAS_PATH")
    assert toolkit.root == new
    assert toolkit.nvrtc is not None
    assert toolkit.nvrtc.path.is_relative_to(new)
    assert toolkit.notes == ("the components are of different CUDA releases (13.4: tileiras; 13.5: NVRTC)",)


def test_the_root_of_the_named_assembler_serves_when_no_other_does(environ: Environ, make_root: MakeRoot) -> None:
    root = make_root("cuda", assembler="13.5", nvrtc="13.5.20")
    toolkit = resolve({**environ, "CUTILE_TILEIRAS_PATH": str(root / "bin/tileiras")}, among=())
    assert toolkit.root == root


def test_a_wrong_path_variable_is_an_error_without_fallback(environ: Environ, make_root: MakeRoot) -> None:
    root = make_root("new", assembler="13.5")
    for value, text in (
        (root / "bin/tileirs", f"CUTILE_TILEIRAS_PATH names {root}/bin/tileirs, which does not exist"),
        (root / "bin", f"hint: name the file: {root}/bin/tileiras"),
        (script(root / "bin/broken", "exit 3"), "failed with exit code 3"),
        (script(root / "bin/crash", "kill -SEGV $$"), "was ended by signal 11"),
        (script(root / "bin/chatty", "echo hello world"), "names no version; it printed: hello world"),
    ):
        with pytest.raises(ToolchainError) as caught:
            resolve({**environ, "CUTILE_TILEIRAS_PATH": str(value)}, among=found(root))
        assert text in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sleep 60", "gives no answer within 0.4 seconds"),
        ("sleep 60 & exit 0", "gives no answer within 0.4 seconds"),
        ("yes", "does not stop printing"),
        ("kill -SEGV $$", "was ended by signal 11"),
        ("exit 9", "failed with exit code 9"),
        ("echo Segfault in 0x12", "names no version; it printed: Segfault in 0x12"),
        ("exit 0", "names no version; it printed: nothing"),
        ('[ "$1" = --version ] && echo "release 13.5, V13.5.1" || echo none', "names no bytecode version"),
    ],
)
def test_a_broken_assembler_is_passed_over_and_quoted(
    text: str, reason: str, environ: Environ, make_root: MakeRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "SECONDS_TO_ANSWER", 5.0 if text == "yes" else 0.4)
    broken = make_root("broken", tileiras=text)
    monkeypatch.setattr(answers, "LONGEST_ANSWER", 1 << 12)
    good = make_root("good", nvrtc="13.5.20")
    toolkit = resolve(environ, among=found(broken, good))
    assert toolkit.root == good
    (note,) = toolkit.notes
    assert note.startswith(f"passed over {broken}/bin/tileiras (`{broken}/bin/tileiras --")
    assert reason in note
    assert "\n" not in note


def test_an_assembler_without_list_versions_cannot_pack(environ: Environ, make_root: MakeRoot) -> None:
    text = 'case "$1" in --version) echo "release 13.0, V13.0.88";; --help) echo sm_90;; *) exit 1;; esac'
    first = make_root("first", tileiras=text)
    toolkit = resolve(environ, among=found(first, make_root("new", assembler="13.5")))
    assert toolkit.notes == (
        f"passed over {first}/bin/tileiras (lists no bytecode versions; packing needs 13.5 or newer)",
    )


def test_a_lone_assembler_on_path_leaves_the_components_to_the_next_root(
    environ: Environ, make_root: MakeRoot, tmp_path: Path
) -> None:
    lone = script(tmp_path / "lone/bin/tileiras", assembler_script("13.5")).parent
    new = make_root("new", assembler="13.5", nvrtc="13.5.20")
    first = on_path(environ, lone)
    toolkit = resolve(first, among=candidates(first, standard=(), wheels=[new]))
    assert toolkit.assembler is not None
    assert toolkit.assembler.path == lone / "tileiras"
    assert toolkit.root == new
    assert toolkit.notes == ()


def test_candidates_stand_in_the_specified_order(environ: Environ, make_root: MakeRoot, tmp_path: Path) -> None:
    names = ("path-old", "path-new", "home", "cuda_path", "opt/cuda-13.5", "opt/cuda-13.10", "wheels")
    roots = {name: make_root(name, assembler="13.4", nvcc="13.4.20") for name in names}
    first = on_path(
        environ,
        roots["path-old"] / "bin",
        roots["path-new"] / "bin",
        CUDA_HOME=str(roots["home"]),
        CUDA_PATH=str(roots["cuda_path"]),
    )
    listed = candidates(first, standard=[tmp_path / "opt"], wheels=[roots["wheels"], roots["home"]])
    assert [(str(one.root.relative_to(tmp_path)), one.origin) for one in listed] == [
        ("path-old", "PATH"),
        ("path-new", "PATH"),
        ("home", "CUDA_HOME"),
        ("cuda_path", "CUDA_PATH"),
        ("opt/cuda-13.10", "standard location"),
        ("opt/cuda-13.5", "standard location"),
        ("wheels", "NVIDIA wheels"),
    ]


def test_nvcc_on_path_counts_only_without_a_tileiras_on_path(environ: Environ, make_root: MakeRoot) -> None:
    plain, full = make_root("plain", nvcc="13.0.88"), make_root("full", assembler="13.5")
    both = on_path(environ, plain / "bin", full / "bin")
    assert [one.root for one in candidates(both, standard=(), wheels=())] == [full]
    one = on_path(environ, plain / "bin")
    assert [one.root for one in candidates(one, standard=(), wheels=())] == [plain]


def test_wrappers_and_links_lead_to_the_root(make_root: MakeRoot, tmp_path: Path) -> None:
    root = make_root("cuda-13.0", nvcc="13.0.88")
    (tmp_path / "cuda").symlink_to("cuda-13.0")
    (tmp_path / "links").mkdir()
    (tmp_path / "links/nvcc").symlink_to("../cuda/bin/nvcc")
    script(tmp_path / "wrappers/nvcc", f'exec "{root}/bin/nvcc" "$@"')
    assert root_of_tool(tmp_path / "cuda/bin/nvcc") == tmp_path / "cuda"
    assert root_of_tool(tmp_path / "links/nvcc") == tmp_path / "cuda"
    assert root_of_tool(tmp_path / "wrappers/nvcc") == root
    (tmp_path / "links/loop").symlink_to("loop")
    assert root_of_tool(tmp_path / "links/loop") == tmp_path


def test_standard_roots_are_listed_once_and_newest_first(tmp_path: Path) -> None:
    for name in ("cuda-12.9", "cuda-13.5", "cuda-13.10", "cuda-samples", "cudatools"):
        (tmp_path / name).mkdir()
    (tmp_path / "cuda").symlink_to("cuda-13.5")
    assert [root.name for root in standard_roots([tmp_path])] == ["cuda-13.10", "cuda", "cuda-12.9"]


def test_components_are_never_mixed_in_silence(environ: Environ, make_root: MakeRoot) -> None:
    bare = make_root("bare", assembler="13.5", nvcc="13.5.20")
    rich = make_root("rich", nvrtc="13.5.20", disassembler="13.5.21", nvdisasm="13.5.22", ptxas="13.5.20")
    toolkit = resolve(environ, among=found(bare, rich))
    assert toolkit.nvrtc is None
    assert toolkit.ptxas is None
    assert toolkit.notes == (
        f"tileirdisasm 13.5.21 is taken from {rich}/bin/tileirdisasm: {bare} has none",
        f"nvdisasm 13.5.22 is taken from {rich}/bin/nvdisasm: {bare} has none",
    )


def test_an_older_disassembler_is_not_borrowed(environ: Environ, make_root: MakeRoot) -> None:
    roots = found(make_root("new", assembler="13.5", nvcc="13.5.20"), make_root("old", nvdisasm="13.4.20"))
    toolkit = resolve(environ, among=roots)
    assert toolkit.nvdisasm is None
    assert toolkit.notes == ()


def test_differing_minors_are_one_line(environ: Environ, make_root: MakeRoot) -> None:
    root = make_root("cuda", assembler="13.5", nvcc="13.5.37", nvrtc="13.4.20", nvjitlink="13.6.1", ptxas="13.5.1")
    (root / "include/cccl").mkdir(parents=True)
    (root / "version.json").write_text('{"cuda_cccl": {"version": "13.3.5"}}')
    toolkit = resolve(environ, among=found(root))
    assert toolkit.cccl is not None
    assert toolkit.cccl.version == "13.3.5"
    assert toolkit.notes == (
        "the components are of different CUDA releases (13.5: tileiras, nvcc, ptxas; 13.4: NVRTC; 13.6: nvJitLink)",
    )


def test_a_component_can_be_named_by_hand(environ: Environ, make_root: MakeRoot) -> None:
    root, other = make_root("cuda", assembler="13.5", nvrtc="13.5.20"), make_root("other", nvrtc="13.5.99")
    library = other / "lib64/libnvrtc.so.13"
    toolkit = resolve(environ, among=found(root), overrides={"nvrtc": library})
    assert toolkit.nvrtc is not None
    assert (toolkit.nvrtc.path, toolkit.nvrtc.version, toolkit.nvrtc.origin) == (library, "13.5.99", "override")
    assert resolve(environ, among=found(other), overrides={"root": root}).root == root
    named = resolve(environ, among=found(other), overrides={"assembler": root / "bin/tileiras"})
    assert named.identity("assembler").startswith("tileiras release 13.5")


def test_a_wrong_override_is_an_error(environ: Environ, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="no component is called `nvcxx`\n  hint: one of root, assembler, nvcc"):
        resolve(environ, among=(), overrides={"nvcxx": tmp_path})
    with pytest.raises(ToolchainError, match=r"the override of nvcc names .*gone, which does not exist"):
        resolve(environ, among=(), overrides={"nvcc": tmp_path / "gone"})


def test_wheel_versions_come_from_metadata(environ: Environ, make_root: MakeRoot, tmp_path: Path) -> None:
    root = make_root("site/nvidia/cu13", assembler="13.5", nvcc="1.1.1", disassembler="1.1.1", nvrtc="13")
    for name in ("nvidia_cuda_nvcc-13.5.37", "nvidia_cuda_tileiras-13.5.38", "NVIDIA.cuda-nvrtc-13.5.39", "numpy-2.0"):
        (tmp_path / f"site/{name}.dist-info").mkdir()
    toolkit = resolve(environ, among=candidates(environ, standard=(), wheels=[root]))
    versions = {component.name: component.version for component in toolkit.components()}
    assert versions == {"assembler": "13.5.20", "nvcc": "13.5.37", "disassembler": "13.5.38", "nvrtc": "13.5.39"}
    assert set((root / "asked").read_text().split("\n")) == {
        "tileiras --version", "tileiras --list-versions", "tileiras --help", "",
    }  # fmt: skip


def test_an_unknown_version_is_a_digest_of_the_content(environ: Environ, make_root: MakeRoot) -> None:
    identities = []
    for folder, content in (("a", b"one"), ("b", b"one"), ("c", b"two")):
        root = make_root(folder)
        (root / "nvvm/libdevice").mkdir(parents=True)
        (root / "nvvm/libdevice/libdevice.10.bc").write_bytes(content)
        identities.append(resolve(environ, among=found(root)).identity("libdevice"))
    assert identities[0] == identities[1] != identities[2]
    assert identities[0] == "libdevice sha256:7692c3ad3540"


def test_the_real_wheels_make_a_whole_toolkit(environ: Environ) -> None:
    toolkit = resolve(environ, among=candidates(environ, standard=()))
    assert toolkit.origin == "NVIDIA wheels"
    assert toolkit.assembler is not None
    assert toolkit.assembler.can_pack
    assert toolkit.assembler.build.startswith("release 13.")
    assert "sm_120" in toolkit.assembler.architectures
    assert [part.name for part in PARTS if part.name != "nvdisasm" and toolkit.component(part.name) is None] == []
    assert [(folder / header).is_file() for folder, header in zip(
        toolkit.include, ("cuda_fp16.h", "cuda/std/cstdint"), strict=True
    )] == [True, True]  # fmt: skip
    assert toolkit.identity("nvrtc") == f"nvrtc {toolkit.require('nvrtc').version}"
    assert toolkit.require("nvrtc").version.startswith("13.")
    assert toolkit.notes == ()


def test_a_toolkit_travels_to_a_worker_process(environ: Environ, make_root: MakeRoot) -> None:
    toolkit = resolve(environ, among=found(make_root("cuda", assembler="13.5", nvrtc="13.5.20")))
    assert pickle.loads(pickle.dumps(toolkit)) == toolkit


def test_of_several_versions_of_a_library_the_newest_counts(environ: Environ, make_root: MakeRoot) -> None:
    root = make_root("cuda", nvrtc="13.5.20")
    for name in ("libnvrtc.so.9", "libnvrtc.so.12", "libnvrtc-builtins.so.14", "libnvrtc.so"):
        (root / "lib64" / name).touch()
    assert resolve(environ, among=found(root)).require("nvrtc").path == root / "lib64/libnvrtc.so.13"
