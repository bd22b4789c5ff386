"""Every component of the cache keys, changed one at a time, and the steps whose keys each may change."""

from __future__ import annotations

import importlib
import os
import platform
from collections.abc import Callable
from importlib import metadata
from typing import Any

from end_to_end.step_keys import Change, LateChange, Project
from tilewright.scons import caching, signatures
from tilewright.toolchain.parts import PARTS
from tilewright.toolchain.toolkit import Toolkit

CUDA, RUST = ("relu", "sized", "tilelib_any"), ("rust", "any")
LIBRARIES = (*CUDA, *RUST)


def steps(suffix: str, *names: str) -> set[str]:
    return {f"{name}{suffix}" for name in names or LIBRARIES}


PROGRAMS = {"caller", "caller.cubin"}
BUNDLES = {"relu.verify.zip", "rust.verify.zip"}
PACKED, PROVIDED = {"relu.tilelib", "rust.tilelib", "sized.tilelib"}, {"any.tilelib", "tilelib_any.tilelib"}
SHADER = {"scale.cu", "scale.metal"}
READ = steps(".tileexports.json")
CODE = steps(".ltoir")
MODULES = steps(".iface.tilebc")
PACKAGE = {"tilelib_relu-1.0.zip"}
OTHERS = {"relu_tile.h", "linked.ptx", "scale.tileir"}
ALL = READ | CODE | MODULES | PACKED | PROVIDED | PROGRAMS | BUNDLES | SHADER | PACKAGE | OTHERS
CUDA_CODE = steps(".ltoir", *CUDA) | {"tilelib_any.tilelib"}
INCLUDING = steps(".tileexports.json", *CUDA) | CUDA_CODE | PROGRAMS | {"relu.verify.zip"}
OF_ARCH = CODE | PROGRAMS | BUNDLES | {"tilelib_any.tilelib", "scale.cu"}


def edit(name: str, old: str, new: str) -> Change:
    return lambda project: project.edit(name, old, new)


def give(call: str, **arguments: Any) -> Change:
    return lambda project: project.give(call, **arguments)


def setting(**settings: str) -> Change:
    return lambda project: project.settings.update(settings)


def variable(**variables: Any) -> Change:
    return lambda project: project.variables.update(variables)


def environment(**variables: str) -> Change:
    return lambda project: os.environ.update(variables)


def replaced(module: str, name: str, make: Callable[[Any], Any], *memories: str) -> Change:
    """Something of a module replaced, after the memories (`module.function`) that would hide it are cleared."""

    def change(project: Project) -> None:
        place = importlib.import_module(module)
        setattr(place, name, make(getattr(place, name)))
        for memory in memories:
            owner, _, function = memory.rpartition(".")
            getattr(importlib.import_module(owner), function).cache_clear()

    return change


def both(*changes: Change) -> Change:
    return lambda project: [change(project) for change in changes]


def another(answer: Callable[..., str]) -> Callable[..., str]:
    return lambda *arguments, **options: f"another {answer(*arguments, **options)}"


def component(changed: str) -> Change:
    """A toolkit with one component of another release."""
    identity = Toolkit.identity

    def other(toolkit: Toolkit, name: str) -> str:
        return identity(toolkit, name) + (" of another release" if name == changed else "")

    return lambda project: setattr(Toolkit, "identity", other)


def room_changed(changed: str) -> Change:
    digest = signatures.source_digest

    def other(kind: str) -> str:
        return digest(kind) + ("?" if kind == changed else "")

    return lambda project: setattr(signatures, "source_digest", other)


def without(changed: str) -> Callable[[str], str]:
    """The releases of all installed packages, one of them another."""
    version = metadata.version
    return lambda name: "0.0" if name == changed else version(name)


def renamed(old: str, new: str, *users: tuple[str, str, str]) -> Change:
    def change(project: Project) -> None:
        os.rename(old, new)
        for name, before, after in users:
            project.edit(name, before, after)

    return change


def with_folders(*folders: str) -> Change:
    def change(project: Project) -> None:
        for folder in ("first", "second"):
            project.write(f"{folder}/unused.cuh", "")
        project.variables["TILELIB_INCLUDE_PATH"] = list(folders)

    return change


def named_by_options(*options: str) -> Change:
    """A program whose options name files: `forced.h`, which includes `deep.h`, and an object."""

    def change(project: Project) -> None:
        files = {"forced.h": '#include "deep.h"\n', "deep.h": "\n", "more.o": "1", "lib/libmore.a": "1", "r.rsp": ""}
        for name, text in files.items():
            project.write(name, text)
        project.give("caller", options=list(options))

    return change


FORCED = ("-include", "forced.h", "-Xlinker", "more.o", "-L", "lib", "-lmore")

CHANGES: dict[str, tuple[Change, set[str]]] = {
    # what the user writes
    "the source of a library": (edit("relu.cu", "Elementwise", "Each"), {"relu.tileexports.json"}),
    "the text of a header": (
        edit("limit.cuh", "0.0f", "1.0f"),
        {"relu.tileexports.json", "relu.ltoir", "relu.verify.zip"},
    ),
    "the name of a header": (
        renamed("limit.cuh", "bound.cuh", ("relu.cu", "limit.cuh", "bound.cuh")),
        {"relu.tileexports.json", "relu.ltoir", "relu.verify.zip"},
    ),
    "the name of a program's header": (renamed("size.h", "edge.h", ("caller.cu", "size.h", "edge.h")), PROGRAMS),
    "the name of a source": (
        renamed("any.cu", "some.cu", ("GRAPH", '"any.cu"', '"some.cu"')),
        {"sized.tileexports.json", "sized.ltoir"},
    ),
    "a module of a crate": (
        edit("crate/src/half.rs", "0.5", "0.25"),
        {"rust.tileexports.json", "rust.verify.zip"},
    ),
    "the root of a crate": (
        edit("crate/src/lib.rs", "x * half", "2.0 * x * half"),
        {"rust.tileexports.json", "rust.verify.zip"},
    ),
    "the features of a crate": (
        edit("crate/Cargo.toml", 'edition = "2021"\n', 'edition = "2021"\n[features]\ndefault = ["f"]\nf = []\n'),
        {"rust.tileexports.json", "rust.verify.zip"},
    ),
    "the edition of a crate": (
        edit("crate/Cargo.toml", '"2021"', '"2024"'),
        {"rust.tileexports.json", "rust.verify.zip"},
    ),
    "a lone Rust file": (edit("any.rs", "    x\n", "    -x\n"), {"any.tileexports.json"}),
    "the source of a program": (edit("caller.cu", "return 0", "return 1"), PROGRAMS),
    "a kernel file": (edit("kernel.py", "2.0", "3.0"), {"scale.tileir"}),
    "a module that a kernel file imports": (edit("sizes.py", "16", "32"), {"scale.tileir"}),
    "a reference": (edit("expected.py", "x *", "1 * x *"), {"rust.verify.zip"}),
    "a module that a reference imports": (edit("factor.py", "0.5", "0.25"), {"rust.verify.zip"}),
    "a file of a package": (edit("LICENSE", "Anyone", "Everyone"), PACKAGE),
    # include folders
    "two include folders": (with_folders("first", "second"), INCLUDING),
    "their order": (with_folders("second", "first"), INCLUDING),
    # settings of a build
    "arch": (setting(arch="sm_100"), OF_ARCH | PACKAGE),
    "ltoir_arch": (setting(ltoir_arch="compute_90"), CODE | {"tilelib_any.tilelib"}),
    "tile_shapes of all": (setting(tile_shapes="32"), READ - {"sized.tileexports.json"}),
    "nightly_f16": (setting(nightly_f16="1"), steps(".tileexports.json", *RUST)),
    # arguments of one call
    "tile_shapes of one": (give("sized", tile_shapes="64"), {"sized.tileexports.json"}),
    "provider of one": (
        give("relu", provider=1, provider_abi="observed"),
        {"relu.iface.tilebc", "relu.tilelib"} | PACKAGE,
    ),
    "options of a program": (give("caller", options=["-O1"]), {"caller"}),
    "options of a program, in another order": (give("caller", options=["-DA", "-O1"]), {"caller"}),
    "options that name files": (named_by_options(*FORCED), {"caller"}),
    "options of a link": (give("link", TILELIB_LINK_OPTIONS="-fma=0"), {"linked.ptx"}),
    "the architecture of a link": (give("link", TILELIB_LINK_ARCH="sm_100"), {"linked.ptx"}),
    "specialisations": (give("scale", specialisations={"x": (64,), "y": (64,)}), {"scale.tileir"}),
    "the kernel's name": (give("scale", kernel="scale"), {"scale.tileir"}),
    "options of a shader": (give("scale", options={"fast_math": True}), SHADER),
    "options of one backend": (give("scale", options={"metal": {"fast_math": True}}), {"scale.metal"}),
    "the formats of a package": (give("package", formats=["zip"]), PACKAGE),
    "the licence of a package": (give("package", license="Apache-2.0"), PACKAGE),
    "the contents of a package": (give("package", nodes=["LICENSE"]), PACKAGE),
    # tools
    "the answer of rustc": (
        replaced("tilewright.sources.rust.rustc", "_answer", another, "tilewright.scons.signatures._rustc"),
        steps(".tileexports.json", *RUST) | {"rust.verify.zip"},
    ),
    "the C compiler": (
        replaced("tilewright.library.provider.identity", "version_of", another),
        PROVIDED,
    ),
    "a C compiler by name": (environment(CC="gcc"), PROVIDED),
    "the C++ compiler of the bundle": (
        replaced(
            "tilewright.callers.identity", "compiler_version", lambda real: another(getattr(real, "__wrapped__", real))
        ),
        BUNDLES,
    ),
    "the C++ compiler of a program": (
        replaced("tilewright.toolchain.host_compiler", "ask", another),
        PROGRAMS,
    ),
    "zlib": (lambda project: setattr(importlib.import_module("zlib"), "ZLIB_RUNTIME_VERSION", "0"), PACKAGE),
}

OF_COMPONENTS: dict[str, set[str]] = {
    "assembler": PACKED | PROVIDED | PROGRAMS | PACKAGE,
    "nvcc": CUDA_CODE | PROGRAMS,
    "disassembler": set(),
    "nvrtc": CUDA_CODE | BUNDLES | {"scale.cu"} | PACKAGE,
    "nvvm": steps(".ltoir", *RUST) | PROGRAMS | BUNDLES,
    "libdevice": steps(".ltoir", *RUST) | BUNDLES,
    "nvjitlink": {"linked.ptx"} | PROGRAMS | BUNDLES,
    "ptxas": set(),
    "nvdisasm": set(),
    "cccl": CUDA_CODE | PROGRAMS,
    "runtime": CUDA_CODE | PROGRAMS,
    "crt": CUDA_CODE | PROGRAMS,
}
"""By part of the toolkit. The disassemblers only look; ptxas comes with nvcc and has its version."""

OF_ROOMS: dict[str, set[str]] = {
    "exports": steps(".tileexports.json", *CUDA),
    "rust": steps(".tileexports.json", *RUST) | {"rust.verify.zip"},
    "ltoir": CODE | {"tilelib_any.tilelib"},
    "bytecode": MODULES,
    "library": PACKED | PROVIDED,
    "provider": PROVIDED,
    "bindings": {"relu_tile.h"},
    "link": {"linked.ptx"},
    "mock": BUNDLES,
    "package": PACKAGE,
    "capture": {"scale.tileir"},
    "shader": {"scale.cu"},
    "shader_metal": {"scale.metal"},
    "program": PROGRAMS,
}
"""By kind of our own sources, as `ROOMS` lists them."""

NEVER_CACHED = {"oxide", "metal_check", "metal_library"}
"""Kinds of steps that this project has not, or that no cache keeps."""

for part in PARTS:
    CHANGES[f"another {part.name}"] = (component(part.name), OF_COMPONENTS[part.name])
for room in sorted(signatures.ROOMS.keys() - NEVER_CACHED):
    CHANGES[f"our own sources: {room}"] = (room_changed(room), OF_ROOMS[room])


LATE: dict[str, LateChange] = {
    "the system": lambda patch: patch.setattr(platform, "machine", lambda: "other"),
    "the release of Python": lambda patch: patch.setattr(platform, "python_version_tuple", lambda: ("3", "99", "0")),
    "the form of entries": lambda patch: patch.setattr(caching, "FORMAT", "other"),
}
"""What is in the key of every step."""

for name in caching.ENVIRONMENT:
    LATE[f"the variable {name}"] = lambda patch, name=name: patch.setenv(name, "-DX=1")
for name in caching.DISTRIBUTIONS:
    LATE[f"the package {name}"] = lambda patch, name=name: patch.setattr(metadata, "version", without(name))

SAME: dict[str, Change] = {
    "nothing": lambda project: None,
    "the number of jobs": lambda project: project.options.update(num_jobs=7),
    "the cache": setting(cache="elsewhere", cache_write="1", cache_size="1G"),
    "what is printed": setting(verbose="1", print="1"),
    "a launcher": setting(launcher="env"),
    "another build folder": variable(TILELIB_BUILD_DIR="#out/deep"),
    "a file that nothing reads": lambda project: project.write("other.cuh", "1"),
    "a variable that no compiler reads": environment(EDITOR="vi"),
    "another umask": lambda project: os.umask(0o077),
    "the name of a spelled architecture": setting(arch="120"),
    "the lock file of a crate": lambda project: project.write("crate/Cargo.lock", "version = 4\n"),
}

PLUGGY = edit("kernel.py", "import sizes\n", "import pluggy\nimport sizes\n")

CHANGES["a package that a kernel file imports"] = (PLUGGY, {"scale.tileir"})

AFTER: dict[str, tuple[str, Change, set[str]]] = {
    "options of the C compiler": ("a C compiler by name", environment(CC="gcc -DMORE"), PROVIDED),
    "options of the C++ compiler": ("nothing", environment(CXX="g++ -DMORE"), BUNDLES),
    "another release of that package": (
        "a package that a kernel file imports",
        both(PLUGGY, lambda project: setattr(metadata, "version", without("pluggy"))),
        {"scale.tileir"},
    ),
    "what is forced in": (
        "options that name files",
        both(named_by_options(*FORCED), lambda project: project.write("forced.h", '#include "deep.h"\n\n')),
        {"caller"},
    ),
    "what that includes": (
        "options that name files",
        both(named_by_options(*FORCED), lambda project: project.write("deep.h", "\n\n")),
        {"caller"},
    ),
    "an object": (
        "options that name files",
        both(named_by_options(*FORCED), lambda project: project.write("more.o", "2")),
        {"caller"},
    ),
    "a library of the linker": (
        "options that name files",
        both(named_by_options(*FORCED), lambda project: project.write("lib/libmore.a", "2")),
        {"caller"},
    ),
}
"""Changes on top of another change, with which they are compared."""

EVERY: dict[str, Change] = {
    **SAME,
    **{name: change for name, (change, _) in CHANGES.items()},
    **{name: change for name, (_, change, _) in AFTER.items()},
}
