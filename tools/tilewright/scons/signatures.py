"""One identity string a kind of action, naming only what can change its bytes.

SCons signs the code of one function and nothing that it calls, so every action lists its identity in `varlist`.
Adding a room to `ROOMS` is all that is needed when an action begins to use it.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from SCons.Environment import Base as Env

from tilewright.problem import ProblemError
from tilewright.scons.run_mode import cleaning
from tilewright.scons.session import session_of

if TYPE_CHECKING:
    from tilewright.toolchain.toolkit import Toolkit

PACKAGE = Path(__file__).parents[1]

HEADERS = ("nvcc", "cccl", "runtime", "crt")
"""The components whose versions stand for the headers that come with a toolkit."""

READ_BY_COMPILERS = (
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"),
    *("COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS", "LD_RUN_PATH", "SOURCE_DATE_EPOCH"),
)
"""Variables of the environment that nvcc and the compilers of the host read."""

SOURCES = ("*.py", "*.j2")
"""The files of a folder in `ROOMS` that count."""

SHADER_REQUESTS = tuple(
    f"shaders/{name}.py" for name in ("capture", "imports", "installation", "request", "selection", "watch", "worker")
)

ROOMS: dict[str, tuple[str, ...]] = {
    "exports": ("problem.py", "exports", "sources", "device/standard_headers.py", "scons/tile_exports.py"),
    "rust": ("problem.py", "exports", "sources", "device/retarget", "device/dialect", "scons/tile_exports.py"),
    "ltoir": ("exports", "sources", "scons/ltoir.py"),
    "oxide": ("problem.py", "exports", "sources", "device", "scons/oxide.py"),
    "bytecode": ("exports", "bytecode", "scons/tile_bytecode.py"),
    "library": ("bytecode", "library", "scons/tilelib.py"),
    "provider": (
        *("exports", "sources", "bytecode", "device", "library"),
        *("scons/ltoir.py", "scons/provider_library.py"),
    ),
    "bindings": ("__init__.py", "exports", "callers/bindings", "callers/templates.py", "scons/tile_bindings.py"),
    "link": ("device/nvjitlink.py", "scons/link.py"),
    "mock": (
        *("exports", "sources", "shaders/installation.py"),
        *("scons/ltoir.py", "scons/mock_caller.py", "scons/watched_reads.py"),
    ),
    "package": ("__init__.py", "bytecode", "library", "packages", "scons/tile_package.py"),
    "capture": ("problem.py", "tile", "tileir", *SHADER_REQUESTS, "scons/tile_shader.py"),
    "shader": ("tileir", "runtime/nvrtc.py", "shaders/backends.py", "scons/tile_shader.py"),
    "shader_metal": ("tileir", "shaders/backends.py", "scons/tile_shader.py"),
    "metal_check": ("tileir", "scons/metal_check.py"),
    "metal_library": ("problem.py", "lowering/metal/offline.py", "scons/metal_library.py"),
    "program": (
        *("callers/program", "shaders/installation.py", "toolchain/shadow.py"),
        *("scons/tile_program.py", "scons/program_options.py", "scons/watched_reads.py"),
    ),
}


def exports_identity(toolkit: Toolkit) -> str:
    """The front ends; no native tool takes part."""
    return f"exports {source_digest('exports')}"


def rust_identity(toolkit: Toolkit) -> str:
    """The front end with rustc, our crates, llvmlite's LLVM and the steps that retarget the IR; no native tool of CUDA.

    A compiler that is missing makes an identity too: it is the step that fails then, not the reading of the script.
    """
    return f"{_rustc(os.getcwd(), native=False)}; {source_digest('rust')}"


def native_identity(toolkit: Toolkit) -> str:
    """What the functions of a Rust source compiled for this machine depend on."""
    return f"{_rustc(os.getcwd(), native=True)}; {source_digest('rust')}"


@functools.cache
def _rustc(folder: str, *, native: bool) -> str:
    from importlib.metadata import version

    from tilewright.sources.rust.front_end import rust_identity as for_the_device
    from tilewright.sources.rust.native import native_identity as for_this_machine
    from tilewright.sources.source import SourceError

    try:
        compiler = for_this_machine if native else for_the_device
        return f"{compiler(root=Path(folder))}; llvmlite {version('llvmlite')}"
    except SourceError as error:
        return f"missing: {error}"


def oxide_identity(toolkit: Toolkit) -> str:
    """`cargo oxide`, what its device code is checked with, and the check.

    A command that is missing makes an identity too: it is the step that fails then, not the reading of the script.
    """
    from tilewright.sources.rust.oxide import oxide_identity as command

    made_with = command(os.environ.get("PATH", ""), Path(os.getcwd()))
    return f"{made_with}; {_compilers(toolkit, 'nvvm')}; {source_digest('oxide')}"


def nvvm_identity(toolkit: Toolkit) -> str:
    """libNVVM, libdevice and our device sources."""
    return f"{_compilers(toolkit, 'nvvm')}; {source_digest('ltoir')}"


def _compilers(toolkit: Toolkit, language: Literal["cuda", "nvvm"]) -> str:
    from tilewright.device.identity import ltoir_identity as compilers
    from tilewright.toolchain.toolkit import ToolchainError

    try:
        return compilers(toolkit, language)
    except ToolchainError as error:
        return f"missing: {error}"


def _read_by_compilers() -> list[str]:
    return [f"{name}={os.environ[name]}" for name in READ_BY_COMPILERS if os.environ.get(name)]


def ltoir_identity(toolkit: Toolkit) -> str:
    """The compilers and our device sources, the toolkit's headers, and how the translation unit is put together.

    A compiler that is missing makes an identity too: it is the step that fails then, not the reading of the script.
    """
    parts = [_compilers(toolkit, "cuda")]
    parts += [toolkit.identity(name) for name in HEADERS if toolkit.component(name)]
    return "; ".join([*parts, source_digest("ltoir")])


def bytecode_identity(toolkit: Toolkit) -> str:
    """The writer and the bytecode version number; a new assembler of the same version changes nothing."""
    major, minor = toolkit.bytecode_version()
    return f"bytecode {major}.{minor} {source_digest('bytecode')}"


def library_identity(toolkit: Toolkit) -> str:
    """The assembler's own build text, never a hash of its 107 MB, and our packing code."""
    assembler = toolkit.identity("assembler") if toolkit.assembler else "no tileiras"
    return f"{assembler} {source_digest('library')}"


def provider_identity(toolkit: Toolkit) -> str:
    """What a static library depends on, and the compiler of C with the sources it gets and the variables it reads.

    A compiler that is missing makes an identity too: it is the step that fails then, not the reading of the script.
    """
    from tilewright.library.errors import LibraryError
    from tilewright.library.provider.c_compiler import find_c_compiler
    from tilewright.library.provider.identity import provider_identity as made_with

    try:
        runtime = made_with(find_c_compiler(os.environ))
    except LibraryError as error:
        runtime = f"missing: {error}"
    return "; ".join([library_identity(toolkit), runtime, source_digest("provider"), *_read_by_compilers()])


def bindings_identity(toolkit: Toolkit) -> str:
    """The generators and their templates; no native tool takes part."""
    return f"bindings {source_digest('bindings')}"


def program_identity(toolkit: Toolkit) -> str:
    """nvcc and what it runs, the compiler of the host among them."""
    from tilewright.callers.program.compilation import program_identity as tools
    from tilewright.toolchain.host_compiler import host_compiler_identity

    host = host_compiler_identity(os.environ, toolkit.cache)
    return "; ".join([tools(toolkit), host, source_digest("program"), *_read_by_compilers()])


def link_identity(toolkit: Toolkit) -> str:
    """nvJitLink."""
    linker = toolkit.identity("nvjitlink") if toolkit.nvjitlink else "no nvJitLink"
    return f"{linker}; {source_digest('link')}"


def mock_identity(toolkit: Toolkit) -> str:
    """The compilers of device code, nvJitLink, the C++ compiler of the host and our callers.

    What is missing makes an identity too: it is the step that fails then, not the reading of the script.
    """
    from tilewright.callers.host.compiler import find_compiler
    from tilewright.callers.identity import bundle_identity

    try:
        made_with = bundle_identity(toolkit, find_compiler(os.environ))
    except ProblemError as error:
        made_with = f"missing: {error}"
    return "; ".join([made_with, source_digest("mock"), *_read_by_compilers()])


def capture_identity(toolkit: Toolkit) -> str:
    """The DSL and the text form, and the Python that runs the kernel file; no native tool takes part."""
    import platform

    return f"python {'.'.join(platform.python_version_tuple()[:2])}; {source_digest('capture')}"


def shader_cuda_identity(toolkit: Toolkit) -> str:
    """The lowering, and NVRTC. A compiler that is missing makes an identity too: the step fails then."""
    from tilewright.lowering.identity import lowering_identity

    compiler = toolkit.identity("nvrtc") if toolkit.nvrtc else "no NVRTC"
    return f"{lowering_identity('cuda')}; {compiler}; {source_digest('shader')}"


def shader_metal_identity(toolkit: Toolkit) -> str:
    """The lowering alone: no tool takes part in the writing of MSL."""
    from tilewright.lowering.identity import lowering_identity

    return f"{lowering_identity('metal')}; {source_digest('shader_metal')}"


def metal_check_identity(toolkit: Toolkit) -> str:
    """The clang of the check, the check itself, and the lowering that says how a kernel is launched.

    A compiler that is missing makes an identity too: the check is skipped then.
    """
    from tilewright.lowering.identity import lowering_identity
    from tilewright.lowering.metal.check.clang import find_clang
    from tilewright.lowering.metal.check.identity import check_identity

    try:
        check = check_identity(find_clang(os.environ))
    except ProblemError as error:
        check = f"missing: {error}"
    return f"{lowering_identity('metal')}; {check}; {source_digest('metal_check')}"


def metal_library_identity(toolkit: Toolkit) -> str:
    """How Apple's compiler is called, and the record; which compiler it is, the builder signs itself."""
    return f"metallib {source_digest('metal_library')}"


def package_identity(toolkit: Toolkit) -> str:
    """zlib, and our packing code; the tools that made the contents are signed with what the package is called."""
    import zlib

    return f"zlib {zlib.ZLIB_RUNTIME_VERSION}; {source_digest('package')}"


IDENTITIES: dict[str, Callable[[Toolkit], str]] = {
    "TILELIB_EXPORTS_SIG": exports_identity,
    "TILELIB_RUST_SIG": rust_identity,
    "TILELIB_NATIVE_SIG": native_identity,
    "TILELIB_LTOIR_SIG": ltoir_identity,
    "TILELIB_NVVM_SIG": nvvm_identity,
    "TILELIB_OXIDE_SIG": oxide_identity,
    "TILELIB_BYTECODE_SIG": bytecode_identity,
    "TILELIB_LIBRARY_SIG": library_identity,
    "TILELIB_PROVIDER_SIG": provider_identity,
    "TILELIB_BINDINGS_SIG": bindings_identity,
    "TILELIB_PROGRAM_SIG": program_identity,
    "TILELIB_CAPTURE_SIG": capture_identity,
    "TILELIB_SHADER_CUDA_SIG": shader_cuda_identity,
    "TILELIB_SHADER_METAL_SIG": shader_metal_identity,
    "TILELIB_METAL_CHECK_SIG": metal_check_identity,
    "TILELIB_METAL_LIBRARY_SIG": metal_library_identity,
    "TILELIB_PACKAGE_SIG": package_identity,
    "TILELIB_LINK_SIG": link_identity,
    "TILELIB_MOCK_SIG": mock_identity,
}


STEPS = {
    "cuda": ("TILELIB_EXPORTS_SIG", "TILELIB_LTOIR_SIG", "TILELIB_BYTECODE_SIG", "TILELIB_LIBRARY_SIG"),
    "nvvm": ("TILELIB_RUST_SIG", "TILELIB_NVVM_SIG", "TILELIB_BYTECODE_SIG", "TILELIB_LIBRARY_SIG"),
    "oxide": ("TILELIB_OXIDE_SIG", "TILELIB_BYTECODE_SIG", "TILELIB_LIBRARY_SIG"),
}
"""The identities of a library's steps, by what its device code is, or who makes it."""


def sign(env: Env, *variables: str) -> None:
    """Puts those of `variables` that are identities into `env`, unless they are there; a run that cleans needs none."""
    for variable in variables:
        if variable in IDENTITIES and variable not in env and not cleaning():
            env[variable] = IDENTITIES[variable](session_of(env).toolkit)


@functools.cache
def source_digest(kind: str) -> str:
    """SHA-256 over the sources and templates of the rooms of a kind of action, by relative path and text."""
    digest = hashlib.sha256()
    for part in ROOMS[kind]:
        for relative, text_digest in _sources(part):
            digest.update(f"{relative}\0{text_digest}\0".encode())
    return digest.hexdigest()[:16]


@functools.cache
def _sources(part: str) -> tuple[tuple[str, str], ...]:
    path = PACKAGE / part
    files = sorted(file for kind in SOURCES for file in path.rglob(kind)) if path.is_dir() else [path]
    return tuple((file.relative_to(PACKAGE).as_posix(), _digest(file.read_bytes())) for file in files)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
